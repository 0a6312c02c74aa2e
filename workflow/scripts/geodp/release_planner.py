"""Stages of an exact release among public points, and what it will be worth, without any data.

A stage chooses among finitely many points about the choice of the stage before.  More points in all
come closer to the records, and every stage costs budget.  What that leads to is simulated under the
assumptions of `geodp.planner`: flat space, and scores at their means.  So plans are functions of
public assumptions alone, the same at every call.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from geodp.budgets import parse_budget
from geodp.errors import DataError
from geodp.manifolds.supports import even_balls
from geodp.mechanisms.certified import Scales
from geodp.planner import MeanScores, Planner, Prediction
from geodp.samplers.public_points import Stage

# Points of a single stage, of each of two or three, and of each of more; and of any where there are
# so many subjects that scores of more would take long.
POINTS = (1 << 16, 1 << 14, 1 << 14, 1 << 12)
MANY_SUBJECTS, FEW_POINTS = 4000, 1 << 12

# What is tried: multiples of the number of stages that is guessed; then, by how much the budget
# grows from one to the next, and radii of patterns, in root mean squared errors of the stage
# before, in few and in many dimensions.  The first of each is tried with all numbers of stages.
COUNTS = (1.0, 0.7, 1.4)
MOST_STAGES = 40
GROWTHS = (1.2, 0.9, 1.6)
FEW_DIMENSIONS = 4
REACHES, REACHES_IN_MANY = (1.4, 2.0), (0.8, 1.1)

# Simulated releases for a comparison, as many as see so many points, within limits; and for the
# prediction, how many, and how many points at a time.
COMPARED_POINTS, FEWEST_COMPARED, MOST_COMPARED = 800_000, 24, 96
PREDICTED, AT_ONCE = 192, 800_000
SEED = 20261121

# Nodes of the covariate's range.
COVARIATES = 4

# In units of the distance of records from the best of a stage's points, what it adds to the scales
# of the gradient and of the loss; and to the loss at the optimum, in squared units.
MISFIT_GRADIENT, MISFIT_LOSS, MISFIT_OFFSET = 3.0, 2.2, 0.5

# Budgets of stages are whole multiples of this share.
GRAIN = 1 << 12


@dataclass(frozen=True)
class ReleasePlan:
    """How a release is to be made, and what is expected of it.

    Attributes
    ----------
    scales : Scales
        For the public inputs of the release.
    stages : tuple of Stage
        For `geodp.release.release`.
    prediction : Prediction
    """

    scales: Scales
    stages: tuple
    prediction: Prediction


def plan_release(planner, number, epsilon, scales=None, points=None):
    """Stages with the least error that is simulated, from public assumptions alone.

    Parameters
    ----------
    planner : Planner
        The assumptions; of the combined score, and both blocks unknown.
    number : int
        Of subjects.
    epsilon : str
        The budget, as text.
    scales : Scales, optional
        The best for the law itself if not given.
    points : int, optional
        Of each stage, a power of two.

    Returns
    -------
    ReleasePlan

    Raises
    ------
    DataError
        A budget or a number that cannot be; or other assumptions than the above.
    """
    epsilon = Fraction(parse_budget(epsilon, "epsilon"))
    if planner.score_name != "combined" or len(planner.unknown) != 2:
        raise DataError("planner: releases are planned for the combined score and both blocks")
    law = planner.predict(number, float(epsilon), scales)
    found = {}

    def error(count, growth, reach):
        each = points or _points(number, count)
        budgets = _budgets(epsilon, count, growth)
        found[count, growth, reach] = _designed(planner, number, budgets, reach, law.scales, each)
        return found[count, growth, reach][1]

    reaches = REACHES if planner.dim <= FEW_DIMENSIONS else REACHES_IN_MANY
    guess = _guessed_count(planner, law)
    counts = {int(np.clip(round(factor * guess), 1, MOST_STAGES)) for factor in COUNTS}
    count = min(sorted(counts), key=lambda count: error(count, GROWTHS[0], reaches[0]))
    if count > 1:
        growth = min(GROWTHS, key=lambda growth: error(count, growth, reaches[0]))
        for reach in reaches[1:]:
            error(count, growth, reach)
    stages, _ = min(found.values(), key=lambda pair: pair[1])
    return ReleasePlan(law.scales, stages, _predicted(planner, number, epsilon, law.scales, stages))


def _guessed_count(planner, law):
    """Stages of which each finds as much as its points can tell, down to the error of the law."""
    nats = 2 * planner.dim * np.log(law.curve_without_data / law.curve) / 2.0
    return max(1.0, nats / np.log(POINTS[-1]))


def _points(number, count):
    if number > MANY_SUBJECTS:
        return FEW_POINTS
    return POINTS[min(count, len(POINTS)) - 1]


def assumed_planner(public):
    """The assumptions of a planner that go with public inputs.

    The clip of the gradient is taken for one and a half times the length of a typical residual.
    """
    residual_scale = public.gradient_scale / (1.5 * np.sqrt(public.manifold.dim))
    return Planner.of(
        public.manifold,
        public.footpoint_radius,
        public.shooting_vector_length,
        residual_scale,
    )


def _budgets(epsilon, count, growth):
    """Budgets of stages in geometric progression, which add up exactly."""
    shares = growth ** np.arange(count)
    parts = np.maximum(1, np.rint(GRAIN * shares / np.sum(shares)).astype(int))[:-1]
    budgets = [epsilon * Fraction(int(part), GRAIN) for part in parts]
    return [*budgets, epsilon - sum(budgets)]


def _designed(planner, number, budgets, reach, base, points):
    """Stages with patterns as wide as simulated errors ask for, and their squared error."""
    rng = np.random.default_rng(SEED)
    rows = np.clip(COMPARED_POINTS // points, FEWEST_COMPARED, MOST_COMPARED)
    errors = _first_errors(rng, planner, int(rows))
    widest = np.array([planner.footpoint_radius, planner.shooting_vector_length])
    radii, stages = None, []
    for budget in budgets:
        stage = Stage(budget, points, radii, base)
        candidates = _Candidates(planner, errors, stage)
        stage = replace(stage, scales=_widened(base, candidates.misfit))
        errors, _ = candidates.choose(rng, number, stage)
        stages.append(stage)
        typical = np.sqrt(np.mean(np.sum(errors**2, axis=-1), axis=0))
        radii = tuple(float(each) for each in np.minimum(reach * typical, widest))
    return tuple(stages), _curve(np.mean(np.sum(errors**2, axis=-1), axis=0))


def _predicted(planner, number, epsilon, base, stages):
    """The `Prediction` of stages, from more simulated releases than those that chose them."""
    rng = np.random.default_rng([SEED, 1])
    squares, by_loss = [], []
    rows = max(1, AT_ONCE // max(stage.points for stage in stages))
    for start in range(0, PREDICTED, rows):
        errors = _first_errors(rng, planner, min(rows, PREDICTED - start))
        for stage in stages:
            errors, decided = _Candidates(planner, errors, stage).choose(rng, number, stage)
        squares.append(np.sum(errors**2, axis=-1))
        by_loss.append(decided)
    at_end = np.mean(np.concatenate(squares), axis=0)
    estimate = planner.estimate(number, stages[-1].scales, np.mean(np.concatenate(by_loss)))
    return planner.prediction(number, float(epsilon), base, at_end + estimate)


def _first_errors(rng, planner, number):
    """Minus true geodesics (number, 2, dim), spread evenly over the support."""
    radii = np.array([planner.footpoint_radius, planner.shooting_vector_length])
    normal = rng.normal(size=(number, 2, planner.dim))
    level = rng.random((number, 2, 1)) ** (1.0 / planner.dim)
    return -radii[:, None] * level * normal / np.linalg.norm(normal, axis=-1, keepdims=True)


def _curve(squares):
    """Squared error of a geodesic from those of its blocks, over the covariate's range."""
    return squares[..., 0] + squares[..., 1] / 12.0


