"""The benchmark's figure."""

import numpy as np
from matplotlib.lines import Line2D

from reproduction.figures.style import CURVES, HOLLOW, Curve, new_figure
from reproduction.measurements.words import space_title

SAMPLERS = {"ours": "default sampler", "walk": "random walk", "geomstats": "walk with geomstats"}
STYLES = dict(zip(SAMPLERS, CURVES, strict=False))

# Methods beside one another at the same n.
SHIFTS = {"ours": 0.8, "walk": 1.0, "geomstats": 1.25}

# Spaces need a fifth style.
SPACE_STYLES = (*CURVES, Curve("0.45", "v", ":"))


def draw(table, sampled, fitted):
    """Figure with a panel a space, and panels for fits, time and memory.

    Parameters
    ----------
    table : DataFrame
    sampled, fitted : DataFrame
        Its cells and fits; see `summary`.
    """
    names = list(dict.fromkeys(sampled["space"]))
    figure, axes = new_figure(3, 3, width=7.2, height=7.4)
    panels = list(axes.flat)
    for panel, name in zip(panels, names, strict=False):
        _draw_samplers(panel, name, sampled[sampled["space"] == name])
    for row in axes[: 1 + (len(names) - 1) // 3]:
        row[0].set_ylabel("effective draws per second (1/s)")
    panels[5].axis("off")
    _draw_fits(panels[6], fitted, names)
    _draw_growth(panels[7], table, names, "time against n", "time of a fit (s)")
    _draw_growth(panels[8], table, names, "memory beyond the data", "memory beyond the data (MB)")
    handles = [
        Line2D([], [], label=label, **STYLES[sampler].keywords)
        for sampler, label in SAMPLERS.items()
    ]
    handles.append(Line2D([], [], **HOLLOW, label="hollow: a bound (draws at most, time at least)"))
    figure.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8)
    panels[7].legend(
        handles=[
            Line2D([], [], label=space_title(name), **style.keywords)
            for name, style in zip(names, SPACE_STYLES, strict=False)
        ],
        loc="upper left",
        fontsize=6.5,
    )
    return figure


def _draw_samplers(panel, name, part):
    """Effective draws against n: at the middle budget, over the range of all of them."""
    for sampler, style in STYLES.items():
        places, middles = [], []
        for number, some in part.groupby("n"):
            some = some.sort_values("budget")
            values = some[sampler].to_numpy()
            middle = some.iloc[len(some) // 2]
            place = number * SHIFTS[sampler]
            is_bound = sampler != "ours" and bool(middle[f"{sampler}_is_bound"])
            panel.plot(
                [place, place], [values.min(), values.max()], color=style.colour, linewidth=1
            )
            panel.plot(
                place,
                middle[sampler],
                color=style.colour,
                marker=style.marker,
                markerfacecolor="white" if is_bound else style.colour,
                zorder=4,
            )
            places.append(place)
            middles.append(middle[sampler])
        panel.plot(places, middles, color=style.colour, linestyle=style.line, linewidth=0.8)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("number of records n")
    panel.set_title(f"{space_title(name)} (dimension {part['dimension'].iloc[0]:.0f})")


def _draw_fits(panel, fitted, names):
    """Times of fits, ours and the fastest of geomstats that finds the same energy."""
    for index, name in enumerate(names):
        part = fitted[fitted["space"] == name]
        for offset, (_, case) in zip(
            np.linspace(-0.15, 0.15, max(len(part), 2)), part.iterrows(), strict=False
        ):
            for method in ("ours", "geomstats"):
                style = STYLES[method]
                is_bound = method != "ours" and case["is_bound"]
                panel.plot(
                    index + offset,
                    case[method],
                    color=style.colour,
                    marker=style.marker,
                    markerfacecolor="white" if is_bound else style.colour,
                )
    panel.set_yscale("log")
    panel.set_ylabel("time of a fit (s)")
    titles = [space_title(name) for name in names]
    panel.set_xticks(range(len(names)), titles, rotation=30, ha="right")
    panel.set_title("fits, n = " + ", ".join(f"{n:,}" for n in sorted(set(fitted["n"]))))


def _draw_growth(panel, table, names, what, label):
    """Something of a fit against the number of records."""
    part = table[(table["what"] == what) & (table["method"] == "fit")]
    for name, style in zip(names, SPACE_STYLES, strict=False):
        some = part[part["space"] == name].sort_values("n")
        panel.plot(some["n"], some["value"], **style.keywords)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("number of records n")
    panel.set_ylabel(label)
