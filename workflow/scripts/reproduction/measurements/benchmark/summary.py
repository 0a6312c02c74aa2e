"""All numbers of the benchmark in one table, its aims judged by them, and one figure."""

import os
import platform

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from reproduction.figures.style import CURVES, HOLLOW, new_figure
from reproduction.measurements.benchmark import sampling
from reproduction.measurements.benchmark.fits import OUR_FIT, SAME_ENERGY
from reproduction.measurements.benchmark.means import OUR_MEAN, PYRIEMANN, RATIO, TO_THE_END
from reproduction.measurements.benchmark.speed import FIT, GRADIENT, IMPORT, PLAN, PROCESS, START
from reproduction.measurements.words import cell, space_title
from reproduction.pages import render_page

CELL = ["space", "dimension", "n", "budget"]

# In the figure: samplers, side by side at the same n.
SAMPLERS = {"ours": "default sampler", "walk": "random walk", "geomstats": "walk with geomstats"}
STYLES = dict(zip(SAMPLERS, CURVES, strict=False))
SHIFTS = {"ours": 0.8, "walk": 1.0, "geomstats": 1.25}


def summarise(tables, template, **_):
    """The table, figure and text of the benchmark, by their output, from tables of its parts."""
    # An empty part of a table has no types to agree on.
    parts = [pd.read_csv(path) for path in tables]
    table = pd.concat([part.dropna(axis="columns", how="all") for part in parts])
    table = table.reindex(columns=parts[0].columns)
    machine = {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
    }
    return {"csv": table, "figure": draw(table), "text": page(table, machine, template)}


def cells(table):
    """One line a cell: draws a second of the three samplers, and whether a walk's are a bound.

    The default sampler is taken at the largest number of draws there was time for.
    """
    draws = table[table["what"] == "effective draws"]
    ours = draws[draws["method"] == sampling.OURS].sort_values("draws", kind="stable")
    ours = ours.groupby(CELL, sort=False).last()
    found = pd.DataFrame({"ours": ours["value"], "draws": ours["draws"]})
    for name, method in (("walk", sampling.WALK), ("geomstats", sampling.GEOMSTATS_WALK)):
        part = draws[draws["method"] == method].set_index(CELL)
        found[name] = part["value"]
        found[f"{name}_is_bound"] = part["is_bound"].astype(bool)
    return found.reset_index()


def fits(table):
    """One line a fit: our time, and the least of geomstats that reached the same energy.

    Where none reached it those that were stopped bound the time from below.  Where none was
    stopped either the time is missing.
    """
    keys = ["space", "dimension", "n"]
    part = table[table["what"] == "fit"].set_index([*keys, "method"])
    excess = table[table["what"] == "excess energy of a fit"].set_index([*keys, "method"])["value"]
    part = part.assign(excess=excess).reset_index()
    values, ours = part["value"], part["method"] == OUR_FIT
    part = part.assign(
        ours=values.where(ours),
        same=values.where(~ours & (part["excess"] <= SAME_ENERGY)),
        stopped=values.where(~ours & part["is_bound"].astype(bool)),
    )
    least = {"ours": "min", "same": "min", "stopped": "max"}
    found = part.groupby(keys, sort=False).agg(least).reset_index()
    found["is_bound"] = found["same"].isna()
    found["geomstats"] = found["same"].fillna(found["stopped"])
    return found[[*keys, "ours", "geomstats", "is_bound"]]


def aims(table):
    """What is aimed at and what was reached, a row an aim that the table has numbers for.

    ``wanted`` is the least, or the most where ``at_most``; ``reached`` is the worst case, or the
    median where ``aim`` says so, and ``is_bound`` whether at least so much was reached.
    """
    judged = [*_ratios(table), *_means(table), *_speed(table)]
    return pd.DataFrame([each for each in judged if each])


