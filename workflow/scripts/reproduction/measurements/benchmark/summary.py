"""All numbers of the benchmark in one table, one figure and one paragraph."""

import os
import platform

import numpy as np
import pandas as pd

from reproduction.measurements.benchmark.figure import draw
from reproduction.measurements.benchmark.report import paragraph


def summarise(tables, **_):
    """The table, figure and text of the benchmark, by their output, from tables of its parts."""
    # An empty part of a table has no types to agree on.
    parts = [pd.read_csv(path) for path in tables]
    table = pd.concat([part.dropna(axis="columns", how="all") for part in parts])
    table = table.reindex(columns=parts[0].columns)
    machine = {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
    }
    return {"csv": table, "figure": draw(table), "text": paragraph(table, machine)}
