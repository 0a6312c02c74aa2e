"""What the benchmark says of its aims, in words made from its numbers."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from reproduction.measurements.benchmark.fits import OUR_FIT, SAME_ENERGY
from reproduction.measurements.benchmark.means import OUR_MEAN, TO_THE_END
from reproduction.measurements.benchmark.sampling import GEOMSTATS_WALK, OURS, WALK
from reproduction.measurements.benchmark.spaces import RECORDS_OF_LONG_CHAINS
from reproduction.measurements.words import cell, number

# What is aimed at: how many times faster, and working memory in MB.
WALK_IN_MANY_DIMENSIONS = 1000.0
WALK_IN_TWO_DIMENSIONS = 100.0
GEOMSTATS_TIMES = 500.0
FIT_TIMES = 50.0
NEVER_SLOWER = 1.0
LARGEST_MEMORY = 1000.0

# Of a Frechet mean of so many points: seconds, length of the gradient, and times faster.
MANY_POINTS = 1000000
MEAN_SECONDS = 2.0
MEAN_GRADIENT = 1e-10
MEAN_TIMES = 20.0

MANY_DIMENSIONS = 96
SMALLEST_BUDGET = 1.0

# Time in proportion to n has this slope on logarithmic axes, within the tolerance; it is measured
# from here on, where neither what every call costs nor a processor's caches count any more.
LINEAR_SLOPE = 1.0
SLOPE_TOLERANCE = 0.15
FEWEST_RECORDS = 100000

CELL = ["space", "dimension", "n", "budget"]

FIT_COLUMNS = ["space", "dimension", "n", "ours", "geomstats", "method", "is_bound"]


@dataclass(frozen=True)
class Aim:
    """One aim and what was reached.

    Attributes
    ----------
    text : str
        What was aimed at.
    wanted, reached : float
        ``reached`` is that of the worst case.
    at_least : bool
        Whether more may have been reached, since the other side is a bound.
    where : str
        The worst case.
    median : float
        Over all cases.
    limit : str
        What limits the worst case.
    """

    text: str
    wanted: float
    reached: float
    at_least: bool
    where: str
    median: float
    limit: str

    @property
    def met(self):
        return bool(self.reached >= self.wanted)

    def sentence(self):
        least = "at least " if self.at_least else ""
        found = (
            f"{self.text}: the least is {least}{number(self.reached)} times ({self.where}), the "
            f"median {number(self.median)} times."
        )
        if self.met:
            return f"**Met.** {found}"
        short = f"by a factor of {'at most ' if self.at_least else ''}"
        return f"**Missed** {short}{number(self.wanted / self.reached)}. {found} {self.limit}"


def cells(table):
    """One line a cell: draws a second of the three samplers and what they rest on.

    The default sampler is taken at the largest number of draws there was time for.
    """
    draws = table[table["what"] == "effective draws"]
    ours = draws[draws["method"] == OURS].sort_values("draws").groupby(CELL, sort=False).last()
    found = pd.DataFrame({"ours": ours["value"], "draws": ours["draws"], "note": ours["note"]})
    for name, method in (("walk", WALK), ("geomstats", GEOMSTATS_WALK)):
        part = draws[draws["method"] == method].set_index(CELL)
        found[name] = part["value"]
        found[f"{name}_is_bound"] = part["is_bound"].astype(bool)
    planning = table[table["what"] == "planning"].sort_values("draws")
    found["planning_share"] = planning.groupby(CELL, sort=False)["value"].last()
    for name, what in (("autocorrelation", "autocorrelation time"), ("cost", "cost of a draw")):
        found[name] = table[table["what"] == what].set_index(CELL)["value"]
    return found.reset_index()


def fits(table):
    """One line a fit: our time, and the least of geomstats that reached the same energy."""
    part = table[table["what"] == "fit"]
    excess = table[table["what"] == "excess energy of a fit"]
    keys = ["space", "dimension", "n", "method"]
    part = part.merge(
        excess[[*keys, "value"]].rename(columns={"value": "excess"}), on=keys, how="left"
    )
    rows = []
    for (space, dimension, n), some in part.groupby(["space", "dimension", "n"], sort=False):
        ours = some.loc[some["method"] == OUR_FIT, "value"].min()
        theirs = some[some["method"] != OUR_FIT]
        same = theirs[theirs["excess"] <= SAME_ENERGY].sort_values("value")
        if len(same):
            best, is_bound = same.iloc[0], False
        else:
            # None got there: those that were stopped bound the time from below.
            stopped = theirs[theirs["is_bound"].astype(bool)].sort_values("value")
            if not len(stopped):
                continue
            best, is_bound = stopped.iloc[-1], True
        rows.append([space, dimension, n, ours, best["value"], best["method"], is_bound])
    return pd.DataFrame(rows, columns=FIT_COLUMNS)


def _aim(text, wanted, cases, ratios, is_bound, where, limit):
    """The worst of some cases against an aim; none if there are no cases."""
    if cases.empty:
        return None
    worst = ratios.idxmin()
    return Aim(
        text,
        wanted,
        float(ratios.min()),
        bool(is_bound[worst]),
        where(cases.loc[worst]),
        float(ratios.median()),
        limit(cases.loc[worst]),
    )


def _limit_of_sampling(case):
    """Why the default sampler is not faster than it is."""
    time = ("at least " if case["walk_is_bound"] else "") + number(case["autocorrelation"])
    return (
        f"What limits it: the walk's autocorrelation time there is {time} steps, a draw of the "
        f"default sampler takes the time of {number(case['cost'])} of its steps, and planning "
        f"takes {case['planning_share']:.0%} of its time for {case['draws']:g} draws."
    )


def _data_set(case):
    return f"{case['space']}, n = {case['n']:,}"


def _limit_of_fit(case):
    return (
        f"What limits it: the fit takes {number(1e3 * case['ours'])} ms and geomstats "
        f"{number(1e3 * case['geomstats'])} ms ({case['method'].removeprefix('geomstats ')})."
    )


def aims(table):
    """Every aim that the table has numbers for.

    Parameters
    ----------
    table : pandas.DataFrame
        All rows of the benchmark.

    Returns
    -------
    list of Aim
    """
    sampled = cells(table)
    fitted = fits(table)

    def sampling(text, wanted, cases, *walks):
        """An aim of the default sampler beside the fastest of some walks."""
        ratios = cases["ours"] / cases[[*walks]].max(axis=1)
        is_bound = cases[f"{walks[0]}_is_bound"]
        return _aim(text, wanted, cases, ratios, is_bound, cell, _limit_of_sampling)

    def fitting(text, wanted):
        ratios = fitted["geomstats"] / fitted["ours"]
        return _aim(text, wanted, fitted, ratios, fitted["is_bound"], _data_set, _limit_of_fit)

    many = sampled[
        (sampled["dimension"] == MANY_DIMENSIONS) & (sampled["budget"] >= SMALLEST_BUDGET)
    ]
    two = sampled[sampled["dimension"] == 2]
    found = [
        sampling(
            f"{WALK_IN_MANY_DIMENSIONS:,.0f} times the random walk's effective draws per second in "
            f"{MANY_DIMENSIONS} dimensions at budgets from {SMALLEST_BUDGET:g}",
            WALK_IN_MANY_DIMENSIONS,
            many,
            "walk",
        ),
        sampling(
            f"{WALK_IN_TWO_DIMENSIONS:,.0f} times in two dimensions",
            WALK_IN_TWO_DIMENSIONS,
            two,
            "walk",
        ),
        sampling(
            f"{GEOMSTATS_TIMES:,.0f} times the walk written with geomstats",
            GEOMSTATS_TIMES,
            sampled,
            "geomstats",
        ),
        fitting(
            f"{FIT_TIMES:,.0f} times faster fits than geomstats' fastest of equal energy",
            FIT_TIMES,
        ),
        sampling(
            "Never slower than the random walk, with geomstats or without, anywhere on the grid",
            NEVER_SLOWER,
            sampled,
            "walk",
            "geomstats",
        ),
        fitting("Never a slower fit", NEVER_SLOWER),
    ]
    return [aim for aim in found if aim is not None]


def slopes(table, method):
    """Slope of log time against log n, by space, where there are enough records to tell."""
    part = table[(table["what"] == "time against n") & (table["method"] == method)]
    part = part[part["n"] >= FEWEST_RECORDS]
    return {
        space: float(np.polyfit(np.log(some["n"]), np.log(some["value"]), 1)[0])
        for space, some in part.groupby("space", sort=False)
        if len(some) > 1
    }


def _growth_sentences(table):
    said = []
    for method in ("fit", "gradient"):
        found = slopes(table, method)
        if not found:
            continue
        low, high = min(found.values()), max(found.values())
        verdict = _verdict(high <= LINEAR_SLOPE + SLOPE_TOLERANCE)
        said.append(
            f"{verdict} Time linear in n: that of a {method} grows as n to the power "
            f"{low:.2f} to {high:.2f} from {FEWEST_RECORDS:,} records on."
        )
    memory = table[table["what"] == "memory beyond the data"]
    if len(memory):
        worst = memory.loc[memory["value"].idxmax()]
        verdict = _verdict(worst["value"] < LARGEST_MEMORY)
        said.append(
            f"{verdict} Working memory below {LARGEST_MEMORY:,.0f} MB beyond the data: the most is "
            f"{number(worst['value'])} MB ({worst['method']}, {worst['space']}, "
            f"n = {worst['n']:,})."
        )
    return said


def _mean_sentences(table):
    part = table[table["what"] == "Frechet mean"]
    part = part[part["n"] == part["n"].max()]
    if part.empty:
        return []
    times = part.set_index("method")["value"]
    gradients = table[(table["what"] == "gradient at a Frechet mean") & table["n"].isin(part["n"])]
    gradients = gradients.set_index("method")["value"]
    n, seconds, ratio = part["n"].iloc[0], times[OUR_MEAN], times[TO_THE_END] / times[OUR_MEAN]
    exact = seconds <= MEAN_SECONDS and gradients[OUR_MEAN] <= MEAN_GRADIENT
    few = f", of {n:,} here" if n < MANY_POINTS else ""
    least = "at least " if part.set_index("method").loc[TO_THE_END, "is_bound"] else ""
    said = (
        f"{_verdict(exact)} The Frechet mean of {MANY_POINTS:,} points on S^2{few} within "
        f"{MEAN_SECONDS:g} s and to a gradient of {MEAN_GRADIENT:g}: it takes {number(seconds)} s, "
        f"and the gradient is {gradients[OUR_MEAN]:.1g}."
    )
    other = (
        f"{_verdict(ratio >= MEAN_TIMES)} {MEAN_TIMES:g} times as fast as geomstats' mean of the "
        f"same points, told to go on to the end: {least}{number(ratio)} times"
    )
    if TO_THE_END in gradients:
        other += f", and its gradient is {gradients[TO_THE_END]:.1g}"
    return [said, f"{other}."]


def _verdict(met):
    return "**Met.**" if met else "**Missed.**"


def _bandwidth_sentence(table):
    part = table[table["what"] == "gradients against bandwidth"]
    speed = table[table["what"] == "memory bandwidth"]
    if not len(part) or not len(speed):
        return []
    best, worst = part.loc[part["value"].idxmax()], part.loc[part["value"].idxmin()]
    return [
        f"Reading the data takes memory {number(speed['value'].min())} to "
        f"{number(speed['value'].max())} GB/s; gradients use {number(100 * worst['value'])} % "
        f"({worst['space']}, {worst['method']}) to {number(100 * best['value'])} % "
        f"({best['space']}, {best['method']}) of that, the data counted once for each."
    ]


def _without_equal_sentence(table):
    """Fits that no ratio can be given of."""
    compared = fits(table)
    known = set(zip(compared["space"], compared["n"], strict=True))
    part = table[table["what"] == "fit"]
    others = dict.fromkeys(zip(part["space"], part["n"], strict=True))
    others = [f"{space}, n = {n:,}" for space, n in others if (space, n) not in known]
    if not others:
        return []
    return [
        "No solver of geomstats reached the energy of the fit, and none was stopped by the time "
        f"limit: {'; '.join(others)}. The ratios of fits above leave these out."
    ]


def _plain_start_sentence(table):
    """What geomstats does when it is left to itself."""
    part = table[table["what"] == "excess energy of a fit from a plain start"]
    if not len(part):
        return []
    notes = part["note"].fillna("")
    kinds = {
        "raise an error": notes.str.startswith("fails"),
        "return the mean with a slope of zero, without a word": notes.str.startswith("the mean"),
        "return what is no point of the space": notes == "no point of the space",
        "end at a higher energy": notes.str.startswith("excess"),
        "are stopped by the time limit": notes == "stopped",
    }
    told = [
        f"{chosen.sum()} {verb} ({', '.join(dict.fromkeys(part.loc[chosen, 'space']))})"
        for verb, chosen in kinds.items()
        if chosen.any()
    ]
    right = int((notes == "same energy").sum())
    return [
        f"Of {len(part)} fits of geomstats from its own starts (random, and the mean), "
        f"{right} find the least energy" + "".join(f", {text}" for text in told) + "."
    ]


def paragraph(table, machine):
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
    reached = aims(table)
    sampled = cells(table)
    facts = ", ".join(f"{name} {value}" for name, value in machine.items())
    intro = (
        f"Measured with one thread on: {facts}. Effective draws per second of the footpoint's "
        "density; those of the default sampler count planning, for "
        f"{sampled['draws'].min():,.0f} to {sampled['draws'].max():,.0f} draws; the walks start in "
        "that density, and their tuning is not counted. A walk that did not converge in its time "
        f"({int(sampled['walk_is_bound'].sum())} of {len(sampled)} cells) is credited with steps "
        "per second over the autocorrelation time of its longest affordable chains, an upper bound "
        'of its effective draws; a ratio to it is therefore "at least". With more than '
        f"{RECORDS_OF_LONG_CHAINS} records that time is the one on so many of them, at the scale "
        "of all. The notes of the table say so, and where the time of a step with geomstats is "
        "that of fewer records in proportion."
    )
    sentences = [aim.sentence() for aim in reached]
    sentences += _growth_sentences(table) + _mean_sentences(table)
    sentences += _without_equal_sentence(table)
    sentences += _bandwidth_sentence(table) + _plain_start_sentence(table)
    return "\n".join(["# Benchmark", "", intro, "", *(f"* {text}" for text in sentences), ""])
