"""Numbers in words made from tables."""

import numpy as np


def number(value):
    """A number as a reader wants it: two digits, and no exponent."""
    if not np.isfinite(value) or value == 0.0:
        return f"{value:g}"
    digits = 1 - int(np.floor(np.log10(abs(value))))
    return f"{round(value, digits):,.{max(digits, 0)}f}"
