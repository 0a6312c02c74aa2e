"""Figures of private means: what the papers show, and mechanisms beside one another."""

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from geodp.means.sensitivity import largest_change_of_logs
from geodp.means.walks import FIRST_ORDER
from geodp.mechanisms.base import FALSE, NONE, PROVED
from geodp.models.sensitivity import convexity
from reproduction.figures import style
from reproduction.figures.files import annotate
from reproduction.manifolds import study_manifold
from reproduction.measurements.words import figure_of_tables, space_title

# How mechanisms are drawn, and what they are called.
NAMES = {
    "laplace_as_published": "Laplace, sensitivity of a grid",
    "laplace": "Laplace",
    "laplace_general": "Laplace, twice the scale",
    "ambient_laplace": "Laplace in the ambient space",
    "kng": "K-norm gradient, as published",
    "wrapped_laplace": "wrapped Laplace",
    "wrapped_gaussian": "wrapped Gaussian, delta = 1e-6",
    "wrapped_laplace_at_centre": "wrapped Laplace at the centre",
    "wrapped_gaussian_at_centre": "wrapped Gaussian at the centre, delta = 1e-6",
    "tangent_laplace": "Laplace in the tangent space at the centre",
    "tangent_gaussian": "Gaussian in the tangent space, delta = 1e-6",
    "private_steps": "two private steps",
}
SHAPE_NAMES = NAMES | {
    "kng": "K-norm gradient,\nas published",
    "laplace": "Laplace,\nas published",
    "landmarkwise_laplace": "Laplace for\neach landmark",
    "private_steps": "two private steps,\na wider ball",
}

# Beside the Laplace mechanism, and how they are drawn; others are in the figure's table.
BESIDE = dict(
    zip(
        ("ambient_laplace", "kng", "tangent_laplace", "private_steps", "wrapped_laplace"),
        (*style.CURVES, style.Curve("#7a7a7a", "v", ":")),
        strict=True,
    )
)
UNITS = {"SPD(2)": "unit of the affine-invariant metric"}
HOLLOW = {"markerfacecolor": "white"}


def means_by_size(errors):
    """Mean distances of draws, with their standard errors, by space, mechanism and size."""
    keys = ["space", "mechanism", "guarantee", "n", "budget"]
    found = errors.groupby(keys, sort=False).agg(
        mean=("distance", "mean"),
        standard_error=("distance", "sem"),
        outside=("outside", "mean"),
        bias=("bias", "mean"),
        data_sets=("distance", "size"),
    )
    return found.reset_index()


def _panels(table, width, height, **keywords):
    """A figure with a titled panel for each space; with each panel, the space and its rows."""
    by_space = list(table.groupby("space", sort=False))
    figure, axes = style.new_figure(1, len(by_space), width * len(by_space), height, **keywords)
    parts = []
    for panel, (space, rows) in zip(axes[0], by_space, strict=True):
        panel.set_title(space_title(space))
        parts.append((panel, space, rows))
    style.letter_panels(axes)
    return figure, axes[0], parts


def _about_means(figure, by_size, shown):
    """Write below a figure what its bands are, and whether the budgets of mechanisms hold."""
    number = by_size["data_sets"].max()
    lines = [f"Means over {number:,} data sets of each size, with two standard errors."]
    for space, rows in by_size[by_size["mechanism"].isin(shown)].groupby("space", sort=False):
        said = [f"{space}, budget {rows['budget'].iloc[0]:g}"]
        for status, word in ((PROVED, "Proved"), (NONE, "Without a proof"), (FALSE, "Not kept")):
            names = dict.fromkeys(rows.loc[rows["guarantee"] == status, "mechanism"])
            if names:
                said.append(f"{word}: {'; '.join(NAMES[name] for name in names)}")
        lines.append(". ".join(said) + ".")
    annotate(figure, lines)


