"""Figures of private means: what the papers show, and mechanisms beside one another."""

import numpy as np
import pandas as pd

from geodp.means.sensitivity import largest_change_of_logs
from geodp.means.walks import FIRST_ORDER
from geodp.mechanisms.base import FALSE, NONE, PROVED
from geodp.models.sensitivity import convexity
from reproduction.figures.files import annotate
from reproduction.figures.style import (
    CURVES,
    Curve,
    label_few_steps,
    letter_panels,
    new_figure,
    plot_band,
    plot_errors,
    share_legend,
)
from reproduction.manifolds import study_manifold
from reproduction.measurements.words import figure_of_tables, space_title

# How mechanisms are drawn, and what they are called.
NAMES = {
    "laplace_as_published": "Laplace, as published",
    "laplace": "Laplace, proved scale",
    "ambient_laplace": "Laplace in the ambient space",
    "kng": "K-norm gradient, as published",
    "wrapped_laplace": "wrapped Laplace",
    "wrapped_gaussian": "wrapped Gaussian, delta = 1e-6",
    "tangent_laplace": "Laplace in the tangent space at the centre",
    "tangent_gaussian": "Gaussian in the tangent space, delta = 1e-6",
    "private_steps": "two private steps",
}


# End of the axis of losses over the stated budget.
FARTHEST_LOSS = 2.2


def _bands(by_size):
    """What curves and bands are, in a sentence."""
    number = by_size["data_sets"].max()
    return f"Means over {number:,} data sets of each size, with two standard errors."


def summarise(name, settings, made_by, threads, **inputs):
    """The figure of a name, and its numbers, by their output."""
    return figure_of_tables(FIGURES[name], settings, inputs)


def means_by_size(errors):
    """Mean distances of draws, with their standard errors, by space, mechanism and size."""
    keys = ["space", "mechanism", "guarantee", "n", "budget"]
    grouped = errors.groupby(keys, sort=False)
    found = grouped.agg(
        mean=("distance", "mean"),
        standard_error=("distance", "sem"),
        outside=("outside", "mean"),
        bias=("bias", "mean"),
        data_sets=("distance", "size"),
    )
    return found.reset_index()


def _guarantees(by_size, space, shown):
    """Whether the budgets of the mechanisms shown hold, in a sentence."""
    rows = by_size[(by_size["space"] == space) & by_size["mechanism"].isin(shown)]
    said = []
    for status, word in ((PROVED, "Proved"), (NONE, "Without a proof"), (FALSE, "Not kept")):
        names = dict.fromkeys(rows.loc[rows["guarantee"] == status, "mechanism"])
        if names:
            said.append(f"{word}: {'; '.join(NAMES[name] for name in names)}")
    return f"{space}, budget {rows['budget'].iloc[0]:g}. " + ". ".join(said) + "."


