"""Predicted shapes at chosen covariate values, private over non-private."""

import numpy as np
from matplotlib.collections import EllipseCollection

from geodp_release.show.shape_pictures import closed_curve, outward_normals, ring_between
from reproduction.figures import style

# More landmarks than these make an outline by themselves.
MARKED = 20


def draw(numbers, params):
    values = list(dict.fromkeys(numbers["covariate"]))
    private = numbers[numbers["kind"] == "private"]
    rows = [part for _, part in private.groupby(["cell", "sampler"], sort=False)]
    size = {"width": 1.5 * len(values) + 0.6, "height": 0.8 + 1.15 * len(rows)}
    figure, axes = style.new_figure(len(rows), len(values), **size, sharex=True, sharey=True)
    marked = numbers["landmark"].max() <= MARKED
    size = {"markersize": 3.5}
    first = {"color": style.RELEASED.colour, "linewidth": 1.5, "zorder": 3, **size}
    others = {"color": style.RELEASED.colour, "linewidth": 0.6, "alpha": 0.5, "zorder": 1}
    fit = {"color": style.WITHOUT_PRIVACY.colour, "zorder": 4, **size}
    if marked:
        first |= {"linestyle": "--", "marker": style.RELEASED.marker}
        fit |= {"marker": style.WITHOUT_PRIVACY.marker}

    for row, column in np.ndindex(axes.shape):
        panel, value = axes[row, column], values[column]
        for draw, shape in rows[row][rows[row]["covariate"] == value].groupby("draw"):
            panel.plot(*style.closed_outline(shape), **(first if draw == 1 else others))
            if draw == 1 and "radius" in shape:
                _draw_band(panel, shape.sort_values("landmark"), marked)
        fitted = numbers[(numbers["kind"] == "without privacy") & (numbers["covariate"] == value)]
        panel.plot(*style.closed_outline(fitted), **fit)
        if row == 0:
            panel.set_title(f"{params.covariate_label}: {value:g}")
        panel.set(aspect="equal", xticks=[], yticks=[])
        for side in panel.spines.values():
            side.set_visible(False)
    _draw_scale(axes[-1, 0], numbers)
    if len(rows) > 1:
        several = private["cell"].nunique() > 1
        for panel, part in zip(axes[:, 0], rows, strict=True):
            shown = part.iloc[0]
            panel.set_ylabel(style.cell_in_words(shown) if several else _sampler_in_words(shown))
    style.legend_of_draws(figure, numbers, fit, first, others)
    return figure, numbers


def _draw_band(panel, shape, marked):
    """The band of a release: discs about landmarks, or a tube about an outline."""
    places, radius = shape["x"].to_numpy() + 1j * shape["y"].to_numpy(), shape["radius"].to_numpy()
    look = style.HATCHED if shape["refused"].iloc[0] else style.BAND
    look = look | {"linewidth": 0, "zorder": 0}
    if marked:
        where = {"offsets": shape[["x", "y"]].to_numpy(), "transOffset": panel.transData}
        sizes = (2.0 * radius, 2.0 * radius, 0.0 * radius)
        panel.add_collection(EllipseCollection(*sizes, units="xy", **where, **look))
        return
    normals = outward_normals(places)
    sides = [closed_curve(places + side * radius * normals) for side in (1.0, -1.0)]
    panel.fill(*ring_between(*sides), **look)


def _sampler_in_words(row):
    """What a row of panels is drawn by."""
    if row["sampler"] == "default":
        return "drawn from\nthe density"
    steps = int(row.filter(like="_proposals").iloc[0])
    return f"ends of walks\nof {steps} steps\nfrom the fit"


def _draw_scale(panel, numbers):
    """A bar of a tenth of the centroid size, which is one, below shapes and their bands."""
    radius = numbers["radius"].fillna(0.0) if "radius" in numbers else 0.0
    left, low = numbers["x"].min(), (numbers["y"] - radius).min()
    depth = low - 0.12 * (numbers["y"].max() - low)
    panel.plot([left, left + 0.1], [depth, depth], color="black", linewidth=1.2)
    look = {"fontsize": 7, "verticalalignment": "center", "annotation_clip": False}
    panel.annotate("0.1 centroid sizes", (left + 0.12, depth), **look)
