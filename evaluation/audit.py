"""Realised privacy losses, property tests of whole releases, and times of releases and draws.

Losses are those of the published densities on the sphere S^2, and of repairs to them, at the worst
neighbours that a search finds.  Whole releases of hard neighbours, as they are and with mistakes,
are judged by property testers.
"""

from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pandas as pd

import script
from geodp import Assumptions, PrivacyBudget, ReleasePlan
from geodp.audit import published
from geodp.audit.disc import Disc
from geodp.audit.worst_neighbours import Pair
from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream
from geodp_release import stages as st
from geodp_release.ask.timing import release_times, sampler_times
from geodp_release.promise.budget import PURE
from geodp_release.promise.public_inputs import ADD_OR_REMOVE, REPLACE
from planted import planted
from replay_runs import few_at_once
from testers import TESTERS, features, property_test

# --- Losses ---


def losses(seed, n, budget, two_points, **chosen):
    """Rows of the losses of every density at the worst neighbours found, and of two records."""
    for name, variant in published.VARIANTS.items():
        found = published.worst_published_loss(seed, n, budget, variant, **chosen)
        yield loss_row(name, n, budget, found)
    yield from worst_two(seed, budget, **two_points)


def worst_two(seed, budget, angle, tau):
    """Rows of losses of two records, for which the factor of two is needed and attained.

    Records ``q`` and ``q'`` lie ``angle`` apart, on both sides of a pole.  With ``v = 0`` and a
    small tau, to which residuals are clipped, the gradients of ``q`` and ``-q'`` cancel nearly
    everywhere and agree between ``q`` and ``q'``; those of ``q`` and ``q'`` the other way round.
    """
    sphere, centre = SPACES["sphere"]
    side = 0.5 * angle * sphere.frame(centre)[0]
    q, other = sphere.exp(centre, side), sphere.exp(centre, -side)
    pole = np.broadcast_to(sphere.project(q + other), (1, 2, 3))
    names = {1.0: "two points, residuals clipped", 2.0: "two points, clipped, factor 2"}
    for factor, name in names.items():
        densities = published.Densities(
            disc=Disc(sphere, pole[0, 0], np.pi),
            covariates=np.full((1, 2, 2), 0.5),
            points=np.array([[[q, -other], [q, other]]]),
            scale=np.full((1, 2), factor * 2.0 * tau / (2.0 * budget)),
            footpoint=pole,
            shooting_vector=np.zeros((1, 2, 3)),
            pole=pole,
            block="footpoint",
            clip=tau,
        )
        rng = random_stream(seed, "audit", name, f"{budget:g}")
        yield loss_row(name, 2, budget, published.realised_loss(rng, densities))


def loss_row(name, n, budget, found):
    row = {"what": "loss", "name": name, "n": n, "stated": budget}
    return row | {"value": found.loss, "error": found.error}


def verdict(loss, error, stated):
    """What a loss known up to an error, or one that is none, says of the stated one."""
    if loss - error > stated:
        return "exceeded"
    return "not exceeded" if loss + error <= stated else "undecided"


# --- Whole releases ---

SPACES = {
    "sphere": (published.SPHERE, np.array([0.0, 0.0, 1.0])),
    "spd": (make_manifold("spd", 2), np.eye(2)),
}


def cases(space, stated, number=4, far=1.2):
    """Name, words about stages, plan, two data sets, `Pair` and fault of each kind of release.

    Records but the last lie at the centre in the middle of the range, where gradients are zero.
    The last is as far away in one direction, at one end of the range, as in the other: ``far``.
    """
    counted = "a count, then a step"
    manifold, centre = SPACES[space]
    towards, total = manifold.frame(centre)[0], Fraction(str(stated))
    # Steps are so short that next to none ends at the edge of the support.
    half, short = total / 2, {"clip": 0.1, "prior": (0.01, 0.01)}
    whole, step = (st.NoisyStep(budget, PURE, **short) for budget in (total, half))
    choice, moments = st.PointsStage.of(half, PURE, 4, 1.5), st.MomentsStage(half, PURE)
    matrix = st.MatrixStage(total, PURE, reach=2.0, **short)
    count, twice = ([st.CountStage(each.budget, PURE), each] for each in (step, whole))

    def pair_of(covariates, places):
        x, y = np.zeros((2, number)), np.broadcast_to(centre, (2, number, *centre.shape)).copy()
        x[:, -1] = covariates
        y[:, -1] = manifold.exp(centre, manifold.expand(np.array(places)) * towards)
        return Pair(x, y, number - 1)

    opposite = pair_of((0.5, 0.5), (far, -far))
    # Both the gradients and the covariates differ.
    other_end = pair_of((0.5, -0.5), (far, far))
    # On the geodesic: then no residual is large.
    near = pair_of((0.5, 0.5), (far, 0.0))
    for name, words, stages, pair, fault in (
        ("release", "one step", [whole], opposite, None),
        ("release", "a choice, then a step", [choice, step], opposite, None),
        ("release", "moments, then a step", [moments, step], other_end, None),
        ("release", "a matrix of moments", [matrix], other_end, None),
        ("release", counted, count, opposite, None),
        ("release, factor 2 left out", "one step", [whole], opposite, "half the sensitivity"),
        *(
            (f"release, {fault}", "one step", [whole], pair, fault)
            for pair, fault in ((opposite, "clipping after the sum"), (near, "tau from the data"))
        ),
        ("release, a budget spent twice", counted, twice, opposite, None),
    ):
        # A count is released where subjects are added or removed.
        assumptions = Assumptions(
            *(manifold, centre, 1.4, 2.0, (-0.5, 0.5), number),
            residual_scale=0.1,
            neighbours=ADD_OR_REMOVE if words == counted else REPLACE,
            covariate_spread="evenly",
        )
        budget = PrivacyBudget(str(float(sum(stage.budget for stage in stages))))
        plan = ReleasePlan(assumptions, budget, tuple(stages), 1.0, 1.0, 1.0)
        first, second = zip(pair.covariates, pair.points, strict=True)
        second = tuple(part[:-1] for part in second) if words == counted else second
        yield name, words, plan, (first, second), pair, fault


