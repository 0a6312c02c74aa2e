"""Lines of all methods on red wine (Kulkarni and Soto, first version, Table 1).

Four standardised responses on alcohol: the paper names the responses alone.  The published
mechanism has its covariate on several scales.
"""

from itertools import product

import numpy as np
import pandas as pd

from geodp.errors import DataError
from geodp.randomness import random_stream
from reproduction.measurements.tools.methods import METHODS, versions
from reproduction.measurements.tools.problem import NONE, Budget, Problem, predictions

DATA, PUBLISHED = "red wine", "geodesic_as_published"
SCALES_OF_PUBLISHED = tuple(name for name in METHODS if name.startswith(PUBLISHED))

# Settings of DP-SGD.
OF_A_SETTING = ("passes", "step", "clip", "batch")

OF_A_METHOD = ("method", "title", "guarantee", "neighbours", "versions")

# What lines of all private methods have in common, budget by budget.
OF_A_CELL = ("data", "n", "responses", "covariate", "response_bound", "delta", "budget")

# Of these, what the row of a draw repeats.
OF_A_DRAW = ("data", "n", "method", "budget")


def records(settings, wine, scale="from 0 to 1"):
    """Covariate (n, 1) on a scale and standardised responses (n, m) of a table of red wine."""
    frame = pd.read_csv(wine, sep=";")
    missing = {settings["covariate"], *settings["responses"]} - set(frame)
    if missing:
        raise DataError(f"{wine}: there is no column {', '.join(sorted(missing))}")
    x = frame[[settings["covariate"]]].to_numpy(dtype=float)
    y = frame[settings["responses"]].to_numpy(dtype=float)
    start, unit = {
        "from 0 to 1": (x.min(), np.ptp(x)),
        "standardised": (x.mean(), x.std()),
        "as measured": (0.0, 1.0),
    }[scale]
    return (x - start) / unit, (y - y.mean(axis=0)) / y.std(axis=0)


def measure(settings, wine, methods):
    """Table of the draws of methods: a row a method, budget and setting.

    The columns ``0``, ``1`` and so on are mean squared errors of draws.
    """
    chosen = settings["comparison"]
    cells = [cell for name in methods for cell in cells_of(chosen, name)]
    rows = [row_of(settings, *cell, wine) for cell in cells]
    return (pd.DataFrame(rows),)


def cells_of(settings, name):
    """Cells of a method: its name, a budget, a number of draws, and a setting of DP-SGD."""
    grid, draws = [{}], settings["published_draws" if name in SCALES_OF_PUBLISHED else "draws"]
    if name == "dp_sgd":
        given = settings["opacus"]
        values = product(*(given[key] for key in OF_A_SETTING))
        grid = [dict(zip(OF_A_SETTING, each, strict=True)) for each in values]
        draws = given["draws"]
    return [
        (name, epsilon, draws if METHODS[name].neighbours else 1, setting)
        for setting, epsilon in product(grid, settings["budgets"])
    ]


def lines_of(settings, name, epsilon, draws, setting, wine):
    """Records on the scale of a method, and its lines (draws, 2, m) of a cell."""
    chosen, method = settings["comparison"], METHODS[name]
    x, y = records(chosen, wine, method.covariate)
    bound = chosen["response_bound"]
    given = np.clip(y, -bound, bound) if method.clipped else y
    unit = np.zeros(1), np.ones(1)
    problem = Problem(x, given, *unit, norm=1.0, bound=bound, has_intercept=True, records=len(x))
    key = "comparison", name, str(epsilon), *map(str, setting.values())
    rng = random_stream(settings["seed"], *key)
    budget = Budget(epsilon, chosen["delta"])
    return x, y, method.lines(problem, budget, rng, draws, setting or chosen)


def row_of(settings, name, epsilon, draws, setting, wine):
    """Row of a cell: what it is, and the mean squared errors of its draws."""
    chosen, method = settings["comparison"], METHODS[name]
    x, y, lines = lines_of(settings, name, epsilon, draws, setting, wine)
    errors = [np.mean((y - predictions(line, x)) ** 2) for line in lines]
    return {
        "data": DATA,
        "n": len(x),
        "responses": y.shape[1],
        "covariate": chosen["covariate"],
        "response_bound": chosen["response_bound"],
        "seed": settings["seed"],
        "method": name,
        "title": method.title,
        "guarantee": method.guarantee,
        "neighbours": method.neighbours,
        "versions": versions(method),
        "budget": epsilon,
        "delta": chosen["delta"],
        **setting,
        # To the digits in which other machines agree.
        **{str(draw): float(f"{error:.6g}") for draw, error in enumerate(errors)},
    }


