"""The audit's figure: realised against stated privacy losses."""

import numpy as np
from matplotlib.ticker import NullFormatter

from reproduction.figures.style import Curve, letter_panels, new_figure

# Published densities in warm colours, clipped ones in light blue.
STYLES = {
    "as published": Curve("#c2480c", "s", "-"),
    "tau shared": Curve("#e0a526", "^", "--"),
    "tau shared, v fixed": Curve("#a88a5a", "v", "-."),
    "residuals clipped": Curve("#5aa7c7", "D", ":"),
    "residuals clipped, factor 2": Curve("#7f9fb5", "P", (0, (5, 1, 1, 1))),
}
# As which of these the worst case of two records is drawn, where n varies.
TWO_RECORDS = {
    "two points, residuals clipped": "residuals clipped",
}
# As which of these the shooting vector's are drawn.
SHOOTING = {
    "shooting vector as published": "as published",
    "shooting vector, tau shared": "tau shared",
    "shooting vector, residuals clipped": "residuals clipped",
    "shooting vector, clipped, factor 2": "residuals clipped, factor 2",
}


def draw(table, main_number, middle_budget):
    """Figure with losses against budgets at one n, and against n at one budget.

    Parameters
    ----------
    table : DataFrame
        audit.csv.
    main_number : int
        The n at which there are all budgets.
    middle_budget : float
        The stated budget at which there are all n.
    """
    figure, axes = new_figure(1, 3, width=9.6, height=4.8)
    left, middle, right = axes[0]
    budgets = table[table["n"] == main_number]
    for name, style in STYLES.items():
        part = budgets[budgets["mechanism"] == name].sort_values("stated")
        left.plot(
            part["stated"],
            part["realised"],
            label=name,
            zorder=3,
            **style.keywords,
        )
    for name, shown_as in SHOOTING.items():
        part = budgets[budgets["mechanism"] == name].sort_values("stated")
        middle.plot(part["stated"], part["realised"], zorder=3, **STYLES[shown_as].keywords)
    numbers = table[table["stated"] == middle_budget]
    for name, style in STYLES.items():
        part = numbers[numbers["mechanism"] == name].sort_values("n")
        right.plot(part["n"], part["realised"], zorder=3, **style.keywords)
    for name, shown_as in TWO_RECORDS.items():
        # A worst case of its own, which no line joins to what searches found.
        part = numbers[numbers["mechanism"] == name]
        keywords = STYLES[shown_as].keywords | {"linestyle": ""}
        right.plot(part["n"], part["realised"], zorder=3, **keywords)
    for panel in (left, middle):
        ends = np.array([budgets["stated"].min(), budgets["stated"].max()])
        label = "realised = stated" if panel is left else None
        panel.plot(ends, ends, color="0.45", linewidth=1.0, zorder=1, label=label)
        panel.set_xlabel(r"stated budget $\varepsilon$ (nats)")
    right.axhline(middle_budget, color="0.45", linewidth=1.0, zorder=1)
    right.set_xlabel("number of records n")
    left.set_ylabel("realised privacy loss (nats)")
    left.set_title(f"footpoint, n = {main_number}")
    middle.set_title(f"shooting vector, n = {main_number}")
    right.set_title(rf"footpoint, $\varepsilon$ = {middle_budget:g}")
    # One scale, so that panels can be compared.
    letter_panels(axes)
    shown = [*STYLES, *SHOOTING, *TWO_RECORDS]
    values = table.loc[table["mechanism"].isin(shown), "realised"]
    values = values[np.isfinite(values)]
    for panel in (left, middle, right):
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylim(0.6 * values.min(), 1.6 * values.max())
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(NullFormatter())
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure
