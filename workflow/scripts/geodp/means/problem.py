"""Data sets in a public ball with their Frechet means, and the clipped steps that lead to these."""

from dataclasses import dataclass, replace

import numpy as np

from geodp.errors import DataError
from geodp.means.ambient import euclidean_laplace
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Huber


def is_nonpositive(manifold):
    """Whether no curvature is positive."""
    return manifold.curvature_bounds[1] <= 0.0


@dataclass(frozen=True)
class MeanProblem:
    """Data sets in a public ball, and their means."""

    model: GeodesicModel  # Without covariates, least squares.
    centre: np.ndarray  # Of shape point_shape, or that of the means.
    radius: float  # Of the public ball.
    points: np.ndarray  # (data_sets, n, *point_shape)
    # (data_sets, *point_shape), or (data_sets, draws, *point_shape) for several draws each.
    mean: np.ndarray

    @property
    def manifold(self):
        """Where the data lie."""
        return self.model.manifold

    @property
    def number(self):
        """Records of a data set."""
        return self.points.shape[1]


def fitted(manifold, centre, radius, points):
    """The `MeanProblem` of data sets; a mean that has not converged is a `DataError`."""
    model = GeodesicModel(manifold, 0)
    found = model.fit(None, points)
    if not np.all(found.converged):
        raise DataError("a Frechet mean has not converged: take data in a smaller ball")
    return MeanProblem(model, centre, radius, points, found.footpoint)


def repeated(problem, times, data_set=0):
    """The problem of one of the data sets so many times, for as many draws from it."""
    points, mean = (
        np.broadcast_to(each[data_set], (times, *each.shape[1:]))
        for each in (problem.points, problem.mean)
    )
    return replace(problem, points=points, mean=mean)


def mean_of_logs(problem, at, clip):
    """Given points as an array of all data sets', and the mean there of clipped logarithms."""
    base = np.broadcast_to(at, problem.mean.shape)
    # Clipped logarithms are gradients of Huber's loss.
    model = GeodesicModel(problem.manifold, 0, Huber(clip))
    [block] = model.blocks
    return base, -model.energy_gradient({block: base}, None, problem.points).gradient[block]


def tangent_laplace(rng, manifold, base, scale):
    """Vectors of a Laplace distribution in the tangent space at each point."""
    shape = (*manifold.batch_shape(base), manifold.dim)
    return manifold.tangent(base, euclidean_laplace(rng, shape, scale))


def noisy_mean_of_logs(rng, problem, at, clip, budget):
    """The same as `mean_of_logs` with the noise of a K-norm mechanism."""
    base, mean = mean_of_logs(problem, at, clip)
    scale = 2.0 * clip / (problem.number * budget)
    return base, mean + tangent_laplace(rng, problem.manifold, base, scale)


def within(manifold, base, step, longest):
    """Steps, shortened if they are longer."""
    length = np.maximum(manifold.norm(base, step), np.finfo(float).tiny)
    return manifold.expand(np.minimum(1.0, longest / length)) * step
