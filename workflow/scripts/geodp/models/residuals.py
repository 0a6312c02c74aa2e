"""Residuals of records about their predictions ``Exp(p, x_1 v_1 + ... + x_k v_k)``.

There are three cases, each with sums for gradients and for Gauss-Newton steps:

* `OneGeodesicResiduals`: a symmetric space and at most one covariate.  All predictions lie on one
  geodesic, and residuals need not be formed one by one.
* `PerRecordGeodesicResiduals`: a symmetric space and several covariates.  Each record has its own
  geodesic, hence its own curvature eigenspaces.
* `DifferencedResiduals`: any other manifold.  Derivatives of Exp are differences.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodp.manifolds.differences import DifferencedManifold
from geodp.manifolds.manifold import align_data_axes
from geodp.manifolds.symmetric import SymmetricSpace, jacobi_factors
from geodp.models.blocks import FOOTPOINT
from geodp.models.one_geodesic import OneGeodesicResiduals
from geodp.models.residuals_base import Residuals, argument


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
    def record_size(manifold):
        return len(manifold.curvature_signs) * int(np.prod(manifold.point_shape))

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
        carried = self._carried[argument(index)]
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
            columns.append(scale * factors[argument(index)])
        weights = np.ones(self.frequencies.shape[:-1]) if weights is None else weights
        rows = []
        for first in columns:
            pairs = [weights[..., None] * first * second for second in columns]
            row = [np.einsum("...nk,...nikj->...ij", pair, projections) for pair in pairs]
            rows.append(np.concatenate(row, axis=-1))
        return np.concatenate(rows, axis=-2)


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
