"""The manifold, the model and the fits of a study, from settings and files."""

from geodp.data.matrices import read_landmark_map
from geodp.manifolds.landmark_maps import fourier_harmonics
from geodp.manifolds.registry import make_manifold
from geodp.models.geodesic import Fit, GeodesicModel
from geodp.models.losses import LOSSES
from reproduction.jobs import load_json


def study_manifold(settings):
    """The manifold of a study's section; refuses a matrix of a landmark map that cannot be used."""
    chosen, size = settings["landmark_map"], settings["size"]
    if chosen is not None and chosen["harmonics"] is not None:
        chosen = fourier_harmonics(size, chosen["harmonics"])
    elif chosen is not None:
        chosen = read_landmark_map(chosen["matrix"], size)
    return make_manifold(**settings | {"landmark_map": chosen})


def study_model(params):
    """Make the `GeodesicModel` of a job, from its parameters ``manifold`` and ``model``."""
    loss = dict(params.model["loss"])
    return GeodesicModel(
        study_manifold(params.manifold),
        params.model["covariates"],
        LOSSES[loss.pop("name")](**loss),
    )


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
