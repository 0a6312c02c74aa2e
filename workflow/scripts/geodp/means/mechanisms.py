"""Mechanisms for the Frechet mean of data in a public ball, each on many data sets at once.

Each draws one point for each data set, at a total budget.  What their budgets rest on is in their
docstrings, and `status` says whether that is a proof.  All are in exact arithmetic and for
simulations; none releases anybody's data.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.spd import SPD
from geodp.means.gaussian import (
    check_wrapped_budget,
    gaussian_deviation,
    wrapped_gaussian_deviation,
)
from geodp.means.kng import draw_kng_means
from geodp.means.sensitivity import empirical_sensitivity
from geodp.mechanisms.base import FALSE, NONE, PROVED
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Huber
from geodp.models.sensitivity import convexity, mean_sensitivity
from geodp.randomness import random_directions
from geodp.samplers.riemannian_laplace import draw_laplace

# How far from one the norm of a point of the sphere may be, by rounding.
ON_THE_SPHERE = 1e-12

# Of approximate privacy.
DELTA = 1e-6

# Mechanisms that have a budget where no curvature is positive.
WRAPPED = ("wrapped_laplace", "wrapped_gaussian")

# Share of the budget of the first of two steps, which only has to find the neighbourhood.
FIRST_SHARE = 0.1

# How far the first step may lead, as a share of the ball's radius.
FIRST_REACH = 0.25


@dataclass(frozen=True)
class MeanProblem:
    """Data sets in a public ball, and their means.

    Attributes
    ----------
    model : GeodesicModel
        Without covariates, least squares.
    centre : ndarray, shape point_shape
    radius : float
        Of the public ball.
    points : ndarray, shape (data_sets, n, *point_shape)
    mean : ndarray, shape (data_sets, *point_shape)
    """

    model: GeodesicModel
    centre: np.ndarray
    radius: float
    points: np.ndarray
    mean: np.ndarray

    @property
    def manifold(self):
        """Where the data lie."""
        return self.model.manifold

    @property
    def number(self):
        """Records of a data set."""
        return self.points.shape[1]


def fitted(manifold, centre, radius, points):
    """The problem of some data sets.

    Parameters
    ----------
    manifold : Manifold
    centre : ndarray, shape point_shape
    radius : float
    points : ndarray, shape (data_sets, n, *point_shape)

    Raises
    ------
    DataError
        A mean has not converged.
    """
    model = GeodesicModel(manifold, 0)
    found = model.fit(None, points)
    if not np.all(found.converged):
        raise DataError("a Frechet mean has not converged: take data in a smaller ball")
    return MeanProblem(model, centre, radius, points, found.footpoint)


def repeated(problem, times, data_set=0):
    """The problem of one of the data sets so many times, for as many draws from it."""
    points, mean = problem.points[data_set], problem.mean[data_set]
    return replace(
        problem,
        points=np.broadcast_to(points, (times, *points.shape)),
        mean=np.broadcast_to(mean, (times, *mean.shape)),
    )


@dataclass(frozen=True)
class MeanMechanism:
    """A way to draw private means.

    Attributes
    ----------
    draw : callable
        From a generator, a `MeanProblem` and a budget to points (data_sets, *point_shape), which
        an ambient mechanism may leave outside of the manifold.
    status : callable
        From a manifold to `PROVED`, `NONE` or `FALSE`: whether the budget holds there.
    anywhere : bool
        Whether the status is the same for records outside of the ball.
    """

    draw: Any
    status: Any
    anywhere: bool = False


MEAN_MECHANISMS: dict[str, MeanMechanism] = {}


def mechanism(status, anywhere=False):
    """Decorator that adds a function to `MEAN_MECHANISMS`."""

    def register(function):
        known = status if callable(status) else lambda manifold: status
        MEAN_MECHANISMS[function.__name__] = MeanMechanism(function, known, anywhere)
        return function

    return register


def laplace_scale(problem, budget):
    """Scale of `laplace`: the sensitivity over the budget."""
    return mean_sensitivity(problem.model, problem.number, problem.radius) / budget


@mechanism(PROVED)
def laplace(rng, problem, budget):
    """The Laplace mechanism at the mean (Reimherr, Bharath and Soto, theorems 1 and 2)."""
    return draw_laplace(rng, problem.manifold, problem.mean, laplace_scale(problem, budget))


def _flat(manifold):
    return manifold.curvature_bounds[1] <= 0.0


def published_laplace_scale(problem, budget):
    """Scale of `laplace_as_published`."""
    if _flat(problem.manifold):
        return 2.0 * laplace_scale(problem, budget)
    return empirical_sensitivity(problem.manifold, problem.number, problem.radius) / budget


@mechanism(lambda manifold: PROVED if _flat(manifold) else NONE)
def laplace_as_published(rng, problem, budget):
    """The Laplace mechanism as in the paper's Figure 1.

    On SPD matrices its scale, which the paper does not state, is taken to be that of theorem 1 for
    spaces in general, twice the sensitivity over the budget; once is enough.  On the sphere it has
    a sensitivity that was computed on a grid (B.1), of which nothing is proved.
    """
    scale = published_laplace_scale(problem, budget)
    return draw_laplace(rng, problem.manifold, problem.mean, scale)


def kng_scale(problem, budget):
    """Scale of `kng`."""
    sensitivity = 2.0 * problem.radius / problem.number
    if _flat(problem.manifold):
        return 2.0 * sensitivity / budget
    return sensitivity * (2.0 - convexity(problem.manifold, problem.radius)) / budget


def support_radius(problem):
    """Radius of the support of `kng`."""
    return np.inf if _flat(problem.manifold) else 2.0 * problem.radius


@mechanism(lambda manifold: PROVED if _flat(manifold) else NONE)
def kng(rng, problem, budget):
    """K-norm gradient mechanism (Soto et al., supplement 2.3 and 2.4), at its published scales.

    Where no curvature is positive the scale is twice the sensitivity ``2 r / n`` over the budget.
    The logarithm at a point is then 1-Lipschitz, so that the norm of the gradient differs by at
    most the sensitivity between neighbours, wherever the point is, and so does the logarithm of the
    normalising constant: the budget holds.  On the sphere the published scale has no factor of two,
    and no proof.
    The support is there taken to be the ball of twice the radius of the data: far from these
    gradients vanish again.
    """
    return draw_kng_means(
        rng,
        problem.model,
        problem.points,
        problem.mean,
        kng_scale(problem, budget),
        problem.centre,
        problem.radius,
        support_radius(problem),
    )[0]


def embed(manifold, points):
    """Coordinates in the ambient space: the upper triangle of a matrix, or a point's own."""
    if isinstance(manifold, SPD):
        return points[..., *np.triu_indices(manifold.size)]
    return np.reshape(points, (*manifold.batch_shape(points), -1))


