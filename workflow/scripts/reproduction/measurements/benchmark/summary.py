"""All numbers of the benchmark in one table, its aims judged by them, and one figure."""

import os
import platform

import numpy as np
import pandas as pd

from reproduction.measurements.benchmark.figure import draw
from reproduction.measurements.benchmark.fits import OUR_FIT, SAME_ENERGY
from reproduction.measurements.benchmark.means import OUR_MEAN, TO_THE_END
from reproduction.measurements.benchmark.sampling import (
    GEOMSTATS_WALK,
    OURS,
    RECORDS_OF_LONG_CHAINS,
    WALK,
)
from reproduction.measurements.words import cell, markdown, number

CELL = ["space", "dimension", "n", "budget"]

# Slopes of log time against log n are measured from here on, where neither what every call costs
# nor a processor's caches count any more.
FEWEST_RECORDS = 100000


def summarise(tables, **_):
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
    figure = draw(table, cells(table), fits(table))
    return {"csv": table, "figure": figure, "text": page(table, machine)}


def cells(table):
    """One line a cell: draws a second of the three samplers, and whether a walk's are a bound.

    The default sampler is taken at the largest number of draws there was time for.
    """
    draws = table[table["what"] == "effective draws"]
    ours = draws[draws["method"] == OURS].sort_values("draws", kind="stable")
    ours = ours.groupby(CELL, sort=False).last()
    found = pd.DataFrame({"ours": ours["value"], "draws": ours["draws"]})
    for name, method in (("walk", WALK), ("geomstats", GEOMSTATS_WALK)):
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
    rows = []
    for place, some in part.groupby(keys, sort=False):
        theirs = some[some["method"] != OUR_FIT].sort_values("value")
        same = theirs.loc[theirs["excess"] <= SAME_ENERGY, "value"]
        stopped = theirs.loc[theirs["is_bound"].astype(bool), "value"]
        rows.append(
            {
                **dict(zip(keys, place, strict=True)),
                "ours": some.loc[some["method"] == OUR_FIT, "value"].min(),
                "geomstats": same.min() if len(same) else stopped.max(),
                "is_bound": not len(same),
            }
        )
    return pd.DataFrame(rows, columns=[*keys, "ours", "geomstats", "is_bound"])


def slopes(table, method):
    """Slope of log time against log n, by space, where there are enough records to tell."""
    part = table[(table["what"] == "time against n") & (table["method"] == method)]
    part = part[part["n"] >= FEWEST_RECORDS]
    return {
        space: float(np.polyfit(np.log(some["n"]), np.log(some["value"]), 1)[0])
        for space, some in part.groupby("space", sort=False)
        if len(some) > 1
    }


def aims(table):
    """What is aimed at and what was reached, a row an aim that the table has numbers for.

    Returns
    -------
    DataFrame
        With ``aim``; ``wanted``, the least, or the most where ``at_most``; ``reached``, in the
        worst case, and ``median``; ``is_bound``, whether at least so much was reached; ``where``
        the worst case is; and ``met``.
    """
    judged = [*_ratios(table), *_growth(table), *_means(table)]
    return pd.DataFrame([each for each in judged if each])


