"""An unnormalised density on a support, with what samplers need to know of its shape."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from geodp.manifolds.base import Manifold
from geodp.mechanisms.density import Density
from geodp.mechanisms.modes import Modes
from geodp.mechanisms.norms import Norm, RiemannianNorm

RIEMANNIAN = RiemannianNorm()


def no_modes():
    """None were looked for."""
    return None


# Compared by identity, so that what is worked out of a target can be remembered.
@dataclass(frozen=True, eq=False)
class Target:
    """A batch of densities on one space, with respect to its Riemannian volume.

    Attributes
    ----------
    space : Manifold
        Where the chains move.
    unrestricted : callable
        From states (*batch, chains, *point_shape) to the log density (*batch, chains) as it would
        be without a support, up to a constant for each member of the batch.
    centre : ndarray, shape (*batch, *point_shape)
        Mode of the density.
    hessian : ndarray, shape (*batch, dim, dim)
        Derivative of the gradient at the centre, in the frame there.
    scale : ndarray, shape (*batch)
        Near the centre the density is about ``exp(-norm(hessian @ step) / scale)``.
    support : Support
    find_other_modes : callable
        Search for modes away from the centre: to `Modes`, or ``None`` where there can be none or
        they cannot be looked for.
    density : Density or None
        The same density with bounds over balls, for samplers that certify an envelope.
    norm : Norm
        Of the gradient, that the density falls with.
    widths : tuple of float
        Multiples of the scale at which proposals about the centre are of use.
    """

    space: Manifold
    unrestricted: Callable[[np.ndarray], np.ndarray]
    centre: np.ndarray
    hessian: np.ndarray
    scale: np.ndarray
    support: Any
    find_other_modes: Callable[[], Modes | None] = no_modes
    density: Density | None = None
    norm: Norm = RIEMANNIAN
    widths: tuple = (1.0,)

    @cached_property
    def other_modes(self):
        """Modes away from the centre, looked for when first asked for: the search is long."""
        return self.find_other_modes()

    @property
    def batch(self):
        return self.space.batch_shape(self.centre)

    def log_density(self, states):
        """Log density (*batch, chains) of states, minus infinity outside the support."""
        return np.where(self.support.contains(states), self.unrestricted(states), -np.inf)
