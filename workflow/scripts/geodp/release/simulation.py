"""Simulated releases in flat space, from public assumptions alone.

The model: records about a geodesic with independent normal residuals of one scale; a true footpoint
and shooting vector of uniform direction and uniform length within the support; no curvature.
Contributions of records are replaced by their means, given the covariates; what is left of chance
is the noise of each stage.  The error of the estimate that a release without noise would give is
added at the end.

Many releases are simulated at once.  An error is the truth minus the state, of footpoint and
shooting vector.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaincinv, ndtri, roots_jacobi

from geodp.manifolds.supports import even_balls

# Nodes of the covariate's range.
COVARIATES = 5

# Quadrature nodes of a residual's component along the error and of its length across it; and
# distances of the tables of means, in units of a typical residual.
ALONG, ACROSS = 64, 24
NEAREST, FARTHEST, TABLE = 1e-3, 1e4, 320

# Limits of clipping are powers of this ratio, in units of a typical residual.
LIMITS_PER_DOUBLING = 4

# Score the NEAR nearest points exactly and a random FAR of the rest, reweighted.
NEAR, FAR = 256, 192

# Releases whose nearest points are found at once.
ROWS = 64

# Squared errors of footpoint and shooting vector in that of the geodesic, averaged over the
# covariate's range.
CURVE = np.array([1.0, 1.0 / 12.0])


@dataclass(frozen=True)
class Covariates:
    """A distribution of covariates from -1/2 to 1/2, as nodes with weights.

    Attributes
    ----------
    nodes, weights : ndarray, shape (COVARIATES,)
    """

    nodes: np.ndarray
    weights: np.ndarray

    @classmethod
    def beta(cls, first, second):
        """A Beta distribution on the range; with both one, spread evenly."""
        nodes, weights = roots_jacobi(COVARIATES, second - 1.0, first - 1.0)
        return cls(0.5 * nodes, weights / np.sum(weights))

    @property
    def moments(self):
        """Mean and mean square."""
        return np.array([np.sum(self.weights * self.nodes**power) for power in (1, 2)])

    @property
    def variances(self):
        """Variances of the covariate and of its square."""
        fourth = np.sum(self.weights * self.nodes**4)
        mean, square = self.moments
        return np.array([square - mean**2, fourth - square**2])


EVEN = Covariates.beta(1.0, 1.0)


def limit_at(level, typical):
    """The limit of clipping of an integer level."""
    return float(typical * 2.0 ** (level / LIMITS_PER_DOUBLING))


def level_of(limit, typical):
    """The level whose limit is nearest."""
    return int(np.rint(LIMITS_PER_DOUBLING * np.log2(limit / typical)))


@lru_cache(maxsize=8)
def _residual_lengths(dim):
    """Residuals about predictions at the distances of the tables: component along, and length."""
    along = ndtri((np.arange(ALONG) + 0.5) / ALONG)[:, None] / np.sqrt(dim)
    across = np.zeros(1)
    if dim > 1:
        places = (np.arange(ACROSS) + 0.5) / ACROSS
        across = np.sqrt(2.0 * gammaincinv(0.5 * (dim - 1), places) / dim)
    distances = np.geomspace(NEAREST, FARTHEST, TABLE)
    along = distances[:, None, None] + along
    return distances, along, np.hypot(along, across)


@lru_cache(maxsize=512)
def _clipped_means(dim, level):
    """Mean of residuals clipped to a limit, as a fraction of their mean; (TABLE,)."""
    distances, along, length = _residual_lengths(dim)
    limit = limit_at(level, 1.0)
    return np.mean(along * np.minimum(1.0, limit / length), axis=(1, 2)) / distances


@lru_cache(maxsize=512)
def _losses(dim, level):
    """Mean of the squared length up to a limit, as a fraction of its square; (TABLE,)."""
    length = _residual_lengths(dim)[2]
    return np.mean(np.minimum(length / limit_at(level, 1.0), 1.0) ** 2, axis=(1, 2))


@lru_cache(maxsize=512)
def excess_of_clipping(dim, level):
    """Variance of the estimate with clipped residuals, over that of least squares."""
    length = _residual_lengths(dim)[2][0]
    clipped = np.minimum(length, limit_at(level, 1.0))
    # Stein's lemma: the derivative of the mean is the mean product with the normal residual.
    return float(np.mean(clipped**2) * np.mean(length**2) / np.mean(length * clipped) ** 2)


def _lookup(table, squares):
    """Values of a table at squared distances, in units of a typical residual."""
    low, high = 2.0 * np.log(NEAREST), 2.0 * np.log(FARTHEST)
    place = (np.log(np.maximum(squares, 1e-300)) - low) * ((TABLE - 1) / (high - low))
    place = np.clip(place, 0.0, TABLE - 1.000001)
    below = place.astype(np.intp)
    return table[below] + np.diff(table)[below] * (place - below)


def even_pattern(radii, number, dim):
    """Points (number, 2, dim) that fill a ball of footpoints and one of shooting vectors."""
    pattern = even_balls((dim, dim), number).reshape((-1, 2, dim))
    return np.asarray(radii)[:, None] * pattern


@dataclass(frozen=True)
class FlatReleases:
    """Simulated releases after some stages.

    Attributes
    ----------
    dim : int
    radii : ndarray, shape (2,)
        Of the support.
    typical : float
        Root mean squared length of a residual.
    number : int
        Subjects.
    changes : int
        See `Assumptions.changes`.
    truth, state : ndarray, shape (releases, 2, dim)
    covariates : Covariates
    deviations : ndarray, shape (releases, 2)
        Of the sample's moments of the covariate from their expectation.
    moments : ndarray, shape (releases, 2)
        Mean and mean square of the covariate, as far as it was released.
    covariance : ndarray, shape (releases, 2, 2), optional
        See `geodp.release.stages.NoisyStep.change`.
    last_level : int, optional
        Level of the last step's limit.
    counted : float or ndarray, shape (releases, 1, 1)
        Number of subjects over what was released of it.
    kept : dict
        Points of first stages that were found.
    """

    dim: int
    radii: np.ndarray
    typical: float
    number: int
    changes: int
    truth: np.ndarray
    state: np.ndarray
    covariates: Covariates
    deviations: np.ndarray
    moments: np.ndarray
    covariance: np.ndarray | None = None
    last_level: int | None = None
    counted: Any = 1.0
    kept: dict = field(default_factory=dict)

    @classmethod
    def start(cls, assumptions, releases, rng, covariates=EVEN):
        """Before the first stage: the state is in the middle of the support."""
        dim = assumptions.manifold.dim
        reach = min(assumptions.footpoint_radius, assumptions.manifold.injectivity_radius)
        radii = np.array([reach, assumptions.shooting_vector_length])
        normal = rng.normal(size=(releases, 2, dim))
        # In many dimensions a uniform point of a ball is always near its edge, where nobody who
        # chooses a support expects the truth.
        length = radii[:, None] * rng.random((releases, 2, 1))
        # Sample moments of the covariates vary from data set to data set.
        spread = np.sqrt(np.maximum(covariates.variances / assumptions.subjects, 0.0))
        truth = normal * (length / np.linalg.norm(normal, axis=-1, keepdims=True))
        return cls(
            dim=dim,
            radii=radii,
            typical=assumptions.residual_scale * np.sqrt(dim),
            number=assumptions.subjects,
            changes=assumptions.changes,
            truth=truth,
            state=np.zeros_like(truth),
            covariates=covariates,
            deviations=spread * rng.normal(size=(releases, 2)),
            moments=np.broadcast_to(EVEN.moments, (releases, 2)),
        )

    @cached_property
    def errors(self):
        return self.truth - self.state

    @cached_property
    def squares(self):
        """Mean squared errors of footpoint and shooting vector, relative to the estimate; (2,)."""
        return np.mean(np.sum(self.errors**2, axis=-1), axis=0)

    @property
    def estimate_squares(self):
        """Mean squared errors (2,) of the estimate that a release without noise would give."""
        # After a choice among points, about that of the estimate of truncated least squares.
        excess = 2.0 if self.last_level is None else excess_of_clipping(self.dim, self.last_level)
        mean, square = self.covariates.moments
        inverse = np.linalg.inv([[1.0, mean], [mean, square]])
        return excess * self.typical**2 / self.number * np.diag(inverse)

    @property
    def curve(self):
        """Mean squared error of the geodesic over the covariate's range."""
        return float((self.squares + self.estimate_squares) @ CURVE)

    def points(self, rng, number, radii=None):
        """Points from which a stage chooses; see `geodp.release.stages.PointsStage`."""
        if radii is None:
            return self._first_points(number)
        points = _Points.of(rng, self.errors, even_pattern(radii, number, self.dim))
        # Those of the pattern outside the support do not count.
        lengths = np.sum((self.state[:, None] + points.offsets) ** 2, axis=-1)
        outside = np.any(lengths > self.radii**2, axis=-1)
        return replace(points, log_weight=np.where(outside, -np.inf, points.log_weight))

    def choose(self, rng, stage, points=None):
        """After a choice among points."""
        if points is None:
            points = self.points(rng, stage.points, stage.radii)
        loss = self._mean_losses(points, level_of(stage.clip, self.typical))
        rate = self.number * float(stage.epsilon) / self.changes
        best = np.argmax(points.log_weight - rate * loss + rng.gumbel(size=loss.shape), axis=1)
        state = points.pattern[points.index[np.arange(len(best)), best]]
        if stage.radii is not None:
            state = self.state + state
        return replace(self, state=state, covariance=None, last_level=None)

    def _first_points(self, number):
        """Points of the support near each truth and a part of the others, found once."""
        if number not in self.kept:
            rng = np.random.default_rng([len(self.truth), number])
            pattern = even_pattern(self.radii, number, self.dim)
            self.kept[number] = _Points.of(rng, self.truth, pattern)
        return self.kept[number]

    def _mean_losses(self, points, level):
        """Mean clipped losses (releases, points)."""
        key = id(points), level, id(self.covariates)
        if key not in points.losses:
            table, total = _losses(self.dim, level), 0.0
            for x, share in zip(self.covariates.nodes, self.covariates.weights, strict=True):
                squared = points.footpoint + x * x * points.vector + 2.0 * x * points.product
                total = total + share * _lookup(table, squared / self.typical**2)
            points.losses[key] = total
        return points.losses[key]

    def count(self, rng, stage):
        """After a release of the number of subjects."""
        noise = stage.simulated_noise(rng, (len(self.state), 1, 1))
        return replace(self, counted=self.number / np.maximum(self.number + noise, 1.0))

    def measure(self, rng, stage):
        """After a release of the moments of the covariates."""
        noise = stage.simulated_noise(rng, len(self.state), self.changes) / self.number
        noisy = self.covariates.moments + self.deviations + noise
        if np.ndim(self.counted):
            noisy = noisy * self.counted[:, 0]
        return replace(self, moments=stage.moments(noisy, self.number, self.changes))

    def clean_means(self, level):
        """Means (releases, 2, dim) of clipped contributions to footpoint and shooting vector."""
        table = _clipped_means(self.dim, level)
        total = np.zeros_like(self.state)
        for x, share in zip(self.covariates.nodes, self.covariates.weights, strict=True):
            error = self.errors[:, 0] + x * self.errors[:, 1]
            squared = np.sum(error**2, axis=-1) / self.typical**2
            mean = share * _lookup(table, squared)[:, None] * error
            total[:, 0] += mean
            total[:, 1] += x * mean
        # What the sample's moments add, with a residual clipped as in the middle of the range.
        footpoint, vector = self.errors[:, 0], self.errors[:, 1]
        squared = np.sum(footpoint**2, axis=-1) / self.typical**2
        first, second = (_lookup(table, squared) * self.deviations.T)[:, :, None]
        total[:, 0] += first * vector
        total[:, 1] += first * footpoint + second * vector
        return total

    def step(self, rng, stage, clean=None):
        """After a noisy Gauss-Newton step."""
        level = level_of(stage.clip, self.typical)
        if clean is None:
            clean = self.clean_means(level)
        noisy = clean + stage.simulated_noise(rng, clean.shape, self.changes) / self.number
        noisy = noisy * self.counted
        change, covariance = stage.change(
            noisy, self.moments, self.number, self.changes, self.dim, self.covariance
        )
        state = self.state + change
        length = np.linalg.norm(state, axis=-1, keepdims=True)
        state = state * np.minimum(1.0, self.radii[:, None] / np.maximum(length, 1e-300))
        return replace(self, state=state, covariance=covariance, last_level=level)


