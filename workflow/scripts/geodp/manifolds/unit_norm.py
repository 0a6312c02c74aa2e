"""Base classes of symmetric spaces of rank one, and of those of unit vectors.

On spheres and shape spaces, which are unit vectors up to a phase, a geodesic is
``cos(r) z + sin(r) e`` for a unit tangent ``e``, and transport along it changes only the component
along ``e`` (real on the sphere, complex on shapes, where horizontal lifts are tangent vectors).
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from geodp.manifolds.manifold import align_data_axes
from geodp.manifolds.symmetric import SMALLEST, LogsAlong, SymmetricSpace

# Bound on the rounding of squared residuals: of products with points of length up to seven in the
# hyperboloid's coordinates, of one elsewhere.
SQUARE_ROUNDING = 1e-13

# The largest cosine below one: keeps angle / sin(angle) from 0 / 0, exact to rounding.
LARGEST_COSINE = 1.0 - 2.0**-53


def hermitian(first, second):
    """Sum of ``conj(first) * second`` over the last axis.

    How it is rounded does not depend on how many vectors there are, which may be private.
    """
    if first.dtype.kind == "c":
        first = np.conj(first)
    # Sums along a shorter axis take several times as long as one coordinate after another.
    if first.shape[-1] > 4:
        return np.sum(first * second, axis=-1)
    total = first[..., 0] * second[..., 0]
    for k in range(1, first.shape[-1]):
        total += first[..., k] * second[..., k]
    return total


def squared_length(vector):
    """Squared norm over the last axis, real for complex vectors too."""
    return hermitian(vector, vector).real


def orthonormal_complement(unit):
    """Basis (..., D - 1, D) of what is orthogonal to unit vectors, by Householder reflection."""
    mirror, scale = _mirror(unit)
    eye = np.eye(unit.shape[-1])[1:]
    return (
        eye - scale[..., None, None] * np.conj(mirror[..., 1:])[..., :, None] * mirror[..., None, :]
    )


def in_complement(unit, coordinates):
    """Vectors with ``coordinates`` (..., D - 1) in the `orthonormal_complement` of unit vectors."""
    mirror, scale = _mirror(unit)
    along = scale * np.sum(coordinates * np.conj(mirror[..., 1:]), axis=-1)
    vector = -along[..., None] * mirror
    vector[..., 1:] += coordinates
    return vector


def _by_half_angles(angles):
    """Cosines and sines by tangents of half angles, which NumPy has several times as fast."""
    tangent = np.tan(0.5 * angles)
    cosine = 2.0 / (1.0 + tangent**2)
    sine = tangent * cosine
    cosine -= 1.0
    return cosine, sine


def _below_one(cosine):
    return np.minimum(np.maximum(cosine, -LARGEST_COSINE), LARGEST_COSINE)


def _one_tangent(unit):
    """The first vector of `orthonormal_complement`, alone."""
    mirror, scale = _mirror(unit)
    tangent = (-scale * np.conj(mirror[..., 1]))[..., None] * mirror
    tangent[..., 1] += 1.0
    return tangent


def _mirror(unit):
    """Normal of the mirror between unit vectors and the first axis, and 2 / its squared length."""
    first = unit[..., 0]
    size = np.abs(first)
    phase = np.where(size > 0, first / np.where(size > 0, size, 1.0), 1.0)
    mirror = unit.copy()
    mirror[..., 0] += phase
    return mirror, 2.0 / squared_length(mirror)


class RankOneSpace(SymmetricSpace):
    """Vectors of constant square whose unit tangent vectors are all alike."""

    # Frequencies of unit tangent vectors: along the velocity, and across it.
    rates: tuple[float, ...] = (0.0, 1.0)
    point_square = 1.0  # Product of a point with itself, or minus one.
    two_point_homogeneous = True
    # Whether a point is all vectors that differ by a phase, which `align_overlap` finds.
    is_quotient = False
    # Coordinates of a geodesic, circular or hyperbolic.
    cosine, sine = staticmethod(np.cos), staticmethod(np.sin)

    @abstractmethod
    def form(self, vector):
        """Coefficients of the linear form that is the product with a vector."""

    @abstractmethod
    def measure_overlap(self, overlap):
        """Distance of two points from the cosine of it, and its ratio to the distance's sine."""

    def align_overlap(self, overlap):
        """Cosine of the distance of two points, and the phase that aligns the second."""
        return overlap, 1.0

    @property
    def sums_hessians(self):
        return self.dim <= 30 and not self.is_quotient

    def frequencies(self, point, vector):
        return self.norm(point, vector)[..., None] * np.array(self.rates)

    def split(self, point, vector, other):
        length = self.norm(point, vector)[..., None]
        unit = vector / np.where(length > 0, length, 1.0)
        along = self.inner(point, unit, other)[..., None] * unit
        return np.stack(np.broadcast_arrays(along, other - along), axis=-2)

    def logs_along(self, start, velocity, times, points):
        """See `SymmetricSpace.logs_along`; two matrix products with the data replace logarithms.

        A logarithm is ``angle / sin(angle)`` times the part of the aligned point that is
        orthogonal to the place it is seen from, and its component along the geodesic turns
        rigidly when it is carried back.  So weighted sums of logarithms are weighted sums of the
        data and of ``p`` and ``v``.
        """
        overlap, x, speed, unit, seen, turns = self._seen_along(start, velocity, times, points)
        phase = turned = None
        if turns is not None:
            turned = turns[0] * seen[1] - turns[1] * seen[0]
        if self.is_quotient:
            overlap, phase = self.align_overlap(overlap)
            turned = None if turned is None else phase * turned
        distance, factor = self.measure_overlap(overlap)
        return RankOneLogs(
            manifold=self,
            times=x,
            frequencies=speed[..., None] * np.array(self.rates),
            squared_distances=distance * distance,
            turns=turns,
            factor=factor,
            along=None if turned is None else factor * turned,
            phase=phase,
            seen=seen,
            axes=(start, unit)[: len(seen)],
            points=points,
        )

    def squared_distances_along(self, start, velocity, times, points):
        overlap = self._seen_along(start, velocity, times, points)[0]
        return self.measure_overlap(self.align_overlap(overlap)[0])[0] ** 2

    def _seen_along(self, start, velocity, times, points):
        """Coordinates of each point along its prediction, before phases are aligned.

        Then the times, the speed, the unit velocity, coordinates along it and the start, and
        cosines, sines and rates of the turn from these to the prediction.
        """
        data_ndim = times.ndim - 1
        x = align_data_axes(times, data_ndim, start.ndim - 1)
        speed = self.norm(start, velocity)
        unit = velocity / np.where(speed > 0, speed, 1.0)[..., None]
        # Coordinates of each point along p and v: products over the square of each.
        along_start = _products(self.point_square * self.form(start), points, data_ndim)
        if not np.any(speed):
            return along_start, x, speed, unit, (along_start,), None
        along_unit = _products(self.form(unit), points, data_ndim)
        # A geodesic at rest moves a little, so that sines over it are times.
        moved = np.maximum(speed, SMALLEST)[..., None]
        angle = moved * x
        cosine, sine = self.cosine(angle), self.sine(angle)
        # The coordinate along the prediction turns with it.
        overlap = cosine * along_start + (self.point_square * sine) * along_unit
        return overlap, x, speed, unit, (along_start, along_unit), (cosine, sine, moved)


