"""Fits in files, with parameters by block."""

from geodp.models.geodesic import Fit
from reproduction.jobs import load_json


def fit_values(found):
    """Values of a fit to keep in a file, by name."""
    values = dict(vars(found))
    del values["model"]
    return {**values.pop("parameters"), **values}


def load_fit(path, model):
    """Read the `Fit` of a model from a file."""
    values = load_json(path)
    parameters = {block: values.pop(block) for block in model.blocks}
    return Fit(parameters=parameters, model=model, **values)
