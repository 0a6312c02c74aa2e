"""Tables of private Frechet means of simulated data: a function for each kind."""

import numpy as np
import pandas as pd

from geodp.audit.mean_losses import gradient_losses, losses_by_form, problems_of_neighbours
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.spd import SPD
from geodp.manifolds.symmetric_matrices import symmetric_eigenvalues
from geodp.mechanisms.mean_noise import PrivateMedian, PrivateSteps
from geodp.mechanisms.means import MeanProblem, ambient_radius, embed
from geodp.mechanisms.registry import mechanism_class
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Distance
from geodp.models.sensitivity import convexity, largest_change_of_logs, mean_sensitivity
from geodp.randomness import random_stream
from geodp.settings.shared_sections import public_centre
from reproduction.models import study_manifold


def pole(manifold):
    """Centre of the balls of simulated data: the identity, or the last of the axes."""
    return public_centre(manifold, "anywhere")


def in_ball(rng, manifold, radius, shape):
    """Points (*shape, *point_shape) of the papers' distributions in a ball about the `pole`.

    Of SPD matrices those of Wishart with mean I and as many degrees of freedom as rows, drawn again
    where they are outside; of a sphere, points in uniform directions at uniform distances
    (Reimherr, Bharath and Soto, A.2 and A.3).
    """
    if not isinstance(manifold, SPD):
        poles = np.broadcast_to(pole(manifold), (*shape, *manifold.point_shape))
        lengths = rng.uniform(0.0, radius, shape)
        return manifold.exp(poles, manifold.expand(lengths) * manifold.random_direction(rng, poles))
    size, wanted = manifold.size, int(np.prod(shape))
    kept: list = []
    while sum(map(len, kept)) < wanted:
        factors = rng.standard_normal((2 * wanted, size, size))
        # The smallest may be zero or less in rounding, and such a matrix is outside of any ball.
        matrices = factors @ np.swapaxes(factors, -1, -2) / size
        values = np.maximum(symmetric_eigenvalues(matrices), np.finfo(float).tiny)
        kept.append(matrices[np.linalg.norm(np.log(values), axis=-1) < radius])
    return np.concatenate(kept)[:wanted].reshape((*shape, size, size))


def contaminated(rng, manifold, centre, radius, shape, share):
    """Points near a centre, of which a share lies about another place at 0.7 of the radius.

    An ndarray of shape (data_sets, n, *point_shape).  Records scatter within a quarter of the
    radius, and the share of each data set is rounded down to whole ones.
    """
    outlying = manifold.exp(
        centre, 0.7 * radius * manifold.tangent(centre, np.eye(manifold.dim)[0])
    )
    moved = manifold.expand(np.broadcast_to(np.arange(shape[1]) < int(share * shape[1]), shape))
    start = np.where(moved, outlying, centre)
    lengths = manifold.expand(0.25 * radius * rng.random(shape))
    return manifold.exp(start, lengths * manifold.random_direction(rng, start))


def _told(job):
    """Settings of a table, its space, and columns that name this."""
    chosen = job.params.settings
    manifold = study_manifold(chosen["manifold"])
    return chosen, manifold, {"space": chosen["space"], "manifold": manifold.name}


def private_means(job):
    """Errors of private means, a row a mechanism, size and data set.

    ``distance`` is the mean over draws from the data set, or has a formula, where ``is_exact``.
    """
    (chosen, manifold, common), parts = _told(job), []
    for number in sorted(chosen["n"]):
        streams = (job.params.seed, "means", chosen["space"], f"n{number}")
        shape = (chosen["replicates"], number)
        points = in_ball(random_stream(*streams, "data"), manifold, chosen["radius"], shape)
        problem = MeanProblem.fitted(manifold, pole(manifold), chosen["radius"], points)
        at_mean = embed(manifold, problem.mean)
        mean_at_centre = manifold.exp(*problem.mean_of_logs(problem.centre, problem.radius))
        bias = np.linalg.norm(embed(manifold, mean_at_centre) - at_mean, axis=-1)
        for name, draws in sorted(chosen["mechanisms"].items()):
            mechanism = mechanism_class(name).of(problem)
            drawn = mechanism.many_means(random_stream(*streams, name), chosen["budget"], draws)
            away = np.linalg.norm(embed(manifold, drawn) - at_mean[:, None], axis=-1)
            expected = mechanism.expected_distance(chosen["budget"])
            columns = common | {
                "mechanism": name,
                "guarantee": mechanism.status(manifold),
                "group": f"n{number}",
                "cell": name,
                "data_set": np.arange(len(drawn)),
                "n": number,
                "budget": chosen["budget"],
                "draws": draws,
                "is_exact": expected is not None,
                "distance": np.mean(away, axis=-1) if expected is None else expected,
                # Of the mean of logarithms at the centre from the Frechet mean.
                "bias": bias if name.startswith("tangent") else np.nan,
                "outside": np.mean(_are_outside(manifold, drawn), axis=-1),
            }
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _are_outside(manifold, points):
    """Which points (..., *point_shape) of the ambient space are none of the manifold."""
    if isinstance(manifold, SPD):
        return ~manifold.are_points(points)
    # Up to rounding: noise may come nearer to a sphere than records in a file need to be.
    return np.abs(np.linalg.norm(points, axis=-1) - 1.0) > 1e-12


