"""Supports of densities: balls, and products of a ball of footpoints and balls of shooting vectors.

A support answers four questions of samplers: whether it contains a state, how to draw from it
uniformly and with which density, which points fill it evenly, and how wide it is.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtri

from geodp.manifolds.base import Manifold
from geodp.manifolds.tangent_bundle import TangentBundle
from geodp.randomness import random_directions

# Seed of the scrambled Sobol points, which are public and the same in every run.
PUBLIC_SEED = 0


class Support(ABC):
    """A support, or one for each member of a batch.

    Attributes
    ----------
    space : Manifold
    origin : ndarray, shape (*batch, *point_shape)
        The state in its middle.
    bounded : bool
    widest : ndarray, shape (*batch)
        Upper bound of the length of a step from one of its states to another.
    """

    space: Manifold
    origin: Any
    bounded: Any
    widest: Any

    @abstractmethod
    def contains(self, states):
        """Whether it contains states (*batch, chains, *point_shape); shape (*batch, chains)."""

    @abstractmethod
    def draw_along(self, rng, directions):
        """Draws that are uniform in normal coordinates about the origin.

        Parameters
        ----------
        rng : numpy.random.Generator
        directions : ndarray, shape (*batch, chains, dim)
            Independent, uniform unit vectors.

        Returns
        -------
        ndarray, shape (*batch, chains, *point_shape)
        """

    @abstractmethod
    def log_draw_density(self, states):
        """Log density of `draw` with respect to volume, at states it contains; (*batch, chains)."""

    @abstractmethod
    def even_points(self, number):
        """Low-discrepancy points of the support, the same at every call.

        Parameters
        ----------
        number : int
            A power of two.

        Returns
        -------
        tuple of ndarray
            States (*batch, number, *point_shape), and their volume densities (*batch, number)
            relative to normal coordinates: the weights of the points.
        """

    @abstractmethod
    def take(self, members):
        """The supports at k indices of the flattened batch; the new batch has shape (k,)."""

    def may_stay(self, steps):
        """Whether steps are short enough to lead from one of its states to another.

        Parameters
        ----------
        steps : ndarray, shape (..., dim)
            Coordinates in a frame.

        Returns
        -------
        ndarray of bool, shape (...)
        """
        return np.ones(steps.shape[:-1], dtype=bool)

    def draw(self, rng, shape=()):
        """Draws (*shape, *point_shape) of `draw_along`; the last axis of the shape is chains."""
        return self.draw_along(rng, random_directions(rng, (*shape, self.space.dim)))


@dataclass(frozen=True)
class Ball(Support):
    """A ball about a centre, or the whole space.

    Attributes
    ----------
    space : Manifold
    centre : ndarray, shape (*batch, *point_shape)
    radius : ndarray, shape (*batch)
        Infinite for the whole of an unbounded space.
    """

    space: Manifold
    centre: np.ndarray
    radius: np.ndarray

    @property
    def origin(self):
        return self.centre

    @property
    def bounded(self):
        return bool(np.all(np.isfinite(self.radius)))

    @property
    def widest(self):
        return 2.0 * np.asarray(self.radius)

    def contains(self, states):
        if not np.any(np.isfinite(self.radius)):
            return np.ones(self.space.batch_shape(states), dtype=bool)
        centre = np.expand_dims(self.centre, -self.space.point_ndim - 1)
        # A radius that is that of the whole space must not be narrowed by rounding.
        reach = self.radius[..., None] * (1.0 + 1e-12)
        return self.space.dist(centre, states) <= reach

    def draw_along(self, rng, directions):
        space = self.space
        level = rng.random(directions.shape[:-1]) ** (1.0 / space.dim)
        lengths = self.radius[..., None] * level
        return self.place(lengths[..., None] * directions)[0]

    def log_draw_density(self, states):
        volume = self.coordinates(states)[1]
        return -log_ball_volume(self.space.dim, self.radius)[..., None] - np.log(volume)

    def even_points(self, number):
        steps = self.radius[..., None, None] * even_balls((self.space.dim,), number)
        return self.place(steps)

    def coordinates(self, states):
        """Normal coordinates (*batch, chains, dim) about the centre, and the volume density."""
        space = self.space
        axis = -space.point_ndim - 1
        centre = np.expand_dims(self.centre, axis)
        vectors = space.log(centre, states)
        frame = np.expand_dims(space.frame(self.centre), axis - 1)
        return space.coordinates(centre, vectors, frame), space.exp_volume(centre, vectors)

    def take(self, members):
        centre = self.centre.reshape((-1, *self.space.point_shape))
        return Ball(self.space, centre[members], np.ravel(self.radius)[members])

    def place(self, coordinates):
        """States at normal coordinates about the centre, and the volume density there."""
        space = self.space
        axis = -space.point_ndim - 1
        frame = np.expand_dims(space.frame(self.centre), axis - 1)
        vectors = space.vector(frame, coordinates)
        centre = np.expand_dims(self.centre, axis)
        return space.exp(centre, vectors), space.exp_volume(centre, vectors)


@dataclass(frozen=True)
class ProductSupport(Support):
    """Geodesics whose footpoint lies in a ball and whose shooting vectors have limited lengths.

    All members of a batch share it.

    Attributes
    ----------
    space : TangentBundle
    centre : ndarray, shape base.point_shape
    footpoint_radius : float
    shooting_vector_length : float or tuple of float
        Of each shooting vector, if there are several or none.
    """

    space: TangentBundle
    centre: np.ndarray
    footpoint_radius: float
    shooting_vector_length: Any

    bounded = True

    @property
    def origin(self):
        """The centre with shooting vectors zero, shape space.point_shape."""
        zero = np.zeros_like(self.centre)
        return self.space.join(self.centre, *[zero] * (self.space.blocks - 1))

    @property
    def radii(self):
        """Radii of the balls that footpoints and shooting vectors are drawn from; (blocks,)."""
        reach = min(self.footpoint_radius, self.space.base.injectivity_radius)
        return np.append(reach, self.shooting_vector_length)

    @property
    def widest(self):
        return 2.0 * np.sqrt(np.sum(self.radii**2))

    def take(self, members):
        return self

    def contains(self, states):
        base = self.space.base
        axes = tuple(range(-self.space.point_ndim, 0))
        finite = np.all(np.isfinite(states), axis=axes)
        p, *vectors = self.space.parts(np.where(self.space.expand(finite), states, self.origin))
        inside = finite & (base.dist(self.centre, p) <= self.footpoint_radius)
        for vector, length in zip(vectors, np.ravel(self.shooting_vector_length), strict=True):
            inside &= base.norm(p, vector) <= length
        return inside

    def draw_along(self, rng, directions):
        """See `Support.draw_along`; coordinates of each part are uniform in a ball of its own."""
        dim = self.space.base.dim
        # Parts of a uniform direction have directions that are uniform and independent.
        parts = directions.reshape((*directions.shape[:-1], -1, dim))
        levels = rng.random(parts.shape[:-1]) ** (1.0 / dim)
        parts = (self.radii * levels)[..., None] * parts / _lengths(parts)
        return self._at(parts.reshape(directions.shape))[0]

    def may_stay(self, steps):
        parts = steps.reshape((*steps.shape[:-1], self.space.blocks, -1))
        return np.all(_lengths(parts)[..., 0] <= 2.0 * self.radii, axis=-1)

    def log_draw_density(self, states):
        base = self.space.base
        step = base.log(self.centre, self.space.parts(states)[0])
        volume = base.exp_volume(self.centre, step)
        return -np.sum(log_ball_volume(base.dim, self.radii)) - np.log(volume)

    def even_points(self, number):
        return self._from_balls(even_balls(self._dims, number))

    @property
    def _dims(self):
        return (self.space.base.dim,) * self.space.blocks

    @property
    def cube_dim(self):
        """Dimension of the unit cube that `from_cube` maps to the support."""
        return self.space.blocks * (self.space.base.dim + 1)

    def from_cube(self, cube):
        """States from points of the unit cube: uniform points give uniform draws.

        Parameters
        ----------
        cube : ndarray, shape (count, cube_dim)

        Returns
        -------
        tuple of ndarray
            As `even_points`.
        """
        return self._from_balls(ball_points(self._dims, cube))

    def _from_balls(self, points):
        return self._at(np.repeat(self.radii, self.space.base.dim) * points)

    def _at(self, coordinates):
        step = self.space.vector(self.space.frame(self.origin), coordinates)
        return self.space.exp(self.origin, step), self.space.exp_volume(self.origin, step)


@lru_cache(maxsize=8)
def even_balls(dims, number):
    """Low-discrepancy points of a product of unit balls, the same at every call.

    Parameters
    ----------
    dims : tuple of int
        Dimensions of the balls.
    number : int
        A power of two.

    Returns
    -------
    ndarray, shape (number, sum of dims)
        Read-only.
    """
    points = ball_points(dims, sobol_points(sum(dims) + len(dims), number))
    points.flags.writeable = False
    return points


def sobol_points(dim, number, seed=PUBLIC_SEED):
    """Scrambled Sobol points of the unit cube, shape (number, dim); a power of two of them."""
    # Imported here since it is slow to import.
    from scipy.stats import qmc

    return qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(seed)).random(number)


def ball_points(dims, cube):
    """Points of a product of unit balls from points of the unit cube, uniform for uniform.

    Parameters
    ----------
    dims : sequence of int
        Dimensions of the balls.
    cube : ndarray, shape (count, sum of dims + number of balls)
        For each ball the coordinates of a direction, then one for the distance from the centre.

    Returns
    -------
    ndarray, shape (count, sum of dims)
    """
    balls, start = [], 0
    for dim in dims:
        level = cube[:, start + dim : start + dim + 1] ** (1.0 / dim)
        balls.append(level * cube_directions(cube[:, start : start + dim]))
        start += dim + 1
    return np.concatenate(balls, axis=-1)


def cube_directions(cube):
    """Unit vectors from points (..., dim) of the unit cube, uniform for uniform."""
    normal = ndtri(np.clip(cube, 1e-16, 1.0 - 1e-16))
    return normal / _lengths(normal)


def log_ball_volume(dim, radius):
    """Logarithm of the volume of balls in R^dim."""
    return 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim + 1.0) + dim * np.log(radius)


def _lengths(vectors):
    return np.sqrt(np.sum(vectors**2, axis=-1, keepdims=True))
