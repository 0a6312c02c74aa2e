"""Search for the stages with the smallest simulated error, from public assumptions alone.

A plan costs no budget: it is a function of public assumptions, and the same at every call.  What
the search minimises is `objective`; how it begins are the constants below.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from geodp_release.plan.release_plan import SEED, TAILS, ReleasePlan, Way, simulated
from geodp_release.plan.steps import GRAIN, Steps, has_matrix, least, objective, score_of
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import PrivacyBudget, choice_epsilon
from geodp_release.promise.public_inputs import REPLACE
from geodp_release.stages import CountStage, MatrixStage, MomentsStage, PointsStage
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.moments import MOST_TO_CONTRADICT, TO_CONTRADICT
from geodp_release.stages.simulation import FlatReleases, afforded

# Simulated releases: of beginnings, and of the best of them with all that may follow.
COMPARED, FOLLOWED = 96, 768
# How much longer a choice takes with several covariates, where records have geodesics of their own.
SEVERAL_SLOWER = 8

# Limits of the number of points of a choice.  Supports of more dimensions than the last have too
# many directions for points.
FEWEST_POINTS, MOST_POINTS, MOST_CHOICE_DIMENSIONS = 1 << 8, 1 << 16, 12

# Rows of a matrix of moments: noise of larger ones takes minutes to be simulated, and to be drawn.
MOST_ROWS = 100

# Shares of the budget with which plans begin: of a choice, of a step between two looks, and of a
# matrix of moments; and of a step between a choice and the ways.
CHOICES, WIDE_STEPS = (0.1, 0.16, 0.24, 0.4, 0.65), (0.1, 0.2, 0.35)
MATRICES, BEFORE_WAYS = (0.6, 0.35, 0.2), 0.06

# Limits of losses, in radii of the support, and of residuals in a matrix, in typical lengths about
# the centre.
LOSS_LIMITS, RESIDUALS = (0.12, 0.2, 0.35, 0.6, 1.2), (3.0, 2.0, 1.4, 1.0)

# Beginnings with and without a matrix are both followed, and predicted with many releases, if their
# objectives differ by so little.
NEAR = 0.6
# Simulated releases of a way; neighbouring lengths with fewer have one in common.
FEWEST = 48


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
    counted: tuple = ()
    measured: tuple = ()
    contradicts: tuple = ()
    total = budget.exact
    if assumptions.neighbours != REPLACE:
        # Neighbours differ in how many subjects they have, so that is released first.
        counted = (CountStage.planned(assumptions, budget.unit, total),)
        total -= counted[0].budget
    if assumptions.is_even:
        # Steps rest on it: following moments of so much noise makes them worse where it is true.
        last = MomentsStage.planned(assumptions, budget.unit, total, **TO_CONTRADICT)
        if last.budget <= MOST_TO_CONTRADICT * total:
            contradicts, total = (last,), total - last.budget
    elif assumptions.spreads:
        # Groups of other sizes, clusters, or covariates that go together make steps overshoot.
        measured = (MomentsStage.planned(assumptions, budget.unit, total),)
    search = _Search(assumptions, budget.unit, total, work, measured, contradicts)
    plans = [
        _with_errors(ReleasePlan(assumptions, budget, counted + stages, 1.0, 1.0, 1.0, ways=ways))
        for stages, ways in search.found()
    ]

    def score(plan):
        return objective([plan.error**2, plan.error_if_clustered**2], 0, search.weight)

    return min(plans, key=score)


def _with_errors(plan):
    """A plan with its predicted errors."""
    assumptions = plan.assumptions
    found = clustered = simulated(plan)
    if assumptions.spreads:
        clustered = simulated(plan, Covariates.assumed(assumptions, clustered=True))
    typical = np.exp(np.mean(np.log(np.square(found.typical))))
    usual = found.radii * assumptions.usual_radius / assumptions.footpoint_radius
    return replace(
        plan,
        error=float(np.sqrt(found.curve)),
        error_without_privacy=float(np.sqrt(len(found.radii) * typical / assumptions.subjects)),
        error_without_data=float(np.sqrt(usual**2 / 3.0 @ found.weights)),
        error_if_clustered=float(np.sqrt(clustered.curve)),
    )


class _Search(Steps):
    """Search for a beginning, and for what follows each residual length that it may release."""

    def __init__(self, assumptions, unit, total, work, measured, contradicts):
        super().__init__(assumptions, unit, total, measured, contradicts)
        self.measured = measured
        self.is_known = assumptions.residual_scale is not None
        self.work = work
        if assumptions.number_of_covariates > 1:
            self.work //= SEVERAL_SLOWER

    def found(self):
        """Stages and ways of the best beginnings: with a matrix, without one, or both if near."""
        few = self._after(self.measured, self._starts(COMPARED), 1, 0)
        beginnings = [self._best(self._wide(share, few) for share in WIDE_STEPS)]
        number = self.work // self.assumptions.subjects
        # With very many subjects scores of points take too long, and steps do as well.
        few_dimensions = few[0].truth[0].size <= MOST_CHOICE_DIMENSIONS
        if few_dimensions and number >= FEWEST_POINTS:
            points = 1 << int(np.log2(min(number, MOST_POINTS)))
            beginnings.append(self._best(self._choice(share, points, few) for share in CHOICES))
        firsts = [(), *(stages[:1] for _, stages, _ in beginnings[1:])]
        if self.is_known:
            # What is known of residuals may do for the first steps.
            known = [(first, self._after(first, few, 1, 1)) for first in firsts]
            beginnings += [self._best([each]) for each in known]
        if self.measured and sum(few[0].truth.shape[1:]) <= MOST_ROWS:
            raw = self._starts(COMPARED)
            # In flat space about a chosen state, too, and not the centre alone.
            for first in firsts if self.assumptions.is_flat else firsts[:1]:
                begun = first, self._after(first, raw, 1, 1)
                # After a look or not.
                for each in [begun] if self.is_known else [begun, self._looked(begun)]:
                    beginnings.append(self._best(self._matrix(share, each) for share in MATRICES))
        kinds: list = [[], []]
        for each in beginnings:
            kinds[has_matrix(each[1])].append(each)
        best = [min(kind, key=score_of) for kind in kinds if kind]
        limit = min(map(score_of, best)) + NEAR
        return [self._followed(*each) for each in best if score_of(each) <= limit]

    def _best(self, begun):
        """The best of beginnings by what may follow: score, stages, and releases after these."""
        return least((self._rest(each, quick=True)[0], *each) for each in begun)

    def _followed(self, score, stages, cases):
        """Stages of a beginning with what comes before it, and the ways that follow."""
        if isinstance(stages[0] if stages else None, PointsStage) and stages[-1].is_look:
            # Ways that part after one more step know better how long residuals are.
            longer = self._looked(self._stepped((stages, cases), self._part(BEFORE_WAYS)))
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
        begun = self._stepped(begun, cost, RESIDUALS, reach)
        return begun if self.is_known else self._looked(begun)

    def _choice(self, share, points, cases):
        """A beginning by a choice among points and a look."""
        epsilon = choice_epsilon(self._part(share), self.unit)

        def tried(limit):
            clip = limit * float(cases[0].radii[0])
            stage = PointsStage.of(epsilon, self.unit, points, clip)
            after = self._after((stage,), cases, 4)
            return self._score(after, 1), (stage,), after

        return self._looked(least(map(tried, LOSS_LIMITS))[1:])

    def _ways(self, stages, cases):
        """The ways that follow each residual length that simulations have."""
        lengths = cases[0].length
        # Of an octave each, and of more where releases are few.
        octaves = np.floor(np.log2(lengths / np.max(lengths)) + 1e-9)
        found: list = []
        low = high = np.max(lengths)
        for octave in np.unique(octaves)[::-1]:
            low = min(low, np.min(lengths[octaves == octave]))
            inside = [(low <= each.length) & (each.length <= high) for each in cases]
            below = [each.length < low for each in cases]
            few, left = (min(map(np.sum, some)) < FEWEST for some in (inside, below))
            if (few or left) and low != np.min(lengths):
                continue
            some = tuple(each.drawn(rows) for each, rows in zip(cases, inside, strict=True))
            found.append(Way(float(high), self._rest((stages, some))[1]))
            low = high = np.max(lengths[lengths < low], initial=0.0)
        return tuple(found)
