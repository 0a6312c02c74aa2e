"""Simulated releases in flat space, from public assumptions alone.

The model: records about a geodesic with independent normal residuals of one scale; a true footpoint
and shooting vector of uniform direction and uniform length within the support; no curvature.
Contributions of records are replaced by their means, given the covariates; what is left of chance
is the noise of each stage.  The error of the estimate that a release without noise would give is
added at the end.  A few failures may decide a mean squared error: choices can be drawn with flatter
probabilities, and releases then have weights.

Many releases are simulated at once.  An error is the truth minus the state, of footpoint and
shooting vector.
"""

import math
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

# Releases whose nearest points are found at once; to find them, how many points one of a sample
# stands for, and how many of the sample are to spare.
ROWS, SAMPLED, SPARE = 64, 16, 16

# Squared errors of footpoint and shooting vector in that of the geodesic, averaged over the
# covariate's range.
CURVE = np.array([1.0, 1.0 / 12.0])


@dataclass(frozen=True, eq=False)
class Covariates:
    """A distribution of covariates from -1/2 to 1/2, as nodes with weights; equal to itself alone.

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


def _places(squares):
    """Index and fraction in tables of squared distances in units of a typical residual."""
    # Numbers of Python, beside which single precision stays single.
    low, high = 2.0 * math.log(NEAREST), 2.0 * math.log(FARTHEST)
    place = (np.log(np.maximum(squares, 1e-30)) - low) * ((TABLE - 1) / (high - low))
    place = np.clip(place, 0.0, TABLE - 1.001)
    below = place.astype(np.int32)
    return below, place - below


def _looked_up(table, places):
    """Values of a table at `_places`."""
    below, part = places
    return table[below] + np.diff(table)[below] * part


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
    deviates : ndarray, shape (releases, 2)
        Standard normal numbers, of which `deviations` are made.
    moments : ndarray, shape (releases, 2)
        Mean and mean square of the covariate, as far as it was released.
    weight : ndarray, shape (releases,)
        Of each release in means, which are of the choices' own probabilities then.
    tails : float
        Part of the choices that are drawn with flatter probabilities, so that what rarely fails is
        seen to fail.
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
    deviates: np.ndarray
    moments: np.ndarray
    weight: np.ndarray
    tails: float
    covariance: np.ndarray | None = None
    last_level: int | None = None
    counted: Any = 1.0
    kept: dict = field(default_factory=dict)

    @classmethod
    def start(cls, assumptions, releases, rng, tails=0.0):
        """Before the first stage: the state is in the middle of the support."""
        dim = assumptions.manifold.dim
        reach = min(assumptions.footpoint_radius, assumptions.manifold.injectivity_radius)
        radii = np.array([reach, assumptions.shooting_vector_length])
        normal = rng.normal(size=(releases, 2, dim))
        # In many dimensions a uniform point of a ball is always near its edge, where nobody who
        # chooses a support expects the truth.
        length = radii[:, None] * rng.random((releases, 2, 1))
        truth = normal * (length / np.linalg.norm(normal, axis=-1, keepdims=True))
        return cls(
            dim=dim,
            radii=radii,
            typical=assumptions.residual_scale * np.sqrt(dim),
            number=assumptions.subjects,
            changes=assumptions.changes,
            truth=truth,
            state=np.zeros_like(truth),
            covariates=EVEN,
            deviates=rng.normal(size=(releases, 2)),
            moments=np.broadcast_to(EVEN.moments, (releases, 2)),
            tails=tails,
            weight=np.ones(releases),
        )

    @cached_property
    def deviations(self):
        """Of the sample's moments of the covariate from their expectation; (releases, 2)."""
        return np.sqrt(np.maximum(self.covariates.variances / self.number, 0.0)) * self.deviates

    @cached_property
    def errors(self):
        return self.truth - self.state

    @cached_property
    def squares(self):
        """Mean squared errors of footpoint and shooting vector, relative to the estimate; (2,)."""
        return np.average(np.sum(self.errors**2, axis=-1), axis=0, weights=self.weight)

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
        # A release then has the state itself left.
        outside &= ~np.all(outside, axis=-1, keepdims=True)
        return replace(points, log_weight=np.where(outside, -np.inf, points.log_weight))

    def choose(self, rng, stage, points=None):
        """After a choice among points."""
        if points is None:
            points = self.points(rng, stage.points, stage.radii)
        loss = self._mean_losses(points, level_of(stage.clip, self.typical))
        rate = self.number * float(stage.epsilon) / self.changes
        exponent = points.log_weight - rate * loss
        shares = np.exp(exponent - np.max(exponent, axis=1, keepdims=True)).astype(float)
        shares /= np.sum(shares, axis=1, keepdims=True)
        drawn = shares
        if self.tails:
            flatter = np.sqrt(shares)
            flatter /= np.sum(flatter, axis=1, keepdims=True)
            drawn = (1.0 - self.tails) * shares + self.tails * flatter
        below = np.cumsum(drawn, axis=1)
        rows = np.arange(len(below))
        best = np.sum(below < rng.random((len(rows), 1)) * below[:, -1:], axis=1)
        state = points.pattern[points.index[rows, best]]
        if stage.radii is not None:
            state = self.state + state
        weight = self.weight * (shares[rows, best] / drawn[rows, best])
        return replace(self, state=state, weight=weight, covariance=None, last_level=None)

    def _first_points(self, number):
        """Points of the support near each truth and a part of the others, found once."""
        if number not in self.kept:
            rng = np.random.default_rng([len(self.truth), number])
            pattern = even_pattern(self.radii, number, self.dim)
            self.kept[number] = _Points.of(rng, self.truth, pattern)
        return self.kept[number]

    def _mean_losses(self, points, level):
        """Mean clipped losses (releases, points)."""
        known, covariates = points.known, self.covariates
        if covariates not in known:
            known[covariates] = [
                _places(points.squares(float(x)) / np.float32(self.typical**2))
                for x in covariates.nodes
            ]
        if (covariates, level) not in known:
            table = _losses(self.dim, level).astype(np.float32)
            known[covariates, level] = sum(
                np.float32(share) * _looked_up(table, places)
                for share, places in zip(covariates.weights, known[covariates], strict=True)
            )
        return known[covariates, level]

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
            mean = share * _looked_up(table, _places(squared))[:, None] * error
            total[:, 0] += mean
            total[:, 1] += x * mean
        # What the sample's moments add, with a residual clipped as in the middle of the range.
        footpoint, vector = self.errors[:, 0], self.errors[:, 1]
        squared = np.sum(footpoint**2, axis=-1) / self.typical**2
        first, second = (_looked_up(table, _places(squared)) * self.deviations.T)[:, :, None]
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
    known : dict
        By distribution of covariates, places of squared distances in tables; by that and a level,
        mean losses.
    """

    pattern: np.ndarray
    index: np.ndarray
    footpoint: np.ndarray
    vector: np.ndarray
    product: np.ndarray
    log_weight: np.ndarray
    known: dict = field(default_factory=dict)

    @classmethod
    def of(cls, rng, errors, pattern):
        number = len(pattern)
        if number <= NEAR + FAR:
            index = np.broadcast_to(np.arange(number), (len(errors), number))
            log_weight = np.zeros(index.shape, dtype=np.float32)
        else:
            scaled = np.sqrt(CURVE)[:, None]
            index, log_weight = _some_points(
                rng,
                (errors * scaled).reshape(len(errors), -1),
                (pattern * scaled).reshape(number, -1),
            )
        rest = errors[:, None] - pattern[index]
        # Single precision is far below the error of so few releases, and twice as fast.
        rest = rest.astype(np.float32)
        first, second = rest[:, :, 0], rest[:, :, 1]
        return cls(
            pattern,
            index,
            np.einsum("rci,rci->rc", first, first),
            np.einsum("rci,rci->rc", second, second),
            np.einsum("rci,rci->rc", first, second),
            log_weight,
        )

    def squares(self, x):
        """Squared distances of predictions at a covariate."""
        return self.footpoint + x * x * self.vector + 2.0 * x * self.product

    @property
    def offsets(self):
        """The points (releases, chosen, 2, dim)."""
        return self.pattern[self.index]


def _some_points(rng, places, points):
    """Points near each place and a random part of the others.

    Parameters
    ----------
    rng : numpy.random.Generator
    places : ndarray, shape (places, coordinates)
    points : ndarray, shape (points, coordinates)

    Returns
    -------
    index : ndarray of int, shape (places, NEAR + FAR)
    log_weight : ndarray, shape (places, NEAR + FAR)
        For how many points each stands; others that are near stand for none.
    """
    number = len(points)
    index = rng.integers(number, size=(len(places), NEAR + FAR))
    log_weight = np.zeros(index.shape, dtype=np.float32)
    # Of those drawn some are near, and the others stand for the rest.
    log_weight[:, NEAR:] = np.log(number / FAR)
    # Squared distances, less the squared length of the place, are a product of matrices.
    squares = np.sum(points**2, axis=1, keepdims=True)
    points = np.concatenate([-2.0 * points, squares], axis=1).T.astype(np.float32)
    places = np.pad(places, ((0, 0), (0, 1)), constant_values=1.0).astype(np.float32)
    # Not every so many: points with such a distance are no sample of an even pattern.
    sample = rng.choice(number, number // SAMPLED, replace=False)
    rank = min(NEAR // SAMPLED + SPARE, len(sample) - 1)
    for start in range(0, len(places), ROWS):
        away = places[start : start + ROWS] @ points
        # A sample of the points tells within which distance more than enough are.
        limits = np.partition(away[:, sample], rank, axis=1)[:, rank]
        # Each has another number of points within its limit.
        for at, (row, limit) in enumerate(zip(away, limits, strict=True), start):
            some = np.flatnonzero(row <= limit)
            if len(some) <= NEAR:
                some = np.arange(number)
            near = some[np.argpartition(row[some], NEAR)[:NEAR]]
            index[at, :NEAR] = near
            log_weight[at, NEAR:][row[index[at, NEAR:]] <= np.max(row[near])] = -np.inf
    return index, log_weight
