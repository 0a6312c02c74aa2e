"""Products of spaces, whose metric weighs each factor by a public number."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from geodp.data.coordinates import View, are_read, in_layout, limits_of
from geodp.manifolds.drawn import Drawn
from geodp.manifolds.symmetric import LogsAlong, SymmetricSpace


@dataclass(frozen=True)
class ProductLogs(LogsAlong):
    """`LogsAlong` of a product: those of its factors, ``parts``."""

    parts: tuple

    def factors(self):
        found = [each.factors() for each in self.parts]
        return {key: [x for each in found for x in each[key]] for key in found[0]}

    def combine(self, weights):
        sums, left = [], iter(weights)
        for each in self.parts:
            own = [next(left) for _ in each.manifold.curvature_signs]
            sums.append(each.combine(own))
        return self.manifold.joined(sums)


def _concatenated(arrays):
    """Arrays (..., k), whose batches broadcast, along their last axis."""
    shape = np.broadcast_shapes(*(each.shape[:-1] for each in arrays))
    rows = [np.broadcast_to(each, (*shape, each.shape[-1])) for each in arrays]
    return np.concatenate(rows, axis=-1)


def _numbers(factor, array):
    """Rows (..., k) of all numbers of points or tangent vectors of a factor."""
    shape = (*factor.batch_shape(array), math.prod(factor.point_shape))
    return np.ascontiguousarray(array, dtype=factor.dtype).reshape(shape).view(float)


class Product(SymmetricSpace):
    """A product of symmetric spaces: squared distances are sums of those of factors, weighed.

    With weights w_i the inner product is ``sum_i w_i <u_i, v_i>``.  A point is the row of all
    numbers of its parts, complex ones as real and imaginary part in turn.

    The curvature tensor is the sum of those of the factors, which a weight does not change. So
    ``u -> R(u, v) v`` acts on each factor by itself, as along its own part of v: eigenspaces and
    frequencies are those of all factors, each for its v_i.  For orthonormal a and b the sectional
    curvature is the sum of kappa_i / w_i times the squared area that a and b span in factor i, and
    these areas add up to 1 at most: it is between 0, of planes with one direction in each of two
    factors, and the extremes of kappa_i / w_i.  A geodesic is the shortest as long as its part in
    each factor is: the injectivity radius is the least sqrt(w_i) times that of a factor.

    Parameters
    ----------
    factors : sequence of SymmetricSpace
    weights : sequence of float, optional
        1 unless given.
    coordinates : sequence of str, optional
        What columns of each factor hold, "ambient" unless given; see `geodp.data.coordinates`.
    """

    keys: tuple[str, ...] = ("factors",)
    example: ClassVar[dict] = {
        "factors": (
            {"name": "sphere", "size": 1, "coordinates": "degrees"},
            {"name": "spd", "size": 2, "weight": 0.5},
        )
    }
    responses = "several of these together, such as a position and a direction, or two angles"

    def __init__(self, factors, weights=None, coordinates=None):
        self.factors = tuple(factors)
        number = len(self.factors)
        self.weights = tuple(float(each) for each in weights or [1.0] * number)
        self.coordinates_of = tuple(coordinates or ["ambient"] * number)
        self.dim = sum(each.dim for each in self.factors)
        self.numbers = [
            math.prod(each.point_shape) * (1 + (each.dtype is complex)) for each in self.factors
        ]
        self._ends = np.cumsum(self.numbers)[:-1]
        self._coordinate_ends = np.cumsum([each.dim for each in self.factors])[:-1]
        self.point_shape = (sum(self.numbers),)
        self.name = " x ".join(
            f"{each.name}{'' if weight == 1.0 else f' (weight {weight:g})'}"
            for each, weight in zip(self.factors, self.weights, strict=True)
        )
        bounds = [np.divide(f.curvature_bounds, w) for f, w in self._weighed()]
        low, high = zip(*bounds, *[(0.0, 0.0)] * (number > 1), strict=True)
        self.curvature_bounds = float(min(low)), float(max(high))
        self.curvature_signs = sum((each.curvature_signs for each in self.factors), ())
        self.multiplicities = sum((tuple(each.multiplicities) for each in self.factors), ())
        self.two_point_homogeneous = number == 1 and self.factors[0].two_point_homogeneous
        radii = [np.sqrt(w) * f.injectivity_radius for f, w in self._weighed()]
        self.injectivity_radius = float(min(radii))
        # Of lengths |v_i| in the weighed metric that are squared and add up to one.
        self.volume_growth = float(np.sqrt(sum(f.volume_growth**2 / w for f, w in self._weighed())))
        # Only what all factors have in common has a unit.
        shared = {each.length_unit for each in self.factors}
        self.length_unit = shared.pop() if len(shared) == 1 else ""
        self.in_units = all(each.in_units for each in self.factors)
        reasons = [each.against_ambient_noise for each in self.factors]
        self.against_ambient_noise = next(filter(None, reasons), "")
        self._views = [View(*each) for each in zip(self.factors, self.coordinates_of, strict=True)]

    @classmethod
    def of(cls, **settings):
        """See `Manifold.of`; factors as settings, each with its ``weight`` and ``coordinates``."""
        from geodp.manifolds.registry import make_manifold

        factors = settings["factors"]
        weights = [each.get("weight") or 1.0 for each in factors]
        kinds = [each.get("coordinates") or "ambient" for each in factors]
        own = {"weight", "coordinates"}
        made = []
        for each, kind in zip(factors, kinds, strict=True):
            given = {key: value for key, value in each.items() if key not in own}
            if each["name"] == "rotations":
                given["coordinates"] = None if kind == "ambient" else kind
            made.append(make_manifold(**given))
        of_views = [
            kind if kind in made[k].coordinate_kinds else "ambient" for k, kind in enumerate(kinds)
        ]
        return cls(made, weights, of_views)

    @property
    def made_from(self):
        from geodp.manifolds.registry import manifold_settings

        parts = zip(self.factors, self.weights, self.coordinates_of, strict=True)
        return {
            "factors": [
                manifold_settings(each)
                | {"weight": weight}
                | ({"coordinates": kind} if kind in each.coordinate_kinds else {})
                for each, weight, kind in parts
            ]
        }

    def _weighed(self):
        return zip(self.factors, self.weights, strict=True)

    def parts(self, array):
        """Arrays (*batch, *factor.point_shape) of each factor."""
        pieces = np.split(np.asarray(array), self._ends, axis=-1)
        found = []
        for factor, piece in zip(self.factors, pieces, strict=True):
            if factor.dtype is complex:
                piece = np.ascontiguousarray(piece).view(complex)
            found.append(piece.reshape((*piece.shape[:-1], *factor.point_shape)))
        return found

    def joined(self, parts):
        """The rows (*batch, *point_shape) of parts, whose batches broadcast."""
        return _concatenated([*map(_numbers, self.factors, parts)])

    def _each(self, verb, *arrays, **options):
        """A function of every factor of its parts of arrays."""
        parts = zip(self.factors, *(self.parts(each) for each in arrays), strict=True)
        return [getattr(factor, verb)(*given, **options) for factor, *given in parts]

    def exp(self, point, vector):
        self.refuse_other_shapes(point, vector)
        return self.joined(self._each("exp", point, vector))

    def log(self, point, other):
        self.refuse_other_shapes(point, other)
        return self.joined(self._each("log", point, other))

    def dist(self, point, other):
        self.refuse_other_shapes(point, other)
        return np.sqrt(self._weighed_sum([d**2 for d in self._each("dist", point, other)]))

    def _weighed_sum(self, values):
        return sum(weight * each for weight, each in zip(self.weights, values, strict=True))

    def transport(self, point, direction, vector):
        return self.joined(self._each("transport", point, direction, vector))

    def transport_back(self, point, vector, other):
        return self.joined(self._each("transport_back", point, vector, other))

    def transport_to(self, point, other, vector):
        return self.joined(self._each("transport_to", point, other, vector))

    def inner(self, point, first, second):
        return self._weighed_sum(self._each("inner", point, first, second))

    def norm(self, point, vector):
        return np.sqrt(self._weighed_sum([each**2 for each in self._each("norm", point, vector)]))

    def frame(self, point):
        frames = zip(self._each("frame", point), self.weights, strict=True)
        return self._spread([frame / np.sqrt(weight) for frame, weight in frames])

    def coordinates(self, point, vector, frame=None):
        """See `Manifold.coordinates`; each factor's in its own frame."""
        found = self._each("coordinates", point, vector)
        return _concatenated([np.sqrt(w) * x for w, x in zip(self.weights, found, strict=True)])

    def tangent(self, point, coordinates):
        pieces = np.split(coordinates, self._coordinate_ends, axis=-1)
        return self.joined(
            factor.tangent(part, piece / np.sqrt(weight))
            for factor, weight, part, piece in zip(
                self.factors, self.weights, self.parts(point), pieces, strict=True
            )
        )

    def project(self, array):
        return self.joined(self._each("project", array))

    def project_tangent(self, point, array):
        return self.joined(self._each("project_tangent", point, array))

    def random_point(self, rng, shape=()):
        return self.joined([each.random_point(rng, shape) for each in self.factors])

    def centre(self, points):
        return self.joined(self._each("centre", points))

    def align(self, point, other):
        """Representatives of ``other`` nearest to ``point``."""
        parts = zip(self.factors, self.parts(point), self.parts(other), strict=True)
        return self.joined(
            f.align(p, q) if getattr(f, "is_quotient", False) else q for f, p, q in parts
        )

    def is_rounded(self, given, point, part=0.1):
        each = zip(self.factors, self.parts(given), self.parts(point), strict=True)
        return all(factor.is_rounded(*arrays, part) for factor, *arrays in each)

    def invalid_reason(self, array):
        for factor, part in zip(self.factors, self.parts(array), strict=True):
            if (reason := factor.invalid_reason(part)) is not None:
                return f"in {factor.name} {reason}"
        return None

    def are_points(self, arrays):
        return np.all(self._each("are_points", arrays), axis=0)

    def are_told(self, point, others):
        return np.all(self._each("are_told", point, others), axis=0)

    def frequencies(self, point, vector):
        return np.concatenate(self._each("frequencies", point, vector), axis=-1)

    def split(self, point, vector, other):
        return self._spread(self._each("split", point, vector, other))

    def _spread(self, components):
        """Components (..., K, *point_shape) from those of factors, zero in all others."""
        blocks = [*map(_numbers, self.factors, components)]
        shape = np.broadcast_shapes(*(each.shape[:-2] for each in blocks))
        found = np.zeros((*shape, sum(each.shape[-2] for each in blocks), *self.point_shape))
        row = column = 0
        for each in blocks:
            below, after = row + each.shape[-2], column + each.shape[-1]
            found[..., row:below, column:after] = each
            row, column = below, after
        return found

    def carried_residuals(self, start, vectors, points):
        """See `SymmetricSpace.carried_residuals`; each factor's by its own formulas."""
        found = self._each("carried_residuals", start, vectors, points)
        frequencies, components, squares = zip(*found, strict=True)
        squares = self._weighed_sum(squares)
        each = np.broadcast_to(
            _concatenated(frequencies), (*squares.shape, len(self.multiplicities))
        )
        return each, self._spread(components), squares

    def distances_along(self, start, velocity, times, points):
        parts = zip(self.factors, *map(self.parts, (start, velocity, points)), strict=True)
        found = [f.distances_along(p, v, times, y) ** 2 for f, p, v, y in parts]
        return np.sqrt(self._weighed_sum(found))

    def layout_fault(self, numbers):
        for view, piece in self._pieces(np.asarray(numbers)):
            fault = view.manifold.layout_fault(piece)
            if fault is None and not are_read(piece[None], view.coordinates)[0]:
                limits = ", ".join(f"{a:g} to {b:g}" for a, b in limits_of(view.coordinates))
                fault = f"numbers are not within {limits}" if limits else "they are no shares"
            if fault:
                return f"in {view.manifold.name} {fault}"
        return None

    def logs_along(self, start, velocity, times, points):
        """See `SymmetricSpace.logs_along`; each factor's by its own formulas."""
        parts = zip(self.factors, *map(self.parts, (start, velocity, points)), strict=True)
        found = [f.logs_along(p, v, times, y) for f, p, v, y in parts]
        return ProductLogs(
            manifold=self,
            times=found[0].times,
            frequencies=np.concatenate([each.frequencies for each in found], axis=-1),
            squared_distances=self._weighed_sum([each.squared_distances for each in found]),
            parts=tuple(found),
        )

    # Points in files and figures: those of the factors, one after another.

    def _widths(self, total=None):
        """How many columns factors have: all the most that they may, or all the fewest."""
        ways = [[way(view.layouts()) for view in self._views] for way in (max, min)]
        return ways[1] if sum(ways[1]) == total else ways[0]

    def _pieces(self, numbers):
        """Views of the factors, each with its columns of numbers (..., k)."""
        ends = np.cumsum(self._widths(numbers.shape[-1]))[:-1]
        return zip(self._views, np.split(numbers, ends, axis=-1), strict=True)

    def layouts(self):
        found = {}
        for widths in (self._widths(), self._widths(sum(min(v.layouts()) for v in self._views))):
            words = "; ".join(
                f"{view.manifold.name}: {width}, {view.layouts()[width]}"
                for view, width in zip(self._views, widths, strict=True)
            )
            found[sum(widths)] = f"those of each factor in turn ({words})"
        return found

    def from_layout(self, numbers):
        found = []
        for view, piece in self._pieces(numbers):
            points = view.manifold.from_layout(in_layout(piece, view.coordinates))
            if view.manifold.dtype is complex:
                points = view.manifold.from_landmarks(points)
            is_read = are_read(piece, view.coordinates)
            found.append(np.where(view.manifold.expand(is_read), points, np.nan))
        return self.joined(found)

    @property
    def centres(self):
        return {"anywhere": self.joined([each.centres["anywhere"] for each in self.factors])}

    @property
    def coordinate_names(self):
        return self._named([view.names for view in self._views])

    def _named(self, names):
        """Names of numbers of all factors; shapes have none of their own."""
        each = [
            own or [f"coordinate {k + 1}" for k in range(number)]
            for own, number in zip(names, self.numbers, strict=True)
        ]
        return [f"{name} of factor {k + 1}" for k, own in enumerate(each) for name in own]

    def shown(self, points):
        parts = zip(self._views, self.parts(points), strict=True)
        return np.concatenate([view.values(part) for view, part in parts], axis=-1)

    def drawn(self, centre, points, radii):
        """See `Manifold.drawn`; of each factor as of a space of its own."""
        parts = zip(self._views, self.weights, self.parts(centre), self.parts(points), strict=True)
        found = [view.drawn(c, p, radii / np.sqrt(weight)) for view, weight, c, p in parts]
        arrays = zip(*(each[:4] for each in found), strict=True)
        values, low, high, before = (np.concatenate(each, axis=-1) for each in arrays)
        names = None
        if any(each.names for each in found):
            each = zip(found, self._views, strict=True)
            names = self._named([drawn.names or view.names for drawn, view in each])
        what = "Coordinates of the prediction"
        return Drawn(values, low, high, before, what, names)

    @property
    def periods(self):
        return self._of_views("periods", np.inf)

    @property
    def turn(self):
        turns = {view.turn for view in self._views}
        return turns.pop() if len(turns) == 1 and {*self.weights} == {1.0} else None

    @property
    def units(self):
        return self._of_views("units", "")

    def _of_views(self, name, default):
        """An attribute of the numbers of all factors; shapes have none of their own."""
        both = zip(self._views, self.numbers, strict=True)
        return [x for view, number in both for x in getattr(view, name) or [default] * number]
