"""What stated privacy budgets are worth: realised losses, sensitivities, releases and times.

Losses are those of the published densities on the sphere S^2, and of repairs to them, at the worst
neighbours that a search finds.  Whole releases of hard neighbours, as they are and with mistakes,
are judged by property testers.
"""

import re
from contextlib import contextmanager, nullcontext
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pandas as pd
from matplotlib.ticker import NullFormatter

import script
from geodp import Assumptions, PrivacyBudget, ReleasePlan
from geodp.audit import published
from geodp.audit.attack import as_columns, features
from geodp.audit.search import Pair, worst_neighbour
from geodp.audit.testers import bounds
from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream
from geodp.samplers.integer_choice import generator_bits
from geodp_release import stages as st
from geodp_release.accounting import PURE
from geodp_release.assumptions import ADD_OR_REMOVE, REPLACE
from geodp_release.draw import run_plan
from geodp_release.subjects import ONE_EACH, subject_records
from geodp_release.timing import release_times, sampler_times
from replay_mistakes import planted
from replay_runs import few_at_once

SPHERE, CENTRE = published.SPHERE, np.array([0.0, 0.0, 1.0])

# The worst case of two records, by the factor of its noise.
TWO_POINTS = {1.0: "two points, residuals clipped", 2.0: "two points, clipped, factor 2"}

# Published densities whose gradient's change is compared with what it is said to be.
MOVED = [
    name
    for name in published.VARIANTS
    if name != "tau shared" and not re.search("published|factor", name)
]

# --- Losses ---


