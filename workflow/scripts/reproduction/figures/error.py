"""Error against budget: log mean squared error of private predictions, by grid of budgets.

Releases, whose budget is proved, have a row of panels below at the same budgets in all.
"""

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator, MultipleLocator

from geodp.mechanisms.mechanism import SAMPLED_BY
from geodp.models.blocks import ALL
from reproduction.figures import style

# The error of the public centre in place of any release.
WITHOUT_DATA = {"color": "0.5", "linestyle": (0, (6, 3)), "linewidth": 1.0}


def draw(table, params):
    settings, numbers = params.figure, _numbers(table, params)
    looks = dict(zip(dict.fromkeys(numbers["group"]), style.CURVES, strict=False))
    curves = _told_apart(numbers, settings["curves"])
    samplers = list(dict.fromkeys(numbers["sampler"]))
    unit = f" ({params.length_unit}$^2$)" if params.length_unit else ""
    rows, columns = len(samplers), len(settings["grids"])
    size = {"width": 3.2 * columns + 1.3, "height": 3.0 * rows + 0.4}
    figure, axes = style.new_figure(rows, columns, **size, sharex="col", sharey=True)
    for sampler, panels in zip(samplers, axes, strict=True):
        drawn = numbers[numbers["sampler"] == sampler]
        for panel, grid in zip(panels, settings["grids"], strict=True):
            split, levels = params.splits[grid], []
            for group, part in drawn[drawn["grid"] == grid].groupby("group", sort=False):
                curve, row = looks[group], part.iloc[0]
                level = row["non_private_median"]
                _draw_curve(panel, part, f"budget_{split}" if split else "budget", curve)
                panel.axhline(level, color=curve.colour, linestyle=":", linewidth=1.2)
                if not np.isnan(row["without_data_median"]):
                    own = {"color": curve.colour}
                    panel.axhline(row["without_data_median"], **WITHOUT_DATA | own)
                levels.append((level, curve.colour, _own_words(row, curves)))
            # Rows have budgets of different parts.
            panel.set_xlabel(_budget_label(drawn, params, grid, split))
        if len(levels) > 1:
            style.label_levels(panels[-1], *zip(*levels, strict=True))
        what = style.mechanism_label(drawn["mechanism"].iloc[0])
        panels[0].set_ylabel(f"{what}\nln mean squared error{unit}")
    for column in axes.T:
        # Rows share an axis.
        span = np.ptp([panel.dataLim.intervalx for panel in column])
        column[0].xaxis.set_major_locator(_ticks(span))
    style.legend_above(figure, *_legend(numbers, looks, curves))
    return figure, numbers


def _legend(numbers, looks, curves):
    """Handles of the curves, and of what their lines, bands and marks mean."""
    handles = []
    for group, look in looks.items():
        row = numbers[numbers["group"] == group].iloc[0]
        label = _own_words(row, curves) or f"n = {row['n']}"
        handles.append(style.line(label=label, **look.keywords))
    if shared := _shared_words(numbers, curves):
        handles.append(style.line(linestyle="", label=f"(all: {shared})"))
    has_without_data = numbers["without_data_median"].notna().any()
    several, any_colour = numbers["data_sets"].max() > 1, {"color": "0.35"}
    middle, of, level = f"mean over {_sizes_in_words(numbers, 'draws')} draws", "draws", ""
    if several:
        middle = f"median of {_sizes_in_words(numbers, 'data_sets')} data sets"
        of, level = "them", ", median"
    meaning = {
        middle: any_colour | {"linewidth": 1.4},
        "one data set": any_colour | {"linewidth": 0.7} if several else None,
        f"without privacy{level}": any_colour | {"linestyle": ":"},
        "drawn without data": WITHOUT_DATA if has_without_data else None,
        "fails its diagnostics": style.HOLLOW if numbers["flagged"].any() else None,
        style.REFUSED: style.HOLLOW if numbers["refused"].any() else None,
    }
    meant = [style.line(label=label, **look) for label, look in meaning.items() if look]
    meant.insert(1, style.patch(**any_colour, alpha=0.2, label=f"10 to 90 % of {of}"))
    return handles, meant


def notes(numbers):
    """Lines below the figure: where what each row of panels shows may lie, if there are two."""
    shown = list(numbers.groupby("mechanism", sort=False))
    return [
        f"Support, {style.mechanism_label(name)}: {'; '.join(dict.fromkeys(drawn['support']))}."
        for name, drawn in shown
        if len(shown) > 1
    ]


def _draw_curve(panel, part, column, curve):
    """One curve with its band; a level, if nothing changes along the axis."""
    if part[column].isna().all():
        low, middle, high = part[["band_low", "middle", "band_high"]].iloc[0]
        panel.axhspan(low, high, color=curve.colour, alpha=0.2, linewidth=0)
        panel.axhline(middle, color=curve.colour, linestyle=curve.line)
        if (part["flagged"] | part["refused"]).any():
            # A level has no place of its own along the axis.
            at = panel.get_yaxis_transform()
            panel.plot([0.5], [middle], transform=at, **style.HOLLOW | {"color": curve.colour})
        return
    part = part.sort_values(column)
    x, low, middle, high = part[[column, "band_low", "middle", "band_high"]].to_numpy().T
    style.plot_band(panel, x, middle, low, high, curve, marker="", zorder=3)
    hollow = (part["flagged"] | part["refused"]).to_numpy()
    style.plot_markers(panel, x, middle, hollow, curve.colour, curve.marker)
    if part["data_sets"].max() > 1:
        panel.plot(x, part["log_error"], color=curve.colour, linewidth=0.7, zorder=2)


