"""Supports of densities: balls, and products of a ball of footpoints and balls of shooting vectors.

A `Ball` is what samplers draw in.  A `ProductSupport` holds the geodesics that may be released.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from geodp.manifolds.manifold import Manifold
from geodp.randomness import random_directions


@dataclass(frozen=True)
class Ball:
    """A ball about a centre, or the whole space."""

    space: Manifold
    centre: np.ndarray  # (*batch, *point_shape)
    radius: np.ndarray  # (*batch); infinite for the whole of an unbounded space.

    @property
    def bounded(self):
        return bool(np.all(np.isfinite(self.radius)))

    def contains(self, states):
        """Whether it contains states (*batch, chains, *point_shape); shape (*batch, chains)."""
        if not np.any(np.isfinite(self.radius)):
            return np.ones(self.space.batch_shape(states), dtype=bool)
        centre = np.expand_dims(self.centre, -self.space.point_ndim - 1)
        # A radius that is that of the whole space must not be narrowed by rounding.
        reach = self.radius[..., None] * (1.0 + 1e-12)
        return self.space.dist(centre, states) <= reach

    def draw_along(self, rng, directions):
        """Draws (*batch, chains, *point_shape), uniform in normal coordinates about the centre.

        Their ``directions`` (*batch, chains, dim) are independent, uniform unit vectors.
        """
        level = rng.random(directions.shape[:-1]) ** (1.0 / self.space.dim)
        lengths = self.radius[..., None] * level
        return self.place(lengths[..., None] * directions)[0]

    def log_draw_density(self, states):
        """Log density of `draw_along`, of volume, at states it contains; (*batch, chains)."""
        # Slow to load, here and below.
        from scipy.special import gammaln

        dim, volume = self.space.dim, self.coordinates(states)[1]
        log_ball = 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim + 1.0) + dim * np.log(self.radius)
        return -log_ball[..., None] - np.log(volume)

    def coordinates(self, states):
        """Normal coordinates (*batch, chains, dim) about the centre, and the volume density."""
        space = self.space
        axis = -space.point_ndim - 1
        centre = np.expand_dims(self.centre, axis)
        vectors = space.log(centre, states)
        frame = np.expand_dims(space.frame(self.centre), axis - 1)
        return space.coordinates(centre, vectors, frame), space.exp_volume(centre, vectors)

    def take(self, members):
        """The balls at k indices of the flattened batch; the new batch has shape (k,)."""
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
class ProductSupport:
    """Geodesics whose footpoint lies in a ball and whose shooting vectors have limited lengths.

    A state ``(p, v_1, ..., v_k)`` is stored as the stack of its arrays.  Steps ``(u, w_1, ...)`` at
    ``p`` lead to ``Exp(p, u)`` and to ``v_j + w_j``, carried there in parallel.  Transport is an
    isometry of tangent spaces, so the density of the product of the volume of footpoints and the
    Lebesgue measure of shooting vectors in these coordinates is that of ``Exp(p, u)`` alone.
    """

    manifold: Manifold
    centre: np.ndarray  # Of shape point_shape.
    footpoint_radius: float
    shooting_vector_length: Any  # A number, or a tuple if there are several vectors or none.

    @property
    def origin(self):
        """The centre with shooting vectors zero, shape (1 + k, *point_shape)."""
        zero = np.zeros_like(self.centre)
        return np.stack([self.centre, *[zero] * np.size(self.shooting_vector_length)])

    @property
    def radii(self):
        """Radii of the balls that footpoints and shooting vectors are drawn from; (1 + k,)."""
        reach = min(self.footpoint_radius, self.manifold.injectivity_radius)
        return np.append(reach, self.shooting_vector_length)

    def parts(self, states):
        """Footpoint and shooting vectors of states, as views of shape (*batch, *point_shape)."""
        return tuple(np.moveaxis(states, -self.manifold.point_ndim - 1, 0))

    def contains(self, states):
        """Whether it contains states (*batch, 1 + k, *point_shape); shape (*batch)."""
        manifold = self.manifold
        axes = tuple(range(-manifold.point_ndim - 1, 0))
        finite = np.all(np.isfinite(states), axis=axes)
        p, *vectors = self.parts(np.where(np.expand_dims(finite, axes), states, self.origin))
        inside = finite & (manifold.dist(self.centre, p) <= self.footpoint_radius)
        for vector, length in zip(vectors, np.ravel(self.shooting_vector_length), strict=True):
            inside &= manifold.norm(p, vector) <= length
        return inside

    def draw(self, rng, shape=()):
        """Draws (*shape, 1 + k, *point_shape), uniform in a ball of coordinates for each part."""
        dim, blocks = self.manifold.dim, len(self.radii)
        # Parts of a uniform direction have directions that are uniform and independent.
        parts = random_directions(rng, (*shape, blocks * dim)).reshape((*shape, blocks, dim))
        levels = rng.random(parts.shape[:-1]) ** (1.0 / dim)
        return self._ends((self.radii * levels)[..., None] * parts / _lengths(parts))[0]

    def even_points(self, number):
        """States at `even_coordinates`, and volume densities there: their weights.

        They are kept for the next call, and read-only.
        """
        lengths = tuple(map(float, np.ravel(self.shooting_vector_length)))
        key = self.manifold, self.centre.tobytes(), float(self.footpoint_radius), lengths
        return _even_points(*key, number)

    def _ends(self, coordinates):
        """States at the ends of steps (*batch, 1 + k, dim) from the origin, and their volumes."""
        manifold, centre = self.manifold, self.centre
        step, *turns = self.parts(manifold.vector(manifold.frame(centre), coordinates))
        vectors = [manifold.transport(centre, step, turn) for turn in turns]
        ends = np.stack([manifold.exp(centre, step), *vectors], axis=-manifold.point_ndim - 1)
        return ends, manifold.exp_volume(centre, step)


@lru_cache(maxsize=4)
def _even_points(manifold, centre, footpoint_radius, lengths, number):
    centre = np.frombuffer(centre, dtype=manifold.dtype).reshape(manifold.point_shape)
    support = ProductSupport(manifold, centre, footpoint_radius, lengths)
    found = support._ends(even_coordinates(support.radii, manifold.dim, number))
    for each in found:
        each.flags.writeable = False
    return found


def even_coordinates(radii, dim, number):
    """Low-discrepancy points (number, 1 + k, dim) of balls of these radii, a power of two."""
    balls = even_balls((dim,) * len(radii), number).reshape((-1, len(radii), dim))
    return np.asarray(radii)[:, None] * balls


@lru_cache(maxsize=8)
def even_balls(dims, number):
    """Low-discrepancy points of a product of unit balls of dimensions ``dims``, read-only.

    They are the same at every call; their ``number`` is a power of two.
    """
    from scipy.special import ndtri

    cube = sobol_points(sum(dims) + len(dims), number)
    balls, start = [], 0
    for dim in dims:
        # The coordinates of a direction, then one for the distance from the centre.
        normal = ndtri(np.clip(cube[:, start : start + dim], 1e-16, 1.0 - 1e-16))
        level = cube[:, start + dim : start + dim + 1] ** (1.0 / dim)
        balls.append(level * (normal / _lengths(normal)))
        start += dim + 1
    points = np.concatenate(balls, axis=-1)
    points.flags.writeable = False
    return points


def sobol_points(dim, number, seed=0):
    """Scrambled Sobol points of the unit cube, shape (number, dim); a power of two of them."""
    from scipy.stats import qmc

    return qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(seed)).random(number)


def _lengths(vectors):
    return np.sqrt(np.sum(vectors**2, axis=-1, keepdims=True))
