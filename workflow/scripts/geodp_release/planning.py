"""Plans of releases: stages with the smallest simulated error, from public assumptions alone.

A plan costs no budget: it is a function of public assumptions, and the same at every call.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise, product

import numpy as np

from geodp.errors import DataError
from geodp_release.accounting import PURE, PrivacyBudget, choice_epsilon
from geodp_release.assumptions import REPLACE, Assumptions
from geodp_release.simulation import (
    EVENLY,
    LIMITS_PER_DOUBLING,
    UNKNOWN,
    Covariates,
    FlatReleases,
    level_of,
    limit_at,
)
from geodp_release.stages import CountStage, MomentsStage, NoisyStep, PointsStage

SEED = 20261122

# Simulated releases of a design; of each of the FINALISTS best; and of the plan's prediction.
COMPARED, AGAIN, FINALISTS, PREDICTED = 96, 384, 4, 2048

# Part of the simulated choices that look for rare failures.
TAILS = 0.25

# Distances from points to records that a choice among points may take, of which a first stage
# without a pattern gets most; how much longer they take with several covariates, where records have
# geodesics of their own; and limits of the number of points.
FIRST_WORK, LATER_WORK = 1 << 24, 1 << 21
SEVERAL_SLOWER = 8
FEWEST_POINTS, MOST_POINTS, MOST_LATER_POINTS = 1 << 8, 1 << 16, 1 << 13

# Search grid: shares of the budget of one or more choices among points, the first ONE_CHOICE of
# them for one alone, and of two PARTS of TOTALS for the first; limits of losses, in units of a
# typical residual widened by the distance of the best point; and pattern radii, in root mean
# squared errors of the state before.
ONE_CHOICE = 6
PARTS, TOTALS = (0.2, 0.4, 0.6), (0.35, 0.5, 0.7, 1.0)
CHOICES = (
    *((share,) for share in (0.2, 0.35, 0.5, 0.65, 0.8, 1.0)),
    *((part * total, (1.0 - part) * total) for part, total in product(PARTS, TOTALS)),
    *((0.06 * total, 0.22 * total, 0.72 * total) for total in (0.5, 0.7, 1.0)),
)
LOSS_LIMITS, WIDENED = (0.7, 1.2, 2.0, 3.4), 2.0
REACHES = (1.3, 2.0)
# Supports of more dimensions have too many directions for points.
MOST_CHOICE_DIMENSIONS = 12

# Steps with noise: their number, and growth of their budgets; limits of clipping, in units of the
# typical distance of a record from the state's geodesic.
STEPS, STEP_GROWTHS = (1, 2, 3, 4), (1.0, 1.8, 3.2)
CLIPS = (0.25, 0.42, 0.7, 1.2)

# Shares of the budget for the moments of covariates.
MOMENT_SHARES = (Fraction(1, 32), Fraction(1, 12))

# Local search: parts of a budget that move from one stage to another; rounds at most, and the gain
# of a round, in the logarithm of the squared error, below which it ends; and designs to start from.
SHIFTS = (Fraction(-1, 3), Fraction(1, 3))
ROUNDS, ENOUGH, REFINED = 3, 0.02, 2

# Simulated beginnings of designs that are kept for others that begin alike.
KEPT = 24

# Beginnings that are followed by more than one step, besides none.
EXPANDED = 5

# Designs are also compared with clustered covariates: weights of the logarithm of that squared
# error, where all spreads are known and where one is unknown.
CLUSTERED_WEIGHT, UNKNOWN_WEIGHT = 0.15, 0.5

# A release counts as noise if its error is more than this share of that of the geodesic that stays
# at the centre.
NOISE = 1.0 / 3.0

# What a stage more has to gain, in the logarithm of the squared error.
STAGE_COST = 0.01

# Where the number of subjects is not public: standard deviation wanted of its noise, relative to
# it, and limits of its share of the budget.
COUNT_ERROR = 0.03
LEAST_COUNT, MOST_COUNT = Fraction(1, 40), Fraction(1, 8)

# Where moments are always released, of several covariates, groups or an unknown spread: standard
# deviation wanted of the noise of mean products, and limits of the first share of the budget.
MOMENT_ERROR = 0.01
LEAST_MOMENTS, MOST_MOMENTS = Fraction(1, 24), Fraction(1, 6)

# Budgets of stages are whole multiples of this share.
GRAIN = 1 << 12


@dataclass(frozen=True)
class ReleasePlan:
    """Everything public about a release: assumptions, budget, and stages with predicted errors.

    Attributes
    ----------
    assumptions : Assumptions
    budget : PrivacyBudget
    stages : tuple of Stage
    error : float
        Predicted root mean squared error of the geodesic over the covariate's range.
    error_without_privacy, error_without_data : float
        Of the least-squares geodesic, and of the geodesic that stays at the centre.
    """

    assumptions: Assumptions
    budget: PrivacyBudget
    stages: tuple
    error: float
    error_without_privacy: float
    error_without_data: float

    def __post_init__(self):
        spent = sum(stage.budget for stage in self.stages)
        if any(stage.unit != self.budget.unit for stage in self.stages):
            raise DataError("plan: stages and budget are of different units: correct them")
        blocks = 1 + self.assumptions.number_of_covariates
        for stage in self.stages:
            parts = getattr(stage, "radii", getattr(stage, "prior", None))
            if isinstance(stage, MomentsStage) and blocks == 1:
                raise DataError("plan: a mean has no covariates, whose moments a stage releases")
            if parts is not None and len(parts) != blocks:
                raise DataError(
                    f"plan: a stage has {len(parts)} numbers for the {blocks} parts of a state: "
                    "give one for each"
                )
        if spent > self.budget.exact:
            raise DataError(
                f"plan: its stages cost {float(spent):g}, which is more than the budget "
                f"{self.budget.amount}: correct them"
            )

    @cached_property
    def error_if_clustered(self):
        """Predicted root mean squared error if covariates cluster: a Beta(2, 5), groups of 3 to 1.

        Without covariates that of the plan.
        """
        spreads = self.assumptions.spreads
        if not spreads:
            return self.error
        clustered = Covariates.independent(spreads, clustered=True)
        return float(np.sqrt(simulated(self.assumptions, self.stages, clustered).curve))

    @property
    def is_noise(self):
        """Whether the release would carry almost no information about the data."""
        return self.error > NOISE * self.error_without_data


def run_stages(found, stages, rng):
    """Simulated releases after some more stages."""
    for stage in stages:
        if isinstance(stage, PointsStage):
            found = found.choose(rng, stage)
        elif isinstance(stage, MomentsStage):
            found = found.measure(rng, stage)
        elif isinstance(stage, CountStage):
            found = found.count(rng, stage)
        else:
            found = found.step(rng, stage)
    return found


def simulated(assumptions, stages, covariates=None):
    """Simulated releases, with covariates as assumed or as given, that predict a plan's error."""
    rng = np.random.default_rng([SEED, 2])
    start = FlatReleases.start(assumptions, PREDICTED, rng, TAILS)
    if covariates is not None:
        start = replace(start, covariates=covariates)
    return run_stages(start, stages, rng)


