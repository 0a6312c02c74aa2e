"""Angles and clock times in one column, as points of the circle S^1."""

import re
from typing import NamedTuple

import numpy as np


class Angle(NamedTuple):
    """How a column counts round a circle."""

    period: float  # How far once round is.
    zero: float  # What the first direction is called.
    limits: tuple[float, float]  # Between which numbers are.
    unit: str

    @property
    def turn(self):
        """Factor from radians to the unit."""
        return self.period / (2.0 * np.pi)

    def points(self, values):
        """Unit vectors (..., 2)."""
        angles = (np.asarray(values, dtype=float) - self.zero) / self.turn
        return np.stack([np.cos(angles), np.sin(angles)], axis=-1)

    def values(self, points):
        """Numbers (...) of unit vectors, from `zero` on."""
        return self.zero + self.turn * np.arctan2(points[..., 1], points[..., 0]) % self.period

    def words(self, value):
        """A number in words; hours as on a clock."""
        if self.unit != "hours":
            return f"{value:.4g}"
        minutes = round(60.0 * value) % 1440
        return f"{minutes // 60}:{minutes % 60:02d}"


def told_angle(name):
    """What an angle is in, by the name of its column, or ``None``."""
    called = {
        "compass": "bearing|heading|azimuth|aspect|(wind_?)?dir(ection)?",
        "hours": "hours?(_of_day)?|time_of_day|uhrzeit",
        "day_of_year": "day_of_year|doy|yday",
        "month": "month(_of_.+)?|monat",
        "degrees": "angle|winkel",
        "radians": "phase",
    }
    simple = re.sub(r"\W+", "_", name).casefold()
    return next((unit for unit, names in called.items() if re.fullmatch(names, simple)), None)


# By what `coordinates` call it.
ANGLES = {
    "degrees": Angle(360.0, 0.0, (-360.0, 360.0), "degrees"),
    "compass": Angle(360.0, 0.0, (0.0, 360.0), "degrees"),
    "radians": Angle(2.0 * np.pi, 0.0, (-6.2832, 6.2832), "radians"),
    "hours": Angle(24.0, 0.0, (0.0, 24.0), "hours"),
    "day_of_year": Angle(365.25, 1.0, (1.0, 367.0), "days"),
    "month": Angle(12.0, 1.0, (1.0, 13.0), "months"),
}
