"""The observed landmarks of the rats' skulls, for stages that are no study."""

from geodp.data.tables import landmark_columns, read_table


def observed_rats(manifold, path):
    """`Records` of the rats' table: covariates are logarithms of ages, scaled to [0, 1]."""
    columns = landmark_columns(manifold.landmarks)
    return read_table(str(path), manifold, "age_days", columns, transformation="log", subject="rat")
