"""The interface of a manifold: a small set of verbs, and derivatives of its exponential map.

Arrays carry leading batch axes; a point or a tangent vector occupies the last
``len(point_shape)`` axes.  Batches of points broadcast against each other as in NumPy.
Tangent vectors are stored in the same ambient coordinates as points.
"""

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.drawn import Drawn, in_one_piece
from geodp.randomness import random_directions


class Manifold(ABC):
    """A complete Riemannian manifold.

    Attributes
    ----------
    name : str
        Name in tables and messages.
    dim : int
        Real dimension.
    point_shape : tuple of int
        Shape of one point in ambient coordinates.
    dtype : type
        ``float`` or ``complex``.
    injectivity_radius : float
        Smallest distance to a cut locus; infinite where there is none.
    curvature_bounds : tuple of float
        Lower and upper bound of the sectional curvature.
    volume_growth : float
        Exponential rate at which the volume of large balls grows with their radius: the largest
        sum of the frequencies of a unit vector, each as often as its multiplicity.  The Laplace
        density ``exp(-dist / s)`` has a finite integral if ``s`` times this rate is below one.
        Unless given the largest possible: that of constant curvature at the lower bound.
    length_unit : str
        Unit of distances for axes, such as ``rad``.
    against_ambient_noise : str
        What is wrong with noise in every ambient coordinate; empty if nothing.
    ambient_inner : bool
        Whether the inner product is that of the ambient space.
    scale_free : bool
        Whether multiplying all points by a number changes no distance.
    in_units : bool
        Whether its numbers have units, in which a mistake multiplies all points.
    keys : tuple of str
        Keys of settings that it is made from.
    example : dict
        Such settings, for tests of every space.
    smallest : int
        Least size.
    responses : str
        What its points are, for who is asked which space there is.
    other_orders : tuple
        Orders of columns that a file may have by mistake: words, a function that gives the order
        of so many, and whether only the public centre tells.
    variants : tuple of type
        Classes that settings of the same name make.
    factors : tuple of Manifold
        Of a product.
    """

    name: str
    dim: int
    point_shape: tuple[int, ...]
    dtype: type = float
    injectivity_radius: float = np.inf
    curvature_bounds: tuple[float, float]
    length_unit: str = ""
    against_ambient_noise: str = ""
    ambient_inner: bool = False
    scale_free: bool = False
    in_units: bool = False
    keys: tuple[str, ...] = ("size",)
    example: ClassVar[dict] = {"size": 2}
    smallest: int = 1
    responses: str = ""
    other_orders: tuple = ()
    variants: tuple = ()
    factors: tuple = ()
    size: int

    @classmethod
    def of(cls, **settings):
        """The space that settings name; of a space with ``keys`` of its own by these."""
        return cls(settings["size"])  # type: ignore[call-arg]

    @property
    def made_from(self) -> dict:
        """The settings that it is `of`, as values that JSON has."""
        return {"size": self.size, "landmark_map": None}

    @property
    def coordinate_kinds(self) -> tuple[str, ...]:
        """What columns of a point may hold besides its own numbers: of `geodp.data.coordinates`."""
        return ()

    @classmethod
    def asked(cls, columns, number, ask):
        """Settings of the space of points in columns with so many numbers, and what these hold.

        ``ask`` takes a question, a default and the choices, and returns an answer.
        """
        return {"size": cls.size_of(number)}, "ambient"

    @classmethod
    def size_of(cls, number):
        """Size of the space whose points have so many numbers."""
        return number

    def __repr__(self):
        return f"<{self.name}>"

    @cached_property
    def volume_growth(self) -> float:
        """Exponential rate at which the volume of large balls grows with their radius.

        The largest sum of the frequencies of a unit vector, each as often as its multiplicity.  The
        Laplace density ``exp(-dist / s)`` has a finite integral if ``s`` times it is below one.
        Unless given the largest possible: that of constant curvature at the lower bound.
        """
        return (self.dim - 1) * np.sqrt(max(0.0, -self.curvature_bounds[0]))

    @abstractmethod
    def exp(self, point, vector):
        """Endpoint of the geodesic that leaves ``point`` with velocity ``vector``, at time 1."""

    @abstractmethod
    def log(self, point, other):
        """Velocity at ``point`` of the minimising geodesic that reaches ``other`` at time 1."""

    @abstractmethod
    def transport(self, point, direction, vector):
        """Carry ``vector`` in parallel from ``point`` to ``exp(point, direction)``."""

    @abstractmethod
    def inner(self, point, first, second):
        """Riemannian inner product of two tangent vectors at ``point``; shape of the batch."""

    @abstractmethod
    def frame(self, point):
        """Orthonormal basis (..., dim, *point_shape) of the tangent space."""

    @abstractmethod
    def project(self, array):
        """Nearest (or canonical) point of the manifold to an ambient array."""

    @abstractmethod
    def project_tangent(self, point, array):
        """Orthogonal projection of an ambient array on the tangent space at ``point``."""

    @abstractmethod
    def random_point(self, rng, shape=()):
        """Points drawn at random, uniformly where the space is compact.

        Unbounded spaces take a ``radius`` too, 1 unless given: their points are ``Exp(o, w)``
        with o the origin and w uniform in the tangent ball of that radius.
        """

    @abstractmethod
    def invalid_reason(self, array):
        """Why one ambient array is not a point of this space, in a few words, or ``None``."""

    def are_points(self, arrays):
        """Whether arrays (n, *point_shape) are points, each by itself; ndarray of bool, (n,)."""
        return np.array([self.invalid_reason(array) is None for array in arrays], dtype=bool)

    def are_told(self, point, others):
        """Which points (n, *point_shape), as seen from one, are told from no points by a margin."""
        return np.ones(len(others), dtype=bool)

    def are_all_points(self, arrays):
        """Whether all arrays (n, *point_shape) are points; may be faster than `are_points`."""
        return bool(np.all(self.are_points(arrays)))

    @abstractmethod
    def exp_volume(self, point, vector):
        """Volume density of the exponential map at ``vector`` (1 at zero); shape of the batch."""

    def centre(self, points):
        """A point (*batch, *point_shape) not far from the mean of points (*batch, n, ...)."""
        return self.project(np.mean(points, axis=-self.point_ndim - 1))

    def layouts(self):
        """How the numbers of a point are laid out in files: by how many there are, in words."""
        return {math.prod(self.point_shape): "the coordinates in row-major order"}

    def from_layout(self, numbers):
        """Points (n, *point_shape) from numbers (n, k) in a layout, unchecked, not projected."""
        return numbers.reshape((-1, *self.point_shape))

    def magnification(self, point):
        """Factor, at least one, by which rounding of a point's numbers grows in lengths; (...).

        Unit vectors have long coordinates far from the origin of hyperbolic space, for example.
        """
        frame = self.frame(point)
        flat = frame.reshape((*frame.shape[: frame.ndim - self.point_ndim], -1))
        if np.iscomplexobj(flat):
            flat = np.concatenate([flat.real, flat.imag], axis=-1)
        sizes = np.linalg.svd(flat, compute_uv=False)
        return np.maximum(1.0, sizes[..., 0]) * np.maximum(1.0, 1.0 / sizes[..., -1])

    def layout_fault(self, numbers):
        """Why numbers (k,) in a layout are no point, in a few words; ``None`` for the usual one."""
        return None

    def is_rounded(self, given, point, part=0.1):
        """Whether an array is a point but for digits left out, a part of its size at most."""
        return bool(np.all(np.abs(point - given) <= part * np.linalg.norm(given)))

    @property
    def centres(self):
        """Points that have a name, among them the one of "anywhere"."""
        return {"anywhere": self.random_point(np.random.default_rng(0))}

    # How tables and figures show points: by these numbers.

    @property
    def is_curved(self):
        """Whether some sectional curvature is not zero."""
        return self.curvature_bounds != (0.0, 0.0)

    @property
    def coordinate_names(self):
        """Names of the numbers of `shown`; none where a picture takes their place."""
        return [f"coordinate {index + 1}" for index in range(math.prod(self.point_shape))]

    def named_by(self, columns, coordinates):
        """Names of columns of a point in the order of `coordinate_names`, or as they are."""
        return columns

    def shown(self, points):
        """Numbers (n, c) of points along a curve."""
        return points.reshape((len(points), -1))

    def shown_limits(self, points, radii):
        """Least and greatest of these numbers (2, n, c) within balls of radii (n,) about points.

        Unless overridden for numbers that change no faster than points move.
        """
        values = self.shown(points)
        return np.stack([values - radii[:, None], values + radii[:, None]])

    def drawn(self, centre, points, radii):
        """What a figure shows of points (n, *point_shape) along a curve: a `Drawn`.

        Limits are those of all points within balls of ``radii`` (n,) about them.
        """
        what = "Coordinates of the prediction"
        if self.curvature_bounds[0] < 0.0:
            # Where curvature is negative, logarithms are no longer than distances.
            values = self.coordinates(centre, self.log(centre, points))
            away, names = radii[:, None], [f"direction {k + 1}" for k in range(self.dim)]
            what = f"{what}'s logarithm at the public centre"
            return Drawn(values, values - away, values + away, np.zeros(self.dim), what, names)
        both = self.shown(np.concatenate([centre[None], points]))
        low, high = self.shown_limits(points, radii) - self.shown(points)
        values, before = in_one_piece(both[1:], both[0], self.periods)
        return Drawn(values, values + low, values + high, before, what)

    @property
    def periods(self):
        """After how much each of these numbers comes round; infinite where it does not."""
        return [np.inf] * len(self.coordinate_names)

    @property
    def turn(self):
        """Factor from lengths to the unit that all these numbers have, and that; or None."""
        return None

    @property
    def units(self):
        """Unit of each of these numbers; empty where it has none."""
        return [""] * len(self.coordinate_names)

    @property
    def point_ndim(self):
        return len(self.point_shape)

    def batch_shape(self, array):
        """Leading axes of an array of points or tangent vectors."""
        return array.shape[: array.ndim - self.point_ndim]

    def refuse_other_shapes(self, *arrays):
        """Refuse arrays that do not end in the shape of a point, which would broadcast."""
        for each in arrays:
            if np.shape(each)[-self.point_ndim :] != self.point_shape:
                how = ", landmarks as complex numbers x + iy" if self.dtype is complex else ""
                wanted = ", ".join(["*batch", *map(str, self.point_shape)])
                raise DataError(
                    f"an array has shape {np.shape(each)}, and points of {self.name} are of shape "
                    f"({wanted}): give these{how}"
                )

    def expand(self, scalars):
        """Append axes to an array of scalars so that it multiplies points."""
        return np.asarray(scalars)[(...,) + (None,) * self.point_ndim]

    def norm(self, point, vector):
        """Riemannian length of a tangent vector; shape of the batch."""
        return np.sqrt(np.maximum(self.inner(point, vector, vector), 0.0))

    def dist(self, point, other):
        """Geodesic distance; shape of the batch."""
        return self.norm(point, self.log(point, other))

    def transport_to(self, point, other, vector):
        """Carry ``vector`` from ``point`` to ``other`` along the minimising geodesic."""
        return self.transport(point, self.log(point, other), vector)

    def ends(self, point, vectors, coefficients):
        """Points ``Exp(p, sum_j c_ij v_j)``; shape (*batch, n, *point_shape).

        Parameters are those of `combinations`.
        """
        start = np.expand_dims(point, -self.point_ndim - 1)
        return self.exp(*np.broadcast_arrays(start, self.combinations(vectors, coefficients)))

    def combinations(self, vectors, coefficients):
        """Sums ``sum_j c_ij v_j``; shape (*batch, n, *point_shape).

        Parameters
        ----------
        vectors : sequence of k ndarray, shape (*batch, *point_shape)
        coefficients : ndarray that broadcasts to (*batch, n, k)
        """
        total = np.zeros((*coefficients.shape[:-1], *self.point_shape), dtype=self.dtype)
        for j, vector in enumerate(vectors):
            each = np.expand_dims(vector, -self.point_ndim - 1)
            total = total + self.expand(coefficients[..., j]) * each
        return total

    def coordinates(self, point, vector, frame=None):
        """Coordinates of a tangent vector in the orthonormal ``frame``; shape (..., dim)."""
        if frame is None:
            frame = self.frame(point)
        vector = np.asarray(vector)
        if self.ambient_inner:
            if np.iscomplexobj(frame):
                # Real products of real and imaginary parts, of which only the sum is wanted.
                frame = np.concatenate([frame.real, frame.imag], axis=-1)
                vector = np.concatenate([vector.real, vector.imag], axis=-1)
            return rows_times(vector, np.swapaxes(frame, -1, -2))
        axis = -self.point_ndim - 1
        return self.inner(np.expand_dims(point, axis), frame, np.expand_dims(vector, axis))

    def vector(self, frame, coordinates):
        """Tangent vector with the given ``coordinates`` (..., dim) in the ``frame``."""
        shape = self.point_shape
        flat = frame.reshape((*frame.shape[: frame.ndim - len(shape)], -1))
        if np.iscomplexobj(flat):
            # Coordinates are real: so is the product, of real and imaginary parts side by side.
            flat = np.ascontiguousarray(flat).view(float)
        product = rows_times(np.asarray(coordinates), flat).view(frame.dtype)
        return product.reshape(product.shape[:-1] + tuple(shape))

    def tangent(self, point, coordinates):
        """Tangent vector at each point with ``coordinates`` (..., dim) in the frame there."""
        return self.vector(self.frame(point), coordinates)

    def random_tangent_in_ball(self, rng, point, radius):
        """Tangent vector at each point, uniform in the ball of the given radius."""
        direction = self.random_direction(rng, point)
        length = radius * rng.random(self.batch_shape(point)) ** (1.0 / self.dim)
        return direction * self.expand(length)

    def random_direction(self, rng, point):
        """Uniform unit tangent vector at each point."""
        coordinates = random_directions(rng, (*self.batch_shape(point), self.dim))
        return self.tangent(point, coordinates)

    def random_tangent(self, rng, point):
        """Standard normal tangent vector at each point."""
        return self.tangent(point, rng.standard_normal((*self.batch_shape(point), self.dim)))


def rows_times(rows, matrices):
    """Products of row vectors (..., k) with matrices (..., k, l) that broadcast against them.

    Chains often share a matrix, whose last batch axis is then 1, and one product serves them all.
    """
    if matrices.ndim > 2 and matrices.shape[-3] == 1 and rows.ndim > 1:
        return np.matmul(rows, matrices[..., 0, :, :])
    return np.matmul(rows[..., None, :], matrices)[..., 0, :]


def align_data_axes(array, data_ndim, batch_ndim):
    """Insert axes after the ``data_ndim`` axes of data sets, up to ``batch_ndim``, for chains."""
    return array.reshape(
        array.shape[:data_ndim] + (1,) * (batch_ndim - data_ndim) + array.shape[data_ndim:]
    )
