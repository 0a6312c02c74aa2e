"""The benchmark's timers and the rows of its one table."""

import logging
import signal
import time
import warnings
from typing import Any, NamedTuple

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
    if "dimension" not in others:
        line["dimension"] = make_manifold(*SPACES[space].manifold).dim
    return line | others


def tabulated(rows):
    """The table of a part, as its only output."""
    return (pd.DataFrame(rows, columns=COLUMNS),)


def times_of(function, seconds, fewest=3):
    """Seconds of the processor of each of as many calls as the time allows."""
    times = []
    start = time.perf_counter()
    while len(times) < fewest or time.perf_counter() - start < seconds:
        before = time.process_time()
        function()
        times.append(time.process_time() - before)
    return times


def calls_per_second(function, seconds):
    """How often a function can be called in a second; the first call is not timed."""
    function()
    return 1.0 / np.mean(times_of(function, seconds, fewest=2))


class OutOfTime(Exception):
    """A measurement was stopped at its time limit."""


class Attempt(NamedTuple):
    """What a call returned, or its ``problem``: ``stopped``, or what it failed with.

    Seconds are of the processor.
    """

    found: Any
    seconds: float
    problem: str = ""


def attempted(function, limit):
    """A call without warnings of geomstats and NumPy, stopped at a limit of seconds.

    Those are of the clock, since alarms by processor time make that time coarse.
    """

    def stop(number, frame):
        raise OutOfTime

    logged, handler = logging.root.manager.disable, signal.signal(signal.SIGALRM, stop)
    logging.disable(logging.WARNING)
    start = time.process_time()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            signal.setitimer(signal.ITIMER_REAL, limit)
            return Attempt(function(), time.process_time() - start)
    except OutOfTime:
        return Attempt(None, time.process_time() - start, "stopped")
    except Exception as problem:  # whatever it fails with is its result
        spent = time.process_time() - start
        return Attempt(None, spent, f"fails: {type(problem).__name__}: {problem}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
        logging.disable(logged)
