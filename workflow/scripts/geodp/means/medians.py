"""Private geometric medians, and data with outliers that tell a median from a mean."""

import numpy as np

from geodp.means.mechanisms import MeanProblem, noisy_mean_of_logs, within
from geodp.models.blocks import FOOTPOINT

# Steps of a private median; of each, the share of its budget for the weights; and the length beyond
# which a record pulls no more strongly, as a share of the ball's radius.
STEPS, FOR_WEIGHTS, CLIP = 4, 0.2, 0.1


def contaminated(rng, manifold, centre, radius, shape, share):
    """Points near a centre, of which a share lies about another place.

    Parameters
    ----------
    rng : numpy.random.Generator
    manifold : Manifold
    centre : ndarray, shape point_shape
    radius : float
        Of the ball.  Records scatter within a quarter of it, about the centre or about a place at
        0.7 of it.
    shape : tuple of int
        Data sets, and records of each.
    share : float
        Of the records, rounded down to whole ones.

    Returns
    -------
    ndarray, shape (*shape, *point_shape)
    """
    outlying = manifold.exp(
        centre, 0.7 * radius * manifold.tangent(centre, np.eye(manifold.dim)[0])
    )
    moved = manifold.expand(np.broadcast_to(np.arange(shape[1]) < int(share * shape[1]), shape))
    start = np.where(moved, outlying, centre)
    lengths = manifold.expand(0.25 * radius * rng.random(shape))
    return manifold.exp(start, lengths * manifold.random_direction(rng, start))


def private_median(rng, problem: MeanProblem, budget):
    """Private steps towards a median: clipped logarithms over their mean weight.

    A record farther than a tenth of the ball's radius pulls with the same strength wherever it is,
    so that the steps lead to the minimum of Huber's loss, next to the geometric median.  A step
    releases the mean of the clipped logarithms, which moves by ``2 clip / n``, and that of the
    weights, which moves by ``1 / n``; budgets add.  Nothing is assumed of the data.

    Returns
    -------
    ndarray, shape (data_sets, *point_shape)
    """
    manifold, radius = problem.manifold, problem.radius
    clip, each = CLIP * radius, budget / STEPS
    at = np.broadcast_to(problem.centre, problem.mean.shape)
    covariates = np.zeros((*problem.points.shape[:2], 0))
    for _ in range(STEPS):
        at, step = noisy_mean_of_logs(rng, problem, at, clip, (1.0 - FOR_WEIGHTS) * each)
        away = problem.model.residual_distances({FOOTPOINT: at}, covariates, problem.points)
        weights = np.mean(np.minimum(1.0, clip / np.maximum(away, clip)), axis=-1)
        scale = 1.0 / (problem.number * FOR_WEIGHTS * each)
        weights = weights + rng.laplace(scale=scale, size=weights.shape)
        # No record of the ball is farther than twice its radius.
        weights = np.clip(weights, 0.5 * CLIP, 1.0)
        at = manifold.exp(at, within(manifold, at, step / manifold.expand(weights), radius))
    return at
