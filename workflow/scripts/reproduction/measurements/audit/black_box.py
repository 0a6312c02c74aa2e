"""Lower bounds of privacy budgets from released draws alone."""

from fractions import Fraction

import numpy as np
import pandas as pd

from geodp.audit.attack import as_columns, dependence, features
from geodp.audit.published import SPHERE
from geodp.audit.search import Pair
from geodp.data.simulate import simulate_geodesic_data
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.base import PublicSettings
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from geodp.samplers import choice
from geodp.samplers.base import run
from geodp.samplers.integer_choice import generator_bits
from geodp_release.accounting import PURE
from geodp_release.assumptions import Assumptions
from geodp_release.draw import Released
from geodp_release.stages import PointsStage
from geodp_release.subjects import ONE_EACH, subject_records
from reproduction.measurements.audit.losses import CENTRE, found_in_draws
from reproduction.measurements.rats import observed_rats


def published_footpoints(manifold, budget, data_radius=None):
    """The published footpoint's draws, as the workflow makes them.

    A function from a generator, data (covariates, points) and a number to draws (number, 1,
    *point_shape).
    """
    model, public = GeodesicModel(manifold), PublicSettings(data_radius=data_radius)

    def draw(rng, data, number):
        data = [part[None] for part in data]
        mechanism = KNGAsPublished.prepare(model, *data, public, model.fit(*data))
        target = mechanism.footpoint_target(budget)
        plan = choice.plan(rng, target, number)
        state, _ = run(rng, plan.sampler, target, number, plan.steps)
        return state.position[0][:, None]

    return draw


def first_choice(budget, power, clip):
    """A stage that spends all of a budget on one choice among 2^power public points."""
    return PointsStage.of(Fraction(str(budget)), PURE, 1 << power, clip)


def released_geodesics(assumptions, stage):
    """Draws of a release by one choice among public points, but for where random bits come from.

    A function from a generator, data (covariates, points) and a number to draws (number, 2,
    *point_shape).
    """

    # Of what was released before, a choice reads nothing.
    before = Released(assumptions.support.origin, assumptions.subjects, moments=np.zeros(2))

    def draw(rng, data, number):
        records = subject_records(assumptions, *data, ONE_EACH)
        bits, shared = generator_bits(rng), {}
        runs = (stage.run(before, assumptions, records, bits, shared) for _ in range(number))
        return np.array([each.state for each in runs])

    return draw


def one_far(manifold, centre, direction, number, place, far):
    """Neighbours that differ in where one record lies: far along a line on one side or the other.

    All the others lie at one place of the same line.  They hold most draws on their side, where the
    last record of one data set is near, and that of the other so far away that its loss is
    clipped.  So the sum of the weights of all points is larger for one by up to exp(eps / 2); and
    on the other side, where few draws are, the weight itself is larger for the other by as much.
    """
    steps = np.full((2, number), place)
    steps[:, -1] = -far, far
    points = manifold.exp(centre, manifold.expand(steps) * direction)
    return Pair(np.full((2, number), 0.5), points, number - 1)


def mistyped(data):
    """A data set, and the one in which the record of least covariate has that of one."""
    covariates, points = data
    record = int(np.argmin(covariates))
    changed = covariates.copy()
    changed[record] = 1.0
    return Pair(np.stack([covariates, changed]), np.stack([points, points]), record)


def published_cases(seed, rats):
    """Name, data, covariates and data radius for the published footpoint."""
    manifold = make_manifold("kendall", 8)
    records = observed_rats(manifold, rats)
    yield "rats, one age mistyped", manifold, (records.covariates, records.points), None
    manifold = make_manifold("spd", 2)
    made = simulate_geodesic_data(
        random_stream(seed, "audit", "spd", "data"),
        GeodesicModel(manifold),
        1,
        20,
        0.001,
        shooting_vector_length=0.6,
        first_point=np.eye(2),
        ambient_noise=False,
    )
    data = made.covariates[0, :, 0], made.points[0]
    yield "simulated, one covariate mistyped", manifold, data, 1.0


def sphere_case(chosen):
    """A name, assumptions, limit of losses and neighbours on the sphere, from settings."""
    place = 0.5 * chosen["angle"]
    pair = one_far(SPHERE, CENTRE, SPHERE.frame(CENTRE)[0], 5, place, place)
    return "one record opposite", _assumptions(SPHERE, CENTRE, 2.0, 5), chosen["tau"], pair


def spd_case(chosen):
    """The same on SPD(2): on the line of multiples of the identity, which no curvature bends."""
    manifold, centre = make_manifold("spd", 2), np.eye(2)
    assumptions = _assumptions(manifold, centre, chosen["footpoint_radius"], chosen["n"])
    direction = centre / manifold.norm(centre, centre)
    pair = one_far(manifold, centre, direction, chosen["n"], chosen["place"], chosen["far"])
    return "one record far away", assumptions, chosen["tau"], pair


def _assumptions(manifold, centre, footpoint_radius, number):
    # Geodesics have next to no length, since the attacks are on footpoints; and no stage here
    # depends on the residual scale.
    return Assumptions(
        manifold, centre, footpoint_radius, 1e-3, (0.0, 1.0), number, residual_scale=1.0
    )


def measure(settings, rats):
    """Table of lower bounds of budgets from draws alone.

    Draws are of the published footpoint, and of releases by one choice among public points.
    """
    chosen, seed = settings["black_box"], settings["seed"]
    stated = chosen["stated"]
    rows = []

    def keep(mechanism, manifold, centre, draw, pair, number, run_at, data, stream=None):
        names = (seed, "audit", "black box", stream or mechanism, data, f"{run_at:g}")
        draws = [
            draw(random_stream(*names, str(which)), (x, y), number)
            for which, (x, y) in enumerate(zip(pair.covariates, pair.points, strict=True))
        ]
        rows.extend(
            found_in_draws(
                *as_columns([features(manifold, centre, part, pair) for part in draws]),
                stated,
                chosen["confidence"],
                mechanism=mechanism,
                data=data,
                space=manifold.name,
                n=pair.covariates.shape[1],
                run_at=run_at,
                draws=number,
                independence_p=dependence(random_stream(*names, "independence"), manifold, draws),
            )
        )

    for name, manifold, data, radius in published_cases(seed, rats):
        draw = published_footpoints(manifold, stated, radius)
        centre = GeodesicModel(manifold).fit(*data).footpoint
        number, pair = chosen["published_draws"], mistyped(data)
        keep("footpoint as published", manifold, centre, draw, pair, number, stated, name)
    for name, assumptions, clip, pair in (
        sphere_case(chosen["two_points"]),
        spd_case(chosen["one_far"]),
    ):
        for run_at in (stated, chosen["times"] * stated):
            stage = first_choice(run_at, chosen["power"], clip)
            keep(
                "release by one choice",
                assumptions.manifold,
                assumptions.centre,
                released_geodesics(assumptions, stage),
                pair,
                chosen["joint_draws"],
                run_at,
                name,
                stream="certified",
            )
    return (pd.DataFrame(rows),)
