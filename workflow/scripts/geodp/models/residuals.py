"""Residuals of records about their predictions ``Exp(p, x_1 v_1 + ... + x_k v_k)``.

There are three cases, each with sums for gradients and for Gauss-Newton steps:

* `OneGeodesicResiduals`: a symmetric space and at most one covariate.  All predictions lie on one
  geodesic, and residuals need not be formed one by one.
* `PerRecordGeodesicResiduals`: a symmetric space and several covariates.  Each record has its own
  geodesic, hence its own curvature eigenspaces.
* `DifferencedResiduals`: any other manifold.  Derivatives of Exp are differences.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from geodp.manifolds.base import align_data_axes
from geodp.manifolds.differences import DifferencedManifold
from geodp.manifolds.symmetric import BendingLogs, SymmetricSpace, jacobi_factors
from geodp.models.blocks import FOOTPOINT


class Residuals(ABC):
    """Residuals ``r_i = Log(prediction_i, y_i)`` at each state of a batch of parameters.

    The *contribution* of a record to a block is its residual, carried to the footpoint by the
    adjoint of the derivative of its prediction in that block: minus the gradient of
    ``|r_i|^2 / 2``.

    Attributes
    ----------
    squared_distances : ndarray, shape (*data_sets, *chains, n)
        ``|r_i|^2``.
    """

    squared_distances: Any

    @property
    def bends(self):
        """Whether Hessians of the squared distances are at hand."""
        return False

    @abstractmethod
    def adjoint_sums(self, block, weights=None):
        """Sum over records of contributions to a block, (*data_sets, *chains, *point_shape).

        Records may have ``weights`` (*data_sets, *chains, n).
        """

    @abstractmethod
    def normal(self, blocks, weights=None):
        """Sum over records of ``J_i^T J_i``, with J_i the derivative of the prediction in blocks.

        As `steps` of the same class takes it.
        """

    @classmethod
    @abstractmethod
    def of(cls, manifold, parameters, covariates, points):
        """See `residuals_of`."""

    @classmethod
    def squares_of(cls, manifold, parameters, covariates, points):
        """Squared distances of records, without the rest."""
        return cls.of(manifold, parameters, covariates, points).squared_distances

    @staticmethod
    def steps(manifold, parameters, found, damping, slow=False):
        """See `GeodesicModel.newton_steps`; here ``found.normal`` is in the frame, (..., D, D)."""
        normal = damped(found.normal, damping)
        return steps_in_frame(
            manifold,
            parameters[FOOTPOINT],
            found.gradient,
            lambda gradient: -np.linalg.solve(normal, gradient),
        )


def residuals_of(manifold, parameters, covariates, points):
    """`Residuals` of records at each state of a batch of parameters.

    Parameters are by block, the footpoint first, (*data_sets, *chains, *point_shape); covariates
    (*data_sets, n, k) and points (*data_sets, n, *point_shape).
    """
    kind = kind_of(manifold, covariates.shape[-1])
    return kind.of(manifold, parameters, covariates, points)


def kind_of(manifold, number_of_covariates):
    """The class of residuals of a model."""
    if not isinstance(manifold, SymmetricSpace):
        return DifferencedResiduals
    return PerRecordGeodesicResiduals if number_of_covariates > 1 else OneGeodesicResiduals


def record_size(manifold, number_of_covariates, normal=False):
    """About how many numbers the largest array of `residuals_of`, or `normal`, has for a record."""
    kind = kind_of(manifold, number_of_covariates)
    one_geodesic = kind is OneGeodesicResiduals
    return kind.record_size(manifold) * (manifold.dim if normal and not one_geodesic else 1)


def _one_geodesic(parameters, covariates):
    """Start, velocity and times of the geodesic of all predictions (k = 0 or 1)."""
    start, *velocities = parameters.values()
    if velocities:
        return start, velocities[0], covariates[..., 0]
    return start, np.zeros_like(start), np.zeros(covariates.shape[:-1])


def _argument(index):
    """Argument of Exp that a block enters: the footpoint, of index 0, is the point."""
    return "vector" if index else "point"


@dataclass(frozen=True)
class OneGeodesicResiduals(Residuals):
    """Residuals about predictions on one geodesic of a symmetric space: k = 0 or 1.

    ``logs`` are `LogsAlong`.
    """

    manifold: SymmetricSpace
    blocks: tuple
    logs: Any

    @classmethod
    def of(cls, manifold, parameters, covariates, points):
        start, velocity, times = _one_geodesic(parameters, covariates)
        return cls(manifold, tuple(parameters), manifold.logs_along(start, velocity, times, points))

    @classmethod
    def squares_of(cls, manifold, parameters, covariates, points):
        along = _one_geodesic(parameters, covariates)
        return manifold.squared_distances_along(*along, points)

    @staticmethod
    def record_size(manifold):
        # Matrices are best few at a time; of vectors no array of their size is made.
        return max(1, len(manifold.curvature_signs) // 4)

    @property
    def squared_distances(self):
        return self.logs.squared_distances

    @property
    def bends(self):
        return isinstance(self.logs, BendingLogs)

    @cached_property
    def _factors(self):
        if len(self.blocks) == 1:
            # Without a covariate nothing moves along.
            return {FOOTPOINT: [1.0] * len(self.manifold.curvature_signs)}
        factors = self.logs.factors()
        return {block: factors[_argument(index)] for index, block in enumerate(self.blocks)}

    def adjoint_sums(self, block, weights=None):
        if self.bends:
            columns = self._columns[..., self.blocks.index(block), :]
            if weights is not None:
                columns = weights[..., None, :] * columns
            return self.logs.vector(np.einsum("...kn,...kn->...k", columns, self.logs.components))
        factors = self._factors[block]
        if weights is not None:
            factors = [weights * factor for factor in factors]
        return self.logs.combine(factors)

    @cached_property
    def _columns(self):
        """Factors (*data_sets, *chains, K, B, n) of the blocks."""
        batch, number = self.squared_distances.shape[:-1], self.squared_distances.shape[-1]
        signs = self.manifold.curvature_signs
        columns = np.empty((*batch, len(signs), len(self.blocks), number))
        for place, block in enumerate(self.blocks):
            for index, factor in enumerate(self._factors[block]):
                columns[..., index, place, :] = factor
        return columns

    def _columns_of(self, blocks):
        if blocks == self.blocks:
            return self._columns
        return self._columns[..., [self.blocks.index(block) for block in blocks], :]

    def normal(self, blocks, weights=None):
        """See `Residuals.normal`: (*data_sets, *chains, K, B, B), a matrix in each eigenspace.

        Of a mean by least squares the Hessian itself where that costs little, which is exact while
        no residual is longer than a quarter turn; `Residuals.steps` takes it.
        """
        if len(self.blocks) == 1 and weights is None and self.manifold.sums_hessians:
            return self.logs.hessian_sums()
        columns = self._columns_of(blocks)
        weighted = columns if weights is None else weights[..., None, None, :] * columns
        return weighted @ np.swapaxes(columns, -1, -2)

    @staticmethod
    def steps(manifold, parameters, found, damping, slow=False):
        """See `GeodesicModel.newton_steps`; ``found.normal`` is as `normal` says."""
        start, *velocities = parameters.values()
        if found.normal.ndim == damping.ndim + 2:
            return Residuals.steps(manifold, parameters, found, damping)
        normal = damped(found.normal, damping[..., None])
        # Of a mean Gauss-Newton steps know no curvature at all.
        curved = slow or not velocities
        if found.residuals is not None and (curved or found.residuals.logs.bends_readily):
            return found.residuals.curved_steps(found.gradient, normal, normal - found.normal)
        velocity = velocities[0] if velocities else np.zeros_like(start)
        parts = [manifold.split(start, velocity, each) for each in found.gradient.values()]
        flat = np.stack(parts, axis=-manifold.point_ndim - 1)  # (*batch, K, B, *point_shape)
        flat = flat.reshape((*normal.shape[:-1], -1))
        steps = -np.sum(np.linalg.inv(normal) @ flat, axis=-3)
        return {
            block: steps[..., index, :].reshape(start.shape)
            for index, block in enumerate(found.gradient)
        }

    def curved_steps(self, gradients, normal, shift, tolerance=1e-5, most=30):
        """Steps with the Hessian of each squared distance, and not of the predictions.

        The system is ``sum J_i^T H_i J_i``, with H_i the Hessian of half the squared distance at a
        prediction: without covariates the exact Hessian of the energy.  It is solved by conjugate
        gradients, preconditioned by ``sum J_i^T J_i``, in coordinates with one in each eigenspace.
        """
        logs, columns = self.logs, self._columns_of(tuple(gradients))
        # Chains may have been flattened into one axis.
        batch, number = columns.shape[:-3], columns.shape[-1]
        inverse, shift = (
            each.reshape((*batch, *each.shape[-3:])) for each in (np.linalg.inv(normal), shift)
        )

        def product(moves):
            places = np.einsum("...kbn,...kb->...kn", columns, moves)
            bent = np.einsum("...kbn,...kn->...kb", columns, logs.bend(places)) / number
            return bent + (shift @ moves[..., None])[..., 0]

        def inner(first, second):
            return np.sum(first * second, axis=(-2, -1), keepdims=True)

        flat = [each.reshape((*batch, *self.manifold.point_shape)) for each in gradients.values()]
        left = -np.stack([logs.coordinates(each) for each in flat], axis=-1)
        steps = np.zeros_like(left)
        direction = solved = (inverse @ left[..., None])[..., 0]
        size = start = inner(left, solved)
        for _ in range(most):
            if np.all(size <= tolerance**2 * start):
                break
            image = product(direction)
            ahead = size / np.maximum(inner(direction, image), np.finfo(float).tiny)
            steps, left = steps + ahead * direction, left - ahead * image
            solved = (inverse @ left[..., None])[..., 0]
            before, size = size, inner(left, solved)
            direction = solved + size / np.maximum(before, np.finfo(float).tiny) * direction
        return {
            block: logs.vector(steps[..., index]).reshape(each.shape)
            for index, (block, each) in enumerate(gradients.items())
        }


@dataclass(frozen=True)
class PerRecordGeodesicResiduals(Residuals):
    """Residuals on a symmetric space with a geodesic for each record: k of 2 or more.

    Attributes
    ----------
    manifold : SymmetricSpace
    covariates : ndarray that broadcasts to (*data_sets, *chains, n, k)
    start, vectors : ndarray, shape (*data_sets, *chains, n, *point_shape)
        Footpoint, and ``x_1 v_1 + ... + x_k v_k`` of each record.
    frequencies : ndarray, shape (*data_sets, *chains, n, K)
        Of these vectors.
    components : ndarray, shape (*data_sets, *chains, n, K, *point_shape)
        Of the residuals carried back, by curvature eigenspace.
    blocks : tuple of str
    """

    manifold: SymmetricSpace
    covariates: np.ndarray
    start: np.ndarray
    vectors: np.ndarray
    frequencies: np.ndarray
    components: np.ndarray
    blocks: tuple

    @classmethod
    def of(cls, manifold, parameters, covariates, points):
        x, start, vectors = _record_vectors(manifold, parameters, covariates)
        y = align_data_axes(points, covariates.ndim - 2, vectors.ndim - manifold.point_ndim - 1)
        back = manifold.transport_back(
            start, vectors, manifold.log(manifold.exp(start, vectors), y)
        )
        return cls(
            manifold,
            x,
            start,
            vectors,
            manifold.frequencies(start, vectors),
            manifold.split(start, vectors, back),
            tuple(parameters),
        )

    @staticmethod
    def record_size(manifold):
        return len(manifold.curvature_signs) * int(np.prod(manifold.point_shape))

    @cached_property
    def squared_distances(self):
        start = np.expand_dims(self.start, -self.manifold.point_ndim - 1)
        squares = self.manifold.inner(start, self.components, self.components)
        return np.maximum(np.sum(squares, axis=-1), 0.0)

    @cached_property
    def _carried(self):
        """The two adjoints of each residual, (*batch, n, *point_shape), by argument of Exp."""
        axis = -self.manifold.point_ndim - 1
        factors = _factors_of_records(self.manifold, self.frequencies)
        return {
            argument: np.sum(self.manifold.expand(factor) * self.components, axis=axis)
            for argument, factor in factors.items()
        }

    def contributions(self, block):
        """Contribution of each record to a block; (*data_sets, *chains, n, *point_shape)."""
        index = self.blocks.index(block)
        carried = self._carried[_argument(index)]
        if not index:
            return carried
        return self.manifold.expand(self.covariates[..., index - 1]) * carried

    def adjoint_sums(self, block, weights=None):
        each = self.contributions(block)
        if weights is not None:
            each = self.manifold.expand(weights) * each
        return np.sum(each, axis=-self.manifold.point_ndim - 1)

    def normal(self, blocks, weights=None):
        """See `Residuals.normal`: (*data_sets, *chains, D, D), from projections on eigenspaces."""
        manifold, before = self.manifold, -self.manifold.point_ndim - 1
        frame = manifold.frame(self.start)
        start, vectors = (np.expand_dims(each, before) for each in (self.start, self.vectors))
        images = manifold.split(start, vectors, frame)  # (*batch, n, dim, K, *point_shape)
        # Coordinates (*batch, n, dim, K, dim): a projection matrix for each eigenspace.
        frames = np.expand_dims(frame, (before - 1, before - 2))
        projections = manifold.coordinates(np.expand_dims(start, before), images, frames)
        factors = _factors_of_records(manifold, self.frequencies)
        columns = []
        for index in (self.blocks.index(block) for block in blocks):
            scale = self.covariates[..., index - 1, None] if index else 1.0
            columns.append(scale * factors[_argument(index)])
        weights = np.ones(self.frequencies.shape[:-1]) if weights is None else weights
        rows = []
        for first in columns:
            pairs = [weights[..., None] * first * second for second in columns]
            row = [np.einsum("...nk,...nikj->...ij", pair, projections) for pair in pairs]
            rows.append(np.concatenate(row, axis=-1))
        return np.concatenate(rows, axis=-2)


def _record_vectors(manifold, parameters, covariates):
    """Covariates aligned with chains, footpoints with records, and each record's vector."""
    footpoint, *vectors = parameters.values()
    x = align_data_axes(covariates, covariates.ndim - 2, footpoint.ndim - manifold.point_ndim)
    total = manifold.combinations(vectors, x)
    start = np.expand_dims(footpoint, -manifold.point_ndim - 1)
    return x, np.broadcast_to(start, total.shape), total