def draw_laplace_means(settings, errors, neighbours):
    """Figure 1 of Reimherr, Bharath and Soto: neighbours and errors, a row a space."""
    by_size = means_by_size(errors[errors["n"] % settings["shown"] == 0])
    spaces = list(settings["spaces"])
    figure, axes = new_figure(len(spaces), 2, width=7.0, height=0.6 + 2.4 * len(spaces))
    for row, space in zip(axes, spaces, strict=True):
        pairs = neighbours[neighbours["space"] == space]
        panel = row[0]
        colour = CURVES[0].colour
        panel.plot(
            pairs["n"], pairs["moved"], ".", color=CURVES[3].colour, markersize=2, label="a pair"
        )
        average = pairs.groupby("n")["moved"].mean()
        panel.plot(average.index, average, color=colour, label="average of pairs")
        bound = pairs.groupby("n")["bound"].first()
        panel.plot(bound.index, bound, color=CURVES[1].colour, linestyle="--", label="bound")
        panel.set_yscale("log")
        panel.set_ylabel("distance of neighbours' means\n(unit of length)")
        panel.set_title(space_title(space))
        for name, curve in zip(("laplace_as_published", "ambient_laplace"), CURVES, strict=False):
            rows = by_size[(by_size["space"] == space) & (by_size["mechanism"] == name)]
            plot_errors(row[1], rows, "n", curve, label=NAMES[name], markersize=3)
        row[1].set_yscale("log")
        row[1].set_ylabel("distance of draw and mean\n(ambient space)")
        row[1].set_title(space_title(space))
    for panel in axes[-1]:
        panel.set_xlabel("number of records n")
    for panel in axes[0]:
        panel.legend(fontsize=7)
    letter_panels(axes)
    shown = ("laplace_as_published", "ambient_laplace")
    annotate(figure, [_bands(by_size), *(_guarantees(by_size, space, shown) for space in spaces)])
    return figure, by_size


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
    figure, [[panel]] = new_figure(1, 1, width=4.2, height=3.0)
    labels = {
        "without_curvature": "$2r$",
        "bound": "$2r\\,(2 - h)$, the bound",
        "largest_on_grid": "largest on a grid of the edge",
    }
    for (column, label), curve in zip(labels.items(), CURVES, strict=False):
        panel.plot(radii, numbers[column], color=curve.colour, linestyle=curve.line, label=label)
    panel.axvline(space["radius"], color="0.6", linewidth=0.8)
    panel.annotate(
        "radius of Figure 1", (space["radius"], 0.0), (3, 2), textcoords="offset points", fontsize=7
    )
    panel.set_ylim(bottom=0.0)
    panel.set_xlabel("radius of the ball, rad")
    panel.set_ylabel("change of the logarithm of one record, rad")
    panel.legend(fontsize=7)
    return figure, numbers


def draw_kng_means(settings, errors):
    """Mechanisms beside one another: mean distance over that of the proved Laplace mechanism."""
    by_size = means_by_size(errors[errors["n"] % settings["shown"] == 0])
    spaces = list(settings["spaces"])
    figure, axes = new_figure(1, len(spaces), width=3.6 * len(spaces), height=3.9)
    shown = [name for name in NAMES if name != "laplace"]
    styles = (*CURVES[:3], *MORE_CURVES)
    for panel, space in zip(axes[0], spaces, strict=True):
        rows = by_size[by_size["space"] == space]
        base = rows.loc[rows["mechanism"] == "laplace", "mean"].to_numpy()
        panel.axhline(1.0, color="0.3", linewidth=0.8)
        for name, curve in zip(shown, styles, strict=True):
            mine = rows[rows["mechanism"] == name]
            if len(mine):
                plot_errors(panel, mine, "n", curve, base, label=NAMES[name], markersize=3)
        panel.set_title(space_title(space))
        panel.set_xlabel("number of records n")
        panel.set_ylim(bottom=0.0)
    axes[0, 0].set_ylabel(
        "mean distance to the mean (ambient),\nover that of Laplace at its proved scale"
    )
    annotate(figure, [_bands(by_size), *(_guarantees(by_size, space, shown) for space in spaces)])
    share_legend(figure, axes[0, 0], 3)
    letter_panels(axes)
    return figure, by_size


