"""Predicted shapes at chosen covariate values, private over non-private."""

TABLE = "predictions"
OF_MECHANISM = True


def draw(numbers, params):
    """Draw the figure; return it and the numbers that it shows."""
    import numpy as np

    from reproduction.figures.style import (
        RELEASED,
        WITHOUT_PRIVACY,
        legend_of_draws,
        letter_panels,
        new_figure,
    )

    values = list(dict.fromkeys(numbers["covariate"]))
    samplers = list(dict.fromkeys(numbers["sampler"].dropna()))
    figure, axes = new_figure(
        len(samplers),
        len(values),
        width=1.5 * len(values) + 0.6,
        height=0.8 + 1.15 * len(samplers),
        sharex=True,
        sharey=True,
    )
    # Many landmarks make an outline by themselves.
    marked = numbers["landmark"].max() <= 20
    size = {"markersize": 3.5}
    first = {"color": RELEASED.colour, "linewidth": 1.5, "zorder": 3, **size}
    others = {"color": RELEASED.colour, "linewidth": 0.6, "alpha": 0.5, "zorder": 1}
    fit = {"color": WITHOUT_PRIVACY.colour, "zorder": 4, **size}
    if marked:
        first |= {"linestyle": "--", "marker": RELEASED.marker}
        fit |= {"marker": WITHOUT_PRIVACY.marker}

    def closed(shape):
        ordered = shape.sort_values("landmark")[["x", "y"]].to_numpy()
        return np.vstack([ordered, ordered[:1]]).T

    for row, column in np.ndindex(axes.shape):
        panel, value = axes[row, column], values[column]
        part = numbers[numbers["covariate"] == value]
        for draw, shape in part[part["sampler"] == samplers[row]].groupby("draw"):
            panel.plot(*closed(shape), **(first if draw == 1 else others))
        panel.plot(*closed(part[part["kind"] == "without privacy"]), **fit)
        if row == 0:
            panel.set_title(f"{params.covariate_label}: {value:g}")
        panel.set_aspect("equal")
        panel.set_xticks([])
        panel.set_yticks([])
        for side in panel.spines.values():
            side.set_visible(False)
    letter_panels(axes)
    _draw_scale(axes[-1, 0], numbers)
    if len(samplers) > 1:
        for row, sampler in enumerate(samplers):
            part = numbers[numbers["sampler"] == sampler].iloc[0]
            axes[row, 0].set_ylabel(_sampler_in_words(sampler, part))
    legend_of_draws(figure, numbers, params, fit, first, others)
    return figure, numbers


def _sampler_in_words(sampler, row):
    """What a row of panels is drawn by."""
    if sampler == "default":
        return "drawn from\nthe density"
    steps = int(row.filter(like="_proposals").iloc[0])
    return f"ends of walks\nof {steps} steps\nfrom the fit"


def _draw_scale(panel, numbers):
    """A bar of a tenth of the centroid size, which is one, below the shapes of a panel."""
    left, low = numbers["x"].min(), numbers["y"].min()
    depth = low - 0.12 * (numbers["y"].max() - low)
    panel.plot([left, left + 0.1], [depth, depth], color="black", linewidth=1.2)
    panel.annotate(
        "0.1 centroid sizes",
        (left + 0.12, depth),
        fontsize=7,
        verticalalignment="center",
        annotation_clip=False,
    )
