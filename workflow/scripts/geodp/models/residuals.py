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

from geodp.manifolds.differences import DifferencedManifold
from geodp.manifolds.manifold import align_data_axes
from geodp.manifolds.symmetric import SymmetricSpace, jacobi_factors
from geodp.models.blocks import FOOTPOINT


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


class Residuals(ABC):
    """Residuals ``r_i = Log(prediction_i, y_i)`` at each state of a batch of parameters.

    The *contribution* of a record to a block is its residual, carried to the footpoint by the
    adjoint of the derivative of its prediction in that block: minus the gradient of
    ``|r_i|^2 / 2``.
    """

    squared_distances: Any  # ``|r_i|^2``, (*data_sets, *chains, n)
    bends: Any = False  # Whether Hessians of the squared distances are at hand.

    @abstractmethod
    def adjoint_sums(self, block, weights=None):
        """Sum over records of contributions to a block, (*data_sets, *chains, *point_shape).

        Records may have ``weights`` (*data_sets, *chains, n).
        """

    @abstractmethod
    def normal(self, blocks, weights=None):
        """Sum over records of ``J_i^T J_i``, J_i a prediction's derivative, as `steps` takes it."""

    @classmethod
    @abstractmethod
    def of(cls, manifold, parameters, covariates, points):
        """See `residuals_of`."""

    @staticmethod
    @abstractmethod
    def record_size(manifold, normal=False):
        """About how many numbers the largest array has for a record, with `normal` or without."""

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


def steps_in_frame(manifold, footpoint, gradients, solve):
    """Steps by block, from gradients by block.

    ``solve`` takes coordinates (*batch, D, 1) of the gradient, in the frame at the footpoint and
    block after block, to those of the step.
    """
    frame = manifold.frame(footpoint)
    flat = np.concatenate(
        [manifold.coordinates(footpoint, each, frame) for each in gradients.values()], axis=-1
    )
    parts = np.split(solve(flat[..., None])[..., 0], len(gradients), axis=-1)
    each = zip(gradients, parts, strict=True)
    return {block: manifold.vector(frame, part) for block, part in each}


def damped(normal, damping):
    """Normal matrices plus a multiple of the identity; the identity where the matrix is zero."""
    trace = np.trace(normal, axis1=-2, axis2=-1)
    # A little is always added, so that they are invertible.
    shift = np.where(trace > 0.0, (damping + 1e-14) * trace, 1.0)
    return normal + shift[..., None, None] * np.eye(normal.shape[-1])


