"""Time, memory and errors of samplers, fits and means, beside geomstats and pyRiemann."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import script
from geodp import GeodesicModel, mean, simulate_geodesic_data
from geodp.data.stand_in import simulate_outlines
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.mechanisms.mechanism import PublicSettings
from geodp.randomness import random_stream
from geodp.samplers.choice import plan
from geodp.samplers.kernel import State, run
from geodp.samplers.random_walk import RandomWalk

COMMAND = [sys.executable, "-m", "geodp_release.ask.cli"]


def make_data(space, n, seed):
    """`GeodesicModel`, covariates (1, n), if any, and points (1, n, *point_shape) of a space."""
    model = GeodesicModel(make_manifold(*space["manifold"]))
    rng = random_stream(seed, "benchmark", space["name"], f"n{n}", "data")
    if "simulated" in space:
        made = simulate_geodesic_data(rng, model, 1, n, **space["simulated"])
        return model, made.covariates[..., 0], made.points
    if space["name"] == "outlines":
        made = simulate_outlines(rng, 1, n)
        return model, (made.ages - 50.0) / 40.0, model.manifold.from_landmarks(made.outlines)
    factors = rng.standard_normal((1, n, model.manifold.size, 2 * model.manifold.size))
    return model, None, factors @ np.swapaxes(factors, -1, -2) / factors.shape[-1]


def make_mechanism(space, model, covariates, points):
    """The published mechanism at its fit, the centre of the ball of footpoints if there is one."""
    found, public = model.fit(covariates, points), dict(space.get("public", {}))
    if "footpoint_radius" in public:
        public["centre"] = found.footpoint
    return KNGAsPublished.prepare(model, covariates, points, PublicSettings(**public), found)


def thinned(mechanism, number):
    """The mechanism on evenly chosen records, with the scale and the support of all of them."""
    total = mechanism.points.shape[1]
    chosen = np.linspace(0, total - 1, min(number, total)).astype(int)
    data = {"covariates": mechanism.covariates[:, chosen], "points": mechanism.points[:, chosen]}
    return replace(mechanism, **data, fit=mechanism.model.fit(**data))


def clock():
    """Seconds of the processor, those of processes that were waited for included."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def times_of(limit, *functions):
    """Seconds (rounds, functions) of calls in turn, every other round in reverse.

    After a round that is not timed there are at least three, and as many as a limit allows.
    """
    rounds, start = [], 0.0
    while len(rounds) < 4 or time.perf_counter() - start < limit:
        spent = np.empty(len(functions))
        for index in range(len(functions))[:: 1 if len(rounds) % 2 else -1]:
            before = clock()
            functions[index]()
            spent[index] = clock() - before
        rounds.append(spent)
        start = start or time.perf_counter()
    return np.array(rounds[1:])


def samplers(seed, space, n, budgets=(0.1, 1.0, 10.0)):
    """A row a walk: effective draws per second of the default sampler, and its own."""
    cells = [(k, b, 1.0) for k in n for b in budgets if k < max(n) or b != np.median(budgets)]
    # Once before, to load all that is used.
    for number, budget, patience in [(n[0], budgets[0], 0.0), *cells]:
        names = seed, "benchmark", space["name"], f"n{number}", f"budget{budget:g}"
        mechanism = make_mechanism(space, *make_data(space, number, seed))
        ours = default_rate(names, mechanism, budget, 20.0 * patience)
        rates, is_bound = walk_rates(names, mechanism, budget, 0.8 * patience)
        for beside, theirs in rates.items() if patience else ():
            row = {"what": "draws", "space": space["name"], "n": number, "budget": budget}
            row |= {"dimension": mechanism.manifold.dim, "beside": beside, "is_bound": is_bound}
            yield row | {"ours": ours, "theirs": theirs, "ratio": ours / theirs}


def default_draws(rng, target, number):
    """State of draws by the default sampler, at a total variation that chains can be asked for."""
    planned = plan(rng, target, number, total_variation=0.01)
    return run(rng, planned.sampler, target, number, planned.steps)[0]


