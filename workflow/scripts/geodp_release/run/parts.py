"""Sums over the parts of records that Dask holds, computed by its workers."""

import logging
import warnings
from dataclasses import dataclass
from functools import reduce, wraps

from geodp.errors import DataError


class RefusedError(DataError):
    """A `DataError` of shapes and types, which is told: one of another reader may quote data."""


@dataclass(frozen=True, repr=False)
class PartedRecords:
    """Parts of records, no two of which have the same subject, and their number of subjects.

    Parts are of the type `dask.delayed.Delayed`, each of `SubjectRecords`, kept by Dask.
    """

    parts: tuple
    number: int
    # Most records of a subject.
    limit: int

    def __len__(self):
        return self.number

    def sum(self, function):
        """Sum over parts of what a function makes of each: integers, or lists or arrays of them."""
        from dask import compute, delayed

        return reduce(_added, silently(compute, *(delayed(function)(each) for each in self.parts)))


def in_parts(function):
    """Make a function of records, which is a sum over subjects, one of `PartedRecords`, too."""

    @wraps(function)
    def summed(*given, **named):
        found = [place for place, each in enumerate(given) if isinstance(each, PartedRecords)]
        if not found:
            return function(*given, **named)
        before, records, after = given[: found[0]], given[found[0]], given[found[0] + 1 :]
        return records.sum(lambda part: summed(*before, part, *after, **named))

    return summed


def _added(one, other):
    if isinstance(one, list | tuple):
        return type(one)(map(_added, one, other))
    return one + other


def silently(function, *tasks):
    """Have Dask compute tasks, of which nothing is told: what they raise and log is of records."""
    disabled, fault, found = logging.root.manager.disable, "", None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            logging.disable()
            found = function(*tasks)
    except RefusedError as problem:
        fault = str(problem)
    except Exception:  # of many kinds, and their words may quote data
        fault = (
            "a partition cannot be computed, or workers of the cluster were lost again and again: "
            "compute the data frame by itself, to see why; nothing is released"
        )
    finally:
        logging.disable(disabled)
    # Outside the handler, so that no traceback shows what was being handled.
    if fault:
        raise DataError(fault)
    return found