def draw_laplace_means(settings, errors, neighbours):
    """Figure 1 of Reimherr, Bharath and Soto: neighbours and errors, a row a space."""
    by_size = means_by_size(errors)
    shown = {space: _published(rows) for space, rows in by_size.groupby("space")}
    spaces = list(settings["spaces"])
    figure, axes = style.new_figure(len(spaces), 2, width=7.0, height=0.6 + 2.4 * len(spaces))
    for (pairs_panel, panel), space in zip(axes, spaces, strict=True):
        pairs = neighbours[neighbours["space"] == space]
        few = {"color": style.CURVES[3].colour, "markersize": 2}
        pairs_panel.plot(pairs["n"], pairs["moved"], ".", **few, label="a pair")
        by_n = pairs.groupby("n")
        average, bound = by_n["moved"].mean(), by_n["bound"].first()
        look = {"color": style.CURVES[0].colour, "label": "average of pairs"}
        pairs_panel.plot(average.index, average, **look)
        look = {"color": style.CURVES[1].colour, "linestyle": "--", "label": "bound"}
        pairs_panel.plot(bound.index, bound, **look)
        pairs_panel.set_ylabel(f"distance of neighbours' means\n({UNITS.get(space, 'rad')})")
        for name, curve in zip(shown[space], style.CURVES, strict=False):
            rows = by_size[(by_size["space"] == space) & (by_size["mechanism"] == name)]
            style.plot_errors(panel, rows, "n", curve, label=NAMES[name], markersize=3)
        panel.set_ylabel("distance of draw and mean\n(ambient space)")
        for each in (pairs_panel, panel):
            each.set(yscale="log", title=space_title(space))
    for panel in axes[-1]:
        panel.set_xlabel("number of records n")
    for panel in axes[0]:
        panel.legend(fontsize=7)
    style.letter_panels(axes)
    _about_means(figure, by_size, set().union(*shown.values()))
    return figure, by_size


def _published(by_size):
    """Mechanisms of the paper's figure: on the manifold, and in the ambient space."""
    on_sphere = "laplace_as_published" in set(by_size["mechanism"])
    return "laplace_as_published" if on_sphere else "laplace", "ambient_laplace"


def draw_sensitivities(settings):
    """Figure 2 of Reimherr, Bharath and Soto: bounds of the change of logarithms on the sphere."""
    [space] = [each for each in settings["spaces"].values() if each["data"] == "polar"]
    manifold = study_manifold(space["manifold"])
    # The theorem holds below a quarter of pi.
    radii = 0.25 * np.pi * np.arange(1, settings["radii"] + 1) / (settings["radii"] + 1)
    numbers = pd.DataFrame(
        {
            "manifold": manifold.name,
            "radius": radii,
            "without_curvature": 2.0 * radii,
            "largest_on_grid": [largest_change_of_logs(manifold, radius) for radius in radii],
            "bound": [2.0 * radius * (2.0 - convexity(manifold, radius)) for radius in radii],
        }
    )
    numbers["over_flat"] = numbers["largest_on_grid"] / numbers["without_curvature"]
    numbers["over_bound"] = numbers["largest_on_grid"] / numbers["bound"]
    figure, [[panel]] = style.new_figure(1, 1, width=4.2, height=3.0)
    labels = {
        "without_curvature": "$2r$",
        "bound": "$2r\\,(2 - h)$, the bound",
        "largest_on_grid": "largest on a grid of the edge",
    }
    for (column, label), curve in zip(labels.items(), style.CURVES, strict=False):
        panel.plot(radii, numbers[column], color=curve.colour, linestyle=curve.line, label=label)
    panel.axvline(space["radius"], color="0.6", linewidth=0.8)
    panel.annotate(
        "radius of Figure 1", (space["radius"], 0.0), (3, 2), textcoords="offset points", fontsize=7
    )
    panel.set(ylim=(0.0, None), xlabel="radius of the ball, rad")
    panel.set_ylabel("change of the logarithm of one record, rad")
    panel.legend(fontsize=7)
    return figure, numbers


