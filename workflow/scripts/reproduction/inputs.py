"""Library objects made from the files and parameters a job is given."""

from pathlib import Path

from geodp.errors import DataError
from geodp.manifolds.landmark_maps import LandmarkMap, fourier_harmonics, parse_matrix
from geodp.manifolds.registry import make_manifold, parse_point
from geodp.mechanisms.kng_as_published import AsPublished, Support
from geodp.models.regression import Fit
from geodp.models.sensitivity import Sensitivity
from reproduction.jobs import load_arrays, load_json


def load_manifold(snakemake):
    """The manifold of the job's study."""
    return study_manifold(snakemake.params.manifold)


def study_manifold(settings):
    """The manifold that a study's settings describe."""
    name, size, chosen = (settings[key] for key in ("name", "size", "landmark_map"))
    if chosen is None:
        return make_manifold(name, size)
    if "harmonics" in chosen:
        return make_manifold(name, size, fourier_harmonics(size, chosen["harmonics"]))
    with open(chosen["matrix"], encoding="utf-8-sig") as text:
        matrix = parse_matrix(text, chosen["matrix"])
    if matrix.shape[1] != size:
        raise DataError(
            f"{chosen['matrix']}: its rows have {matrix.shape[1]} entries and manifold.size is "
            f"{size}: give an entry for each landmark"
        )
    described = f"linear map of {Path(chosen['matrix']).name}"
    return make_manifold(name, size, LandmarkMap(matrix, described, chosen["matrix"]))


def configured_centre(manifold, setting, study, data, found):
    """Centre of a study's ball of footpoints, or ``None`` for no ball.

    ``truth`` is where simulated data started, ``fit`` the fitted footpoint, which like the rest of
    the published mechanism is read off the data.
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


def load_mechanism(snakemake, manifold):
    """The published mechanism for the data, fit and sensitivity among a job's inputs."""
    data = load_arrays(snakemake.input.data)
    bounds = load_arrays(snakemake.input.sensitivity)
    centre = bounds["footpoint_centre"]
    return AsPublished(
        manifold,
        data["covariates"],
        data["points"],
        Fit(**load_json(snakemake.input.fit)),
        Sensitivity(
            **{key: bounds[key] for key in ("footpoint", "shooting_vector", "tau", "reach")}
        ),
        Support(
            shooting_vector_length=bounds["shooting_vector_length"],
            footpoint_centre=centre if centre.size else None,
            footpoint_radius=bounds["footpoint_radius"],
        ),
    )
