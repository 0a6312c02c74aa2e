"""Simulated releases in flat space, from public assumptions alone.

The model: records about predictions with independent normal residuals, of one scale or of one that
grows with covariates; a true footpoint and shooting vectors of uniform direction and uniform length
within the support; no curvature.
Each stage sees the expected contribution of the records, given the covariates, plus its own noise.
The error of the estimate that a release without noise would give is added at the end.  A few
failures may decide a mean squared error: choices can be drawn with flatter probabilities, and
releases then have weights.

Many releases are simulated at once, each stage by its method `simulate`.  An error is the truth
minus the state, of footpoint and shooting vectors.  In memory releases are the last axis, along
which arithmetic is fastest.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
from scipy.special import betaincinv, gammaincinv, ndtri, roots_jacobi

from geodp.manifolds.supports import sobol_points
from geodp_release.coordinates import ClippingCoordinates
from geodp_release.moments import inverses, moment_matrix, product_indices, products

# How covariates are assumed to be spread over their range.
EVENLY, TWO_GROUPS, UNKNOWN = "evenly", "two groups", "unknown"

# Clustered covariates: a Beta distribution, and the share of the first of two groups.
CLUSTERED, FIRST_GROUP = (2.0, 5.0), 0.75

# Distances of the tables of means, in units of a typical residual.
DISTANCES = np.geomspace(1e-3, 1e4, 320)

# Limits of clipping are powers of this ratio, in units of a typical residual; tables have those of
# levels up to LEVELS and down to minus that.
LIMITS_PER_DOUBLING, LEVELS = 4, 240

# Part of what clipping takes at most that plans count as an error: of radii of bands it is half.
CLIPPED = 0.25

# Groups of simulated releases by their residual scale, where it is not known.
SCALES = 3

# Mean squares of covariates: squared errors of shooting vectors in those of predictions, averaged
# over covariates; that of the footpoint counts once.
SQUARES = {EVENLY: 1.0 / 12.0, TWO_GROUPS: 0.25, UNKNOWN: 1.0 / 12.0}


@dataclass(frozen=True, eq=False)
class Covariates:
    """A distribution of covariates from -1/2 to 1/2: nodes (m, k) with weights (m,).

    Or one for each of some releases: nodes (m, k, releases, 1) with weights (m, releases, 1).
    """

    nodes: np.ndarray
    weights: np.ndarray

    @classmethod
    def beta(cls, first, second):
        """A Beta distribution on the range of one covariate; with both one, spread evenly."""
        nodes, weights = _beta_nodes(first, second)
        return cls(nodes[:, None], weights)

    @classmethod
    @lru_cache(maxsize=64)
    def independent(cls, spreads, clustered=False):
        """Independent covariates, each spread as named; an unknown spread counts as ``evenly``.

        If clustered they are spread less well: by a Beta distribution, or in groups of other sizes.
        """
        beta = CLUSTERED if clustered else (1.0, 1.0)
        share = FIRST_GROUP if clustered else 0.5
        if len(spreads) > 3:
            # Sobol points, by inverse distribution functions.
            cube = sobol_points(len(spreads), 128)
            columns = [
                (level > share) - 0.5 if spread == TWO_GROUPS else betaincinv(*beta, level) - 0.5
                for spread, level in zip(spreads, cube.T, strict=True)
            ]
            return cls(np.stack(columns, axis=-1), np.full(len(cube), 1.0 / len(cube)))
        count = 5 if len(spreads) == 1 else 3
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
            mean, square = moments
            # Two groups at the ends have the largest variance, of which a Beta has a little less:
            # the sum of its parameters is at least so much that its nodes lie at the ends.
            both = max((0.25 - mean**2) / (square - mean**2) - 1.0, 0.01)
            return Covariates.beta((0.5 + mean) * both, (0.5 - mean) * both)
        (old, before), (new, after) = (_mean_and_root(each) for each in (self.moments, moments))
        return replace(self, nodes=new + (self.nodes - old) @ np.linalg.solve(before, after))

    def first(self, number):
        """The first of its nodes, which are even as those of a Sobol sequence are."""
        weights = self.weights[:number]
        return Covariates(self.nodes[:number], weights / np.sum(weights))

    @classmethod
    def by_turns(cls, each, repeats):
        """Distributions with as many nodes, by turns for releases, ``repeats`` times."""
        nodes = np.stack([some.nodes for some in each], axis=-1)
        weights = np.stack([some.weights for some in each], axis=-1)
        return cls(*(np.tile(some, repeats)[..., None] for some in (nodes, weights)))

    def drawn(self, rows):
        """Those of some releases; the same if there is one for all."""
        if self.weights.ndim == 1:
            return self
        return Covariates(self.nodes[:, :, rows], self.weights[:, rows])

    @classmethod
    def joined(cls, parts):
        """Those of some releases one after the other; the same if there is one for all."""
        if parts[0].weights.ndim == 1:
            return parts[0]
        nodes, weights = ([getattr(each, name) for each in parts] for name in ("nodes", "weights"))
        return cls(np.concatenate(nodes, axis=2), np.concatenate(weights, axis=1))

    @cached_property
    def moments(self):
        """Means of covariates and of their products; see `geodp_release.moments`."""
        found = self._means(1.0)
        return found[0] if self.weights.ndim == 1 else found

    @cached_property
    def matrix(self):
        """The `moment_matrix` of these."""
        return moment_matrix(self.moments)

    def weighted_matrix(self, parts):
        """The `matrix` (1 or releases, ...) where a part of records counts at each node.

        Parts are (m,), or (m, releases).
        """
        parts = np.reshape(parts, (len(parts), -1))
        matrix = moment_matrix(self._means(parts))
        matrix[:, 0, 0] = np.sum(self.by_release[0] * parts, axis=0)
        return matrix

    @cached_property
    def root(self):
        """Symmetric root of the covariance of covariates and their products, or one for each."""
        weights, values = self.by_release
        away = values - self._means(1.0).T
        values, vectors = np.linalg.eigh(np.einsum("mn,min,mjn->nij", weights, away, away))
        scaled = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
        return scaled @ np.swapaxes(vectors, -1, -2)

    @cached_property
    def by_release(self):
        """Weights (m, releases) of nodes; their covariates and products (m, values, releases).

        There is one column where all releases have the same distribution.
        """
        first, second = product_indices(self.nodes.shape[1])
        both = np.concatenate([self.nodes, self.nodes[:, first] * self.nodes[:, second]], axis=1)
        if self.weights.ndim == 1:
            return self.weights[:, None], both[..., None]
        return self.weights[..., 0], both[..., 0]

    @lru_cache(maxsize=16)  # noqa: B019
    def lengths(self, coordinates):
        """Lengths (m, 1 or releases) of contributions of residuals of length one at nodes."""
        return coordinates.lengths(self.nodes).reshape((len(self.nodes), -1))

    def _means(self, parts):
        weights, values = self.by_release
        return np.sum((weights * parts)[:, None] * values, axis=0).T


def _mean_and_root(moments):
    """Mean (k,) and symmetric square root (k, k) of the covariance, from moments."""
    matrix = moment_matrix(moments)
    mean = matrix[0, 1:]
    values, vectors = np.linalg.eigh(matrix[1:, 1:] - np.outer(mean, mean))
    return mean, (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _beta_nodes(first, second, number=5):
    nodes, weights = roots_jacobi(number, second - 1.0, first - 1.0)
    return 0.5 * nodes, weights / np.sum(weights)


def limit_at(level, typical):
    """The limit of clipping of an integer level, or those of an array."""
    return typical * 2.0 ** (level / LIMITS_PER_DOUBLING)


def level_of(limit, typical):
    """The level whose limit is nearest; levels for arrays."""
    levels = np.rint(LIMITS_PER_DOUBLING * np.log2(limit / typical)).astype(int)
    return levels if np.ndim(levels) else int(levels)


def length_grid(assumptions, factor=4096):
    """Lengths of residuals to choose from, the longest first, a level apart.

    From the longest that there can be about a state of the support down to a part of ``factor``.
    """
    longest = 2.0 * assumptions.reach
    octaves = int(np.ceil(np.log2(factor * assumptions.wider)))
    steps = np.arange(LIMITS_PER_DOUBLING * octaves + 1)
    return min(longest, assumptions.manifold.injectivity_radius) * 2.0 ** (
        -steps / LIMITS_PER_DOUBLING
    )


@lru_cache(maxsize=8)
def residual_lengths(dim, nodes=64, across=24, alone=1024):
    """Residuals about predictions at the distances of the tables, by quadrature.

    Their components along the error and lengths, each (distances, residuals), the shortest first.
    """
    # In one dimension no others make them finer.
    nodes = nodes if dim > 1 else alone
    along = ndtri((np.arange(nodes) + 0.5) / nodes)[:, None] / np.sqrt(dim)
    side = np.zeros(1)
    if dim > 1:
        places = (np.arange(across) + 0.5) / across
        side = np.sqrt(2.0 * gammaincinv(0.5 * (dim - 1), places) / dim)
    along = np.repeat(along, len(side), axis=1) + DISTANCES[:, None, None]
    both = np.reshape([along, np.hypot(along, side)], (2, len(DISTANCES), -1))
    return np.take_along_axis(both, np.argsort(both[1:]), axis=2)


@lru_cache(maxsize=8)
def clipped_residuals(dim):
    """Tables (levels, distances) of what clipping keeps of a mean residual, and of mean squares.

    The squares are in units of that of the limit, in single precision.
    """
    kept, squares, limits = [], [], limit_at(np.arange(-LEVELS, LEVELS + 1), 1.0)
    for along, length in zip(*residual_lengths(dim), strict=True):
        below = np.searchsorted(length, limits)
        each = np.array([along, along / length, length**2])
        sums, squared = np.zeros((3, 1 + len(length))), limits**2
        np.cumsum(each, axis=1, out=sums[:, 1:])
        mean, direction, square = sums[:, below]
        kept.append((mean + limits * (sums[1, -1] - direction)) / sums[0, -1])
        squares.append((square / squared + (len(length) - below)) / len(length))
    return np.transpose(kept).copy(), np.transpose(squares).astype(np.float32, order="C")


@lru_cache(maxsize=8)
def _clipped_moments(dim):
    """At all levels: what clipping keeps of a mean, and squares.

    In units of those of all residuals; shape (2, levels).
    """
    length = residual_lengths(dim)[1][0]
    limits = limit_at(np.arange(-LEVELS, LEVELS + 1), 1.0)[:, None]
    clipped, square = np.minimum(length, limits), np.mean(length**2)
    # Stein's lemma: the derivative of the mean is the mean product with the normal residual.
    return np.mean([length * clipped, clipped**2], axis=2) / square


def in_tables(levels):
    """Where the nearest levels are in tables."""
    return np.clip(levels, -LEVELS, LEVELS) + LEVELS


def places_in_tables(squares):
    """Index and fraction in tables of squared distances in units of a typical residual."""
    # Numbers of Python, beside which single precision stays single.
    low, high = (2.0 * math.log(each) for each in (1e-3, 1e4))
    number = len(DISTANCES)
    place = (np.log(np.maximum(squares, 1e-30)) - low) * ((number - 1) / (high - low))
    place = np.clip(place, 0.0, number - 1.001)
    below = place.astype(np.intp)
    return below, place - below.astype(place.dtype)


def looked_up_in(tables, rows, places):
    """Values of rows of tables, one for each place, at `places_in_tables`."""
    below, part = places
    flat, first = tables.ravel(), rows * tables.shape[1] + below
    low, high = flat.take(first), flat.take(first + 1)
    # In place: these are the largest arrays of a simulation.
    high -= low
    high *= part
    high += low
    return high


# Attributes of `FlatReleases` that may have an entry for each release.
EACH = (
    *("truth", "state", "deviates", "moments", "weight", "typical", "covariance"),
    *("reached", "doublings", "length", "far", "last_level", "counted", "excess", "left"),
)


@dataclass(frozen=True, eq=False)
class FlatReleases:
    """Simulated releases after some stages.

    Attributes
    ----------
    radii : ndarray, shape (1 + k,)
        Of the support.
    truth, state : ndarray, shape (releases, 1 + k, dim)
    covariates : Covariates
        As they are; `assumptions` says what they are assumed to be.
    deviates : ndarray, shape (releases, k (k + 3) / 2)
        Standard normal numbers, of which `deviations` are made.
    moments : ndarray, shape (releases, k (k + 3) / 2)
        Of the covariates, as assumed or as they were released.
    weight : ndarray, shape (releases,)
        Of each release in means, which are of the choices' own probabilities then.
    tails : float
        Part of the choices that are drawn with flatter probabilities, to see what rarely fails.
    reached : ndarray, shape (releases, 1 + k), or zero
        See `geodp_release.draw.Released`.
    covariance : ndarray, shape (releases, 1 + k, 1 + k), optional
        See `geodp_release.stages.NoisyStep.change`.
    uncertainty : ndarray, shape (k (k + 3) / 2,), optional
        Standard deviations of true moments about these, where they were released.
    last_level : int or ndarray, shape (releases,), optional
        Level at which the last step clipped contributions.
    counted : float or ndarray, shape (releases, 1, 1)
        Number of subjects over what was released of it.
    typical : float or ndarray, shape (releases,)
        Root mean squared length of a residual.
    doublings : ndarray, shape (releases, k), optional
        Of residuals over the range of each covariate; they are of one scale unless given.
    length : ndarray, shape (releases,), optional
        The residual length that was released last.
    far : ndarray, shape (releases,), optional
        Noisy number of records far away.
    excess : float or ndarray, shape (releases,)
        After a last step: mean length that clipping of the last step takes from residuals, at most.
    left : ndarray, shape (releases, 1 + k, 1 + k), optional
        Root of the covariance of what the last step leaves, in each direction, of errors before it
        that residuals unlike normal ones have made.
    is_whole : bool
        See `geodp_release.draw.Released`; residuals are clipped then, and not contributions.
    within : float, optional
        See `geodp_release.draw.Released`, where it was released.
    kept : dict
        Points of the support that were found, by their number.
    """

    assumptions: Any
    radii: np.ndarray
    truth: np.ndarray
    state: np.ndarray
    covariates: Covariates
    deviates: np.ndarray
    moments: np.ndarray
    weight: np.ndarray
    tails: float
    typical: Any
    reached: Any = 0.0
    covariance: np.ndarray | None = None
    uncertainty: np.ndarray | None = None
    last_level: Any = None
    doublings: np.ndarray | None = None
    counted: Any = 1.0
    length: np.ndarray | None = None
    far: np.ndarray | None = None
    excess: Any = 0.0
    left: np.ndarray | None = None
    is_whole: bool = False
    within: float | None = None
    kept: dict = field(default_factory=dict)

    def __post_init__(self):
        for name in EACH:
            if np.ndim(value := getattr(self, name)) > 1:
                object.__setattr__(self, name, np.asfortranarray(value))

    @classmethod
    def start(cls, assumptions, releases, rng, tails=0.0, size=None, doublings=None):
        """Before the first stage: the state is in the middle of the support.

        The truth is in balls of `Assumptions.sizes`, or of a ``size`` or sizes (releases,), in
        parts of the support.  Residuals have all numbers of ``doublings`` up to the given one, over
        the ranges of all covariates together.
        """
        radii = assumptions.support.radii
        normal = rng.normal(size=(releases, len(radii), assumptions.manifold.dim))
        # In many dimensions a uniform point of a ball is always near its edge, where nobody who
        # chooses a support expects the truth.
        sizes = assumptions.sizes(releases) if size is None else np.broadcast_to(size, releases)
        sizes = radii * sizes[:, None]
        length = sizes[..., None] * rng.random((releases, len(radii), 1))
        truth = normal * (length / np.linalg.norm(normal, axis=-1, keepdims=True))
        assumed, count = Covariates.independent(assumptions.spreads), len(assumptions.spreads)
        if doublings is not None:
            doublings = rng.uniform(-doublings, doublings, (releases, count)) / max(count, 1)
        number = len(assumed.moments)
        return cls(
            assumptions,
            radii,
            truth=truth,
            state=np.zeros_like(truth),
            covariates=assumed,
            deviates=rng.normal(size=(releases, number)),
            moments=np.broadcast_to(assumed.moments, (releases, number)),
            weight=np.ones(releases),
            tails=tails,
            typical=assumptions.typical_length(releases),
            doublings=doublings,
        )

    @property
    def dim(self):
        """Dimension of the space."""
        return self.truth.shape[-1]

    @property
    def number(self):
        """Number of subjects."""
        return self.assumptions.subjects

    @property
    def weights(self):
        """Weights (1 + k,) of squared errors of the parts of a state in that of predictions."""
        return np.array([1.0, *(SQUARES[spread] for spread in self.assumptions.spreads)])

    @cached_property
    def coordinates(self):
        """`ClippingCoordinates` of steps, as if all had the mean of these moments."""
        if self.is_whole:
            return ClippingCoordinates.whole(len(self.radii) - 1)
        return ClippingCoordinates.about(np.average(self.moments, axis=0, weights=self.weight))

    @cached_property
    def deviations(self):
        """Of the sample's moments of covariates from their expectation, as `deviates`."""
        if not np.any(self.deviates):
            return np.zeros(self.deviates.shape)
        found = products(self.covariates.root, self.deviates[..., None])[..., 0]
        return found / np.sqrt(self.number)

    @cached_property
    def errors(self):
        """Truth minus state (releases, 1 + k, dim)."""
        return self.truth - self.state

    def drawn(self, rows):
        """Only some of the releases, by a mask or indices."""
        chosen = {name: getattr(self, name)[rows] for name in EACH if np.ndim(getattr(self, name))}
        chosen["covariates"] = self.covariates.drawn(rows)
        return replace(self, **chosen, kept={})

    @classmethod
    def joined(cls, parts):
        """Releases one after the other that went different ways from the same beginning."""
        joined = {
            name: np.concatenate([getattr(each, name) for each in parts])
            for name in EACH
            if np.ndim(getattr(parts[0], name))
        }
        joined["covariates"] = Covariates.joined([each.covariates for each in parts])
        return replace(parts[0], **joined, kept={})

    @cached_property
    def at_nodes(self):
        """Errors (m, releases, dim) of predictions at nodes, and `places_in_tables` of squares."""
        first, *others = np.moveaxis(self.errors, 1, 0)
        columns = np.moveaxis(self.covariates.by_release[1], 1, 0)[: len(others), ..., None]
        errors = sum((x * other for x, other in zip(columns, others, strict=True)), first[None])
        lengths = self.typical * self.scales_at_nodes
        return errors, places_in_tables(np.einsum("mnd,mnd->mn", errors, errors) / lengths**2)

    @cached_property
    def scales_at_nodes(self):
        """Root mean squared residuals (m, 1 or releases) at nodes, in parts of `typical`."""
        weights, values = self.covariates.by_release
        if self.doublings is None:
            return np.ones((len(weights), 1))
        sizes = np.exp2(np.sum(values[:, : self.doublings.shape[1]] * self.doublings.T, axis=1))
        return sizes / np.sqrt(np.sum(weights * sizes**2, axis=0))

    @property
    def lengths_at_nodes(self):
        """Norms (m, 1 or releases) that are clipped, of residuals of length one at nodes."""
        if self.is_whole:
            return np.ones((len(self.covariates.nodes), 1))
        return self.covariates.lengths(self.coordinates)

    @property
    def clipped_square(self):
        """Typical mean square of residuals as the last step clipped them, in parts of all."""
        squares = _clipped_moments(self.dim)[1, in_tables(self.last_level - self.shifts_at_nodes)]
        return float(np.median(squares))

    @cached_property
    def shifts_at_nodes(self):
        """By how many levels (m, 1 or releases) contributions at nodes are longer than `typical`.

        So far below the level at which contributions are clipped that of their residuals is.
        """
        return level_of(self.lengths_at_nodes * self.scales_at_nodes, 1.0)

    @cached_property
    def _estimates(self):
        """Covariances (1 or releases, 1 + k, 1 + k) of the estimate of one record of length one.

        By what clipping leaves of means and squares at nodes.
        """
        shifts, sizes = self.shifts_at_nodes, self.scales_at_nodes
        if self.last_level is None:
            means, squares = np.ones_like(shifts), np.full(shifts.shape, 2.0)
        else:
            means, squares = _clipped_moments(self.dim)[:, in_tables(self.last_level - shifts)]
        inverse = inverses(self.covariates.weighted_matrix(means))
        squares = self.covariates.weighted_matrix(squares * sizes**2)
        return products(inverse, squares, inverse) / self.dim

    @property
    def estimate_covariance(self):
        """Of a coordinate of the estimate without noise (..., 1 + k, 1 + k), by clipped residuals.

        After a choice among points, about that of the estimate of truncated least squares.
        """
        scales = np.square(self.typical) / self.number
        return self._estimates * np.reshape(scales, (-1, 1, 1))

    @property
    def estimate_squares(self):
        """Mean squared errors (..., 1 + k) of the estimate that a release without noise gives."""
        return self.dim * np.diagonal(self.estimate_covariance, axis1=-2, axis2=-1)

    @property
    def subject_squares(self):
        """Squared errors (releases,) of predictions over where subjects are."""
        matrix = self.covariates.matrix
        squares = np.einsum("nbd,...bc,ncd->n", self.errors, matrix, self.errors)
        parts = np.sum(matrix * self._estimates, axis=(-2, -1))
        return squares + self.dim * parts * np.square(self.typical) / self.number

    @property
    def band_squares(self):
        """Squares (releases,) in proportion to those of bands' radii over where subjects are.

        With what is left of errors that residuals unlike normal ones make, and a part of what
        clipping takes at most.
        """
        squares = self.subject_squares
        if self.left is not None:
            left = np.einsum("nbi,...bc,nci->n", self.left, self.covariates.matrix, self.left)
            squares = squares + self.dim * left
        # The mean leverage of a record is one for each part of a state.
        clipped = np.sqrt(len(self.radii)) * self.excess
        return np.square(np.sqrt(squares) + CLIPPED * clipped)

    @property
    def range_squares(self):
        """Squared errors (releases,) of predictions over the covariates' whole ranges."""
        return (np.sum(self.errors**2, axis=-1) + self.estimate_squares) @ self.weights

    def mean(self, squares):
        """Mean of squared errors (releases,): a residual scale that is not known may be any.

        Then it is the geometric mean of those of groups by residual scale.
        """
        if np.ptp(self.typical) == 0.0:
            return float(np.average(squares, weights=self.weight))
        order, number = np.argsort(self.typical, kind="stable"), len(self.weight)
        # In units of residuals, so that the largest of a group does not decide alone.
        parts = self.weight * squares / self.typical**2, self.weight, 2.0 * np.log(self.typical)
        starts = -(-np.arange(SCALES) * number // SCALES)
        relative, weights, sizes = np.add.reduceat(np.array(parts)[:, order], starts, axis=1)
        sizes /= np.diff(starts, append=number)
        return float(np.exp(np.mean(sizes + np.log(relative / weights))))

    @property
    def curve(self):
        """Mean squared error of predictions over where subjects are."""
        return self.mean(self.subject_squares)