def draw_kng_means(settings, errors):
    """Mechanisms beside one another: mean distance over that of the proved Laplace mechanism."""
    by_size = means_by_size(errors[errors["n"] % settings["shown"] == 0])
    figure, axes, parts = _panels(by_size, 3.6, 3.9)
    for panel, _, rows in parts:
        base = rows.loc[rows["mechanism"] == "laplace", "mean"].to_numpy()
        panel.axhline(1.0, color="0.3", linewidth=0.8)
        for name, curve in BESIDE.items():
            mine = rows[rows["mechanism"] == name]
            if len(mine):
                style.plot_errors(panel, mine, "n", curve, base, label=NAMES[name], markersize=3)
        panel.set(xlabel="number of records n", ylim=(0.0, None))
    axes[0].set_ylabel(
        "mean distance to the mean (ambient),\nover that of Laplace at its proved scale"
    )
    _about_means(figure, by_size, BESIDE)
    style.share_legend(figure, axes[0], 3)
    return figure, by_size


def draw_mean_shapes(settings, landmarks):
    """Private mean shapes over the mean: a row a space, a panel a mechanism."""
    spaces = list(dict.fromkeys(landmarks["space"]))
    names = [name for name in dict.fromkeys(landmarks["mechanism"]) if name != "mean"]
    figure, axes = style.new_figure(
        len(spaces), len(names), width=1.8 * len(names), height=1.0 + 1.2 * len(spaces)
    )
    thin = {"color": style.CURVES[1].colour, "linewidth": 0.7, "alpha": 0.7, "linestyle": "--"}
    bold = {"color": style.CURVES[0].colour, "linewidth": 1.6}
    for row, space in zip(axes, spaces, strict=True):
        of_space = landmarks[landmarks["space"] == space]
        mean = style.closed_outline(of_space[of_space["mechanism"] == "mean"])
        for panel, name in zip(row, names, strict=True):
            for _, shape in of_space[of_space["mechanism"] == name].groupby("draw"):
                panel.plot(*style.closed_outline(shape), **thin)
            panel.plot(*mean, **bold)
            panel.set_aspect("equal")
            panel.axis("off")
            if space == spaces[0]:
                panel.set_title(SHAPE_NAMES[name], fontsize=8)
        beside = {"rotation": 90, "transform": row[0].transAxes, "ha": "right", "va": "center"}
        row[0].text(-0.05, 0.5, f"{space}, n = {of_space['n'].iloc[0]}", **beside)
        # A tenth of the centroid size of every shape.
        low = float(np.min(mean[1])) - 0.12
        row[0].plot([-0.05, 0.05], [low, low], color="0.2", linewidth=2.0)
        row[0].text(0.0, low - 0.02, "0.1 of the centroid size", fontsize=6, ha="center", va="top")
    style.letter_panels(axes)
    handles = [Line2D([], [], label="mean shape", **bold)]
    handles.append(Line2D([], [], label="private mean shapes", **thin))
    figure.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=7)
    simulated = dict.fromkeys(landmarks.loc[landmarks["simulated"], "space"])
    about = (
        "Balls are read off the data, in the last column with a wider radius and another centre: "
        "no budget holds."
    )
    annotate(figure, [about, *(f"The {space} are simulated." for space in simulated)])
    return figure, landmarks


def draw_walks(settings, walks):
    """Mean distance of draws over the scale: walks and exact draws, with two standard errors."""
    figure, axes, parts = _panels(walks, 3.4, 3.2)
    for panel, _, of_space in parts:
        named = of_space.groupby("sampler", sort=False)
        for (name, rows), curve in zip(named, style.CURVES, strict=True):
            # Hollow marks where there is no distribution that walks come to.
            hollow = HOLLOW if rows["loss_of"].iloc[0] == FIRST_ORDER else {}
            rows = rows.rename(columns={"mean_over_scale": "mean"})
            style.plot_errors(panel, rows, "scale", curve, label=name, **hollow)
        panel.set_xscale("log")
        style.label_few_steps(panel.xaxis)
        panel.set(xlabel="scale of the distribution\n(unit of length)", ylim=(0.0, None))
        panel.legend(fontsize=7)
    axes[0].set_ylabel("mean distance of draws,\nover the scale")
    steps = walks.groupby("space", sort=False)["steps"].max()
    said = ", ".join(f"{number:,} on {space}" for space, number in steps.items())
    lines = [f"Bands: two standard errors. Steps of a walk before its first draw: {said}."]
    for name in dict.fromkeys(walks.loc[walks["loss_of"] == FIRST_ORDER, "sampler"]):
        lines.append(f"Hollow: {name} have no limiting distribution, and go on outwards.")
    annotate(figure, lines)
    return figure, walks