def _budget_label(numbers, params, grid, split):
    """Label of the axis of a grid's budgets."""
    names = params.budgets
    if not split and numbers["mechanism"].iloc[0] == "release":
        # Whose one budget is of footpoint and shooting vector together.
        return r"total budget $\epsilon$"
    if not split and len(names) < 2:
        return r"budget $\epsilon$"
    if not split:
        equal = " = ".join(style.SYMBOLS[name].strip("$") for name in names)
        return rf"total budget $\epsilon$ (${equal} = \epsilon/{len(names)}$)"
    total = numbers.loc[numbers["grid"] == grid, "budget"].iloc[0]
    [other] = set(names) - {split}
    word, symbol = split.replace("_", " "), style.SYMBOLS[split]
    return rf"{word} budget {symbol} ({style.SYMBOLS[other]} = {total:g} $-$ {symbol})"


def _numbers(table, params):
    """A row for each cell of each grid: the first data set, the middle and the band."""
    settings = params.figure
    table = table[table["sampler"] != "random_walk"]
    members = pd.DataFrame(params.grids, columns=["grid", "group", "cell"])
    released = members[members["grid"] == "release"]
    members = members[members["grid"].isin(settings["grids"])]
    groups = settings.get("groups") or list(dict.fromkeys(members["group"]))
    # A cell may be in several grids; one of releases is in those that have its budget in all.
    budgets = members.merge(table, on=["group", "cell"]).groupby("grid")["budget"]
    everywhere = [
        released.merge(table, on=["group", "cell"])
        .query("@least <= budget <= @most")[["group", "cell"]]
        .assign(grid=grid)
        for (grid, least), most in zip(budgets.min().items(), budgets.max(), strict=True)
    ]
    members = pd.concat([members, *everywhere]).drop_duplicates()
    members = members[members["group"].isin(groups)]
    table = members.merge(table, on=["group", "cell"])
    names = {
        "log_error": "mean_squared_error",
        "log_low": "low_squared_error",
        "log_high": "high_squared_error",
        "log_non_private": "non_private_mean_squared_error",
        "log_without_data": "squared_error_without_data",
    }
    for name, source in names.items():
        table[name] = np.log(table[source])

    divided = [f"budget_{name}" for name in params.budgets if f"budget_{name}" in table]
    cell = ["grid", "group", "cell", "sampler"]
    keys = ["manifold", "data", *cell[:3], "n", "noise_variance", "budget", *divided]
    keys += ["mechanism", "guarantee", "sampler", "support", "seed", "lock"]
    drawn_by = (f"{name}_{key}" for name in (*params.budgets, ALL) for key in SAMPLED_BY)
    values = [*dict.fromkeys(name for name in drawn_by if name in table), "draws", "footpoints"]
    values += ["log_error", "log_error_standard_error", "log_non_private", "flagged", "refused"]
    first = table["data_set"] == 0
    over = table.groupby(cell).agg(
        data_sets=("data_set", "size"),
        middle=("log_error", "median"),
        band_low=("log_error", lambda errors: errors.quantile(0.1)),
        band_high=("log_error", lambda errors: errors.quantile(0.9)),
        non_private_median=("log_non_private", "median"),
        without_data_median=("log_without_data", "median"),
    )
    numbers = table.loc[first, keys + values].merge(over.reset_index(), on=cell)
    # The band of a single data set is over draws, one of which a release would be.
    single = numbers["data_sets"] == 1
    for name, source in {"band_low": "log_low", "band_high": "log_high"}.items():
        numbers.loc[single, name] = table.loc[first, source].to_numpy()[single]
    numbers["order"] = numbers["group"].map(groups.index)
    return numbers.sort_values(["sampler", "order"], kind="stable").drop(columns="order")


def _sizes_in_words(numbers, column):
    """Numbers of data sets or draws, of the first row of panels and where it differs the second."""
    sizes = dict.fromkeys(numbers.groupby("sampler", sort=False)[column].max())
    first, *others = map(str, sizes)
    return first + (f" (second row: {others[0]})" if others else "")


def _ticks(span):
    """Locator of ticks on an axis of budgets so far apart: those of papers go up to two."""
    return MultipleLocator(0.5) if 0.5 <= span <= 3.0 else MaxNLocator(5)


def _told_apart(numbers, curves):
    """The column that tells curves apart: that of the settings, or what differs."""
    if curves != "none" or numbers["group"].nunique() < 2:
        return curves
    differ = [name for name in ("n", "noise_variance") if numbers[name].nunique() > 1]
    return differ[0] if len(differ) == 1 else "group"


def _own_words(row, curves):
    """What tells a curve apart from the others; empty if there is nothing."""
    words = {"n": "n = {}", "noise_variance": "noise variance {}", "group": "{}", "none": ""}
    return words[curves].format(row.get(curves))


def _shared_words(numbers, curves):
    """What all curves share and no label of one says: n, or the noise variance."""
    other = {"noise_variance": "n", "n": "noise_variance"}.get(curves, "none")
    is_shared = other != "none" and numbers[other].nunique() == 1
    return _own_words(numbers.iloc[0], other) if is_shared else ""
