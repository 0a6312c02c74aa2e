"""Assumed distributions of covariates over their ranges, for simulated releases."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from scipy.special import betaincinv

from geodp.manifolds.supports import sobol_points
from geodp.models.terms import LINE
from geodp_release.promise.public_inputs import SQUARES, TWO_GROUPS
from geodp_release.run.covariate_moments import moment_matrix, product_indices


@dataclass(frozen=True, eq=False)
class Covariates:
    """A distribution of covariates from -1/2 to 1/2: nodes (m, k) with weights (m,).

    Or one for each of some releases: nodes (m, k, releases) with weights (m, releases).
    """

    nodes: np.ndarray
    weights: np.ndarray

    @classmethod
    def assumed(cls, assumptions, clustered=False):
        """Columns that are independent, each spread as assumed, and the covariates of them.

        So that those of a basis lie on the curve on which they always are.  If ``clustered``
        columns are spread less well; see `_column`.
        """
        terms = assumptions.terms
        if terms.is_plain:
            return cls.independent(assumptions.spreads, clustered)
        return _expanded(assumptions.spreads, clustered, terms)

    @classmethod
    @lru_cache(maxsize=64)
    def independent(cls, spreads, clustered=False, counts=None, most=64):
        """Independent covariates, each spread as named; an unknown spread counts as ``evenly``.

        By ``counts`` nodes of each, if they are so many at ``most``; a negative one is of so many
        groups.
        """
        counts = counts or (5 if len(spreads) == 1 else 3,) * len(spreads)
        if len(spreads) > 3 or np.prod(np.abs(counts)) > most:
            # Sobol points, by inverse distribution functions.
            cube = sobol_points(len(spreads), 128).T
            columns = [
                _column(spread, count, levels, clustered)
                for spread, count, levels in zip(spreads, counts, cube, strict=True)
            ]
            return cls(np.stack(columns, axis=-1), np.full(128, 1.0 / 128))
        each = [_column(*some, None, clustered) for some in zip(spreads, counts, strict=True)]
        nodes = np.array(list(product(*(places for places, _ in each))))
        weights = np.array([np.prod(some) for some in product(*(shares for _, shares in each))])
        return cls(nodes.reshape((len(weights), len(spreads))), weights)

    @classmethod
    def assumed_squares(cls, assumptions):
        """Mean squares (1 + k,) of 1 and of covariates as assumed."""
        if assumptions.terms.is_plain:
            return np.array([1.0, *(SQUARES[spread] for spread in assumptions.spreads)])
        return np.diagonal(cls.assumed(assumptions).matrix)

    def with_moments(self, moments):
        """A distribution with these moments (m,): a Beta, or of several covariates an affine map.

        Or with moments (releases, m) one for each.
        """
        if self.nodes.shape[1] == 1:
            mean, square = np.moveaxis(moments, -1, 0)
            # Two groups at the ends have the largest variance, of which a Beta has a little less:
            # the sum of its parameters is at least so much that its nodes lie at the ends.
            both = np.maximum((0.25 - mean**2) / (square - mean**2) - 1.0, 0.01)
            nodes, weights = _beta_nodes((0.5 + mean) * both, (0.5 - mean) * both)
            nodes, weights = np.moveaxis(nodes, -1, 0)[:, None], np.moveaxis(weights, -1, 0)
        else:
            (old, before), (new, after) = (_mean_and_root(each) for each in (self.moments, moments))
            nodes = new[..., None, :] + (self.nodes - old) @ np.linalg.solve(before, after)
            nodes = np.moveaxis(nodes, (-2, -1), (0, 1))
            weights = np.broadcast_to(self.weights, (*new.shape[:-1], len(self.weights))).T
        return Covariates(nodes, weights)

    def first(self, number):
        """The first of its nodes, which are even as those of a Sobol sequence are."""
        weights = self.weights[:number]
        return Covariates(self.nodes[:number], weights / np.sum(weights))

    @classmethod
    def by_turns(cls, each, repeats):
        """Distributions with as many nodes, by turns for releases, ``repeats`` times."""
        weights, values = zip(*(some.by_release for some in each), strict=True)
        nodes = [some[:, : each[0].nodes.shape[1]] for some in values]
        both = (np.concatenate(some, axis=-1) for some in (nodes, weights))
        return cls(*(np.tile(some, repeats) for some in both))

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
        """Means of covariates and of their products; see `geodp_release.run.covariate_moments`."""
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
        return self.weights, both

    @lru_cache(maxsize=16)  # noqa: B019
    def lengths(self, coordinates):
        """Lengths (m, 1 or releases) of contributions of residuals of length one at nodes."""
        return coordinates.lengths(self.nodes).reshape((len(self.nodes), -1))

    def _means(self, parts):
        weights, values = self.by_release
        if values.shape[-1] == 1:
            # Without an array of all three axes, which is large where covariates are many.
            return np.einsum("mn,mv->nv", weights * parts, values[..., 0])
        return np.sum((weights * parts)[:, None] * values, axis=0).T


@lru_cache(maxsize=64)
def _expanded(spreads, clustered, terms):
    counts = [
        -len(terms.words(column)) or (3 if basis == LINE else 9 + len(terms.of(column)))
        for column, basis in enumerate(terms.bases)
    ]
    found = Covariates.independent(spreads, clustered, tuple(counts))
    return replace(found, nodes=terms.expand(found.nodes))


def _column(spread, count, levels, clustered):
    """Nodes and weights of one covariate, or its quantiles of some levels.

    If it is ``clustered`` by a Beta(2, 5) distribution, or with most records in the first group.
    """
    beta, share = ((2.0, 5.0), 0.75) if clustered else ((1.0, 1.0), 0.5)
    if spread == TWO_GROUPS or count < 0:
        groups = max(-count, 2)
        places = np.linspace(-0.5, 0.5, groups)
        if groups > 2 and not clustered:
            share = 1.0 / groups
        shares = np.array([share, *[(1.0 - share) / (groups - 1)] * (groups - 1)])
        if levels is None:
            return places, shares
        # Of the last group whatever rounding leaves.
        return places[np.searchsorted(np.cumsum(shares)[:-1], levels)]
    if levels is None:
        return _beta_nodes(*beta, count)
    return betaincinv(*beta, levels) - 0.5


def _mean_and_root(moments):
    """Means (..., k) and symmetric square roots (..., k, k) of covariances, from moments."""
    matrix = moment_matrix(moments)
    mean = matrix[..., 0, 1:]
    values, vectors = np.linalg.eigh(matrix[..., 1:, 1:] - mean[..., :, None] * mean[..., None, :])
    scaled = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    return mean, scaled @ np.swapaxes(vectors, -1, -2)


def _beta_nodes(first, second, number=5):
    """Nodes and weights (..., number) of Beta distributions on [-1/2, 1/2], by their parameters.

    From the recurrence of Jacobi polynomials (Golub and Welsch 1969).
    """
    a, b = (np.asarray(each, dtype=float)[..., None] - 1.0 for each in (second, first))
    k = np.arange(1.0, number)
    both = 2.0 * k + a + b
    middle = (b - a) / (2.0 + a + b), (b * b - a * a) / (both * (both + 2.0))
    # The first of these factors is one, also where it would be zero over zero.
    rest = k[1:] * (k[1:] + a + b) / (both[..., 1:] - 1.0)
    factor = np.concatenate([np.ones_like(a), rest], axis=-1)
    beside = 2.0 / both * np.sqrt((k + a) * (k + b) * factor / (both + 1.0))
    matrix = np.concatenate(middle, axis=-1)[..., None] * np.eye(number)
    matrix[..., np.arange(1, number), np.arange(number - 1)] = beside
    values, vectors = np.linalg.eigh(matrix)
    return 0.5 * values, vectors[..., 0, :] ** 2
