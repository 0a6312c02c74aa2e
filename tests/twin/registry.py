"""Sentences by name: each is a function that returns {name: (value, standard error)}."""

import numpy as np

SENTENCES = {}


def sentence(function):
    """Registers a function of no arguments under its own name."""
    SENTENCES[function.__name__] = function
    return function


def average(values):
    """Mean of independent values, and its standard error."""
    values = np.asarray(values, dtype=float)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def exact(value):
    """What quadrature or a closed form gives."""
    return float(value), 0.0
