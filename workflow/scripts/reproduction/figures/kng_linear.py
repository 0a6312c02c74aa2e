"""Errors over the number of records n, and what privacy makes of them."""

from reproduction.figures import style

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


def plot_estimates(panel, bounds, divisor=1.0):
    """A curve of means over n for each estimate, with a band of two standard errors."""
    for name, (label, curve) in ESTIMATES.items():
        rows = bounds[bounds["estimate"] == name]
        if len(rows):
            style.plot_errors(panel, rows, "n", curve, divisor, label=label, markersize=3.5)
    panel.set(xscale="log", yscale="log", xlabel="number of records n")


def draw(bounds, params):
    """Draw the figure; return it and the numbers that it shows."""
    figure, [panels] = style.new_figure(1, 2, width=7.2, height=3.6)
    plot_estimates(panels[0], bounds)
    base = bounds.loc[bounds["estimate"] == "non_private", "mean"].to_numpy()
    plot_estimates(panels[1], bounds, base)
    panels[0].set_ylabel("mean distance to the truth\n(units of the coefficients)")
    panels[1].set_ylabel("the same over that without privacy")
    style.label_few_steps(panels[1].yaxis)
    style.share_legend(figure, panels[0], 2)
    style.letter_panels(panels)
    return figure, bounds
