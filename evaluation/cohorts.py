"""Three simulated cohorts of manifold-valued measurements, each with its known truth."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, truncnorm

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """What a simulated cohort was drawn from."""

    predict: Callable[[Array], Array]
    residual_scale: float
    r_squared: float


@dataclass(frozen=True)
class Cohort:
    """The public inputs of one cohort, whether it has trends, and how to draw it."""

    manifold: tuple[str, int]
    covariate_range: tuple[tuple[float, float], ...]
    centre: tuple[float, ...] | tuple[tuple[float, ...], ...] | str
    subjects: int
    epsilon: float
    trends: tuple[bool, ...]
    draw: Callable[[np.random.Generator], tuple[Array, Array, Truth]]


@dataclass(frozen=True)
class Clumps:
    """A mixture of normal clumps, each truncated to a common range."""

    low: float
    high: float
    weights: tuple[float, ...]
    centres: tuple[float, ...]
    widths: tuple[float, ...]

    def draw(self, subjects: int, rng: np.random.Generator) -> Array:
        """Draw one value for each subject."""
        clump = rng.choice(len(self.weights), size=subjects, p=self.weights)
        centre, width = np.array(self.centres)[clump], np.array(self.widths)[clump]
        ends = (self.low - centre) / width, (self.high - centre) / width
        values = truncnorm.rvs(*ends, loc=centre, scale=width, random_state=rng)
        return np.clip(values, self.low, self.high)

    def moments(self) -> tuple[float, float]:
        """Return the mean and the variance of the mixture."""
        centre, width = np.array(self.centres), np.array(self.widths)
        ends = (self.low - centre) / width, (self.high - centre) / width
        means, variances = truncnorm.stats(*ends, loc=centre, scale=width, moments="mv")
        mean = float(np.dot(self.weights, means))
        return mean, float(np.dot(self.weights, variances + (means - mean) ** 2))


def unit_vector(size: int, rng: np.random.Generator) -> Array:
    """Draw a uniformly random direction in a flat space."""
    vector = rng.standard_normal(size)
    return vector / np.linalg.norm(vector)


def slope_length(r_squared: float, residual_scale: float, size: int, variance: float) -> float:
    """Return the length a slope must have to explain a given share of the variance."""
    return float(np.sqrt(size * r_squared / (1 - r_squared) / variance) * residual_scale)


def sphere_exp(points: Array, vectors: Array) -> Array:
    """Follow geodesics of a sphere from points along tangent vectors."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    moved = np.cos(lengths) * points + np.sinc(lengths / np.pi) * vectors
    return moved / np.linalg.norm(moved, axis=-1, keepdims=True)


def spectral_map(matrices: Array, function: Callable[[Array], Array]) -> Array:
    """Apply a function to the eigenvalues of symmetric matrices."""
    values, vectors = np.linalg.eigh(matrices)
    return np.einsum("...ij,...j,...kj->...ik", vectors, function(values), vectors)


def spd_exp(point: Array, coordinates: Array) -> Array:
    """Move from an SPD(2) matrix along tangent vectors given in an orthonormal frame."""
    frame = np.array([[[1, 0], [0, 1]], [[1, 0], [0, -1]], [[0, 1], [1, 0]]]) / np.sqrt(2)
    root = spectral_map(point, np.sqrt)
    moved = root @ spectral_map(np.tensordot(coordinates, frame, axes=1), np.exp) @ root
    return (moved + np.swapaxes(moved, -1, -2)) / 2


GAZE_SUBJECTS = 1180
GAZE_AGES = (18.0, 95.0)
GAZE_AGE_SHAPE = (1.2, 4.5)
GAZE_R_SQUARED = 0.35
GAZE_GROWTH = 1.5


def draw_gaze(rng: np.random.Generator) -> tuple[Array, Array, Truth]:
    """Draw gaze directions of mostly young subjects, more scattered in the old."""
    low, width = GAZE_AGES[0], GAZE_AGES[1] - GAZE_AGES[0]
    share = beta.rvs(*GAZE_AGE_SHAPE, size=GAZE_SUBJECTS, random_state=rng)
    mean_share, share_variance = (float(moment) for moment in beta.stats(*GAZE_AGE_SHAPE))
    mean_age, age_variance = low + width * mean_share, width**2 * share_variance
    scale = float(rng.uniform(0.15, 0.25))
    base = unit_vector(3, rng)
    slope = np.cross(base, unit_vector(3, rng))
    slope *= slope_length(GAZE_R_SQUARED, scale, 2, age_variance) / np.linalg.norm(slope)

    def predict(covariates: Array) -> Array:
        return sphere_exp(base, (np.asarray(covariates, float)[:, :1] - mean_age) * slope)

    covariates = (low + width * share)[:, None]
    predictions = predict(covariates)
    mean_square = (1 + GAZE_GROWTH * mean_share) ** 2 + GAZE_GROWTH**2 * share_variance
    scatter = scale * (1 + GAZE_GROWTH * share) / np.sqrt(mean_square)
    residuals = scatter[:, None] * rng.standard_normal((GAZE_SUBJECTS, 3))
    residuals -= np.sum(residuals * predictions, axis=1, keepdims=True) * predictions
    points = sphere_exp(predictions, residuals)
    return covariates, points, Truth(predict, scale, GAZE_R_SQUARED)


