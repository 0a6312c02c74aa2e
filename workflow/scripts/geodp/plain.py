"""Arrays as numbers and lists, the values that JSON has, and back without loss of a bit."""

import numpy as np


def plain(value):
    """Numbers and nested lists of an array or a NumPy scalar; any other value as it is.

    Complex arrays become a dict of ``real`` and ``imaginary`` parts.
    """
    if isinstance(value, np.ndarray | np.generic):
        if np.iscomplexobj(value):
            return {"real": value.real.tolist(), "imaginary": value.imag.tolist()}
        return value.tolist()
    return value


def from_plain(value):
    """The array that `plain` made lists or a dict of; any other value as it is."""
    if isinstance(value, dict) and set(value) == {"real", "imaginary"}:
        # A sum of the parts would lose the signs of zeros.
        array = np.array(value["real"], dtype=complex)
        array.imag = value["imaginary"]
        return array
    return np.array(value) if isinstance(value, list) else value
