"""What a mechanism hands to a sampler: a density, and what is known of its shape."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geodp.manifolds.base import Manifold
from geodp.mechanisms.modes import Modes


@dataclass(frozen=True)
class Target:
    """A batch of densities on one space, with respect to its Riemannian volume.

    Attributes
    ----------
    space : Manifold
        Where the chains move.
    log_density : callable
        From states (*batch, chains, *point_shape) to (*batch, chains), up to a constant for
        each member of the batch; minus infinity outside the support.
    centre : ndarray, shape (*batch, *point_shape)
        Mode of the density.
    hessian : ndarray, shape (*batch, dim, dim)
        Derivative of the gradient at the centre, in the frame there.
    scale : ndarray, shape (*batch)
        Near the centre the density is about ``exp(-|hessian @ step| / scale)``.
    support_centre : ndarray, shape (*batch, *point_shape)
    support_radius : ndarray, shape (*batch)
        A ball that holds the support; infinite where there is none.
    other_modes : Modes or None
        Modes away from the centre, where the support is bounded and they were looked for.
    """

    space: Manifold
    log_density: Callable[[np.ndarray], np.ndarray]
    centre: np.ndarray
    hessian: np.ndarray
    scale: np.ndarray
    support_centre: np.ndarray
    support_radius: np.ndarray
    other_modes: Modes | None = None

    @property
    def batch(self):
        return self.space.batch_shape(self.centre)