def _judged(aim, wanted, values, is_bound=False, *, at_most=False, median=False):
    """A row of the aims, from values by their places; nothing if there are none."""
    values = pd.Series(values, dtype=float)
    if values.empty:
        return None
    place = int(np.argmax(values) if at_most else np.argmin(values))
    reached = values.median() if median else values.iloc[place]
    is_bound = np.broadcast_to(is_bound, len(values))
    # A median is "at least" so much if one that is not above it is.
    is_bound = np.any(is_bound & (values <= reached)) if median else is_bound[place]
    return {
        "aim": aim,
        "wanted": wanted,
        "at_most": at_most,
        "reached": reached,
        "median": values.median(),
        "is_bound": bool(is_bound),
        "where": "" if median else values.index[place],
        "met": bool(reached <= wanted if at_most else reached >= wanted),
    }


def _data_sets(part):
    """Space and n of each row of a table, in words."""
    return [f"{space}, n = {n:,}" for space, n in zip(part["space"], part["n"], strict=True)]


def _ratios(table):
    """How many times faster samplers and fits are than others."""
    sampled, fitted = cells(table), fits(table).dropna(subset="geomstats")
    sampled = sampled.set_axis([cell(case) for case in sampled.to_dict("records")])
    walk, geomstats = (sampled["ours"] / sampled[name] for name in ("walk", "geomstats"))
    bound = sampled["walk_is_bound"]
    many = (sampled["dimension"] == 96) & (sampled["budget"] >= 1.0)
    two = sampled["dimension"] == 2
    fit = (fitted["geomstats"] / fitted["ours"]).set_axis(_data_sets(fitted))
    drawn = "times the effective draws per second of"
    walks = f"{drawn} the random walk"
    fits_of = "times as fast as geomstats' fastest fit of equal energy"
    return (
        _judged(f"{walks}, 96 dimensions, budgets from 1", 1e3, walk[many], bound[many]),
        _judged(f"{walks}, two dimensions", 100, walk[two], bound[two]),
        _judged(
            f"{drawn} the walk written with geomstats",
            500,
            geomstats,
            sampled["geomstats_is_bound"],
        ),
        _judged(f"{drawn} either walk, never fewer", 1, np.minimum(walk, geomstats), bound),
        _judged(f"median of {fits_of}", 50, fit, fitted["is_bound"], median=True),
        _judged(f"{fits_of}, never fewer", 10, fit, fitted["is_bound"]),
    )


def _values(table, **chosen):
    """Values of the rows that have given entries of columns, by their space and n in words."""
    part = table[np.logical_and.reduce([table[key] == each for key, each in chosen.items()])]
    return part["value"].set_axis(_data_sets(part))


def _means(table):
    """Frechet means: of the most points, of few on the sphere, and beside those of others."""
    values = _values(table, what="gradient at a Frechet mean", method=OUR_MEAN)
    aim = "gradient at a Frechet mean, over the root mean squared distance"
    yield _judged(aim, 1e-10, values, at_most=True)
    for n, wanted in ((1000000, 0.25), (1000, 0.002)):
        values = _values(table, what="Frechet mean", space="S^2", n=n, method=OUR_MEAN)
        yield _judged(f"seconds of a Frechet mean of {n:,} points", wanted, values, at_most=True)
    values = _values(table, what=RATIO, method=PYRIEMANN)
    yield _judged("time of a mean over that of pyRiemann", 0.7, values, at_most=True)
    values = 1.0 / _values(table, what=RATIO, method=TO_THE_END, n=1000000)
    aim = "times as fast as geomstats' mean of a million points, told to go on to the end"
    yield _judged(aim, 20, values)


# What is measured of the library alone: rows of the table, the aim in words, and the most wanted.
ALONE = (
    (FIT, "SPD(8)", "seconds of a fit of scattered matrices, SPD(8)", 0.4),
    (FIT, "SPD(20)", "the same, SPD(20)", 1.0),
    (GRADIENT, "S^2", "nanoseconds of a gradient a record, 16 chains at once, S^2", 40.0),
    (GRADIENT, "SPD(3)", "the same, SPD(3)", 400.0),
)
PROCESSES = {IMPORT: 0.15, PLAN: 3.0}


def _speed(table):
    """The library alone."""
    for what, space, aim, wanted in ALONE:
        yield _judged(aim, wanted, _values(table, what=what, space=space), at_most=True)
    spent = table[table["what"] == PROCESS].set_index("method")["value"]
    for name, wanted in PROCESSES.items():
        if name in spent:
            values = {name: spent[name] - (spent[START] if name == IMPORT else 0.0)}
            aim = f"seconds of a processor, {name}"
            yield _judged(aim, wanted, values, at_most=True)


