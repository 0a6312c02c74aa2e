"""What record and replay found in all blocks of pairs, as one table."""

import pandas as pd

COUNTED = ("space", "covariates", "by", "format", "neighbour")


def measure(blocks, planted):
    """A row for each way to release and kind of neighbour.

    Parameters
    ----------
    blocks : list of path
        Tables of `reproduction.measurements.audit.replay.measure`.
    planted : path
        Not read: it has to be there for the page.

    Returns
    -------
    list of DataFrame
    """
    table = pd.concat([pd.read_csv(path) for path in blocks], ignore_index=True)
    table["first_finding"] = table["first_finding"].fillna("")
    found = table.groupby([*COUNTED], sort=False).agg(
        pairs=("pairs", "sum"),
        whole=("whole", "sum"),
        findings=("findings", "sum"),
        first_finding=("first_finding", "max"),
        largest_share=("largest_share", "max"),
        # Of blocks, each the median of its pairs.
        median_ratio=("median_ratio", "median"),
        largest_ratio=("largest_ratio", "max"),
    )
    return [found.reset_index()]
