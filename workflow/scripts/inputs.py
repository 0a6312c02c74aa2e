"""Library objects made from the files and parameters a job is given."""

from jobs import load_arrays, load_json

from geodp.manifolds.registry import make_manifold, parse_point
from geodp.mechanisms.as_published import AsPublished, Support
from geodp.regression import Fit
from geodp.sensitivity import Sensitivity


def load_manifold(snakemake):
    """The manifold of the job's study."""
    return make_manifold(**snakemake.params.manifold)


def configured_first_point(manifold, settings, study):
    """Where a study's simulated geodesics start, or ``None`` for a random point each."""
    if settings["first_point"] == "random":
        return None
    place = f"configuration key studies.{study}.data.first_point"
    return parse_point(manifold, settings["first_point"], place)


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
            footpoint_radius=float(bounds["footpoint_radius"]),
        ),
    )
