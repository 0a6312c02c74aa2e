"""The figure of simulated releases: error against the number of subjects, a panel a space."""

import numpy as np
from matplotlib.lines import Line2D

from reproduction.figures.style import CURVES, new_figure
from reproduction.measurements.utility.releases import (
    NOT_PRIVATE,
    PUBLISHED,
    RELEASED,
    WITHOUT_DATA,
)
from reproduction.measurements.words import space_title

# Nobody should take this for a curve with a guarantee.
PUBLISHED_STYLE = {"color": "0.55", "linestyle": ":", "linewidth": 0.9, "zorder": 1}
PUBLISHED_LABEL = "as published: its budget does not hold"
NOT_PRIVATE_STYLE = {"color": "0.1", "linestyle": "-", "linewidth": 0.8, "zorder": 2}
WITHOUT_DATA_STYLE = {"color": "0.1", "linestyle": (0, (1, 4)), "linewidth": 1.2, "zorder": 2}

RELEASED_STYLE = {"linestyle": "-", "linewidth": 0.6, "zorder": 5}
RELEASED_MARKER = {
    "marker": "x",
    "markersize": 8,
    "markeredgewidth": 2,
    "linestyle": "",
    "zorder": 5,
}
NOISY_MARKER = RELEASED_MARKER | {"marker": "o", "markersize": 5, "markerfacecolor": "white"}

COLUMNS = 2


def draw(table, shown):
    """Figure with a panel a space.

    Parameters
    ----------
    table : pandas.DataFrame
        As ``utility.csv``.
    shown : list of float
        Budgets.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = list(dict.fromkeys(table["space"]))
    rows = -(-len(names) // COLUMNS)
    figure, axes = new_figure(rows, COLUMNS, width=7.0, height=0.9 + 2.6 * rows, sharex=True)
    released = set(table.loc[table["mechanism"] == RELEASED, "budget"])
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
            [],
            [],
            color=style.colour,
            **RELEASED_MARKER | RELEASED_STYLE,
            label=rf"release, $\epsilon$ = {budget:g}",
        )
        for budget, style in sorted(styles.items())
        if budget in released
    ]
    handles += [
        Line2D([], [], color="0.3", **NOISY_MARKER, label="ring: noise"),
        Line2D([], [], **NOT_PRIVATE_STYLE, label="least squares, not private"),
        Line2D([], [], **WITHOUT_DATA_STYLE, label="drawn without looking at the data"),
        Line2D([], [], **PUBLISHED_STYLE, label=PUBLISHED_LABEL),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=7.5)
    return figure


def _draw_space(panel, table, styles):
    for budget, style in styles.items():
        part = table[(table["mechanism"] == RELEASED) & (table["budget"] == budget)]
        panel.plot(part["n"], part["curve_error"], color=style.colour, **RELEASED_STYLE)
        noise = part["is_noise"].astype(bool)
        for some, marker in ((~noise, RELEASED_MARKER), (noise, NOISY_MARKER)):
            panel.plot(part["n"][some], part["curve_error"][some], color=style.colour, **marker)
        part = table[(table["mechanism"] == PUBLISHED) & (table["budget"] == budget)]
        panel.plot(part["n"], part["curve_error"], **PUBLISHED_STYLE)
    part = table[table["mechanism"] == NOT_PRIVATE]
    panel.plot(part["n"], part["curve_error"], **NOT_PRIVATE_STYLE)
    part = table[table["mechanism"] == WITHOUT_DATA]
    blind = np.sqrt(np.mean(part["curve_error"] ** 2))
    panel.axhline(blind, **WITHOUT_DATA_STYLE)
    panel.set_xscale("log")
    panel.set_yscale("log")
    first = table.iloc[0]
    panel.set_title(f"{space_title(first['space'])}, {first['dimension']} dimensions")
