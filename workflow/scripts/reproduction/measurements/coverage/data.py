"""Simulated data of the table of coverage, as a release assumes them or unlike that."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import fdtrc, fdtri, ncfdtrinc

from geodp.models.geodesic import GeodesicModel
from geodp_release.simulation import TWO_GROUPS

# Level of tests for a trend.
SIZE = 0.05


@dataclass(frozen=True)
class Simulated:
    """How data are made; with no arguments as plans assume."""

    # From a generator and a shape to covariates from 0 to 1; those in two groups are at the ends.
    covariates: Callable = np.random.Generator.random
    # From a generator, standard normal residuals (n, dim) and first covariates (n, 1) from -1/2 to
    # 1/2 to residuals.
    residuals: Callable = lambda rng, normal, x: normal
    # Distance of the true footpoint from the centre in radii of the support; uniform within it
    # unless given.
    away: float | None = None
    # Standard deviation of a residual in those radii; that of the space unless given.
    scale: float | None = None
    # Share of records about a point that is 1.8 radii from the footpoint, whatever the covariate.
    elsewhere: float = 0.0
    # Of the test without privacy at the true shooting vectors, which are zero at the size of the
    # test; of uniform length within the support unless given.
    power: float | None = None

    def draw(self, assumptions, scale, rng):
        """A true state (1 + k, *point_shape), covariates (n, k), and points (n, *point_shape)."""
        manifold, number = assumptions.manifold, assumptions.subjects
        radius, count = assumptions.footpoint_radius, assumptions.number_of_covariates
        scale = scale if self.scale is None else self.scale * radius
        lengths: Any = rng.random(count) * assumptions.shooting_vector_length
        if self.power is not None:
            lengths = np.full(count, trend_with_power(self.power, scale, number, manifold.dim))
        away = radius * (rng.random() if self.away is None else self.away)
        p = _beside(manifold, rng, assumptions.centre, away)
        vectors = [length * manifold.random_direction(rng, p) for length in lengths]
        x = self.covariates(rng, (number, count))
        x = np.where(np.array(assumptions.spreads) == TWO_GROUPS, x > 0.5, x) - 0.5
        first = x[:, :1] if count else np.zeros((number, 1))
        residuals = scale * self.residuals(rng, rng.normal(size=(number, manifold.dim)), first)
        # In directions that are the same along the geodesic.
        residuals = manifold.vector(manifold.frame(p), residuals)
        starts = np.broadcast_to(p, residuals.shape)
        steps = np.broadcast_to(manifold.combinations(vectors, x), residuals.shape)
        residuals = manifold.transport(starts, steps, residuals)
        points = manifold.exp(manifold.exp(starts, steps), residuals)
        if others := int(self.elsewhere * number):
            place = np.broadcast_to(_beside(manifold, rng, p, 1.8 * radius), points[:others].shape)
            points[:others] = manifold.exp(place, scale * manifold.random_tangent(rng, place))
        return np.stack([p, *vectors]), x, points


def _beside(manifold, rng, point, distance):
    return manifold.exp(point, distance * manifold.random_direction(rng, point))


def _normal(mean, deviation):
    """Covariates with a mean and a standard deviation, clipped to the range."""
    return lambda rng, shape: np.clip(rng.normal(mean, deviation, shape), 0.0, 1.0)


def _one_direction(rng, normal, x, ratio=5.0):
    sizes = np.ones(normal.shape[-1])
    sizes[0] = ratio
    return normal * sizes / np.sqrt(np.mean(sizes**2))


def _two_clumps(rng, shape):
    middles = np.where(rng.random(shape) < 0.5, 0.2, 0.8)
    return np.clip(rng.normal(middles, 0.05), 0.0, 1.0)


def _correlated(rng, shape, share=0.64):
    """Covariates of which each two have the ``share`` of their variance in common."""
    normal = rng.normal(size=(shape[0], 1 + shape[1]))
    normal = np.sqrt(share) * normal[:, :1] + np.sqrt(1.0 - share) * normal[:, 1:]
    return np.clip(0.5 + 0.2 * normal, 0.0, 1.0)


# What is not as assumed, by its name in the configuration.
UNLIKE = {
    "nothing": Simulated(),
    "Beta(2, 5) covariates": Simulated(covariates=lambda rng, shape: rng.beta(2.0, 5.0, shape)),
    "covariates in two clumps": Simulated(covariates=_two_clumps),
    "correlated covariates": Simulated(covariates=_correlated),
    "covariates 0.3 +- 0.05": Simulated(covariates=_normal(0.3, 0.05)),
    "covariates 0.1 +- 0.03": Simulated(covariates=_normal(0.1, 0.03)),
    "t(3) residuals": Simulated(
        residuals=lambda rng, normal, x: (
            normal / np.sqrt(rng.chisquare(3.0, (len(normal), 1)) / 3.0)
        )
    ),
    "residuals five times as large in one direction": Simulated(residuals=_one_direction),
    "residuals twice as large at one end": Simulated(
        residuals=lambda rng, normal, x: normal * (x + 1.5) / 1.5
    ),
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
    if power <= SIZE:
        return 0.0
    degrees = dim, dim * (number - 2)
    shift = ncfdtrinc(*degrees, 1.0 - power, fdtri(*degrees, 1.0 - SIZE))
    return scale * np.sqrt(12.0 * shift / number)


def trend_p_value(manifold, covariates, points):
    """Of the F test, without privacy, of no trend on one covariate (n,), in the mean's tangents."""
    mean = GeodesicModel(manifold, 0).fit(None, points).footpoint
    logs = manifold.log(np.broadcast_to(mean, points.shape), points)
    y = manifold.coordinates(mean, logs, manifold.frame(mean))
    y, x = y - np.mean(y, axis=0), covariates - np.mean(covariates)
    explained = np.sum((x @ y) ** 2) / (x @ x)
    residual = np.sum(y**2) - explained
    dim, left = y.shape[1], len(x) - 2
    return fdtrc(dim, dim * left, explained / residual * left)
