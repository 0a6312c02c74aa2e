"""Effective draws per second: the default sampler and both random walks.

Both walks are given every advantage that is theirs to have: steps of the best radius found, as many
chains at once as suit the processor, starts that follow the density already, and no time counted
for tuning.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.base import PublicSettings
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.models.blocks import FOOTPOINT
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from geodp.samplers.base import State, run, trace
from geodp.samplers.choice import plan
from geodp.samplers.random_walk import RandomWalk
from reproduction.diagnostics import convergence
from reproduction.measurements.benchmark.geomstats_walk import (
    GeomstatsDensity,
    geomstats_walk,
    to_geomstats,
)
from reproduction.measurements.benchmark.harness import calls_per_second, row, tabulated
from reproduction.measurements.benchmark.spaces import SPACES, make_data

OURS, WALK, GEOMSTATS_WALK = "default sampler", "random walk", "random walk with geomstats"

# From about so many records the shape of the density, and with it the walk's autocorrelation, no
# longer depends on n.
RECORDS_OF_LONG_CHAINS = 150

# Radii of a step, in units of the density's scale, that tuning tries.
STEP_SCALES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0)

MOST_CHAINS = 200


def make_mechanism(space, covariates, points):
    """The published mechanism for one data set, at its fit."""
    model = GeodesicModel(make_manifold(*space.manifold))
    found = model.fit(covariates, points)
    ball = {} if space.support is None else {"centre": found.footpoint, **space.support}
    public = PublicSettings(data_radius=space.data_radius, **ball)
    return KNGAsPublished.prepare(model, covariates, points, public, found)


def thinned(mechanism, number):
    """The mechanism on evenly chosen records, with the scale and the support of all of them."""
    total = mechanism.covariates.shape[1]
    if total <= number:
        return mechanism
    chosen = np.linspace(0, total - 1, number).astype(int)
    covariates, points = mechanism.covariates[:, chosen], mechanism.points[:, chosen]
    found = mechanism.model.fit(covariates, points)
    return replace(mechanism, covariates=covariates, points=points, fit=found)


def default_draws(rng, target, draws):
    """State of draws from a target by the library's default sampler, and its plan.

    Studies want a smaller total variation, for the sake of mean squares that one stray draw
    decides; no chain of a walk's length can promise that, and effective draws are compared here.
    """
    planned = plan(rng, target, draws, total_variation=0.01)
    state, _ = run(rng, planned.sampler, target, draws, planned.steps)
    return State(state.position, state.log_density), planned


@dataclass(frozen=True)
class StartedWalk(RandomWalk):
    """The random walk from states given, which spares it all warm-up."""

    start: State | None = None

    def init(self, rng, target, chains):
        """The first of the states given."""
        position = np.take(self.start.position, range(chains), axis=-target.space.point_ndim - 1)
        return State(position, self.start.log_density[..., :chains])


def tuned_walk(rng, target, start, chains=20, steps=60):
    """The random walk with the radius of steps that changes the log density the most.

    Short trials tell that well, unlike effective sample sizes; and its mean square is largest about
    where the autocorrelation time of the worst summary is least.  Longer steps are not tried once a
    trial is much worse than the best; of those about as good the shortest are taken.
    """
    changes = []
    for scale in STEP_SCALES:
        kernel = StartedWalk(scale, start)
        state = kernel.init(rng, target, chains)
        change = 0.0
        for _ in range(steps):
            following, _ = kernel.step(rng, target, state)
            change += np.mean((following.log_density - state.log_density) ** 2)
            state = following
        changes.append(change)
        if change < 0.6 * max(changes):
            break
    good = np.array(changes) >= 0.9 * max(changes)
    return StartedWalk(STEP_SCALES[int(np.argmax(good))], start)


@dataclass(frozen=True)
class Autocorrelation:
    """Steps of a walk that are worth a draw, or at least so many if chains had not converged."""

    time: float
    is_bound: bool
    note: str


def autocorrelation(traces):
    """`Autocorrelation` of the worst of several summaries of chains, each (chains, states).

    Where chains have not converged it is taken within each of them, so that it knows of nothing
    that moves more slowly than a chain is long, and is too short.
    """
    from arviz_stats.base import array_stats

    judged = convergence(traces)
    chains, states = next(iter(traces.values())).shape
    size = judged["ess_bulk"]
    if not judged["passed"]:
        within = [
            [
                array_stats.ess(chain[None], chain_axis=0, draw_axis=1, method="mean")
                for chain in values
            ]
            for values in traces.values()
        ]
        size = np.nanmin(np.sum(within, axis=-1))
    # No state is worth more than a draw, whatever an estimate from few of them says.
    time = max(1.0, chains * states / size)
    note = f"{chains} chains of {states} states, R-hat {judged['rhat']:.3f}"
    if not judged["passed"]:
        note += ", cut off before they converged"
    return Autocorrelation(float(time), not judged["passed"], note)


def long_chains(rng, kernel, target, seconds):
    """Autocorrelation of the longest chains that the time allows."""
    # In many dimensions few chains, which can be longer.
    chains = max(4, 40 // target.space.dim)
    state = kernel.init(rng, target, chains)
    trial = 10
    start = time.perf_counter()
    for _ in range(trial):
        state, _ = kernel.step(rng, target, state)
    steps = int(seconds * trial / (time.perf_counter() - start))
    traces = trace(rng, kernel, target, chains, int(np.clip(steps, 20, 40000)))
    return autocorrelation({name: values[0] for name, values in traces.items()})


def walk_rate(rng, kernel, target, number, seconds):
    """States that the walk visits in a second, over all chains."""
    # Arrays of one step of all chains fit a processor's cache.
    chains = int(np.clip((1 << 16) // number, 4, MOST_CHAINS))
    state = kernel.init(rng, target, chains)

    def step():
        nonlocal state
        state, _ = kernel.step(rng, target, state)

    return chains * calls_per_second(step, seconds)


def geomstats_density(mechanism, budget):
    """The density of the footpoint by geomstats, for the one data set of a mechanism."""
    support, found = mechanism.support, mechanism.fit
    whole = support.footpoint_centre is None
    centre = found.footpoint if whole else support.footpoint_centre
    return GeomstatsDensity(
        mechanism.manifold,
        mechanism.covariates[0, :, 0],
        to_geomstats(mechanism.points[0]),
        to_geomstats(found.footpoint[0]),
        to_geomstats(found.shooting_vector[0]),
        float(mechanism.sensitivity.blocks[FOOTPOINT][0] / budget),
        to_geomstats(centre[0]),
        mechanism.manifold.injectivity_radius if whole else float(support.footpoint_radius[0]),
    )


def geomstats_rate(rng, mechanism, budget, kernel, seconds):
    """Steps a second of one chain with geomstats, and how it was found.

    Where two steps take too long, a step on some of the records stands for them: its time grows
    in proportion to their number.
    """
    number = used = mechanism.covariates.shape[1]
    start = time.perf_counter()
    few = min(number, 1000)
    _geomstats_steps(rng, _first(mechanism, few), budget, kernel, 0.0)
    # Three steps, and the density at the start.
    per_record = (time.perf_counter() - start) / (4 * few)
    if 3 * per_record * number > 5.0 * seconds:
        used = min(number, max(few, int(seconds / (3 * per_record))))
    rate = _geomstats_steps(rng, _first(mechanism, used), budget, kernel, seconds)
    if used == number:
        return rate, "one chain"
    return rate * used / number, f"one chain, time scaled from {used} records"


def _first(mechanism, number):
    return replace(
        mechanism, covariates=mechanism.covariates[:, :number], points=mechanism.points[:, :number]
    )


def _geomstats_steps(rng, mechanism, budget, kernel, seconds):
    density = geomstats_density(mechanism, budget)
    radius = min(kernel.step_scale * density.scale, mechanism.manifold.injectivity_radius)
    walk = geomstats_walk(rng, density, radius, mechanism.fit.footpoint[0])
    return calls_per_second(lambda: next(walk), seconds)


def measure(settings, space, grid, rats):
    """Table of effective draws per second on one space, of a grid of records and budgets."""
    space, numbers, budgets = SPACES[space], grid["n"], grid["budgets"]
    # Once to load all that is used.
    hasty = settings | {"seconds": dict.fromkeys(settings["seconds"], 0.0)}
    measure_cell(space, numbers[0], budgets[0], hasty, rats)
    if "chain" in grid:
        settings = settings | {"seconds": settings["seconds"] | {"chain": grid["chain"]}}
    rows = []
    for number in numbers:
        # Where a cell takes long the ends of the budgets must do.
        largest = number == max(numbers) and len(numbers) > 1
        for budget in [budgets[0], budgets[-1]] if largest else budgets:
            rows += measure_cell(space, number, budget, settings, rats)
    return tabulated(rows)


def measure_cell(space, number, budget, settings, rats):
    """Rows of one cell: effective draws a second of the three samplers, and what they rest on."""
    seconds = settings["seconds"]
    names = (settings["seed"], "benchmark", space.name, f"n{number}", f"budget{budget:g}")
    mechanism = make_mechanism(space, *make_data(space, number, settings["seed"], rats))
    rows = []

    def add(what, method, value, unit, **others):
        rows.append(row(what, space.name, number, method, value, unit, budget=budget, **others))

    # Ours: each number of draws is planned anew.
    spent = drawn = 0
    for draws in settings["draws"]:
        # The first is always made; the others where the time allows.
        if spent and spent * draws / drawn > seconds["default_sampler"]:
            break
        rng = random_stream(*names, "default", f"{draws} draws")
        start = time.perf_counter()
        target = mechanism.footpoint_target(budget)
        _, planned = default_draws(rng, target, draws)
        spent, drawn = time.perf_counter() - start, draws
        note = f"{planned.drawn_by}, {_distance(planned)}"
        add("effective draws", OURS, draws / spent, "1/s", draws=draws, note=note)

    # The walk.  Its autocorrelation is that of long chains, its rate that on all records.
    rng = random_stream(*names, "walk")
    short = thinned(mechanism, RECORDS_OF_LONG_CHAINS)
    short_target = short.footpoint_target(budget)
    start, _ = default_draws(rng, short_target, MOST_CHAINS)
    kernel = tuned_walk(rng, short_target, start)
    found = long_chains(rng, kernel, short_target, seconds["chain"])
    note = f"{found.note}; radius of a step {kernel.step_scale:g} scales"
    if short is not mechanism:
        note += f"; chains on {RECORDS_OF_LONG_CHAINS} of the records"
    add("autocorrelation time", WALK, found.time, "steps", is_bound=found.is_bound, note=note)
    rate = walk_rate(rng, kernel, target, number, seconds["rate"])
    add("steps", WALK, rate, "1/s", note="over all chains")
    bound = {"is_bound": found.is_bound}
    add("effective draws", WALK, rate / found.time, "1/s", note=note, **bound)

    # The same walk with geomstats.
    rng = random_stream(*names, "geomstats")
    rate, how = geomstats_rate(rng, mechanism, budget, kernel, seconds["rate"])
    add("steps", GEOMSTATS_WALK, rate, "1/s", note=how)
    note = f"{how}; autocorrelation time of the random walk, whose steps are the same"
    add("effective draws", GEOMSTATS_WALK, rate / found.time, "1/s", note=note, **bound)
    return rows


def _distance(planned):
    """What is known of the distance of draws from their distribution."""
    if not np.isfinite(planned.total_variation):
        return "no estimate of the total variation"
    kind = "" if planned.drawn_by == "exact" else "estimated "
    text = f"{kind}total variation {planned.total_variation:.2g}"
    if planned.steps:
        text += f" after {planned.steps} steps a draw"
    return text + (", more steps wanted" if planned.cut_short else "")