def released_columns(plan, data, pair, fault, streams, number):
    """What releases of both data sets say, columns (number, columns) that are not all alike.

    Each of the two data sets has a generator of random bits.
    """
    assumptions, found = plan.assumptions, []
    with planted(fault) if fault else nullcontext(), few_at_once():
        for stream, given in zip(streams, data, strict=True):
            released = script.releases(plan, *given, stream, number)
            states = np.array([each.state for each in released])
            seen = features(assumptions.manifold, assumptions.centre, states, pair)
            others = [[each.number, *each.moments] for each in released]
            found.append(np.column_stack([seen, others]))
    # A number that is public tells nothing.
    tells = np.any(np.ptp(found, axis=1) > 0.0, axis=0)
    return [each[:, tells] for each in found]


def releases(seed, space, confidence=0.99, stated=2.0, draws=4000):
    """Rows of lower bounds of the budgets of whole releases, by each property tester."""
    for name, words, *case in cases(space, stated):
        key = seed, "audit", "releases", space, name, words
        streams = [random_stream(*key, str(which)) for which in (0, 1)]
        columns = released_columns(*case, streams, draws)
        row = {"what": "releases", "name": name, "stages": words, "stated": stated}
        row["space"] = SPACES[space][0].name
        for tester, learn in TESTERS.items():
            yield row | {"tester": tester, "value": property_test(columns, learn, confidence)}


def times(seed, draws, n, repeats, spaces):
    """Rank correlation of a draw's time and size, and ratios of times with an extreme record."""
    for row in sampler_times(draws):
        found = {"value": row["correlation"], "error": row["standard_error"]}
        yield {"what": "time of a draw", "name": f"{row['sampler']}, {row['scale']}", **found}
    for space in spaces:
        for row in release_times(make_manifold(*space), n, repeats, seed):
            found = {"space": row["manifold"], "value": row["ratio"]}
            yield {"what": "time of a release", "name": row["record"], **found}


# --- Tables ---


def measure(what, seed, **given):
    """The table of one of these functions."""
    return pd.DataFrame(
        {"losses": losses, "releases": releases, "times": times}[what](seed, **given)
    )


def summarise(table):
    """Tables of losses, of testers and of times; the figure of losses."""
    parts = dict(list(table.groupby("what")))
    loss, draws, others = (parts[what] for what in ("loss", "time of a draw", "time of a release"))
    listed = {"density": loss["name"], "n": loss["n"].astype(int)}
    listed["stated"] = loss["stated"].map("{:g}".format)
    listed["realised loss"] = loss["value"].map("{:.3g}".format)
    listed["verdict"] = list(map(verdict, loss["value"], loss["error"], loss["stated"]))
    tested = parts["releases"].rename(columns={"name": "releases"})
    tested = tested.pivot_table("value", ["releases", "stages"], "space", "max", sort=False)
    tested.columns = [f"on {name}, epsilon is above" for name in tested.columns]
    spread = np.max(np.abs(draws["value"]) / draws["error"])
    ratios = f"{others['value'].min():.2f} to {others['value'].max():.2f}"
    timed = {"rank correlation of a draw's time and size": f"up to {spread:.2g} standard errors"}
    timed["time with an extreme record, over that without"] = ratios
    timed = pd.DataFrame(timed.items(), columns=["measured", "found"])
    listed = pd.DataFrame(listed)
    labels, stated = listed["density"] + ", n " + listed["n"].astype(str), loss["stated"]
    axis = {"xscale": "log", "xlabel": "realised privacy loss over the stated budget"}
    figure = script.dots(labels, loss["value"] / stated, 0.0 * stated, np.nan, 1.0, **axis)
    return {"losses": listed, "testers": tested.reset_index(), "times": timed}, figure
