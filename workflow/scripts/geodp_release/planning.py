"""Plans of releases: stages with the smallest simulated error, from public assumptions alone.

A plan costs no budget: it is a function of public assumptions, and the same at every call.  What
the search minimises is `Objective`, and how far it looks is `SearchSettings`.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise, product

import numpy as np

from geodp.errors import DataError
from geodp_release.accounting import PrivacyBudget, choice_epsilon
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
from geodp_release.stages import (
    CountStage,
    FarStage,
    MomentsStage,
    NoisyStep,
    PointsStage,
    ScaleStage,
)
from geodp_release.stages.points import points_about
from geodp_release.stages.step import stretch

SEED = 20261122

# A release counts as noise if its error is more than this share of that of the geodesic that stays
# at the centre.
NOISE = 1.0 / 3.0


@dataclass(frozen=True)
class SearchSettings:
    """How far the search for a plan looks.

    Attributes
    ----------
    compared, again, predicted : int
        Simulated releases: of a design of the grid, of one of the best, and of the plan.
    finalists, refined : int
        Designs of the grid that are simulated again, and those of them that local search starts at.
    tails : float
        Part of the simulated choices that look for rare failures.
    later_work : int
        Largest product of points and records of a choice that is not the first.
    several_slower : int
        How much longer a choice takes with several covariates, where records have geodesics of
        their own.
    fewest_points, most_points, most_later_points : int
        Limits of the number of points of a choice, of the first and of later ones.
    most_choice_dimensions : int
        Supports of more dimensions have too many directions for points.
    choices : tuple of tuple of float
        Grid: shares of the budget of one or more choices.
    loss_limits : tuple of float
        Grid: limits of losses, in typical residuals widened by the distance of the best point.
    widened : float
        Weight of that distance.
    reaches : tuple of float
        Grid: radii of patterns, in root mean squared errors of the state before.
    expanded : int
        Beginnings that are followed by more than one step, besides none.
    steps, growths : tuple
        Grid: number of noisy steps, and the ratio of the budgets of one and the one before.
    clips : tuple of float
        Grid: limits of contributions, in typical distances of a record from the state's geodesic.
    measured_clips : tuple of float
        The same in released residual lengths.
    grain : int
        Budgets on the grid are multiples of ``1 / grain`` of the whole.
    shifts : tuple of Fraction
        Local search: parts of a budget that move from one stage to another.
    measured_choices, measured_limits : tuple of float
        Grid where the residual scale is measured: shares of a first choice, and limits of its
        losses in radii of the support.
    looks, last_look : Fraction
        Shares of the budget of a measured residual length before each step, and after the last.
    moment_shares : tuple of Fraction
        Local search: shares of the budget for moments of a covariate that is spread evenly.
    rounds, enough : int, float
        Local search ends after so many rounds, or after one with less gain in the objective.
    kept : int
        Size of the cache of simulated beginnings of designs.
    """

    compared: int = 96
    again: int = 384
    predicted: int = 2048
    finalists: int = 4
    refined: int = 2
    tails: float = 0.25
    later_work: int = 1 << 21
    several_slower: int = 8
    fewest_points: int = 1 << 8
    most_points: int = 1 << 16
    most_later_points: int = 1 << 13
    most_choice_dimensions: int = 12
    choices: tuple = (
        *((share,) for share in (0.2, 0.35, 0.5, 0.65, 0.8, 1.0)),
        *(
            (part * total, (1.0 - part) * total)
            for part, total in product((0.2, 0.4, 0.6), (0.35, 0.5, 0.7, 1.0))
        ),
        *((0.06 * total, 0.22 * total, 0.72 * total) for total in (0.5, 0.7, 1.0)),
    )
    loss_limits: tuple = (0.7, 1.2, 2.0, 3.4)
    widened: float = 2.0
    reaches: tuple = (1.3, 2.0)
    expanded: int = 5
    steps: tuple = (1, 2, 3, 4)
    growths: tuple = (1.0, 1.8, 3.2)
    clips: tuple = (0.25, 0.42, 0.7, 1.2)
    measured_clips: tuple = (0.5, 0.8, 1.3)
    grain: int = 1 << 12
    measured_choices: tuple = (0.1, 0.2, 0.35, 0.55)
    measured_limits: tuple = (0.1, 0.25, 0.6, 1.2)
    looks: Fraction = Fraction(1, 25)
    last_look: Fraction = Fraction(1, 32)
    shifts: tuple = (Fraction(-1, 3), Fraction(1, 3))
    moment_shares: tuple = (Fraction(1, 32), Fraction(1, 12))
    rounds: int = 3
    enough: float = 0.02
    kept: int = 24


SEARCH = SearchSettings()


@dataclass(frozen=True)
class Objective:
    """What a plan minimises, by simulated mean squared errors E of predictions.

    ``J = (1 - w) log E(even) + w log E(clustered) + penalty * stages``

    Covariates are as assumed, or clustered: a Beta(2, 5), and groups of 3 to 1.

    Attributes
    ----------
    clustered_weight : float
        w; without a covariate there is nothing to cluster, and the first term stands alone.
    penalty : float
        Per stage, in the logarithm of the squared error.
    """

    clustered_weight: float = 0.0
    penalty: float = 0.01

    @classmethod
    def of(cls, assumptions, known=0.15, unknown=0.5):
        """The objective with a weight where all spreads are known, or where one is unknown."""
        return cls(unknown if UNKNOWN in assumptions.spreads else known)

    def __call__(self, curves, stages):
        """J, of the mean squared error with even covariates and perhaps that with clustered."""
        weights = [1.0 - self.clustered_weight, self.clustered_weight][: len(curves)]
        return float(np.average(np.log(curves), weights=weights)) + self.penalty * stages


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
        if any(stage.unit != self.budget.unit for stage in self.stages):
            raise DataError("plan: stages and budget are of different units: correct them")
        for stage in self.stages:
            stage.check(1 + self.assumptions.number_of_covariates)
        looked = False
        for stage in self.stages:
            if getattr(stage, "is_relative", False) and not looked:
                raise DataError(
                    "plan: a stage is in units of a residual length that no stage before it "
                    "releases: correct it"
                )
            looked = looked or stage.is_look
        spent = sum(stage.budget for stage in self.stages)
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
        found = stage.simulate(found, rng)
    return found


def simulated(assumptions, stages, covariates=None):
    """Simulated releases, with covariates as assumed or as given, that predict a plan's error."""
    rng = np.random.default_rng([SEED, 2])
    start = FlatReleases.start(assumptions, SEARCH.predicted, rng, SEARCH.tails)
    if covariates is not None:
        start = replace(start, covariates=covariates)
    return run_stages(start, stages, rng)


