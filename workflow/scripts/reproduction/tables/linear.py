"""Tables of linear and quantile regression and of locations: a function for each kind.

Simulated as Reimherr and Awan do, sections 4.1 to 4.5.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from geodp.linear.l1_ball import project
from geodp.linear.least_squares import (
    Exponential,
    Gradient,
    LeastSquares,
    cube_noise,
    draw,
    perturb_objective,
)
from geodp.linear.pinball import GradientScore, LossScore, MedianScore, Pinball, smoothing_bandwidth
from geodp.linear.plane import chains
from geodp.linear.quantiles import draw_quantiles, log_density
from geodp.linear.simulated_moments import Moments, record_chunks, simulate_moments
from geodp.manifolds.euclidean import Euclidean
from geodp.mechanisms.mechanism import FALSE, NONE, PROVED
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Distance
from geodp.randomness import random_stream
from reproduction.diagnostics import effective_size

# Coefficients of linear regression, the first that of the constant, and of median regression; and
# the l1 norm B that those of fits may have.
TRUTH, TRUTH_OF_MEDIANS = np.append(0.0, -1.0 + 2.0 * np.arange(11) / 11), np.array([0.0, -1.0])
BOUND = 1.0


def _beside_non_private(table):
    """Errors beside those without privacy, which come first for each size and data set."""
    first = table.groupby(["n", "data_set"])["distance"].transform("first")
    # The divisor of the responses is read off the data.
    return table.assign(
        guarantee=np.where(table["mechanism"] == "non_private", NONE, FALSE),
        group="n" + table["n"].astype(str),
        cell=table["mechanism"],
        log_over_non_private=np.log(table["distance"] / first),
    )


def linear_errors(job):
    """Errors of linear regression, a row a mechanism and data set."""
    chosen, key = job.params.settings, (job.params.seed, job.params.study)
    budget = chosen["budget"]
    places = list(product(sorted(chosen["n"]), range(chosen["replicates"])))
    # The fastest generator of NumPy: as configured, over 10^9 records are simulated.
    streams = (random_stream(*key, f"n{n}", f"{each}", bits=np.random.SFC64) for n, each in places)
    made = Parallel(job.threads)(
        delayed(simulate_moments)(rng, TRUTH, n)
        for rng, (n, _) in zip(streams, places, strict=True)
    )
    found = Moments(*map(np.concatenate, zip(*(vars(each).values() for each in made), strict=True)))
    problem = LeastSquares(found.scaled(), BOUND)
    rng = random_stream(*key, "objective_perturbation")
    perturbed = perturb_objective(rng, problem, budget)
    estimates = {"non_private": problem.fit, "objective_perturbation": perturbed}
    mechanisms = {
        "exponential": Exponential.at(budget, BOUND),
        "kng_as_printed": Gradient.as_printed(budget, BOUND),
        "kng": Gradient.at(budget, BOUND),
    }
    for name, mechanism in mechanisms.items():
        estimates[name] = draw(random_stream(*key, name), problem, mechanism)
    # Truth and fit lie outside of the ball where the largest response is small.
    in_ball = (np.sum(np.abs(TRUTH)) <= BOUND * found.largest) * 1
    rows = pd.DataFrame(places, columns=["n", "data_set"]).assign(truth_in_ball=in_ball)
    tables = {}
    for name, theta in estimates.items():
        distance = np.linalg.norm(found.largest[:, None] * theta - TRUTH, axis=-1)
        noise = np.linalg.norm(theta - problem.fit, axis=-1)
        tables[name] = rows.assign(distance=distance, noise=noise, budget=budget)
    table = pd.concat(tables, names=["mechanism", "row"])
    return _beside_non_private(table.reset_index("mechanism"))


def _draw_in_plane(rng, score, centre, bound, number=4, states=100):
    """A draw in the plane, and the smallest effective sample size of its chains.

    The last state of the first chain is the draw; the others say how well chains mix.
    """
    places, values = chains(rng, score, centre, bound, number, states)
    traces = {"score": values, "first": places[..., 0], "second": places[..., 1]}
    return places[0, -1], effective_size(traces)


def quantile_errors(job):
    """Errors of median regression, a row a mechanism and data set."""
    chosen, key = job.params.settings, (job.params.seed, job.params.study)
    made = Parallel(job.threads)(
        delayed(_errors_of_medians)(key, chosen["budget"], *place)
        for place in product(chosen["n"], range(chosen["replicates"]))
    )
    table = _beside_non_private(pd.concat(made, ignore_index=True))
    return table.sort_values(["n", "mechanism", "data_set"], kind="stable")


def _errors_of_medians(key, budget, number, data_set):
    key, truth = (*key, f"n{number}", f"{data_set}"), TRUTH_OF_MEDIANS
    chunks = record_chunks(random_stream(*key, "data"), truth, number)
    *covariates, responses = np.concatenate([chunk.copy() for chunk in chunks], axis=1)
    largest = np.max(np.abs(responses))
    records = Pinball(np.column_stack(covariates), responses / largest, tau=0.5)
    smoothed = replace(records, bandwidth=smoothing_bandwidth(number, len(truth)) / largest)
    scores = {
        "exponential": LossScore.at(records, budget, BOUND),
        "exponential_sharp": LossScore.at(records, budget, BOUND, sharp=True),
        "kng": GradientScore.at(records, budget),
        "kng_smoothed": GradientScore.at(smoothed, budget),
    }
    fit = records.fit()
    found = {"non_private": (fit, np.nan)}
    for name, score in scores.items():
        rng = random_stream(*key, name)
        found[name] = _draw_in_plane(rng, score, project(fit, BOUND), BOUND)
    thetas, sizes = (np.array(each) for each in zip(*found.values(), strict=True))
    columns = {
        "mechanism": list(found),
        "distance": np.linalg.norm(largest * thetas - truth, axis=-1),
        "noise": np.linalg.norm(thetas - fit, axis=-1),
        "effective_size": sizes,
    }
    return pd.DataFrame(columns).assign(n=number, data_set=data_set, budget=budget)


def location_errors(job):
    """Noise of private means, medians and geometric medians, a row a mechanism and data set."""
    chosen, tables = job.params.settings, []
    for number in chosen["n"]:
        key = (job.params.seed, job.params.study, f"n{number}")
        shape = (chosen["replicates"], number, 2)
        # Records are clipped to the unit square.
        points = 0.3 * random_stream(*key, "data").standard_normal(shape)
        found = _locations(key, np.clip(points, -1.0, 1.0), chosen["budget"])
        for name, (estimate, private, size) in found.items():
            columns = {
                **{"mechanism": name, "cell": name, "guarantee": PROVED, "n": number},
                **{"group": f"n{number}", "data_set": np.arange(len(points))},
                "budget": chosen["budget"],
                "noise": np.linalg.norm(private - estimate, axis=-1),
                # The distributions are symmetric about the origin.
                "distance": np.linalg.norm(private, axis=-1),
                "non_private_distance": np.linalg.norm(estimate, axis=-1),
                "effective_size": size,
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def _locations(key, points, budget):
    """Estimates, private ones (data_sets, d) and effective sample sizes, by mechanism."""
    mean, first, number = np.mean(points, axis=1), points[..., 0], points.shape[1]
    # The sum of squares has the gradient 2 n (theta - mean), of sensitivity 4.
    noise = cube_noise(random_stream(*key, "mean"), mean.shape, 0.25 * number * budget)
    # Of a median the sensitivity is 1, as published.
    median = draw_quantiles(random_stream(*key, "median"), first, 0.5, budget, 1.0, 1.0)
    fit = GeodesicModel(Euclidean(2), 0, Distance()).fit(None, points).footpoint
    rng = random_stream(*key, "geometric_median")
    # The square of the records lies in the ball of this bound.
    drawn = [
        _draw_in_plane(rng, MedianScore(records, 0.25 * budget), centre, 2.0)
        for records, centre in zip(points, fit, strict=True)
    ]
    private, sizes = map(np.array, zip(*drawn, strict=True))
    return {
        "mean": (mean, mean + noise, np.nan),
        "median": (np.median(first, axis=-1)[:, None], median[:, None], np.nan),
        "geometric_median": (fit, private, sizes),
    }


def errors_by_size(job):
    """Mean distances to the truth over data sets, a row an estimate and size.

    Standard errors of logarithms are those of a mean over the mean; with base 10 they are in the
    units of the figure's axis.
    """
    errors = pd.read_csv(job.input.errors)
    grouped = errors.groupby(["mechanism", "guarantee", "budget", "n"], sort=False)
    found = grouped["distance"].agg(mean="mean", standard_error="sem", data_sets="size")
    found["standard_error_log"] = found["standard_error"] / found["mean"]
    found["standard_error_log10"] = found["standard_error_log"] / np.log(10.0)
    # An error without privacy is no mechanism's.
    return found.reset_index().rename(columns={"mechanism": "estimate"})


def quantile_losses(job):
    """Realised over stated privacy losses of private quantiles: as published, and as proved."""
    chosen, rows = job.params.settings, []
    for tau in chosen["tau"]:
        # As published it is too small above the median: one record moves the number of those below
        # a point by one (and a regression on |x| <= 1 by 2 max(tau, 1 - tau)).
        stated = {"private_quantile": 2.0 * (1.0 - tau), "private_quantile_proved": 1.0}
        for name, sensitivity in stated.items():
            row = {"mechanism": name, "guarantee": PROVED if sensitivity >= 1.0 else FALSE}
            loss = _realised_loss(tau, chosen["budget"], chosen["n"], sensitivity)
            row |= {"tau": tau, "n": chosen["n"], "budget": chosen["budget"], "loss": loss}
            rows.append(row | {"loss_over_stated": loss / chosen["budget"]})
    return pd.DataFrame(rows)


def _realised_loss(tau, budget, number, sensitivity):
    """Largest difference of log densities that a search over neighbours finds, exactly computed.

    Some records lie at -1, some at 1 and one next to -1; of the neighbour one of the first has
    moved to 1.  So the count of records below a point moves away from ``n tau`` where little of the
    mass is and towards it where most is.
    """
    losses = []
    for low in range(1, number - 1):
        for inner in (-1.0 + 1e-9, 0.0, 1.0 - 1e-9):
            first = np.r_[np.full(low, -1.0), inner, np.full(number - low - 1, 1.0)]
            middles = np.array([0.5 * (inner - 1.0), 0.5 * (inner + 1.0)])
            one, other = (
                log_density(values, tau, budget, 1.0, sensitivity, middles)
                for values in (first, np.r_[1.0, first[1:]])
            )
            losses.append(np.max(np.abs(one - other)))
    return float(max(losses))
