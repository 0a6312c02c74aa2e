"""Error against budget: log mean squared error of private predictions, by grid of budgets."""

TABLE = "errors"
OF_MECHANISM = True


def draw(table, params):
    """Draw the figure; return it and the numbers that it shows."""
    import numpy as np
    import pandas as pd
    from matplotlib.ticker import MultipleLocator
    from scipy.special import stdtrit

    from geodp.mechanisms.base import SAMPLED_BY
    from reproduction.figures.style import (
        CURVES,
        SYMBOLS,
        mechanism_label,
        new_figure,
        plot_curve,
        total_budget_label,
    )

    settings, grids = params.figure, params.grids
    table = table[table["sampler"] == "default"]
    members = pd.DataFrame(grids, columns=["grid", "group", "cell"])
    members = members[members["grid"].isin(settings["grids"])]
    groups = settings.get("groups") or list(dict.fromkeys(members["group"]))
    members = members[members["group"].isin(groups)]
    # A cell may be in several grids.
    table = members.merge(table, on=["group", "cell"])
    table["log_error"] = np.log(table["mean_squared_error"])
    table["log_non_private"] = np.log(table["non_private_mean_squared_error"])

    names = params.budgets
    divided = [f"budget_{name}" for name in names if f"budget_{name}" in table]
    keys = ["manifold", "data", "grid", "group", "n", "noise_variance", "cell", "budget", *divided]
    keys += ["mechanism", "guarantee", "sampler", "support", "seed", "lock"]
    values = [
        *(f"{name}_{key}" for name in names for key in SAMPLED_BY),
        "draws",
        "footpoints",
        "log_error",
        "log_error_standard_error",
        "log_non_private",
        "flagged",
    ]
    shown = table.loc[table["data_set"] == 0, keys + values]
    others = table[table["data_set"] > 0].groupby(["grid", "group", "cell"])
    bands = others.agg(
        band_data_sets=("log_error", "size"),
        band_low=("log_error", lambda values: values.quantile(0.1)),
        band_median=("log_error", "median"),
        band_high=("log_error", lambda values: values.quantile(0.9)),
        non_private_low=("log_non_private", lambda values: values.quantile(0.1)),
        non_private_high=("log_non_private", lambda values: values.quantile(0.9)),
    )
    numbers = shown.merge(bands.reset_index(), on=["grid", "group", "cell"], how="left")

    unit = f" ({params.length_unit}$^2$)" if params.length_unit else ""
    figure, axes = new_figure(
        1, len(settings["grids"]), width=3.4 * len(settings["grids"]) + 0.4, height=3.1, sharey=True
    )
    for panel, grid in zip(axes[0], settings["grids"], strict=True):
        split = params.splits[grid]
        column = f"budget_{split}" if split else "budget"
        handles = []
        for curve, group in zip(CURVES, groups, strict=False):
            part = numbers[(numbers["grid"] == grid) & (numbers["group"] == group)]
            part = part.sort_values(column)
            row = part.iloc[0]
            label = {
                "n": f"n = {row['n']}",
                "noise_variance": f"noise variance {row['noise_variance']}",
                "none": f"{mechanism_label(row['mechanism'])}, n = {row['n']}",
            }[settings["curves"]]
            single = part["band_low"].isna().all()
            quantile = stdtrit(np.maximum(part["footpoints"] - 1, 1), 0.975)
            spread = quantile * part["log_error_standard_error"]
            low = part["log_error"] - spread if single else part["band_low"]
            high = part["log_error"] + spread if single else part["band_high"]
            handles.append(
                plot_curve(
                    panel,
                    part[column].to_numpy(),
                    part["log_error"].to_numpy(),
                    curve,
                    label,
                    part["flagged"].to_numpy(),
                    low.to_numpy(),
                    high.to_numpy(),
                )
            )
            if not single:
                median = part["band_median"].to_numpy()
                panel.plot(part[column], median, color=curve.colour, linewidth=0.7, zorder=2)
            panel.axhline(row["log_non_private"], color=curve.colour, linestyle=":", linewidth=1.2)
        panel.xaxis.set_major_locator(MultipleLocator(0.5))
        label = total_budget_label(names)
        if split:
            total = numbers[numbers["grid"] == grid]["budget"].iloc[0]
            [other] = set(names) - {split}
            word, symbol = split.replace("_", " "), SYMBOLS[split]
            label = rf"{word} budget {symbol} ({SYMBOLS[other]} = {total:g} $-$ {symbol})"
        panel.set_xlabel(label)
    axes[0, 0].set_ylabel(f"ln mean squared error{unit}")
    level = axes[0, 0].plot([], [], color="0.3", linestyle=":", label="without privacy")[0]
    figure.legend(
        handles=[*handles, level], loc="outside upper center", ncols=len(handles) + 1, fontsize=8.5
    )
    return figure, numbers
