"""Tables, page and figures of the comparison and of the benchmark of private linear regression."""

import numpy as np
import pandas as pd

from geodp.errors import DataError
from reproduction.figures.files import annotate
from reproduction.figures.style import CURVES, letter_panels, new_figure
from reproduction.measurements.tools.methods import python_version
from reproduction.measurements.tools.problem import NONE

OF_A_METHOD = ["method", "title", "guarantee", "neighbours", "versions"]

# What lines of all private methods have in common, row by row.
OF_A_CELL = ("data", "n", "responses", "seed", "budget", "delta", "draw")

# Other methods are set against this one, data set by data set, and differ if by more than this.
RIVAL, MARGIN = "adassp", 0.02

# A share below this is as useless as this; the axis ends there.
WORST_SHOWN = -1.0


def summarise(about, shares, comparison, besides, **_):
    """The tables, the page and the figure, by their outputs.

    Parameters
    ----------
    about, shares : list of str
        Tables of the benchmark, one each for a data set.
    comparison : list of str
        Tables of the comparison, one for a method.
    besides : dict
        The table of the method that runs in another environment, and its digest if it is there.
    """
    others = [besides["dp_sgd"]] if besides["digests"] else []
    sets, shares, draws = (_joined(paths) for paths in (about, shares, [*comparison, *others]))
    refuse_other_cells(draws, others)
    medians = shares_by_budget(shares)
    draws = with_ratios(draws)
    errors = errors_by_method(draws)
    against = against_rival(shares)
    text = page(sets, shares, medians, against, errors, draws)
    return {
        "sets": sets,
        "shares": shares,
        "medians": medians,
        "against": against,
        "comparison": errors,
        "draws": draws,
        "text": text,
        "figure": draw(medians, errors, draws),
    }


def refuse_other_cells(draws, others):
    """Refuse lines of other methods' environments that are of other data, budgets or draws."""
    private = draws[draws["guarantee"] != NONE]
    cells = private.groupby("method", sort=False)[list(OF_A_CELL)].apply(
        lambda rows: tuple(sorted(map(tuple, rows.astype(str).to_numpy())))
    )
    if cells.nunique() > 1:
        raise DataError(
            f"{', '.join(others)}: its lines are of other data, records, budgets, draws or "
            "another seed than those of the other methods: make it anew, or remove it"
        )


def _joined(paths):
    return pd.concat(map(pd.read_csv, paths), ignore_index=True).fillna({"neighbours": ""})


def shares_by_budget(shares):
    """Median and quartiles over data sets of the shares of a method, by budget.

    Data sets that were held out are by themselves.
    """
    keys = ["held_out", *OF_A_METHOD, "budget", "delta"]
    grouped = shares.groupby(keys, sort=False)["share"]
    found = grouped.quantile([0.25, 0.5, 0.75]).unstack()
    found.columns = ["lower_quartile", "median", "upper_quartile"]
    return found.assign(data_sets=grouped.size()).reset_index()


def against_rival(shares):
    """Shares of each method beside those of the rival, a row a data set and budget.

    The column ``outcome`` is ``above`` or ``below`` where they differ by more than the margin.
    """
    keys = ["held_out", "data_set", "budget"]
    its = shares[shares["method"] == RIVAL].set_index(keys)["share"].rename("rival")
    found = shares[shares["method"] != RIVAL].join(its, on=keys, how="inner")
    difference = found["share"] - found["rival"]
    outcome = np.select([difference > MARGIN, difference < -MARGIN], ["above", "below"], "alike")
    return found[[*keys, "n", "k", "method", "title", "share", "rival"]].assign(outcome=outcome)


def with_ratios(draws):
    """Draws with errors beside those of two methods.

    ``excess`` is the error less that of least squares; ``times_published`` its ratio to that of
    the published mechanism's draw of the same number.
    """
    keys, error = ["data", "budget", "draw"], "mean_squared_error"
    least = draws[draws["method"] == "least_squares"].groupby("data")[error].first()
    published = draws[draws["method"] == "geodesic_as_published"].set_index(keys)[error]
    beside = draws[keys].join(published, on=keys)[error]
    return draws.assign(
        excess=draws[error] - draws["data"].map(least), times_published=draws[error] / beside
    )


def errors_by_method(draws):
    """Mean squared errors of the draws of a method: mean, median and the middle 80 per cent."""
    keys = ["data", "n", "responses", *OF_A_METHOD, "budget", "delta"]
    grouped = draws.groupby(keys, sort=False)["mean_squared_error"]
    found = grouped.quantile([0.1, 0.5, 0.9]).unstack()
    found.columns = ["tenth", "median", "nine_tenths"]
    return found.assign(mean=grouped.mean(), draws=grouped.size()).reset_index()


def draw(medians, errors, draws):
    """Figure: shares against budget, by part of the data sets, and errors of the comparison."""
    figure, [panels] = new_figure(1, 3, width=10.2, height=3.6)
    *parts, right = panels
    titles = medians["title"].unique()
    styles = {title: CURVES[place % len(CURVES)] for place, title in enumerate(titles)}
    for panel, held_out in zip(parts, (False, True), strict=True):
        rows = medians[medians["held_out"] == held_out]
        _shares(panel, rows, styles)
        title = f"{rows['data_sets'].max()} data sets{', held out' if held_out else ''}"
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
    letter_panels(panels)
    first, budget = draws.iloc[0], errors["budget"].iloc[0]
    annotate(
        figure,
        [
            f"a: medians over data sets, with quartiles; shares below {WORST_SHOWN:g} are drawn "
            "there. b: the same over data sets on which nothing was chosen. "
            f"c: {first['data']}, {first['n']} records, "
            f"{first['responses']} responses, budget {budget:g}; median and middle 80 % of "
            f"{errors['draws'].max()} draws; 1 is the error of the mean.",
        ],
    )
    return figure