class UnitNormSpace(RankOneSpace):
    """A manifold of unit vectors: the base class of spheres and planar shape spaces."""

    length_unit = "rad"
    ambient_inner = True
    # Words of `invalid_reason`.
    not_finite = "a coordinate is not a finite number"
    norm_word = "length"
    length_tolerance = 1e-6

    def exp(self, point, vector):
        self.refuse_other_shapes(point, vector)
        length = np.sqrt(squared_length(vector))[..., None]
        end = np.cos(length) * point + np.sinc(length / np.pi) * vector
        # Keeps long chains on the sphere: rounding would otherwise drift.
        return end / np.sqrt(squared_length(end))[..., None]

    def _seen(self, point, other):
        """Component of another point orthogonal to a point, its length, the cosine, the phase."""
        self.refuse_other_shapes(point, other)
        # From the difference, so that nearby points lose no digits.
        difference = other - point
        overlap_less_one = hermitian(point, difference)
        tangent = difference - overlap_less_one[..., None] * point
        sine = np.sqrt(squared_length(tangent))
        return tangent, sine, *self.align_overlap(1.0 + overlap_less_one)

    def dist(self, point, other):
        _, sine, cosine, _ = self._seen(point, other)
        return np.arctan2(sine, cosine)

    def log(self, point, other):
        tangent, sine, cosine, phase = self._seen(point, other)
        angle = np.arctan2(sine, cosine)
        if not np.iscomplexobj(point):
            # Every direction leads to the antipode: any one will do, computed for all points, so
            # that time does not tell of one.  Shapes have no antipodes.
            opposite = (sine == 0.0) & (cosine < 0.0)
            tangent = np.where(opposite[..., None], _one_tangent(point), tangent)
            sine = np.where(opposite, 1.0, sine)
        factor = phase * np.where(sine > 0, angle / np.where(sine > 0, sine, 1.0), 1.0)
        return factor[..., None] * tangent

    def transport(self, point, direction, vector):
        length = np.sqrt(squared_length(direction))[..., None]
        unit = direction / np.where(length > 0, length, 1.0)
        along = hermitian(unit, vector)[..., None]
        return vector + along * ((np.cos(length) - 1.0) * unit - np.sin(length) * point)

    def transport_back(self, point, vector, other):
        length = np.sqrt(squared_length(vector))[..., None]
        unit = vector / np.where(length > 0, length, 1.0)
        # The unit velocity at the end is carried back to that at the start.
        ahead = np.cos(length) * unit - np.sin(length) * point
        return other + hermitian(ahead, other)[..., None] * (unit - ahead)

    def inner(self, point, first, second):
        return hermitian(first, second).real

    def frame(self, point):
        return orthonormal_complement(point)

    def tangent(self, point, coordinates):
        return in_complement(point, coordinates)

    def project(self, array):
        return array / np.sqrt(squared_length(array))[..., None]

    def project_tangent(self, point, array):
        return array - hermitian(point, array)[..., None] * point

    def invalid_reason(self, array):
        if not np.all(np.isfinite(array)):
            return self.not_finite
        length = float(np.sqrt(squared_length(array)))
        if abs(length - 1.0) > self.length_tolerance:
            digits = 6 if abs(length - 1.0) > 1e-4 else 9
            return f"its {self.norm_word} is {length:.{digits}g}, not 1"
        return None

    def are_points(self, arrays):
        return np.abs(np.sqrt(squared_length(arrays)) - 1.0) <= self.length_tolerance

    def form(self, vector):
        return np.conj(vector)

    def measure_overlap(self, overlap):
        overlap = _below_one(overlap)
        distance = np.arccos(overlap)
        return distance, distance / np.sqrt((1.0 - overlap) * (1.0 + overlap))

    def distances_along(self, start, velocity, times, points):
        speed = self.norm(start, velocity)
        unit = velocity / np.where(speed > 0, speed, 1.0)[:, None]
        cosine, sine = _by_half_angles(speed[:, None] * times)
        overlap = cosine * hermitian(start[:, None], points)
        overlap += sine * hermitian(unit[:, None], points)
        return np.arccos(_below_one(self.align_overlap(overlap)[0]))

    has_adjoints_along = True

    def adjoints_along(self, start, velocity, times, points):
        frame, speed = self.frame(start), np.sqrt(squared_length(velocity))
        # Of points: along the start, along the velocity, and across both.
        both = velocity / np.where(speed > 0, speed, 1.0), points
        unit, seen = (self.coordinates(start, each, frame) for each in both)
        if np.iscomplexobj(points):
            half = self.dim // 2
            unit, seen = (each[..., :half] + 1j * each[..., half:] for each in (unit, seen))
        before, ahead = hermitian(start, points), hermitian(unit, seen)
        across = seen - ahead[:, None] * unit
        # A geodesic at rest moves a little, so that sines over its speed are times.
        speed = np.maximum(speed, SMALLEST)
        cosine, sine = np.cos(speed * times), np.sin(speed * times)
        turned = cosine * ahead - sine * before
        overlap, phase = self.align_overlap(cosine * before + sine * ahead)
        height = np.sqrt(np.abs(turned) ** 2 + squared_length(across))
        distances = np.arctan2(height, overlap)
        factor = phase * np.where(height > 0, distances / np.where(height > 0, height, 1.0), 1.0)
        turned = factor * turned
        along, moved = turned.real, times * turned.real
        if np.iscomplexobj(turned):
            # Where a shape turns the angle is double.
            along = along + 1j * (1.0 - 2.0 * sine**2) * turned.imag
            moved = moved + 1j * (sine * cosine / speed) * turned.imag
        point = along[:, None] * unit + (factor * cosine)[:, None] * across
        vector = moved[:, None] * unit + (factor * sine / speed)[:, None] * across
        if np.iscomplexobj(turned):
            point, vector = (np.hstack([each.real, each.imag]) for each in (point, vector))
        return (point, vector), distances


