"""Spaces of the benchmark, and their data."""

from dataclasses import dataclass, field

import numpy as np

from geodp.data.simulate import simulate_geodesic_data
from geodp.data.stand_in import simulate_outlines
from geodp.manifolds.registry import make_manifold
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from reproduction.measurements.rats import observed_rats

# Rats whose landmarks are kept with the project; other numbers of records are simulated.
RATS = 144

# Records simulated at once.
BLOCK = 20000


@dataclass(frozen=True)
class Space:
    """A space of the benchmark and what its data and densities are like, as in the studies."""

    name: str
    manifold: tuple  # Name and size.
    # For `simulate_geodesic_data`; empty where data come otherwise.
    data: dict = field(default_factory=dict)
    data_radius: float | None = None
    # Limits of `PublicSettings`; its ball of footpoints has the fit as its centre.
    support: dict | None = None


_MATRICES = {"noise_variance": 0.0001, "random_point_radius": 0.9, "ambient_noise": False}
_SPHERE = {"noise_variance": 0.001, "shooting_vector_length": np.pi / 5}
_OUTLINES = {"footpoint_radius": 0.48, "shooting_vector_length": 0.96}
SPACES = {
    space.name: space
    for space in (
        Space("S^2", ("sphere", 2), _SPHERE),
        Space("SPD(2)", ("spd", 2), _MATRICES, data_radius=1.0),
        Space("SPD(3)", ("spd", 3), _MATRICES, data_radius=1.0),
        Space("rats", ("kendall", 8)),
        Space("outlines", ("kendall", 50), support=_OUTLINES),
    )
}


def make_data(space, number, seed, rats):
    """Covariates (1, n) and points (1, n, *point_shape) of a space; ``rats`` is their table."""
    manifold = make_manifold(*space.manifold)
    rng = random_stream(seed, "benchmark", space.name, f"n{number}", "data")
    if space.data:
        simulation = simulate_geodesic_data(rng, GeodesicModel(manifold), 1, number, **space.data)
        return simulation.covariates[..., 0], simulation.points
    if space.name == "rats" and number == RATS:
        records = observed_rats(manifold, rats)
        return records.covariates[None], records.points[None]
    make = _outlines(rng, manifold) if space.name == "outlines" else _rats(rng, manifold, rats)
    covariates = np.linspace(0.0, 1.0, number)
    points = np.empty((number, *manifold.point_shape), dtype=complex)
    for start in range(0, number, BLOCK):
        block = slice(start, start + BLOCK)
        covariates[block], points[block] = make(covariates[block])
    return covariates[None], points[None]


def _outlines(rng, manifold):
    """What makes outlines, as many as covariates, with covariates of their own."""

    def make(covariates):
        found = simulate_outlines(rng, 1, len(covariates), manifold.landmarks)
        return (found.ages[0] - 50.0) / 40.0, manifold.from_landmarks(found.outlines)[0]

    return make


def _rats(rng, manifold, path):
    """What makes rats at covariates, scattered like the observed ones about their geodesic."""
    records = observed_rats(manifold, path)
    found = GeodesicModel(manifold).fit(records.covariates, records.points)
    # Twice the energy is the mean squared residual, shared by all dimensions.
    spread = np.sqrt(2.0 * found.energy / manifold.dim)

    def make(covariates):
        velocity = manifold.expand(covariates) * found.shooting_vector
        clean = manifold.exp(found.footpoint, velocity)
        noise = rng.standard_normal((2, *clean.shape))
        return covariates, manifold.project(clean + spread * (noise[0] + 1j * noise[1]))

    return make