def plan_release(
    assumptions: Assumptions, budget: PrivacyBudget, work: int = FIRST_WORK
) -> ReleasePlan:
    """Find the stages with the smallest simulated error, from public assumptions alone.

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
    total = budget.exact
    if assumptions.neighbours != REPLACE:
        # Neighbours differ in how many subjects they have, so that is released first.
        counted = (CountStage(total * _count_share(assumptions, budget), budget.unit),)
        total -= counted[0].budget
    if assumptions.spreads not in ((), (EVENLY,)):
        # Groups of other sizes, clusters, or covariates that go together make steps overshoot.
        share = _moments_share(assumptions, budget.unit, total)
        measured = (MomentsStage(total * share, budget.unit),)
    left = total - sum(stage.budget for stage in measured)
    designs = [measured + each for each in _Search(assumptions, budget.unit, left, work).designs()]
    judge = _Judge(assumptions)
    designs = sorted(designs, key=lambda stages: judge(stages)[0])[:REFINED]
    may_measure = assumptions.spreads == (EVENLY,)
    refined = (judge(_refined(each, judge, total, may_measure)) for each in designs)
    best = min(refined, key=lambda pair: pair[0])[1]
    found = simulated(assumptions, counted + best)
    typical = assumptions.residual_scale**2 * assumptions.manifold.dim
    return ReleasePlan(
        assumptions=assumptions,
        budget=budget,
        stages=counted + best,
        error=float(np.sqrt(found.curve)),
        error_without_privacy=float(np.sqrt(len(found.radii) * typical / assumptions.subjects)),
        error_without_data=float(np.sqrt(found.radii**2 / 3.0 @ found.weights)),
    )


def _count_share(assumptions, budget):
    """Share of the budget for the number of subjects."""
    wanted = COUNT_ERROR * assumptions.subjects
    amount = float(budget.amount)
    cost = np.sqrt(2.0) / wanted if budget.unit == PURE else 0.5 / wanted**2
    share = Fraction(int(np.ceil(GRAIN * min(cost / amount, 1.0))), GRAIN)
    return min(max(share, LEAST_COUNT), MOST_COUNT)


def _moments_share(assumptions, unit, total):
    """First share of the budget for moments that are always released."""
    covariates = assumptions.number_of_covariates
    whole = MomentsStage(total, unit).deviations(assumptions.changes, covariates)
    ratio = float(np.max(whole[covariates:])) / (MOMENT_ERROR * assumptions.subjects)
    share = ratio if unit == PURE else ratio**2
    return min(
        max(Fraction(int(np.ceil(GRAIN * min(share, 1.0))), GRAIN), LEAST_MOMENTS), MOST_MOMENTS
    )


class _Judge:
    """Logarithm of the squared error, with even covariates and a share of clustered ones."""

    def __init__(self, assumptions):
        even = FlatReleases.start(assumptions, AGAIN, np.random.default_rng([SEED, 1]), TAILS)
        clustered = Covariates.independent(assumptions.spreads, clustered=True)
        # Without a covariate there is no other case.
        self._starts = (
            (even, replace(even, covariates=clustered)) if assumptions.spreads else (even,)
        )
        unknown = UNKNOWN in assumptions.spreads
        self._clustered_weight = UNKNOWN_WEIGHT if unknown else CLUSTERED_WEIGHT
        self._after = lru_cache(KEPT)(self._simulated)
        self._points = lru_cache(KEPT)(self._points_about)

    def __call__(self, stages):
        """The criterion, and the stages with gains that suit what comes before them."""
        releases, fitted = self._after(stages)
        curves = [each.curve for each in releases]
        weights = [1.0 - self._clustered_weight, self._clustered_weight]
        value = float(np.average(np.log(curves), weights=weights[: len(curves)]))
        return value + STAGE_COST * len(stages), fitted

    def _simulated(self, stages):
        """Releases with each distribution of covariates after stages, and these with gains."""
        if not stages:
            return self._starts, ()
        before, fitted = self._after(stages[:-1])
        stage, found = stages[-1], []
        if isinstance(stage, NoisyStep):
            stage = fitted_step(before[0], stage)
        for which, releases in enumerate(before):
            rng = np.random.default_rng([SEED, 5, len(stages), which])
            if isinstance(stage, PointsStage):
                points = self._points(stages[:-1], which, stage.points, stage.radii)
                found.append(releases.choose(rng, stage, points))
            else:
                found.append(run_stages(releases, (stage,), rng))
        return tuple(found), (*fitted, stage)

    def _points_about(self, stages, which, number, radii):
        releases = self._after(stages)[0][which]
        return releases.points(np.random.default_rng([SEED, 6, which]), number, radii)


def fitted_step(releases, step, clean=None):
    """A step with the gain that suits simulated releases."""
    if clean is None:
        clean = releases.clean_means(level_of(step.clip, releases.typical))
    errors = releases.errors
    weight = releases.weight[:, None, None]
    by_block = 1.0 / releases.weights[:, None]
    kept = np.sum(weight * errors * clean * by_block) / np.sum(weight * errors**2)
    prior = np.maximum(releases.squares / releases.dim, 1e-300)
    return replace(step, kept=float(max(kept, 1e-6)), prior=tuple(float(each) for each in prior))


def _refined(stages, judge, total, may_measure):
    """A design after changes of one thing at a time that make it better."""
    for _ in range(ROUNDS):
        before = judge(stages)[0]
        for change in _changes(stages, total, may_measure):
            if judge(change)[0] < judge(stages)[0]:
                stages = change
        if judge(stages)[0] > before - ENOUGH:
            break
    return stages


def _changes(stages, total, may_measure):
    """Designs that differ in a limit, in how two stages share their budgets, or by moments."""
    for index, stage in enumerate(stages):
        if not isinstance(stage, MomentsStage):
            for factor in (2.0 ** (-1.0 / LIMITS_PER_DOUBLING), 2.0 ** (1.0 / LIMITS_PER_DOUBLING)):
                changed = replace(stage, clip=float(stage.clip * factor))
                yield (*stages[:index], changed, *stages[index + 1 :])
    pairs = {*pairwise(range(len(stages))), (0, len(stages) - 1)} if len(stages) > 1 else ()
    for first, second in sorted(pairs):
        # Moments that are always released keep the budget with which they begin: errors over the
        # whole range would have less of it, and those where clustered subjects are would grow.
        fixed = isinstance(stages[first], MomentsStage) and not may_measure
        for part in SHIFTS[fixed:]:
            moved = part * min(stages[first].budget, stages[second].budget)
            changed = list(stages)
            changed[first] = _rebudgeted(stages[first], stages[first].budget + moved)
            # What rounding leaves goes to the other.
            rest = stages[second].budget + stages[first].budget - changed[first].budget
            changed[second] = _rebudgeted(stages[second], rest)
            yield tuple(changed)
    steps = [index for index, stage in enumerate(stages) if isinstance(stage, NoisyStep)]
    measured = any(isinstance(stage, MomentsStage) for stage in stages)
    if steps and may_measure and not measured:
        last = stages[steps[-1]]
        for share in MOMENT_SHARES:
            cost = total * share
            if cost < last.budget / 2:
                changed = list(stages)
                changed[steps[-1]] = replace(last, budget=last.budget - cost)
                changed.insert(steps[0], MomentsStage(cost, last.unit))
                yield tuple(changed)


def _rebudgeted(stage, cost):
    """A stage with another budget."""
    if isinstance(stage, PointsStage):
        epsilon = choice_epsilon(cost, stage.unit)
        return PointsStage.of(epsilon, stage.unit, stage.points, stage.clip, stage.radii)
    return replace(stage, budget=cost)


class _Search:
    """Search for stages of one release."""

    def __init__(self, assumptions, unit, total, work):
        self.assumptions, self.unit, self.total = assumptions, unit, total
        if assumptions.number_of_covariates > 1:
            work //= SEVERAL_SLOWER
        self.first_work, self.later_work = work, min(work, LATER_WORK)
        rng = np.random.default_rng([SEED, 0])
        self.start = FlatReleases.start(assumptions, COMPARED, rng, TAILS)
        self.typical, self.dim = self.start.typical, self.start.dim

    def designs(self):
        """The FINALISTS best of the grid, as tuples of stages."""
        prefixes = [((), self.start, Fraction(0))]
        if self.start.truth[0].size <= MOST_CHOICE_DIMENSIONS:
            prefixes += list(self._choices())
        found = [
            (releases.curve, stages, ())
            for stages, releases, spent in prefixes
            if spent == self.total
        ]
        open_ones = [each for each in prefixes if each[2] < self.total]
        # One step tells which beginnings are worth more of them.
        alone = [self._steps(each, STEPS[:1]) for each in open_ones]
        order = np.argsort([each[0][0] for each in alone])[:EXPANDED]
        for index in {0, *order.tolist()}:
            found += alone[index] + self._steps(open_ones[index], STEPS[1:])
        found.sort(key=lambda each: np.log(each[0]) + STAGE_COST * len(each[1] + each[2]))
        return [before + after for _, before, after in found[:FINALISTS]]

    def _part(self, share):
        """A share of the total budget, as an exact fraction."""
        return self.total * Fraction(max(1, int(np.rint(GRAIN * share))), GRAIN)

    def _choices(self):
        """Stages that choose among points: the stages, simulated releases, and what they cost."""
        number = self.assumptions.subjects
        # With very many subjects scores take too long, and steps do as well.
        first, later = (
            FEWEST_POINTS * number <= work for work in (self.first_work, self.later_work)
        )
        for shares in CHOICES if later else CHOICES[:ONE_CHOICE] if first else ():
            stages: tuple = ()
            releases, spent = self.start, Fraction(0)
            is_all = sum(shares) > 1.0 - 1e-9
            for index, share in enumerate(shares):
                last = is_all and index == len(shares) - 1
                cost = self.total - spent if last else self._part(share)
                stage, releases = self._best_choice(releases, cost, index)
                stages, spent = (*stages, stage), spent + stage.budget
            # Of a rounded square root a crumb may be left.
            yield stages, releases, self.total if is_all else spent

    def _best_choice(self, releases, cost, index):
        epsilon = choice_epsilon(cost, self.unit)
        number = self.assumptions.subjects
        work = self.later_work if index else self.first_work
        most = MOST_LATER_POINTS if index else MOST_POINTS
        points = 1 << int(np.log2(np.clip(work / number, FEWEST_POINTS, most)))
        radii: list = [None]
        if index:
            typical = np.sqrt(releases.squares)
            radii = [
                tuple(float(each) for each in np.minimum(reach * typical, releases.radii))
                for reach in REACHES
            ]
        tried = []
        for radius in radii:
            chosen_from = releases.points(np.random.default_rng([SEED, 3]), points, radius)
            # The best point is about so far away.
            width = releases.radii if radius is None else np.array(radius)
            misfit = np.sqrt(width**2 @ releases.weights) * points ** (
                -1.0 / releases.truth[0].size
            )
            misfit = misfit * np.sqrt(self.dim / (self.dim + 2.0))
            for factor in LOSS_LIMITS:
                level = level_of(factor * np.hypot(self.typical, WIDENED * misfit), self.typical)
                clip = limit_at(level, self.typical)
                stage = PointsStage.of(epsilon, self.unit, points, clip, radius)
                rng = np.random.default_rng([SEED, 4, index])
                tried.append((stage, releases.choose(rng, stage, chosen_from)))
        return min(tried, key=lambda pair: pair[1].squares @ pair[1].weights)

    def _steps(self, beginning, counts):
        """Designs (squared error, stages before, steps) that spend what is left on steps."""
        before, start, spent = beginning
        found, left = [], self.total - spent
        for count, growth in product(counts, STEP_GROWTHS):
            if count == 1 and growth != STEP_GROWTHS[0]:
                continue
            shares = growth ** np.arange(count)
            parts = np.maximum(1, np.rint(GRAIN * shares / np.sum(shares)).astype(int))[:-1]
            costs = [left * Fraction(int(part), GRAIN) for part in parts]
            costs.append(left - sum(costs))
            releases = start
            steps: tuple = ()
            for index, cost in enumerate(costs):
                step, releases = self._best_step(releases, cost, index)
                steps = (*steps, step)
            found.append((releases.curve, before, steps))
        return found

    def _best_step(self, releases, cost, index):
        spread = np.sqrt(self.typical**2 + releases.squares @ releases.weights)
        spread *= releases.stretch
        tried = []
        for level in {level_of(factor * spread, self.typical) for factor in CLIPS}:
            clean = releases.clean_means(level)
            step = NoisyStep(cost, self.unit, limit_at(level, self.typical))
            step = fitted_step(releases, step, clean)
            rng = np.random.default_rng([SEED, 4, index])
            tried.append((step, releases.step(rng, step, clean)))
        return min(tried, key=lambda pair: pair[1].curve)
