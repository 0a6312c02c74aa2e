"""Mean absolute errors of geodesics over n, private and of the fit."""

import numpy as np

from reproduction.figures import style


def draw(errors, params):
    """Draw the figure; return it and the numbers that it shows."""
    cell = ["noise_variance", "budget"]
    kept = errors[(errors[cell] == errors[cell].iloc[0]).all(axis=1)]
    kept = kept.assign(fit=np.exp(kept["log_non_private_absolute_error"]))
    means = kept.groupby(["n", *cell])[["error_mean", "error_deviation", "fit"]].mean()
    numbers = means.assign(above_fit=means["error_mean"] - means["fit"]).reset_index()
    figure, [panels] = style.new_figure(1, 2, width=7.2, height=3.2)
    n, (of_fit, of_private, *_) = numbers["n"], style.CURVES
    # Bars are standard deviations over footpoints of a data set.
    bars = {"yerr": numbers["error_deviation"], "capsize": 3, "label": "private geodesics"}
    panels[0].errorbar(n, numbers["error_mean"], **bars, **of_private.keywords)
    panels[0].plot(n, numbers["fit"], label="fit without privacy", **of_fit.keywords)
    panels[1].plot(n, numbers["above_fit"], **of_private.keywords)
    for panel in panels:
        panel.set(xscale="log", xlabel="number of records n")
        panel.set_xticks(n, labels=map(str, n))
        panel.set_xticks([], minor=True)
    panels[0].set(ylabel="mean absolute error (rad)", ylim=(0.0, None))
    panels[0].legend(fontsize=7)
    panels[1].set(ylabel="mean absolute error of private\ngeodesics above the fit's (rad)")
    panels[1].set_yscale("log")
    style.letter_panels(panels)
    return figure, numbers
