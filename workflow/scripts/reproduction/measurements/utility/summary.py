"""Errors of simulated releases in one table, one page and one figure."""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from reproduction.figures.style import CURVES, new_figure
from reproduction.measurements.utility.releases import (
    NOT_PRIVATE,
    PUBLISHED,
    RELEASED,
    WITHOUT_DATA,
)
from reproduction.measurements.words import joined, space_title
from reproduction.pages import render_page

# What stands beside releases in their table.
BESIDE = (PUBLISHED, NOT_PRIVATE, WITHOUT_DATA)

# Label and style of each in the figure, in which nobody should take the published mechanism for a
# curve with a guarantee.
STYLES = {
    NOT_PRIVATE: ("least squares, not private", {"color": "0.1", "linewidth": 0.8, "zorder": 2}),
    WITHOUT_DATA: (
        "drawn without looking at the data",
        {"color": "0.1", "linestyle": (0, (1, 4)), "linewidth": 1.2, "zorder": 2},
    ),
    PUBLISHED: (
        "as published: its budget does not hold",
        {"color": "0.55", "linestyle": ":", "linewidth": 0.9, "zorder": 1},
    ),
}
MARKER = {"marker": "x", "markersize": 8, "markeredgewidth": 2, "linestyle": "", "zorder": 5}
NOISY_MARKER = MARKER | {"marker": "o", "markersize": 5, "markerfacecolor": "white"}
LINE = {"linestyle": "-", "linewidth": 0.6, "zorder": 5}


def summarise(tables, shown, template, **_):
    """The table, figure and text by their output; the figure shows some of the budgets."""
    table = joined(tables)
    parts = [part.sort_values("n", kind="stable") for _, part in table.groupby("space", sort=False)]
    table = pd.concat(parts, ignore_index=True)
    return {"csv": table, "figure": draw(table, shown), "text": page(table, template)}


def page(table, template):
    """The text of ``utility.md``, from ``utility.csv``."""
    rows = {name: part.to_dict("records") for name, part in table.groupby("mechanism")}
    for case in rows.get(RELEASED, []):
        same = table[(table["space"] == case["space"]) & (table["n"] == case["n"])]
        same = same[same["budget"].isna() | (same["budget"] == case["budget"])]
        case["beside"] = same.set_index("mechanism")["curve_error"][list(BESIDE)].tolist()
    published = rows[PUBLISHED]
    return render_page(
        template,
        released=rows.get(RELEASED, []),
        beside=BESIDE,
        published=published,
        worst=max(published, key=lambda case: case["total_variation"]),
        cut=[case for case in published if case["cut_short"]],
    )


def draw(table, shown):
    """Figure with error against the number of subjects, a panel a space."""
    names = list(dict.fromkeys(table["space"]))
    rows = -(-len(names) // 2)
    figure, axes = new_figure(rows, 2, width=7.0, height=0.9 + 2.6 * rows, sharex=True)
    # Larger budgets are darker.
    styles = dict(zip(sorted(shown, reverse=True), CURVES, strict=False))
    for panel, name in zip(axes.flat, names, strict=False):
        _draw_space(panel, table[table["space"] == name], styles)
    for panel in axes.flat[len(names) :]:
        panel.axis("off")
    for panel in axes[:, 0]:
        panel.set_ylabel("error of the geodesic\n(root mean square, unit of length)")
    for panel in axes[-1]:
        panel.set_xlabel("number of subjects $n$")
    handles = [
        Line2D(
            [], [], color=style.colour, **MARKER | LINE, label=rf"release, $\epsilon$ = {budget:g}"
        )
        for budget, style in sorted(styles.items())
        if budget in set(table.loc[table["mechanism"] == RELEASED, "budget"])
    ]
    handles.append(Line2D([], [], color="0.3", **NOISY_MARKER, label="ring: noise"))
    handles += [Line2D([], [], label=label, **style) for label, style in STYLES.values()]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=7.5)
    return figure


def _draw_space(panel, table, styles):
    parts = dict(iter(table.groupby("mechanism")))
    for budget, style in styles.items():
        part = table[(table["mechanism"] == RELEASED) & (table["budget"] == budget)]
        panel.plot(part["n"], part["curve_error"], color=style.colour, **LINE)
        noise = part["is_noise"].astype(bool)
        for some, marker in ((~noise, MARKER), (noise, NOISY_MARKER)):
            panel.plot(part["n"][some], part["curve_error"][some], color=style.colour, **marker)
        part = parts[PUBLISHED][parts[PUBLISHED]["budget"] == budget]
        panel.plot(part["n"], part["curve_error"], **STYLES[PUBLISHED][1])
    part = parts[NOT_PRIVATE]
    panel.plot(part["n"], part["curve_error"], **STYLES[NOT_PRIVATE][1])
    blind = np.sqrt(np.mean(parts[WITHOUT_DATA]["curve_error"] ** 2))
    panel.axhline(blind, **STYLES[WITHOUT_DATA][1])
    panel.set(xscale="log", yscale="log")
    first = table.iloc[0]
    panel.set_title(f"{space_title(first['space'])}, {first['dimension']} dimensions")
