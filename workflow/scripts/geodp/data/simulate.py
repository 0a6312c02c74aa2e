"""Simulated data along a geodesic."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Simulation:
    """Data sets and the geodesics they came from.

    Attributes
    ----------
    covariates : ndarray, shape (data_sets, n)
    points : ndarray, shape (data_sets, n, *point_shape)
    footpoint, shooting_vector : ndarray, shape (data_sets, *point_shape)
        Of the geodesic before noise; the least-squares fit differs from it.
    """

    covariates: np.ndarray
    points: np.ndarray
    footpoint: np.ndarray
    shooting_vector: np.ndarray


def simulate_geodesic_data(
    rng,
    manifold,
    data_sets,
    number,
    noise_variance,
    shooting_vector_length=None,
    equally_spaced=True,
    first_point=None,
    last_point=None,
    random_point_radius=1.0,
    ambient_noise=True,
):
    """Noisy points along random geodesics (Kulkarni and Soto, section 4.1 and appendix F).

    Parameters
    ----------
    rng : numpy.random.Generator
    manifold : Manifold
    data_sets, number : int
    noise_variance : float
        Variance of each coordinate of the noise.
    shooting_vector_length : float, optional
        In a random direction; without it geodesics end at ``last_point``.
    equally_spaced : bool
        Covariates from 0 to 1 in equal steps; else uniform, scaled to reach 0 and 1.
    first_point : ndarray, shape point_shape, optional
        Where every geodesic starts; random for each data set if not given.
    last_point : ndarray, shape point_shape, optional
        Where every geodesic ends unless its length is given; random for each data set if neither
        is (Kulkarni and Soto, appendix F).
    random_point_radius : float
        Spread of random points of an unbounded space; see `Manifold.random_point`.
    ambient_noise : bool
        Noise in every ambient coordinate, then projection on the manifold (the papers' sphere);
        else normal in the tangent space of the clean point, moved by Exp.

    Returns
    -------
    Simulation
    """
    start = _end_points(rng, manifold, data_sets, first_point, random_point_radius)
    if shooting_vector_length is None:
        end = _end_points(rng, manifold, data_sets, last_point, random_point_radius)
        velocity = manifold.log(start, end)
    else:
        direction = manifold.random_tangent(rng, start)
        stretch = shooting_vector_length / manifold.norm(start, direction)
        velocity = direction * manifold.expand(stretch)
    if equally_spaced:
        covariates = np.tile(np.linspace(0.0, 1.0, number), (data_sets, 1))
    else:
        covariates = rng.random((data_sets, number))
        covariates -= np.min(covariates, axis=-1, keepdims=True)
        covariates /= np.max(covariates, axis=-1, keepdims=True)
    axis = -manifold.point_ndim - 1
    clean = manifold.exp(
        np.expand_dims(start, axis), manifold.expand(covariates) * np.expand_dims(velocity, axis)
    )
    spread = np.sqrt(noise_variance)
    if ambient_noise:
        noise = rng.standard_normal(clean.shape)
        if np.issubdtype(manifold.dtype, np.complexfloating):
            noise = noise + 1j * rng.standard_normal(clean.shape)
        points = manifold.project(clean + spread * noise)
    else:
        points = manifold.exp(clean, spread * manifold.random_tangent(rng, clean))
    return Simulation(covariates, points, start, velocity)


def _end_points(rng, manifold, data_sets, given, radius):
    """The given point for every data set, or random ones."""
    if given is not None:
        return np.broadcast_to(given, (data_sets, *manifold.point_shape))
    unbounded = {"radius": radius} if np.isinf(manifold.injectivity_radius) else {}
    return manifold.random_point(rng, (data_sets,), **unbounded)
