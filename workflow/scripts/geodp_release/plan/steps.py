"""Search for the noisy steps of a plan, with measurements of residual lengths between them.

How much is tried are the constants below.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from geodp_release.plan.measurements import Measurements
from geodp_release.plan.release_plan import SEED, run_stages
from geodp_release.promise.public_inputs import ANY, UNKNOWN
from geodp_release.stages import LastStep, MatrixStage, NoisyStep, ScaleStage
from geodp_release.stages.residual_tables import length_grid
from geodp_release.stages.scale import SHARE, SOON_OUTWEIGHED
from geodp_release.stages.step import stretch

# The score is the first entry of whatever was tried.
score_of = itemgetter(0)

# Limits of contributions, in typical lengths of residuals about the centre or in released ones, the
# longest first.  With clips of shorter released lengths a step may stay in the larger of two
# clumps.
CLIPS, RELATIVE_CLIPS = (2.4, 1.3, 0.8, 0.5, 0.3), (3.4, 2.4, 1.7)

# Of the last step, in lengths that a look at the tail released, the longest first; the longest that
# there can be is tried besides.
LAST_CLIPS = (9.0, 6.0, 4.4, 3.4, 2.7, 2.2, 1.8, 1.5, 1.25)

# Standard deviation of where clipped steps lead, from least squares, if residuals are skewed, in
# standard deviations of a residual in a direction; and from the least of Huber's loss.
UNLIKE, UNLIKE_ROBUST = 0.4, 0.2

# Most noisy steps that follow, and the ratio of the budgets of one and the one before, which are
# multiples of 1 / GRAIN of the whole.
STEPS, GROWTHS, GRAIN = 4, (6.0, 3.2, 1.8, 1.0), 1 << 12

# Weights of errors where covariates cluster, if all spreads are known or one is not; and what a
# stage costs, in the logarithm of the squared error.
CLUSTERED_KNOWN, CLUSTERED_UNKNOWN, PENALTY = 0.15, 0.5, 0.01


def objective(curves, stages, weight):
    """What a plan minimises: logarithms of mean squares, and a penalty for each stage.

    Parameters
    ----------
    curves : sequence of float
        With covariates as assumed, and with clustered ones: a Beta(2, 5), groups of 3 to 1.
        In the search they count what bands are wider by, too.
    stages : int
    weight : float
        Of the second; without a covariate there is none.
    """
    weights = [1.0 - weight, weight][: len(curves)]
    return float(np.average(np.log(curves), weights=weights)) + PENALTY * stages


class Steps:
    """What may follow a beginning of a plan.

    Releases are simulated with covariates as assumed and clustered, side by side: ``cases``.  What
    is tried goes from step to step as a pair, its stages and the cases after them.
    """

    def __init__(self, assumptions, unit, total, measured, contradicts):
        self.assumptions, self.unit = assumptions, unit
        self.whole = total
        self.total = total - sum(each.budget for each in measured)
        clustered = UNKNOWN in assumptions.spreads
        self.weight = CLUSTERED_UNKNOWN if clustered else CLUSTERED_KNOWN
        self.measures = Measurements.planned(assumptions, unit, self.total, total)
        self.ends = (self.measures.far, *contradicts)

    def _after(self, stages, cases, *key):
        return tuple(
            run_stages(each, stages, np.random.default_rng([SEED, *key, which]))
            for which, each in enumerate(cases)
        )

    def _score(self, cases, stages):
        curves = [each.mean(each.band_squares) for each in cases]
        return objective(curves, stages, self.weight)

    def _part(self, share):
        return self.total * Fraction(max(1, int(np.rint(GRAIN * share))), GRAIN)

    def _looked(self, begun):
        """With one more look."""
        (stages, cases), look = begun, self.measures.first_look
        if not self._finds_any(cases):
            look = ScaleStage(self.measures.look_cost, self.unit).fitted(cases[0])
        return (*stages, look), self._after((look,), cases, 1, 2)

    def _finds_any(self, cases):
        """Whether any length may be at a look, so that no later stage mends a far longer one."""
        return cases[0].length is None and self.assumptions.wider > 1.0

    def _rest(self, begun, quick=False):
        """Score and stages that spend what is left."""
        stages, cases = begun
        left = self._left(stages)
        growths, most = (GROWTHS[1:2], min(STEPS, 3)) if quick else (GROWTHS, STEPS)
        tried = cache(partial(self._steps, cases, left))
        # How budgets grow is seen with three steps, and looks between them.
        *three, growth = least((*tried(3, growth, True), growth) for growth in growths)
        # Between two steps there is none.
        found = [three, tried(2, growth), least(tried(n, growth) for n in range(1, 1 + most))]
        if three[0] < found[1][0]:
            found += [tried(each, growth, True) for each in range(4, 1 + most)]
        score, more, after = min(found, key=score_of)
        last = self.measures.last_looks
        if not quick:
            # It is to find what nobody expects.
            last = tuple(each.fitted(after[0], SOON_OUTWEIGHED) for each in last)
        return score, (*more, *self.measures.products, *last, *self.ends)

    def _left(self, stages, whole=None):
        """The budget of steps after these stages, without looks and what else follows them."""
        whole = whole or (self.whole if has_matrix(stages) else self.total)
        return whole - self.measures.cost - sum(each.budget for each in stages)

    def _steps(self, cases, left, count, growth=1.0, looks=False):
        """Score, stages of steps with looks between them or not, and releases after them."""
        unseen, begun = self._finds_any(cases), ((), cases)
        left -= self.measures.first_look.budget if unseen else 0
        left -= max(count - 2 - unseen, 0) * self.measures.look_cost if looks else 0
        if left <= 0:
            return np.inf, (), cases
        shares = growth ** np.arange(count)
        parts = np.maximum(1, np.rint(GRAIN * shares / np.sum(shares)).astype(int))[:-1]
        costs = [left * Fraction(int(part), GRAIN) for part in parts]
        for cost in costs:
            if begun[0] and looks:
                begun = self._looked(begun)
            begun = self._stepped(begun, cost)
        stages, cases = self._last_stepped(begun, left - sum(costs))
        return self._score(cases, len(stages)), stages, cases

    def _last_stepped(self, begun, cost):
        """With a look at the tail, a count of what is beyond the clip, and the last step."""
        if self._finds_any(begun[1]):
            begun = self._looked(begun)
        look = self.measures.tail_look.fitted(begun[1][0], SOON_OUTWEIGHED)
        stages, cases = begun
        if stages or look.share != SHARE or cases[0].length is None:
            stages, cases = (*stages, look), self._after((look,), cases, 1, 3)
        else:
            # The look that a beginning ends with is for the same length about the same state.
            cost += look.budget
        # Of a contribution of the longest residual there can be.
        each = [np.max(case.covariates.lengths(case.coordinates)) for case in cases]
        most = float(length_grid(self.assumptions)[0] * max(each))
        dim, none = self.assumptions.manifold.dim, stages[:0]
        unlike = 1.0 / np.sqrt(2.0 * dim * gammaincinv(0.5 * dim, float(look.share)))
        if self.assumptions.is_robust:
            step = LastStep(cost, self.unit, self.assumptions.threshold, is_relative=True)
            step = replace(step, unlike=UNLIKE_ROBUST * unlike)
            cases = self._after(self.measures.tail, cases, 1, 4)
            return self._tried((*stages, *self.measures.tail), step, cases)[1:]
        unlike *= UNLIKE

        def tried(factor):
            if factor is None:
                # Nothing is clipped, and so nothing is counted.
                whole = cost + sum(each.budget for each in self.measures.tail)
                more, step = none, LastStep(whole, self.unit, most)
            else:
                clip = factor * float(np.max(stretch(cases[0])))
                more = tuple(replace(each, limit=clip) for each in self.measures.tail)
                how: Any = {"is_relative": True, "unlike": unlike, "share": 1 - look.share}
                step = LastStep(cost, self.unit, clip, **how)
            return self._tried((*stages, *more), step, cases)

        found = [] if self.assumptions.tails == ANY else [least(map(tried, LAST_CLIPS))]
        if not found or self.assumptions.wider == 1.0:
            # Of radii that were given, which the longest residual follows from.
            found.append(tried(None))
        return min(found, key=score_of)[1:]

    def _stepped(self, begun, cost, clips: tuple = (), reach=None):
        """With one more step of some limit, or with that of a matrix of moments."""
        stages, cases = begun
        is_relative, unit = cases[0].length is not None, 1.0
        clips = clips or (RELATIVE_CLIPS if is_relative else CLIPS)
        if not is_relative:
            squares = np.sum(cases[0].errors ** 2, axis=-1) @ cases[0].weights
            unit = float(np.sqrt(np.median(squares + cases[0].typical ** 2)))

        def tried(factor):
            clip = factor * unit
            step = NoisyStep(cost, self.unit, clip * stretch(cases[0]), is_relative=is_relative)
            if reach is not None:
                step = MatrixStage(cost, self.unit, clip, is_relative=is_relative, reach=reach)
            return self._tried(stages, step, cases)

        return least(map(tried, clips))[1:]

    def _tried(self, stages, step, cases):
        """Score of a step after stages, all of them, and the cases after it."""
        clean = [step.prepare(each) for each in cases]
        # The larger errors, in the same coordinates, so that it trusts itself in neither case.
        windows = cases[0].coordinates
        fits = [step.fitted(*each, windows) for each in zip(cases, clean, strict=True)]
        priors = np.max([each.prior for each in fits], axis=0)
        step = replace(fits[0], prior=tuple(priors.tolist()))
        after = tuple(
            step.simulate(each, np.random.default_rng([SEED, 5, which]), known)
            for which, (each, known) in enumerate(zip(cases, clean, strict=True))
        )
        return self._score(after, 1), (*stages, step), after


def has_matrix(stages):
    return any(isinstance(each, MatrixStage) for each in stages)


def least(tried):
    """The first of several, each with its score, before one that is worse: scores have one least.

    What comes after that is not tried.
    """
    least = next(tried)
    for each in tried:
        if score_of(each) > score_of(least):
            break
        least = each
    return least
