"""Figure 4 of the first version of Kulkarni and Soto: lines of four features of red wine."""

import numpy as np
import pandas as pd

from reproduction.figures.files import annotate
from reproduction.figures.style import CURVES, letter_panels, new_figure, plot_band, share_legend
from reproduction.measurements.tools.comparison import PUBLISHED, lines_of
from reproduction.measurements.tools.methods import METHODS
from reproduction.measurements.tools.problem import predictions

UNITS = {"alcohol": "% by volume", "density": "g/cm\u00b3"}
UNITS |= dict.fromkeys(("fixed acidity", "residual sugar"), "g/dm\u00b3")

BUDGET = 2.0  # That claims count.
SHOWN = ("least_squares", PUBLISHED, f"{PUBLISHED}_standardised")


def summarise(settings, wine, **_):
    """The figure and its numbers, from settings of tools."""
    frame = pd.read_csv(wine, sep=";")
    numbers = pd.concat([lines_by_response(settings, name, wine, frame) for name in SHOWN])
    return {"csv": numbers, "figure": draw(settings["comparison"], numbers, frame)}


def lines_by_response(settings, name, wine, frame):
    """First draw of a method, and the middle 80 % of its draws at each value of the covariate.

    In the units of the table.  Draws are those of the comparison.
    """
    chosen = settings["comparison"]
    draws = chosen["published_draws"] if METHODS[name].neighbours else 1
    x, _, lines = lines_of(settings, name, BUDGET, draws, {}, wine)
    covariate, places = np.unique(frame[chosen["covariate"]], return_index=True)
    found = []
    for j, response in enumerate(chosen["responses"]):
        of = frame[response].to_numpy()
        y = of.mean() + of.std() * predictions(lines[:, :, j].T, x[places]).T
        low, high = np.quantile(y, (0.1, 0.9), axis=0)
        values = {"covariate": covariate, "line": y[0], "low": low, "high": high}
        found.append(pd.DataFrame(values).assign(response=response, method=name, draws=draws))
    return pd.concat(found)


def draw(chosen, numbers, frame):
    """Records and lines, a panel a response."""
    figure, axes = new_figure(2, -(-len(chosen["responses"]) // 2), width=7.2, height=5.6)
    labels = {name: f"{name} ({UNITS[name]})" if name in UNITS else name for name in frame}
    by_line = numbers.set_index(["response", "method"])
    for panel, response in zip(axes.ravel(), chosen["responses"], strict=False):
        panel.plot(frame[chosen["covariate"]], frame[response], ".", color="0.45", label="record")
        for name, curve in zip(SHOWN, CURVES, strict=False):
            line = by_line.loc[(response, name), ["covariate", "line", "low", "high"]]
            method = METHODS[name]
            label = f"private, covariate {method.covariate}" if method.neighbours else method.title
            plot_band(panel, *line.to_numpy().T, curve, marker="", label=label)
        panel.set(xlabel=labels[chosen["covariate"]], ylabel=labels[response])
    share_legend(figure, axes[0, 0], 4)
    letter_panels(axes)
    about = (
        f"{len(frame)} records. Private lines are of the mechanism as published: the first of "
        f"{numbers['draws'].max():,} draws at a budget of {BUDGET:g}, which does not hold; bands: "
        "middle 80 % of all draws at each value. The paper states no scale of the covariate. Of "
        "the tools that it draws besides, errors alone are recorded."
    )
    annotate(figure, [about])
    return figure
