"""Hyperbolic space H^d of curvature -1, as the upper sheet of a hyperboloid in R^(d+1).

A point's first coordinate is its time, and the others its place, which determines it.  Minkowski's
product ``-t t' + <s, s'>`` is a small difference of large numbers far from the origin.  So tangent
vectors are measured at the origin, and points are compared along the geodesic from there: with a
point at rapidity (distance) ``a``, a place whose part across the geodesic is ``c`` is
``sqrt(1 + |c|^2) sinh(b)`` along it, and moving the point to the origin takes ``b`` to ``b - a``
and leaves ``c`` as it is.
"""

import numpy as np

from geodp.manifolds.symmetric import SymmetricSpace, jacobi_sine
from geodp.manifolds.unit_norm import RankOneSpace, hermitian, squared_length


def _dot(first, second):
    return hermitian(first, second)[..., None]


def _lift(place):
    """The point above a place."""
    return np.concatenate([np.sqrt(1.0 + _dot(place, place)), place], axis=-1)


class Hyperbolic(RankOneSpace):
    """H^d of curvature -1; points have shape (d + 1,), time first: ``-y0^2 + |y|^2 = -1``.

    The hyperbolic rotation that takes the origin to ``p`` along a geodesic is an isometry, used
    throughout as `SPD` uses Cholesky factors.
    """

    against_ambient_noise = "would depend on the choice of the origin"
    curvature_signs = (0, -1)
    responses = "points of a hyperboloid"
    other_orders = (("as if the first came last", lambda count: np.roll(range(count), 1), False),)
    point_square = -1.0
    cosine, sine = staticmethod(np.cosh), staticmethod(np.sinh)

    def __init__(self, dimension: int):
        self.name = f"hyperbolic space H^{dimension}"
        self.size = self.dim = dimension
        self.point_shape = (dimension + 1,)
        self.multiplicities = (1, dimension - 1)
        self.curvature_bounds = (-1.0, -1.0) if dimension > 1 else (0.0, 0.0)
        # Spheres of radius r have area sinh(r)^(d - 1). SPD's rate is the same sum over its roots.
        self.volume_growth = float(dimension - 1)

    def layouts(self):
        words = (
            "the time first, then the place on the hyperboloid (a point b of the Poincare ball is "
            "(1 + |b|^2, 2 b) / (1 - |b|^2))"
        )
        return {self.dim + 1: words}

    @classmethod
    def size_of(cls, number):
        return number - 1

    @property
    def centres(self):
        """See `Manifold.centres`; the lowest point of the hyperboloid."""
        return dict.fromkeys(("origin", "anywhere"), np.eye(self.dim + 1)[0])

    def _axis(self, point):
        """Place's length and direction from the origin (zero there), and the time; (..., 1)."""
        place = point[..., 1:]
        size = np.sqrt(_dot(place, place))
        return size, place / np.where(size > 0, size, 1.0), np.sqrt(1.0 + size**2)

    def _to_origin(self, point, vector):
        """A tangent vector moved to the origin, where it is a vector of R^d; (..., d)."""
        _, axis, time = self._axis(point)
        along = _dot(axis, vector[..., 1:])
        return vector[..., 1:] - axis * along + axis * (along / time)

    def _from_origin(self, point, vector):
        """The tangent vector at ``point`` that `_to_origin` takes to a vector of R^d."""
        size, axis, time = self._axis(point)
        along = _dot(axis, vector)
        return np.concatenate(
            [size * along, vector + axis * (size**2 / (1.0 + time) * along)], axis=-1
        )

    def _seen_from(self, point, other):
        """Place of ``other`` once ``point`` has been moved to the origin; (..., d)."""
        self.refuse_other_shapes(point, other)
        size, axis, _ = self._axis(point)
        place = other[..., 1:]
        difference = place - point[..., 1:]
        # Component orthogonal to the axis, from the shorter vector, which has less rounding.
        near = squared_length(difference) < squared_length(place)
        shorter = np.where(near[..., None], difference, place)
        across = shorter - axis * _dot(axis, shorter)
        square = _dot(across, across)
        stretch = np.sqrt(1.0 + square)
        # From the difference of sinh(b) and sinh(a), so that nearby points lose no digits.
        rise = (_dot(axis, difference) - size * (square / (1.0 + stretch))) / stretch
        middle = 0.5 * (np.arcsinh(size) + np.arcsinh(_dot(axis, place) / stretch))
        rapidity = 2.0 * np.arcsinh(rise / (2.0 * np.cosh(middle)))
        return across + axis * (stretch * np.sinh(rapidity))

    def exp(self, point, vector):
        self.refuse_other_shapes(point, vector)
        size, axis, _ = self._axis(point)
        straight = self._to_origin(point, vector)
        seen = jacobi_sine(-1, np.sqrt(_dot(straight, straight))) * straight
        along = _dot(axis, seen)
        across = seen - axis * along
        stretch = np.sqrt(1.0 + _dot(across, across))
        rapidity = np.arcsinh(size) + np.arcsinh(along / stretch)
        return _lift(across + axis * (stretch * np.sinh(rapidity)))

    def log(self, point, other):
        seen = self._seen_from(point, other)
        sine = np.sqrt(_dot(seen, seen))
        factor = np.where(sine > 0, np.arcsinh(sine) / np.where(sine > 0, sine, 1.0), 1.0)
        return self._from_origin(point, factor * seen)

    def dist(self, point, other):
        return np.arcsinh(np.sqrt(squared_length(self._seen_from(point, other))))

    def distances_along(self, start, velocity, times, points):
        straight = self._to_origin(start, velocity)[:, None]
        speed = np.sqrt(squared_length(straight))
        unit = straight / np.where(speed > 0, speed, 1.0)[..., None]
        # Points along the geodesic and across it, as they are compared along that from the origin.
        seen = self._seen_from(start[:, None], points)
        along = hermitian(unit, seen)
        seen -= along[..., None] * unit
        square = squared_length(seen)
        stretch = np.sqrt(1.0 + square)
        ahead = stretch * np.sinh(np.arcsinh(along / stretch) - speed * times)
        return np.arcsinh(np.sqrt(square + ahead**2))

    def transport(self, point, direction, vector):
        size, axis, time = self._axis(point)
        straight = self._to_origin(point, direction)
        length = np.sqrt(_dot(straight, straight))
        # The squares of shorter directions underflow, and transport along them changes nothing.
        unit = straight / np.where(length > 1e-140, length, 1.0)
        along = _dot(unit, self._to_origin(point, vector))
        # Only the component along the geodesic turns, to the velocity at the end: cosh(length)
        # times the one here plus sinh(length) times the point, without large differences.
        cosine = np.cosh(length)
        ahead = _dot(axis, unit)
        across = unit - axis * ahead
        sense = np.copysign(1.0, ahead)
        bend = _dot(across, across) / (1.0 + np.abs(ahead)) * cosine
        rapidity = np.arcsinh(size) + sense * length
        end = np.concatenate(
            [
                sense * (np.sinh(rapidity) - bend * size),
                cosine * across + axis * (sense * (np.cosh(rapidity) - bend * time)),
            ],
            axis=-1,
        )
        return vector + along * (end - self._from_origin(point, unit))

    def inner(self, point, first, second):
        return np.sum(self._to_origin(point, first) * self._to_origin(point, second), axis=-1)

    def norm(self, point, vector):
        return np.sqrt(squared_length(self._to_origin(point, vector)))

    def frame(self, point):
        place = point[..., 1:]
        bent = place[..., :, None] * (place / (1.0 + point[..., :1]))[..., None, :]
        return np.concatenate([place[..., :, None], np.eye(self.dim) + bent], axis=-1)

    def project(self, array):
        """The point with the same place, that is with the time that belongs to it."""
        return _lift(np.asarray(array, dtype=float)[..., 1:])

    def project_tangent(self, point, array):
        return array + np.sum(self.form(point) * array, axis=-1)[..., None] * point

    def random_point(self, rng, shape=(), radius=1.0):
        origin = _lift(np.zeros((*shape, self.dim)))
        return self.exp(origin, self.random_tangent_in_ball(rng, origin, radius))

    def invalid_reason(self, array):
        if not np.all(np.isfinite(array)):
            return "a coordinate is not a finite number"
        time, expected = float(array[0]), float(self.project(array)[0])
        if abs(time - expected) > 1e-6 * expected:
            return (
                f"its first coordinate is {time:.6g}, not {expected:.6g}, the root of one plus "
                "the squares of the others"
            )
        return None

    def are_points(self, arrays):
        expected = self.project(arrays)[..., 0]
        return np.isfinite(expected) & (np.abs(arrays[..., 0] - expected) <= 1e-6 * expected)

    def form(self, vector):
        return np.concatenate([-vector[..., :1], vector[..., 1:]], axis=-1)

    def measure_overlap(self, overlap):
        # At least one unit in the last place, which keeps the ratio from 0 / 0.
        excess = np.maximum(overlap - 1.0, 2.0**-52)
        sine = np.sqrt(excess) * np.sqrt(excess + 2.0)
        distance = np.log1p(excess + sine)
        return distance, distance / sine

    def logs_along(self, start, velocity, times, points, longest_time=7.0):
        """See `SymmetricSpace.logs_along`; by matrix products unless a point is far away.

        Data with a longer time (2.6 from the origin) are treated record by record, some forty times
        as slowly: products with them are rounded by its square, and then a fit does not settle.
        """
        if np.any(points[..., 0] > longest_time):
            return SymmetricSpace.logs_along(self, start, velocity, times, points)
        # Products read the vector's time, in which sums of many tangents leave their rounding.
        straight = self._to_origin(start, velocity)
        return super().logs_along(start, self._from_origin(start, straight), times, points)
