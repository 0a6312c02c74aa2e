"""Realised privacy losses on the sphere, the neighbours that attain them, and sensitivities."""

import numpy as np
import pandas as pd

from geodp.audit import published
from geodp.audit.search import Pair, RecordDomain, worst_neighbour
from geodp.data.simulate import simulate_geodesic_data
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream

CENTRE = np.array([0.0, 0.0, 1.0])

TWO_POINTS = {1.0: "two points, residuals clipped", 2.0: "two points, clipped, factor 2"}

# Published densities whose gradient's change is compared with what it is said to be.
MOVED = (
    "tau shared, v fixed",
    "tau shared, v fixed, any footpoint",
    "residuals clipped",
    "shooting vector, tau shared",
    "shooting vector, residuals clipped",
)

NEIGHBOUR_COLUMNS = ["pair", "record", "data_set", "x", "y1", "y2", "y3"]


def sphere_data(settings, seed, number):
    """Covariates (n,) and points (n, 3) in the public ball, about a geodesic through its middle."""
    along = 0.5 * settings["geodesic_length"] * published.SPHERE.frame(CENTRE)[0]
    made = simulate_geodesic_data(
        random_stream(seed, "audit", f"n{number}", "data"),
        GeodesicModel(published.SPHERE),
        1,
        number,
        settings["noise_variance"],
        first_point=published.SPHERE.exp(CENTRE, -along),
        last_point=published.SPHERE.exp(CENTRE, along),
    )
    return made.covariates[0, :, 0], record_domain(settings).pull_inside(made.points[0])


def record_domain(settings):
    return RecordDomain(published.SPHERE, CENTRE, settings["ball_radius"])


def sphere_setting(settings):
    return published.SphereSetting(CENTRE, settings["ball_radius"], settings["tau"])


def verdict(loss, error, stated):
    """Whether a loss known up to an error is "exceeded", "not exceeded" or "undecided".

    It is undecided where the interval of the loss has the stated one inside, or of no numbers.
    """
    if loss - error > stated:
        return "exceeded"
    return "not exceeded" if loss + error <= stated else "undecided"


def audit_row(name, block, number, budget, found, tau):
    """One line of the audit's table."""

    def digits(array):
        return " ".join(repr(float(value)) for value in np.ravel(array))

    return {
        "pair": f"{name} | n {number} | {budget:g}",
        "mechanism": name,
        "quantity": block.replace("_", " "),
        "n": number,
        "stated": budget,
        "realised": found.loss,
        "error": found.error,
        "verdict": verdict(found.loss, found.error, budget),
        "tau": tau,
        "scale_1": found.scale[0],
        "scale_2": found.scale[1],
        "log_constant_1": found.log_constants[0],
        "log_constant_2": found.log_constants[1],
        "place": digits(found.place),
        "geodesics": digits([found.footpoint, found.shooting_vector]),
    }


def neighbour_rows(name, pair):
    """The records of a pair: those of both data sets once, and the two that differ."""
    for record in range(pair.covariates.shape[1]):
        data_sets = ("first", "second") if record == pair.record else ("both",)
        for which, data_set in enumerate(data_sets):
            x, y = pair.covariates[which, record], pair.points[which, record]
            yield dict(zip(NEIGHBOUR_COLUMNS, (name, record, data_set, x, *y), strict=True))


def measure(settings, number, budgets):
    """Rows of audit.csv and of neighbours.csv at one n and stated budgets.

    They are of every mechanism on the sphere; at n = 2 of the worst case.
    """
    measured = two_point_losses if number == 2 else searched_losses
    rows, neighbours = [], []
    for budget in budgets:
        for name, block, found, tau, pair in measured(settings, number, budget):
            rows.append(audit_row(name, block, number, budget, found, tau))
            neighbours.extend(neighbour_rows(rows[-1]["pair"], pair))
    return pd.DataFrame(rows), pd.DataFrame(neighbours, columns=NEIGHBOUR_COLUMNS)


