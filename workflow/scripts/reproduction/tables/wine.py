"""Regression lines of red wine data (Kulkarni and Soto, first version, Table 1 and Figure 4).

Four standardised responses on alcohol: the paper names the responses alone.  The published
mechanism has its covariate on several scales.  In flat space both of its densities are
``exp(-|z| / s)`` about a point, and need no support: the gradient for the footpoint at the fitted
vector is ``p - p_hat``, and that for the vector at a footpoint is its distance from the best vector
there, times the mean of the squared covariates.
"""

import numpy as np
import pandas as pd

from geodp.errors import DataError
from geodp.randomness import random_stream
from geodp.samplers.riemannian_laplace import euclidean_laplace

PUBLISHED = "geodesic_as_published"

# Scale of the covariate by method.
SCALES = {
    "least_squares": "from 0 to 1",
    PUBLISHED: "from 0 to 1",
    f"{PUBLISHED}_standardised": "standardised",
    f"{PUBLISHED}_measured": "as measured",
}


def wine(job):
    """A row a draw; a row a setting of DP-SGD; or a row a line and value of the covariate."""
    made = {"draws": draws, "settings": settings_of_sgd, "lines": lines}
    return made[job.params.settings["rows"]](job)


def records(settings, path, scale):
    """Covariate (n,) on a scale and standardised responses (n, m) of a table of red wine."""
    frame = pd.read_csv(path, sep=";")
    missing = {settings["covariate"], *settings["responses"]} - set(frame)
    if missing:
        raise DataError(f"{path}: there is no column {', '.join(sorted(missing))}: add it")
    x = frame[settings["covariate"]].to_numpy(dtype=float)
    y = frame[settings["responses"]].to_numpy(dtype=float)
    start, unit = {
        "from 0 to 1": (x.min(), np.ptp(x)),
        "standardised": (x.mean(), x.std()),
        "as measured": (0.0, 1.0),
    }[scale]
    return (x - start) / unit, (y - y.mean(axis=0)) / y.std(axis=0)


def fitted(job, method, budget):
    """Covariate, responses and lines (draws, 2, m) of a method at a budget."""
    settings = job.params.settings
    x, y = records(settings, job.input.files[0], SCALES[method])
    design = np.column_stack([np.ones_like(x), x])
    line = np.linalg.lstsq(design.T @ design, design.T @ y, rcond=None)[0]
    if method == "least_squares":
        return x, y, line[None]
    rng = random_stream(job.params.seed, "comparison", method, str(budget))
    square, shape = np.mean(x**2), (settings["draws"], y.shape[1])
    largest = np.linalg.norm(y - design @ line, axis=1).max()
    # Half of the budget is for each parameter.
    scale = 2.0 * largest / (len(x) * 0.5 * budget)
    footpoints = line[0] + scale * euclidean_laplace(rng, shape, 1.0)
    best = (x @ y / len(x) - np.mean(x) * footpoints) / square
    vectors = best + scale / square * euclidean_laplace(rng, shape, 1.0)
    return x, y, np.stack([footpoints, vectors], axis=1)


