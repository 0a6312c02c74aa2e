"""Simulated data of a geodesic model: noisy points about random parameters."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from geodp.models.geodesic import GeodesicModel


@dataclass(frozen=True)
class Simulation:
    """Simulated data sets and their true parameters.

    Attributes
    ----------
    covariates : ndarray, shape (*data_sets, n, k)
    points : ndarray, shape (*data_sets, n, *point_shape)
    parameters : dict of ndarray, shape (*data_sets, *point_shape)
        True parameters by block; the least-squares fit differs from them by the noise.
    """

    covariates: np.ndarray
    points: np.ndarray
    parameters: dict


def simulate_geodesic_data(
    rng: np.random.Generator,
    model: GeodesicModel,
    data_sets: int | None,
    number: int,
    noise_variance: float,
    shooting_vector_length: float | None = None,
    equally_spaced: bool = True,
    first_point: ArrayLike | None = None,
    last_point: ArrayLike | None = None,
    random_point_radius: float = 1.0,
    ambient_noise: bool = True,
) -> Simulation:
    """Noisy points about random parameters (Kulkarni and Soto, section 4.1 and appendix F).

    Parameters
    ----------
    rng : numpy.random.Generator
    model : GeodesicModel
    data_sets : int or None
        Number of data sets; ``None`` for one whose arrays have no leading axis.
    number : int
        Records of each.
    noise_variance : float
        Variance of each coordinate of the noise.
    shooting_vector_length : float, optional
        Length of every shooting vector, whose direction is random; without it geodesics end at
        ``last_point`` (one covariate only).
    equally_spaced : bool
        Whether covariates run from 0 to 1 in equal steps, all but the first of several in random
        order; else they are uniform, scaled to reach 0 and 1.
    first_point : ndarray, shape point_shape, optional
        Start of every geodesic; random for each data set unless given.
    last_point : ndarray, shape point_shape, optional
        End of every geodesic, if its length is not given; random for each data set if neither is
        given (Kulkarni and Soto, appendix F).
    random_point_radius : float
        Radius for random points of an unbounded space; see `Manifold.random_point`.
    ambient_noise : bool
        Whether noise is added in every ambient coordinate and projected on the manifold, as in the
        papers; else it is normal in the tangent space of the clean point, followed by Exp.

    Returns
    -------
    Simulation

    Raises
    ------
    ValueError
        Several covariates without ``shooting_vector_length``.
    """
    manifold, k = model.manifold, model.number_of_covariates
    alone = data_sets is None
    data_sets = 1 if data_sets is None else data_sets
    start = _end_points(rng, manifold, data_sets, first_point, random_point_radius)
    if not k:
        velocities = []
    elif shooting_vector_length is None:
        if k > 1:
            raise ValueError(
                f"last_point ends one geodesic and the model has {k} covariates: give "
                "shooting_vector_length"
            )
        end = _end_points(rng, manifold, data_sets, last_point, random_point_radius)
        velocities = [manifold.log(start, end)]
    else:
        velocities = [
            shooting_vector_length * manifold.random_direction(rng, start) for _ in range(k)
        ]
    covariates = _covariates(rng, (data_sets, number, k), equally_spaced)
    if k:
        clean = manifold.ends(start, velocities, covariates)
    else:
        clean = np.repeat(start[:, None], number, axis=1)
    spread = np.sqrt(noise_variance)
    if ambient_noise:
        noise = rng.standard_normal(clean.shape)
        if manifold.dtype is complex:
            noise = noise + 1j * rng.standard_normal(clean.shape)
        points = manifold.project(clean + spread * noise)
    else:
        points = manifold.exp(clean, spread * manifold.random_tangent(rng, clean))
    parameters = model.parameters(start, *velocities)
    if alone:
        parameters = {block: value[0] for block, value in parameters.items()}
        return Simulation(covariates[0], points[0], parameters)
    return Simulation(covariates, points, parameters)


def _covariates(rng, shape, equally_spaced):
    """Covariates (data_sets, n, k) from 0 to 1."""
    if equally_spaced:
        covariates = np.broadcast_to(np.linspace(0.0, 1.0, shape[1])[:, None], shape).copy()
        # In the same order all covariates would be equal.
        covariates[..., 1:] = rng.permuted(covariates[..., 1:], axis=1)
        return covariates
    covariates = rng.random(shape)
    covariates -= np.min(covariates, axis=1, keepdims=True)
    return covariates / np.max(covariates, axis=1, keepdims=True)


def _end_points(rng, manifold, data_sets, given, radius):
    """The given point for every data set, or random ones."""
    if given is not None:
        return np.broadcast_to(given, (data_sets, *manifold.point_shape))
    unbounded = {"radius": radius} if np.isinf(manifold.injectivity_radius) else {}
    return manifold.random_point(rng, (data_sets,), **unbounded)
