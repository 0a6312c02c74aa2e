"""What the benchmark measures: spaces and their data, samplers, effective draws, memory.

Both walks are given every advantage that is theirs to have: steps of the best radius found, as many
chains at once as suit the processor, starts that follow the density already, and no time counted
for tuning.
"""

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from geodp.data.simulate import simulate_geodesic_data
from geodp.data.stand_in import simulate_outlines
from geodp.manifolds.base import BLOCKS
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.kng_as_published import AsPublished, configured_support
from geodp.models.regression import energy_gradient, fit
from geodp.models.sensitivity import published_sensitivity
from geodp.randomness import random_stream
from geodp.samplers.base import State, run, trace
from geodp.samplers.choice import plan
from geodp.samplers.random_walk import RandomWalk
from reproduction.diagnostics import convergence
from reproduction.measurements.geomstats_walk import GeomstatsDensity, geomstats_walk
from reproduction.measurements.rats import observed_rats

COLUMNS = [
    *("what", "space", "dimension", "n", "budget", "draws", "method", "value", "unit"),
    *("is_bound", "note"),
]

OURS = "default sampler"
WALK = "random walk"
GEOMSTATS_WALK = "random walk with geomstats"

# Rats whose landmarks are kept with the project; other numbers of records are simulated.
RATS = 144

# Radii of a step, in units of the density's scale, that tuning tries; chains and steps of a trial.
STEP_SCALES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0)
TRIAL_CHAINS = 20
TRIAL_STEPS = 60

# Distance to the density that is wanted of a draw by chains.  Studies ask for less, for the sake of
# mean squares that one stray draw decides; no chain of a walk's length can promise that, and what
# is compared are effective draws.
TOTAL_VARIATION = 0.01

# Trials that differ by less than this are about as good: of those the shortest steps are taken.
ABOUT_AS_GOOD = 0.9

# Longer steps are not tried once a trial is this much worse than the best.
MUCH_WORSE = 0.6

# Numbers that arrays of one step of all chains hold, so that they fit a processor's cache.
STEP_NUMBERS = 1 << 16
MOST_CHAINS = 200

# The walk's autocorrelation is that of a law whose shape no longer depends on n from about here.
RECORDS_OF_LONG_CHAINS = 150
MOST_STATES = 40000
FEWEST_CHAINS = 4

# Gradients at once whose memory is taken.
SIZE_CHAINS = 4

# Outlines simulated at once.
BLOCK = 20000


@dataclass(frozen=True)
class Space:
    """A space of the benchmark and what its data and densities are like, as in the studies.

    Attributes
    ----------
    name : str
    manifold : tuple
        Name and size.
    data : dict
        For `simulate_geodesic_data`; empty where data come otherwise.
    data_radius : float, optional
    support : dict
        For `configured_support`; its ball of footpoints has the fit as its centre.
    """

    name: str
    manifold: tuple
    data: dict
    data_radius: float | None = None
    support: dict | None = None


_MATRICES = {"noise_variance": 0.0001, "random_point_radius": 0.9, "ambient_noise": False}

SPACES = {
    space.name: space
    for space in (
        Space(
            "S^2",
            ("sphere", 2),
            {"noise_variance": 0.001, "shooting_vector_length": np.pi / 5},
        ),
        Space("SPD(2)", ("spd", 2), _MATRICES, data_radius=1.0),
        Space("SPD(3)", ("spd", 3), _MATRICES, data_radius=1.0),
        Space("rats", ("kendall", 8), {}),
        Space(
            "outlines",
            ("kendall", 50),
            {},
            support={"footpoint_radius": 0.48, "shooting_vector_length": 0.96},
        ),
    )
}


def row(what, space, n, method, value, unit, **others):
    """One line of the table; what does not apply is left empty."""
    line = dict.fromkeys(COLUMNS)
    line |= {"is_bound": False, "note": ""}
    line |= {"what": what, "space": space, "n": n, "method": method, "value": value, "unit": unit}
    line |= others
    if space is not None:
        line["dimension"] = make_manifold(*SPACES[space].manifold).dim
    return line


