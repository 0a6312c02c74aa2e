"""Records that a release cannot use as they are, for the holder of the data alone.

What is found depends on every record, so that it must not be published, nor be the reason for
changing public inputs: mend the data, or choose public inputs anew without them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from geodp.data.large import Rows, in_turn, indices_where, sampled
from geodp.data.messages import SHOWN, few
from geodp_release.promise.assumptions import Assumptions
from geodp_release.run.subjects import given_records, mapped_blocks, valid_records
from geodp_release.show.templates import render
from geodp_release.stages.counts import far_away


@dataclass(frozen=True)
class Inspection:
    """Records that a release would not use as they are, by the index at which they stand.

    Attributes
    ----------
    number : int
        Number of records.
    invalid : ndarray of int
        No point of the manifold, or no number for a covariate; they would not count.
    outside : ndarray of int
        With a covariate outside the public range, to which it would be clipped.
    far : ndarray of int
        So far from the support that their influence is clipped whatever the geodesic; or, without
        radii, from most of the others.
    one_covariate : bool
        Whether all clipped values of a covariate are the same, so that its shooting vector is not
        seen.
    """

    number: int
    invalid: np.ndarray
    outside: np.ndarray
    far: np.ndarray
    one_covariate: bool

    @property
    def looks_wrong(self) -> bool:
        """Whether so much is amiss that nothing should be released."""
        most = max(len(each) for each in (self.invalid, self.outside, self.far))
        # As many as of swapped columns.
        return self.one_covariate or most >= 0.1 * self.number

    def words(self, released: bool = False, rows: Sequence[int] | None = None) -> str:
        """What was found, a sentence a line; not private.

        Parameters
        ----------
        released : bool
            Whether the release was made since.
        rows : sequence of int, optional
            Row of each record in its table; by default records are named by their index, from 0.
        """
        word, numbers = ("index", range(self.number)) if rows is None else ("row", rows)
        given = {"found": self, "released": released, "word": word}
        given["names"] = lambda records: few([numbers[each] for each in records[: SHOWN + 1]])
        return render("inspection.txt.j2", None, **given).strip()


def inspect_inputs(
    assumptions: Assumptions, covariates: ArrayLike | None, points: ArrayLike, far: float = 3.0
) -> Inspection:
    """Look for records that a release would not use as they are; the answer is not private.

    Parameters
    ----------
    assumptions : Assumptions
    covariates : array, shape (n, k), or (n,) with one covariate; ``None`` without one
    points : array, shape (n, *point_shape)
    far : float
        Typical residuals beyond the support from which on a record is far.  Without radii it is
        also far if its residual is so many times the one that a release counts as far away.

    Returns
    -------
    Inspection

    Raises
    ------
    DataError
        Shapes that do not go together.
    """
    given, points = given_records(assumptions, covariates, points)
    low, high = assumptions.ranges.T
    manifold, ends, found = assumptions.manifold, [], Rows((3,), bool)
    farthest = assumptions.reach + far * float(np.max(assumptions.typical_length(1)))
    for start, x, y, valid in mapped_blocks(assumptions, given, points):
        some = given[start : start + len(x)]
        is_outside = ~assumptions.goes_on & ((some < low) | (some > high))
        away = manifold.dist(assumptions.centre, y)
        is_outside = np.any(is_outside, axis=-1)
        found.add(np.stack([~valid, valid & is_outside, valid & (away > farthest)], axis=-1))
        ends += [np.min(x[valid], axis=0), np.max(x[valid], axis=0)] if np.any(valid) else []
    flags = found.array()
    if not assumptions.has_radii and ends:
        x, y = valid_records(assumptions, given, points)
        away = _far_from_most(manifold, x, y, far)
        flags[indices_where(np.logical_not, flags[:, 0])[away], 2] = True
    is_one = bool(ends and np.any(np.ptp(ends, axis=0) == 0.0))
    invalid, outside, away = (indices_where(np.asarray, each) for each in flags.T)
    return Inspection(len(flags), invalid, outside, away, is_one)


def middle_of(manifold, points, middles=32):
    """Of some of the points, the one that half of all are nearest to."""
    some = points[np.linspace(0, len(points) - 1, middles).astype(int)]
    return some[np.argmin([np.median(manifold.dist(each, points)) for each in some])]


def _far_from_most(manifold, x, y, far, rounds=10, rounding=1e-6):
    """Which records, by index, lie far from the least absolute line, about one in their midst.

    The line is of those that are `sampled`: where there are very many it knows no group of a few.
    """
    some = sampled(x), sampled(y)
    middle = middle_of(manifold, some[1])

    def design_of(x, y):
        points = manifold.coordinates(middle, manifold.log(middle, y))
        return np.column_stack([np.ones(len(x)), x]), points

    each = (design_of(x[some], y[some])[1] for some in in_turn(x, y))
    least = rounding * max(np.max(np.linalg.norm(points, axis=-1)) for points in each)
    design, points = design_of(*some)
    lengths = np.ones(len(design))
    # A line through half of them or more leaves no residual to compare with.
    if not least or len(x) <= 2 * design.shape[-1]:
        return np.empty(0, dtype=int)
    for _ in range(rounds):
        roots = np.maximum(lengths, least)[:, None] ** -0.5
        line, *_ = np.linalg.lstsq(roots * design, roots * points)
        lengths = np.linalg.norm(points - design @ line, axis=-1)
    farthest = far * far_away(manifold.dim, 0.5) * max(np.median(lengths), least)
    found = Rows((), np.int64)
    for some in in_turn(x, y):
        design, points = design_of(x[some], y[some])
        away = np.linalg.norm(points - design @ line, axis=-1)
        found.add(some.start + np.flatnonzero(away > farthest))
    return found.array()
