"""Three simulated cohorts of manifold-valued measurements, each with its known truth.

From a number of subjects and a generator to covariates, points, and the truth: a function of
covariates (m, k) to points, the residual scale and R^2.
"""

import numpy as np
from scipy.linalg import expm, sqrtm
from scipy.stats import beta, truncnorm


def clumps(low, high, weights, centres, widths, subjects, rng):
    """A value a subject of a mixture of normal clumps, truncated; its mean and variance."""
    clump = rng.choice(len(weights), size=subjects, p=weights)
    weights, centres, widths = map(np.array, (weights, centres, widths))
    ends = (low - centres) / widths, (high - centres) / widths
    means, variances = truncnorm.stats(*ends, loc=centres, scale=widths, moments="mv")
    mean = weights @ means
    of_each = {"loc": centres[clump], "scale": widths[clump], "random_state": rng}
    values = truncnorm.rvs(*(end[clump] for end in ends), **of_each)
    return np.clip(values, low, high), mean, weights @ (variances + (means - mean) ** 2)


def unit_vector(size, rng):
    """A uniformly random direction in a flat space."""
    vector = rng.standard_normal(size)
    return vector / np.linalg.norm(vector)


def slope_length(r_squared, residual_scale, size, variance):
    """The length a slope must have to explain a given share of the variance."""
    return np.sqrt(size * r_squared / (1 - r_squared) / variance) * residual_scale


def sphere_exp(points, vectors):
    """Follow geodesics of a sphere from points along tangent vectors."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    moved = np.cos(lengths) * points + np.sinc(lengths / np.pi) * vectors
    return moved / np.linalg.norm(moved, axis=-1, keepdims=True)


def spd_exp(point, coordinates):
    """Move from an SPD(2) matrix along tangent vectors given in an orthonormal frame."""
    frame = np.array([[[1, 0], [0, 1]], [[1, 0], [0, -1]], [[0, 1], [1, 0]]]) / np.sqrt(2)
    root = sqrtm(point)
    moved = root @ expm(np.tensordot(coordinates, frame, axes=1)) @ root
    return (moved + np.swapaxes(moved, -1, -2)) / 2


def gaze(subjects, rng, shape=(1.2, 4.5), explained=0.35, growth=1.5):
    """Gaze directions of mostly young subjects, more scattered in the old."""
    low, width = 18.0, 77.0
    share = beta.rvs(*shape, size=subjects, random_state=rng)
    mean_share, share_variance = beta.stats(*shape)
    mean_age, age_variance = low + width * mean_share, width**2 * share_variance
    scale = rng.uniform(0.15, 0.25)
    base = unit_vector(3, rng)
    slope = np.cross(base, unit_vector(3, rng))
    slope *= slope_length(explained, scale, 2, age_variance) / np.linalg.norm(slope)

    def predict(covariates):
        return sphere_exp(base, (covariates[:, :1] - mean_age) * slope)

    covariates = (low + width * share)[:, None]
    predictions = predict(covariates)
    mean_square = (1 + growth * mean_share) ** 2 + growth**2 * share_variance
    scatter = scale * (1 + growth * share) / np.sqrt(mean_square)
    residuals = scatter[:, None] * rng.standard_normal((subjects, 3))
    residuals -= np.sum(residuals * predictions, axis=1, keepdims=True) * predictions
    return covariates, sphere_exp(predictions, residuals), (predict, scale, explained)


def tensors(subjects, rng):
    """Diffusion tensors that do not change with time and scatter unequally by direction."""
    visits = (0.45, 0.35, 0.2), (2.0, 8.0, 48.0), (0.8, 1.5, 2.5)
    weeks, _, _ = clumps(0.0, 52.0, *visits, subjects, rng)
    offset = rng.uniform(0.6, 1.1) * unit_vector(3, rng)
    base = spd_exp(np.diag([1.2, 0.6]), offset)
    spreads = rng.uniform(0.8, 1.2) * np.array([0.40, 0.20, 0.08])
    axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    residuals = (spreads * rng.standard_normal((subjects, 3))) @ axes.T
    truth = (lambda x: np.tile(base, (len(x), 1, 1))), np.sqrt(np.mean(spreads**2)), 0.0
    return weeks[:, None], spd_exp(base, residuals), truth


def pressures(subjects, rng, explained=0.3, freedom=5.0, outliers=0.03):
    """Heavy-tailed blood pressures that follow age but not treatment, with outliers."""
    groups = (0.45, 0.2, 0.35), (24.0, 45.0, 67.0), (3.0, 4.0, 4.0)
    ages, mean_age, age_variance = clumps(18.0, 80.0, *groups, subjects, rng)
    treated = rng.random(subjects) < 0.3 + 0.004 * (ages - mean_age)
    spreads = rng.uniform(0.85, 1.15) * np.array([12.0, 7.0])
    scale = np.sqrt(np.mean(spreads**2))
    base = np.array([120.0, 80.0]) + rng.uniform(8, 20) * unit_vector(2, rng)
    slope = slope_length(explained, scale, 2, age_variance) * unit_vector(2, rng)

    def predict(covariates):
        return base + (covariates[:, :1] - mean_age) * slope

    root = np.linalg.cholesky([[1.0, 0.6], [0.6, 1.0]])
    residuals = rng.standard_normal((subjects, 2)) @ root.T
    stretch = rng.chisquare(freedom, size=(subjects, 1))
    residuals *= spreads * np.sqrt((freedom - 2) / stretch)
    wrong = rng.permutation(subjects)[: round(outliers * subjects)]
    angles = rng.uniform(0, 2 * np.pi, size=len(wrong))
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    residuals[wrong] = rng.uniform(4, 6, size=(len(wrong), 1)) * spreads * directions
    covariates = np.column_stack([ages, treated.astype(float)])
    return covariates, predict(covariates) + residuals, (predict, scale, explained)
