"""The manifold, the model, fits and the mechanism of a study, from settings and files."""

from geodp.data.matrices import read_landmark_map
from geodp.errors import DataError
from geodp.manifolds.landmark_maps import fourier_harmonics
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.mechanism import PublicSettings
from geodp.mechanisms.registry import mechanism_class
from geodp.models.geodesic import Fit, GeodesicModel
from geodp.models.losses import LOSSES
from geodp.randomness import random_stream
from reproduction.jobs import load_arrays, load_json


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


def load_mechanism(model, settings, study, data, fit):
    """Apply the mechanism of a study to the data sets of a group, from its files.

    ``settings`` has the attributes `Study.mechanism_settings`; messages name ``study``.
    """
    arrays, found = load_arrays(data), load_fit(fit, model)
    support = settings.support
    public = PublicSettings(
        data_radius=settings.data_radius,
        centre=_centre(model.manifold, support, study, arrays, found),
        footpoint_radius=support["footpoint_radius"],
        shooting_vector_length=support["shooting_vector_length"],
        # Covariates are scaled to this from the study's range.
        covariate_range=(0.0, 1.0),
        options=settings.mechanism["options"],
    )
    try:
        return mechanism_class(settings.mechanism["name"]).prepare(
            model, arrays["covariates"], arrays["points"], public, found, arrays.get("subjects")
        )
    except DataError as problem:
        raise DataError(f"{data}: {problem}") from problem


def _centre(manifold, support, study, data, found):
    """Centre of a study's ball of footpoints, or ``None`` for no ball.

    ``truth`` is the true footpoint of simulated data.  ``fit`` is the fitted footpoint, which
    depends on the data.  Releases know centres by name.
    """
    setting = support["footpoint_centre"]
    if setting is None:
        return None
    if setting == "truth":
        return data["true_footpoint"]
    if setting == "fit":
        return found.footpoint
    from geodp.settings.shared_sections import public_centre

    key = "release.centre" if "centre_moved" in support else "support.footpoint_centre"
    centre = public_centre(manifold, setting, f"configuration key studies.{study}.{key}")
    if (moved := support.get("centre_moved")) is None:
        return centre
    # Public, and so the same for all data sets, whatever the seed.
    direction = manifold.random_direction(random_stream(0, study, "public centre"), centre)
    return manifold.exp(centre, moved * direction)