def compared(settings, wine, methods, competitors, opacus):
    """Tables of draws, of DP-SGD by setting, and of errors by method.

    Of our methods, and of tables of `measure` that were recorded in other environments.
    """
    tables = [*measure(settings, wine, methods), pd.read_csv(competitors)]
    by_method = pd.concat(tables, ignore_index=True).fillna({"neighbours": ""})
    grid = pd.read_csv(opacus)
    refuse_other_cells(pd.concat([by_method, grid], ignore_index=True))
    by_setting = errors_by_setting(grid)
    shown = map(_draws, (by_method, middle_of(grid, by_setting)))
    draws = with_ratios(pd.concat(shown, ignore_index=True))
    needless = [name for name in (*OF_A_CELL, *OF_A_METHOD) if name not in OF_A_DRAW]
    return draws.drop(columns=needless), by_setting, errors_by_method(draws)


def _draws(table):
    """A row a draw, from a row a cell."""
    numbers = [name for name in table if name.isdigit()]
    kept = [*OF_A_CELL, *OF_A_METHOD, "seed"]
    errors = table[numbers].to_numpy()
    rows, draws = np.nonzero(~np.isnan(errors))
    found = table[kept].iloc[rows].assign(draw=draws, mean_squared_error=errors[rows, draws])
    # What claims call these.
    cells = found["method"] + ", " + found["budget"].map("{:g}".format)
    return found.assign(group=found["data"], cell=cells)


def refuse_other_cells(rows):
    """Refuse private methods' lines that are of other data, bounds or budgets than others'."""
    private = rows[rows["guarantee"] != NONE]
    cells = private.groupby("method", sort=False)[list(OF_A_CELL)].apply(
        lambda part: tuple(sorted(set(map(tuple, part.astype(str).to_numpy()))))
    )
    if other := [name for name in cells.index if cells[name] != cells.iloc[0]]:
        raise DataError(
            f"lines of {', '.join(other)} are of other data, bounds or budgets than those of "
            f"{cells.index[0]}: make those below resources/recorded again, as resources/README.md "
            "says"
        )


def errors_by_setting(grid):
    """Mean, and 5 and 95 per cent points, of the errors of DP-SGD: a row a setting and budget."""
    numbers = [name for name in grid if name.isdigit()]
    errors = grid[numbers].to_numpy()
    found = grid.drop(columns=numbers).assign(draws=len(numbers), mean=errors.mean(axis=1))
    # A number between these has 5 to 95 per cent of the draws at or below it.
    found["low"] = np.quantile(errors, 0.05, axis=1, method="lower")
    found["high"] = np.quantile(errors, 0.95, axis=1, method="higher")
    return found.assign(setting=found.groupby("budget", sort=False).cumcount())


def middle_of(grid, settings):
    """Rows of the setting of DP-SGD at each budget whose mean error is the median, or next below.

    They speak for all in the comparison.
    """
    order = settings.sort_values("mean").groupby("budget")
    return grid.loc[order["mean"].apply(lambda means: means.index[(len(means) - 1) // 2])]


def with_ratios(draws):
    """Draws with ratios of errors above least squares to those of the published mechanism.

    A column such as ``times_geodesic_as_published`` for each scale of its covariate has the ratio
    to its draw of the same number.
    """
    keys, error = ["data", "budget", "draw"], "mean_squared_error"
    least = draws[draws["method"] == "least_squares"].groupby("data")[error].first()
    above = draws[error] - draws["data"].map(least)
    for name in SCALES_OF_PUBLISHED:
        its = draws[keys].assign(above=above)[draws["method"] == name].set_index(keys)
        draws = draws.assign(**{f"times_{name}": above / draws[keys].join(its, on=keys)["above"]})
    return draws


def errors_by_method(draws):
    """Mean squared errors of the draws of a method: mean, median and the middle 80 per cent."""
    keys = ["data", "n", "responses", *OF_A_METHOD, "budget", "delta"]
    grouped = draws.groupby(keys, sort=False)["mean_squared_error"]
    found = grouped.quantile([0.1, 0.5, 0.9]).unstack()
    found.columns = ["tenth", "median", "nine_tenths"]
    return found.assign(mean=grouped.mean(), draws=grouped.size()).reset_index()
