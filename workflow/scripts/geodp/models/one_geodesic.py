"""Residuals about predictions on one geodesic of a symmetric space: at most one covariate."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from geodp.manifolds.symmetric import SymmetricSpace
from geodp.models.blocks import FOOTPOINT
from geodp.models.residuals_base import Residuals, argument, damped


def _one_geodesic(parameters, covariates):
    """Start, velocity and times of the geodesic of all predictions (k = 0 or 1)."""
    start, *velocities = parameters.values()
    if velocities:
        return start, velocities[0], covariates[..., 0]
    return start, np.zeros_like(start), np.zeros(covariates.shape[:-1])


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
        return self.logs.bends

    @cached_property
    def _factors(self):
        if len(self.blocks) == 1:
            # Without a covariate nothing moves along.
            return {FOOTPOINT: [1.0] * len(self.manifold.curvature_signs)}
        factors = self.logs.factors()
        return {block: factors[argument(index)] for index, block in enumerate(self.blocks)}

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