def losses(seed, n, budgets, candidates, rounds, work, **chosen):
    """Rows of the losses of every density at the worst neighbours of ``n`` records."""
    candidates = max(8, min(candidates, work // n))
    for budget in budgets:
        for variant in published.VARIANTS.values():
            searched = candidates, rounds
            found = published.worst_published_loss(seed, n, budget, variant, *searched, **chosen)
            yield loss_row(variant.name, n, budget, found)


def two_points(seed, budgets, angle, tau):
    """The same for the two records of the worst case."""
    pair = published.two_points(angle)
    for budget in budgets:
        for factor, name in TWO_POINTS.items():
            rng = random_stream(seed, "audit", name, f"{budget:g}")
            densities = published.two_point_densities(pair, tau, budget, factor)
            yield loss_row(name, 2, budget, published.realised_loss(rng, densities))


def loss_row(name, n, budget, found):
    described = {"what": "loss", "name": name, "n": n, "stated": budget}
    return described | {"value": found.loss, "error": found.error}


def sensitivities(seed, n, candidates, rounds, work, **chosen):
    """How far a record moves each gradient, as a fraction of its sensitivity."""
    first, setting, domain = published.records_in_ball(seed, n, **chosen)
    for name in MOVED:
        change = published.search_change(published.VARIANTS[name], setting, first)
        rng = random_stream(seed, "audit", "sensitivity", name)
        _, found = worst_neighbour(rng, *first, domain, change, candidates, rounds)
        yield {"what": "sensitivity", "name": name, "n": n, "value": found}


def verdict(loss, error, stated):
    """What a loss known up to an error, or one that is none, says of the stated one."""
    if loss - error > stated:
        return "exceeded"
    return "not exceeded" if loss + error <= stated else "undecided"


# --- Whole releases ---

SPACES = {"sphere": (SPHERE, CENTRE), "spd": (make_manifold("spd", 2), np.eye(2))}

# Public inputs: steps are so short that next to none ends at the edge of the support.
RADIUS, LENGTH, RANGE, CLIP, PRIOR = 1.4, 2.0, (-0.5, 0.5), 0.1, (0.01, 0.01)

# Public points of a choice, and where it clips losses.
CHOICE = 4, 1.5

# Distance of the record in which neighbours differ, and number of records.
FAR, NUMBER = 1.2, 4


def cases(space, stated):
    """Name, words about stages, plan, two data sets, `Pair` and mistake of each kind of release.

    Records but the last lie at the centre in the middle of the range, where gradients are zero.
    The last is as far away in one direction, at one end of the range, as in the other.
    """
    manifold, centre = SPACES[space]
    towards, total = manifold.frame(centre)[0], Fraction(str(stated))
    half = total / 2

    def a_step(budget):
        return st.NoisyStep(budget, PURE, clip=CLIP, prior=PRIOR)

    def pair_of(covariates, places):
        x, y = np.zeros((2, NUMBER)), np.broadcast_to(centre, (2, NUMBER, *centre.shape)).copy()
        x[:, -1] = covariates
        y[:, -1] = manifold.exp(centre, manifold.expand(np.array(places)) * towards)
        return Pair(x, y, NUMBER - 1)

    opposite = pair_of((0.5, 0.5), (FAR, -FAR))
    # Both the gradients and the covariates differ.
    other_end = pair_of((0.5, -0.5), (FAR, FAR))
    # On the geodesic: then no residual is large.
    near = pair_of((0.5, 0.5), (FAR, 0.0))
    one, counted = ("one step", [a_step(total)]), "a count, then a step"
    choice = [st.PointsStage.of(half, PURE, *CHOICE), a_step(half)]
    moments = [st.MomentsStage(half, PURE), a_step(half)]
    matrix = [st.MatrixStage(total, PURE, clip=CLIP, prior=PRIOR, reach=2.0)]
    count, twice = ([st.CountStage(each, PURE), a_step(each)] for each in (half, total))
    for name, words, stages, pair, mistake in (
        ("release", *one, opposite, None),
        ("release", "a choice, then a step", choice, opposite, None),
        ("release", "moments, then a step", moments, other_end, None),
        ("release", "a matrix of moments", matrix, other_end, None),
        ("release", counted, count, opposite, None),
        ("release, factor 2 left out", *one, opposite, "half the sensitivity"),
        ("release, clipping after the sum", *one, opposite, "clipping after the sum"),
        ("release, tau from the data", *one, near, "tau from the data"),
        ("release, a budget spent twice", counted, twice, opposite, None),
    ):
        # A count is released where subjects are added or removed.
        is_counted = words == counted
        assumptions = Assumptions(
            *(manifold, centre, RADIUS, LENGTH, RANGE, NUMBER),
            residual_scale=0.1,
            neighbours=ADD_OR_REMOVE if is_counted else REPLACE,
            covariate_spread="evenly",
        )
        budget = PrivacyBudget(str(float(sum(stage.budget for stage in stages))))
        plan = ReleasePlan(assumptions, budget, tuple(stages), 1.0, 1.0, 1.0)
        first, second = zip(pair.covariates, pair.points, strict=True)
        second = tuple(part[:-1] for part in second) if is_counted else second
        yield name, words, plan, (first, second), pair, mistake


@contextmanager
def same_sums():
    """Compute sums of the same records, state and limit once: only noise differs between draws."""
    known: dict = {}

    def remembered(function):
        def found(assumptions, records, states, clip, *coordinates):
            public = (states, *(each.standard for each in coordinates))
            key = function, id(records), *(each.tobytes() for each in public), clip
            if key not in known:
                # Records are kept as well, so that no others get their id.
                known[key] = records, function(assumptions, records, states, clip, *coordinates)
            return known[key][1]

        return found

    with (
        few_at_once(),
        patch.object(st.step, "gradient_sums", remembered(st.step.gradient_sums)),
        patch.object(st.points, "loss_sums", remembered(st.points.loss_sums)),
    ):
        yield


def released_columns(plan, data, pair, mistake, streams, number):
    """Names, and columns (number, columns) of what releases of both data sets say.

    Each of the two data sets has a generator of random bits.
    """
    assumptions, found = plan.assumptions, []
    with planted(mistake) if mistake else nullcontext(), same_sums():
        for stream, given in zip(streams, data, strict=True):
            records = subject_records(assumptions, *given, ONE_EACH)
            bits, shared = generator_bits(stream), {}
            released = [run_plan(plan, records, bits, shared) for _ in range(number)]
            states = np.array([each.state for each in released])
            named = features(assumptions.manifold, assumptions.centre, states, pair)
            named["number"] = np.array([each.number for each in released])
            moments = np.array([each.moments for each in released])
            named["mean covariate"], named["mean square"] = moments.T
            found.append(named)
    return as_columns(found)


def releases(seed, space, confidence, stated, draws):
    """Rows of lower bounds of the budgets of whole releases, by each property tester."""
    for name, words, *case in cases(space, stated):
        key = seed, "audit", "releases", space, name, words
        streams = [random_stream(*key, str(which)) for which in (0, 1)]
        names, columns = released_columns(*case, streams, draws)
        row = {"what": "releases", "name": name, "stages": words, "n": NUMBER, "stated": stated}
        row["space"] = SPACES[space][0].name
        for found in bounds(columns, names, confidence):
            yield row | {"tester": found["tester"], "value": found["bound"]}


def times(seed, draws, n, repeats, spaces):
    """Rank correlation of a draw's time and size, and ratios of times with an extreme record."""
    for row in sampler_times(draws):
        found = {"value": row["correlation"], "error": row["standard_error"]}
        yield {"what": "time of a draw", "name": f"{row['sampler']}, {row['scale']}", **found}
    for space in spaces:
        for row in release_times(make_manifold(*space), n, repeats, seed):
            found = {"n": n, "space": row["manifold"], "value": row["ratio"]}
            yield {"what": "time of a release", "name": row["record"], **found}


# --- Tables and figure ---

PARTS = {each.__name__: each for each in (losses, two_points, sensitivities, releases, times)}

# Published densities in warm colours, clipped ones in light blue; and as which of them those of
# shooting vectors are drawn.
STYLES = {
    "as published": ("#c2480c", "s", "-"),
    "tau shared": ("#e0a526", "^", "--"),
    "tau shared, v fixed": ("#a88a5a", "v", "-."),
    "residuals clipped": ("#5aa7c7", "D", ":"),
    "residuals clipped, factor 2": ("#7f9fb5", "P", (0, (5, 1, 1, 1))),
}
OF_VECTORS = [name for name in published.VARIANTS if name.startswith("shooting vector")]
SHOOTING = dict(zip(OF_VECTORS, [name for name in STYLES if "fixed" not in name], strict=True))


def measure(part, given, seed):
    """The table of one part, which begins with a name of `PARTS`."""
    [rows] = (make for name, make in PARTS.items() if part.startswith(name))
    return pd.DataFrame(rows(seed, **given))


def summarise(table, n=10, stated=1.0):
    """Tables of losses at one n and budget, of testers and of times; figure of all losses."""
    parts = dict(list(table.groupby("what")))
    moved = parts["sensitivity"].set_index("name")["value"].map("{:.4f}".format)
    shown = parts["loss"][parts["loss"]["n"].isin([n, 2]) & (parts["loss"]["stated"] == stated)]
    shown = shown.sort_values("n", ascending=False, kind="stable")
    listed = {"density": shown["name"], "n": shown["n"].astype(int), "stated": f"{stated:g}"}
    listed["realised loss"] = shown["value"].map("{:.3g}".format)
    found = shown[["value", "error", "stated"]].to_numpy()
    listed["verdict"] = [verdict(*each) for each in found]
    listed["a record moves the gradient by"] = shown["name"].map(moved).fillna("")
    tested = parts["releases"].rename(columns={"name": "releases"})
    tested = tested.pivot_table("value", ["releases", "stages"], "space", "max", sort=False)
    tested.columns = [f"on {name}, epsilon is above" for name in tested.columns]
    draws, others = parts["time of a draw"], parts["time of a release"]
    spread = np.max(np.abs(draws["value"]) / draws["error"])
    ratios = f"{others['value'].min():.2f} to {others['value'].max():.2f}"
    timed = {"rank correlation of a draw's time and size": f"up to {spread:.2g} standard errors"}
    timed["time with an extreme record, over that without"] = ratios
    timed = pd.DataFrame(timed.items(), columns=["measured", "found"])
    tables = {"losses": pd.DataFrame(listed), "testers": tested.reset_index(), "times": timed}
    return tables, draw(parts["loss"], n, stated)


def draw(table, n, stated):
    """Losses against all budgets at one n, and against n at one budget, on one scale."""
    figure, [(left, middle, right)] = script.new_figure(1, 3, 9.6, 4.8, sharey=True)
    budgets, numbers = table[table["n"] == n], table[table["stated"] == stated]
    own = dict(zip(STYLES, STYLES, strict=True))
    for panel, rows, names, x in (
        (left, budgets, own, "stated"),
        (middle, budgets, SHOOTING, "stated"),
        # With a worst case of its own, which no line joins to what searches found.
        (right, numbers, own | {TWO_POINTS[1.0]: ""}, "n"),
    ):
        for name, shown_as in names.items():
            color, marker, line = STYLES[shown_as or "residuals clipped"]
            part, label = rows[rows["name"] == name].sort_values(x), name if panel is left else None
            how = {"color": color, "marker": marker, "linestyle": line if shown_as else ""}
            panel.plot(part[x], part["value"], label=label, **how)
        ends = np.array([rows[x].min(), rows[x].max()])
        level = ends if x == "stated" else [stated, stated]
        label = "realised = stated" if panel is left else None
        panel.plot(ends, level, color="0.45", linewidth=1.0, zorder=1, label=label)
        panel.set(xscale="log", yscale="log", xlabel=r"stated budget $\varepsilon$ (nats)")
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(NullFormatter())
    left.set(ylabel="realised privacy loss (nats)", title=f"a. footpoint, n = {n}")
    middle.set_title(f"b. shooting vector, n = {n}")
    right.set(xlabel="number of records n", title=rf"c. footpoint, $\varepsilon$ = {stated:g}")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure


if __name__ == "__main__":
    script.run(snakemake, measure, summarise)
