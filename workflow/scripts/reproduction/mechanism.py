"""The mechanism of a group, from the files and settings of a job."""

from geodp.errors import DataError
from geodp.mechanisms.mechanism import PublicSettings
from geodp.mechanisms.registry import mechanism_class
from geodp.randomness import random_stream
from reproduction.jobs import load_arrays
from reproduction.models import load_fit


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
