"""TukeyEM: a deep point among the models of many small parts of the data.

Amin, Joseph, Ribero and Vassilvitskii, *Easy differentially private linear regression* (ICLR 2023).
Depth is taken coordinate by coordinate, so that points of at least some depth are a box.  Half of
the budget tests whether neighbours have boxes of much the same volumes; the other half chooses a
depth.  Where the test fails, the line is zero.
"""

import numpy as np

# Models of a fit, if the records suffice: the paper finds about this many enough.
MODELS = 1000

# With fewer the test fails at any usual budget.
FEWEST_MODELS = 100


def takes(n, k):
    """Whether the records suffice for the fewest models."""
    return n // k >= FEWEST_MODELS


def fit(problem, budget, rng):
    """Line of one response; (eps, delta)-private for one record added or removed."""
    x, y = problem.design, problem.responses[:, 0]
    models = np.sort(_models(x, y, min(MODELS, len(x) // x.shape[1]), rng).T, axis=1)
    half = budget.epsilon / 2.0
    volumes = log_volumes(models)
    depth = len(volumes) // 2
    distance = safe_distance(volumes, half, budget.delta, depth)
    if distance + rng.laplace(scale=1.0 / half) <= np.log(0.5 / budget.delta) / half:
        return problem.line(np.zeros(x.shape[1]))
    # Depths from the restriction on, each by the volume of its shell.
    kept = volumes[depth - 1 :]
    shells = kept + np.log1p(-np.exp(np.minimum(np.append(np.diff(kept), -np.inf), 0.0)))
    scores = shells + half * np.arange(len(kept))
    chosen = depth + int(np.argmax(scores + rng.gumbel(size=len(scores))))
    return problem.line(_point_of_depth(models, chosen, rng))


def _models(x, y, number, rng):
    """Least squares of disjoint parts of the records, (number, k)."""
    k = x.shape[1]
    size = len(x) // number
    rows = rng.permutation(len(x))[: number * size].reshape(number, size)
    parts = x[rows]
    solved = np.linalg.pinv(parts) @ y[rows][..., None]
    # Ties would make boxes of no volume.
    return solved.reshape(number, k) + 1e-10 * rng.random((number, k))


def log_volumes(models):
    """Logarithms of the volumes of the boxes of depth at least 1, 2, ..., by sorted coordinates.

    Parameters
    ----------
    models : ndarray, shape (k, m)

    Returns
    -------
    ndarray, shape (m // 2,)
    """
    half = models.shape[1] // 2
    with np.errstate(divide="ignore"):
        return np.sum(np.log(models[:, ::-1][:, :half] - models[:, :half]), axis=0)


def safe_distance(volumes, epsilon, delta, depth):
    """How many models can surely change before boxes about a depth differ too much in volume.

    The largest j for which some g > 0 has
    ``V[depth - j - 1] / V[depth + j + g + 1] exp(-epsilon g / 2) <= delta / (8 exp(epsilon))``,
    where V are the volumes by depth; -1 if there is none.
    """
    limit = np.log(delta / 8.0) - epsilon
    for j in range(depth - 2, -1, -1):
        deeper = volumes[depth + j + 1 :]
        gaps = np.arange(1, len(deeper) + 1)
        if len(deeper) and np.min(volumes[depth - j - 2] - deeper - 0.5 * epsilon * gaps) <= limit:
            return j
    return -1


def _point_of_depth(models, depth, rng):
    """A uniform point of exactly this depth, by rejection from the box of at least this depth."""
    outer = models[:, depth - 1], models[:, -depth]
    if depth >= models.shape[1] // 2:
        return rng.uniform(*outer)
    low, high = models[:, depth], models[:, -depth - 1]
    while True:
        point = rng.uniform(*outer)
        if np.any((point < low) | (point > high)):
            return point