# Data


def make_data(space, number, seed, rats):
    """Covariates (1, n) and points (1, n, *point_shape) of a space.

    Parameters
    ----------
    space : Space
    number : int
        n.
    seed : int
    rats : path
        Table of the rats' landmarks.
    """
    manifold = make_manifold(*space.manifold)
    rng = random_stream(seed, "benchmark", space.name, f"n{number}", "data")
    if space.name == "rats":
        return _rats(rng, manifold, number, rats)
    if space.name == "outlines":
        covariates = np.empty((1, number))
        points = np.empty((1, number, *manifold.point_shape), dtype=complex)
        for start in range(0, number, BLOCK):
            block = slice(start, min(start + BLOCK, number))
            simulation = simulate_outlines(rng, 1, block.stop - start, manifold.landmarks)
            covariates[:, block] = (simulation.ages - 50.0) / 40.0
            points[:, block] = manifold.from_landmarks(simulation.outlines)
        return covariates, points
    simulation = simulate_geodesic_data(rng, manifold, 1, number, **space.data)
    return simulation.covariates, simulation.points


def _rats(rng, manifold, number, path):
    """The observed records, or as many as wanted scattered like them about their geodesic."""
    records = observed_rats(manifold, path)
    if number == RATS:
        return records.covariates[None], records.points[None]
    found = fit(manifold, records.covariates, records.points)
    # Twice the energy is the mean squared residual, shared by all dimensions.
    spread = np.sqrt(2.0 * found.energy / manifold.dim)
    covariates = np.linspace(0.0, 1.0, number)
    points = np.empty((number, *manifold.point_shape), dtype=complex)
    for start in range(0, number, BLOCK):
        block = slice(start, start + BLOCK)
        velocity = manifold.expand(covariates[block]) * found.shooting_vector
        clean = manifold.exp(found.footpoint, velocity)
        noise = rng.standard_normal((2, *clean.shape))
        points[block] = manifold.project(clean + spread * (noise[0] + 1j * noise[1]))
    return covariates[None], points[None]


def make_mechanism(space, covariates, points, sensitivity=None):
    """The published mechanism for one data set, at its fit."""
    manifold = make_manifold(*space.manifold)
    found = fit(manifold, covariates, points)
    if sensitivity is None:
        sensitivity = published_sensitivity(
            manifold, found.largest_residual, covariates.shape[-1], space.data_radius
        )
    ball = {}
    if space.support is not None:
        ball = {"footpoint_centre": found.footpoint, **space.support}
    support = configured_support(manifold, sensitivity, **ball)
    return AsPublished(manifold, covariates, points, found, sensitivity, support)


def thinned(space, mechanism, number):
    """The mechanism on evenly chosen records, with the scale of all of them."""
    total = mechanism.covariates.shape[-1]
    if total <= number:
        return mechanism
    chosen = np.linspace(0, total - 1, number).astype(int)
    return make_mechanism(
        space,
        mechanism.covariates[:, chosen],
        mechanism.points[:, chosen],
        mechanism.sensitivity,
    )


# Samplers


def default_plan(rng, target, draws):
    """The library's default sampler, planned for a number of draws from a target."""
    return plan(rng, target, draws, total_variation=TOTAL_VARIATION)


@dataclass(frozen=True)
class StartedWalk(RandomWalk):
    """The random walk from states given, which spares it all warm-up."""

    start: State | None = None

    def init(self, rng, target, chains):
        """The first of the states given."""
        position = np.take(self.start.position, range(chains), axis=-target.space.point_ndim - 1)
        return State(position, self.start.log_density[..., :chains])


def draws_to_start_from(rng, target, chains):
    """States that follow the density, from the default sampler."""
    planned = default_plan(rng, target, chains)
    state, _ = run(rng, planned.sampler, target, chains, planned.steps)
    return State(state.position, state.log_density)


