"""Fits in files, their parameters by block."""

from geodp.models.fitting import Fit
from reproduction.jobs import load_json


def fit_values(found):
    """What a file keeps of a fit, by name."""
    values = dict(vars(found))
    return {**values.pop("parameters"), **values}


def load_fit(path, model):
    """The fit of a model that a file keeps."""
    values = load_json(path)
    parameters = {block: values.pop(block) for block in model.blocks}
    return Fit(parameters=parameters, **values)
