"""Numbers, cells and names of spaces, in words made from tables."""

import numpy as np


def number(value):
    """A number as a reader wants it: two digits, and no exponent."""
    if not np.isfinite(value) or value == 0.0:
        return f"{value:g}"
    digits = 1 - int(np.floor(np.log10(abs(value))))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def cell(case):
    """Space, n and budget of a row."""
    return f"{case['space']}, n = {case['n']:,}, budget {case['budget']:g}"


def space_title(name):
    """Name of a space in figures, where a power is set as one."""
    return f"${name}$" if "^" in name else name


def markdown(head, rows):
    """Lines of a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(map(str, cells))} |" for cells in lines]