def tuned_walk(rng, target, start):
    """The random walk with the radius of steps that changes the log density the most.

    Short trials tell that well, unlike effective sample sizes; and its mean square is largest about
    where the autocorrelation time of the worst summary is least.
    """
    changes = []
    for scale in STEP_SCALES:
        kernel = StartedWalk(scale, start)
        state = kernel.init(rng, target, TRIAL_CHAINS)
        change = 0.0
        for _ in range(TRIAL_STEPS):
            following, _ = kernel.step(rng, target, state)
            change += np.mean((following.log_density - state.log_density) ** 2)
            state = following
        changes.append(change)
        if change < MUCH_WORSE * max(changes):
            break
    good = np.array(changes) >= ABOUT_AS_GOOD * max(changes)
    return StartedWalk(STEP_SCALES[int(np.argmax(good))], start)


@dataclass(frozen=True)
class Autocorrelation:
    """How many steps of a walk are worth a draw.

    Attributes
    ----------
    time : float
        Integrated autocorrelation time of the worst scalar summary, steps.
    is_bound : bool
        Whether chains had not converged: the time is then at least this.
    note : str
    """

    time: float
    is_bound: bool
    note: str


def autocorrelation(traces):
    """Integrated autocorrelation time, steps per effective draw of the worst summary.

    Where chains have not converged it is taken within each of them, so that it knows of nothing
    that moves more slowly than a chain is long, and is too short.

    Parameters
    ----------
    traces : dict of ndarray, shape (chains, states)

    Returns
    -------
    Autocorrelation
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
    chains = max(FEWEST_CHAINS, 10 * FEWEST_CHAINS // target.space.dim)
    state = kernel.init(rng, target, chains)
    trial = 10
    start = time.perf_counter()
    for _ in range(trial):
        state, _ = kernel.step(rng, target, state)
    steps = int(seconds * trial / (time.perf_counter() - start))
    traces = trace(rng, kernel, target, chains, int(np.clip(steps, 20, MOST_STATES)))
    return autocorrelation({name: values[0] for name, values in traces.items()})


def steps_per_second(step, seconds, fewest=2):
    """How often a function can be called in a second; the first call is not timed."""
    step()
    start = time.perf_counter()
    count = 0
    while count < fewest or time.perf_counter() - start < seconds:
        step()
        count += 1
    return count / (time.perf_counter() - start)


def walk_rate(rng, kernel, target, number, seconds):
    """States that the walk visits in a second, over all chains."""
    chains = int(np.clip(STEP_NUMBERS // number, 4, MOST_CHAINS))
    state = kernel.init(rng, target, chains)

    def step():
        nonlocal state
        state, _ = kernel.step(rng, target, state)

    return chains * steps_per_second(step, seconds)


def geomstats_density(mechanism, budget):
    """The density of the footpoint by geomstats, for the one data set of a mechanism."""
    target_scale = float(mechanism.sensitivity.footpoint[0] / budget)
    support, found = mechanism.support, mechanism.fit
    whole = support.footpoint_centre is None
    return GeomstatsDensity(
        mechanism.manifold,
        mechanism.covariates[0],
        mechanism.points[0],
        found.footpoint[0],
        found.shooting_vector[0],
        target_scale,
        found.footpoint[0] if whole else support.footpoint_centre[0],
        mechanism.manifold.injectivity_radius if whole else float(support.footpoint_radius[0]),
    )


def geomstats_rate(rng, mechanism, budget, kernel, seconds):
    """Steps a second of one chain with geomstats, and how it was found.

    Where two steps take too long, a step on some of the records stands for them: its time grows
    in proportion to their number.
    """
    number = used = mechanism.covariates.shape[-1]
    start = time.perf_counter()
    few = min(number, 1000)
    _geomstats_steps(rng, _first(mechanism, few), budget, kernel, 0.0)
    # Three steps were taken, of which one starts the chain.
    per_record = (time.perf_counter() - start) / (4 * few)
    if 3 * per_record * number > 5.0 * seconds:
        used = min(number, max(few, int(seconds / (3 * per_record))))
    rate = _geomstats_steps(rng, _first(mechanism, used), budget, kernel, seconds)
    if used == number:
        return rate, "one chain"
    return rate * used / number, f"one chain, time scaled from {used} records"


def _first(mechanism, number):
    return replace(
        mechanism,
        covariates=mechanism.covariates[:, :number],
        points=mechanism.points[:, :number],
    )


def _geomstats_steps(rng, mechanism, budget, kernel, seconds):
    density = geomstats_density(mechanism, budget)
    radius = min(kernel.step_scale * density.scale, mechanism.manifold.injectivity_radius)
    walk = geomstats_walk(rng, density, radius, mechanism.fit.footpoint[0])
    return steps_per_second(lambda: next(walk), seconds)


def measure_sampling(space, number, budget, settings, rats):
    """Rows of one cell: effective draws a second of the three samplers, and what they rest on.

    Parameters
    ----------
    space : Space
    number : int
        n.
    budget : float
    settings : dict
        Of config/benchmark.yaml.
    rats : path

    Returns
    -------
    list of dict
    """
    seconds = settings["seconds"]
    names = (settings["seed"], "benchmark", space.name, f"n{number}", f"budget{budget:g}")
    mechanism = make_mechanism(space, *make_data(space, number, settings["seed"], rats))
    rows = []

    def add(what, method, value, unit, **others):
        rows.append(row(what, space.name, number, method, value, unit, budget=budget, **others))

    # Ours: each number of draws is planned anew.
    spent = drawing = drawn = None
    for draws in settings["draws"]:
        # The first is always made; the others where the time allows.
        if spent is not None and spent * draws / drawn > seconds["default_sampler"]:
            break
        rng = random_stream(*names, "default", f"{draws} draws")
        start = time.perf_counter()
        target = mechanism.footpoint_target(budget)
        planned = default_plan(rng, target, draws)
        planning = time.perf_counter() - start
        start = time.perf_counter()
        run(rng, planned.sampler, target, draws, planned.steps)
        drawing, drawn = time.perf_counter() - start, draws
        spent = planning + drawing
        note = f"{planned.drawn_by}, {_law(planned)}"
        add("effective draws", OURS, draws / spent, "1/s", draws=draws, note=note)
        add("planning", OURS, planning / spent, "1", draws=draws, note="share of the time")

    # The walk.  Its autocorrelation is that of long chains, its rate that on all records.
    rng = random_stream(*names, "walk")
    short = thinned(space, mechanism, RECORDS_OF_LONG_CHAINS)
    short_target = short.footpoint_target(budget)
    start = draws_to_start_from(rng, short_target, MOST_CHAINS)
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
    # What a draw costs once all is planned.
    note = "one step on all records, vectorised over chains, is the unit"
    add("cost of a draw", OURS, rate * drawing / drawn, "steps of the random walk", note=note)

    # The same walk with geomstats.
    rng = random_stream(*names, "geomstats")
    rate, how = geomstats_rate(rng, mechanism, budget, kernel, seconds["rate"])
    add("steps", GEOMSTATS_WALK, rate, "1/s", note=how)
    note = f"{how}; autocorrelation time of the random walk, whose steps are the same"
    add("effective draws", GEOMSTATS_WALK, rate / found.time, "1/s", note=note, **bound)
    return rows


def _law(planned):
    """What is known of the distance of draws to their law."""
    if not np.isfinite(planned.total_variation):
        return "no estimate of the total variation"
    kind = "" if planned.drawn_by == "exact" else "estimated "
    text = f"{kind}total variation {planned.total_variation:.2g}"
    if planned.steps:
        text += f" after {planned.steps} steps a draw"
    return text + (", more steps wanted" if planned.cut_short else "")


# Gradients


def shortest_time(function, seconds, fewest=3):
    """Least time of a call, of as many as the time allows."""
    times = []
    start = time.perf_counter()
    while len(times) < fewest or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        function()
        times.append(time.perf_counter() - before)
    return min(times)


def measure_gradients(space, settings, rats):
    """Rows: gradients a second, and how fast the same arrays can be read from memory."""
    manifold = make_manifold(*space.manifold)
    chosen, seconds = settings["gradients"], settings["seconds"]["gradient"]
    # A covariate, and a point whose numbers may have two parts.
    record = 8 + int(np.prod(manifold.point_shape)) * np.dtype(manifold.dtype).itemsize
    number = int(1e6 * chosen["megabytes"] / record)
    covariates, points = make_data(space, number, settings["seed"], rats)
    some = np.linspace(0, number - 1, RECORDS_OF_LONG_CHAINS).astype(int)
    found = fit(manifold, covariates[:, some], points[:, some])
    axis = -manifold.point_ndim - 1
    arrays = [covariates.reshape(-1), points.reshape(-1).view(float)]
    # A product of an array with itself reads it once and writes nothing.
    reading = shortest_time(lambda: [np.dot(array, array) for array in arrays], seconds)
    rate = (covariates.nbytes + points.nbytes) / reading / 1e9
    rows = [row("memory bandwidth", space.name, number, "reading alone", rate, "GB/s")]
    for count in chosen["chains"]:
        p, v = (
            np.repeat(np.expand_dims(array, axis), count, axis=axis)
            for array in (found.footpoint, found.shooting_vector)
        )
        spent = shortest_time(
            lambda p=p, v=v: energy_gradient(manifold, p, v, covariates, points, BLOCKS[:1]),
            seconds,
            fewest=1,
        )
        method = f"{count} at a time"
        share = count * reading / spent
        note = "data counted once a gradient, over what reading alone reaches"
        rows += [
            row("gradients", space.name, number, method, count / spent, "1/s"),
            row("gradients against bandwidth", space.name, number, method, share, "1", note=note),
        ]
    return rows


# Time and memory against n


def measure_size(folder, name):
    """Seconds and memory of a fit and of gradients on the data of a folder, as a dictionary.

    Peaks are those of the process so far, so that this is the first thing a process should do.
    """
    manifold = make_manifold(*SPACES[name].manifold)
    covariates = np.load(Path(folder) / "covariates.npy")
    points = np.load(Path(folder) / "points.npy")
    before = _resident()
    start = time.perf_counter()
    found = fit(manifold, covariates, points)
    fitting = time.perf_counter() - start
    axis = -manifold.point_ndim - 1
    p, v = (
        np.repeat(np.expand_dims(array, axis), SIZE_CHAINS, axis=axis)
        for array in (found.footpoint, found.shooting_vector)
    )
    peak_of_fit = _peak()
    start = time.perf_counter()
    energy_gradient(manifold, p, v, covariates, points, BLOCKS[:1])
    return {
        "data": covariates.nbytes + points.nbytes,
        "fit_seconds": fitting,
        "gradient_seconds": (time.perf_counter() - start) / SIZE_CHAINS,
        "fit_memory": max(peak_of_fit - before, 0),
        "gradient_memory": max(_peak() - before, 0),
        "converged": bool(np.all(found.converged)),
        "iterations": int(found.iterations),
    }


def measure_size_apart(folder, name):
    """`measure_size` in a process of its own."""
    code = (
        "import json, sys; from measurements import measure_size; "
        "print(json.dumps(measure_size(*sys.argv[1:])))"
    )
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    call = subprocess.run(
        [sys.executable, "-c", code, str(folder), name],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(call.stdout.splitlines()[-1])


@cache
def _has_status():
    return Path("/proc/self/status").exists()


def _status(key):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return 1024 * int(line.split()[1])
    raise LookupError(f"/proc/self/status has no {key}")


def _resident():
    return _status("VmRSS") if _has_status() else _peak()


def _peak():
    # What getrusage gives is inherited from the process that started this one.
    if _has_status():
        return _status("VmHWM")
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
