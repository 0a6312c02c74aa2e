"""An exact audit of releases: privacy losses of each stage between neighbours.

No loss is estimated.  A stage is run on one data set with its noise recorded, and on a neighbouring
one with that noise replayed: what is released has to be the same, and the loss follows from how far
the sums differ to which noise of its scale is added (`geodp_release.run.replay`).  That the noise
has its distribution is tested in `test_exact_noise`.
"""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
from conftest import space_of

from geodp import SPD, DataError, Euclidean, ReleasePlan, Sphere
from geodp.samplers.integer_choice import generator_bits
from geodp_release import stages as st
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import CONCENTRATED, PURE, UNITS, PrivacyBudget, choice_epsilon
from geodp_release.promise.public_inputs import (
    ADD_OR_REMOVE,
    HUBER,
    LEAST_SQUARES,
    NEIGHBOURS,
    REPLACE,
)
from geodp_release.run.clipping_coordinates import WINDOW
from geodp_release.run.contributions import LATTICE
from geodp_release.run.replay import Tape
from geodp_release.run.subjects import subject_records
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.draw import Released
from replay_runs import few_at_once

SPHERE = Sphere(2)
RANGE = (-0.5, 0.5)
CLIP, FEW = 0.3, 8
# A last released length, of which some residuals are far more than that.
FAR_AWAY = 0.05
KINDS = ("points", "moments", "matrix", "scale", "far", "step", "count", "tail", "blocks", "ways")
ROBUST = ("beyond", "last", "blocks", "ways")

# Subjects of a data set, of which the last is replaced or removed; and the limit of its records.
NUMBER, LIMIT = 3, 2


def assumed(manifold=SPHERE, neighbours=REPLACE, number=NUMBER, covariates=1, loss=LEAST_SQUARES):
    centre, ranges = manifold.random_point(np.random.default_rng(0)), (RANGE,) * covariates
    public = manifold, centre, 0.8, 1.5, ranges, number, LIMIT, neighbours
    return Assumptions(*public, residual_scale=0.1, loss=loss)


def stage_of(kind, unit, budget, covariates=1):
    """A stage of about a budget, and exactly that unless it is a choice."""
    if kind == "points":
        return st.PointsStage.of(choice_epsilon(budget, unit), unit, FEW, 0.5)
    if kind in ("step", "last"):
        cls = st.NoisyStep if kind == "step" else st.LastStep
        return cls(budget, unit, clip=CLIP, prior=(1.0,) * (1 + covariates))
    if kind == "matrix":
        # So far that records at the ends of ranges are not shortened.
        widths = st.MatrixStage.widths(assumed(covariates=covariates))[1:]
        reach = float(np.sqrt(1.0 + np.sum(0.25 / widths**2)))
        return st.MatrixStage(budget, unit, clip=CLIP, prior=(1.0,) * (1 + covariates), reach=reach)
    if kind in ("blocks", "ways"):
        return st.ProductsStage(budget, unit, clip=CLIP / FAR_AWAY, directions=kind == "ways")
    if kind == "tail":
        return st.TailStage(budget, unit, limit=0.5 * CLIP / FAR_AWAY)
    others = {"beyond": st.BeyondStage, "count": st.CountStage, "far": st.FarStage}
    others |= {"moments": st.MomentsStage, "scale": partial(st.ScaleStage, share=0.75)}
    return others[kind](budget, unit)


# Neighbouring data sets


def extreme_subject(assumptions, state, rng):
    """Covariates and points of a subject: far from a state's geodesic or on it, at the ends."""
    manifold = assumptions.manifold
    p, *vectors = state
    # The moments' worst pairs are an end and the place next to it in this list.
    x = rng.choice([-0.5, -0.125, -0.07, 0.0, 0.5], size=(LIMIT, len(vectors)))
    if rng.random() < 0.6:
        x[:] = x[0]
    if len(vectors) > 1 and rng.random() < 0.5:
        # Of several covariates those of corners.
        x[:] = rng.choice([-0.5, 0.5], size=len(vectors))
    steps = along(manifold, state, x)
    ends = manifold.exp(np.broadcast_to(p, steps.shape), steps)
    # In the same few directions for all subjects, so that some are opposite.
    frame = manifold.frame(p)
    towards = rng.choice([-1.0, 1.0]) * frame[rng.integers(len(frame))]
    directions = manifold.transport(p, steps, towards)
    lengths = rng.choice([0.0, 1e-3, 0.4, 2.0]) * np.ones(LIMIT)
    points = manifold.exp(ends, manifold.expand(lengths) * directions)
    return x, points, int(rng.integers(1, LIMIT + 1))