def draw_audit(settings, audit, farthest=2.2):
    """Losses that draws prove, and those computed, over the stated budget, up to ``farthest``."""
    best = audit.sort_values("bound").groupby(["space", "mechanism"], sort=False).tail(1)
    most = best.groupby("space").size().max()
    figure, axes, parts = _panels(audit, 4.1, 0.9 + 0.24 * most)
    for panel, space, rows in parts:
        names = list(dict.fromkeys(rows["mechanism"]))[::-1]
        rows = best[best["space"] == space].set_index("mechanism").loc[names]
        places, known = np.arange(len(rows)), rows["known_over_stated"].to_numpy()
        panel.axvline(1.0, color="0.3", linewidth=0.8)
        look = {"height": 0.55, "color": style.CURVES[3].colour}
        proved = "proved by draws (99 % confidence)"
        panel.barh(places, rows["bound_over_stated"], **look, label=proved)
        near = (rows["loss_of"] == FIRST_ORDER).to_numpy()
        for which, label, look in (
            (~near, "computed or known", {}),
            (near, "computed, first order near the mean", HOLLOW),
        ):
            look = {"color": style.CURVES[1].colour, "markersize": 4, "label": label, **look}
            panel.plot(known[which], places[which], "D", **look)
        panel.set_xlim(0.0, farthest)
        for place, bound, loss in zip(places, rows["bound_over_stated"], known, strict=True):
            words = [f"{bound:.2g} by draws"] if bound > farthest else []
            words += ["computed: infinite"] if np.isinf(loss) else []
            # Over the line of the budget, in the colour of a bar that is as long as the axis.
            behind = style.CURVES[3].colour if bound > farthest else "white"
            patch = {"facecolor": behind, "edgecolor": "none", "pad": 0.5} if words else None
            text = ", ".join(words) + " "
            panel.text(farthest, place, text, ha="right", va="center", fontsize=7, bbox=patch)
        panel.set_yticks(places, [NAMES.get(name, f"walk, {name}") for name in names], fontsize=7)
        panel.set_title(f"{space_title(space)}, n = {rows['n'].iloc[0]}")
        panel.set_xlabel("privacy loss, over the stated budget")
    style.share_legend(figure, axes[0], 3)
    draws = audit.groupby("mechanism")["draws"].first()
    about = (
        f"Of draws from each of two neighbouring data sets: {draws.max():,}, and {draws.min():,} "
        f"of walks, after {audit['steps'].max()} steps. A bar is a lower bound of the loss."
    )
    annotate(figure, [about])
    return figure, audit


def draw_medians(settings, medians):
    """Distance of estimates from the centre against the share of outliers, a panel a space."""
    figure, axes, parts = _panels(medians, 2.5, 3.0, sharey=True)
    for panel, _, of_space in parts:
        named = of_space.groupby("estimate", sort=False)
        for (name, rows), curve in zip(named, style.CURVES, strict=True):
            numbers = (100.0 * rows["outliers"], rows["over_radius"], rows["low"], rows["high"])
            style.plot_band(panel, *numbers, curve, label=name, markersize=3)
        panel.set(xlabel="outliers (%)", ylim=(0.0, None))
    axes[0].set_ylabel("distance from the centre,\nin radii of the ball")
    style.share_legend(figure, axes[0], 4)
    number, budget = medians["n"].iloc[0], medians["budget"].max()
    annotate(figure, [f"n = {number}, budget {budget:g}; bands: middle 80 % of data sets."])
    return figure, medians


summarise = partial(figure_of_tables, __name__)
