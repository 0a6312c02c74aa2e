"""The mechanism of a group, from the files and settings of a job."""

from geodp.manifolds.registry import parse_point
from geodp.mechanisms.kng_as_published import AsPublished, Support
from geodp.models.regression import Fit
from geodp.models.sensitivity import Sensitivity
from reproduction.jobs import load_arrays, load_json


def configured_centre(manifold, setting, study, data, found):
    """Centre of a study's ball of footpoints, or ``None`` for no ball.

    ``truth`` is where simulated data started. ``fit`` is the fitted footpoint, which like the rest
    of the published mechanism is read off the data.
    """
    if setting is None:
        return None
    if setting == "truth":
        return data["true_footpoint"]
    if setting == "fit":
        return found.footpoint
    return parse_point(
        manifold, setting, f"configuration key studies.{study}.support.footpoint_centre"
    )


def load_mechanism(manifold, data, fit, sensitivity):
    """The published mechanism for the data sets of a group, from three of its files."""
    arrays, bounds = load_arrays(data), load_arrays(sensitivity)
    centre = bounds["footpoint_centre"]
    return AsPublished(
        manifold,
        arrays["covariates"],
        arrays["points"],
        Fit(**load_json(fit)),
        Sensitivity(
            **{key: bounds[key] for key in ("footpoint", "shooting_vector", "tau", "reach")}
        ),
        Support(
            shooting_vector_length=bounds["shooting_vector_length"],
            footpoint_centre=centre if centre.size else None,
            footpoint_radius=bounds["footpoint_radius"],
        ),
    )