def default_rate(names, mechanism, budget, limit):
    """Draws per second, with planning, of the largest number that takes so many seconds."""
    rate = 0.0
    for number in (20, 200, 2000, 20000):
        if rate and number / rate > limit:
            break
        rng, start = random_stream(*names, "default", f"{number} draws"), clock()
        default_draws(rng, mechanism.footpoint_target(budget), number)
        rate = number / (clock() - start)
    return rate


def walk_rates(names, mechanism, budget, limit, states=40000, least=150, most=20000):
    """Effective draws per second of both walks, and whether they are bounds from above.

    From about ``least`` records a walk's autocorrelation no longer depends on n, and from ``most``
    a step with geomstats takes a time in proportion to n.
    """
    import benchmark_cases as others

    few, many = (thinned(mechanism, number) for number in (least, most))
    rng, few = random_stream(*names, "walk"), few.footpoint_target(budget)
    start, target = default_draws(rng, few, 200), mechanism.footpoint_target(budget)

    def walk(scale, target, chains, steps=10**9):
        first = State(start.position[:, :chains], start.log_density[:, :chains])
        return (state for state, _ in RandomWalk(scale).walk(rng, target, first, steps, 1))

    def change(scale):
        values = [state.log_density for state in walk(scale, few, 20, 60)]
        return np.mean(np.diff(values, axis=0) ** 2)

    # Where the log density changes most the autocorrelation time is about least.
    scale = max((0.5 * 1.4**k for k in range(14)), key=change)
    n = mechanism.points.shape[1]
    chains = max(4, 40 // few.space.dim)  # in many dimensions few, which are longer
    steps, is_bound = autocorrelation_time(few, walk(scale, few, chains, states // chains))
    # Arrays of one step of all chains fit a processor's cache.
    chains = int(np.clip((1 << 16) // n, 4, 200))
    radius = scale * float(target.scale[0])
    theirs = others.walk(random_stream(*names, "geomstats"), many, budget, radius)
    seconds = times_of(limit, walk(scale, target, chains).__next__, theirs.__next__)
    rates = np.array([chains, min(n, most) / n]) / np.mean(seconds, axis=0) / steps
    return dict(zip(("random walk", "random walk with geomstats"), rates, strict=True)), is_bound


def autocorrelation_time(target, walk):
    """Steps worth a draw by the worst summary, and whether they are too few as chains are short."""
    from arviz_stats.base import array_stats as stats

    values, states = zip(*((each.log_density[0], each.position[0]) for each in walk), strict=True)
    space, centre = target.space, target.centre[0]
    place = space.coordinates(centre, space.log(centre, np.array(states)), space.frame(centre))
    traces = np.array([np.transpose(values), np.linalg.norm(place, axis=-1).T, *place[..., :3].T])
    axes = {"chain_axis": 0, "draw_axis": 1}
    sizes = [stats.ess(each, **axes, method="bulk") for each in traces]
    converged = bool(np.min(sizes) > 400)  # false of NaN, of chains that never moved
    if not converged:  # of each chain by itself, which knows of nothing slower
        within = [[stats.ess(one[None], **axes, method="mean") for one in each] for each in traces]
        sizes = np.sum(within, axis=1)
    # No state is worth more than a draw.
    return max(1.0, traces[0].size / np.nanmin(sizes)), not converged


def fits(seed, spaces, solvers, n=(20, 1000), limit=0.4):
    """A row a solver of geomstats: seconds of our fit, and its own if it has the same energy."""
    import benchmark_cases as others

    for space, number in [(space, number) for space in spaces for number in n]:
        model, [x], [y] = make_data(space, number, seed)
        for name, options in solvers.items():
            theirs = partial(others.geodesic, model.manifold, x, y, options)
            times = np.min(times_of(limit, partial(model.fit, x, y), theirs), axis=0)
            row = {"what": "fit", "space": space["name"], "n": number, "beside": name}
            row |= dict(zip(("ours", "theirs"), times, strict=True))
            parameters = model.parameters(*theirs())
            energy = model.energy_gradient(parameters, x - np.mean(x), y, blocks=()).energy
            is_same = energy <= (1.0 + 1e-6) * model.fit(x, y).energy
            yield row | {"ratio": times[1] / times[0] if is_same else np.nan}


def means(seed, sizes, limit=2.0, tolerance=1e-10):
    """A row a library: seconds of our mean and its own; and one of the gradient that is left.

    The tolerance is of the gradient, over the root mean squared distance.
    """
    import benchmark_cases as others

    for space, n in sizes:
        model, _, [points] = make_data(space, n, seed)
        model = GeodesicModel(model.manifold, 0)
        row, ours = {"space": space["name"], "n": n}, partial(mean, points, model.manifold)
        found, scale = ours(), np.sqrt(2.0 * model.fit(None, points).energy)
        left = model.energy_gradient(found.parameters, None, points).gradient["footpoint"]
        left = model.manifold.norm(found.footpoint, left) / (tolerance * scale)
        yield row | {"what": "gradient left", "ours": float(left)}
        for name, theirs in others.means(model.manifold, points, tolerance * scale).items():
            times = times_of(limit, ours, theirs)
            row |= dict(zip(("ours", "theirs"), np.median(times, axis=0), strict=True))
            row["ratio"] = np.median(times[:, 1] / times[:, 0])
            yield row | {"what": "mean", "beside": name}


def alone(seed, timed, release, limit=3.0, chains=16):
    """Rows of seconds of fits and processes, and of nanoseconds of a gradient of many chains."""
    for what, space, n in timed:
        model, [x], [y] = make_data(space, n, seed)
        function, unit = partial(model.fit, x, y), 1.0
        if what == "gradient":
            states = function().parameters.items()
            states = {block: np.repeat(value[None], chains, axis=0) for block, value in states}
            function, unit = partial(model.energy_gradient, states, x, y), 1e-9 * n * chains
        spent = np.median(times_of(limit, function)) / unit
        yield {"what": what, "space": space["name"], "n": n, "ours": spent}
    code = "import geodp; geodp.mean, geodp.fit, geodp.SPD"
    commands = [[*COMMAND[:1], "-c", each] for each in ("", code)]
    commands.append([*COMMAND, "plan", release])
    how = {"check": True, "stdout": subprocess.DEVNULL}
    calls = (partial(subprocess.run, each, **how) for each in commands)
    start, loaded, planned = np.median(times_of(limit, *calls), axis=0)
    yield from ({"what": "import", "ours": loaded - start}, {"what": "plan", "ours": planned})


def releases(seed, n, suffixes, at_once=10**6):
    """A row a command, a format and a number of labelled records: its time a record, and memory.

    Microseconds of the processor, the plan included, and MB at the peak; of S^2 on a covariate.  So
    many records are made at once, and written to each file of a folder.
    """
    for number, suffix in product(n, suffixes):
        rng = random_stream(seed, "benchmark", "releases", f"n{number}")
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/table.{suffix}"
            if suffix == "csv":
                _table(rng, number).to_csv(path, index=False)
            else:
                os.mkdir(path)
                for start in range(0, number, at_once):
                    part = _table(rng, min(at_once, number - start), start)
                    part.to_parquet(f"{path}/{start:09d}.parquet", index=False)
            row = {"space": "S^2", "n": number, "beside": suffix}
            for what, seconds, memory in _commands(folder, _settings(number, path, folder)):
                yield row | {"what": what, "ours": 1e6 * seconds / number, "memory": memory}


def _table(rng, number, start=0):
    """Points of S^2, a covariate and labels, which are numbered from a start on."""
    age, noise = rng.uniform(20.0, 80.0, number), 0.2 * rng.standard_normal((number, 2))
    points = np.column_stack([noise, np.ones(number)])
    points[:, 0] += (age - 50.0) / 120.0
    points /= np.linalg.norm(points, axis=-1, keepdims=True)
    table = pd.DataFrame(points.round(9), columns=["x", "y", "z"])
    labels = [f"p{start + each:09d}" for each in rng.permutation(number)]
    return table.assign(age=age.round(3), who=labels)


def _settings(number, path, folder):
    """Settings of a release of S^2 on a covariate, whose public inputs are made up."""
    manifold = {"name": "sphere", "size": 2}
    public = {"manifold": manifold, "centre": [0, 0, 1], "footpoint_radius": 0.5}
    public |= {"shooting_vector_length": 1.0, "covariate_range": [20, 80], "subjects": number}
    public |= {"records_per_subject": 1, "neighbours": "replace one subject"}
    data = {"source": "table", "path": path, "columns": ["x", "y", "z"]}
    return {
        **{"name": "benchmark", "description": "simulated", "units": {"age": "years"}},
        **{"public": public, "sources": dict.fromkeys(public, "made up")},
        **{"data": data | {"covariate": "age", "subject": "who"}, "budget": {"epsilon": "1"}},
        **{"ledger": f"{folder}/ledger", "folder": f"{folder}/released", "predictions": [50]},
    }


def _commands(folder, settings):
    """Name, seconds of the processor and MB at the peak of a check, and then of a release."""
    silent = {"stdout": subprocess.DEVNULL}
    Path(folder, "s.yaml").write_text(json.dumps(settings))
    create = "ledger", "create", settings["ledger"], "--allowed", "1"
    subprocess.run([*COMMAND, *create], check=True, **silent)
    for what in ("check", "release"):
        process = subprocess.Popen([*COMMAND, what, f"{folder}/s.yaml"], **silent)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, what)
        yield what, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024.0


def measure(what, seed, backend="numpy", **given):
    """The table of one of these functions."""
    script.need("geomstats", "benchmark", "geomstats")
    os.environ["GEOMSTATS_BACKEND"] = backend
    parts = {each.__name__: each for each in (samplers, fits, means, alone, releases)}
    return pd.DataFrame(parts[what](seed, **given))


def aims(table):
    """A row an aim: what was wanted, and what was reached in the worst case and in the median."""
    table = table.sort_values("ratio")
    # Of the solvers of a fit the fastest counts.
    table = table[~table.duplicated(["what", "space", "n"]) | (table["what"] != "fit")]
    table = table.assign(share=1.0 / table["ratio"], walk=table["beside"] == "random walk")
    table, rows, where = table.astype({"n": "Int64"}), [], "where: space, n, budget"
    # The least ratio of speeds, ours to another's, or the most of ours; and of which rows.
    wanted = pd.read_csv(Path(script.__file__).with_name("benchmark_aims.csv"))
    for aim, column, sign, goal, query in wanted.itertuples(index=False):
        least, part = sign == ">", table.query(query).dropna(subset=column)
        row = {"aim": aim, "wanted": f"at {'least' if least else 'most'} {goal:,g}"}
        row |= {"worst case": "not run here", where: "", "median": "", "verdict": ""}
        if len(part):
            worst, median = part.sort_values(column, ascending=least).iloc[0], part[column].median()
            bound = "at least " if worst["is_bound"] == 1 else ""
            row["worst case"] = bound + script.number(worst[column])
            row["median"] = script.number(median)
            row[where] = ", ".join(worst[["space", "n", "budget"]].dropna().astype(str))
            reached = median if "median" in aim else worst[column]
            row["verdict"] = "met" if (reached >= goal) == least else "missed"
        rows.append(row)
    return pd.DataFrame(rows)


def summarise(table):
    """Verdicts on aims; and ratios of effective draws per second, a panel a walk and a space."""
    draws = table[table["what"] == "draws"].sort_values(["beside", "n"])
    draws = draws.assign(panel=draws["space"] + ", " + draws["beside"])
    draws["panel"] = draws["panel"].str.replace("with", "\nwith")
    draws["curve"] = "n = " + draws["n"].astype(int).map("{:,}".format)
    axis = {"xscale": "log", "yscale": "log", "xlabel": "budget (nats)", "rows": 2}
    axis["ylabel"] = "draws over the walk's"
    return {"benchmark": aims(table)}, script.panels(
        draws, "budget", "ratio", "curve", "panel", **axis
    )