TENSOR_SUBJECTS = 720
TENSOR_CENTRE = ((1.2, 0.0), (0.0, 0.6))
TENSOR_WEEKS = Clumps(0.0, 52.0, (0.45, 0.35, 0.2), (2.0, 8.0, 48.0), (0.8, 1.5, 2.5))
TENSOR_SPREADS = (0.40, 0.20, 0.08)


def draw_tensors(rng: np.random.Generator) -> tuple[Array, Array, Truth]:
    """Draw diffusion tensors that do not change with time and scatter unequally by direction."""
    weeks = TENSOR_WEEKS.draw(TENSOR_SUBJECTS, rng)
    offset = rng.uniform(0.6, 1.1) * unit_vector(3, rng)
    base = spd_exp(np.array(TENSOR_CENTRE), offset)
    spreads = rng.uniform(0.8, 1.2) * np.array(TENSOR_SPREADS)
    axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    residuals = (spreads * rng.standard_normal((TENSOR_SUBJECTS, 3))) @ axes.T

    def predict(covariates: Array) -> Array:
        return np.tile(base, (len(covariates), 1, 1))

    scale = float(np.sqrt(np.mean(spreads**2)))
    return weeks[:, None], spd_exp(base, residuals), Truth(predict, scale, 0.0)


PRESSURE_SUBJECTS = 1040
PRESSURE_CENTRE = (120.0, 80.0)
PRESSURE_AGES = Clumps(18.0, 80.0, (0.45, 0.2, 0.35), (24.0, 45.0, 67.0), (3.0, 4.0, 4.0))
PRESSURE_SPREADS = (12.0, 7.0)
PRESSURE_CORRELATION = 0.6
PRESSURE_R_SQUARED = 0.3
PRESSURE_FREEDOM = 5.0
PRESSURE_OUTLIERS = 0.03


def draw_pressures(rng: np.random.Generator) -> tuple[Array, Array, Truth]:
    """Draw heavy-tailed blood pressures that follow age but not treatment, with outliers."""
    ages = PRESSURE_AGES.draw(PRESSURE_SUBJECTS, rng)
    mean_age, age_variance = PRESSURE_AGES.moments()
    chance = 0.3 + 0.004 * (ages - mean_age)
    treated = (rng.random(PRESSURE_SUBJECTS) < chance).astype(float)
    spreads = rng.uniform(0.85, 1.15) * np.array(PRESSURE_SPREADS)
    scale = float(np.sqrt(np.mean(spreads**2)))
    base = np.array(PRESSURE_CENTRE) + rng.uniform(8, 20) * unit_vector(2, rng)
    slope = slope_length(PRESSURE_R_SQUARED, scale, 2, age_variance) * unit_vector(2, rng)

    def predict(covariates: Array) -> Array:
        return base + (np.asarray(covariates, float)[:, :1] - mean_age) * slope

    correlations = np.array([[1.0, PRESSURE_CORRELATION], [PRESSURE_CORRELATION, 1.0]])
    residuals = rng.standard_normal((PRESSURE_SUBJECTS, 2)) @ np.linalg.cholesky(correlations).T
    stretch = rng.chisquare(PRESSURE_FREEDOM, size=(PRESSURE_SUBJECTS, 1))
    residuals *= spreads * np.sqrt((PRESSURE_FREEDOM - 2) / stretch)
    wrong = rng.permutation(PRESSURE_SUBJECTS)[: round(PRESSURE_OUTLIERS * PRESSURE_SUBJECTS)]
    angles = rng.uniform(0, 2 * np.pi, size=len(wrong))
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    residuals[wrong] = rng.uniform(4, 6, size=(len(wrong), 1)) * spreads * directions
    covariates = np.column_stack([ages, treated])
    return covariates, predict(covariates) + residuals, Truth(predict, scale, PRESSURE_R_SQUARED)


COHORTS: dict[str, Cohort] = {
    "gaze": Cohort(
        manifold=("sphere", 2),
        covariate_range=(GAZE_AGES,),
        centre="anywhere",
        subjects=GAZE_SUBJECTS,
        epsilon=1.0,
        trends=(True,),
        draw=draw_gaze,
    ),
    "tensors": Cohort(
        manifold=("spd", 2),
        covariate_range=((TENSOR_WEEKS.low, TENSOR_WEEKS.high),),
        centre=TENSOR_CENTRE,
        subjects=TENSOR_SUBJECTS,
        epsilon=2.0,
        trends=(False,),
        draw=draw_tensors,
    ),
    "pressures": Cohort(
        manifold=("euclidean", 2),
        covariate_range=((PRESSURE_AGES.low, PRESSURE_AGES.high), (0.0, 1.0)),
        centre=PRESSURE_CENTRE,
        subjects=PRESSURE_SUBJECTS,
        epsilon=2.0,
        trends=(True, False),
        draw=draw_pressures,
    ),
}
