"""Figures of linear and quantile regression, of location, and of geodesics on the sphere."""

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.ticker import FixedLocator, NullLocator

from reproduction.figures import style
from reproduction.figures.files import annotate
from reproduction.figures.sphere_view import SphereView
from reproduction.measurements.words import figure_of_tables

# What estimates are called, and how they are drawn.
GREY = style.Curve("#7a7a7a", "v", ":")
ESTIMATES = {
    "non_private": ("without privacy", style.CURVES[0]),
    "exponential": ("exponential mechanism", style.CURVES[1]),
    "objective_perturbation": ("objective perturbation", style.CURVES[2]),
    "kng_as_printed": ("K-norm gradient, density (1) as printed", GREY),
    "kng": ("K-norm gradient", style.CURVES[3]),
    "exponential_sharp": ("exponential, half the sensitivity", style.CURVES[2]),
    "kng_smoothed": ("K-norm gradient, smoothed loss", GREY),
    "mean": ("mean", style.CURVES[0]),
    "median": ("median", style.CURVES[1]),
    "geometric_median": ("geometric median in the plane", style.CURVES[2]),
}
READ_OFF = (
    "Responses are divided by their largest, read off the data, so that no stated budget holds."
)


def errors_by_size(errors, column):
    """Means of a column over data sets with standard errors, by estimate and size.

    Standard errors of logarithms are those of a mean over the mean; with base 10 they are in the
    units of the figure's axis.
    """
    grouped = errors.groupby(["mechanism", "guarantee", "budget", "n"], sort=False)[column]
    found = grouped.agg(mean="mean", standard_error="sem", data_sets="size").reset_index()
    found["standard_error_log"] = found["standard_error"] / found["mean"]
    found["standard_error_log10"] = found["standard_error_log"] / np.log(10.0)
    # An error without privacy is no mechanism's.
    return found.rename(columns={"mechanism": "estimate"})


def _curve(panel, rows, divisor=1.0):
    """A curve of means over n with a band of two standard errors, on logarithmic axes."""
    label, curve = ESTIMATES[rows["estimate"].iloc[0]]
    style.plot_errors(panel, rows, "n", curve, divisor, label=label, markersize=3.5)
    panel.set(xscale="log", yscale="log", xlabel="number of records n")


def draw_kng_linear(settings, errors):
    """Figures 1 and 2 of Reimherr and Awan: errors over n, and what privacy makes of them."""
    numbers = errors_by_size(errors, "distance")
    figure, [panels] = style.new_figure(1, 2, width=7.2, height=3.6)
    curves = dict(list(numbers.groupby("estimate", sort=False)))
    base = curves["non_private"]["mean"].to_numpy()
    for name in (name for name in ESTIMATES if name in curves):
        _curve(panels[0], curves[name])
        _curve(panels[1], curves[name], base)
    panels[0].set_ylabel("mean distance to the truth\n(units of the coefficients)")
    panels[1].set_ylabel("the same over that without privacy")
    style.label_few_steps(panels[1].yaxis)
    style.share_legend(figure, panels[0], 2)
    style.letter_panels(panels)
    budget, most = numbers["budget"].max(), numbers["data_sets"].max()
    about = (
        f"Means over {most} data sets of each size, with two standard errors; budget {budget:g}."
    )
    annotate(figure, [about, READ_OFF])
    return figure, numbers


draw_kng_quantile = draw_kng_linear


def draw_kng_location(settings, errors, losses):
    """Noise of means and medians over n, and realised losses of private quantiles over tau."""
    numbers = errors_by_size(errors, "noise")
    figure, [panels] = style.new_figure(1, 2, width=7.2, height=3.2)
    for _, rows in numbers.groupby("estimate", sort=False):
        _curve(panels[0], rows)
    panels[0].set_ylabel("mean distance of private\nand non-private estimates")
    labels = {
        "private_quantile": r"sensitivity $2(1-\tau)$, as published",
        "private_quantile_proved": "sensitivity 1",
    }
    for (name, label), curve in zip(
        labels.items(), (style.CURVES[1], style.CURVES[0]), strict=True
    ):
        rows = losses[losses["mechanism"] == name]
        panels[1].plot(rows["tau"], rows["loss_over_stated"], label=label, **curve.keywords)
    panels[1].axhline(1.0, color="0.3", linewidth=0.8)
    panels[1].set(ylim=(0.0, None), xlabel=r"quantile $\tau$")
    panels[1].set_ylabel("realised over stated privacy loss")
    for panel in panels:
        panel.legend(fontsize=7)
    style.letter_panels(panels)
    first, number = numbers.iloc[0], losses["n"].iloc[0]
    about = (
        f"a: means over {first['data_sets']} data sets, with two standard errors; budget "
        f"{first['budget']:g}. b: neighbours of {number} records that a search finds; losses are "
        "exact."
    )
    annotate(figure, [about])
    return figure, numbers


