"""Points and geodesics on the sphere, a panel for each group of data sets."""

TABLE = "curves"
OF_MECHANISM = True


def draw(numbers, params):
    """Draw the figure; return it and the numbers that it shows."""
    import numpy as np
    import pandas as pd
    from matplotlib import colormaps
    from matplotlib.lines import Line2D

    from reproduction.figures.sphere_view import SphereView
    from reproduction.figures.style import (
        SYMBOLS,
        legend_above,
        letter_panels,
        mechanism_label,
        new_figure,
    )

    groups = list(dict.fromkeys(numbers["group"]))
    coordinates = ["coordinate_1", "coordinate_2", "coordinate_3"]
    totals = sorted(numbers["budget"].dropna().unique())
    [drawn_from] = numbers["mechanism"].dropna().unique()
    names = params.budgets if f"budget_{params.budgets[0]}" in numbers else ()
    # The darkest curves have the smallest budgets; the lightest would vanish on white.
    shades = dict(
        zip(totals, colormaps["viridis"](np.linspace(0.0, 0.93, len(totals))), strict=True)
    )
    figure, axes = new_figure(1, len(groups), width=3.4 * len(groups) + 0.9, height=3.9)
    hidden = False
    for panel, group in zip(axes[0], groups, strict=True):
        part = numbers[numbers["group"] == group]
        fitted = part[part["kind"] == "without privacy"][coordinates].to_numpy()
        view = SphereView.facing(fitted[len(fitted) // 2], along=fitted[-1] - fitted[0])
        data = part[part["kind"] == "observed"][coordinates].to_numpy()
        released = part[part["kind"] == "private"].sort_values(
            "budget", ascending=False, kind="stable"
        )
        view.draw_globe(panel)
        front, back = view.split(data)
        panel.plot(*front, ".", color="0.45", markersize=4, zorder=2)
        panel.plot(*back, ".", color="0.8", markersize=3, zorder=1)
        for total, curve in released.groupby("budget", sort=False):
            front, back = view.split(curve[coordinates].to_numpy())
            panel.plot(*front, color=shades[total], linewidth=1.3, zorder=3)
            panel.plot(*back, color=shades[total], linewidth=0.9, linestyle=":", zorder=1)
            hidden |= bool(np.any(np.isfinite(back)))
        front, _ = view.split(fitted)
        panel.plot(*front, color="black", linewidth=2.4, zorder=5)
        # All that is drawn on the near side is seen, as large as may be.
        seen = view.flat(part[coordinates].to_numpy())
        low, high = seen.min(axis=0), seen.max(axis=0)
        half = min(1.05, 0.54 * np.max(high - low))
        middle = np.zeros(2) if half == 1.05 else 0.5 * (low + high)
        panel.set_xlim(middle[0] - half, middle[0] + half)
        panel.set_ylim(middle[1] - half, middle[1] + half)
        panel.set_aspect("equal")
        panel.axis("off")
        noise = part["noise_variance"].iloc[0]
        title = f"n = {part['n'].iloc[0]}"
        panel.set_title(title if pd.isna(noise) else f"noise variance {noise}, {title}")
    letter_panels(axes)
    equal = " = ".join(SYMBOLS[name].strip("$") for name in names)
    shares = f"\n(${equal} = \\epsilon/{len(names)}$)" if len(names) > 1 else ""
    figure.legend(
        handles=[
            Line2D([], [], color=shade, linewidth=1.8, label=f"{total:g}")
            for total, shade in shades.items()
        ],
        title=rf"total budget $\epsilon${shares}",
        loc="outside right center",
        fontsize=8,
        title_fontsize=8,
        alignment="left",
    )
    middle = list(shades.values())[len(totals) // 3]
    drawn = [
        Line2D([], [], color="0.45", marker=".", linestyle="", label="records"),
        Line2D([], [], color="black", linewidth=2.4, label="fit without privacy"),
        Line2D([], [], color=middle, linewidth=1.3, label=f"draws, {mechanism_label(drawn_from)}"),
    ]
    if hidden:
        far = {"color": middle, "linewidth": 0.9, "linestyle": ":"}
        drawn.append(Line2D([], [], label="on the far side", **far))
    legend_above(figure, drawn)
    return figure, numbers
