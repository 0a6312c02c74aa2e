"""Tables, page and figure of the benchmark, and of the comparison, of private linear regression."""

import platform

import numpy as np
import pandas as pd

from reproduction.figures.files import annotate
from reproduction.figures.style import CURVES, letter_panels, new_figure
from reproduction.measurements.tools.benchmark import RIVALS
from reproduction.measurements.tools.comparison import OF_A_METHOD
from reproduction.measurements.tools.methods import METHODS
from reproduction.measurements.tools.problem import NONE
from reproduction.measurements.words import joined
from reproduction.pages import render_page

# Standard errors by which two methods differ on a data set.
MARGIN = 2.0

# A share below this is as useless as this; the axis ends there.
WORST_SHOWN = -1.0


def summarise(about, shares, comparison, releases, template, **_):
    """The tables, the page and the figure, by their outputs, from those of the other jobs."""
    sets, shares = (joined(paths).fillna({"neighbours": ""}) for paths in (about, shares))
    made = {
        "sets": sets,
        "shares": shares,
        "medians": shares_by_budget(shares),
        "against": against_rivals(shares),
    }
    errors = pd.read_csv(comparison, keep_default_na=False)
    text = page(template, **made, comparison=errors, releases=pd.read_csv(releases))
    return made | {"text": text, "figure": draw(made["medians"], errors)}


def shares_by_budget(shares):
    """Median and quartiles of a method's shares by budget, over data sets of each part."""
    keys = ["held_out", *OF_A_METHOD, "budget", "delta"]
    grouped = shares.groupby(keys, sort=False)["share"]
    found = grouped.quantile([0.25, 0.5, 0.75]).unstack()
    found.columns = ["lower_quartile", "median", "upper_quartile"]
    return found.assign(data_sets=grouped.size()).reset_index()


def against_rivals(shares):
    """Leads of each method over each rival, a row a data set and budget.

    The column ``outcome`` is ``above`` or ``below`` where shares differ by more than the margin.
    """
    kept = ["held_out", "data_set", "n", "k", "budget", "method", "title", "share"]
    found = []
    for rival in RIVALS:
        its = shares[shares["method"] != rival].assign(rival=METHODS[rival].title)
        its[["lead", "standard_error"]] = its[[f"lead_{rival}", f"deviation_{rival}"]]
        found.append(its[[*kept, "rival", "lead", "standard_error"]].dropna())
    found = pd.concat(found)
    away = found["lead"] / found["standard_error"]
    outcome = np.select([away > MARGIN, away < -MARGIN], ["above", "below"], "alike")
    return found.assign(outcome=outcome)


def draw(medians, errors):
    """Figure: shares against budget, by part of the data sets, and errors of the comparison."""
    figure, panels = new_figure(2, 2, width=7.2, height=6.8)
    *parts, right = np.ravel(panels)
    titles = medians["title"].unique()
    styles = {title: CURVES[place % len(CURVES)] for place, title in enumerate(titles)}
    for held_out, panel in enumerate(parts):
        rows = medians[medians["held_out"] == held_out]
        _draw_shares(panel, rows, styles)
        title = f"{rows['data_sets'].max()} " + ("held out" if held_out else "data sets")
        panel.legend(title=title, fontsize=6, title_fontsize=7, loc=(0.42, 0.06))
        panel.set_ylabel("share of the explainable error recovered")

    errors = errors[errors["budget"] == errors["budget"].iloc[0]]
    order = errors.sort_values("median", ascending=False)
    places = np.arange(len(order))
    right.hlines(places, order["tenth"], order["nine_tenths"], color=CURVES[0].colour)
    right.plot(order["median"], places, "o", color=CURVES[0].colour, markersize=4)
    right.axvline(1.0, color="0.6", linewidth=0.8)
    right.set_xscale("log")
    right.set_yticks(places, order["title"], fontsize=7)
    right.set_xlabel("mean squared error (1 = variance)")
    letter_panels([*parts, right])
    first = errors.iloc[0]
    annotate(
        figure,
        [
            f"a: medians over data sets, with quartiles; shares below {WORST_SHOWN:g} are drawn "
            "there. b: the same over data sets held out first and seen since; c: held out of all "
            f"choices. d: {first['data']}, {first['n']} records, "
            f"{first['responses']} responses, budget {first['budget']:g}; median and middle 80 % "
            f"of {errors['draws'].max()} draws; 1 is the error of the mean."
        ],
    )
    return figure


def _draw_shares(panel, medians, styles):
    """Medians and quartiles of shares against budget, a line a method."""
    for place, (name, rows) in enumerate(medians.groupby("title", sort=False)):
        # Beyond the number of styles, markers are hollow.
        hollow = {"markerfacecolor": "white"} if place >= len(CURVES) else {}
        shown = rows[["median", "lower_quartile", "upper_quartile"]].clip(lower=WORST_SHOWN)
        panel.plot(rows["budget"], shown["median"], label=name, **styles[name].keywords, **hollow)
        ends, shade = (shown["lower_quartile"], shown["upper_quartile"]), styles[name].colour
        panel.fill_between(rows["budget"], *ends, color=shade, alpha=0.12, linewidth=0)
    panel.axhline(0.0, color="0.6", linewidth=0.8)
    panel.set(xscale="log", ylim=(WORST_SHOWN - 0.05, 1.05), xlabel="budget $\\epsilon$")


def page(template, sets, shares, medians, against, comparison, releases):
    """The tables as a page in Markdown."""
    return render_page(
        template,
        python=platform.python_version(),
        delta=shares["delta"].iloc[0],
        margin=MARGIN,
        parts=[_of_part(medians, against, held_out) for held_out in range(3)],
        by_set={
            title: _by_budget(rows, "data_set", "share").map(_share)
            for title, rows in shares.groupby("title", sort=False)
        },
        sets=sets.to_dict("records"),
        releases=[rows for _, rows in releases.groupby("data_set", sort=False)],
        first=comparison.iloc[0],
        errors=[part.sort_values("budget") for _, part in comparison.groupby("title", sort=False)],
        epsilons=sorted(comparison["budget"].unique()),
        without=NONE,
    )


def _by_budget(rows, index, values):
    """A table with a column a budget."""
    wide = rows.pivot_table(index=index, columns="budget", values=values, sort=False)
    return wide.sort_index(axis="columns")


def _of_part(medians, against, held_out):
    """Medians over the data sets of a part, and how many are above and below each rival."""
    medians = medians[medians["held_out"] == held_out]
    against = against[against["held_out"] == held_out]
    described = medians.drop_duplicates("method").set_index("title")
    against = against.assign(title=against["title"] + " against " + against["rival"])
    counted = against.groupby(["title", "budget"], sort=False)["outcome"].agg(
        lambda found: f"{(found == 'above').sum()} / {(found == 'below').sum()}"
    )
    return {
        "medians": _by_budget(medians, "title", "median").map(_share),
        "methods": described,
        "counted": counted.unstack(sort=False).sort_index(axis="columns"),
    }


def _share(value):
    """A share in a cell; one far below zero in powers of ten."""
    if not np.isfinite(value):
        return ""
    return f"{value:.2f}" if value > -100.0 else f"-1e{np.log10(-value):.0f}"
