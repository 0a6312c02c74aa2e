"""Tables of one space, joined from the parts of its sizes."""

import pandas as pd


def summarise(tables, **_):
    """The table of errors by its output, sizes in order."""
    table = pd.concat([pd.read_csv(path) for path in tables], ignore_index=True)
    return {"csv": table.sort_values(["n", "mechanism", "data_set"], kind="stable")}
