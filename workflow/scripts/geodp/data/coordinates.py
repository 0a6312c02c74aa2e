"""Coordinates of points, in columns of tables and wherever points are shown."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodp.data.angles import ANGLES
from geodp.data.shares import percent_limits, percent_of, roots_of, whole_of
from geodp.data.triangles import TRIANGLES, upper_triangle
from geodp.manifolds.drawn import Drawn, in_one_piece

PLACES = "latitude_longitude"


def limits_of(coordinates):
    """Limits of the numbers in each column, where they have any."""
    angle = ANGLES.get(coordinates)
    if angle is None:
        return ((-90.0, 90.0), (-180.0, 360.0)) if coordinates == PLACES else ()
    return (angle.limits,)


def are_read(numbers, coordinates):
    """Which rows of numbers (n, k) can be read as coordinates of a kind, each by itself; (n,)."""
    found = np.all(np.isfinite(numbers), axis=-1)
    for values, (low, high) in zip(numbers.T, limits_of(coordinates), strict=False):
        found &= (low <= values) & (values <= high)
    return found & ~np.isnan(whole_of(numbers)) if coordinates == "shares" else found


def in_layout(numbers, coordinates):
    """Coordinates (n, k) in a layout of the space of any numbers; see `are_read`."""
    if coordinates in ANGLES:
        return ANGLES[coordinates].points(numbers[:, 0])
    if coordinates == PLACES:
        return unit_vectors(numbers)
    if coordinates == "shares":
        return roots_of(numbers)
    if coordinates in TRIANGLES:
        places, factors = upper_triangle(coordinates, numbers.shape[1])
        return numbers[:, places] * factors
    return numbers


def unit_vectors(degrees):
    """Unit vectors (..., 3) from any latitudes and longitudes (..., 2)."""
    latitude, longitude = np.moveaxis(np.radians(degrees), -1, 0)
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=-1)


def degrees_of(points):
    """Latitudes and longitudes (..., 2) of unit vectors (..., 3)."""
    x, y, z = np.moveaxis(points, -1, 0)
    return np.degrees(np.stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)], axis=-1))


@dataclass(frozen=True)
class View:
    """Numbers that points of a space are shown as: those that its columns hold."""

    manifold: Any
    coordinates: str = "ambient"  # As `data.coordinates` of settings.
    # Pairs of column and number of what comes round, near to which it is shown: settings have the
    # public centre there, such as at -40 degrees.
    branch: tuple = ()

    def about(self, point, numbers):
        """The view in whose branch a point (1, ...) has these numbers (c,) of settings."""
        own = zip(self.values(point)[0], numbers, self.periods, strict=True)
        far = [abs(given - value) > 0.25 * period for value, given, period in own]
        return replace(self, branch=tuple((k, numbers[k]) for k in np.flatnonzero(far).tolist()))

    def turns(self, values):
        """Whole periods (..., c) from numbers to those in the branch."""
        found = np.zeros_like(values)
        for column, number in self.branch:
            period = self.periods[column]
            found[..., column] = period * np.round((number - values[..., column]) / period)
        return found

    def words(self, value):
        """A number of an angle in words."""
        if not self.branch:
            value = self.angle.zero + (value - self.angle.zero) % self.angle.period
        return self.angle.words(value)

    def longitude(self, value):
        """A longitude in words."""
        value = np.array([0.0, (value + 180.0) % 360.0 - 180.0])
        return f"{(value + self.turns(value))[1]:g}"

    @property
    def angle(self):
        """The `Angle` that points are, or ``None``."""
        return ANGLES.get(self.coordinates)

    @property
    def is_geographic(self):
        """Whether points are latitudes and longitudes in degrees."""
        return self.coordinates == PLACES

    @property
    def is_shares(self):
        """Whether points are shares of a whole, which are shown in percent."""
        return self.coordinates == "shares"

    @property
    def is_axis(self):
        """Whether a direction and its opposite are one point."""
        return getattr(self.manifold, "is_quotient", False)

    @property
    def turn(self):
        """Factor from lengths to those that tables and figures have, and their unit; or None."""
        if self.angle:
            return self.angle.turn, self.angle.unit
        return (180.0 / np.pi, "degrees") if self.is_geographic else self.manifold.turn

    @property
    def names(self):
        """Names of the numbers."""
        if self.angle:
            return ["angle"]
        return ["latitude", "longitude"] if self.is_geographic else self.manifold.coordinate_names

    @property
    def periods(self):
        """After how much each number comes round; infinite where it does not."""
        if self.angle:
            return [self.angle.period * (0.5 if self.is_axis else 1.0)]
        return [np.inf, 360.0] if self.is_geographic else self.manifold.periods

    @property
    def units(self):
        """Unit of each number; empty where it has none."""
        own = "%" if self.is_shares else self.turn and self.turn[1]
        return [own] * len(self.names) if own else self.manifold.units

    def layouts(self):
        """As `Manifold.layouts`, of these numbers."""
        if self.angle:
            return {1: f"the angle in {self.angle.unit}"}
        if self.is_geographic:
            return {2: "latitude and longitude"}
        if self.coordinates in TRIANGLES:
            return {self.manifold.dim: f"a triangle of the matrix ({self.coordinates})"}
        return self.manifold.layouts()

    def values(self, points):
        """Numbers (n, c) of points along a curve."""
        values = self._values(points)
        return values + self.turns(values)

    def _values(self, points):
        if self.angle:
            values = self.angle.values(points)
            values = self.angle.zero + (values - self.angle.zero) % self.periods[0]
            return values[:, None]
        if self.is_geographic:
            return degrees_of(self.manifold.in_one_piece(points) if self.is_axis else points)
        return percent_of(points) if self.is_shares else self.manifold.shown(points)

    def drawn(self, centre, points, radii):
        """What a figure shows of points along a curve; see `Manifold.drawn`."""
        found = self._drawn(centre, points, radii)
        turns = self.turns(found.values[len(found.values) // 2]) if self.branch else 0.0
        arrays = [each + turns for each in found[:4]]
        return Drawn(*arrays, *found[4:])

    def _drawn(self, centre, points, radii):
        if self.is_shares:
            low, high = percent_limits(points, radii)
            return Drawn(percent_of(points), low, high, percent_of(centre), "Predicted shares")
        if not (self.angle or self.is_geographic):
            return self.manifold.drawn(centre, points, radii)
        both = self._values(np.concatenate([centre[None], points]))
        values, before = in_one_piece(both[1:], both[0], self.periods)
        away, what = self.turn[0] * radii[:, None], "Predicted angle"
        if self.is_geographic:
            # A ball reaches so far along parallels, or all round where it has a pole in it.
            reach = np.sin(np.minimum(radii, 0.5 * np.pi)) / np.cos(np.radians(values[:, 0]))
            along = np.degrees(np.arcsin(np.clip(reach, 0.0, 1.0)))
            has_pole = np.abs(values[:, :1]) + away >= 90.0
            away = np.where(has_pole, [[np.nan, 180.0]], np.stack([away[:, 0], along], axis=-1))
            away[:, 0], what = np.degrees(radii), "Predicted latitude and longitude"
        return Drawn(values, values - away, values + away, before, what)
