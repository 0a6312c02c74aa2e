"""Tables of parts in one, and their numbers, cells and spaces in words."""

from importlib import import_module

import numpy as np
import pandas as pd


def joined(paths):
    """The tables of several files as one."""
    return pd.concat(map(pd.read_csv, paths), ignore_index=True)


def figure_of_tables(module, name, settings, made_by, threads, **inputs):
    """The figure of a name, and its numbers, by their output.

    It is drawn by the module's function ``draw_NAME``, which takes settings, and tables by name,
    each joined from some ``inputs``.
    """
    tables = {table: joined(paths) for table, paths in inputs.items()}
    figure, numbers = getattr(import_module(module), f"draw_{name}")(settings, **tables)
    return {"csv": numbers, "figure": figure}


def number(value):
    """A number as a reader wants it: two digits, and no exponent."""
    if not np.isfinite(value) or value == 0.0:
        return f"{value:g}"
    digits = 1 - int(np.floor(np.log10(abs(value))))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def cell(case):
    """Space, n and budget of a row."""
    return f"{case['space']}, n = {case['n']:,}, budget {case['budget']:g}"


def limits(case):
    """The least and the most that a value should be, of a row."""
    words = (("at least", case["least"]), ("at most", case["most"]))
    return ", ".join(f"{word} {limit:g}" for word, limit in words if limit == limit)


def space_title(name):
    """Name of a space in figures, where a power is set as one."""
    return f"${name}$" if "^" in name else name