def draw_notebook(settings, shown, neighbours):
    """Figures 2, 3 and 5 of the first version: draws of one data set, and ratios of neighbours."""
    figure, axes = style.new_figure(2, 2, width=7.2, height=5.0)
    *of_draws, of_pairs = axes.ravel()
    labels = {
        "distance": "distance of private and fitted footpoint (rad)",
        "angle": "angle to the fitted shooting vector (degrees)",
        "absolute_error": "mean absolute error by footpoint (rad)",
    }
    bars = {"bins": 25, "color": style.CURVES[3].colour, "edgecolor": "white", "linewidth": 0.4}
    for panel, (column, label) in zip(of_draws, labels.items(), strict=True):
        panel.hist(shown[column], **bars)
        panel.axvline(shown[column].mean(), color=style.CURVES[0].colour, label="mean of the draws")
        panel.set(xlabel=label, ylabel="footpoints")
    first = shown.iloc[0]
    dashed = {"color": style.CURVES[1].colour, "linestyle": "--", "label": "fit without privacy"}
    axes[1, 0].axvline(first["non_private_absolute_error"], **dashed)
    ratios = {"ratio_footpoint": "footpoint", "ratio_shooting_vector": "shooting vector"}
    widest = np.quantile(neighbours[list(ratios)].to_numpy(), 0.99)
    for (column, label), curve in zip(ratios.items(), style.CURVES, strict=False):
        look = {"color": curve.colour, "linestyle": curve.line, "label": label}
        bins = np.linspace(1.0, widest, 60)
        of_pairs.hist(neighbours[column], bins=bins, histtype="step", **look)
    of_pairs.axvline(1.0, color="0.3", linewidth=0.8)
    of_pairs.set(xlabel="published over realised sensitivity", ylabel="pairs of neighbours")
    for panel in (axes[0, 0], axes[1, 0], of_pairs):
        panel.legend(fontsize=7)
    style.letter_panels(axes)
    about = (
        f"a to c: {len(shown)} footpoints of one data set, n = {first['n']}, noise of variance "
        f"{first['noise_variance']:g}, total budget {first['budget']:g}, which does not hold; b: "
        "one shooting vector at each; c: mean over all shooting vectors at it. d: "
        f"{len(neighbours):,} pairs, n = {neighbours['n'].iloc[0]}; the axis ends at the 99th "
        "percentile of their ratios."
    )
    annotate(figure, [about])
    return figure, shown


def draw_notebook_data(settings):
    """Figure 1 of the first version: records on the sphere about a geodesic."""
    from reproduction.measurements.linear.geodesics import MODEL, data_of_cell

    chosen = settings["geodesic_vs_notebook"]["cells"][0]
    data = data_of_cell(settings, chosen)
    records = data.points[0]
    fit = MODEL.fit(data.covariates[:1], data.points[:1]).take(0)
    fitted = MODEL.predict(fit.parameters, np.linspace(0.0, 1.0, 61))
    figure, [panels] = style.new_figure(1, 2, width=6.4, height=3.4)
    view = SphereView.facing(fitted[30], along=fitted[-1] - fitted[0])
    for panel in panels:
        view.draw_scene(panel, records, fitted)
    view.zoom(panels[1], np.concatenate([records, fitted]), panels[0])
    style.letter_panels(panels)
    about = (
        f"{len(records)} records of one data set (points) and their least-squares geodesic; noise "
        f"of variance {chosen['noise_variance']:g}. b: the frame of a, larger."
    )
    annotate(figure, [about])
    kinds = {"observed": records, "without privacy": fitted}
    numbers = pd.concat(
        pd.DataFrame(points, columns=["coordinate_1", "coordinate_2", "coordinate_3"]).assign(
            kind=kind
        )
        for kind, points in kinds.items()
    )
    return figure, numbers


def draw_notebook_sizes(settings, errors):
    """Figure 6 of the first version: mean absolute errors over n, private and of the fit."""
    first = errors[["noise_variance", "budget"]].iloc[0]
    kept = errors[(errors[list(first.index)] == first).all(axis=1)]
    kept = kept.assign(
        private=np.exp(kept["log_absolute_error"]),
        fit=np.exp(kept["log_non_private_absolute_error"]),
    )
    by_n = kept.groupby("n").agg(
        private=("private", "mean"),
        standard_error=("private", "sem"),
        over_footpoints=("error_deviation", "mean"),
        fit=("fit", "mean"),
        data_sets=("fit", "size"),
    )
    numbers = by_n.reset_index()
    numbers["above_fit"] = numbers["private"] - numbers["fit"]
    figure, [[panel, above]] = style.new_figure(1, 2, width=7.2, height=3.2)
    n = numbers["n"].to_numpy()
    bars = {"yerr": numbers["over_footpoints"], "capsize": 3, "label": "private geodesics"}
    panel.errorbar(n, numbers["private"], **bars, **style.CURVES[1].keywords)
    panel.plot(n, numbers["fit"], label="fit without privacy", **style.CURVES[0].keywords)
    above.plot(n, numbers["above_fit"], **style.CURVES[1].keywords)
    above.set_yscale("log")
    for each in (panel, above):
        each.set_xscale("log")
        each.xaxis.set_major_locator(FixedLocator(n))
        each.xaxis.set_minor_locator(NullLocator())
        each.xaxis.set_major_formatter("{x:g}")
        each.set_xlabel("number of records n")
    panel.set(ylabel="mean absolute error (rad)", ylim=(0.0, None))
    panel.legend(fontsize=7)
    above.set_ylabel("mean absolute error of private\ngeodesics above the fit's (rad)")
    style.letter_panels([panel, above])
    about = (
        f"Means over {numbers['data_sets'].max()} data sets; bars: standard deviation over "
        f"footpoints of a data set. Noise of variance {first['noise_variance']:g}, total budget "
        f"{first['budget']:g}, which does not hold."
    )
    annotate(figure, [about])
    return figure, numbers


summarise = partial(figure_of_tables, __name__)