def from_ambient(manifold, coordinates):
    """The inverse of `embed`, for points that may lie outside of the manifold."""
    if not isinstance(manifold, SPD):
        return np.reshape(coordinates, (*coordinates.shape[:-1], *manifold.point_shape))
    matrices = np.zeros((*coordinates.shape[:-1], *manifold.point_shape))
    rows, columns = np.triu_indices(manifold.size)
    matrices[..., rows, columns] = matrices[..., columns, rows] = coordinates
    return matrices


def ambient_radius(manifold, radius):
    """Radius of a ball in the ambient space that holds a geodesic ball about the pole.

    ``e^r - 1`` about the identity, and the chord ``2 sin(r / 2)`` on the sphere (Reimherr, Bharath
    and Soto, A.2.2 and A.3.2).
    """
    return np.expm1(radius) if isinstance(manifold, SPD) else 2.0 * np.sin(0.5 * radius)


def _euclidean_laplace(rng, shape, scale):
    length = rng.gamma(shape[-1], scale, shape[:-1])
    return length[..., None] * random_directions(rng, shape)


def is_outside(manifold, points):
    """Which points (..., *point_shape) of the ambient space are none of the manifold.

    Returns
    -------
    ndarray of bool
    """
    if isinstance(manifold, SPD):
        return ~manifold.are_points(points)
    return np.abs(np.linalg.norm(points, axis=-1) - 1.0) > ON_THE_SPHERE


def ambient_scale(problem, budget):
    """Scale of `ambient_laplace`."""
    return 2.0 * ambient_radius(problem.manifold, problem.radius) / (problem.number * budget)


@mechanism(FALSE)
def ambient_laplace(rng, problem, budget):
    """Euclidean Laplace noise in the ambient space (Reimherr, Bharath and Soto, section 5).

    The scale is ``2 r_E / (n budget)``.  That is the sensitivity of the arithmetic mean, and of the
    Frechet mean it is none: a record may move that farther.
    """
    coordinates = embed(problem.manifold, problem.mean)
    noise = _euclidean_laplace(rng, coordinates.shape, ambient_scale(problem, budget))
    return from_ambient(problem.manifold, coordinates + noise)


def mean_of_logs(problem, at, clip):
    """Given points as an array of all data sets', and the mean there of clipped logarithms."""
    base = np.broadcast_to(at, problem.mean.shape)
    # Clipped logarithms are gradients of Huber's loss.
    model = GeodesicModel(problem.manifold, 0, Huber(clip))
    [block] = model.blocks
    return base, -model.energy_gradient({block: base}, None, problem.points).gradient[block]


def noisy_mean_of_logs(rng, problem, at, clip, budget):
    """The same with the noise of a K-norm mechanism."""
    base, mean = mean_of_logs(problem, at, clip)
    scale = 2.0 * clip / (problem.number * budget)
    noise = _euclidean_laplace(rng, (len(base), problem.manifold.dim), scale)
    return base, mean + problem.manifold.tangent(base, noise)