def means_of_neighbours(job):
    """Means of random neighbours, the first record left out or the last; a row a pair."""
    (chosen, manifold, common), parts = _told(job), []
    radius, model = chosen["radius"], GeodesicModel(manifold, 0)
    for number in sorted(chosen["n"]):
        rng = random_stream(job.params.seed, "means", chosen["space"], f"n{number}", "neighbours")
        points = in_ball(rng, manifold, radius, (chosen["pairs"], number + 1))
        means = [
            MeanProblem.fitted(manifold, None, None, each).mean
            for each in (points[:, 1:], points[:, :-1])
        ]
        moved, bound = manifold.dist(*means), mean_sensitivity(model, number, radius)
        first, second = (embed(manifold, each) for each in means)
        columns = common | {
            "n": number,
            "pair": np.arange(len(moved)),
            "moved": moved,
            "bound": bound,
            "moved_over_bound": moved / bound,
            "iterations": iterations(model, points),
            "ambient_moved": np.linalg.norm(first - second, axis=-1),
            "ambient_bound": 2.0 * ambient_radius(manifold, radius) / number,
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def iterations(model, points, step=0.5, enough=1e-5, most=500):
    """Numbers of steps (data_sets,) from the first record until the gradient is short enough.

    Source: Soto et al., supplement 2.1.
    """
    manifold, [block] = model.manifold, model.blocks
    at, taken = points[:, 0], np.zeros(len(points), dtype=int)
    for _ in range(most):
        gradient = model.energy_gradient({block: at}, None, points).gradient[block]
        far = manifold.norm(at, gradient) > enough
        if not np.any(far):
            break
        at = manifold.exp(at, -step * gradient)
        taken += far
    return taken


def mean_losses(job):
    """Largest privacy losses that are found between neighbours, by size, mechanism and support."""
    (chosen, manifold, common), rows = _told(job), []
    radius, budget = chosen["radius"], chosen["budget"]
    for number in chosen["n"]:
        problems = problems_of_neighbours(manifold, pole(manifold), radius, number)
        found = {(name, ""): each for name, each in losses_by_form(problems, budget).items()}
        if ("kng", "") in found:
            # The paper states no support.
            found["kng", "twice the ball"] = found.pop(("kng", ""))
            for words, ball in (("the ball", radius), ("anywhere", np.pi)):
                found["kng", words] = gradient_losses(problems, budget, ball)
        for (name, support), each in found.items():
            status, loss = mechanism_class(name).status(manifold), float(np.max(each))
            row = {"mechanism": name, "guarantee": status, "support": support, "n": number}
            row |= {"budget": budget, "loss": loss, "loss_over_stated": loss / budget}
            rows.append(common | row)
    return pd.DataFrame(rows)


def sensitivity_bounds(job):
    """Changes of a logarithm on the sphere, a row a radius.

    Without curvature, the largest on a grid, and the bound of theorem 2.
    """
    manifold, number = study_manifold(job.params.settings["manifold"]), job.params.settings["radii"]
    radii = 0.25 * np.pi * np.arange(1, number + 1) / (number + 1)
    largest = np.array([largest_change_of_logs(manifold, radius) for radius in radii])
    flat, bound = 2.0 * radii, [2.0 * r * (2.0 - convexity(manifold, r)) for r in radii]
    columns = {"without_curvature": flat, "largest_on_grid": largest, "bound": bound}
    ratios = {"over_flat": largest / flat, "over_bound": largest / bound}
    return pd.DataFrame({"manifold": manifold.name, "radius": radii} | columns | ratios)


def mean_medians(job):
    """Means and medians of data with outliers, private and not, a row a share and estimate."""
    (chosen, manifold, common), rows = _told(job), []
    radius, budget = chosen["radius"], chosen["budget"]
    streams = (job.params.seed, "means", "medians", chosen["space"])
    if isinstance(manifold, KendallPlanarShapes):
        centre = manifold.random_point(random_stream(*streams, "centre"))
    else:
        centre = pole(manifold)
    # As if somebody had told the public ball a little wrong.
    direction = manifold.random_direction(random_stream(*streams, "ball"), centre)
    told = manifold.exp(centre, 0.1 * radius * direction)
    median, shape = GeodesicModel(manifold, 0, Distance()), (chosen["replicates"], chosen["n"])
    for share in chosen["outliers"]:
        streamed = [random_stream(*streams, f"{share:g}", k) for k in ("data", "mean", "median")]
        points = contaminated(streamed[0], manifold, centre, radius, shape, share)
        problem = MeanProblem.fitted(manifold, told, 1.1 * radius, points)
        found = {
            "mean": problem.mean,
            "median": median.fit(None, points).footpoint,
            "private mean": PrivateSteps.of(problem).private_means(streamed[1], budget),
            "private median": PrivateMedian.of(problem).private_means(streamed[2], budget),
        }
        for name, places in found.items():
            away = manifold.dist(centre, places)
            low, high = np.quantile(away, (0.1, 0.9)) / radius
            row = {"estimate": name, "n": chosen["n"]}
            row |= {"budget": budget if name.startswith("private") else np.nan, "outliers": share}
            row |= {"over_radius": np.mean(away) / radius, "low": low, "high": high}
            rows.append(common | row | {"data_sets": len(away)})
    return pd.DataFrame(rows)
