"""Points and geodesics on the sphere: the whole sphere, and enlarged."""

TABLE = "curves"
OF_MECHANISM = True


def draw(numbers, params):
    """Draw the figure; return it and the numbers that it shows."""
    import numpy as np
    import pandas as pd
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.lines import Line2D

    from reproduction.figures.sphere_view import SphereView
    from reproduction.figures.style import (
        WITHOUT_PRIVACY,
        mechanism_label,
        new_figure,
        total_budget_label,
    )

    label = mechanism_label(params.mechanism)
    groups = list(dict.fromkeys(numbers["group"]))
    coordinates = ["coordinate_1", "coordinate_2", "coordinate_3"]
    totals = numbers["budget"]
    # The darkest curves have the smallest budgets; the lightest would vanish on white.
    shades = colormaps["viridis"].resampled(256)
    scale = Normalize(totals.min(), totals.max() * 1.08)
    figure, axes = new_figure(len(groups), 2, width=6.4, height=3.1 * len(groups))
    for row, group in zip(axes, groups, strict=True):
        part = numbers[numbers["group"] == group]
        fitted = part[part["kind"] == "without privacy"][coordinates].to_numpy()
        view = SphereView.facing(fitted[len(fitted) // 2], along=fitted[-1] - fitted[0])
        data = part[part["kind"] == "observed"][coordinates].to_numpy()
        released = part[part["kind"] == "private"].sort_values(
            "budget", ascending=False, kind="stable"
        )
        for panel, enlarged in zip(row, (False, True), strict=True):
            view.draw_globe(panel)
            front, back = view.split(data)
            panel.plot(*front, ".", color="0.45", markersize=4, zorder=2)
            panel.plot(*back, ".", color="0.8", markersize=3, zorder=1)
            for total, curve in released.groupby("budget", sort=False):
                front, back = view.split(curve[coordinates].to_numpy())
                panel.plot(*front, color=shades(scale(total)), linewidth=1.2, zorder=3)
                panel.plot(
                    *back, color=shades(scale(total)), linewidth=0.8, linestyle=":", zorder=1
                )
            front, _ = view.split(fitted)
            panel.plot(
                *front, color="black", linewidth=2.2, linestyle=WITHOUT_PRIVACY.line, zorder=5
            )
            panel.set_aspect("equal")
            panel.axis("off")
            if enlarged:
                middle = np.nanmedian(view.flat(data), axis=0)
                half = 1.15 * np.max(np.abs(view.flat(data) - middle))
                panel.set_xlim(middle[0] - half, middle[0] + half)
                panel.set_ylim(middle[1] - half, middle[1] + half)
            noise = part["noise_variance"].iloc[0]
            title = f"n = {part['n'].iloc[0]}" + (", enlarged" if enlarged else "")
            panel.set_title(title if pd.isna(noise) else f"noise variance {noise}, {title}")
    figure.colorbar(
        ScalarMappable(scale, shades),
        ax=axes,
        shrink=0.6,
        label=total_budget_label(params.budgets),
        ticks=sorted(totals.dropna().unique()),
    )
    figure.legend(
        handles=[
            Line2D([], [], color="0.45", marker=".", linestyle="", label="records"),
            Line2D([], [], color="black", linewidth=2.2, label="fit without privacy"),
            Line2D([], [], color=shades(0.3), label=f"geodesics, {label}"),
            Line2D([], [], color=shades(0.3), linestyle=":", label="on the far side"),
        ],
        loc="outside upper center",
        ncols=4,
        fontsize=8,
    )
    return figure, numbers
