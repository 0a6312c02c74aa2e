"""Whole releases of hard neighbours, as they are and with mistakes, judged by property testers."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd

from geodp.audit.attack import as_columns, features
from geodp.audit.published import SPHERE
from geodp.audit.search import Pair
from geodp.audit.testers import bounds
from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream
from geodp.samplers.integer_choice import generator_bits
from geodp_release.accounting import PURE, PrivacyBudget
from geodp_release.assumptions import ADD_OR_REMOVE, REPLACE, Assumptions
from geodp_release.draw import run_plan
from geodp_release.planning import ReleasePlan
from geodp_release.simulation import EVENLY
from geodp_release.stages import CountStage, MatrixStage, MomentsStage, NoisyStep, PointsStage
from geodp_release.subjects import ONE_EACH, subject_records
from geodp_release.timing import release_times, sampler_times
from reproduction.manifolds import study_manifold
from reproduction.measurements.audit import mistakes
from reproduction.measurements.audit.losses import CENTRE

RANGE = (-0.5, 0.5)

# Public inputs: steps are so short that next to none ends at the edge of the support.
RADIUS, LENGTH, CLIP, PRIOR = 1.4, 2.0, 0.1, (0.01, 0.01)

# Public points of a choice, and where it clips losses.
POINTS, LOSS_CLIP = 4, 1.5

# Distance of the record in which neighbours differ, and number of records.
FAR, NUMBER = 1.2, 4

SPACES = {"sphere": (SPHERE, CENTRE), "spd": (make_manifold("spd", 2), np.eye(2))}


@dataclass(frozen=True)
class ReleaseCase:
    """Neighbouring data sets and a plan to release them by."""

    name: str  # The mistake, or that there is none.
    stages: str  # In words.
    plan: ReleasePlan
    data: tuple  # Covariates and points of both data sets.
    pair: Pair  # The record in which they differ.
    mistake: Callable | None = None  # Makes a context in which releases have a mistake.


def cases(space, stated):
    """`ReleaseCase` of a stated budget from hard neighbours, and the same with mistakes.

    Records but the last lie at the centre in the middle of the range, where gradients are zero.
    The last is as far away in one direction, at one end of the range, as in the other.
    """
    manifold, centre = SPACES[space]
    total = Fraction(str(stated))
    half, towards = total / 2, manifold.frame(centre)[0]

    def step(budget):
        return NoisyStep(Fraction(budget), PURE, clip=CLIP, prior=PRIOR)

    def pair_of(covariates, places):
        x, y = np.zeros((2, NUMBER)), np.broadcast_to(centre, (2, NUMBER, *centre.shape)).copy()
        x[:, -1] = covariates
        y[:, -1] = manifold.exp(centre, manifold.expand(np.array(places)) * towards)
        return Pair(x, y, NUMBER - 1)

    def case(name, words, stages, pair, mistake=None):
        # A count is released where subjects are added or removed.
        neighbours = ADD_OR_REMOVE if isinstance(stages[0], CountStage) else REPLACE
        assumptions = Assumptions(
            manifold,
            centre,
            RADIUS,
            LENGTH,
            RANGE,
            NUMBER,
            residual_scale=0.1,
            neighbours=neighbours,
            covariate_spread=EVENLY,
        )
        budget = PrivacyBudget(str(float(sum(stage.budget for stage in stages))))
        plan = ReleasePlan(assumptions, budget, tuple(stages), 1.0, 1.0, 1.0)
        data = list(zip(pair.covariates, pair.points, strict=True))
        if neighbours == ADD_OR_REMOVE:
            data[1] = tuple(part[:-1] for part in data[1])
        return ReleaseCase(name, words, plan, tuple(data), pair, mistake)

    opposite = pair_of((0.5, 0.5), (FAR, -FAR))
    # Both the gradients and the covariates differ.
    other_end = pair_of((0.5, -0.5), (FAR, FAR))
    # On the geodesic: then no residual is large.
    near = pair_of((0.5, 0.5), (FAR, 0.0))
    choice = PointsStage.of(half, PURE, POINTS, LOSS_CLIP)
    matrix = MatrixStage(total, PURE, clip=CLIP, prior=PRIOR, reach=2.0)
    right, one, counted = "release", [step(total)], "a count, then a step"
    return [
        case(right, "one step", one, opposite),
        case(right, "a choice, then a step", [choice, step(half)], opposite),
        case(right, "moments, then a step", [MomentsStage(half, PURE), step(half)], other_end),
        case(right, "a matrix of moments", [matrix], other_end),
        case(right, counted, [CountStage(half, PURE), step(half)], opposite),
        *(
            case(f"release, {name}", "one step", one, pair, mistake)
            for name, pair, mistake in (
                ("factor 2 left out", opposite, mistakes.without_factor_two),
                ("clipping after the sum", opposite, mistakes.clipping_after_the_sum),
                ("tau from the data", near, mistakes.tau_from_the_data),
            )
        ),
        case(
            "release, a budget spent twice",
            counted,
            [CountStage(total, PURE), step(total)],
            opposite,
        ),
    ]


def released_columns(case, streams, number):
    """Names, and columns (number, columns) of what releases of both data sets of a case say.

    Each of the two data sets has a generator of random bits.
    """
    assumptions = case.plan.assumptions
    found = []
    with case.mistake() if case.mistake else nullcontext(), mistakes.same_sums():
        for stream, data in zip(streams, case.data, strict=True):
            records = subject_records(assumptions, *data, ONE_EACH)
            bits, shared = generator_bits(stream), {}
            released = [run_plan(case.plan, records, bits, shared) for _ in range(number)]
            states = np.array([each.state for each in released])
            named = features(assumptions.manifold, assumptions.centre, states, case.pair)
            named["number"] = np.array([each.number for each in released])
            named["mean covariate"], named["mean square"] = np.array(
                [each.moments for each in released]
            ).T
            found.append(named)
    return as_columns(found)


def measure(settings, space):
    """Table of lower bounds of the budgets of whole releases, by each property tester."""
    chosen = settings["releases"]
    rows = []
    for case in cases(space, chosen["stated"]):
        names = settings["seed"], "audit", "releases", space, case.name, case.stages
        streams = [random_stream(*names, str(which)) for which in (0, 1)]
        names, columns = released_columns(case, streams, chosen["draws"])
        described = {"mechanism": case.name, "stages": case.stages, "n": NUMBER}
        described |= {"space": case.plan.assumptions.manifold.name, "stated": chosen["stated"]}
        rows += [described | found for found in bounds(columns, names, chosen["confidence"])]
    return (pd.DataFrame(rows),)


def times(settings):
    """Tables of the processor times of draws of noise, and of releases with extreme records."""
    chosen = settings["times"]
    releases = [
        row
        for space in chosen["spaces"]
        for row in release_times(
            study_manifold(space), chosen["n"], chosen["repeats"], settings["seed"]
        )
    ]
    return pd.DataFrame(sampler_times(chosen["draws"])), pd.DataFrame(releases)
