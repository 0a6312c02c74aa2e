"""Data sets simulated along random geodesics, as the settings of a study describe them."""

import numpy as np

from geodp.data.simulate import simulate_geodesic_data
from geodp.manifolds.registry import parse_point
from geodp.randomness import random_stream
from reproduction.models import study_model


def make(job):
    """Simulated data sets of a group, by name: the first is shown, the others give bands."""
    params, study, group = job.params, job.wildcards.study, job.wildcards.group
    number, variance = int(params.group["n"]), float(params.group["noise_variance"])
    simulation = simulate_data(
        random_stream(params.seed, study, group, "data"),
        *(study_model(params), params.settings, study),
        *(params.settings["data_sets"], number, variance),
    )
    return {
        "covariates": simulation.covariates,
        "points": simulation.points,
        **{f"true_{block}": value for block, value in simulation.parameters.items()},
        "covariate_range": [0.0, 1.0],
        "description": np.array("simulated"),
    }


def simulate_data(rng, model, settings, study, data_sets, number, noise_variance):
    """The `Simulation` of the section ``data`` of a study."""
    ends = {}
    for end in ("first_point", "last_point"):
        # The library draws what is not given at random.
        if settings[end] not in ("random", None):
            place = f"configuration key studies.{study}.data.{end}"
            ends[end] = parse_point(model.manifold, settings[end], place)
    return simulate_geodesic_data(
        *(rng, model, data_sets, number, noise_variance, settings["shooting_vector_length"]),
        equally_spaced=settings["covariates"] == "equally_spaced",
        random_point_radius=settings["random_point_radius"],
        ambient_noise=settings["noise"] == "ambient",
        **ends,
    )
