"""Plans of releases in stages, with their predicted errors, from public assumptions alone.

A stage draws from finitely many points about the draw of the stage before.  More stages resolve the
geodesic more finely, and each spends budget.  Releases are simulated under the assumptions of
`geodp.release.planner`: flat space, and scores at their means.  A plan is a function of public
assumptions, and the same at every call.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.supports import even_balls
from geodp.mechanisms.budgets import parse_budget
from geodp.mechanisms.certified import Scales
from geodp.release.planner import MeanScores, Planner, Prediction
from geodp.samplers.public_points import Stage

# Points of each stage: of a single one, of two, of three, of more; and with many subjects, whose
# scores take long.
POINTS = (1 << 16, 1 << 14, 1 << 14, 1 << 12)
MANY_SUBJECTS, FEW_POINTS = 4000, 1 << 12

# Search grid: number of stages, as multiples of a guess; growth of the budget from stage to stage;
# and pattern radii, in root mean squared errors of the stage before, in few and in many dimensions.
# The number of stages is chosen with the first growth and radius.
COUNTS = (0.7, 1.0, 1.4, 2.0)
MOST_STAGES = 40
GROWTHS = (1.2, 0.9, 1.6)
FEW_DIMENSIONS = 4
REACHES, REACHES_IN_MANY = (1.4, 2.0, 2.8), (0.8, 1.1)

# Simulated releases of a candidate; and of each finalist, of which the best is chosen.  A few large
# errors dominate a mean squared error, so finalists are simulated again.
COMPARED, PREDICTED, FINALISTS = 192, 384, 3

# Score the NEAR nearest points exactly and a random FAR of the rest, reweighted.  AT_ONCE distances
# are held at a time; FOR_MISFIT releases measure how near the best point is.
NEAR, FAR = 768, 768
AT_ONCE = 1 << 20
FOR_MISFIT = 48

SEED = 20261121

# Nodes of the covariate's range.
COVARIATES = 4

# The misfit of a stage is the distance of its best point from the truth.  These multiples of it are
# added to the scales of the gradient and of the loss, and of its square to the loss offset.
MISFIT_GRADIENT, MISFIT_LOSS, MISFIT_OFFSET = 3.0, 2.2, 0.5

# Budgets of stages are whole multiples of this share.
GRAIN = 1 << 12


@dataclass(frozen=True)
class ReleasePlan:
    """Scales and stages of a release, with its predicted error.

    Attributes
    ----------
    scales : Scales
        For the public inputs of the release.
    stages : tuple of Stage
        For `geodp.release.release.release_geodesic`.
    prediction : Prediction
    """

    scales: Scales
    stages: tuple
    prediction: Prediction


def plan_release(
    planner: Planner,
    number: int,
    epsilon: str,
    scales: Scales | None = None,
    points: int | None = None,
) -> ReleasePlan:
    """Find the stages with the smallest simulated error, from public assumptions alone.

    Parameters
    ----------
    planner : Planner
        The assumptions, with the combined score and both blocks unknown.
    number : int
        Number of subjects.
    epsilon : str
        The budget as decimal text.
    scales : Scales, optional
        By default the best for exact draws from the distribution on its whole support.
    points : int, optional
        Points of each stage, a power of two.

    Returns
    -------
    ReleasePlan

    Raises
    ------
    DataError
        A budget, a number or a planner other than described.
    """
    budget = Fraction(parse_budget(epsilon, "epsilon"))
    if planner.score_name != "combined" or len(planner.unknown) != 2:
        raise DataError("planner: releases are planned for the combined score and both blocks")
    limit = planner.predict(number, float(budget), scales)
    found = {}

    def error(count, growth, reach):
        each = points or _points(number, count)
        budgets = _budgets(budget, count, growth)
        found[count, growth, reach] = _designed(planner, number, budgets, reach, limit.scales, each)
        return found[count, growth, reach][1]

    reaches = REACHES if planner.dim <= FEW_DIMENSIONS else REACHES_IN_MANY
    guess = _guessed_count(planner, limit)
    counts = {int(np.clip(round(factor * guess), 1, MOST_STAGES)) for factor in COUNTS}
    count = min(sorted(counts), key=lambda count: error(count, GROWTHS[0], reaches[0]))
    if count > 1:
        growth = min(GROWTHS, key=lambda growth: error(count, growth, reaches[0]))
        for reach in reaches[1:]:
            error(count, growth, reach)
    plans = [
        ReleasePlan(limit.scales, stages, _predicted(planner, number, budget, limit.scales, stages))
        for stages, _ in sorted(found.values(), key=lambda pair: pair[1])[:FINALISTS]
    ]
    return min(plans, key=lambda plan: plan.prediction.curve)


def _guessed_count(planner, limit):
    """Number of stages to the error of the limit, if each gains the entropy of its points."""
    nats = 2 * planner.dim * np.log(limit.curve_without_data / limit.curve) / 2.0
    return max(1.0, nats / np.log(POINTS[-1]))


def _points(number, count):
    if number > MANY_SUBJECTS:
        return FEW_POINTS
    return POINTS[min(count, len(POINTS)) - 1]


def _budgets(epsilon, count, growth):
    """Budgets of stages in geometric progression, with an exact sum."""
    shares = growth ** np.arange(count)
    parts = np.maximum(1, np.rint(GRAIN * shares / np.sum(shares)).astype(int))[:-1]
    budgets = [epsilon * Fraction(int(part), GRAIN) for part in parts]
    return [*budgets, epsilon - sum(budgets)]


def _designed(planner, number, budgets, reach, base, points):
    """Stages with radii from simulated errors, and their mean squared error."""
    rng = np.random.default_rng(SEED)
    errors, strays = _first_errors(rng, planner, COMPARED), rng.normal(size=COMPARED)
    radii: Any = None
    stages: list = []
    for budget in budgets:
        stage = Stage(budget, points, radii, base)
        stage = replace(stage, scales=_widened(base, _misfit(planner, errors, stage)))
        errors, by_loss = _choose(rng, planner, errors, strays, number, stage)
        stages.append(stage)
        typical = np.sqrt(np.mean(np.sum(errors**2, axis=-1), axis=0))
        radii = tuple(float(each) for each in np.minimum(reach * typical, planner.radii))
    return tuple(stages), _curve(_squares(planner, number, errors, by_loss, stages))


def _predicted(planner, number, epsilon, base, stages):
    """`Prediction` for stages, from simulated releases independent of those that chose them."""
    rng = np.random.default_rng([SEED, 1])
    errors, strays = _first_errors(rng, planner, PREDICTED), rng.normal(size=PREDICTED)
    for stage in stages:
        errors, by_loss = _choose(rng, planner, errors, strays, number, stage)
    squares = _squares(planner, number, errors, by_loss, stages)
    return planner.prediction(number, float(epsilon), base, squares)


def _squares(planner, number, errors, by_loss, stages):
    """Mean squared errors (2,) after the last stage, that of the estimate included."""
    estimate = planner.estimate(number, stages[-1].scales, np.mean(by_loss))
    return np.mean(np.sum(errors**2, axis=-1), axis=0) + estimate


def _first_errors(rng, planner, number):
    """Errors (number, 2, dim) before the first stage: minus uniform draws from the support."""
    normal = rng.normal(size=(number, 2, planner.dim))
    level = rng.random((number, 2, 1)) ** (1.0 / planner.dim)
    return -planner.radii[:, None] * level * normal / np.linalg.norm(normal, axis=-1, keepdims=True)


def _curve(squares):
    """Squared error of a geodesic from those of its blocks, over the covariate's range."""
    return squares[..., 0] + squares[..., 1] / 12.0


