"""Symmetric spaces: Jacobi fields, volume density and their bounds, from the curvature spectrum.

Along a geodesic the curvature operator ``u -> R(u, V) V`` is parallel, so Jacobi fields separate
over its eigenspaces.  A space states these and their *frequencies* ``sqrt(|kappa_j|) |V|``, which
with the sign of ``kappa_j`` give the two Jacobi solutions (Kulkarni and Soto, eq. 15 and 40).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from geodp.manifolds.manifold import Manifold, align_data_axes


def jacobi_cosine(sign, frequency):
    """Solution with J(0) = 1, J'(0) = 0 of the scalar Jacobi equation at time 1.

    ``sign`` is that of the curvature kappa, ``frequency`` is ``sqrt(|kappa|) |V|``.
    """
    if sign == 0:
        return 1.0
    return np.cos(frequency) if sign > 0 else np.cosh(frequency)


def jacobi_sine(sign, frequency):
    """Solution with J(0) = 0, J'(0) = 1 of the scalar Jacobi equation at time 1."""
    if sign == 0:
        return 1.0
    if sign > 0:
        return np.sinc(frequency / np.pi)
    small = frequency < 1e-4
    safe = np.where(small, 1.0, frequency)
    return np.where(small, 1.0 + frequency**2 / 6.0, np.sinh(safe) / safe)


# Jacobi solutions of the derivative of ``Exp(p, v)``, by the argument that moves.
JACOBI_SOLUTIONS = {"point": jacobi_cosine, "vector": jacobi_sine}


# Smallest frequency to divide by: below it sines are their arguments.
SMALLEST = 1e-100


def jacobi_factors(manifold, frequencies, times):
    """Derivatives of ``Exp(p, t v)`` in p and in v, in each curvature eigenspace.

    By the argument that moves, "point" or "vector", a list of K arrays that broadcast to (*batch,
    n), from frequencies (*batch, K) of v and times t that broadcast to (*batch, n).
    """
    pairs = []
    for index, sign in enumerate(manifold.curvature_signs):
        # In an eigenspace of dimension zero nothing has to be computed.
        if not (sign and manifold.multiplicities[index]):
            pairs.append((1.0, times))
            continue
        frequency = np.maximum(frequencies[..., index, None], SMALLEST)
        if sign > 0:
            angle = frequency * times
            cosine, sine = np.cos(angle), np.sin(angle)
        else:
            # Both from one exponential, exact to rounding for small angles too.
            growth = np.expm1(frequency * np.abs(times))
            decay = growth / (1.0 + growth)
            cosine, sine = 1.0 + 0.5 * growth * decay, 0.5 * (growth + decay) * np.sign(times)
        pairs.append((cosine, sine * (1.0 / frequency)))
    point, vector = zip(*pairs, strict=True)
    return {"point": list(point), "vector": list(vector)}


@dataclass(frozen=True)
class LogsAlong(ABC):
    """Logarithms of data at points of a geodesic, carried back to its start."""

    bends: ClassVar[bool] = False  # Whether they know Hessians of distances, as `SPDLogs` do.
    manifold: Any
    times: np.ndarray  # Broadcasts to (*data_sets, *chains, n).
    frequencies: np.ndarray  # (*data_sets, *chains, K), of the velocity.
    squared_distances: np.ndarray  # (*data_sets, *chains, n)

    def factors(self):
        """`jacobi_factors` of the times."""
        return jacobi_factors(self.manifold, self.frequencies, self.times)

    @abstractmethod
    def combine(self, weights):
        """Sum over points and eigenspaces of ``weights[j] * component_j``.

        The K weights broadcast to (*data_sets, *chains, n); the result has no axis n.
        """

    def hessian_sums(self):
        """Sums of Hessians (*batch, dim, dim) of half the squared distances to a start at rest.

        In the frame there.  Those of flat space, unless a subclass knows better.
        """
        dim, (*batch, number) = self.manifold.dim, self.squared_distances.shape
        return np.broadcast_to(number * np.eye(dim), (*batch, dim, dim))


@dataclass(frozen=True)
class LogsByEigenspace(LogsAlong):
    """`LogsAlong` with components (*data_sets, *chains, K, n, *point_shape), in any space."""

    components: np.ndarray

    def combine(self, weights):
        total = 0.0
        record_axis = -self.manifold.point_ndim - 1
        for index, weight in enumerate(weights):
            component = np.take(self.components, index, axis=record_axis - 1)
            total = total + np.sum(self.manifold.expand(weight) * component, axis=record_axis)
        return total