def draw_mean_shapes(settings, landmarks):
    """Private mean shapes over the mean: a row a space, a panel a mechanism."""
    spaces = list(dict.fromkeys(landmarks["space"]))
    names = [name for name in dict.fromkeys(landmarks["mechanism"]) if name != "mean"]
    figure, axes = new_figure(
        len(spaces), len(names), width=1.8 * len(names), height=0.7 + 1.0 * len(spaces)
    )

    def closed(shape):
        places = shape.sort_values("landmark")[["x", "y"]].to_numpy()
        return np.vstack([places, places[:1]]).T

    for row, space in zip(axes, spaces, strict=True):
        of_space = landmarks[landmarks["space"] == space]
        mean = closed(of_space[of_space["mechanism"] == "mean"])
        for panel, name in zip(row, names, strict=True):
            drawn = of_space[of_space["mechanism"] == name]
            for _, shape in drawn.groupby("draw"):
                panel.plot(*closed(shape), color=CURVES[1].colour, linewidth=0.7, alpha=0.7)
            panel.plot(*mean, color=CURVES[0].colour, linewidth=1.6)
            panel.set_aspect("equal")
            panel.axis("off")
            if space == spaces[0]:
                panel.set_title(SHAPE_NAMES[name], fontsize=8)
        first = of_space.iloc[0]
        row[0].text(
            -0.05,
            0.5,
            f"{space}, n = {first['n']}",
            rotation=90,
            transform=row[0].transAxes,
            horizontalalignment="right",
            verticalalignment="center",
        )
    annotate(
        figure,
        [
            "Balls are read off the data, in the last column with a wider radius and another "
            "centre: no budget holds.",
            *(
                f"The {space} are simulated."
                for space in spaces
                if landmarks.loc[landmarks["space"] == space, "simulated"].any()
            ),
        ],
    )
    return figure, landmarks


def draw_walks(settings, walks):
    """Mean distance of draws over the scale: walks and exact draws, with two standard errors."""
    spaces = list(dict.fromkeys(walks["space"]))
    # Hollow marks where there is no distribution that walks come to.
    hollow = {"markerfacecolor": "white"}
    figure, axes = new_figure(1, len(spaces), width=3.4 * len(spaces), height=3.2)
    for panel, space in zip(axes[0], spaces, strict=True):
        of_space = walks[walks["space"] == space]
        named = of_space.groupby("sampler", sort=False)
        for (name, rows), curve in zip(named, CURVES, strict=True):
            endless = rows["loss_of"].iloc[0] == FIRST_ORDER
            rows = rows.rename(columns={"mean_over_scale": "mean"})
            plot_errors(panel, rows, "scale", curve, label=name, **(hollow if endless else {}))
        panel.set_xscale("log")
        label_few_steps(panel.xaxis)
        panel.set_xlabel("scale of the distribution\n(unit of length)")
        panel.set_title(space_title(space))
        panel.set_ylim(bottom=0.0)
        panel.legend(fontsize=7)
    axes[0, 0].set_ylabel("mean distance of draws,\nover the scale")
    letter_panels(axes)
    steps = walks.groupby("space", sort=False)["steps"].max()
    said = ", ".join(f"{number:,} on {space}" for space, number in steps.items())
    without = dict.fromkeys(walks.loc[walks["loss_of"] == FIRST_ORDER, "sampler"])
    annotate(
        figure,
        [
            f"Bands: two standard errors. Steps of a walk before its first draw: {said}.",
            *(
                f"Hollow: {name} have no limiting distribution, and go on outwards."
                for name in without
            ),
        ],
    )
    return figure, walks