def draws(job):
    """Mean squared errors of draws, those of other tools as recorded, and ratios to the published.

    DP-SGD has the setting whose mean error is the median of all, or next below.  A column such as
    ``times_geodesic_as_published`` has the ratio of errors above least squares to those of the draw
    of the same number.
    """
    settings, found = job.params.settings, []
    for method in SCALES:
        for budget in settings["budgets"]:
            x, y, each = fitted(job, method, budget)
            fits = each[:, :1] + x[:, None] * each[:, 1:]
            errors = np.mean((y - fits) ** 2, axis=(1, 2))
            found.append(pd.DataFrame({"method": method, "budget": budget, "errors": errors}))
    found = pd.concat(found, ignore_index=True)
    # To the digits in which other machines agree.
    found["mean_squared_error"] = found.pop("errors").map(lambda error: float(f"{error:.6g}"))
    found["draw"] = found.groupby(["method", "budget"], sort=False).cumcount()
    common = {"n": len(x), "responses": y.shape[1], "covariate": settings["covariate"]}
    found = found.assign(seed=job.params.seed, delta=settings["delta"], **common)
    # What recorded lines of other tools have in common with these.
    of_a_cell = ["n", "responses", "covariate", "delta", "budget"]
    competitors, grid = map(pd.read_csv, job.input.files[1:])
    order = settings_of_sgd(job).sort_values("mean").groupby("budget")["mean"]
    middle = grid.loc[order.apply(lambda means: means.index[(len(means) - 1) // 2])]
    recorded = competitors[competitors["method"].isin(settings["competitors"])]
    for table in (recorded, middle):
        numbers = [name for name in table if name.isdigit()]
        long = table.melt([*of_a_cell, "method", "seed"], numbers, "draw", "mean_squared_error")
        found = pd.concat([found, long.dropna().astype({"draw": int})], ignore_index=True)
    cells = {
        method: {*map(tuple, part[of_a_cell].to_numpy())}
        for method, part in found.groupby("method")
    }
    if other := [name for name in cells if cells[name] != cells[PUBLISHED]]:
        raise DataError(
            f"lines of {', '.join(other)} are of other data or budgets than those of {PUBLISHED}: "
            "make those below resources/recorded again, as resources/README.md says"
        )
    found = found.assign(data="red wine", group="red wine")
    found["cell"] = found["method"] + ", " + found["budget"].map("{:g}".format)
    keys, error = ["budget", "draw"], "mean_squared_error"
    above = found[error] - found.loc[found["method"] == "least_squares", error].iloc[0]
    for name in list(SCALES)[1:]:
        its = found[keys].assign(above=above)[found["method"] == name].set_index(keys)
        found[f"times_{name}"] = above / found[keys].join(its, on=keys)["above"]
    rows = ["data", "n", "budget", "method", "seed", "draw", error, "group", "cell"]
    return found[rows + [name for name in found if name.startswith("times_")]]


def settings_of_sgd(job):
    """Mean, and 5 and 95 per cent points, of the recorded errors of DP-SGD: a row a setting."""
    grid = pd.read_csv(job.input.files[-1])
    numbers = [name for name in grid if name.isdigit()]
    errors = grid[numbers].to_numpy()
    found = grid.drop(columns=numbers).assign(draws=len(numbers), mean=errors.mean(axis=1))
    # A number between these has 5 to 95 per cent of the draws at or below it.
    found["low"] = np.quantile(errors, 0.05, axis=1, method="lower")
    found["high"] = np.quantile(errors, 0.95, axis=1, method="higher")
    return found.assign(setting=found.groupby("budget", sort=False).cumcount())


def lines(job, budget=2.0):
    """First draw of a method, and the middle 80 % of its draws, at each value of the covariate.

    In the units of the table, at the budget that claims count.  Records stand among them.
    """
    settings = job.params.settings
    frame = pd.read_csv(job.input.files[0], sep=";")
    covariate, places = np.unique(frame[settings["covariate"]], return_index=True)
    found = []
    for response in settings["responses"]:
        columns = {"covariate": frame[settings["covariate"]], "line": frame[response]}
        found.append(pd.DataFrame(columns).assign(response=response, method="record", draws=1))
    for method in ("least_squares", PUBLISHED, f"{PUBLISHED}_standardised"):
        x, _, each = fitted(job, method, budget)
        for j, response in enumerate(settings["responses"]):
            of = frame[response].to_numpy()
            y = of.mean() + of.std() * (each[:, :1, j] + x[places] * each[:, 1:, j])
            low, high = np.quantile(y, (0.1, 0.9), axis=0)
            values = {"covariate": covariate, "line": y[0], "low": low, "high": high}
            values |= {"response": response, "method": method, "draws": len(each)}
            found.append(pd.DataFrame(values))
    return pd.concat(found, ignore_index=True).assign(budget=budget, name=settings["covariate"])