def along(manifold, state, x):
    """Steps from the footpoint to predictions at covariates (n, k)."""
    return np.tensordot(x, state[1:], axes=1) + np.zeros((len(x), *manifold.point_shape))


def assembled(assumptions, subjects):
    x, y, labels = [], [], []
    for k, (covariates, points, count) in enumerate(subjects):
        x += [*covariates[:count]]
        y += [*points[:count]]
        labels += [k] * count
    shape = (len(y), *assumptions.manifold.point_shape)
    x = np.reshape(x, (len(y), assumptions.number_of_covariates))
    return subject_records(assumptions, x, np.reshape(y, shape), labels)


def opposite_subjects(assumptions, state, place, signs=(1.0, -1.0), direction=0):
    """Two subjects whose clipped gradients are opposite, all at one end of the range.

    Or of other signs, in another direction of a frame.
    """
    manifold = assumptions.manifold
    x = np.full((LIMIT, len(state) - 1), place)
    to_end = along(manifold, state, x)[0]
    end = manifold.exp(state[0], to_end)
    frame = manifold.frame(state[0])
    step = 2.0 * manifold.transport(state[0], to_end, frame[direction % len(frame)])
    shape = (LIMIT, *manifold.point_shape)
    return [(x, np.broadcast_to(manifold.exp(end, sign * step), shape), 1) for sign in signs]


def neighbours_about(assumptions, anchors, rng, products=False):
    """A hard pair of neighbours at a state, the first of the anchors, or about the others.

    Or one that is hard for ``products``.  Returned are assumptions and two data sets, which differ
    in their last subject, or of which the second lacks it.
    """
    number = NUMBER if rng.random() < 0.5 else 1
    assumptions = replace(assumptions, subjects=number)

    def any_subject():
        state = anchors[0 if rng.random() < 0.5 else rng.integers(len(anchors))]
        return extreme_subject(assumptions, state, rng)

    subjects = [any_subject() for _ in range(number)]
    other = any_subject()
    if rng.random() < 0.5:
        subjects = [subjects[0]] * number
    ends, chance = (-0.5, 0.5), rng.random()
    if chance < 0.3:
        subjects[-1], other = opposite_subjects(assumptions, anchors[0], rng.choice(ends))
    elif chance < 0.4:
        # Their vectors in a matrix of moments are nearly orthogonal.
        pairs = [opposite_subjects(assumptions, anchors[0], end) for end in ends]
        (subjects[-1], _), (other, _) = pairs
    elif products and chance < 0.8:
        # Their products are orthogonal: at both ends of a window, in two directions; or none.
        subjects[-1], _ = opposite_subjects(assumptions, anchors[0], -0.5)
        end, signs = 0.5 * assumptions.is_robust, (rng.choice([0.0, 1.0]), 0.0)
        other, _ = opposite_subjects(assumptions, anchors[0], end, signs, 1)
    first = assembled(assumptions, subjects)
    if assumptions.neighbours == REPLACE:
        return assumptions, first, assembled(assumptions, [*subjects[:-1], other])
    second = first.take(slice(number - 1))
    pair = (first, second) if rng.random() < 0.5 else (second, first)
    return assumptions, *pair


# Exact privacy losses


def before(assumptions, state, number=NUMBER):
    """What was released before a stage, with covariates that are not in the middle of ranges."""
    moments = Covariates.independent(assumptions.spreads, clustered=True).moments
    if len(moments) == 2:
        # Of one covariate from -1/2 to 0: at the ends of that lie the worst records.
        moments = np.array([-0.25, 0.0625 + (0.25 / WINDOW) ** 2])
    is_whole = assumptions.is_robust
    return Released(state, float(number), moments, lengths=(FAR_AWAY,), is_whole=is_whole)


def loss_of(stage, pair, state):
    """Realised privacy loss of a stage in the unit of its budget.

    Infinite where the noise of one data set, added to the sums of the other, does not give the
    same release.
    """
    (assumptions, *pair), bits = pair, generator_bits(np.random.default_rng(5))
    given, calls, released = before(assumptions, state), [], []
    for records in pair:
        tape = Tape(recorded=calls[0] if calls else None)
        with tape.running():
            released.append(vars(stage.run(given, assumptions, records, bits)))
        calls.append(tape.calls)
    pairs = list(zip(*calls, strict=True))
    same = all(one.public == other.public for one, other in pairs)
    if not same or not all(map(np.array_equal, *(each.values() for each in released))):
        return np.inf
    return sum(
        one.noise.cost(np.subtract(one.inputs, other.inputs, dtype=object), stage.unit)
        for one, other in pairs
    )


