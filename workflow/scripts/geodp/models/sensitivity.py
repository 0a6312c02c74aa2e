"""Bounds on how far one record moves the gradient, from Jacobi fields."""

from dataclasses import dataclass

import numpy as np

from geodp.manifolds.symmetric import jacobi_cosine, jacobi_sine
from geodp.models.regression import energy_gradient, fit, residual_distances


@dataclass(frozen=True)
class Sensitivity:
    """Published sensitivities of the two gradients.

    Attributes
    ----------
    footpoint, shooting_vector : ndarray
    tau : ndarray
        Largest residual the bounds assume.
    reach : ndarray
        Longest geodesic ``|x v|`` that data in a ball of the public radius admit (Kulkarni and
        Soto, appendix C), which bounds under negative curvature rest on; infinite without one.
    """

    footpoint: np.ndarray
    shooting_vector: np.ndarray
    tau: np.ndarray
    reach: np.ndarray


def published_sensitivity(manifold, tau, number, data_radius=None):
    """Sensitivities as published (Kulkarni and Soto, eq. 19 and 20).

    Parameters
    ----------
    manifold : Manifold
    tau : ndarray
        Bound on the residuals.
    number : int
        Number of records.
    data_radius : float, optional
        Public radius ``tau_m`` of a ball that holds the data; needed under negative curvature,
        where it enters the bounds.

    Returns
    -------
    Sensitivity
        Their theorem D.1 prints another second bound than its own proof and eq. 20; this is
        the proof's.
    """
    tau = np.asarray(tau, dtype=float)
    lower = manifold.curvature_bounds[0]
    base = 2.0 * tau / number
    reach = np.full_like(tau, np.inf) if data_radius is None else 2.0 * (data_radius + tau)
    if lower >= 0.0:
        return Sensitivity(base, base, tau, reach)
    if data_radius is None:
        raise ValueError(
            f"{manifold.name} has negative curvature, so its sensitivity needs the radius of a "
            "ball that holds the data: set data_radius"
        )
    frequency = np.sqrt(-lower) * reach
    return Sensitivity(
        base * jacobi_cosine(-1, frequency), base * jacobi_sine(-1, frequency), tau, reach
    )


def neighbour_ratios(manifold, covariates, points, data_radius=None):
    """Published over realised sensitivity for pairs of neighbours (appendix G).

    Parameters
    ----------
    covariates : ndarray, shape (pairs, n + 1)
    points : ndarray, shape (pairs, n + 1, *point_shape)
        The first data set of a pair leaves out the first record, the second the last.

    Returns
    -------
    dict of ndarray, shape (pairs,)
        ``ratio_footpoint``, ``ratio_shooting_vector``, ``tau`` (largest residual of all n + 1
        records) and ``converged``; gradients are taken at the fit of the first data set.
    """
    first = (covariates[:, 1:], points[:, 1:])
    second = (covariates[:, :-1], points[:, :-1])
    found = fit(manifold, *first)
    p, v = found.footpoint, found.shooting_vector
    tau = np.max(residual_distances(manifold, p, v, covariates, points), axis=-1)
    bound = published_sensitivity(manifold, tau, covariates.shape[-1] - 1, data_radius)
    gradients = [energy_gradient(manifold, p, v, *data) for data in (first, second)]
    ratios = {
        block: getattr(bound, block)
        / manifold.norm(p, getattr(gradients[0], block) - getattr(gradients[1], block))
        for block in ("footpoint", "shooting_vector")
    }
    return {
        "ratio_footpoint": ratios["footpoint"],
        "ratio_shooting_vector": ratios["shooting_vector"],
        "tau": tau,
        "converged": found.converged,
    }
