"""Lower bounds of what mechanisms for means spend, from draws for two neighbouring data sets."""

import numpy as np
import pandas as pd

from geodp.audit.testers import TESTERS, bounds
from geodp.manifolds.spd import SPD
from geodp.means.ambient import embed
from geodp.means.losses import losses_by_form, problems_of_neighbours
from geodp.means.problem import repeated
from geodp.means.samples import pole
from geodp.means.walks import WalkLengths, kind_of_loss, loss_of_walk, variants, walk_draws
from geodp.mechanisms.base import NONE
from geodp.mechanisms.means import Laplace
from geodp.mechanisms.registry import mechanism_class
from geodp.randomness import random_stream
from reproduction.manifolds import study_manifold

# Of each of the testers' bounds, so that the larger one has 0.99.
CONFIDENCE = 1.0 - 0.01 / len(TESTERS)

COORDINATES = ("coordinate 1", "coordinate 2", "coordinate 3")
NAMES = (*COORDINATES, "distance from one mean", "distance from the other", "their difference")


def measure(settings, space):
    """Table of bounds: a row a mechanism or walk, and tester."""
    chosen, audit, budget = settings["spaces"][space], settings["audit"], settings["budget"]
    manifold, radius = study_manifold(chosen["manifold"]), chosen["radius"]
    number, streams = audit["n"][space], (settings["seed"], "means", "audit", space)
    problems = problems_of_neighbours(manifold, pole(manifold), radius, number)
    known = losses_by_form(problems, budget)
    rows = []
    for name in chosen["mechanisms"]:
        mechanism = mechanism_class(name)
        # Where no loss is known the other records lie at the centre, and clip nothing.
        form = int(np.argmax(known[name])) if name in known else 0
        pair = [repeated(problem, audit["draws"], form) for problem in problems]
        drawn = [
            mechanism.of(problem).private_means(random_stream(*streams, name, str(index)), budget)
            for index, problem in enumerate(pair)
        ]
        means = [problem.mean[0] for problem in pair]
        described = {"mechanism": name, "guarantee": mechanism.status(manifold)}
        loss = known[name][form] if name in known else np.nan
        described |= {"known_loss": loss, "loss_of": "these neighbours", "steps": 0}
        rows += _tested(manifold, described, drawn, means, name)
    scale = Laplace.of(problems[0]).scale(budget)
    lengths = WalkLengths(audit["walks"], audit["steps"], 1, 1)
    apart = 0.5 * budget * scale * _direction(manifold)
    means = [manifold.exp(pole(manifold), sign * apart) for sign in (-1.0, 1.0)]
    for name in variants(manifold):
        drawn = [
            walk_draws(
                random_stream(*streams, name, str(index)),
                manifold,
                mean,
                np.array([[scale]]),
                name,
                lengths,
            )[0, 0]
            for index, mean in enumerate(means)
        ]
        loss = loss_of_walk(random_stream(*streams, name, "loss"), manifold, scale, name)
        described = {"mechanism": name, "guarantee": NONE, "known_loss": budget * loss}
        described |= {"loss_of": kind_of_loss(name), "steps": audit["steps"]}
        rows += _tested(manifold, described, drawn, means, name)
    common = {"space": space, "manifold": manifold.name, "n": number, "budget": budget}
    table = pd.DataFrame([common | row for row in rows])
    table["bound_over_stated"] = table["bound"] / budget
    table["known_over_stated"] = table["known_loss"] / budget
    return (table,)


def _direction(manifold):
    """Unit vector at the pole, along multiples of the identity on matrices."""
    centre = pole(manifold)
    first = np.eye(manifold.dim)[0]
    vector = centre if isinstance(manifold, SPD) else manifold.tangent(centre, first)
    return vector / manifold.norm(centre, vector)


def _columns(manifold, drawn, means, name):
    """What testers look at, of draws from one data set; see `NAMES`."""
    places = embed(manifold, drawn)
    if name == "ambient_laplace":
        away = [np.linalg.norm(places - embed(manifold, mean), axis=-1) for mean in means]
    else:
        away = [manifold.dist(mean, drawn) for mean in means]
    return np.column_stack([places, *away, away[0] - away[1]])


def _tested(manifold, described, drawn, means, name):
    """A row for each tester."""
    columns = tuple(_columns(manifold, part, means, name) for part in drawn)
    for found in bounds(columns, list(NAMES), CONFIDENCE):
        yield described | found
