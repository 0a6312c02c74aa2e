"""Lower bounds of what mechanisms for means spend, from draws for two neighbouring data sets."""

from functools import partial

import numpy as np
import pandas as pd

from geodp.audit.testers import TESTERS, bounds
from geodp.manifolds.spd import SPD
from geodp.means.ambient import embed
from geodp.means.losses import losses_by_form, problems_of_neighbours
from geodp.means.problem import repeated
from geodp.means.samples import pole
from geodp.means.walks import kind_of_loss, loss_of_walk, variants, walk_draws
from geodp.mechanisms.base import NONE
from geodp.mechanisms.registry import mechanism_class
from geodp.models.geodesic import GeodesicModel
from geodp.models.sensitivity import mean_sensitivity
from geodp.randomness import random_stream
from reproduction.manifolds import study_manifold

# Of each of the testers' bounds, so that the larger one has 0.99.
CONFIDENCE = 1.0 - 0.01 / len(TESTERS)

NAMES = [f"coordinate {axis}" for axis in (1, 2, 3)]
NAMES += ["distance from one mean", "distance from the other", "their difference"]


def tabulate(job):
    """A row a mechanism or walk, and tester."""
    chosen, tables = job.params.settings, []
    manifold, budget = study_manifold(chosen["manifold"]), chosen["budget"]
    stream = partial(random_stream, job.params.seed, "means", "audit", chosen["space"])
    common = {"space": chosen["space"], "manifold": manifold.name}
    common |= {"n": chosen["n"], "budget": budget}
    for name, described, drawn, means in (
        *_of_mechanisms(manifold, chosen, stream),
        *_of_walks(manifold, chosen, stream),
    ):
        columns = tuple(_columns(manifold, part, means, name) for part in drawn)
        found = pd.DataFrame(bounds(columns, NAMES, CONFIDENCE))
        described = pd.DataFrame(common | {"mechanism": name} | described, found.index)
        tables.append(described.join(found))
    table = pd.concat(tables, ignore_index=True)
    table["bound_over_stated"] = table["bound"] / budget
    table["known_over_stated"] = table["known_loss"] / budget
    return table


def _of_mechanisms(manifold, chosen, stream):
    """Of each mechanism its name, columns, draws for both neighbours, and their means."""
    budget, space = chosen["budget"], (manifold, pole(manifold), chosen["radius"])
    problems = problems_of_neighbours(*space, chosen["n"])
    known = losses_by_form(problems, budget)
    for name in chosen["mechanisms"]:
        kind, losses = mechanism_class(name), known.get(name, [np.nan])
        # Where no loss is known the other records lie at the centre, and clip nothing.
        form = int(np.argmax(losses))
        pair = [kind.of(repeated(problem, chosen["draws"], form)) for problem in problems]
        drawn = [
            each.private_means(stream(name, str(index)), budget) for index, each in enumerate(pair)
        ]
        described = {"guarantee": kind.status(manifold), "known_loss": losses[form]}
        described |= {"loss_of": "these neighbours", "steps": 0}
        yield name, described, drawn, [each.mean[0] for each in pair]


def _of_walks(manifold, chosen, stream):
    """The same of walks, about means that are as far apart as the sensitivity."""
    budget, centre = chosen["budget"], pole(manifold)
    apart = mean_sensitivity(GeodesicModel(manifold, 0), chosen["n"], chosen["radius"])
    scale = apart / budget
    # Along multiples of the identity on matrices.
    first = manifold.tangent(centre, np.eye(manifold.dim)[0])
    vector = centre if isinstance(manifold, SPD) else first
    half = 0.5 * budget * scale * (vector / manifold.norm(centre, vector))
    means = [manifold.exp(centre, sign * half) for sign in (-1.0, 1.0)]
    for name in variants(manifold):
        about = (np.array([[scale]]), name, chosen["walks"], chosen["steps"])
        drawn = [
            walk_draws(stream(name, str(index)), manifold, mean, *about)[0, 0]
            for index, mean in enumerate(means)
        ]
        loss = budget * loss_of_walk(stream(name, "loss"), manifold, scale, name)
        described = {"guarantee": NONE, "known_loss": loss}
        described |= {"loss_of": kind_of_loss(name), "steps": chosen["steps"]}
        yield name, described, drawn, means


def _columns(manifold, drawn, means, name):
    """What testers look at, of draws from one data set; see `NAMES`."""
    places = embed(manifold, drawn)
    if name == "ambient_laplace":
        away = [np.linalg.norm(places - embed(manifold, mean), axis=-1) for mean in means]
    else:
        away = [manifold.dist(mean, drawn) for mean in means]
    return np.column_stack([places, *away, away[0] - away[1]])
