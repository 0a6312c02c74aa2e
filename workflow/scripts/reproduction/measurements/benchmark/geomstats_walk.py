"""The published density and the random walk on it, as a user of geomstats would write them.

One chain in a loop, vectorised over records, with geomstats' exp, log and parallel transport.  What
geomstats does not have, the eigenspaces of the curvature and frames, is the library's, so that the
walk takes the steps that `geodp.samplers.random_walk` takes with the same random numbers.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodp.manifolds.base import Manifold
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.manifolds.symmetric import jacobi_factors
from geodp.randomness import random_directions


def geomstats_space(manifold):
    """The same space in geomstats, equipped with its metric."""
    # It takes seconds to import.
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.geometry.pre_shape import PreShapeSpace
    from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDMatrices

    if isinstance(manifold, Sphere):
        return Hypersphere(manifold.dim)
    if isinstance(manifold, SPD):
        space = SPDMatrices(manifold.size, equip=False)
        space.equip_with_metric(SPDAffineMetric)
        return space
    if isinstance(manifold, KendallPlanarShapes):
        preshapes = PreShapeSpace(manifold.landmarks, 2)
        preshapes.equip_with_group_action("rotations")
        preshapes.equip_with_quotient()
        return preshapes.quotient
    raise ValueError(f"no space of geomstats is known for {manifold.name}")


def to_geomstats(array):
    """Landmarks as pairs of numbers; anything else as it is."""
    if np.iscomplexobj(array):
        return np.stack([array.real, array.imag], axis=-1)
    return array


def from_geomstats(manifold, array):
    """Undo `to_geomstats`."""
    if manifold.dtype is complex:
        return array[..., 0] + 1j * array[..., 1]
    return array


@dataclass(frozen=True)
class GeomstatsDensity:
    """Log density ``-|grad_p E(p, transported v_hat)| / sigma`` of one data set, by geomstats.

    Records, their fit and the centre are as geomstats stores points.  The radius of the support of
    the whole space is infinite.
    """

    manifold: Manifold
    covariates: np.ndarray
    points: np.ndarray
    footpoint: np.ndarray
    shooting_vector: np.ndarray
    scale: float
    support_centre: np.ndarray
    support_radius: float

    @cached_property
    def metric(self):
        """The metric of geomstats."""
        return geomstats_space(self.manifold).metric

    def __call__(self, point):
        """Log density of one point of geomstats, minus infinity outside the support."""
        metric = self.metric
        if np.isfinite(self.support_radius):
            # Rounding must not narrow a radius that is the whole space's.
            away = np.squeeze(metric.dist(self.support_centre, point))
            if away > self.support_radius * (1.0 + 1e-9):
                return -np.inf
        return -np.squeeze(metric.norm(*self.gradient(point))) / self.scale

    def gradient(self, point):
        """Gradient of the energy in the footpoint, and the representative it stands at."""
        metric, manifold = self.metric, self.manifold
        x = self.covariates
        direction = np.reshape(metric.log(point, self.footpoint), self.footpoint.shape)
        # On shapes, the representative of the point that transport ends at.
        point = np.reshape(metric.exp(direction, self.footpoint), direction.shape)
        velocity = self._transport(self.shooting_vector, self.footpoint, direction)
        velocities = np.einsum("n,...->n...", x, velocity)
        predictions = metric.exp(velocities, point)
        residuals = metric.log(self.points, predictions)
        back = self._transport(residuals, predictions, metric.log(point, predictions))
        p, v, back = (from_geomstats(manifold, each) for each in (point, velocity, back))
        components = manifold.split(p[None], v[None], back)
        weights = jacobi_factors(manifold, manifold.frequencies(p, v), x)["point"]
        total = sum(
            np.einsum("n,n...->...", np.broadcast_to(weight, x.shape), components[:, index])
            for index, weight in enumerate(weights)
        )
        return to_geomstats(-total / len(x)), point

    def _transport(self, vectors, points, directions):
        """Vectors carried along geodesics.

        On shapes `parallel_transport` integrates numerically; a pole ladder, which geomstats has
        too, is exact there and several times faster than five steps of that.
        """
        if self.manifold.dtype is complex:
            ladder = self.metric.ladder_parallel_transport(vectors, points, directions)
            carried = ladder["transported_tangent_vec"]
        else:
            carried = self.metric.parallel_transport(vectors, points, direction=directions)
        return np.reshape(carried, np.shape(vectors))


def geomstats_walk(rng, density, radius, start):
    """Yield point and log density of one chain, and whether the step was accepted, for ever.

    ``radius`` is that of the tangent ball of proposals; points are as the library stores them.
    """
    manifold, metric = density.manifold, density.metric
    point = to_geomstats(start)
    value = density(point)
    while True:
        direction = random_directions(rng, (manifold.dim,))
        length = radius * rng.random() ** (1.0 / manifold.dim)
        vector = manifold.vector(
            manifold.frame(from_geomstats(manifold, point)), length * direction
        )
        proposed = np.reshape(metric.exp(to_geomstats(vector), point), point.shape)
        proposed_value = density(proposed)
        accepted = np.log(rng.random()) < proposed_value - value
        if accepted:
            point, value = proposed, proposed_value
        yield from_geomstats(manifold, point), value, accepted
