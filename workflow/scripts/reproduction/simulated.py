"""Simulated data sets as a study's configuration describes them."""

from geodp.data.simulate import simulate_geodesic_data
from geodp.manifolds.registry import parse_point


def simulate_data(rng, manifold, settings, study, data_sets, number, noise_variance):
    """Simulated data sets of a study, from its settings under ``data``."""
    ends = {}
    for end in ("first_point", "last_point"):
        # The library draws what is not given at random.
        if settings[end] not in ("random", None):
            place = f"configuration key studies.{study}.data.{end}"
            ends[end] = parse_point(manifold, settings[end], place)
    return simulate_geodesic_data(
        rng,
        manifold,
        data_sets,
        number,
        noise_variance,
        settings["shooting_vector_length"],
        equally_spaced=settings["covariates"] == "equally_spaced",
        random_point_radius=settings["random_point_radius"],
        ambient_noise=settings["noise"] == "ambient",
        **ends,
    )
