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
    texts = {"first_finding": str}
    parts = [pd.read_csv(path, dtype=texts, keep_default_na=False) for path in blocks]
    table = pd.concat(parts, ignore_index=True)
    found = table.groupby([*COUNTED], sort=False).agg(
        pairs=("pairs", "sum"),
        whole=("whole", "sum"),
        refused=("refused", "sum"),
        findings=("findings", "sum"),
        first_finding=("first_finding", "max"),
        largest_share=("largest_share", "max"),
        # Of blocks, each the median of its pairs.
        median_ratio=("median_ratio", "median"),
        largest_ratio=("largest_ratio", "max"),
    )
    return [found.reset_index()]