def draw_audit(settings, audit):
    """Losses that draws prove, and those that are computed, over the stated budget."""
    best = audit.sort_values("bound").groupby(["space", "mechanism"], sort=False).tail(1)
    spaces = list(settings["spaces"])
    most = max(len(rows) for _, rows in best.groupby("space"))
    figure, axes = new_figure(1, len(spaces), width=4.1 * len(spaces), height=0.9 + 0.24 * most)
    for panel, space in zip(axes[0], spaces, strict=True):
        names = list(dict.fromkeys(audit.loc[audit["space"] == space, "mechanism"]))[::-1]
        rows = best[best["space"] == space].set_index("mechanism").loc[names]
        places = np.arange(len(rows))
        known = rows["known_over_stated"].to_numpy()
        panel.axvline(1.0, color="0.3", linewidth=0.8)
        panel.barh(
            places,
            rows["bound_over_stated"],
            height=0.55,
            color=CURVES[3].colour,
            label="proved by draws (99 % confidence)",
        )
        near = (rows["loss_of"] == FIRST_ORDER).to_numpy()
        for which, label, style in (
            (~near, "computed or known", {}),
            (near, "computed, first order near the mean", {"markerfacecolor": "white"}),
        ):
            style |= {"color": CURVES[1].colour, "markersize": 4, "label": label}
            panel.plot(known[which], places[which], "D", **style)
        panel.set_xlim(0.0, FARTHEST_LOSS)
        for place, bound, loss in zip(places, rows["bound_over_stated"], known, strict=True):
            words = [f"{bound:.2g} by draws"] if bound > FARTHEST_LOSS else []
            words += ["computed: infinite"] if np.isinf(loss) else []
            # Over the line of the budget, in the colour of a bar that is as long as the axis.
            behind = CURVES[3].colour if bound > FARTHEST_LOSS else "white"
            patch = {"facecolor": behind, "edgecolor": "none", "pad": 0.5} if words else None
            panel.text(
                FARTHEST_LOSS,
                place,
                ", ".join(words) + " ",
                ha="right",
                va="center",
                fontsize=7,
                bbox=patch,
            )
        panel.set_yticks(places, [NAMES.get(name, f"walk, {name}") for name in names], fontsize=7)
        panel.set_title(f"{space_title(space)}, n = {rows['n'].iloc[0]}")
        panel.set_xlabel("privacy loss, over the stated budget")
    share_legend(figure, axes[0, 0], 3)
    letter_panels(axes)
    draws = audit.groupby("mechanism")["draws"].first()
    annotate(
        figure,
        [
            f"Of draws from each of two neighbouring data sets: {draws.max():,}, and "
            f"{draws.min():,} of walks, after {audit['steps'].max()} steps. "
            "A bar is a lower bound of the loss."
        ],
    )
    return figure, audit


def draw_medians(settings, medians):
    """Distance of estimates from the centre against the share of outliers, a panel a space."""
    spaces = list(dict.fromkeys(medians["space"]))
    figure, axes = new_figure(1, len(spaces), width=2.5 * len(spaces), height=3.0, sharey=True)
    for panel, space in zip(axes[0], spaces, strict=True):
        of_space = medians[medians["space"] == space]
        for (name, rows), curve in zip(
            of_space.groupby("estimate", sort=False), CURVES, strict=True
        ):
            y, low, high = (rows[key] for key in ("over_radius", "low", "high"))
            plot_band(
                panel, 100.0 * rows["outliers"], y, low, high, curve, label=name, markersize=3
            )
        panel.set_title(space_title(space))
        panel.set_xlabel("outliers (%)")
        panel.set_ylim(bottom=0.0)
    axes[0, 0].set_ylabel("distance from the centre,\nin radii of the ball")
    share_legend(figure, axes[0, 0], 4)
    letter_panels(axes)
    first = medians.iloc[0]
    budget = medians["budget"].max()
    annotate(figure, [f"n = {first['n']}, budget {budget:g}; bands: middle 80 % of data sets."])
    return figure, medians


SHAPE_NAMES = NAMES | {
    "kng": "K-norm gradient,\nas published",
    "laplace": "Laplace,\nas published",
    "landmarkwise_laplace": "Laplace for\neach landmark",
    "private_steps": "two private steps,\na wider ball",
}

# Beyond the four of the house style.
MORE_CURVES = (
    Curve("#7a7a7a", "v", ":"),
    Curve("#3d7a4e", "P", (0, (6, 2))),
    Curve("#8c3b78", "x", (0, (3, 2))),
    Curve("#111111", "1", "-"),
    Curve("#9c6a1c", "2", (0, (1, 1))),
)

# By name: the function, whose arguments are settings and tables.
FIGURES = {
    "laplace_means": draw_laplace_means,
    "sensitivities": draw_sensitivities,
    "kng_means": draw_kng_means,
    "audit": draw_audit,
    "mean_shapes": draw_mean_shapes,
    "walks": draw_walks,
    "medians": draw_medians,
}