@dataclass(frozen=True)
class _Points:
    """Points of a pattern about some states: those near the truth, and a random part of the others.

    Attributes
    ----------
    pattern : ndarray, shape (points, 2, dim)
    index : ndarray of int, shape (releases, chosen)
    footpoint, vector, product : ndarray, shape (releases, chosen)
        Squared lengths of both blocks of truth minus point, and their inner product.
    log_weight : ndarray, shape (releases, chosen)
        For how many points each stands.
    losses : dict
        Mean losses that were computed.
    """

    pattern: np.ndarray
    index: np.ndarray
    footpoint: np.ndarray
    vector: np.ndarray
    product: np.ndarray
    log_weight: np.ndarray
    losses: dict = field(default_factory=dict)

    @classmethod
    def of(cls, rng, errors, pattern):
        number = len(pattern)
        if number <= NEAR + FAR:
            index = np.broadcast_to(np.arange(number), (len(errors), number))
            log_weight = np.zeros(index.shape)
        else:
            scaled = np.array([1.0, np.sqrt(CURVE[1])])[:, None]
            near, reach = _nearest(
                (errors * scaled).reshape(len(errors), -1), (pattern * scaled).reshape(number, -1)
            )
            far = rng.integers(number, size=(len(errors), FAR))
            index = np.concatenate([near, far], axis=1)
            log_weight = np.zeros(index.shape)
            log_weight[:, NEAR:] = np.log((number - NEAR) / FAR)
            away = np.sum(((errors[:, None] - pattern[far]) * scaled) ** 2, axis=(-2, -1))
            log_weight[:, NEAR:][away <= reach[:, None]] = -np.inf
        rest = errors[:, None] - pattern[index]
        first, second = rest[:, :, 0], rest[:, :, 1]
        return cls(
            pattern,
            index,
            np.einsum("rci,rci->rc", first, first),
            np.einsum("rci,rci->rc", second, second),
            np.einsum("rci,rci->rc", first, second),
            log_weight,
        )

    @property
    def offsets(self):
        """The points (releases, chosen, 2, dim)."""
        return self.pattern[self.index]


def _nearest(places, points):
    """Indices (places, NEAR) of the nearest points, and the largest squared distance (places,)."""
    squares = np.sum(points**2, axis=-1, dtype=np.float32)
    points = points.astype(np.float32)
    near, reach = [], []
    for start in range(0, len(places), ROWS):
        some = places[start : start + ROWS].astype(np.float32)
        away = squares - 2.0 * some @ points.T
        index = np.argpartition(away, NEAR, axis=1)[:, :NEAR]
        near.append(index)
        largest = np.max(np.take_along_axis(away, index, axis=1), axis=1)
        reach.append(largest + np.sum(some**2, axis=1))
    return np.concatenate(near), np.concatenate(reach)
