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
from geodp.manifolds.symmetric import JACOBI_SOLUTIONS, SymmetricSpace, jacobi_factors
from geodp.models.blocks import FOOTPOINT
from geodp.models.chunks import sum_over_records


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

    @abstractmethod
    def adjoint_sums(self, block, weights=None):
        """Sum over records of contributions to a block, (*data_sets, *chains, *point_shape).

        Records may have ``weights`` (*data_sets, *chains, n).
        """


def residuals_of(manifold, parameters, covariates, points):
    """Residuals of records at each state of a batch of parameters.

    Parameters
    ----------
    manifold : Manifold
    parameters : dict of ndarray, shape (*data_sets, *chains, *point_shape)
        By block, the footpoint first.
    covariates : ndarray, shape (*data_sets, n, k)
    points : ndarray, shape (*data_sets, n, *point_shape)

    Returns
    -------
    Residuals
    """
    kind = _kind(manifold, covariates.shape[-1])
    return kind.of(manifold, parameters, covariates, points)


def _kind(manifold, number_of_covariates):
    if not isinstance(manifold, SymmetricSpace):
        return DifferencedResiduals
    return PerRecordGeodesicResiduals if number_of_covariates > 1 else OneGeodesicResiduals


def record_size(manifold, number_of_covariates):
    """About how many numbers the largest array of `residuals_of` holds for a record."""
    return _kind(manifold, number_of_covariates).record_size(manifold)


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

    ``times`` broadcast to (*data_sets, *chains, n), and ``logs`` are `LogsAlong` or alike.
    """

    manifold: SymmetricSpace
    blocks: tuple
    times: np.ndarray
    logs: Any

    @classmethod
    def of(cls, manifold, parameters, covariates, points):
        start, velocity, times = _one_geodesic(parameters, covariates)
        logs = manifold.logs_along(start, velocity, times, points)
        aligned = align_data_axes(times, times.ndim - 1, logs.squared_distances.ndim - 1)
        return cls(manifold, tuple(parameters), aligned, logs)

    @staticmethod
    def record_size(manifold):
        return 1

    @property
    def squared_distances(self):
        return self.logs.squared_distances

    @cached_property
    def _factors(self):
        return {
            block: jacobi_factors(
                self.manifold, self.logs.frequencies, self.times, _argument(index)
            )
            for index, block in enumerate(self.blocks)
        }

    def adjoint_sums(self, block, weights=None):
        factors = self._factors[block]
        if weights is not None:
            factors = [weights * factor for factor in factors]
        return self.logs.combine(factors)


@dataclass(frozen=True)
class PerRecordGeodesicResiduals(Residuals):
    """Residuals on a symmetric space with a geodesic for each record: k of 2 or more.

    Attributes
    ----------
    manifold : SymmetricSpace
    covariates : ndarray that broadcasts to (*data_sets, *chains, n, k)
    start : ndarray, shape (*data_sets, *chains, 1, *point_shape)
    frequencies : ndarray, shape (*data_sets, *chains, n, K)
        Of each record's ``x_1 v_1 + ... + x_k v_k``.
    components : ndarray, shape (*data_sets, *chains, n, K, *point_shape)
        Of the residuals carried back, by curvature eigenspace.
    blocks : tuple of str
    """

    manifold: SymmetricSpace
    covariates: np.ndarray
    start: np.ndarray
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

    @staticmethod
    def products(manifold, parameters, covariates, blocks, weights):
        """Sum over records of weighted ``J_i^T J_i``, from projections on eigenspaces."""
        x, start, vectors = _record_vectors(manifold, parameters, covariates)
        before = -manifold.point_ndim - 1
        frame = manifold.frame(start)
        images = manifold.split(
            np.expand_dims(start, before), np.expand_dims(vectors, before), frame
        )  # (*batch, n, dim, K, *point_shape)
        place = np.expand_dims(start, (before, before - 1))
        # Coordinates (*batch, n, dim, K, dim): a projection matrix for each eigenspace.
        frames = np.expand_dims(frame, (before - 1, before - 2))
        projections = manifold.coordinates(place, images, frames)
        factors = _factors_of_records(manifold, manifold.frequencies(start, vectors))
        names = tuple(parameters)
        rows = []
        for first in (names.index(block) for block in blocks):
            row = []
            for second in (names.index(block) for block in blocks):
                scale = weights
                for index in (first, second):
                    scale = scale * x[..., index - 1] if index else scale
                pair = factors[_argument(first)] * factors[_argument(second)]
                row.append(np.einsum("...n,...nk,...nikj->...ij", scale, pair, projections))
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
    found = {}
    for argument in JACOBI_SOLUTIONS:
        factors = jacobi_factors(manifold, frequencies, np.ones(1), argument)
        parts = [np.broadcast_to(factor, shape) for factor in factors]
        found[argument] = np.concatenate(parts, axis=-1)
    return found


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

    @staticmethod
    def products(manifold, parameters, covariates, blocks, weights):
        """Sum over records of weighted ``J_i^T J_i``, from differences of Exp."""
        footpoint, *vectors = parameters.values()
        names = tuple(parameters)
        x = align_data_axes(covariates, covariates.ndim - 2, footpoint.ndim - manifold.point_ndim)
        axis = -manifold.point_ndim - 2
        images = np.concatenate(
            [manifold.exp_derivatives(footpoint, vectors, x, names.index(each)) for each in blocks],
            axis=axis,
        )
        ends = np.expand_dims(manifold.ends(footpoint, vectors, x), axis)
        products = manifold.gram(ends, images, manifold.point_ndim + 1)
        return np.sum(weights[..., None, None, :] * products, axis=-1)


def gauss_newton_steps(manifold, parameters, covariates, gradients, damping, weights=None):
    """Minus the inverse Gauss-Newton Hessian, damped, applied to a gradient of the energy.

    That Hessian is the mean over records of ``J_i^T J_i``, with ``J_i`` the derivative of the
    prediction in the blocks that have a gradient.

    Parameters
    ----------
    manifold : Manifold
    parameters : dict of ndarray, shape (*data_sets, *chains, *point_shape)
    covariates : ndarray, shape (*data_sets, n, k)
    gradients : dict of ndarray, shape (*data_sets, *chains, *point_shape)
        Of the energy, by block.
    damping : ndarray, shape (*data_sets, *chains)
        Levenberg-Marquardt shift, relative to the size of the Hessian.
    weights : ndarray, shape (*data_sets, *chains, n), optional
        Factor of each record in the mean; one if not given.

    Returns
    -------
    dict of ndarray, shape (*data_sets, *chains, *point_shape)
        Steps, by block.
    """
    kind = _kind(manifold, covariates.shape[-1])
    if kind is OneGeodesicResiduals:
        return _steps_by_eigenspace(manifold, parameters, covariates, gradients, damping, weights)
    footpoint, number = parameters[FOOTPOINT], covariates.shape[-2]
    shape = (*manifold.batch_shape(footpoint), number)
    weights = np.broadcast_to(1.0 if weights is None else weights, shape)

    def part(some, records, chosen):
        return [kind.products(manifold, some, covariates[records], tuple(gradients), chosen)]

    size = manifold.dim * kind.record_size(manifold)
    [total] = sum_over_records(
        manifold, parameters, covariates.shape[:-1], part, per_record=[weights], size=size
    )
    normal = _damped(total / number, damping)
    return steps_in_frame(
        manifold, footpoint, gradients, lambda gradient: -np.linalg.solve(normal, gradient)
    )


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


def _damped(normal, damping):
    """Normal matrices plus a multiple of the identity; the identity where the matrix is zero."""
    trace = np.trace(normal, axis1=-2, axis2=-1)
    # A little is always added, so that they are invertible.
    shift = np.where(trace > 0.0, (damping + 1e-14) * trace, 1.0)
    return normal + shift[..., None, None] * np.eye(normal.shape[-1])


def _steps_by_eigenspace(manifold, parameters, covariates, gradients, damping, weights):
    """Along one geodesic the Hessian is a matrix over blocks in each curvature eigenspace."""
    start, velocity, times = _one_geodesic(parameters, covariates)
    blocks = tuple(parameters)
    frequencies = manifold.frequencies(start, velocity)
    times = align_data_axes(times, times.ndim - 1, frequencies.ndim - 1)
    shape = np.broadcast_shapes((*frequencies.shape[:-1], 1), times.shape)
    factors = {
        block: jacobi_factors(manifold, frequencies, times, _argument(blocks.index(block)))
        for block in gradients
    }
    parts = {block: manifold.split(start, velocity, each) for block, each in gradients.items()}
    axis = -manifold.point_ndim - 1
    steps = dict.fromkeys(gradients, 0.0)
    for index in range(len(manifold.curvature_signs)):
        columns = np.stack(
            [np.broadcast_to(factors[block][index], shape) for block in gradients], axis=-2
        )
        weighted = columns if weights is None else weights[..., None, :] * columns
        normal = weighted @ np.swapaxes(columns, -1, -2) / shape[-1]
        inverse = np.linalg.inv(_damped(normal, damping))
        for row, block in enumerate(gradients):
            for column, other in enumerate(gradients):
                component = np.take(parts[other], index, axis=axis)
                steps[block] -= manifold.expand(inverse[..., row, column]) * component
    return steps
