"""Tables of one space, joined from the parts of its sizes."""

from reproduction.measurements.words import joined


def summarise(tables, **_):
    """The table of errors by its output, sizes in order."""
    return {"csv": joined(tables).sort_values(["n", "mechanism", "data_set"], kind="stable")}
