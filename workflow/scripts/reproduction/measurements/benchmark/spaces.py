"""Spaces of the benchmark, and their data."""

from dataclasses import dataclass

import numpy as np

from geodp.data.simulate import simulate_geodesic_data
from geodp.data.stand_in import simulate_outlines
from geodp.manifolds.registry import make_manifold
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from reproduction.measurements.rats import observed_rats

# Rats whose landmarks are kept with the project; other numbers of records are simulated.
RATS = 144

# Outlines simulated at once.
BLOCK = 20000


@dataclass(frozen=True)
class Space:
    """A space of the benchmark and what its data and densities are like, as in the studies.

    Attributes
    ----------
    name : str
    manifold : tuple
        Name and size.
    data : dict
        For `simulate_geodesic_data`; empty where data come otherwise.
    data_radius : float, optional
    support : dict
        Limits of `PublicSettings`; its ball of footpoints has the fit as its centre.
    """

    name: str
    manifold: tuple
    data: dict
    data_radius: float | None = None
    support: dict | None = None


_MATRICES = {"noise_variance": 0.0001, "random_point_radius": 0.9, "ambient_noise": False}

SPACES = {
    space.name: space
    for space in (
        Space(
            "S^2",
            ("sphere", 2),
            {"noise_variance": 0.001, "shooting_vector_length": np.pi / 5},
        ),
        Space("SPD(2)", ("spd", 2), _MATRICES, data_radius=1.0),
        Space("SPD(3)", ("spd", 3), _MATRICES, data_radius=1.0),
        Space("rats", ("kendall", 8), {}),
        Space(
            "outlines",
            ("kendall", 50),
            {},
            support={"footpoint_radius": 0.48, "shooting_vector_length": 0.96},
        ),
    )
}


def make_data(space, number, seed, rats):
    """Covariates (1, n) and points (1, n, *point_shape) of a space.

    Parameters
    ----------
    space : Space
    number : int
        n.
    seed : int
    rats : path
        Table of the rats' landmarks.
    """
    manifold = make_manifold(*space.manifold)
    rng = random_stream(seed, "benchmark", space.name, f"n{number}", "data")
    if space.name == "rats":
        return _rats(rng, manifold, number, rats)
    if space.name == "outlines":
        covariates = np.empty((1, number))
        points = np.empty((1, number, *manifold.point_shape), dtype=complex)
        for start in range(0, number, BLOCK):
            block = slice(start, min(start + BLOCK, number))
            simulation = simulate_outlines(rng, 1, block.stop - start, manifold.landmarks)
            covariates[:, block] = (simulation.ages - 50.0) / 40.0
            points[:, block] = manifold.from_landmarks(simulation.outlines)
        return covariates, points
    simulation = simulate_geodesic_data(rng, GeodesicModel(manifold), 1, number, **space.data)
    return simulation.covariates[..., 0], simulation.points


def _rats(rng, manifold, number, path):
    """The observed records, or as many as wanted scattered like them about their geodesic."""
    records = observed_rats(manifold, path)
    if number == RATS:
        return records.covariates[None], records.points[None]
    found = GeodesicModel(manifold).fit(records.covariates, records.points)
    # Twice the energy is the mean squared residual, shared by all dimensions.
    spread = np.sqrt(2.0 * found.energy / manifold.dim)
    covariates = np.linspace(0.0, 1.0, number)
    points = np.empty((number, *manifold.point_shape), dtype=complex)
    for start in range(0, number, BLOCK):
        block = slice(start, start + BLOCK)
        velocity = manifold.expand(covariates[block]) * found.shooting_vector
        clean = manifold.exp(found.footpoint, velocity)
        noise = rng.standard_normal((2, *clean.shape))
        points[block] = manifold.project(clean + spread * (noise[0] + 1j * noise[1]))
    return covariates[None], points[None]
