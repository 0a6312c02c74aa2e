"""Error against budget: log mean squared error of private predictions, by grid of budgets."""

TABLE = "errors"
OF_MECHANISM = True


def draw(table, params):
    """Draw the figure; return it and the numbers that it shows."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MultipleLocator

    from reproduction.figures.style import (
        ANY_COLOUR,
        CURVES,
        HOLLOW,
        SYMBOLS,
        label_levels,
        legend_above,
        letter_panels,
        mechanism_label,
        new_figure,
        plot_curve,
        total_budget_label,
    )

    settings = params.figure
    numbers = _numbers(table, params)
    groups = list(dict.fromkeys(numbers["group"]))
    data_sets, draws = numbers["data_sets"].max(), numbers["draws"].max()

    unit = f" ({params.length_unit}$^2$)" if params.length_unit else ""
    figure, axes = new_figure(
        1, len(settings["grids"]), width=3.2 * len(settings["grids"]) + 1.3, height=3.4, sharey=True
    )
    handles, levels = [], []
    for curve, group in zip(CURVES, groups, strict=False):
        row = numbers[numbers["group"] == group].iloc[0]
        own = _own_words(row, settings["curves"])
        levels.append((row["non_private_median"], curve.colour, own))
        label = own or f"{mechanism_label(row['mechanism'])}, n = {row['n']}"
        handles.append(Line2D([], [], label=label, **curve.keywords))
    for panel, grid in zip(axes[0], settings["grids"], strict=True):
        split = params.splits[grid]
        column = f"budget_{split}" if split else "budget"
        of_grid = numbers[numbers["grid"] == grid].sort_values(column)
        for curve, group in zip(CURVES, groups, strict=False):
            part = of_grid[of_grid["group"] == group]
            x, low, middle, high = part[[column, "band_low", "middle", "band_high"]].to_numpy().T
            plot_curve(panel, x, middle, curve, part["flagged"], low, high)
            if data_sets > 1:
                panel.plot(x, part["log_error"], color=curve.colour, linewidth=0.7, zorder=2)
            panel.axhline(
                part["non_private_median"].iloc[0],
                color=curve.colour,
                linestyle=":",
                linewidth=1.2,
            )
        panel.xaxis.set_major_locator(MultipleLocator(0.5))
        label = total_budget_label(params.budgets)
        if split:
            total = of_grid["budget"].iloc[0]
            [other] = set(params.budgets) - {split}
            word, symbol = split.replace("_", " "), SYMBOLS[split]
            label = rf"{word} budget {symbol} ({SYMBOLS[other]} = {total:g} $-$ {symbol})"
        panel.set_xlabel(label)
    axes[0, 0].set_ylabel(f"ln mean squared error{unit}")
    if len(groups) > 1:
        label_levels(axes[0, -1], *zip(*levels, strict=True))
    letter_panels(axes)

    bold = {"color": ANY_COLOUR, "linewidth": 1.4}
    if data_sets > 1:
        meaning = [
            Line2D([], [], label=f"median of {data_sets} data sets", **bold),
            Patch(color=ANY_COLOUR, alpha=0.2, linewidth=0, label="10 to 90 % of them"),
            Line2D([], [], color=ANY_COLOUR, linewidth=0.7, label="one data set"),
        ]
    else:
        meaning = [
            Line2D([], [], label=f"mean over {draws} draws", **bold),
            Patch(color=ANY_COLOUR, alpha=0.2, linewidth=0, label="10 to 90 % of draws"),
        ]
    level = "without privacy, median" if data_sets > 1 else "without privacy"
    meaning.append(Line2D([], [], color=ANY_COLOUR, linestyle=":", label=level))
    if numbers["flagged"].any():
        meaning.append(Line2D([], [], **HOLLOW, label="fails its diagnostics"))
    shared = _shared_words(numbers, settings["curves"])
    if shared:
        handles.append(Line2D([], [], linestyle="", label=f"(all: {shared})"))
    legend_above(figure, handles, meaning)
    return figure, numbers


def _numbers(table, params):
    """A row for each cell of each grid: the first data set, the middle and the band."""
    import numpy as np
    import pandas as pd

    from geodp.mechanisms.base import SAMPLED_BY

    settings = params.figure
    table = table[table["sampler"] == "default"]
    members = pd.DataFrame(params.grids, columns=["grid", "group", "cell"])
    members = members[members["grid"].isin(settings["grids"])]
    groups = settings.get("groups") or list(dict.fromkeys(members["group"]))
    members = members[members["group"].isin(groups)]
    # A cell may be in several grids.
    table = members.merge(table, on=["group", "cell"])
    names = {
        "log_error": "mean_squared_error",
        "log_low": "low_squared_error",
        "log_high": "high_squared_error",
        "log_non_private": "non_private_mean_squared_error",
    }
    for name, source in names.items():
        table[name] = np.log(table[source])

    divided = [f"budget_{name}" for name in params.budgets if f"budget_{name}" in table]
    cell = ["grid", "group", "cell"]
    keys = ["manifold", "data", *cell, "n", "noise_variance", "budget", *divided]
    keys += ["mechanism", "guarantee", "sampler", "support", "seed", "lock"]
    values = [
        *(f"{name}_{key}" for name in params.budgets for key in SAMPLED_BY),
        "draws",
        "footpoints",
        "log_error",
        "log_error_standard_error",
        "log_non_private",
        "flagged",
    ]
    first = table["data_set"] == 0
    over = table.groupby(cell).agg(
        data_sets=("data_set", "size"),
        middle=("log_error", "median"),
        band_low=("log_error", lambda errors: errors.quantile(0.1)),
        band_high=("log_error", lambda errors: errors.quantile(0.9)),
        non_private_median=("log_non_private", "median"),
    )
    numbers = table.loc[first, keys + values].merge(over.reset_index(), on=cell)
    # The band of a single data set is over draws, one of which a release would be.
    single = numbers["data_sets"] == 1
    for name, source in {"band_low": "log_low", "band_high": "log_high"}.items():
        numbers.loc[single, name] = table.loc[first, source].to_numpy()[single]
    order = numbers["group"].map(groups.index)
    return numbers.iloc[order.argsort(kind="stable")]


def _own_words(row, curves):
    """What tells a curve apart from the others; empty if there is nothing."""
    return {
        "n": f"n = {row['n']}",
        "noise_variance": f"noise variance {row['noise_variance']}",
        "none": "",
    }[curves]


def _shared_words(numbers, curves):
    """What all curves share and no label of one says: n, or the noise variance."""
    words = []
    if curves == "noise_variance" and numbers["n"].nunique() == 1:
        words.append(f"n = {numbers['n'].iloc[0]}")
    if curves == "n" and numbers["noise_variance"].nunique() == 1:
        words.append(f"noise variance {numbers['noise_variance'].iloc[0]}")
    return ", ".join(words)