def plan_release(
    assumptions: Assumptions, budget: PrivacyBudget, work: int = 1 << 24
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
        counted = (CountStage.planned(assumptions, budget.unit, total),)
        total -= counted[0].budget
    if assumptions.spreads not in ((), (EVENLY,)):
        # Groups of other sizes, clusters, or covariates that go together make steps overshoot.
        measured = (MomentsStage.planned(assumptions, budget.unit, total),)
    left = total - sum(stage.budget for stage in measured)
    judge = _Judge(assumptions)
    designs = [measured + each for each in _Grid(assumptions, budget.unit, left, work).designs()]
    refined = 1 if assumptions.residual_scale is None else SEARCH.refined
    designs = sorted(designs, key=lambda stages: judge(stages)[0])[:refined]
    # Residual lengths come between steps, and moments do not.
    may_measure = assumptions.spreads == (EVENLY,) and assumptions.residual_scale is not None
    improved = (judge(_refined(each, judge, total, may_measure)) for each in designs)
    best = min(improved, key=lambda pair: pair[0])[1]
    found = simulated(assumptions, counted + best)
    typical = np.exp(np.mean(np.log(np.square(found.typical))))
    return ReleasePlan(
        assumptions=assumptions,
        budget=budget,
        stages=counted + best,
        error=float(np.sqrt(found.curve)),
        error_without_privacy=float(np.sqrt(len(found.radii) * typical / assumptions.subjects)),
        error_without_data=float(np.sqrt(found.radii**2 / 3.0 @ found.weights)),
    )


class _Grid:
    """Search over a grid of choices among points and noisy steps after them."""

    def __init__(self, assumptions, unit, total, work):
        self.assumptions, self.unit, self.total = assumptions, unit, total
        if assumptions.number_of_covariates > 1:
            work //= SEARCH.several_slower
        self.first_work, self.later_work = work, min(work, SEARCH.later_work)
        rng = np.random.default_rng([SEED, 0])
        self.start = FlatReleases.start(assumptions, SEARCH.compared, rng, SEARCH.tails)
        self.typical, self.dim = self.start.typical, self.start.dim
        # Whether the residual scale is measured by looks between steps.
        self.is_measured = assumptions.residual_scale is None

    def designs(self):
        """The best designs of the grid, as tuples of stages."""
        prefixes = [((), self.start, Fraction(0))]
        if self.start.truth[0].size <= SEARCH.most_choice_dimensions:
            prefixes += list(self._choices())
        found = [
            (releases.curve, stages) for stages, releases, spent in prefixes if spent == self.total
        ]
        open_ones = [each for each in prefixes if each[2] < self.total]
        # One step tells which beginnings are worth more of them.
        alone = [self._steps(each, SEARCH.steps[:1]) for each in open_ones]
        order = np.argsort([each[0][0] for each in alone])[: SEARCH.expanded]
        for index in {0, *order.tolist()}:
            found += alone[index] + self._steps(open_ones[index], SEARCH.steps[1:])
        judged = Objective()
        found.sort(key=lambda each: judged([each[0]], len(each[1])))
        return [stages for _, stages in found[: SEARCH.finalists]]

    def _choices(self):
        """Stages that choose among points: the stages, simulated releases, and what they cost."""
        # With very many subjects scores take too long, and steps do as well.
        first, later = (
            SEARCH.fewest_points * self.assumptions.subjects <= work
            for work in (self.first_work, self.later_work)
        )
        choices = [(share,) for share in SEARCH.measured_choices]
        for shares in choices if self.is_measured else SEARCH.choices:
            if not (later or (first and len(shares) == 1)):
                continue
            stages: tuple = ()
            releases, spent = self.start, Fraction(0)
            is_all = sum(shares) > 1.0 - 1e-9
            for index, share in enumerate(shares):
                last = is_all and index == len(shares) - 1
                part = Fraction(max(1, int(np.rint(SEARCH.grain * share))), SEARCH.grain)
                cost = self.total - spent if last else self.total * part
                stage, releases = self._best_choice(releases, cost, index)
                stages, spent = (*stages, stage), spent + stage.budget
            # Of a rounded square root a crumb may be left.
            yield stages, releases, self.total if is_all else spent

    def _best_choice(self, releases, cost, index):
        epsilon = choice_epsilon(cost, self.unit)
        work = self.later_work if index else self.first_work
        most = SEARCH.most_later_points if index else SEARCH.most_points
        number = work / self.assumptions.subjects
        points = 1 << int(np.log2(np.clip(number, SEARCH.fewest_points, most)))
        radii: list = [None]
        if index:
            typical = np.sqrt(releases.squares)
            radii = [
                tuple(float(each) for each in np.minimum(reach * typical, releases.radii))
                for reach in SEARCH.reaches
            ]
        tried = []
        for radius in radii:
            candidates = points_about(releases, np.random.default_rng([SEED, 3]), points, radius)
            # The best point is about so far away.
            width = releases.radii if radius is None else np.array(radius)
            misfit = np.sqrt(width**2 @ releases.weights) * points ** (
                -1.0 / releases.truth[0].size
            )
            misfit = misfit * np.sqrt(self.dim / (self.dim + 2.0))
            for clip in self._loss_limits(misfit):
                stage = PointsStage.of(epsilon, self.unit, points, clip, radius)
                rng = np.random.default_rng([SEED, 4, index])
                tried.append((stage, stage.simulate(releases, rng, candidates)))
        if self.is_measured:
            return min(tried, key=lambda pair: pair[1].curve)
        return min(tried, key=lambda pair: pair[1].squares @ pair[1].weights)

    def _loss_limits(self, misfit):
        """Limits of losses for points the best of which is so far away."""
        if self.is_measured:
            return [factor * float(self.start.radii[0]) for factor in SEARCH.measured_limits]
        limits = np.array(SEARCH.loss_limits) * np.hypot(self.typical, SEARCH.widened * misfit)
        return [limit_at(level_of(each, self.typical), self.typical) for each in limits]

    def _steps(self, beginning, counts):
        """Designs (squared error, stages) that spend what is left on steps."""
        before, start, spent = beginning
        found, left = [], self.total - spent
        for count, growth in product(counts, SEARCH.growths):
            if count == 1 and growth != SEARCH.growths[0]:
                continue
            last: tuple = ()
            if self.is_measured:
                left = self.total * (1 - SEARCH.last_look) - spent
                left -= count * self.total * SEARCH.looks
                far = FarStage.planned(self.assumptions, self.unit, self.total)
                left -= far.budget
                last = (ScaleStage(self.total * SEARCH.last_look, self.unit), far)
            shares = growth ** np.arange(count)
            parts = np.maximum(1, np.rint(SEARCH.grain * shares / np.sum(shares)).astype(int))[:-1]
            costs = [left * Fraction(int(part), SEARCH.grain) for part in parts]
            costs.append(left - sum(costs))
            releases, stages = start, before
            for index, cost in enumerate(costs):
                if self.is_measured:
                    look = ScaleStage(self.total * SEARCH.looks, self.unit)
                    rng = np.random.default_rng([SEED, 7, index])
                    stages, releases = (*stages, look), look.simulate(releases, rng)
                step, releases = self._best_step(releases, cost, index)
                stages = (*stages, step)
            found.append((releases.curve, (*stages, *last)))
        return found

    def _best_step(self, releases, cost, index):
        if self.is_measured:
            clips = [factor * stretch(releases) for factor in SEARCH.measured_clips]
        else:
            spread = np.sqrt(self.typical**2 + releases.squares @ releases.weights)
            spread *= stretch(releases)
            levels = {level_of(factor * spread, self.typical) for factor in SEARCH.clips}
            clips = [limit_at(level, self.typical) for level in levels]
        tried = []
        for clip in clips:
            step = NoisyStep(cost, self.unit, clip, is_relative=self.is_measured)
            clean = step.prepare(releases)
            step = step.fitted(releases, clean)
            rng = np.random.default_rng([SEED, 4, index])
            tried.append((step, step.simulate(releases, rng, clean)))
        return min(tried, key=lambda pair: pair[1].curve)


class _Judge:
    """The objective of designs, by more releases than those of the grid."""

    def __init__(self, assumptions):
        rng = np.random.default_rng([SEED, 1])
        even = FlatReleases.start(assumptions, SEARCH.again, rng, SEARCH.tails)
        clustered = Covariates.independent(assumptions.spreads, clustered=True)
        # Without a covariate there is no other case.
        self._starts = (
            (even, replace(even, covariates=clustered)) if assumptions.spreads else (even,)
        )
        self._objective = Objective.of(assumptions)
        self._after = lru_cache(SEARCH.kept)(self._simulated)
        self._prepared = lru_cache(SEARCH.kept)(self._prepare)

    def __call__(self, stages):
        """The objective, and the stages with gains that suit what comes before them."""
        releases, fitted = self._after(stages)
        return self._objective([each.curve for each in releases], len(stages)), fitted

    def _simulated(self, stages):
        """Releases with each distribution of covariates after stages, and these with gains."""
        if not stages:
            return self._starts, ()
        before, fitted = self._after(stages[:-1])
        stage, found = stages[-1].fitted(before[0]), []
        for which, releases in enumerate(before):
            rng = np.random.default_rng([SEED, 5, len(stages), which])
            # Other stages would push points out of the cache.
            known = stage.pattern and self._prepared(stages[:-1], which, stage.pattern)
            found.append(stage.simulate(releases, rng, known))
        return tuple(found), (*fitted, stage)

    def _prepare(self, stages, which, pattern):
        """Candidate points of a pattern, which choices with other budgets and limits share."""
        releases = self._after(stages)[0][which]
        return points_about(releases, np.random.default_rng([SEED, 6, which]), *pattern)


def _refined(stages, judge, total, may_measure):
    """A design after changes of one thing at a time that make it better."""
    for _ in range(SEARCH.rounds):
        before = judge(stages)[0]
        for change in _changes(stages, total, may_measure):
            if judge(change)[0] < judge(stages)[0]:
                stages = change
        if judge(stages)[0] > before - SEARCH.enough:
            break
    return stages


def _changes(stages, total, may_measure):
    """Designs that differ in a limit, in how two stages share their budgets, or by moments."""
    for index, stage in enumerate(stages):
        for factor in (2.0 ** (-1.0 / LIMITS_PER_DOUBLING), 2.0 ** (1.0 / LIMITS_PER_DOUBLING)):
            for changed in stage.clipped(factor):
                yield (*stages[:index], changed, *stages[index + 1 :])
    # A look is worth its share at all residual scales.
    free = [index for index, stage in enumerate(stages) if not stage.is_look]
    pairs = {*pairwise(free), (free[0], free[-1])} if len(free) > 1 else ()
    for first, second in sorted(pairs):
        # Moments that are always released keep the budget with which they begin: errors over the
        # whole range would have less of it, and those where clustered subjects are would grow.
        fixed = stages[first].measures and not may_measure
        both = stages[first].budget + stages[second].budget
        for part in SEARCH.shifts[fixed:]:
            moved = part * min(stages[first].budget, stages[second].budget)
            changed = list(stages)
            changed[first] = stages[first].with_budget(stages[first].budget + moved)
            # What rounding leaves goes to the other.
            changed[second] = stages[second].with_budget(both - changed[first].budget)
            yield tuple(changed)
    steps = [index for index, stage in enumerate(stages) if stage.is_step]
    if may_measure and steps and not any(stage.measures for stage in stages):
        last = stages[steps[-1]]
        for share in SEARCH.moment_shares:
            cost = total * share
            if cost < last.budget / 2:
                changed = list(stages)
                changed[steps[-1]] = last.with_budget(last.budget - cost)
                changed.insert(steps[0], MomentsStage(cost, last.unit))
                yield tuple(changed)
