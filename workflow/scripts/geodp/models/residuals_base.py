"""Interface of residuals about predictions: sums for gradients, and Gauss-Newton steps."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from geodp.models.blocks import FOOTPOINT


class Residuals(ABC):
    """Residuals ``r_i = Log(prediction_i, y_i)`` at each state of a batch of parameters.

    The *contribution* of a record to a block is its residual, carried to the footpoint by the
    adjoint of the derivative of its prediction in that block: minus the gradient of
    ``|r_i|^2 / 2``.
    """

    squared_distances: Any  # ``|r_i|^2``, (*data_sets, *chains, n)

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


def argument(index):
    """Argument of Exp that a block enters: the footpoint, of index 0, is the point."""
    return "vector" if index else "point"


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