class SymmetricSpace(Manifold):
    """A symmetric space: exp, log, transport and the spectrum of its curvature operator.

    Attributes
    ----------
    curvature_signs : tuple of {-1, 0, 1}, length K
        Sign of the curvature in each eigenspace.
    multiplicities : tuple of int, length K
        Real dimension of each eigenspace; they add up to ``dim``.
    two_point_homogeneous : bool
        Whether all unit tangent vectors are alike, so that frequencies depend on lengths alone.
    has_adjoints_along : bool
        Whether there is a method ``adjoints_along(start, velocity, times, points)``, each (n, ...)
        or of one point: adjoints of residuals about predictions on one geodesic, each record's by
        itself.  These are coordinates (n, dim) in the frame at the start, by the argument of Exp
        that moves, the vector's times the record's own time; and lengths (n,) of residuals.
    """

    curvature_signs: tuple[int, ...]
    multiplicities: tuple[int, ...]
    two_point_homogeneous = False
    has_adjoints_along = False

    @property
    def sums_hessians(self):
        """Whether steps to means take `LogsAlong.hessian_sums`, which cost little."""
        return False

    @property
    def curvature_norm(self):
        """Least known ``C`` with ``|R(X, Y) Z| <= C |X| |Y| |Z|`` for the curvature tensor R.

        With sectional curvatures in ``[a, b]`` it differs from that of constant curvature
        ``(a + b) / 2`` by at most ``2 (b - a) / 3`` (Karcher).
        """
        lower, upper = self.curvature_bounds
        return 0.5 * abs(lower + upper) + 2.0 * (upper - lower) / 3.0

    @abstractmethod
    def frequencies(self, point, vector):
        """Frequencies ``sqrt(|kappa_j|) |vector|`` of the eigenspaces; shape (..., K)."""

    def sectional_curvatures(self, point, vector):
        """Least and greatest sectional curvature of planes that hold a tangent vector; (...).

        NaN where there is no such plane: in one dimension, and for a vector of length zero.
        """
        length = self.norm(point, vector)[..., None]
        if self.dim == 1:
            return np.full((2, *length.shape[:-1]), np.nan)
        frequencies = self.frequencies(point, vector) / np.where(length > 0.0, length, np.nan)
        curvatures = np.repeat(
            np.array(self.curvature_signs) * frequencies**2, self.multiplicities, axis=-1
        )
        # One of the zeros is the vector's own direction, which makes no plane with it.
        order = np.argsort(np.abs(curvatures), axis=-1, kind="stable")[..., 1:]
        others = np.take_along_axis(curvatures, order, axis=-1)
        return np.min(others, axis=-1), np.max(others, axis=-1)

    @abstractmethod
    def split(self, point, vector, other):
        """Components of ``other`` in the eigenspaces of ``vector``; (..., K, *point_shape)."""

    def carried_residuals(self, start, vectors, points):
        """Logarithms of points from the ends of vectors, carried back to the start of these.

        Frequencies (..., K) of the vectors, components (..., K, *point_shape) of the logarithms in
        their eigenspaces, and squared distances (...).  A record's do not depend on others.
        """
        back = self.transport_back(start, vectors, self.log(self.exp(start, vectors), points))
        components = self.split(start, vectors, back)
        squares = self.inner(np.expand_dims(start, -self.point_ndim - 1), components, components)
        squares = np.maximum(np.sum(squares, axis=-1), 0.0)
        return self.frequencies(start, vectors), components, squares

    def jacobi_adjoint(self, point, vector, other, argument):
        """Adjoint of the derivative of ``Exp(p, v)``, applied to a tangent vector at its end.

        The ``argument``, "point" or "vector", is the one that moves; as the point moves, ``v`` is
        carried along in parallel (Kulkarni and Soto, eq. 7 and 8).
        """
        components = self.split(point, vector, self.transport_back(point, vector, other))
        frequencies = self.frequencies(point, vector)
        solution, axis = JACOBI_SOLUTIONS[argument], -self.point_ndim - 1
        return sum(
            self.expand(solution(sign, frequencies[..., index]))
            * np.take(components, index, axis=axis)
            for index, sign in enumerate(self.curvature_signs)
        )

    def transport_back(self, point, vector, other):
        """Carry ``other`` from ``exp(point, vector)`` back to ``point``."""
        end = self.exp(point, vector)
        return self.transport(end, -self.transport(point, vector, vector), other)

    def exp_volume(self, point, vector):
        frequencies = self.frequencies(point, vector)
        volume = np.ones(frequencies.shape[:-1])
        for index, sign, multiplicity in self._curved():
            volume = volume * jacobi_sine(sign, frequencies[..., index]) ** multiplicity
        return volume

    def _curved(self):
        """Index, sign and dimension of each eigenspace that is curved and not empty."""
        spaces = zip(self.curvature_signs, self.multiplicities, strict=True)
        return [(index, *each) for index, each in enumerate(spaces) if all(each)]

    def exp_volume_range(self, point, unit, low, high, angle):
        """Lower and upper bound (...) of `exp_volume` over ranges of lengths and directions.

        Lengths are from ``low`` to ``high`` (...), within the injectivity radius, and directions at
        an ``angle`` (...) of at most that with ``unit`` (..., *point_shape).
        """
        frequencies = self.frequencies(point, unit)
        if not self.two_point_homogeneous:
            # Singular values of a linear map move no faster than its norm lets them.
            rate = self._greatest_rate()
            signs = np.array(self.curvature_signs)
            most = np.sqrt(np.maximum(signs * np.choose(signs > 0, self.curvature_bounds), 0.0))
            slower = np.maximum(frequencies - rate * angle[..., None], 0.0)
            faster = np.minimum(frequencies + rate * angle[..., None], most)
        else:
            slower = faster = frequencies
        least, greatest = np.ones(low.shape), np.ones(low.shape)
        for index, sign, multiplicity in self._curved():
            ends = low * slower[..., index], high * faster[..., index]
            small, large = ends if sign < 0 else ends[::-1]
            least = least * np.maximum(jacobi_sine(sign, small), 0.0) ** multiplicity
            greatest = greatest * np.maximum(jacobi_sine(sign, large), 0.0) ** multiplicity
        return least, greatest

    def arc_stretch(self, point, unit, length):
        """Largest norm (...) of a Jacobi field at distance ``length``, per unit initial angle.

        The field belongs to the geodesic from ``point`` (..., *point_shape) along ``unit``.
        """
        if not self.two_point_homogeneous:
            sign = -1 if self.curvature_bounds[0] < 0.0 else 0
            return length * jacobi_sine(sign, self._greatest_rate() * length)
        frequencies = self.frequencies(point, unit)
        stretch = np.zeros(length.shape)
        for index, (sign, multiplicity) in enumerate(
            zip(self.curvature_signs, self.multiplicities, strict=True)
        ):
            # One of the flat directions is the radius itself.
            if multiplicity - (sign == 0) > 0:
                sine = np.abs(jacobi_sine(sign, length * frequencies[..., index]))
                stretch = np.maximum(stretch, sine)
        return length * stretch

    def _greatest_rate(self):
        """Largest frequency of a unit vector."""
        return np.sqrt(np.max(np.abs(self.curvature_bounds)))

    def distances_along(self, start, velocity, times, points):
        """Distances (chains, n) of n points from places of geodesics, each by itself.

        Start and velocity have shape (chains, *point_shape), and there are n times.
        """
        start, velocity = start[:, None], velocity[:, None]
        return self.dist(self.exp(start, self.expand(times) * velocity), points)

    def logs_along(self, start, velocity, times, points):
        """Logarithms ``Log(Exp(p, t_i v), y_i)``, carried back along the geodesic to its start p.

        Spaces with more structure override this with faster formulas.

        Parameters
        ----------
        start, velocity : ndarray, shape (*data_sets, *chains, *point_shape)
        times : ndarray, shape (*data_sets, n)
        points : ndarray, shape (*data_sets, n, *point_shape)

        Returns
        -------
        LogsAlong
        """
        axes = times.ndim - 1, start.ndim - self.point_ndim
        t, y = (align_data_axes(each, *axes) for each in (times, points))
        record_axis = -self.point_ndim - 1
        p = np.expand_dims(start, record_axis)
        v = np.expand_dims(velocity, record_axis)
        p, v = np.broadcast_arrays(p, self.expand(t) * v)
        back = self.transport_back(p, v, self.log(self.exp(p, v), y))
        # The eigenspaces of t v are those of v, also at t = 0.
        components = self.split(p, np.expand_dims(velocity, record_axis), back)
        return LogsByEigenspace(
            manifold=self,
            times=t,
            frequencies=self.frequencies(start, velocity),
            squared_distances=self.inner(p, back, back),
            components=np.moveaxis(components, record_axis, record_axis - 1),
        )

    def squared_distances_along(self, start, velocity, times, points):
        """Squared distances of `logs_along`, alone; faster where these need no logarithms."""
        return self.logs_along(start, velocity, times, points).squared_distances
