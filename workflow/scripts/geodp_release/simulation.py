"""Simulated releases in flat space, from public assumptions alone.

The model: records about predictions with independent normal residuals of one scale; a true
footpoint and shooting vectors of uniform direction and uniform length within the support; no
curvature.
Contributions of records are replaced by their means, given the covariates; what is left of chance
is the noise of each stage.  The error of the estimate that a release without noise would give is
added at the end.  A few failures may decide a mean squared error: choices can be drawn with flatter
probabilities, and releases then have weights.

Many releases are simulated at once.  An error is the truth minus the state, of footpoint and
shooting vectors.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.special import betaincinv, gammaincinv, ndtri, roots_jacobi

from geodp.manifolds.supports import even_balls, sobol_points
from geodp_release.coordinates import ClippingCoordinates
from geodp_release.moments import moment_matrix, product_indices

# How covariates are assumed to be spread over their range.
EVENLY, TWO_GROUPS, UNKNOWN = "evenly", "two groups", "unknown"

# Nodes of the range of one covariate, or of each of two or three; and of more, as points.
COVARIATES, FEWER, SEVERAL = 5, 3, 128

# Clustered covariates: a Beta distribution, and the share of the first of two groups.
CLUSTERED, FIRST_GROUP = (2.0, 5.0), 0.75

# Least sum of the parameters of a Beta distribution, whose nodes lie at its ends then.
LEAST_SHAPES = 0.01

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

# Mean squares of covariates: squared errors of shooting vectors in those of predictions, averaged
# over covariates; that of the footpoint counts once.
SQUARES = {EVENLY: 1.0 / 12.0, TWO_GROUPS: 0.25, UNKNOWN: 1.0 / 12.0}

# Of footpoint and shooting vector, for one covariate spread evenly.
CURVE = np.array([1.0, SQUARES[EVENLY]])


@dataclass(frozen=True, eq=False)
class Covariates:
    """A distribution of covariates from -1/2 to 1/2, as nodes with weights; equal to itself alone.

    Attributes
    ----------
    nodes : ndarray, shape (m, k)
    weights : ndarray, shape (m,)
    """

    nodes: np.ndarray
    weights: np.ndarray

    @classmethod
    def beta(cls, first, second):
        """A Beta distribution on the range of one covariate; with both one, spread evenly."""
        nodes, weights = _beta_nodes(first, second, COVARIATES)
        return cls(nodes[:, None], weights)

    @classmethod
    @lru_cache(maxsize=64)
    def independent(cls, spreads, clustered=False):
        """Independent covariates.

        Parameters
        ----------
        spreads : tuple of {"evenly", "two groups", "unknown"}
            Of each covariate; an unknown spread counts as ``evenly``.
        clustered : bool
            Whether they are spread less well: clustered, and groups of different sizes.
        """
        beta = CLUSTERED if clustered else (1.0, 1.0)
        share = FIRST_GROUP if clustered else 0.5
        if len(spreads) > 3:
            # Sobol points, by inverse distribution functions.
            cube = sobol_points(len(spreads), SEVERAL)
            columns = [
                (level > share) - 0.5 if spread == TWO_GROUPS else betaincinv(*beta, level) - 0.5
                for spread, level in zip(spreads, cube.T, strict=True)
            ]
            return cls(np.stack(columns, axis=-1), np.full(SEVERAL, 1.0 / SEVERAL))
        count = COVARIATES if len(spreads) == 1 else FEWER
        each = [
            (np.array([-0.5, 0.5]), np.array([share, 1.0 - share]))
            if spread == TWO_GROUPS
            else _beta_nodes(*beta, count)
            for spread in spreads
        ]
        nodes = np.array(list(product(*(places for places, _ in each))))
        weights = np.array([np.prod(some) for some in product(*(shares for _, shares in each))])
        return cls(nodes.reshape((len(weights), len(spreads))), weights)

    def with_moments(self, moments):
        """A distribution with these moments: a Beta, or of several covariates an affine map."""
        if self.nodes.shape[-1] == 1:
            return _beta_with(*moments)
        (old, before), (new, after) = (_mean_and_root(each) for each in (self.moments, moments))
        return replace(self, nodes=new + (self.nodes - old) @ np.linalg.solve(before, after))

    @cached_property
    def moments(self):
        """Means of covariates and of their products; see `geodp_release.moments`."""
        return np.sum(self.weights[:, None] * self._products, axis=0)

    @cached_property
    def variances(self):
        """Variances of covariates and of their products."""
        squares = np.sum(self.weights[:, None] * self._products**2, axis=0)
        return squares - self.moments**2

    @property
    def _products(self):
        first, second = product_indices(self.nodes.shape[-1])
        return np.concatenate([self.nodes, self.nodes[:, first] * self.nodes[:, second]], axis=-1)


def _beta_with(mean, square):
    """The Beta distribution on the range of one covariate with these moments."""
    variance = square - mean**2
    # Two groups at the ends have the largest variance, of which a Beta has a little less.
    both = max((0.25 - mean**2) / variance - 1.0, LEAST_SHAPES)
    return Covariates.beta((0.5 + mean) * both, (0.5 - mean) * both)


def _mean_and_root(moments):
    """Mean (k,) and symmetric square root (k, k) of the covariance, from moments."""
    matrix = moment_matrix(moments)
    mean = matrix[0, 1:]
    values, vectors = np.linalg.eigh(matrix[1:, 1:] - np.outer(mean, mean))
    return mean, (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _beta_nodes(first, second, number):
    nodes, weights = roots_jacobi(number, second - 1.0, first - 1.0)
    return 0.5 * nodes, weights / np.sum(weights)


EVEN = Covariates.independent((EVENLY,))


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
    """Points (number, 1 + k, dim) that fill a ball of footpoints and balls of shooting vectors."""
    blocks = len(radii)
    pattern = even_balls((dim,) * blocks, number).reshape((-1, blocks, dim))
    return np.asarray(radii)[:, None] * pattern


@dataclass(frozen=True)
class FlatReleases:
    """Simulated releases after some stages.

    Attributes
    ----------
    dim : int
    radii : ndarray, shape (1 + k,)
        Of the support.
    weights : ndarray, shape (1 + k,)
        Of squared errors of footpoint and shooting vectors in that of predictions.
    typical : float
        Root mean squared length of a residual.
    number : int
        Subjects.
    changes : int
        See `Assumptions.changes`.
    truth, state : ndarray, shape (releases, 1 + k, dim)
    spreads : tuple of {"evenly", "two groups", "unknown"}
        Of the covariates, as assumed.
    covariates : Covariates
        As they are.
    deviates : ndarray, shape (releases, k (k + 3) / 2)
        Standard normal numbers, of which `deviations` are made.
    moments : ndarray, shape (releases, k (k + 3) / 2)
        Of the covariates, as assumed or as they were released.
    weight : ndarray, shape (releases,)
        Of each release in means, which are of the choices' own probabilities then.
    tails : float
        Part of the choices that are drawn with flatter probabilities, so that what rarely fails is
        seen to fail.
    covariance : ndarray, shape (releases, 1 + k, 1 + k), optional
        See `geodp_release.stages.NoisyStep.change`.
    last_level : int, optional
        Level at which the last step clipped typical residuals.
    counted : float or ndarray, shape (releases, 1, 1)
        Number of subjects over what was released of it.
    kept : dict
        Points of first stages that were found.
    """

    dim: int
    radii: np.ndarray
    weights: np.ndarray
    typical: float
    number: int
    changes: int
    truth: np.ndarray
    state: np.ndarray
    spreads: tuple[str, ...]
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
        radii, spreads = assumptions.support.radii, assumptions.spreads
        normal = rng.normal(size=(releases, len(radii), dim))
        # In many dimensions a uniform point of a ball is always near its edge, where nobody who
        # chooses a support expects the truth.
        length = radii[:, None] * rng.random((releases, len(radii), 1))
        truth = normal * (length / np.linalg.norm(normal, axis=-1, keepdims=True))
        assumed = Covariates.independent(spreads)
        number = len(assumed.moments)
        return cls(
            dim=dim,
            radii=radii,
            weights=np.array([1.0, *(SQUARES[spread] for spread in spreads)]),
            typical=assumptions.residual_scale * np.sqrt(dim),
            number=assumptions.subjects,
            changes=assumptions.changes,
            truth=truth,
            state=np.zeros_like(truth),
            spreads=spreads,
            covariates=assumed,
            deviates=rng.normal(size=(releases, number)),
            moments=np.broadcast_to(assumed.moments, (releases, number)),
            tails=tails,
            weight=np.ones(releases),
        )

    @cached_property
    def _lengths(self):
        """Norms (m,) of contributions of unit residuals at the nodes of covariates."""
        return ClippingCoordinates(len(self.radii) - 1).lengths(self.covariates.nodes)

    @cached_property
    def stretch(self):
        """Typical norm of the contribution of a residual of length one."""
        return float(np.sqrt(np.sum(self.covariates.weights * self._lengths**2)))

    @cached_property
    def deviations(self):
        """Of the sample's moments of covariates from their expectation, as `deviates`."""
        return np.sqrt(np.maximum(self.covariates.variances / self.number, 0.0)) * self.deviates

    @cached_property
    def errors(self):
        return self.truth - self.state

    @cached_property
    def squares(self):
        """Mean squared errors (1 + k,) of footpoint and shooting vectors, next to the estimate."""
        return np.average(np.sum(self.errors**2, axis=-1), axis=0, weights=self.weight)

    @property
    def estimate_squares(self):
        """Mean squared errors (1 + k,) of the estimate that a release without noise would give."""
        # After a choice among points, about that of the estimate of truncated least squares.
        excess = 2.0 if self.last_level is None else excess_of_clipping(self.dim, self.last_level)
        inverse = np.linalg.inv(moment_matrix(self.covariates.moments))
        return excess * self.typical**2 / self.number * np.diag(inverse)

    @property
    def curve(self):
        """Mean squared error of predictions over the covariates' ranges."""
        return float((self.squares + self.estimate_squares) @ self.weights)

    def points(self, rng, number, radii=None):
        """Points from which a stage chooses; see `geodp_release.stages.PointsStage`."""
        if radii is None:
            return self._first_points(number)
        pattern = even_pattern(radii, number, self.dim)
        points = _Points.of(rng, self.errors, pattern, self.weights)
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
            self.kept[number] = _Points.of(rng, self.truth, pattern, self.weights)
        return self.kept[number]

    def _mean_losses(self, points, level):
        """Mean clipped losses (releases, points)."""
        known, covariates = points.known, self.covariates
        if covariates not in known:
            known[covariates] = [
                _places(points.squares(x.tolist()) / np.float32(self.typical**2))
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
        covariates = len(self.radii) - 1
        noise = stage.simulated_noise(rng, len(self.state), self.changes, covariates) / self.number
        noisy = self.covariates.moments + self.deviations + noise
        if np.ndim(self.counted):
            noisy = noisy * self.counted[:, 0]
        return replace(self, moments=stage.moments(noisy, self.number, self.changes, self.spreads))

    def clean_means(self, level):
        """Means (releases, 1 + k, dim) of clipped contributions to each part of a state."""
        total = np.zeros_like(self.state)
        # Residuals are clipped at shorter lengths where their contributions are longer.
        limits = level - np.rint(LIMITS_PER_DOUBLING * np.log2(self._lengths)).astype(int)
        parts = zip(self.covariates.nodes, self.covariates.weights, limits, strict=True)
        for x, share, limit in parts:
            table = _clipped_means(self.dim, int(limit))
            error = self.errors[:, 0] + sum(
                place * self.errors[:, block] for block, place in enumerate(x, 1)
            )
            squared = np.sum(error**2, axis=-1) / self.typical**2
            mean = share * _looked_up(table, _places(squared))[:, None] * error
            total[:, 0] += mean
            for block, place in enumerate(x, 1):
                total[:, block] += place * mean
        # What the sample's moments add, with a residual clipped as in the middle of the range.
        squared = np.sum(self.errors[:, 0] ** 2, axis=-1) / self.typical**2
        table = _clipped_means(self.dim, self._typical_level(level))
        factor = _looked_up(table, _places(squared))[:, None, None]
        away = moment_matrix(self.deviations)
        away[:, 0, 0] = 0.0
        return total + factor * (away @ self.errors)

    def step(self, rng, stage, clean=None):
        """After a noisy Gauss-Newton step."""
        level = level_of(stage.clip, self.typical)
        if clean is None:
            clean = self.clean_means(level)
        noisy = clean + stage.simulated_noise(rng, clean.shape, self.changes) / self.number
        noisy = noisy * self.counted
        change, covariance = stage.change(
            noisy, self.moments, self.number, self.changes, self.covariance
        )
        state = self.state + change
        length = np.linalg.norm(state, axis=-1, keepdims=True)
        state = state * np.minimum(1.0, self.radii[:, None] / np.maximum(length, 1e-300))
        last = self._typical_level(level)
        return replace(self, state=state, covariance=covariance, last_level=last)

    def _typical_level(self, level):
        """Level at which residuals are clipped where contributions are at the given one."""
        return level - int(np.rint(LIMITS_PER_DOUBLING * np.log2(self.stretch)))


@dataclass(frozen=True)
class _Points:
    """Points of a pattern about some states: those near the truth, and a random part of the others.

    Attributes
    ----------
    pattern : ndarray, shape (points, 1 + k, dim)
    index : ndarray of int, shape (releases, chosen)
    inner : dict of ndarray, shape (releases, chosen)
        Inner products of two blocks of truth minus point, by their numbers.
    log_weight : ndarray, shape (releases, chosen)
        For how many points each stands.
    known : dict
        By distribution of covariates, places of squared distances in tables; by that and a level,
        mean losses.
    """

    pattern: np.ndarray
    index: np.ndarray
    inner: dict
    log_weight: np.ndarray
    known: dict = field(default_factory=dict)

    @classmethod
    def of(cls, rng, errors, pattern, weights):
        number = len(pattern)
        if number <= NEAR + FAR:
            index = np.broadcast_to(np.arange(number), (len(errors), number))
            log_weight = np.zeros(index.shape, dtype=np.float32)
        else:
            scaled = np.sqrt(weights)[:, None]
            index, log_weight = _some_points(
                rng,
                (errors * scaled).reshape(len(errors), -1),
                (pattern * scaled).reshape(number, -1),
            )
        rest = errors[:, None] - pattern[index]
        # Single precision is far below the error of so few releases, and twice as fast.
        rest = rest.astype(np.float32)
        blocks = range(rest.shape[2])
        pairs = [*((block, block) for block in blocks), *combinations(blocks, 2)]
        inner = {
            (one, other): np.einsum("rci,rci->rc", rest[:, :, one], rest[:, :, other])
            for one, other in pairs
        }
        return cls(pattern, index, inner, log_weight)

    def squares(self, x):
        """Squared distances of predictions at covariates, a list of k numbers."""
        places = [1.0, *x]
        return sum(
            (1.0 if one == other else 2.0) * places[one] * places[other] * product
            for (one, other), product in self.inner.items()
        )

    @property
    def offsets(self):
        """The points (releases, chosen, 1 + k, dim)."""
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
