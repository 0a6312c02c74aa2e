"""The script of evaluation/Snakefile, and what its questions share: tables, figures, releases."""

import re
from importlib import import_module
from importlib.util import find_spec

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator

from geodp.samplers.integer_choice import generator_bits
from geodp_release.run.subjects import ONE_EACH, subject_records
from geodp_release.show import picture_style
from geodp_release.show.release import Release
from geodp_release.stages.draw import run_plan

# Keywords of curves, dark to light; told apart in greyscale and by colour-blind readers.
CURVES = (
    {"color": "#14315f", "marker": "o", "linestyle": "-"},
    {"color": "#c2480c", "marker": "s", "linestyle": "--"},
    {"color": "#e0a526", "marker": "^", "linestyle": "-."},
    {"color": "#5aa7c7", "marker": "D", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    {"color": "#9a9a9a", "marker": "v", "linestyle": ":"},
)


def run(question, given, output, parts=None):
    """Carry out a part of a question, or join what its parts measured.

    ``measure`` of the question's module goes from arguments to a table; ``summarise`` from the
    table of all parts, and arguments, to tables of docs/evaluation.md by their mark, and a figure
    or ``None``.
    """
    module = import_module(question)
    if parts:
        table = pd.concat(map(pd.read_csv, parts), ignore_index=True)
        shown, figure = module.summarise(table, **given)
        with open(output.page, "w", encoding="utf-8") as page:
            for mark, each in shown.items():
                page.write(f"<!-- {mark} -->\n{in_words(each)}<!-- end -->\n")
        if figure:
            figure.savefig(output.svg, metadata={"Date": None})
            figure.savefig(output.png)
    else:
        table = module.measure(**given)
    table.to_csv(output.table, index=False)


def need(environment, target, *packages):
    """Stop a job with what to do, where packages of an environment are not there."""
    if missing := [name for name in packages if not find_spec(name)]:
        raise SystemExit(
            f"Error: this environment has no {' and no '.join(missing)}: use "
            f"./run --with {environment} snakemake -s evaluation/Snakefile {target} --cores 1"
        )


def releases(plan, covariates, points, rng, draws=1):
    """What a plan releases of records of one subject each, so many times, by seeded random bits."""
    bits = generator_bits(rng)
    records = subject_records(plan.assumptions, covariates, points, ONE_EACH)
    shared: dict = {}
    return [run_plan(plan, records, bits, shared) for _ in range(draws)]


def release(plan, covariates, points, rng):
    """A release of records of one subject each."""
    [found] = releases(plan, covariates, points, rng)
    return Release.of(plan, found, guarantee=None)


def new_figure(rows, columns, width, height, **keywords):
    """Figure and array of axes (rows, columns), as of releases, but for titles with formulas."""
    mpl.rcParams.update(picture_style.STYLE)
    mpl.rcParams.update({"text.parse_math": True, "savefig.dpi": 200, "savefig.bbox": "tight"})
    mpl.rcParams.update({"legend.fontsize": 7.5, "lines.markersize": 5})
    shape = {"figsize": (width, height), "squeeze": False, "layout": "constrained"}
    return plt.subplots(rows, columns, **shape, **keywords)


def panels(table, x, y, by, of, names=None, rows=1, size=(2.6, 2.6), **axis):
    """Figure of medians of ``y`` against ``x``, bands for quartiles: a curve for each ``by``.

    There is a panel of a size in inches for each value of the column ``of``, in rows from left to
    right, and one legend.  ``names`` are those of curves in their order, all in that of the table
    unless given; ``axis`` is as `Axes.set` has it.
    """
    parts, names = table.groupby(of, sort=False), table[by].unique() if names is None else names
    columns = -(-len(parts) // rows)
    figure, axes = new_figure(rows, columns, size[0] * columns, size[1] * rows, sharex=True)
    for panel in axes.flat[len(parts) :]:
        panel.set_visible(False)
    curves: dict = {}
    for panel, (name, part) in zip(axes.flat, parts, strict=False):
        for curve, look in zip(names, CURVES[: len(names)], strict=True):
            if curve not in set(part[by]):
                continue
            found = part[part[by] == curve].groupby(x)[y].quantile([0.25, 0.5, 0.75]).unstack()
            [curves[curve]] = panel.plot(found.index, found[0.5], **look)
            ends = found[0.25], found[0.75]
            panel.fill_between(found.index, *ends, color=look["color"], alpha=0.12, linewidth=0)
        panel.set(**{"title": title(name), "xlabel": x, "ylabel": y} | axis)
        # Also where the last row has no panel below.
        panel.tick_params(labelbottom=True)
        if axis.get("xscale") == "log":
            # Places that were measured: less than a decade has no others that fit.
            places = np.unique(table[x])
            panel.set_xticks(places, [f"{each:,g}" for each in places], rotation=45)
            panel.minorticks_off()
        low, high = panel.get_ylim()
        if axis.get("yscale") == "log" and high < 100.0 * low:
            # Such a panel may have no two powers of ten.
            panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            panel.yaxis.set_major_formatter("{x:,g}")
    for panel in axes[:, 1:].flat:
        panel.set(ylabel="")
    shown = [curve for curve in names if curve in curves]
    handles = [curves[curve] for curve in shown]
    figure.legend(handles, shown, loc="outside upper center", ncols=min(len(shown), 5))
    return figure


def dots(labels, values, errors, least, most, **axis):
    """Figure of a value a row, two standard errors about it, and the limits that it is judged by.

    Arrays of one length or numbers, NaN where a row has no error or no limit; ``axis`` is as
    `Axes.set` has it.  Values outside of their limits are hollow.
    """
    rows = np.arange(len(labels))
    values, least, most = (np.broadcast_to(each, len(rows)) for each in (values, least, most))
    figure, [[panel]] = new_figure(1, 1, 6.4, 1.2 + 0.17 * len(rows))
    outside = (values < least) | (values > most)
    panel.errorbar(values, rows, xerr=2.0 * np.nan_to_num(errors), fmt="none", color="#9a9a9a")
    blue, red = "#14315f", "#c2480c"
    for places, marker, words, color, fill in (
        (least, ">", "at least", red, red),
        (most, "<", "at most", red, red),
        (np.where(outside, np.nan, values), "o", "within its limits", blue, blue),
        (np.where(outside, values, np.nan), "o", "outside", blue, "white"),
    ):
        if np.any(np.isfinite(places)):
            panel.plot(places, rows, marker, color=color, mfc=fill, label=words)
    panel.set(yticks=rows, yticklabels=labels, ylim=(len(rows) - 0.5, -0.5), **axis)
    panel.grid(axis="y", color="#e4e4e4", linewidth=0.5)
    figure.legend(loc="outside upper center", ncols=4)
    return figure


def title(space):
    """A space's name with its power as one, if it is not yet."""
    return space if "$" in space else re.sub(r"\w\^\w+", r"$\g<0>$", space)


def number(value):
    """A number as a reader wants it: two digits, and no exponent."""
    if not np.isfinite(value) or value == 0.0:
        return "" if np.isnan(value) else f"{value:g}"
    digits = 1 - int(np.floor(np.log10(abs(value))))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def in_words(table):
    """A table in Markdown, its numbers with two digits but for whole ones."""
    words = table.map(lambda value: number(value) if isinstance(value, float) else str(value))
    lines = [words.columns, ["---"] * len(words.columns), *words.to_numpy()]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    job = snakemake
    run(**dict(job.params.items()), output=job.output, parts=job.input.get("parts"))