@dataclass(frozen=True)
class OneGeodesicResiduals(Residuals):
    """Residuals about predictions on one geodesic of a symmetric space: k = 0 or 1."""

    manifold: SymmetricSpace
    blocks: tuple
    logs: Any  # `LogsAlong`.

    @classmethod
    def of(cls, manifold, parameters, covariates, points):
        along = cls._geodesic(parameters, covariates)
        return cls(manifold, tuple(parameters), manifold.logs_along(*along, points))

    @classmethod
    def squares_of(cls, manifold, parameters, covariates, points):
        return manifold.squared_distances_along(*cls._geodesic(parameters, covariates), points)

    @staticmethod
    def _geodesic(parameters, covariates):
        """Start, velocity and times of the geodesic of all predictions (k = 0 or 1)."""
        start, *velocities = parameters.values()
        if velocities:
            return start, *velocities, covariates[..., 0]
        return start, np.zeros_like(start), np.zeros(covariates.shape[:-1])

    @staticmethod
    def record_size(manifold, normal=False):
        # Matrices are best few at a time; of vectors no array of their size is made.
        return max(1, len(manifold.curvature_signs) // 4)

    @property
    def squared_distances(self):
        return self.logs.squared_distances

    @property
    def bends(self):  # type: ignore[override]
        return self.logs.bends

    @cached_property
    def _factors(self):
        """Jacobi factors by block, a list with one for each eigenspace."""
        if len(self.blocks) == 1:
            # Without a covariate nothing moves along.
            return {FOOTPOINT: [1.0] * len(self.manifold.curvature_signs)}
        return dict(zip(self.blocks, self.logs.factors().values(), strict=True))

    def adjoint_sums(self, block, weights=None):
        if self.bends:
            columns = self._columns[..., self.blocks.index(block), :]
            columns = columns if weights is None else weights[..., None, :] * columns
            return self.logs.vector(np.einsum("...kn,...kn->...k", columns, self.logs.components))
        factors = self._factors[block]
        return self.logs.combine(factors if weights is None else [weights * f for f in factors])

    def _columns_of(self, blocks):
        places = [self.blocks.index(block) for block in blocks]
        return self._columns if blocks == self.blocks else self._columns[..., places, :]

    @cached_property
    def _columns(self):
        """Factors (*data_sets, *chains, K, B, n) of B blocks."""
        *batch, number = self.squared_distances.shape
        columns = np.empty((*batch, len(self.manifold.curvature_signs), len(self.blocks), number))
        for place, block in enumerate(self.blocks):
            for index, factor in enumerate(self._factors[block]):
                columns[..., index, place, :] = factor
        return columns

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
        if found.normal.ndim == damping.ndim + 2:
            return Residuals.steps(manifold, parameters, found, damping)
        start, *velocities = parameters.values()
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
    """Residuals on a symmetric space with a geodesic for each record: k of 2 or more."""

    manifold: SymmetricSpace
    covariates: np.ndarray  # Broadcasts to (*data_sets, *chains, n, k).
    start: np.ndarray  # Footpoint (*data_sets, *chains, 1, *point_shape).
    # ``x_1 v_1 + ... + x_k v_k`` of each record, (*data_sets, *chains, n, *point_shape).
    vectors: np.ndarray
    frequencies: np.ndarray  # (*data_sets, *chains, n, K), of these vectors.
    # Of the residuals carried back, by eigenspace: (*data_sets, *chains, n, K, *point_shape).
    components: np.ndarray
    squared_distances: np.ndarray  # (*data_sets, *chains, n)
    blocks: tuple

    @classmethod
    def of(cls, manifold, parameters, covariates, points):
        footpoint, *each = parameters.values()
        x = align_data_axes(covariates, covariates.ndim - 2, footpoint.ndim - manifold.point_ndim)
        vectors = manifold.combinations(each, x)
        start = np.expand_dims(footpoint, -manifold.point_ndim - 1)
        y = align_data_axes(points, covariates.ndim - 2, vectors.ndim - manifold.point_ndim - 1)
        frequencies, components, squares = manifold.carried_residuals(start, vectors, y)
        blocks = tuple(parameters)
        return cls(manifold, x, start, vectors, frequencies, components, squares, blocks)

    @staticmethod
    def record_size(manifold, normal=False):
        size = len(manifold.curvature_signs) * int(np.prod(manifold.point_shape))
        return size * manifold.dim if normal else size

    @cached_property
    def _factors(self):
        """Jacobi factors (*batch, n, K) of each record at time one, by argument of Exp."""
        shape = (*self.frequencies.shape[:-1], 1)
        found = jacobi_factors(self.manifold, self.frequencies, np.ones(1))
        return {
            argument: np.concatenate([np.broadcast_to(each, shape) for each in factors], axis=-1)
            for argument, factors in found.items()
        }

    @cached_property
    def _carried(self):
        """The two adjoints of each residual, (*batch, n, *point_shape), by argument of Exp."""
        axis = -self.manifold.point_ndim - 1
        return {
            argument: np.sum(self.manifold.expand(factor) * self.components, axis=axis)
            for argument, factor in self._factors.items()
        }

    def contributions(self, block):
        """Contribution of each record to a block; (*data_sets, *chains, n, *point_shape)."""
        index = self.blocks.index(block)
        if not index:
            return self._carried["point"]
        return self.manifold.expand(self.covariates[..., index - 1]) * self._carried["vector"]

    def adjoint_sums(self, block, weights=None):
        each = self.contributions(block)
        if weights is not None:
            each = self.manifold.expand(weights) * each
        return np.sum(each, axis=-self.manifold.point_ndim - 1)

    def normal(self, blocks, weights=None):
        """See `Residuals.normal`: (*data_sets, *chains, D, D), from projections on eigenspaces."""
        manifold, before = self.manifold, -self.manifold.point_ndim - 1
        frame = manifold.frame(self.start)
        start = np.expand_dims(self.start, before)
        # Of shape (*batch, n, dim, K, *point_shape).
        images = manifold.split(start, np.expand_dims(self.vectors, before), frame)
        # Coordinates (*batch, n, dim, K, dim): a projection matrix for each eigenspace.
        frames = np.expand_dims(frame, (before - 1, before - 2))
        projections = manifold.coordinates(np.expand_dims(start, before), images, frames)
        columns = []
        for index in (self.blocks.index(block) for block in blocks):
            x = self.covariates[..., index - 1, None]
            columns.append(x * self._factors["vector"] if index else self._factors["point"])
        weights = np.ones(self.frequencies.shape[:-1]) if weights is None else weights

        def products(first, second):
            pair = weights[..., None] * first * second
            return np.einsum("...nk,...nikj->...ij", pair, projections)

        return np.block([[products(first, second) for second in columns] for first in columns])


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
    def record_size(manifold, normal=False):
        return manifold.dim ** (2 if normal else 1) * int(np.prod(manifold.point_shape))

    @cached_property
    def _images(self):
        """Derivatives (*batch, dim, n, *point_shape) of predictions along the frame, by block."""
        footpoint, *vectors = self.parameters.values()
        return {
            block: self.manifold.exp_derivatives(footpoint, vectors, self.covariates, moved)
            for moved, block in enumerate(self.parameters)
        }

    def adjoint_sums(self, block, weights=None):
        axis = -self.manifold.point_ndim - 2
        ends, residuals = (np.expand_dims(each, axis) for each in (self.predictions, self.vectors))
        coordinates = self.manifold.inner(ends, self._images[block], residuals)
        if weights is not None:
            coordinates = weights[..., None, :] * coordinates
        frame = self.manifold.frame(self.parameters[FOOTPOINT])
        return self.manifold.vector(frame, np.sum(coordinates, axis=-1))

    def normal(self, blocks, weights=None):
        """See `Residuals.normal`: (*data_sets, *chains, D, D), from differences of Exp."""
        manifold, axis = self.manifold, -self.manifold.point_ndim - 2
        images = np.concatenate([self._images[block] for block in blocks], axis=axis)
        ends = np.expand_dims(self.predictions, axis)
        products = manifold.gram(ends, images, manifold.point_ndim + 1)
        if weights is not None:
            products = weights[..., None, None, :] * products
        return np.sum(products, axis=-1)
