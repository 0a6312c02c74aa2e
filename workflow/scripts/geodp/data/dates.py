"""Dates of covariates as numbers: the time since a public date, each cell by itself."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

# As programs write dates, and times of a day behind them.
DATE = re.compile(r"\d{4}-\d\d-\d\d")

# Days of each unit, the last two in the mean of the Gregorian calendar but for centuries.
UNITS = {"days": 1.0, "weeks": 7.0, "months": 30.4375, "years": 365.25}

# Types of dates, as files state them.
DATE_TYPES = re.compile("a date|date|timestamp")

# Milliseconds of some 30,000 years: no calendar has more.
MOST = 1e15


class Dates(NamedTuple):
    """Time in a unit of `UNITS` since a date, a text such as ``2000-01-31``."""

    since: str
    unit: str = "years"

    def number(self, text):
        """The number of a date as text, with or without a time of the day, or ``None``.

        Times are those of UTC, also where the text has another zone.
        """
        time = date_of(text)
        if time is None:
            return None
        return (time - date_of(self.since)) / timedelta(days=UNITS[self.unit])

    def __str__(self):
        return f"{self.unit} since {self.since}"


def date_of(text):
    """The time that a text states, or ``None`` for none; midnight where it is a day alone."""
    if DATE.match(text) is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    try:
        return time.replace(tzinfo=UTC) - (time.utcoffset() or timedelta())
    except OverflowError:  # before the first year, or after the last one
        return None


def times_of(numbers, seconds, since):
    """Times of an array of numbers of so many seconds since a day; what is none is no time."""
    with np.errstate(all="ignore"):
        passed = 1000.0 * seconds * np.asarray(numbers, dtype=float)
        are_times = np.abs(passed) < MOST
        passed = np.rint(np.where(are_times, passed, 0.0)).astype("timedelta64[ms]")
    return np.where(are_times, np.datetime64(since, "ms") + passed, np.datetime64("NaT", "ms"))