def _shares(panel, medians, styles):
    """Medians and quartiles of shares against budget, a line a method."""
    for place, (name, rows) in enumerate(medians.groupby("title", sort=False)):
        # Beyond the number of styles, markers are hollow.
        hollow = {"markerfacecolor": "white"} if place >= len(CURVES) else {}
        budgets = rows["budget"]
        panel.plot(
            budgets,
            rows["median"].clip(WORST_SHOWN),
            label=name,
            **styles[name].keywords,
            **hollow,
        )
        panel.fill_between(
            budgets,
            rows["lower_quartile"].clip(WORST_SHOWN),
            rows["upper_quartile"].clip(WORST_SHOWN),
            color=styles[name].colour,
            alpha=0.12,
            linewidth=0,
        )
    panel.axhline(0.0, color="0.6", linewidth=0.8)
    panel.set_xscale("log")
    panel.set_ylim(WORST_SHOWN - 0.05, 1.05)
    panel.set_xlabel("budget $\\epsilon$")


def page(sets, shares, medians, against, errors, draws):
    """The tables as a page in Markdown."""
    budgets = sorted(medians["budget"].unique())
    lines = [
        "# Private linear regression beside other tools",
        "",
        f"{python_version()}. Median share of the explainable error recovered, over data sets, by "
        f"budget (delta {shares['delta'].iloc[0]:g} where a method spends one).",
        "",
        *_of_part(medians, against, held_out=False),
        "The same over data sets on which nothing was chosen:",
        "",
        *_of_part(medians, against, held_out=True),
        *_by_set(shares, budgets),
        "Data sets:",
        "",
        *_table(
            [
                *("name", "package", "item", "n", "k", "response", "licence of the package"),
                "held out",
            ],
            [
                [
                    *(row["data_set"], row["package"], row["item"], str(row["n"]), str(row["k"])),
                    f"log {row['response']}" if row["logarithm"] else row["response"],
                    *(row["licence"], "yes" if row["held_out"] else ""),
                ]
                for _, row in sets.iterrows()
            ],
        ),
        "",
        *_comparison(errors, draws),
    ]
    return "\n".join(lines) + "\n"


def _of_part(medians, against, *, held_out):
    """Medians over the data sets of a part, and how many are above and below the rival."""
    medians = medians[medians["held_out"] == held_out]
    against = against[against["held_out"] == held_out]
    if medians.empty:
        return
    budgets = sorted(medians["budget"].unique())
    heads = [f"{budget:g}" for budget in budgets]
    wide = medians.pivot_table(index="title", columns="budget", values="median", sort=False)
    described = medians.drop_duplicates("method").set_index("title")
    rows = [
        [title, described.loc[title, "guarantee"], described.loc[title, "neighbours"]]
        + [_share(wide.loc[title, budget]) for budget in budgets]
        + [str(described.loc[title, "data_sets"]), described.loc[title, "versions"]]
        for title in wide.index
    ]
    yield from _table(["method", "guarantee", "neighbours", *heads, "data sets", "versions"], rows)
    yield ""
    if against.empty:
        return
    rival = described.index[described["method"] == RIVAL][0]
    yield f"Data sets above and below {rival} by more than {MARGIN:g}, of each method:"
    yield ""
    counted = against.pivot_table(
        index="title", columns=["budget", "outcome"], aggfunc="size", fill_value=0, sort=False
    )
    yield from _table(
        ["method", *heads],
        [
            [title]
            + [
                " / ".join(str(row.get((budget, outcome), 0)) for outcome in ("above", "below"))
                for budget in budgets
            ]
            for title, row in counted.iterrows()
        ],
    )
    yield ""


def _by_set(shares, budgets):
    """Shares of each method on each data set."""
    for title, rows in shares.groupby("title", sort=False):
        wide = rows.pivot_table(index="data_set", columns="budget", values="share", sort=False)
        yield from [f"{title}, by data set:", ""]
        cells = [[name, *map(_share, wide.loc[name])] for name in wide.index]
        yield from _table(["data set", *(f"{budget:g}" for budget in budgets)], cells)
        yield ""


def _comparison(errors, draws):
    """The comparison's table, and what its data are."""
    first = draws.iloc[0]
    yield (
        f"Mean squared error of {first['responses']} standardised responses on one covariate: "
        f"{first['data']}, {first['n']} records. Medians of draws with their middle 80 per cent, "
        "by budget. Methods for one response spend an equal share on each. The error of the mean "
        "is 1."
    )
    yield ""
    budgets = sorted(errors["budget"].unique())
    rows = []
    for title, part in errors.groupby("title", sort=False):
        row, by_budget = part.iloc[0], part.set_index("budget")
        found = [
            f"{each['median']:.4g}"
            + ("" if each["guarantee"] == NONE else _middle(each["tenth"], each["nine_tenths"]))
            for each in (by_budget.loc[budget] for budget in budgets)
        ]
        rows.append(
            [title, row["guarantee"], row["neighbours"], *found, str(row["draws"]), row["versions"]]
        )
    heads = [f"{budget:g}" for budget in budgets]
    yield from _table(["method", "guarantee", "neighbours", *heads, "draws", "versions"], rows)


def _middle(low, high):
    """The middle of a distribution, beside its median."""
    return f" ({low:.4g} to {high:.4g})"


def _share(value):
    """A share in a cell; one far below zero in powers of ten."""
    if not np.isfinite(value):
        return ""
    return f"{value:.2f}" if value > -100.0 else f"-1e{np.log10(-value):.0f}"


def _table(head, rows):
    """Lines of a table in Markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *map(list, rows))]
