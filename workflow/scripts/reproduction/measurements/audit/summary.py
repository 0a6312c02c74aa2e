"""The audit's tables in one place, its figure, and a page to read."""

from io import StringIO

import numpy as np
import pandas as pd
from matplotlib.ticker import NullFormatter

from reproduction.figures.files import METADATA
from reproduction.figures.style import Curve, letter_panels, new_figure
from reproduction.measurements.words import joined
from reproduction.pages import render_page

# Published densities in warm colours, clipped ones in light blue.
STYLES = {
    "as published": Curve("#c2480c", "s", "-"),
    "tau shared": Curve("#e0a526", "^", "--"),
    "tau shared, v fixed": Curve("#a88a5a", "v", "-."),
    "residuals clipped": Curve("#5aa7c7", "D", ":"),
    "residuals clipped, factor 2": Curve("#7f9fb5", "P", (0, (5, 1, 1, 1))),
}

# As which of these the shooting vector's are drawn, and the worst case of two records.
SHOOTING = {
    "shooting vector as published": "as published",
    "shooting vector, tau shared": "tau shared",
    "shooting vector, residuals clipped": "residuals clipped",
    "shooting vector, clipped, factor 2": "residuals clipped, factor 2",
}
TWO_RECORDS = "two points, residuals clipped"


def summarise(
    settings,
    besides,
    draw_times,
    release_times,
    losses,
    neighbours,
    sensitivity,
    releases,
    template,
    made_by,
    **_,
):
    """The tables, figure and page of the audit, by their output, from files of its parts.

    ``besides`` has the tables of record and replay, and their digests if they are there.
    """
    table, all_neighbours, tested = map(joined, (losses, neighbours, releases))
    budgets, number = settings["sphere"]["budgets"], settings["sphere"]["n"][0]
    middle = budgets[len(budgets) // 2]
    figure, picture = draw(table, number, middle), StringIO()
    figure.savefig(picture, format="svg", metadata=METADATA["svg"])
    shown = table[table["n"].isin([number, 2]) & (table["stated"] == middle)]
    page = render_page(
        template,
        # Without the declaration that only a file may have.
        picture=picture.getvalue()[picture.getvalue().index("<svg") :],
        losses=shown.sort_values("n", ascending=False, kind="stable").to_dict("records"),
        number=number,
        budget=middle,
        settings=settings,
        sensitivity=pd.read_csv(sensitivity).to_dict("records"),
        releases=tested.to_dict("records"),
        replay=_replayed(besides),
        draw_times=pd.read_csv(draw_times).to_dict("records"),
        release_times=_release_times(pd.read_csv(release_times)),
        made_by=made_by,
    )
    return {
        "csv": table,
        "neighbours": all_neighbours,
        "releases": tested,
        "figure": figure,
        "page": page,
    }


def _release_times(table):
    """A row for each space: the same records twice, and the record with the largest ratio."""
    rows = []
    for name, part in table.groupby("manifold", sort=False):
        same, others = part[part["record"] == "same"], part[part["record"] != "same"]
        worst = others.loc[(others["ratio"] - 1.0).abs().idxmax()]
        rows.append({"name": name, "same": same["ratio"].iloc[0], **worst})
    return rows


def _replayed(shown):
    """Rows of the page about record and replay; ``None`` where it was not run."""
    if not shown["digests"]:
        return None
    table, planted = (pd.read_csv(shown[name]) for name in ("replay", "planted"))
    counts = {"pairs": ("pairs", "sum"), "findings": ("findings", "sum")}
    rows = table.groupby("neighbour", sort=True).agg(
        **counts,
        largest_share=("largest_share", "max"),
        lowest=("median_ratio", "min"),
        highest=("median_ratio", "max"),
    )
    ways = table.groupby(["by", "format"]).agg(**counts)
    return {
        "rows": rows.reset_index().to_dict("records"),
        "ways": ways.reset_index().to_dict("records"),
        "planted": planted.to_dict("records"),
        **{key: int(table[key].sum()) for key in ("pairs", "findings", "whole", "refused")},
        "largest_ratio": table["largest_ratio"].max(),
    }


def draw(table, main_number, middle_budget):
    """Figure with losses against all budgets at one n, and against n at one budget."""
    figure, axes = new_figure(1, 3, width=9.6, height=4.8)
    left, middle, right = axes[0]
    budgets = table[table["n"] == main_number]
    numbers = table[table["stated"] == middle_budget]

    def curve(panel, rows, name, x, style, **keywords):
        part = rows[rows["mechanism"] == name].sort_values(x)
        panel.plot(part[x], part["realised"], zorder=3, **style.keywords | keywords)

    for name, style in STYLES.items():
        curve(left, budgets, name, "stated", style, label=name)
        curve(right, numbers, name, "n", style)
    for name, shown_as in SHOOTING.items():
        curve(middle, budgets, name, "stated", STYLES[shown_as])
    # A worst case of its own, which no line joins to what searches found.
    curve(right, numbers, TWO_RECORDS, "n", STYLES["residuals clipped"], linestyle="")
    for panel in (left, middle):
        ends = np.array([budgets["stated"].min(), budgets["stated"].max()])
        label = "realised = stated" if panel is left else None
        panel.plot(ends, ends, color="0.45", linewidth=1.0, zorder=1, label=label)
        panel.set_xlabel(r"stated budget $\varepsilon$ (nats)")
    right.axhline(middle_budget, color="0.45", linewidth=1.0, zorder=1)
    right.set_xlabel("number of records n")
    left.set(ylabel="realised privacy loss (nats)", title=f"footpoint, n = {main_number}")
    middle.set_title(f"shooting vector, n = {main_number}")
    right.set_title(rf"footpoint, $\varepsilon$ = {middle_budget:g}")
    letter_panels(axes)
    # One scale, so that panels can be compared.
    shown = [*STYLES, *SHOOTING, TWO_RECORDS]
    values = table.loc[table["mechanism"].isin(shown), "realised"]
    values = values[np.isfinite(values)]
    for panel in (left, middle, right):
        panel.set(xscale="log", yscale="log", ylim=(0.6 * values.min(), 1.6 * values.max()))
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(NullFormatter())
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure
