"""Dates of covariates as numbers: the time since a public date, each cell by itself."""

import re
from datetime import date, datetime, timedelta
from typing import NamedTuple

import numpy as np

# As programs write dates, and times of a day behind them.
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

# Days of each unit, the last two in the mean of the Gregorian calendar but for centuries.
UNITS = {"days": 1.0, "weeks": 7.0, "months": 30.4375, "years": 365.25}

# Types of dates, as files state them.
DATE_TYPES = re.compile("a date|date|timestamp")


class Dates(NamedTuple):
    """Time in a unit of `UNITS` since a date, a text such as ``2000-01-31``."""

    since: str
    unit: str = "years"

    def number(self, text):
        """The number of a date as text, with or without a time of the day, or ``None``.

        Times are those of UTC, also where the text has another zone.
        """
        found, since = days_of(text), days_of(self.since)
        if found is None:
            return None
        return (found[0] - since[0] + found[1]) / UNITS[self.unit]

    def __str__(self):
        return f"{self.unit} since {self.since}"


def days_of(text):
    """The number of the day of a date as text, and the part of it that is gone, or ``None``."""
    found = DATE.match(text)
    if found is None:
        return None
    try:
        if found.end() == len(text):
            # As most are, and sooner read.
            return date.fromisoformat(text).toordinal(), 0.0
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    passed = time.replace(tzinfo=None) - datetime(time.year, time.month, time.day)
    return time.toordinal(), (passed - (time.utcoffset() or timedelta())) / timedelta(days=1)


def is_day(text):
    """Whether a text is a date without a time of the day."""
    return DATE.fullmatch(text) is not None and days_of(text) is not None


def times_of(numbers, seconds, since):
    """Times of an array of numbers of so many seconds since a day; what is none is no time."""
    with np.errstate(all="ignore"):
        passed = 1000.0 * seconds * np.asarray(numbers, dtype=float)
        # Milliseconds of some 30,000 years: no calendar has more.
        are_times = np.abs(passed) < 1e15
        passed = np.rint(np.where(are_times, passed, 0.0)).astype("timedelta64[ms]")
    return np.where(are_times, np.datetime64(since, "ms") + passed, np.datetime64("NaT", "ms"))


def periods_of(numbers, a_year, since):
    """First days of an array of numbers of periods, so many ``a_year``, since the start of a year.

    As in Stata, where each year has 52 weeks: the last is of eight or nine days.
    """
    with np.errstate(all="ignore"):
        numbers = np.floor(np.asarray(numbers, dtype=float))
        are_times = np.abs(numbers) < 1e5
    years, parts = np.divmod(np.where(are_times, numbers, 0.0).astype(int), a_year)
    months, days = (0, 7 * parts) if a_year == 52 else (parts * 12 // a_year, 0)
    first = (np.datetime64(since, "M") + 12 * years + months).astype("datetime64[D]") + days
    return np.where(are_times, first.astype("datetime64[ms]"), np.datetime64("NaT", "ms"))
