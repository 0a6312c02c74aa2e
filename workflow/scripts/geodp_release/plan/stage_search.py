"""Search for the stages with the smallest simulated error, from public assumptions alone.

A plan costs no budget: it is a function of public assumptions, and the same at every call.  What
the search minimises is `objective`.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from geodp_release.plan.measurements import Measurements
from geodp_release.plan.release_plan import SEED, TAILS, ReleasePlan, Way, run_stages
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import PrivacyBudget, choice_epsilon
from geodp_release.promise.public_inputs import ANY, REPLACE, UNKNOWN
from geodp_release.stages import (
    CountStage,
    LastStep,
    MatrixStage,
    MomentsStage,
    NoisyStep,
    PointsStage,
    ScaleStage,
)
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.moments import MOST_TO_CONTRADICT, TO_CONTRADICT
from geodp_release.stages.residual_tables import length_grid
from geodp_release.stages.scale import SHARE, SOON_OUTWEIGHED
from geodp_release.stages.simulation import FlatReleases, afforded
from geodp_release.stages.step import stretch

# Simulated releases: of beginnings, and of the best of them with all that may follow.
COMPARED, FOLLOWED = 96, 768

# Shares of the budget with which plans begin: of a choice, of at most so many points, and of a step
# between two looks.
CHOICES, MOST_POINTS, WIDE_STEPS = (0.1, 0.16, 0.24, 0.4, 0.65), 1 << 16, (0.1, 0.2, 0.35)

# Most noisy steps that follow, whose budgets are multiples of 1 / GRAIN of the whole.
STEPS, GRAIN = 4, 1 << 12

# The score is the first entry of whatever was tried.
score_of = itemgetter(0)


def plan_release(
    assumptions: Assumptions, budget: PrivacyBudget, work: int = 1 << 24
) -> ReleasePlan:
    """Find the stages with the smallest simulated error, from public assumptions alone.

    A beginning, and for each residual length that it may release the stages that follow.

    Parameters
    ----------
    assumptions : Assumptions
    budget : PrivacyBudget
    work : int
        Distances from points to records that a choice among points may take: with fewer a release
        is faster, and its error may be larger.

    Returns
    -------
    ReleasePlan
    """
    search = _Search(assumptions, budget, work)
    plans = search.plans()
    return min(
        plans, key=lambda plan: search.objective([plan.error**2, plan.error_if_clustered**2], 0)
    )


class _Search:
    """Search for a beginning, and for what follows each residual length that it may release.

    Releases are simulated with covariates as assumed and clustered, side by side: ``cases``.  What
    is tried goes from step to step as a pair, its stages and the cases after them.
    """

    def __init__(self, assumptions, budget, work):
        self.assumptions, self.budget, self.unit = assumptions, budget, budget.unit
        self.is_known = assumptions.residual_scale is not None
        # With several covariates records have geodesics of their own, and a choice takes longer.
        self.work = work if assumptions.number_of_covariates <= 1 else work // 8
        # Of errors where covariates cluster.
        self.weight = 0.5 if UNKNOWN in assumptions.spreads else 0.15
        self.counted: tuple = ()
        self.measured: tuple = ()
        contradicts: tuple = ()
        total = budget.exact
        if assumptions.neighbours != REPLACE:
            # Neighbours differ in how many subjects they have, so that is released first.
            self.counted = (CountStage.planned(assumptions, self.unit, total),)
            total -= self.counted[0].budget
        if assumptions.is_even:
            # Steps rest on it: following moments of so much noise makes them worse where it is
            # true.
            last = MomentsStage.planned(assumptions, self.unit, total, **TO_CONTRADICT)
            if last.budget <= MOST_TO_CONTRADICT * total:
                contradicts, total = (last,), total - last.budget
        elif assumptions.spreads:
            # Groups of other sizes, clusters, or covariates that go together make steps overshoot.
            self.measured = (MomentsStage.planned(assumptions, self.unit, total),)
        self.whole = total
        self.total = total - sum(each.budget for each in self.measured)
        self.measures = Measurements(assumptions, self.unit, self.total, total)
        self.ends = (self.measures.far, *contradicts)

    def objective(self, squares, stages, penalty=0.01):
        """What a plan minimises: logarithms of mean squares, and a penalty for each stage.

        Mean ``squares`` are with covariates as assumed, and with clustered ones if there are any: a
        Beta(2, 5), groups of 3 to 1.
        """
        weights = [1.0 - self.weight, self.weight][: len(squares)]
        return float(np.average(np.log(squares), weights=weights)) + penalty * stages

    def plans(self):
        """Plans by the best beginnings, with predicted errors."""
        for stages, ways in self.found():
            given = self.assumptions, self.budget, self.counted + stages
            yield ReleasePlan(*given, 1.0, 1.0, 1.0, ways=ways).predicted()

    def found(self, near=0.6, fewest=1 << 8, most_dimensions=12, most_rows=100):
        """Stages and ways of the best beginnings: with a matrix, without one, or both if near.

        Supports of more dimensions have too many directions for points, and noise of matrices of
        more rows takes minutes to be simulated, and to be drawn.
        """
        few = self._after(self.measured, self._starts(COMPARED), 1, 0)
        beginnings = [self._best(self._wide(share, few) for share in WIDE_STEPS)]
        number = self.work // self.assumptions.subjects
        # With very many subjects scores of points take too long, and steps do as well.
        if few[0].truth[0].size <= most_dimensions and number >= fewest:
            points = 1 << int(np.log2(min(number, MOST_POINTS)))
            beginnings.append(self._best(self._choice(share, points, few) for share in CHOICES))
        firsts = [(), *(stages[:1] for _, stages, _ in beginnings[1:])]
        if self.is_known:
            # What is known of residuals may do for the first steps.
            known = [(first, self._after(first, few, 1, 1)) for first in firsts]
            beginnings += [self._best([each]) for each in known]
        if self.measured and sum(few[0].truth.shape[1:]) <= most_rows:
            raw = self._starts(COMPARED)
            # In flat space about a chosen state, too, and not the centre alone.
            for first in firsts if self.assumptions.is_flat else firsts[:1]:
                begun = first, self._after(first, raw, 1, 1)
                # After a look or not.
                for each in [begun] if self.is_known else [begun, self._looked(begun)]:
                    beginnings.append(
                        self._best(self._matrix(share, each) for share in (0.6, 0.35, 0.2))
                    )
        kinds: list = [[], []]
        for each in beginnings:
            kinds[has_matrix(each[1])].append(each)
        best = [min(kind, key=score_of) for kind in kinds if kind]
        limit = min(map(score_of, best)) + near
        return [self._followed(*each) for each in best if score_of(each) <= limit]

    def _best(self, begun):
        """The best of beginnings by what may follow: score, stages, and releases after these."""
        return least((self._rest(each, quick=True)[0], *each) for each in begun)

    def _followed(self, score, stages, cases):
        """Stages of a beginning with what comes before it, and the ways that follow."""
        if isinstance(stages[0] if stages else None, PointsStage) and stages[-1].is_look:
            # Ways that part after one more step know better how long residuals are.
            longer = self._looked(self._stepped((stages, cases), self._part(0.06)))
            if self._rest(longer, quick=True)[0] < score:
                stages = longer[0]
        # A matrix has moments of its own.
        measured = () if has_matrix(stages) else self.measured
        cases = self._after(measured, self._starts(FOLLOWED), 1, 0)
        cases = self._after(stages, cases, 1, 1)
        if not (stages and stages[-1].is_look):
            return (*measured, *stages, *self._rest((stages, cases))[1]), ()
        return (*measured, *stages), self._ways(stages, cases)

    def _starts(self, number):
        """Simulated releases before the search, of each case."""
        number = afforded(number, self.assumptions.size)
        rng = np.random.default_rng([SEED, 0, number])
        even = FlatReleases.start(self.assumptions, number, rng, TAILS)
        if not self.assumptions.spreads:
            # Without a covariate there is no other case.
            return (even,)
        clustered = Covariates.assumed(self.assumptions, clustered=True)
        return even, replace(even, covariates=clustered)

    def _wide(self, share, cases):
        """A beginning by a step from the centre, between two looks."""
        return self._looked(self._stepped(self._looked(((), cases)), self._part(share)))

    def _matrix(self, share, begun):
        """A beginning by a matrix of moments, and a look if steps follow."""
        reach = MatrixStage.planned_reach(self.assumptions)
        cost = self._left(begun[0], self.whole) * Fraction(int(np.rint(GRAIN * share)), GRAIN)
        # Limits of residuals, in typical lengths about the centre.
        begun = self._stepped(begun, cost, (3.0, 2.0, 1.4, 1.0), reach)
        return begun if self.is_known else self._looked(begun)

    def _choice(self, share, points, cases):
        """A beginning by a choice among points and a look."""
        epsilon = choice_epsilon(self._part(share), self.unit)

        def tried(limit):
            clip = limit * float(cases[0].radii[0])
            stage = PointsStage.of(epsilon, self.unit, points, clip)
            after = self._after((stage,), cases, 4)
            return self._score(after, 1), (stage,), after

        # Limits of losses, in radii of the support.
        return self._looked(least(map(tried, (0.12, 0.2, 0.35, 0.6, 1.2)))[1:])

    def _ways(self, stages, cases, fewest=48):
        """The ways that follow each residual length that simulations have.

        Neighbouring lengths with fewer simulated releases have one in common.
        """
        lengths = cases[0].length
        # Of an octave each, and of more where releases are few.
        octaves = np.floor(np.log2(lengths / np.max(lengths)) + 1e-9)
        found: list = []
        low = high = np.max(lengths)
        for octave in np.unique(octaves)[::-1]:
            low = min(low, np.min(lengths[octaves == octave]))
            inside = [(low <= each.length) & (each.length <= high) for each in cases]
            below = [each.length < low for each in cases]
            few, left = (min(map(np.sum, some)) < fewest for some in (inside, below))
            if (few or left) and low != np.min(lengths):
                continue
            some = tuple(each.drawn(rows) for each, rows in zip(cases, inside, strict=True))
            found.append(Way(float(high), self._rest((stages, some))[1]))
            low = high = np.max(lengths[lengths < low], initial=0.0)
        return tuple(found)

    def _after(self, stages, cases, *key):
        return tuple(
            run_stages(each, stages, np.random.default_rng([SEED, *key, which]))
            for which, each in enumerate(cases)
        )

    def _score(self, cases, stages):
        """The `objective` of simulated releases, which counts what bands are wider by, too."""
        return self.objective([each.mean(each.band_squares) for each in cases], stages)

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
        # Ratios of the budgets of a step and the one before.
        growths, most = ((3.2,), min(STEPS, 3)) if quick else ((6.0, 3.2, 1.8, 1.0), STEPS)
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
        counts, dim = self.measures.tail, self.assumptions.manifold.dim
        # Deviation of where clipped steps lead, from least squares, if residuals are skewed, or
        # from the least of Huber's loss: a part of that of a residual in a direction.
        unlike = 1.0 / np.sqrt(2.0 * dim * gammaincinv(0.5 * dim, float(look.share)))
        if self.assumptions.is_robust:
            how: Any = {"is_relative": True, "unlike": 0.2 * unlike}
            step = LastStep(cost, self.unit, self.assumptions.threshold, **how)
            return self._tried((*stages, *counts), step, self._after(counts, cases, 1, 4))[1:]

        def tried(factor):
            how = {"is_relative": True, "unlike": 0.4 * unlike, "share": 1 - look.share}
            clip = factor * float(np.max(stretch(cases[0])))
            step = LastStep(cost, self.unit, clip, **how)
            return self._tried(
                (*stages, *(replace(each, limit=clip) for each in counts)), step, cases
            )

        # In lengths that a look at the tail released.
        clips = 9.0, 6.0, 4.4, 3.4, 2.7, 2.2, 1.8, 1.5, 1.25
        found = [] if self.assumptions.tails == ANY else [least(map(tried, clips))]
        if not found or self.assumptions.wider == 1.0:
            # The contribution of the longest residual, which follows from radii that were given:
            # nothing is clipped, and so nothing is counted.
            each = [np.max(case.covariates.lengths(case.coordinates)) for case in cases]
            most = float(length_grid(self.assumptions)[0] * max(each))
            whole = cost + sum(each.budget for each in counts)
            found.append(self._tried(stages, LastStep(whole, self.unit, most), cases))
        return min(found, key=score_of)[1:]

    def _stepped(self, begun, cost, clips: tuple = (), reach=None):
        """With one more step of some limit, or with that of a matrix of moments."""
        stages, cases = begun
        is_relative, unit = cases[0].length is not None, 1.0
        # In typical lengths of residuals about the centre, or in released ones.  With clips of
        # shorter released lengths a step may stay in the larger of two clumps.
        clips = clips or ((3.4, 2.4, 1.7) if is_relative else (2.4, 1.3, 0.8, 0.5, 0.3))
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
