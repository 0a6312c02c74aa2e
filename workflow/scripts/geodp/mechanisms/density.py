"""The published densities of footpoint and shooting vector, with certified bounds on cells."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from geodp.manifolds.kendall import PlanarShapes
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.manifolds.symmetric import SymmetricSpace
from geodp.mechanisms import record_sums
from geodp.mechanisms.gradient_bounds import (
    LEFT_OUT,
    ROUNDING,
    arc_turning,
    far_slope,
    footpoint_change,
    record_means,
    shooting_vector_change,
    slopes,
    transport_turning,
)
from geodp.models.blocks import FOOTPOINT
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import SquaredDistance


@dataclass(frozen=True)
class GradientDensity(ABC):
    """A batch of densities ``exp(-|gradient of the energy| / scale)``, with bounds on cells."""

    model: GeodesicModel  # With at most one covariate.
    covariates: np.ndarray  # (*data_sets, n, k)
    points: np.ndarray  # (*data_sets, n, *point_shape)
    scale: np.ndarray  # (*batch)

    @property
    @abstractmethod
    def block(self):
        """Block whose gradient is in the density."""

    @property
    def manifold(self):
        """Manifold of the data."""
        return self.model.manifold

    @property
    def times(self):
        """Covariates as times along a geodesic (*data_sets, n); zero where there are none."""
        if self.model.number_of_covariates:
            return self.covariates[..., 0]
        return np.zeros(self.covariates.shape[:-1])

    @abstractmethod
    def parameters(self, states):
        """Parameters of the model at each state, by block."""

    def geodesics(self, states):
        """Start and velocity of the geodesic at each state."""
        start, *vectors = self.parameters(states).values()
        return start, vectors[0] if vectors else np.zeros_like(start)

    @abstractmethod
    def frames(self, footpoints):
        """Frame at the footpoints of states, for coordinates of gradients."""

    def thinned(self, number):
        """The density of at most ``number`` records, spread over the data."""
        if self.number_of_records <= number:
            return self
        used = np.linspace(0, self.number_of_records - 1, number).astype(int)
        points = np.take(self.points, used, axis=-self.manifold.point_ndim - 1)
        return replace(self, covariates=self.covariates[..., used, :], points=points)

    def _compiled_sums(self, bounded):
        """Sums over records, and bounds of their change, if there are compiled ones."""
        manifold = self.manifold
        sums: Any = None
        if isinstance(manifold, Sphere) and manifold.curvature_bounds == (1.0, 1.0):
            sums = record_sums.sphere_sums
        elif isinstance(manifold, PlanarShapes) and not bounded:
            sums = record_sums.shape_sums
        elif isinstance(manifold, SPD) and manifold.size == 2 and not bounded:
            sums = record_sums.matrix_sums
        least_squares = isinstance(self.model.loss, SquaredDistance)
        if sums is None or not least_squares or find_spec("numba") is None:
            return None
        return partial(sums, self.block)

    def _gradient(self, states):
        """Footpoint of each state, and the gradient of the energy there."""
        sums = self._compiled_sums(bounded=False)
        if sums is not None:
            footpoints, vectors = self.geodesics(states)
            total = sums(footpoints, vectors, self.times, self.points)[0]
            return footpoints, -total / self.number_of_records
        parameters, data = self.parameters(states), (self.covariates, self.points)
        found = self.model.energy_gradient(parameters, *data, (self.block,))
        return parameters[FOOTPOINT], found.gradient[self.block]

    def log_density(self, states):
        """Log density (*batch, chains) of states (*batch, chains, *point_shape)."""
        footpoints, gradient = self._gradient(states)
        return -self.manifold.norm(footpoints, gradient) / self.scale[..., None]

    def coordinates(self, states):
        """Gradient at each state, in coordinates; (*batch, chains, dim)."""
        footpoints, gradient = self._gradient(states)
        return self.manifold.coordinates(footpoints, gradient, self.frames(footpoints))

    def linearise(self, states):
        """Gradient in coordinates, and its derivative (*batch, chains, dim, dim)."""
        data = (self.covariates, self.points)
        matrix = self.model.hessian(self.parameters(states), *data, (self.block,))
        return self.coordinates(states), matrix

    def refusal(self):
        """Reason why there are no bounds, in a few words, or ``None``."""
        if not isinstance(self.manifold, SymmetricSpace):
            return f"{self.manifold.name} is no symmetric space"
        lower, upper = self.manifold.curvature_bounds
        if lower < 0.0 < upper:
            return (
                f"{self.manifold.name} has curvatures of both signs, which the bounds do not know"
            )
        if not isinstance(self.model.loss, SquaredDistance):
            return f"the bounds are of least squares, and its loss is {self.model.loss.name}"
        return None

    @abstractmethod
    def _change(self, states, radii, angles, pole):
        """Bounds of the change of a record's gradient within cells, and of its length there.

        A function of residual distances, covariates, lengths of shooting vectors and further
        arrays; and these arrays, each of shape (*batch, chains).
        """

    @property
    def number_of_records(self):
        """Number of records that a density depends on."""
        return self.covariates.shape[-2]

    def extremes(self, states, radii, angles, pole):
        """Lower and upper bound of the log density over cells in polar coordinates about a pole.

        The upper one may be positive, which says nothing but by how much the bound is too loose.

        Every point of a cell is reached from its state along an arc at the state's distance from
        the pole, and then along a radius; in flat spaces straight.  ``radii`` (*batch, chains) are
        largest lengths of that path, ``angles`` largest angles of the arc, seen from the pole
        (*batch, 1, *point_shape).
        """
        footpoints, vectors = self.geodesics(states)
        bound, arrays = self._change(states, radii, angles, pole)
        block, sums = self.block, self._compiled_sums(bounded=True)

        def gradient_and_change(found, distances, *rest):
            change, length = bound(distances, *rest)
            kept = change <= LEFT_OUT * length
            weights = None if np.all(kept) else kept
            return [found.adjoint_sums(block, weights)], [np.where(kept, change, length)]

        data = (self.times, self.points)
        if sums is not None:
            totals = sums(footpoints, vectors, *data, arrays)
            gradient, change = (total / self.number_of_records for total in totals)
        else:
            gradient, change = record_means(
                self.manifold, footpoints, vectors, *data, gradient_and_change, *arrays
            )
        norm = self.manifold.norm(footpoints, gradient)
        change = change * (1.0 + ROUNDING) + ROUNDING
        scale = self.scale[..., None]
        return -(norm + change) / scale, (change - norm) / scale

    @abstractmethod
    def _places_of(self, members):
        """Where the densities of some members are, as arguments of `replace`."""

    def take(self, members):
        """Densities at k indices of the flattened batch; the new batch has shape (k,)."""
        data_shape = self.covariates.shape[:-2]
        # The members of a data set follow one another.
        data_set = members // int(np.prod(self.scale.shape[len(data_shape) :], dtype=int))
        # Without covariates there is nothing to tell the number of data sets by.
        shape = (int(np.prod(data_shape, dtype=int)), *self.covariates.shape[-2:])
        points = self.points.reshape((*shape[:2], *self.manifold.point_shape))
        return replace(
            self,
            covariates=self.covariates.reshape(shape)[data_set],
            points=points[data_set],
            scale=self.scale.reshape(-1)[members],
            **self._places_of(members),
        )

    def slopes(self, states, distances):
        """Bounds of the second derivative of the energy along all geodesics from states.

        Of states (*batch, 1, *point_shape), up to distances (*batch, places).  Of footpoints the
        fitted one is the only state: along geodesics from elsewhere the shooting vector, which is
        transported from there, turns.
        """
        moved = distances[..., None, :, None]

        def at_places(*arrays):
            away, x, length = (array[..., None, :] for array in arrays)
            return slopes(self.manifold, self.block, away, x, length, moved)

        found = self._means_of(states, at_places, size=distances.shape[-1])
        return [each[..., 0, :] for each in found]

    def _means_of(self, states, bound, size=1):
        """Means over records of a bound of each; see `record_means`."""
        data = (*self.geodesics(states), self.times, self.points)
        return record_means(self.manifold, *data, lambda _, *rest: ([], bound(*rest)), size=size)

    def far_slope(self, states):
        """Rate ``a`` and loss ``b`` such that the gradient is at least ``a r - b`` at distance r.

        Along geodesics from states; ``None`` where no such numbers are known.
        """
        return None


@dataclass(frozen=True)
class FootpointDensity(GradientDensity):
    """``exp(-|grad_p E(p, v)| / scale)``, with v transported to p from the fitted footpoint."""

    fitted: dict  # Parameters (*data_sets, *point_shape) of the fit, by block.

    @property
    def block(self):
        return FOOTPOINT

    def parameters(self, states):
        axis = -self.manifold.point_ndim - 1
        start, *vectors = (np.expand_dims(value, axis) for value in self.fitted.values())
        carried = [self.manifold.transport_to(start, states, vector) for vector in vectors]
        return self.model.parameters(states, *carried)

    def frames(self, footpoints):
        return self.manifold.frame(footpoints)

    def _change(self, states, radii, angles, pole):
        manifold = self.manifold
        fitted = np.expand_dims(self.fitted[FOOTPOINT], -manifold.point_ndim - 1)
        away = manifold.dist(fitted, states)
        # The transported vector turns with the curvature in between, and changes by at most twice
        # its length.  Along radii from the fitted footpoint it does not turn.
        turning = np.where(
            np.all(pole == fitted, axis=tuple(range(-manifold.point_ndim, 0))),
            angles * arc_turning(manifold, away),
            # A cell of radius zero has no turning, even at a cut locus.
            np.where(radii > 0.0, radii, 1.0) * transport_turning(manifold, away + radii),
        )
        turning = np.where(radii > 0.0, turning, 0.0)
        start, *vectors = self.fitted.values()
        length = sum((manifold.norm(start, v) for v in vectors), np.zeros(()))[..., None]
        turned = length * np.minimum(turning, 2.0)

        return partial(footpoint_change, manifold), (radii, turned)

    def far_slope(self, states):
        manifold = self.manifold
        if manifold.curvature_bounds[1] > 0.0 or np.isfinite(manifold.injectivity_radius):
            return None
        return self._means_of(states, partial(far_slope, manifold))

    def _places_of(self, members):
        shape, fitted = (-1, *self.manifold.point_shape), self.fitted.items()
        return {"fitted": {block: value.reshape(shape)[members] for block, value in fitted}}


@dataclass(frozen=True)
class ShootingVectorDensity(GradientDensity):
    """``exp(-|grad_v E(p, v)| / scale)`` on the tangent space at each footpoint.

    States are coordinates in a frame there.
    """

    footpoint: np.ndarray  # (*batch, *point_shape)
    frame: np.ndarray  # (*batch, dim, *point_shape)

    @property
    def block(self):
        return self.model.blocks[1]

    def parameters(self, states):
        axis = -self.manifold.point_ndim - 1
        vectors = self.manifold.vector(np.expand_dims(self.frame, axis - 1), states)
        footpoints = np.broadcast_to(np.expand_dims(self.footpoint, axis), vectors.shape)
        return self.model.parameters(footpoints, vectors)

    def frames(self, footpoints):
        return np.expand_dims(self.frame, -self.manifold.point_ndim - 2)

    def _change(self, states, radii, angles, pole):
        return partial(shooting_vector_change, self.manifold), (radii,)

    def _places_of(self, members):
        shape = self.manifold.point_shape
        return {
            "footpoint": self.footpoint.reshape((-1, *shape))[members],
            "frame": self.frame.reshape((-1, self.manifold.dim, *shape))[members],
        }