@dataclass(frozen=True)
class RankOneLogs(LogsAlong):
    """`LogsAlong` on a `RankOneSpace`, without forming the logarithm of any record.

    ``turns`` are the cosine and sine of the angles of the predictions, and the speed.  ``factor``,
    ``along``, the coordinates of logarithms along the velocity, and ``phase``, which is None where
    the space is no quotient, have shape (*data_sets, *chains, n), as have the coordinates of points
    that are ``seen`` along the ``axes``, the footpoint and the unit velocity.  If no geodesic moves
    there are no ``turns``, and nothing is ``along``.
    """

    turns: tuple | None
    factor: np.ndarray
    along: np.ndarray | None
    phase: np.ndarray | None
    seen: tuple
    axes: tuple
    points: np.ndarray

    def factors(self):
        """`jacobi_factors` of the times, from the sines and cosines that are known."""
        if self.turns is None:
            return super().factors()
        cosine, sine, speed = self.turns
        across = sine * (1.0 / speed)
        pairs = [(1.0, self.times), (cosine, across)]
        if 2.0 in self.manifold.rates:
            # Of the double angle.
            turned = 1.0 - 2.0 * self.manifold.point_square * sine**2
            pairs.insert(1, (turned, across * cosine))
        point, vector = zip(*pairs, strict=True)
        return {"point": list(point), "vector": list(vector)}

    def hessian_sums(self):
        """See `LogsAlong.hessian_sums`: one along a logarithm, and distance over tangent across."""
        manifold, squares = self.manifold, self.squared_distances
        # Beyond a quarter turn, where it would be negative, zero still gives a step downhill.
        across = np.maximum(self.factor * self.seen[0], 0.0)
        near = squares < 1e-6
        rest = (1.0 - across) * self.factor**2 / np.where(near, 1.0, squares)
        rest = np.where(near, manifold.point_square / 3.0, rest)
        frame = manifold.form(manifold.frame(self.axes[0]))
        parts = _products(frame, self.points, self.points.ndim - 2)
        sums = (rest[..., None, :] * parts) @ np.swapaxes(parts, -1, -2)
        return sums + np.sum(across, axis=-1)[..., None, None] * np.eye(manifold.dim)

    def combine(self, weights):
        across = weights[-1] * self.factor
        if self.phase is not None:
            across = across * self.phase
        flat = across.reshape((*self.points.shape[:-2], -1, across.shape[-1]))
        total = np.matmul(flat, self.points).reshape((*across.shape[:-1], self.points.shape[-1]))
        for along, axis in zip(self.seen, self.axes, strict=True):
            total = total - np.einsum("...n,...n->...", across, along)[..., None] * axis
        if self.along is None:
            return total
        along = np.sum(weights[0] * self.along.real, axis=-1)
        if np.iscomplexobj(self.points):
            along = along + 1j * np.sum(weights[1] * self.along.imag, axis=-1)
        return total + along[..., None] * self.axes[-1]


def _products(forms, points, data_ndim):
    """Values of linear forms (*data_sets, *chains, D) at points (*data_sets, n, D)."""
    data_shape = points.shape[:data_ndim]
    flat = forms.reshape((*data_shape, -1, forms.shape[-1]))
    result = np.matmul(flat, np.swapaxes(points, -1, -2))
    return result.reshape((*forms.shape[:-1], points.shape[-2]))