def _judged(aim, wanted, values, is_bound=False, *, at_most=False):
    """A row of the aims, from values by their places; nothing if there are none."""
    values = pd.Series(values, dtype=float)
    if values.empty:
        return None
    place = int(np.argmax(values) if at_most else np.argmin(values))
    reached = values.iloc[place]
    return {
        "aim": aim,
        "wanted": wanted,
        "at_most": at_most,
        "reached": reached,
        "median": values.median(),
        "is_bound": bool(np.broadcast_to(is_bound, len(values))[place]),
        "where": values.index[place],
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
    return (
        _judged(
            f"{drawn} the random walk, 96 dimensions, budgets from 1", 1e3, walk[many], bound[many]
        ),
        _judged(f"{drawn} the random walk, two dimensions", 100, walk[two], bound[two]),
        _judged(
            f"{drawn} the walk written with geomstats",
            500,
            geomstats,
            sampled["geomstats_is_bound"],
        ),
        _judged(f"{drawn} either walk, never fewer", 1, np.minimum(walk, geomstats), bound),
        _judged(
            "times as fast as geomstats' fastest fit of equal energy", 50, fit, fitted["is_bound"]
        ),
        _judged("the same, never slower", 1, fit, fitted["is_bound"]),
    )


def _growth(table):
    """How time grows with n, and how much memory is needed."""
    for method in ("fit", "gradient"):
        aim = f"power of n that the time of a {method} grows as, from {FEWEST_RECORDS:,} records on"
        yield _judged(aim, 1.15, slopes(table, method), at_most=True)
    memory = table[table["what"] == "memory beyond the data"]
    values = memory["value"].set_axis(_data_sets(memory))
    yield _judged("MB of working memory beyond the data", 1000, values, at_most=True)


def _means(table):
    """The Frechet mean of the most points."""
    part = table[table["what"] == "Frechet mean"]
    part = part[part["n"] == part["n"].max()]
    if part.empty:
        return
    gradients = table[table["what"] == "gradient at a Frechet mean"]
    gradients = gradients[gradients["n"].isin(part["n"])].set_index("method")["value"]
    [place] = set(_data_sets(part))
    part = part.set_index("method")
    times = part["value"]
    ratio = times[TO_THE_END] / times[OUR_MEAN]
    mean = "the Frechet mean of 1,000,000 points on S^2"
    yield _judged(f"seconds of {mean}", 2, {place: times[OUR_MEAN]}, at_most=True)
    yield _judged(f"gradient at {mean}", 1e-10, {place: gradients[OUR_MEAN]}, at_most=True)
    yield _judged(
        "times as fast as geomstats' mean of these points, told to go on to the end",
        *(20, {place: ratio}, part["is_bound"][TO_THE_END]),
    )


def page(table, machine):
    """The benchmark in words.

    Parameters
    ----------
    table : pandas.DataFrame
    machine : dict
        Names and values of what the numbers depend on.

    Returns
    -------
    str
        Markdown.
    """
    sampled = cells(table)
    facts = ", ".join(f"{name} {value}" for name, value in machine.items())
    judged = [
        [
            aim["aim"],
            f"at {'most' if aim['at_most'] else 'least'} {aim['wanted']:,g}",
            ("at least " if aim["is_bound"] else "") + _short(aim["reached"]),
            aim["where"],
            _short(aim["median"]),
            "**met**" if aim["met"] else "**missed**",
        ]
        for aim in aims(table).to_dict("records")
    ]
    lines = [
        "# Benchmark",
        "",
        f"Measured with one thread on: {facts}. Effective draws per second of the footpoint's "
        "density; those of the default sampler count planning, for "
        f"{sampled['draws'].min():,.0f} to {sampled['draws'].max():,.0f} draws; the walks start in "
        "that density, and their tuning is not counted. A walk that did not converge in its time "
        f"({int(sampled['walk_is_bound'].sum())} of {len(sampled)} cells) is credited with steps "
        "per second over the autocorrelation time of its longest affordable chains, an upper bound "
        'of its effective draws; a ratio to it is therefore "at least". With more than '
        f"{RECORDS_OF_LONG_CHAINS} records that time is the one on so many of them, at the scale "
        "of all. The notes of the table say so, and where the time of a step with geomstats is "
        "that of fewer records in proportion.",
        "",
        *markdown(
            ["what is aimed at", "wanted", "worst case", "where", "median", "verdict"], judged
        ),
        "",
        *_without_equal(fits(table)),
        *_plain_starts(table),
    ]
    return "\n".join(lines)


def _short(value):
    return number(value) if value >= 1e-3 else f"{value:.1g}"


def _without_equal(fitted):
    """Fits that no ratio can be given of."""
    alone = fitted[fitted["geomstats"].isna()]
    if len(alone):
        yield (
            "No solver of geomstats reached the energy of the fit, and none was stopped by the "
            f"time limit: {'; '.join(_data_sets(alone))}. The ratios of fits leave these out."
        )
        yield ""


def _plain_starts(table):
    """What geomstats does when it is left to itself."""
    part = table[table["what"] == "excess energy of a fit from a plain start"]
    if len(part):
        # Without the number or the error's words.
        ends = part["note"].str.replace(r"^(excess energy|fails).*", r"\1", regex=True)
        yield "Fits of geomstats from its own starts (random, and the mean):"
        yield ""
        yield from markdown(["how they end", "fits"], ends.value_counts().items())
        yield ""