def _beside_others(table):
    """Frechet means of others, a row each: their times, and ours over theirs in pairs."""
    times, ratios, gradients = (
        table[table["what"] == what].set_index(["space", "n", "method"])
        for what in ("Frechet mean", RATIO, "gradient at a Frechet mean")
    )
    texts = {"ratio": ratios["value"].map("{:.3g}".format), "range": ratios["note"]}
    texts["gradient"] = gradients["value"].map("{:.1g}".format)
    found = times.assign(**texts).fillna(dict.fromkeys(texts, ""))
    return found.reset_index().to_dict("records")


def page(table, machine, template):
    """The benchmark in Markdown, on a machine of these names and values."""
    fitted = fits(table)
    return render_page(
        template,
        machine=", ".join(f"{name} {value}" for name, value in machine.items()),
        sampled=cells(table),
        long_chains=sampling.RECORDS_OF_LONG_CHAINS,
        aims=aims(table).to_dict("records"),
        means=_beside_others(table),
        without_equal=_data_sets(fitted[fitted["geomstats"].isna()]),
    )


def draw(table):
    """Figure with a panel a space, and one of fits."""
    sampled, fitted = cells(table), fits(table)
    names = list(dict.fromkeys(sampled["space"]))
    figure, axes = new_figure(2, 3, width=7.2, height=5.2)
    panels = list(axes.flat)
    for panel, name in zip(panels, names, strict=False):
        _draw_samplers(panel, name, sampled[sampled["space"] == name])
    for row in axes[: 1 + (len(names) - 1) // 3]:
        row[0].set_ylabel("effective draws per second (1/s)")
    _draw_fits(panels[5], fitted, names)
    handles = [
        Line2D([], [], label=label, **STYLES[sampler].keywords)
        for sampler, label in SAMPLERS.items()
    ]
    handles.append(Line2D([], [], **HOLLOW, label="hollow: a bound (draws at most, time at least)"))
    figure.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8)
    return figure


def _draw_samplers(panel, name, part):
    """Effective draws against n: at the middle budget, over the range of all of them."""
    for sampler, style in STYLES.items():
        places, middles = [], []
        for n, some in part.groupby("n"):
            some = some.sort_values("budget")
            values = some[sampler].to_numpy()
            middle = some.iloc[len(some) // 2]
            places.append(n * SHIFTS[sampler])
            middles.append(middle[sampler])
            panel.plot(
                [places[-1]] * 2, [values.min(), values.max()], color=style.colour, linewidth=1
            )
            is_bound = sampler != "ours" and bool(middle[f"{sampler}_is_bound"])
            _mark(panel, places[-1], middle[sampler], style, is_bound, zorder=4)
        panel.plot(places, middles, color=style.colour, linestyle=style.line, linewidth=0.8)
    panel.set(xscale="log", yscale="log", xlabel="number of records n")
    panel.set_title(f"{space_title(name)} (dimension {part['dimension'].iloc[0]:.0f})")


def _mark(panel, x, y, style, is_bound, **keywords):
    """A marker, hollow if it is a bound."""
    face = "white" if is_bound else style.colour
    panel.plot(x, y, color=style.colour, marker=style.marker, markerfacecolor=face, **keywords)


def _draw_fits(panel, fitted, names):
    """Times of fits, ours and the fastest of geomstats that finds the same energy."""
    for index, name in enumerate(names):
        part = fitted[fitted["space"] == name]
        for offset, (_, case) in zip(
            np.linspace(-0.15, 0.15, max(len(part), 2)), part.iterrows(), strict=False
        ):
            for method in ("ours", "geomstats"):
                is_bound = method != "ours" and case["is_bound"]
                _mark(panel, index + offset, case[method], STYLES[method], is_bound)
    panel.set(yscale="log", ylabel="time of a fit (s)")
    titles = [space_title(name) for name in names]
    panel.set_xticks(range(len(names)), titles, rotation=30, ha="right")
    panel.set_title("fits, n = " + ", ".join(f"{n:,}" for n in sorted(set(fitted["n"]))))