@mechanism(PROVED, anywhere=True)
def tangent_laplace(rng, problem, budget):
    """The mean of the logarithms at the ball's centre, with Laplace noise there.

    Logarithms are clipped to the radius, so the mean moves by at most ``2 r / n``: no hypothesis
    about the data.  On SPD matrices about the identity it is the log-Euclidean mean.
    """
    base, step = noisy_mean_of_logs(rng, problem, problem.centre, problem.radius, budget)
    return problem.manifold.exp(base, step)


@mechanism(PROVED, anywhere=True)
def tangent_gaussian(rng, problem, budget):
    """The same mean with Gaussian noise, for a budget and `DELTA`; see `tangent_laplace`."""
    manifold = problem.manifold
    deviation = gaussian_deviation(2.0 * problem.radius / problem.number, budget, DELTA)
    base, step = mean_of_logs(problem, problem.centre, problem.radius)
    return manifold.exp(base, step + deviation * manifold.random_tangent(rng, base))


@mechanism(PROVED, anywhere=True)
def private_steps(rng, problem, budget):
    """Two private Gauss-Newton steps: the second from where the first has led.

    A tenth of the budget finds the neighbourhood, up to a quarter of the radius from the ball's
    centre.  From there the second step, with the rest, has hardly any bias: it clips to the
    farthest that the ball reaches.  Nothing is assumed of the data, and budgets add.
    """
    manifold, radius = problem.manifold, problem.radius
    base, step = noisy_mean_of_logs(rng, problem, problem.centre, radius, FIRST_SHARE * budget)
    base = manifold.exp(base, within(manifold, base, step, FIRST_REACH * radius))
    clip = (1.0 + FIRST_REACH) * radius
    base, step = noisy_mean_of_logs(rng, problem, base, clip, (1.0 - FIRST_SHARE) * budget)
    return manifold.exp(base, within(manifold, base, step, clip))


def within(manifold, base, step, longest):
    """Steps, shortened if they are longer."""
    length = np.maximum(manifold.norm(base, step), np.finfo(float).tiny)
    return manifold.expand(np.minimum(1.0, longest / length)) * step


def landmarkwise_laplace(rng, problem, budget):
    """Laplace noise for each coordinate of each landmark (Soto et al., supplement 2.5.2).

    Records are turned to the mean as preshapes; the largest deviation of a coordinate, read off the
    data, makes its scale ``4 k r / (n budget)``.  No budget is proved: the scales are private, and
    the mean that records are turned to moves with the data.

    Parameters
    ----------
    problem : MeanProblem
        On a space of planar shapes.
    """
    manifold = problem.manifold
    mean = np.expand_dims(problem.mean, 1)
    away = manifold.to_landmarks(manifold.align(mean, problem.points)) - manifold.to_landmarks(mean)
    landmarks = away.shape[-1]
    factor = 4.0 * landmarks / (problem.number * budget)
    noise = 0.0
    for axis, part in ((1.0, away.real), (1j, away.imag)):
        scale = factor * np.max(np.abs(part), axis=1)
        noise = noise + axis * rng.laplace(scale=scale)
    return manifold.from_landmarks(manifold.to_landmarks(problem.mean) + noise)


def wrapped_status(manifold):
    """Whether the budget of a wrapped draw holds: where no curvature is positive."""
    return PROVED if _flat(manifold) else NONE


def _check_wraps(manifold):
    if wrapped_status(manifold) != PROVED:
        raise DataError(f"{manifold.name} has positive curvature: a wrapped draw has no budget")


@mechanism(wrapped_status)
def wrapped_laplace(rng, problem, budget):
    """Laplace noise in the tangent space at the mean, carried by the exponential map.

    Its density at p is ``exp(-d / sigma)`` over the volume density of the exponential map, whose
    logarithm is a function of the vector-valued distance of the mean and p.  That distance moves by
    no more than the mean does, and the function's slope is at most the space's growth of volume.
    So ``1 / sigma = budget / sensitivity - growth`` satisfies the budget.
    """
    manifold = problem.manifold
    _check_wraps(manifold)
    sensitivity = mean_sensitivity(problem.model, problem.number, problem.radius)
    check_wrapped_budget(manifold, sensitivity, budget)
    rate = budget / sensitivity - manifold.volume_growth
    noise = _euclidean_laplace(rng, (len(problem.mean), manifold.dim), 1.0 / rate)
    return manifold.exp(problem.mean, manifold.tangent(problem.mean, noise))


@mechanism(wrapped_status)
def wrapped_gaussian(rng, problem, budget):
    """Gaussian noise in the tangent space at the mean, carried by the exponential map.

    For a budget and `DELTA`; its deviation is that of `geodp.means.gaussian`.
    """
    manifold = problem.manifold
    _check_wraps(manifold)
    sensitivity = mean_sensitivity(problem.model, problem.number, problem.radius)
    deviation = wrapped_gaussian_deviation(manifold, sensitivity, budget, DELTA)
    return manifold.exp(problem.mean, deviation * manifold.random_tangent(rng, problem.mean))