def search_published(settings, seed, number, budget, variant, candidates, rounds):
    """`Realised` loss of the worst neighbours that a search finds for a `Variant`, and the `Pair`.

    ``settings`` has ``ball_radius``, ``geodesic_length``, ``noise_variance`` and ``tau``.
    """
    first = sphere_data(settings, seed, number)
    setting, domain = sphere_setting(settings), record_domain(settings)
    rng = random_stream(seed, "audit", f"n{number}", f"{budget:g}", variant.name)
    loss = published.search_loss(variant, setting, budget, first)
    pair, _ = worst_neighbour(rng, *first, domain, loss, candidates, rounds)
    return published.pair_loss(rng, variant, setting, budget, pair), pair


def searched_losses(settings, number, budget):
    """Name, block, loss, tau and `Pair` of every mechanism, for the worst that a search finds."""
    sphere, seed = settings["sphere"], settings["seed"]
    search = sphere["search"]
    effort = max(8, min(search["candidates"], search["work"] // number)), search["rounds"]
    for variant in published.VARIANTS.values():
        found, pair = search_published(sphere, seed, number, budget, variant, *effort)
        tau = float(np.max(found.scale)) * number * budget / (2.0 * variant.factor)
        yield variant.name, variant.block, found, tau, pair


def two_point_losses(settings, number, budget):
    """The same for the two records of the worst case."""
    chosen, seed = settings["two_points"], settings["seed"]
    pair = published.two_points(chosen["angle"])
    for factor, name in TWO_POINTS.items():
        rng = random_stream(seed, "audit", name, f"{budget:g}")
        found = published.realised_loss(
            rng, published.two_point_densities(pair, chosen["tau"], budget, factor)
        )
        yield name, "footpoint", found, chosen["tau"], pair


def read_pair(neighbours, name):
    """The `Pair` of a name, from the table of neighbours."""
    part = neighbours[neighbours["pair"] == name].sort_values("record", kind="stable")
    data_sets = [part[part["data_set"] != other] for other in ("second", "first")]
    return Pair(
        np.stack([data["x"].to_numpy() for data in data_sets]),
        np.stack([data[["y1", "y2", "y3"]].to_numpy() for data in data_sets]),
        int(part.loc[part["data_set"] == "first", "record"].iloc[0]),
    )


def recompute(settings, row, neighbours, name):
    """`Realised` loss of one line of the audit's table, from the neighbours of its pair's name."""
    pair, mechanism, budget = read_pair(neighbours, name), row["mechanism"], float(row["stated"])
    rng = random_stream(settings["seed"], "audit", "again", name)
    if mechanism in published.VARIANTS:
        setting = sphere_setting(settings["sphere"])
        return published.pair_loss(rng, published.VARIANTS[mechanism], setting, budget, pair)
    factor = next(factor for factor, known in TWO_POINTS.items() if known == mechanism)
    return published.realised_loss(
        rng, published.two_point_densities(pair, settings["two_points"]["tau"], budget, factor)
    )


def sensitivities(settings):
    """Table of how far a record moves each gradient, as a fraction of its sensitivity."""
    sphere, seed = settings["sphere"], settings["seed"]
    number, rounds = sphere["n"][0], sphere["search"]["rounds"]
    first, rows = sphere_data(sphere, seed, number), []
    for name in MOVED:
        change = published.search_change(published.VARIANTS[name], sphere_setting(sphere), first)
        rng = random_stream(seed, "audit", "sensitivity", name)
        _, found = worst_neighbour(rng, *first, record_domain(sphere), change, rounds=rounds)
        rows.append(
            {
                "mechanism": name,
                "space": published.SPHERE.name,
                "dimension": published.SPHERE.dim,
                "score": "norm of a gradient",
                "n": number,
                "largest_fraction": found,
                "at_most_one": bool(found <= 1.0),
            }
        )
    return (pd.DataFrame(rows),)
