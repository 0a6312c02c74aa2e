"""Targets of samplers: unnormalised densities on a support, with their shape at the mode."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodp.manifolds.base import Manifold
from geodp.manifolds.supports import Ball
from geodp.mechanisms.density import GradientDensity
from geodp.mechanisms.modes import Modes


# Compared by identity, so that results about a target can be cached.
@dataclass(frozen=True, eq=False)
class Target:
    """A batch of unnormalised densities with respect to the Riemannian volume of one space.

    Attributes
    ----------
    space : Manifold
        Space of the states.
    unrestricted : callable
        From states (*batch, chains, *point_shape) to the log density (*batch, chains) without the
        restriction to the support, up to a constant for each member of the batch.
    centre : ndarray, shape (*batch, *point_shape)
        Mode of the density.
    hessian : ndarray, shape (*batch, dim, dim)
        Derivative of the gradient at the centre, in the frame there.
    scale : ndarray, shape (*batch)
        Near the centre the density is about ``exp(-norm(hessian @ step) / scale)``.
    support : Ball
    find_other_modes : callable
        Searches for modes away from the centre and returns `Modes`, or ``None`` where there are
        none or no search is made.
    density : GradientDensity or None
        The same density with bounds on cells, for samplers that certify an envelope.
    """

    space: Manifold
    unrestricted: Callable[[np.ndarray], np.ndarray]
    centre: np.ndarray
    hessian: np.ndarray
    scale: np.ndarray
    support: Ball
    find_other_modes: Callable[[], Modes | None] = lambda: None
    density: GradientDensity | None = None

    @cached_property
    def other_modes(self):
        """`Modes` away from the centre or ``None``; the search is slow and made once, on demand."""
        return self.find_other_modes()

    @property
    def batch(self):
        return self.space.batch_shape(self.centre)

    def log_density(self, states):
        """Log density (*batch, chains) of states, minus infinity outside the support."""
        return np.where(self.support.contains(states), self.unrestricted(states), -np.inf)