def _widened(base, misfit):
    """Scales for residuals about the best of a stage's points, which add a misfit to their own."""
    loss = np.hypot(base.loss_scale, MISFIT_LOSS * misfit)
    gradient = np.hypot(base.gradient_scale, MISFIT_GRADIENT * misfit)
    offset = base.loss_offset * base.loss_scale**2 + MISFIT_OFFSET * misfit**2
    return Scales(float(gradient), float(loss), float(offset / loss**2))


def _pattern(planner, stage):
    """Points of a stage (points, 2, dim) relative to the draw before."""
    pattern = even_balls((planner.dim, planner.dim), stage.points).reshape((-1, 2, planner.dim))
    if stage.radii is None:
        return planner.radii[:, None] * pattern
    # A later stage may stay where it is.
    pattern = np.concatenate([pattern, np.zeros((1, 2, planner.dim))])
    return np.array(stage.radii)[:, None] * pattern


def _products(errors, pattern, first, second):
    """Inner products of blocks of the errors of all points; (releases, points)."""
    own = np.sum(errors[:, first] * errors[:, second], axis=-1)[:, None]
    moved = np.sum(pattern[:, first] * pattern[:, second], axis=-1)
    crossed = errors[:, first] @ pattern[:, second].T
    if first == second:
        return np.maximum(own + moved + 2.0 * crossed, 0.0)
    return own + moved + crossed + errors[:, second] @ pattern[:, first].T