def _factors_of_records(manifold, frequencies):
    """Jacobi factors (*batch, n, K) of each record at time one, by argument of Exp."""
    shape = (*frequencies.shape[:-1], 1)
    return {
        argument: np.concatenate([np.broadcast_to(each, shape) for each in factors], axis=-1)
        for argument, factors in jacobi_factors(manifold, frequencies, np.ones(1)).items()
    }


@dataclass(frozen=True)
class DifferencedResiduals(Residuals):
    """Residuals on a `DifferencedManifold`, for any number of covariates.

    The residuals are ``vectors`` at ``predictions``, both (*data_sets, *chains, n, *point_shape);
    ``covariates`` broadcast to (*data_sets, *chains, n, k).
    """

    manifold: DifferencedManifold
    parameters: dict
    covariates: np.ndarray
    squared_distances: np.ndarray
    predictions: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, manifold, parameters, covariates, points):
        footpoint, *vectors = parameters.values()
        axes = covariates.ndim - 2, footpoint.ndim - manifold.point_ndim
        x = align_data_axes(covariates, *axes)
        predictions = manifold.ends(footpoint, vectors, x)
        found = manifold.log(predictions, align_data_axes(points, *axes))
        # In an indefinite ambient product rounding can make a small square negative.
        squares = np.maximum(manifold.inner(predictions, found, found), 0.0)
        return cls(manifold, parameters, x, squares, predictions, found)

    @staticmethod
    def record_size(manifold):
        return manifold.dim * int(np.prod(manifold.point_shape))

    @cached_property
    def _coordinates(self):
        """Coordinates (*batch, dim, n) of each contribution in the frame, by block."""
        footpoint, *vectors = self.parameters.values()
        before = -self.manifold.point_ndim - 2
        ends = np.expand_dims(self.predictions, before)
        residuals = np.expand_dims(self.vectors, before)
        return {
            block: self.manifold.inner(
                ends,
                self.manifold.exp_derivatives(footpoint, vectors, self.covariates, moved),
                residuals,
            )
            for moved, block in enumerate(self.parameters)
        }

    def adjoint_sums(self, block, weights=None):
        coordinates = self._coordinates[block]
        if weights is not None:
            coordinates = weights[..., None, :] * coordinates
        frame = self.manifold.frame(self.parameters[FOOTPOINT])
        return self.manifold.vector(frame, np.sum(coordinates, axis=-1))

    def normal(self, blocks, weights=None):
        """See `Residuals.normal`: (*data_sets, *chains, D, D), from differences of Exp."""
        manifold, names = self.manifold, tuple(self.parameters)
        footpoint, *vectors = self.parameters.values()
        axis = -manifold.point_ndim - 2
        moved = [names.index(block) for block in blocks]
        images = np.concatenate(
            [manifold.exp_derivatives(footpoint, vectors, self.covariates, m) for m in moved],
            axis=axis,
        )
        ends = np.expand_dims(self.predictions, axis)
        products = manifold.gram(ends, images, manifold.point_ndim + 1)
        if weights is not None:
            products = weights[..., None, None, :] * products
        return np.sum(products, axis=-1)


def steps_in_frame(manifold, footpoint, gradients, solve):
    """Steps by block, from gradients by block and a function of their coordinates.

    ``solve`` takes coordinates (*batch, D, 1) of the gradient, in the frame at the footpoint and
    block after block, to those of the step.
    """
    frame = manifold.frame(footpoint)
    flat = np.concatenate(
        [manifold.coordinates(footpoint, each, frame) for each in gradients.values()], axis=-1
    )
    moves = solve(flat[..., None])[..., 0]
    parts = np.split(moves, len(gradients), axis=-1)
    return {
        block: manifold.vector(frame, part) for block, part in zip(gradients, parts, strict=True)
    }


def damped(normal, damping):
    """Normal matrices plus a multiple of the identity; the identity where the matrix is zero."""
    trace = np.trace(normal, axis1=-2, axis2=-1)
    # A little is always added, so that they are invertible.
    shift = np.where(trace > 0.0, (damping + 1e-14) * trace, 1.0)
    return normal + shift[..., None, None] * np.eye(normal.shape[-1])
