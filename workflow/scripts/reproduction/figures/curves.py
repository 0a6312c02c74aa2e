"""Points and geodesics on the sphere, a panel for each group of data sets."""

import numpy as np
import pandas as pd
from matplotlib import colormaps

from reproduction.figures import style
from reproduction.figures.sphere_view import draw_scene


def draw(numbers, params):
    groups = list(dict.fromkeys(numbers["group"]))
    coordinates = ["coordinate_1", "coordinate_2", "coordinate_3"]
    totals = sorted(numbers["budget"].dropna().unique())
    [drawn_from] = numbers["mechanism"].dropna().unique()
    names = params.budgets if f"budget_{params.budgets[0]}" in numbers else ()
    # The darkest curves have the smallest budgets; the lightest would vanish on white.
    shades = dict(
        zip(totals, colormaps["viridis"](np.linspace(0.0, 0.93, len(totals))), strict=True)
    )
    figure, axes = style.new_figure(2, len(groups), width=3.4 * len(groups) + 0.9, height=7.0)
    hidden = False
    for whole, part_of_it, group in zip(*axes, groups, strict=True):
        part = numbers[numbers["group"] == group]
        fitted = part[part["kind"] == "without privacy"][coordinates].to_numpy()
        records = part[part["kind"] == "observed"][coordinates].to_numpy()
        released = part[part["kind"] == "private"].sort_values(
            "budget", ascending=False, kind="stable"
        )
        drawn = [
            (shades[total], curve[coordinates].to_numpy(), bool(curve["refused"].iloc[0]))
            for total, curve in released.groupby("budget", sort=False)
        ]
        hidden |= draw_scene((whole, part_of_it), records, fitted, drawn)
        noise = part["noise_variance"].iloc[0]
        title = f"n = {part['n'].iloc[0]}"
        whole.set_title(title if pd.isna(noise) else f"noise variance {noise}, {title}")
        part_of_it.set_title("the frame above, larger")
    equal = " = ".join(style.SYMBOLS[name].strip("$") for name in names)
    shares = f"\n(${equal} = \\epsilon/{len(names)}$)" if len(names) > 1 else ""
    look = {"linewidth": 1.8}
    lines = [style.line(color=shade, label=f"{total:g}", **look) for total, shade in shades.items()]
    place = {"loc": "outside right center", "alignment": "left", "fontsize": 8, "title_fontsize": 8}
    figure.legend(handles=lines, title=rf"total budget $\epsilon${shares}", **place)
    # Draws have the colours of their budgets, and in the legend none of these.
    middle = "0.25"
    words = f"draws, {style.mechanism_label(drawn_from)}"
    drawn = [
        style.line(color="0.45", marker=".", linestyle="", label="records"),
        style.line(color="black", linewidth=2.4, label="fit without privacy"),
        style.line(color=middle, linewidth=1.3, label=words),
    ]
    if numbers["refused"].eq(True).any():
        drawn.append(style.line(color=middle, linestyle="--", label=style.REFUSED))
    if hidden:
        far = {"color": middle, "linewidth": 0.9, "linestyle": ":"}
        drawn.append(style.line(label="on the far side", **far))
    style.legend_above(figure, drawn)
    return figure, numbers