def _widened(base, misfit):
    """Scales for records whose distances to the best of a stage's points add to those they have."""
    loss = np.hypot(base.loss_scale, MISFIT_LOSS * misfit)
    gradient = np.hypot(base.gradient_scale, MISFIT_GRADIENT * misfit)
    offset = base.loss_offset * base.loss_scale**2 + MISFIT_OFFSET * misfit**2
    return Scales(float(gradient), float(loss), float(offset / loss**2))


class _Candidates:
    """Points of a stage as seen from the truth, for several releases (rows)."""

    def __init__(self, planner, errors, stage):
        dim = planner.dim
        pattern = even_balls((dim, dim), stage.points).reshape((-1, 2, dim))
        if stage.radii is None:
            radii = np.array([planner.footpoint_radius, planner.shooting_vector_length])
        else:
            radii = np.array(stage.radii)
            # A later stage may stay where it is.
            pattern = np.concatenate([pattern, np.zeros((1, 2, dim))])
        self._planner, self._errors, self._pattern = planner, errors, radii[:, None] * pattern
        self._footpoint, self._vector = (self._products(block, block) for block in (0, 1))
        self._product = self._products(0, 1)

    def _products(self, first, second):
        """Inner products of blocks of the errors of all points; (rows, points)."""
        errors, pattern = self._errors, self._pattern
        own = np.sum(errors[:, first] * errors[:, second], axis=-1)[:, None]
        moved = np.sum(pattern[:, first] * pattern[:, second], axis=-1)
        return (
            own
            + moved
            + errors[:, first] @ pattern[:, second].T
            + errors[:, second] @ pattern[:, first].T
        )

    @property
    def misfit(self):
        """Typical distance of the best point from the truth."""
        distances = _curve(np.stack([self._footpoint, self._vector], axis=-1))
        return float(np.sqrt(np.mean(np.min(np.maximum(distances, 0.0), axis=1))))

    def choose(self, rng, number, stage):
        """Errors (rows, 2, dim) of a point drawn by each, and whether the loss decided."""
        planner, scales = self._planner, stage.scales
        means = MeanScores(
            planner,
            np.maximum(self._footpoint, 0.0),
            np.maximum(self._vector, 0.0),
            self._product,
            COVARIATES,
        )
        stray = planner.stray(scales.loss_scale) / np.sqrt(number)
        level = means.loss(scales.loss_scale) - scales.loss_offset
        level += stray * rng.normal(size=(len(level), 1))
        gradient = means.gradient(scales.gradient_scale)
        exponent = -0.5 * number * float(stage.epsilon) * np.maximum(level, gradient)
        chosen = np.argmax(exponent + rng.gumbel(size=exponent.shape), axis=1)
        rows = np.arange(len(chosen))
        decided = level[rows, chosen] > gradient[rows, chosen]
        return self._errors + self._pattern[chosen], decided
