"""Figure of a paper's notebook: draws for one data set, and ratios of sensitivities."""

import numpy as np

from reproduction.figures import style


def draw(draws, neighbours, params):
    labels = {
        "distance": "distance of private and fitted footpoint (rad)",
        "angle": "angle to the fitted shooting vector (degrees)",
        "absolute_error": "mean absolute error by footpoint (rad)",
    }
    ratios = {"ratio_footpoint": "footpoint", "ratio_shooting_vector": "shooting vector"}
    figure, axes = style.new_figure(2, 2, width=7.2, height=5.0)
    *of_draws, of_pairs = axes.ravel()
    mean, fit, _, bars = style.CURVES
    for panel, (column, label) in zip(of_draws, labels.items(), strict=True):
        panel.hist(draws[column], bins=25, color=bars.colour, edgecolor="white", linewidth=0.4)
        panel.axvline(draws[column].mean(), color=mean.colour, label="mean of the draws")
        panel.set(xlabel=label, ylabel="footpoints")
    dashed = {"color": fit.colour, "linestyle": "--", "label": "fit without privacy"}
    axes[1, 0].axvline(draws["non_private_absolute_error"].iloc[0], **dashed)
    bins = np.linspace(1.0, np.quantile(neighbours[list(ratios)], 0.99), 60)
    for (column, label), curve in zip(ratios.items(), style.CURVES, strict=False):
        look = {"color": curve.colour, "linestyle": curve.line, "label": label}
        of_pairs.hist(neighbours[column], bins=bins, histtype="step", **look)
    of_pairs.axvline(1.0, color="0.3", linewidth=0.8)
    of_pairs.set(xlabel="published over realised sensitivity", ylabel="pairs of neighbours")
    for panel in (axes[0, 0], axes[1, 0], of_pairs):
        panel.legend(fontsize=7)
    return figure, draws
