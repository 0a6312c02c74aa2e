"""Predicted 2 x 2 matrices as ellipses, private beside non-private, and how the ellipses differ."""

import numpy as np
from matplotlib.ticker import MaxNLocator, MultipleLocator

from geodp_release.show.pictures import ellipse_radii
from geodp_release.show.shape_pictures import ring_between
from reproduction.figures import style


def draw(numbers, params):
    values = list(dict.fromkeys(numbers["covariate"]))
    entries = [f"coordinate_{k}" for k in range(1, 5)]
    angles = np.linspace(0.0, 2.0 * np.pi, 121)
    directions = np.stack([np.cos(angles), np.sin(angles)])

    def radii(row):
        return ellipse_radii(row[entries].to_numpy(dtype=float).reshape(2, 2), directions)

    first = {"color": style.RELEASED.colour, "linestyle": "--", "linewidth": 1.4, "zorder": 5}
    others = {"color": style.RELEASED.colour, "linewidth": 0.7, "alpha": 0.6, "zorder": 4}
    fit = {"color": style.WITHOUT_PRIVACY.colour, "linewidth": 2.4, "alpha": 0.8, "zorder": 3}
    figure, axes = style.new_figure(
        2, len(values), width=1.4 * len(values) + 0.7, height=3.8, sharex="row", sharey="row"
    )
    for (shape, difference), value in zip(axes.T, values, strict=True):
        part = numbers[numbers["covariate"] == value]
        fitted = radii(part[part["kind"] == "without privacy"].iloc[0])
        shape.plot(*(fitted * directions), **fit)
        difference.axhline(0.0, **fit)
        for _, row in part[part["kind"] == "private"].iterrows():
            look = first if row["draw"] == 1 else others
            drawn = radii(row)
            shape.plot(*(drawn * directions), **look)
            difference.plot(np.rad2deg(angles), 100.0 * (drawn / fitted - 1.0), **look)
            factor = row.get("radius", np.nan)
            if np.isfinite(factor):
                band = style.HATCHED if row["refused"] else style.BAND
                band = band | {"linewidth": 0, "zorder": 2}
                outer, inner = factor * drawn, drawn / factor
                ring = ring_between(outer * directions, inner * directions)
                shape.fill(*ring, **band)
                ends = (100.0 * (end / fitted - 1.0) for end in (inner, outer))
                difference.fill_between(np.rad2deg(angles), *ends, **band)
        # Panels are narrow.
        shape.xaxis.set_major_locator(MaxNLocator(2))
        shape.set(title=f"{params.covariate_label} = {value:g}", aspect="equal")
        difference.xaxis.set_major_locator(MultipleLocator(180))
    middle = len(values) // 2
    axes[0, 0].set_ylabel("second axis")
    axes[0, middle].set_xlabel("first axis (half axes: roots of the eigenvalues)")
    axes[1, 0].set_ylabel("radius against the\nfit's (%)")
    axes[1, middle].set_xlabel("direction from the first axis (degrees)")
    style.legend_of_draws(figure, numbers, fit, first, others)
    return figure, numbers