def _misfit(planner, errors, stage):
    """Typical distance of the best point from the truth."""
    pattern, errors = _pattern(planner, stage), errors[:FOR_MISFIT]
    squares = [_products(errors, pattern, block, block) for block in (0, 1)]
    return float(np.sqrt(np.mean(np.min(_curve(np.stack(squares, axis=-1)), axis=1))))


def _choose(rng, planner, errors, strays, number, stage):
    """Errors (releases, 2, dim) after a stage, and whether the loss was the larger term.

    ``strays`` holds the deviation of each release's mean loss from its expectation, in standard
    deviations; it is the same in all stages, since the records are.
    """
    pattern = _pattern(planner, stage)
    rows = max(1, AT_ONCE // len(pattern))
    found = []
    for start in range(0, len(errors), rows):
        some = slice(start, start + rows)
        found.append(_choose_some(rng, planner, errors[some], strays[some], pattern, number, stage))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def _choose_some(rng, planner, errors, strays, pattern, number, stage):
    products = [_products(errors, pattern, *pair) for pair in ((0, 0), (1, 1), (0, 1))]
    chosen = np.broadcast_to(np.arange(len(pattern)), products[0].shape)
    log_weight = np.zeros(len(pattern))
    others = len(pattern) - NEAR
    if others > FAR:
        order = np.argpartition(products[0] + products[1] / 12.0, NEAR, axis=1)
        far = NEAR + rng.choice(others, FAR, replace=False)
        chosen = order[:, np.concatenate([np.arange(NEAR), far])]
        log_weight = np.repeat([0.0, np.log(others / FAR)], [NEAR, FAR])
        products = [np.take_along_axis(each, chosen, axis=1) for each in products]
    scales = stage.scales
    footpoint, vector, product = products
    means = MeanScores(planner, footpoint, vector, product, COVARIATES)
    stray = planner.stray(scales.loss_scale) / np.sqrt(number)
    level = means.loss(scales.loss_scale) - scales.loss_offset
    level += stray * strays[:, None]
    gradient = means.gradient(scales.gradient_scale)
    exponent = log_weight - 0.5 * number * float(stage.epsilon) * np.maximum(level, gradient)
    place = np.argmax(exponent + rng.gumbel(size=exponent.shape), axis=1)[:, None]
    by_loss = np.take_along_axis(level > gradient, place, axis=1)[:, 0]
    return errors + pattern[np.take_along_axis(chosen, place, axis=1)[:, 0]], by_loss