def largest_loss(stages, assumptions, tries=40, seed=3):
    """Largest loss of all stages together that a search over neighbours finds."""
    rng = np.random.default_rng(seed)
    support = assumptions.support
    # Shooting vectors of the first are zero: there residuals are gradients.
    states = np.concatenate([support.origin[None], support.draw(rng, (1,))])
    largest = 0.0
    for attempt in range(tries):
        state = states[attempt % 2]
        anchors = state[None]
        for stage in stages:
            if isinstance(stage, st.PointsStage):
                anchors = np.concatenate([anchors, support.even_points(FEW)[0]])
        products = isinstance(stages[0], st.ProductsStage)
        pair = neighbours_about(assumptions, anchors, rng, products)
        largest = max(largest, sum(loss_of(stage, pair, state) for stage in stages))
    return largest


# What rounding of floats in the audit itself may add.
SLACK = 1.0 + 1e-9
ONE = Fraction(1)
# Sums on all other spaces are bounded in `test_contributions`.
OTHERS = (Euclidean(1), 1), (SPD(2), 1), (space_of("Torus"), 1), (SPHERE, 0), (SPHERE, 2)
# Of each of these two pairs, which hold each unit and each kind of neighbours.
PAIRS = (PURE, REPLACE), (CONCENTRATED, ADD_OR_REMOVE)
CASES = [(SPHERE, 1, *pair) for pair in product(UNITS, NEIGHBOURS)]
CASES += [(*other, *pair) for other, pair in product(OTHERS, PAIRS)]


@pytest.fixture(autouse=True)
def _fast():
    with few_at_once():
        yield


@pytest.mark.parametrize(("space", "covariates", "unit", "neighbours"), CASES, ids=str)
@pytest.mark.parametrize(
    ("kind", "loss"), [*product(KINDS, [LEAST_SQUARES]), *product(ROBUST, [HUBER])]
)
def test_stages_hold_their_budgets_and_come_near_them(
    kind, unit, neighbours, space, covariates, loss
):
    if kind == "moments" and not covariates:
        pytest.skip("a mean has no covariates, whose moments a stage would release")
    assumptions = assumed(space, neighbours, covariates=covariates, loss=loss)
    stage = stage_of(kind, unit, ONE, covariates)
    found = largest_loss([stage], assumptions)
    if kind == "count" and neighbours == REPLACE:
        assert found == 0.0
        return
    assert found <= float(stage.budget) * SLACK
    if kind in ("step", "last", "count", "far", "beyond"):
        # Clipped to the last thousandth.
        assert found > 0.998
    elif kind == "scale":
        assert found > 0.56 * float(stage.budget)
    else:
        # With two covariates no two records of the search have orthogonal contributions.
        least = 0.7 if kind == "blocks" and covariates > 1 else 0.9
        assert found > least * float(stage.budget)


@pytest.mark.parametrize(("unit", "neighbours"), [(PURE, ADD_OR_REMOVE), (CONCENTRATED, REPLACE)])
def test_a_plan_holds_its_budget_and_spending_one_twice_is_found(unit, neighbours):
    kinds = ["points", "step", "step", "step"]
    kinds = ["count", *kinds] if neighbours == ADD_OR_REMOVE else kinds
    stages = [stage_of(kind, unit, ONE / len(kinds)) for kind in kinds]
    budget = PrivacyBudget("1", unit, None if unit == PURE else "1e-6")
    plan = ReleasePlan(assumed(neighbours=neighbours), budget, tuple(stages), 1.0, 1.0, 1.0)
    found = largest_loss(stages, plan.assumptions)
    assert 0.7 < found <= SLACK
    # The second step spends what the first one has, and that once more.
    greedy = [*stages[:-1], stage_of("step", unit, ONE)]
    assert largest_loss(greedy, plan.assumptions) > 1.1
    with pytest.raises(DataError, match="more than the budget"):
        replace(plan, stages=tuple(greedy))


@pytest.mark.parametrize("unit", UNITS)
def test_a_step_releases_what_is_on_a_lattice(unit):
    """The same for all data."""
    assumptions, rng = assumed(number=1), np.random.default_rng(8)
    state, stage = assumptions.support.origin, st.NoisyStep(Fraction(4), unit, clip=0.25)
    records = assembled(assumptions, [extreme_subject(assumptions, state, rng)])
    bits = [generator_bits(np.random.default_rng([7, seed])) for seed in range(8)]
    released = before(assumptions, state, 1.0)
    found = [stage.noisy_means(assumptions, records, released, each) for each in bits]
    units = np.array(found) * (2 * LATTICE / stage.clip)
    np.testing.assert_allclose(units, np.rint(units), rtol=0.0, atol=1e-6)
