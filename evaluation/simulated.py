"""Simulated data about true geodesics, as a release assumes them or unlike that."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri, ncfdtrinc

from geodp import Assumptions
from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream
from geodp_release.simulation import TWO_GROUPS

# Of tests for a trend.
SIZE = 0.05
RADII_LEFT_OUT = "radii left out"


def assumed(space, seed, *names):
    """Assumptions about an entry of SPACES of evaluation/Snakefile, but for its residual scale.

    The centre is random, from a stream of a seed and names.
    """
    manifold = make_manifold(*space["manifold"])
    centre = manifold.random_point(random_stream(seed, *names, "centre"))
    spreads = tuple(space.get("covariate_spread", ["unknown"]))
    radii = space["footpoint_radius"], space["shooting_vector_length"]
    public = *radii, ((-0.5, 0.5),) * len(spreads), space["n"]
    return Assumptions(manifold, centre, *public, covariate_spread=spreads)


@dataclass(frozen=True)
class Simulated:
    """How data are made; with no arguments as plans assume.

    ``covariates`` makes them from a generator and a shape, from 0 to 1, and ``residuals`` from a
    generator, standard normal ones (n, dim) and first covariates (n, 1) from -1/2 to 1/2.
    """

    covariates: Callable = np.random.Generator.random
    residuals: Callable = lambda rng, normal, x: normal
    away: float | None = None  # Of the footpoint from the centre, in radii; else uniform.
    scale: float | None = None  # Of residuals, in radii; else that of the space.
    elsewhere: float = 0.0  # Share of records about a point 1.8 radii from the footpoint.
    power: float | None = None  # Of the F test for a trend; else trends of uniform length.

    def draw(self, assumptions, scale, rng):
        """A true state (1 + k, *point_shape), covariates (n, k), and points (n, *point_shape)."""
        manifold, number = assumptions.manifold, assumptions.subjects
        radius, count = assumptions.footpoint_radius, assumptions.number_of_covariates
        scale = scale if self.scale is None else self.scale * radius
        lengths = rng.random(count) * assumptions.shooting_vector_length
        if self.power is not None:
            lengths = np.full(count, trend_with_power(self.power, scale, number, manifold.dim))
        away = radius * (rng.random() if self.away is None else self.away)
        p = _beside(manifold, rng, assumptions.centre, away)
        vectors = [length * manifold.random_direction(rng, p) for length in lengths]
        x = self.covariates(rng, (number, count))
        x = np.where(np.array(assumptions.spreads) == TWO_GROUPS, x > 0.5, x) - 0.5
        normal = rng.normal(size=(number, manifold.dim))
        # In directions that are the same along the geodesic.
        frame, residuals = manifold.frame(p), scale * self.residuals(rng, normal, x[:, :1])
        steps = manifold.combinations(vectors, x)
        starts = np.broadcast_to(p, steps.shape)
        residuals = manifold.transport(starts, steps, manifold.vector(frame, residuals))
        points = manifold.exp(manifold.exp(starts, steps), residuals)
        if others := int(self.elsewhere * number):
            place = np.broadcast_to(_beside(manifold, rng, p, 1.8 * radius), points[:others].shape)
            points[:others] = manifold.exp(place, scale * manifold.random_tangent(rng, place))
        return np.stack([p, *vectors]), x, points


def _beside(manifold, rng, point, distance):
    return manifold.exp(point, distance * manifold.random_direction(rng, point))


def _normal(mean, deviation):
    return lambda rng, shape: np.clip(rng.normal(mean, deviation, shape), 0.0, 1.0)


def _two_clumps(rng, shape):
    return _normal(np.where(rng.random(shape) < 0.5, 0.2, 0.8), 0.05)(rng, shape)


def _correlated(rng, shape):
    """Covariates of which each two have 0.64 of their variance in common."""
    normal = rng.normal(size=(shape[0], 1 + shape[1]))
    return np.clip(0.5 + 0.2 * (0.8 * normal[:, :1] + 0.6 * normal[:, 1:]), 0.0, 1.0)


def _heavy_tails(rng, normal, x):
    return normal / np.sqrt(rng.chisquare(3.0, (len(normal), 1)) / 3.0)


def _one_direction(rng, normal, x):
    sizes = np.append(5.0, np.ones(normal.shape[1] - 1))
    return normal * sizes / np.sqrt(np.mean(sizes**2))


# What is not as assumed, by its name in a cell of coverage.
UNLIKE = {
    "nothing": Simulated(),
    RADII_LEFT_OUT: Simulated(),
    "Beta(2, 5) covariates": Simulated(covariates=lambda rng, shape: rng.beta(2.0, 5.0, shape)),
    "covariates in two clumps": Simulated(covariates=_two_clumps),
    "correlated covariates": Simulated(covariates=_correlated),
    "covariates 0.3 +- 0.05": Simulated(covariates=_normal(0.3, 0.05)),
    "covariates 0.1 +- 0.03": Simulated(covariates=_normal(0.1, 0.03)),
    "t(3) residuals": Simulated(residuals=_heavy_tails),
    "residuals five times as large in one direction": Simulated(residuals=_one_direction),
    "residuals twice as large at one end": Simulated(residuals=lambda _, z, x: z * (x + 1.5) / 1.5),
    "footpoint at 1.2 radii": Simulated(away=1.2),
    "footpoint at 1.5 radii": Simulated(away=1.5),
    "residuals of four radii": Simulated(scale=4.0),
    "residuals of 1e-5 radii": Simulated(scale=1e-5),
    "a fifth of the records elsewhere": Simulated(elsewhere=0.2),
    "no trend": Simulated(power=SIZE),
    "a weak trend": Simulated(power=0.8),
}


def trend_with_power(power, scale, number, dim):
    """Length of a shooting vector at which `trend_p_value` has a power, for even covariates."""
    degrees = dim, dim * (number - 2)
    shift = ncfdtrinc(*degrees, 1.0 - power, fdtri(*degrees, 1.0 - SIZE)) if power > SIZE else 0.0
    return scale * np.sqrt(12.0 * shift / number)
