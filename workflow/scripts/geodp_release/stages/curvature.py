"""From steps and errors in flat space to those on the manifold, by derivatives of predictions.

And where a step leads: always to a state in the support.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from geodp.manifolds.symmetric import JACOBI_SOLUTIONS
from geodp_release.run.covariate_moments import possible_moments
from geodp_release.stages.covariates import Covariates

# What is added to the diagonal of mean squares, in parts of its mean, so that they have an inverse.
RIDGE = 1e-12


def derivatives(manifold, state, nodes, numbers=1 << 18):
    """Derivatives (m, dim, (1 + k) dim) of predictions at covariates (m, k) by a state.

    In a frame at the footpoint, to which they are carried back (Kulkarni and Soto, eq. 7 and 8).
    About so many ``numbers`` are computed at once.
    """
    p, *vectors = state
    frame, dim = manifold.frame(p), manifold.dim
    steps = manifold.combinations(np.stack(vectors), nodes)
    frequencies = manifold.frequencies(p, steps)
    factors = _factors(manifold, frequencies)
    found = np.empty((2, len(nodes), dim, dim))
    # Vectors at a node for a direction: a part in each eigenspace; and where the space has an inner
    # product of its own, products of both derivatives with all of the frame.
    vectors_each = max(frequencies.shape[-1], 1 if manifold.ambient_inner else 2 * dim)
    at_once = max(numbers // (len(nodes) * vectors_each * frame[0].size), 1)
    for start in range(0, dim, at_once):
        some = np.expand_dims(frame[start : start + at_once], 1)
        parts = manifold.split(p, steps, np.broadcast_to(some, (len(some), *steps.shape)))
        moved = np.einsum("fmi,nmi...->nfm...", factors, parts)
        each = manifold.coordinates(p, moved, frame)
        found[..., start : start + at_once] = np.moveaxis(each, 0, -1)
    of_point, of_vector = found
    along = nodes[:, :, None, None] * of_vector[:, None]
    blocks = np.concatenate([of_point[:, None], along], axis=1)
    return np.moveaxis(blocks, 1, 2).reshape((len(nodes), dim, -1))


def _factors(manifold, frequencies, least=0.5):
    """Jacobi factors (2, m, K) of derivatives by footpoint and vector, from frequencies (m, K).

    The least is followed: near a conjugate point a step would have no end.
    """
    factors = np.ones((2, *frequencies.shape))
    for index, sign in enumerate(manifold.curvature_signs):
        if not sign:
            continue
        for each, solution in zip(factors, JACOBI_SOLUTIONS.values(), strict=True):
            each[:, index] = solution(sign, frequencies[:, index])
    return np.maximum(factors, least, out=factors)


@dataclass(frozen=True)
class Predictions:
    """Derivatives of predictions at weighted covariates by a state, and least squares by them.

    Changes of a state are tangent vectors (1 + k, *point_shape) at its footpoint, to which those at
    predictions are carried back.  Sums over covariates fall into independent parts (K, n, r): r
    systems of n equations each, of which `squares` (K, n, n) are the matrices.  There are ``parts``
    of a change, which ``joined`` undoes; ``moves`` (m, *point_shape) of predictions by a change;
    and their transpose, the ``gradient`` in parts of vectors at predictions.
    """

    manifold: Any
    state: np.ndarray  # (1 + k, *point_shape)
    weights: np.ndarray  # (m,)
    steps: np.ndarray  # (m, *point_shape): from the footpoint to predictions.

    @classmethod
    def of(cls, manifold, state, covariates):
        """At weighted `Covariates`; with one of these by eigenspaces, which all nodes share."""
        nodes = covariates.nodes
        given = manifold, state, covariates.weights, manifold.combinations(state[1:], nodes)
        if len(state) > 2:
            return AllPredictions(*given, derivatives(manifold, state, nodes))
        factors = _factors(manifold, np.abs(nodes) * manifold.frequencies(*state))
        factors[1] *= nodes
        return PredictionsAlong(*given, factors)

    def residuals(self, points):
        """Logarithms (m, *point_shape) of points as seen from predictions, carried back."""
        p = self.state[0]
        away = self.manifold.log(self.manifold.exp(p, self.steps), points)
        return self.manifold.transport_back(p, self.steps, away)

    def moved(self, vectors):
        """Points (m, *point_shape) to which predictions are taken by vectors that are carried."""
        p = np.broadcast_to(self.state[0], self.steps.shape)
        carried = self.manifold.transport(p, self.steps, vectors)
        return self.manifold.exp(self.manifold.exp(p, self.steps), carried)


@dataclass(frozen=True)
class PredictionsAlong(Predictions):
    """With one covariate: derivatives are numbers in each of K eigenspaces, ``factors`` (2, m, K).

    So systems are of two equations, for footpoint and vector.
    """

    factors: np.ndarray

    @property
    def squares(self):
        found = np.einsum("m,ami,bmi->iab", self.weights, self.factors, self.factors)
        trace = np.trace(found, axis1=1, axis2=2) @ self.manifold.multiplicities
        return found + RIDGE * trace / (2 * self.manifold.dim) * np.eye(2)

    def _split(self, vectors):
        """Components (n, K, r) of vectors (n, *point_shape)."""
        found = self.manifold.split(*self.state, vectors)
        return found.reshape((*found.shape[:2], -1))

    def parts(self, change):
        return np.moveaxis(self._split(change), 0, 1)

    def joined(self, parts):
        return np.sum(parts, axis=0).reshape(self.state.shape)

    def moves(self, change):
        found = np.einsum("ami,air->mr", self.factors, self._split(change))
        return found.reshape(self.steps.shape)

    def gradient(self, vectors):
        factors = self.weights[:, None] * self.factors
        return np.einsum("ami,mir->iar", factors, self._split(vectors))


@dataclass(frozen=True)
class AllPredictions(Predictions):
    """With several covariates: one system for all coordinates, by `derivatives`."""

    each: np.ndarray

    @property
    def squares(self):
        return mean_square(self.each, self.weights)[None]

    def parts(self, change):
        return self._coordinates(change).reshape((1, -1, 1))

    def joined(self, parts):
        return self._vectors(parts.reshape((len(self.state), -1)))

    def moves(self, change):
        return self._vectors(self.each @ np.ravel(self._coordinates(change)))

    def gradient(self, vectors):
        found = weighted(self.each, self.weights) @ np.ravel(self._coordinates(vectors))
        return found[None, :, None]

    def _coordinates(self, vectors):
        return self.manifold.coordinates(self.state[0], vectors)

    def _vectors(self, coordinates):
        return self.manifold.tangent(self.state[0], coordinates)


def looked_at(assumptions, moments, most=256):
    """Covariates with these moments, kept for the next call.

    ``None`` in flat space, without a covariate, and for more numbers of a state than the ``most``
    of which a matrix of squares is inverted.
    """
    numbers = assumptions.manifold.dim * (1 + assumptions.number_of_covariates)
    if assumptions.is_flat or not assumptions.spreads or numbers > most:
        return None
    return _with_moments(Covariates.assumed(assumptions), tuple(moments))


@lru_cache(maxsize=64)
def _with_moments(covariates, moments):
    found = covariates.with_moments(possible_moments(np.array(moments)))
    # In their ranges, beyond which predictions would be without end, as of many cells of words.
    return replace(found, nodes=np.clip(found.nodes, -0.5, 0.5))


def moved(assumptions, state, change):
    """The state after a step of tangent vectors (1 + k, *point_shape), brought to the support.

    And what it reached (1 + k,), as `Released` has it.
    """
    manifold = assumptions.manifold
    radii = np.append(assumptions.footpoint_radius, assumptions.lengths)
    p, *vectors = state
    # No farther than across the support, so that nothing overflows.
    step, *turns = _shortened(manifold, p, change, 2.0 * radii)
    end = manifold.exp(p, step)
    vectors = [
        manifold.transport(p, step, v + turn) for v, turn in zip(vectors, turns, strict=True)
    ]
    distance = float(manifold.dist(assumptions.centre, end))
    if distance > assumptions.footpoint_radius:
        away = manifold.log(assumptions.centre, end)
        # Of the logarithm itself, which loses digits far away.
        length = float(manifold.norm(assumptions.centre, away))
        shorter = (1.0 - 1e-12) * assumptions.footpoint_radius / length
        inside = manifold.exp(assumptions.centre, shorter * away)
        vectors = [manifold.transport_to(end, inside, v) for v in vectors]
        end = inside
    # Measured where they are shortened, as transports from far away lose digits.
    reached = np.array([distance, *(float(manifold.norm(end, v)) for v in vectors)]) / radii
    shorter = (1.0 - 1e-12) / np.maximum(reached[1:], 1.0 - 1e-12)
    vectors = [v * each for v, each in zip(vectors, shorter, strict=True)]
    return np.stack([end, *vectors]), reached


def straightened(assumptions, state, change, moments, rounds=5, tolerance=1e-9):
    """As `moved`, but to the geodesic nearest to predictions that are moved, by `Predictions`.

    Where covariates have these moments.  A change of a geodesic is no line far from where it is
    made: predictions go along geodesics of their own.
    """
    manifold, covariates = assumptions.manifold, looked_at(assumptions, moments)
    change = manifold.tangent(state[0], change)
    found, reached = moved(assumptions, state, change)
    if covariates is None:
        return found, reached
    p, seen = state[0], Predictions.of(manifold, state, covariates)
    radii = np.append(assumptions.footpoint_radius, assumptions.lengths)
    change = _shortened(manifold, p, change, 2.0 * radii)
    # No farther than predictions are from the centre, so that nothing overflows.
    predictions = seen.moved(_shortened(manifold, p, seen.moves(change), assumptions.reach))
    least = tolerance * np.linalg.norm(manifold.norm(p, change))
    for _ in range(rounds):
        seen = Predictions.of(manifold, found, covariates)
        gradient = seen.gradient(seen.residuals(predictions))
        more = seen.joined(np.linalg.solve(seen.squares, gradient))
        if not np.all(np.isfinite(more)):
            break
        length = np.linalg.norm(manifold.norm(found[0], more))
        found, reached = moved(assumptions, found, more)
        if length < least:
            break
    return found, reached


def _shortened(manifold, point, vectors, limits):
    """Tangent vectors, no longer than limits; their lengths may be too large to square."""
    axes = tuple(range(1, vectors.ndim))
    largest = np.maximum(np.max(np.abs(vectors), axis=axes, keepdims=True), 1e-300)
    lengths = largest * manifold.expand(manifold.norm(point, vectors / largest))
    limits = manifold.expand(limits)
    return np.where(lengths > limits, vectors * (limits / lengths), vectors)


def mean_squares(assumptions, state, moments):
    """Mean squares ((1 + k) dim, (1 + k) dim) of `derivatives`, and those of flat space.

    Where covariates have these moments.  ``None`` where `looked_at` is.
    """
    manifold = assumptions.manifold
    covariates = looked_at(assumptions, moments)
    if covariates is None:
        return None
    each = derivatives(manifold, state, covariates.nodes)
    flat = np.kron(covariates.matrix, np.eye(manifold.dim))
    return mean_square(each, covariates.weights), flat


def bend(assumptions, state, moments):
    """Matrix ((1 + k) dim, (1 + k) dim) that makes of an error in flat space one in the space.

    Mean gradients are of an error times the first of `mean_squares`, and not the second.  ``None``
    where `looked_at` is.
    """
    found = mean_squares(assumptions, state, moments)
    return None if found is None else np.linalg.solve(*found)


def bent(matrix, changes):
    """Changes (..., 1 + k, dim) of a state, or its errors, times a matrix of `bend`."""
    if matrix is None:
        return changes
    return (changes.reshape((*changes.shape[:-2], -1)) @ matrix.T).reshape(changes.shape)


def weighted(each, weights):
    """Transposed matrix ((1 + k) dim, m dim) of `derivatives` times weights (m,) of covariates."""
    return (weights[:, None, None] * each).reshape((-1, each.shape[-1])).T


def mean_square(each, weights):
    """Mean square of `derivatives` over covariates with weights (m,), which has an inverse."""
    found = weighted(each, weights) @ each.reshape((-1, each.shape[-1]))
    return found + RIDGE * np.mean(np.diagonal(found)) * np.eye(len(found))
