"""Lower bounds of privacy budgets from released draws alone."""

from fractions import Fraction

import numpy as np
import pandas as pd

from geodp.audit.attack import attack, dependence
from geodp.audit.published import two_points
from geodp.audit.search import Pair
from geodp.data.simulate import simulate_geodesic_data
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.base import PublicSettings
from geodp.mechanisms.certified import CertifiedDistribution, map_records
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from geodp.samplers import choice, public_points
from geodp.samplers.base import run
from geodp.samplers.integer_choice import generator_bits
from reproduction.measurements.audit.setting import CERTIFIED, two_point_inputs
from reproduction.measurements.rats import observed_rats


def published_footpoints(manifold, budget, data_radius=None):
    """The published footpoint's draws, as the workflow makes them.

    Returns
    -------
    callable
        From a generator, data (covariates, points) and a number to draws (number, 1,
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


def released_geodesics(public, budget, power):
    """The certified mechanism's draws as a release makes them, but for where random bits come from.

    Parameters
    ----------
    public : PublicInputs
    budget : float
        At which it is run.
    power : int
        One choice is made, among 2^power public points.

    Returns
    -------
    callable
        From a generator, data (covariates, points) and a number to draws (number, 2,
        *point_shape).
    """
    stages = (public_points.Stage(Fraction(str(budget)), 1 << power),)

    def draw(rng, data, number):
        covariates, points = (part[None] for part in data)
        distribution = CertifiedDistribution(public, map_records(public, covariates, points))
        return public_points.draw(distribution, stages, generator_bits(rng), number)[0]

    return draw


def one_far(manifold, centre, direction, number, place, far):
    """Neighbours that differ in where one record lies: far away on one side or on the other.

    All the others lie in one place of the same line.  On the far side of that place, as seen from
    the centre, they pull with the last record of one data set and against that of the other; on
    the near side, where most of a ball of footpoints lies, it is the other way round.  So one
    density is higher by up to exp(eps / 2) in the small part beyond, and the constant of the other
    is larger by nearly as much.  On the sphere two records do better (`two_points`): a record and
    its antipode pull in opposite directions everywhere.

    Parameters
    ----------
    manifold : Manifold
    centre, direction : ndarray, shape point_shape
        Of the line; a point, and a unit vector there.
    number : int
        n.
    place, far : float
        How far along the line the others lie, and the last one.

    Returns
    -------
    Pair
    """
    steps = np.full((2, number), place)
    steps[:, -1] = -far, far
    points = manifold.exp(centre, manifold.expand(steps) * direction)
    return Pair(np.full((2, number), 0.5), points, number - 1)


def mistyped(data, covariate=1.0):
    """A data set, and the one in which the record of least covariate has another."""
    covariates, points = data
    record = int(np.argmin(covariates))
    changed = covariates.copy()
    changed[record] = covariate
    return Pair(np.stack([covariates, changed]), np.stack([points, points]), record)


def rats_data(path):
    """The rats' records, covariates scaled to [0, 1]."""
    manifold = make_manifold("kendall", 8)
    records = observed_rats(manifold, path)
    return manifold, (records.covariates, records.points)


def spd_data(seed):
    """Simulated records on SPD(2)."""
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
    return manifold, (made.covariates[0, :, 0], made.points[0])


def sphere_case(chosen):
    """A name, public inputs and neighbours on the sphere, from settings."""
    return "two records", two_point_inputs(chosen["tau"]), two_points(chosen["angle"])


def spd_case(chosen):
    """The same on SPD(2): on the line of multiples of the identity, which no curvature bends."""
    manifold, centre = make_manifold("spd", 2), np.eye(2)
    public = two_point_inputs(
        chosen["tau"],
        manifold,
        centre,
        footpoint_radius=chosen["footpoint_radius"],
        number=chosen["n"],
    )
    direction = centre / manifold.norm(centre, centre)
    pair = one_far(manifold, centre, direction, chosen["n"], chosen["place"], chosen["far"])
    return "one record far away", public, pair


def measure(settings, rats):
    """Table of lower bounds of budgets from draws alone.

    Draws are of the published footpoint, and of the certified distribution of both blocks.

    Parameters
    ----------
    settings : dict
        Of config/audit.yaml.
    rats : path
        Table of the rats' landmarks.
    """
    chosen, seed = settings["black_box"], settings["seed"]
    stated = chosen["stated"]
    rows = []

    def keep(mechanism, manifold, centre, draw, pair, number, run_at, data):
        names = (seed, "audit", "black box", mechanism, data, f"{run_at:g}")
        draws = [
            draw(random_stream(*names, str(which)), (x, y), number)
            for which, (x, y) in enumerate(zip(pair.covariates, pair.points, strict=True))
        ]
        found = attack(manifold, centre, draws, pair, chosen["confidence"])
        rows.append(
            {
                "mechanism": mechanism,
                "data": data,
                "space": manifold.name,
                "n": pair.covariates.shape[1],
                "stated": stated,
                "run_at": run_at,
                "lower_bound": found.bound,
                "confidence": chosen["confidence"],
                "caught": bool(found.bound > stated),
                "estimate": found.estimate,
                "share": found.shares[0],
                "other_share": found.shares[1],
                "event": found.statistic,
                "draws": number,
                "independence_p": dependence(
                    random_stream(*names, "independence"), manifold, draws
                ),
            }
        )

    for (manifold, data), name, radius in (
        (rats_data(rats), "rats, one age mistyped", None),
        (spd_data(seed), "simulated, one covariate mistyped", 1.0),
    ):
        draw = published_footpoints(manifold, stated, radius)
        centre = GeodesicModel(manifold).fit(*data).footpoint
        number = chosen["published_draws"]
        pair = mistyped(data)
        keep("footpoint as published", manifold, centre, draw, pair, number, stated, name)
    for name, public, pair in (sphere_case(chosen["two_points"]), spd_case(chosen["one_far"])):
        for run_at in (stated, chosen["times"] * stated):
            keep(
                CERTIFIED,
                public.manifold,
                public.centre,
                released_geodesics(public, run_at, chosen["power"]),
                pair,
                chosen["joint_draws"],
                run_at,
                name,
            )
    return (pd.DataFrame(rows),)
