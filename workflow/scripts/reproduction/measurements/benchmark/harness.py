"""The benchmark's timers and the rows of its one table."""

import logging
import signal
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd

from geodp.manifolds.registry import make_manifold
from reproduction.measurements.benchmark.spaces import SPACES

COLUMNS = [
    *("what", "space", "dimension", "n", "budget", "draws", "method", "value", "unit"),
    *("is_bound", "note"),
]


def row(what, space, n, method, value, unit, **others):
    """One line of the table; what does not apply is left empty."""
    line = dict.fromkeys(COLUMNS) | {"is_bound": False, "note": ""}
    line |= {"what": what, "space": space, "n": n, "method": method, "value": value, "unit": unit}
    line["dimension"] = make_manifold(*SPACES[space].manifold).dim
    return line | others


def tabulated(rows):
    """The table of a part, as its only output."""
    return (pd.DataFrame(rows, columns=COLUMNS),)


def shortest_time(function, seconds, fewest=3):
    """Least time of a call, of as many as the time allows."""
    times = []
    start = time.perf_counter()
    while len(times) < fewest or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        function()
        times.append(time.perf_counter() - before)
    return min(times)


def calls_per_second(function, seconds, fewest=2):
    """How often a function can be called in a second; the first call is not timed."""
    function()
    start = time.perf_counter()
    count = 0
    while count < fewest or time.perf_counter() - start < seconds:
        function()
        count += 1
    return count / (time.perf_counter() - start)


class OutOfTime(Exception):
    """A measurement was stopped at its time limit."""


@dataclass(frozen=True)
class Attempt:
    """A call of a tool that may fail or be stopped.

    Attributes
    ----------
    found : object
        What it returned, or ``None``.
    seconds : float
    problem : str
        ``stopped``, what it failed with, or nothing.
    """

    found: object
    seconds: float
    problem: str = ""

    @property
    def is_stopped(self):
        return self.problem == "stopped"


def attempted(function, limit):
    """A call stopped at a time limit, seconds, and without the warnings of geomstats and NumPy."""
    start = time.perf_counter()
    with quiet():
        try:
            with time_limit(limit):
                return Attempt(function(), time.perf_counter() - start)
        except OutOfTime:
            return Attempt(None, limit, "stopped")
        except Exception as problem:  # whatever it fails with is its result
            spent = time.perf_counter() - start
            return Attempt(None, spent, f"fails: {type(problem).__name__}: {problem}")


@contextmanager
def time_limit(seconds):
    """Raise `OutOfTime` when the work takes longer."""

    def stop(number, frame):
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def quiet():
    """Nothing of what geomstats and NumPy warn of."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
