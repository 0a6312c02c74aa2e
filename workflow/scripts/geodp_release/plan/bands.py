"""Confidence bands of released geodesics, from simulated noise and sampling variation.

The error of a release is the noise of its stages, whose distribution is that of the plan, and the
sampling variation of the estimate that a release without noise would give.  Both are simulated from
public assumptions and carried through the curvature of the space at the released geodesic, so that
a band costs no budget.

Sampling variation is that of second moments of contributions where a release has them, and what
clipping of the last step may take from long residuals makes bands wider.

Errors are simulated in flat space, and made those of the space by `in_the_space`.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from geodp_release.plan.agreeing import SEED
from geodp_release.run.covariate_moments import inverses, products
from geodp_release.stages import ProductsStage
from geodp_release.stages.counts import LEAST_WITHIN, squares_beyond, student_squares_beyond
from geodp_release.stages.curvature import bend, bent
from geodp_release.stages.matrix import triangle_matrix
from geodp_release.stages.step import limits_at, stretch

# Probabilities of the bands that a release shows.
LEVELS = (0.9, 0.95)

# Least eigenvalue of second moments about those of normal residuals, in parts of these.
LEAST_SCATTER = 0.05


class Estimate(NamedTuple):
    """A number, or an array, with the interval of a level.

    Attributes
    ----------
    value, low, high : float or ndarray
    level : float
    """

    value: Any
    low: Any
    high: Any
    level: float

    @classmethod
    def of(cls, draws, level):
        """Median and interval of simulated values that agree with a release."""
        tails = 0.5 * (1.0 - level), 0.5 * (1.0 + level)
        low, value, high = np.quantile(draws, [tails[0], 0.5, tails[1]])
        return cls(float(value), float(low), float(high), level)

    def words(self, unit=""):
        """The number and its interval."""
        return f"{self.value:.2g}{unit} ({self.low:.2g} to {self.high:.2g}, {self.level:.0%})"


def explained_variances(vectors, errors, moments, subjects):
    """Variances (n,) of predictions of a population that agree with released shooting vectors.

    These are (k, dim), errors (n, k, dim), and moments the matrix (1 + k, 1 + k), or one for each
    of n, of the covariates of a sample of so many subjects.
    """
    middle = moments[..., 1:, :1]
    covariance = moments[..., 1:, 1:] - middle * np.swapaxes(middle, -1, -2)
    # No variance within a range varies more with the sample: of squares up to the farther end's.
    ends, own = (0.5 + np.abs(middle[..., 0])) ** 2, np.diagonal(covariance, axis1=-2, axis2=-1)
    spread = np.sqrt(np.maximum(ends / np.maximum(own, 1e-300) - 1.0, 0.0) / subjects)
    normal = np.random.default_rng([SEED, 3]).normal(size=(len(errors), spread.shape[-1]))
    size = np.sqrt(np.maximum(1.0 + spread * normal, 0.0))
    covariance = covariance * size[:, :, None] * size[:, None, :]
    released = np.sum(vectors * (covariance @ vectors), axis=(-2, -1))
    # Those of releases of what was released differ from it as it differs from the truth.
    again = vectors - errors
    again = np.sum(again * (covariance @ again), axis=(-2, -1))
    return np.maximum(2.0 * released - again, 0.0)


@dataclass(frozen=True, eq=False)
class Scatter:
    """Second moments of contributions as they were released: what sampling errors are made of."""

    # Mean products (1 + k, 1 + k) of contributions to footpoint and shooting vectors, over all
    # directions; and the standard deviation of what noise leaves unknown of an entry of them in
    # clipping coordinates.
    blocks: np.ndarray
    noise: float
    coordinates: Any
    # Scatter (dim, dim) by direction, of a trace of one; and the part that is known of it.
    directions: np.ndarray
    known: float
    least: float  # Eigenvalue of blocks in these coordinates.
    guessed: float  # Part of blocks that simulated residuals stand for.
    # Length to which residuals in them are clipped, the share that is longer, about, and what of
    # their mean square clipping took at most, if tails are as the statement about them says.
    clip: float
    share: float
    lost: float
    kept: tuple[float, float]  # Part of a small error left in contributions, and its deviation.

    @classmethod
    def of(cls, release, found):
        """Of a release, whose simulated releases are given; ``None`` if it measured none."""
        # Prior standard deviation of second moments, in parts of those of normal residuals.
        unlike_normal = 0.5
        assumptions = release.plan.assumptions
        stages = list(with_looks(release.plan, ProductsStage))
        if all(stage.directions for stage, *_ in stages):
            return None
        coordinates = found.coordinates
        back, dim = np.linalg.inv(coordinates.gradients), assumptions.manifold.dim
        square = float(np.median(np.broadcast_to(found.typical, len(found.truth)) ** 2))
        square *= found.clipped_square if found.is_whole else 1.0
        # As normal residuals of one scale would have them.
        mean = np.mean(found.covariates.weighted_matrix(np.ones(len(found.covariates.nodes))), 0)
        expected = square * back @ mean @ back.T
        size, matrices = len(expected), map(triangle_matrix, map(np.array, release.products))
        unit, parts = np.trace(expected) / size, {}
        for (stage, looks, share), matrix in zip(stages, matrices, strict=True):
            length = release.lengths[looks - 1]
            clip, _ = limits_at(stage.clip * length, assumptions)
            spread = stage.deviation(assumptions) * clip**2 * assumptions.subjects / release.number
            typical = np.trace(expected) / stage.size(assumptions)
            noise = np.sqrt(stage.size(assumptions)) * spread / typical
            part = unlike_normal**2 / (unlike_normal**2 + noise**2)
            parts[stage.directions] = matrix, spread, part, (length, share, stage.clip)
        matrix, spread, part, (length, share, clip) = parts[False]
        # What clipping took from squares, at most, spread as those of normal residuals are; clips
        # are of contributions, whose typical norm is this.
        ratio = max(clip / np.mean(stretch(found)), 1.0)
        lost, kept = part * length**2 * squares_beyond(share, ratio, dim), (1.0, 0.0)
        if release.within is not None:
            # Clipped as Huber's loss has it, so that nothing is lost.
            lost, kept = 0.0, release.within
        blocks = expected + part * (matrix - expected) + lost * expected / square
        directions, known = np.eye(dim) / dim, 0.0
        if True in parts:
            values, vectors = np.linalg.eigh(parts[True][0])
            # Noise may leave nothing above zero, and then all directions are alike.
            least = LEAST_SCATTER * np.sum(np.abs(values)) / dim
            values = np.maximum(values, max(least, 1e-300))
            directions, known = (vectors * values) @ vectors.T / np.sum(values), parts[True][2]
        noise = np.sqrt(part) * spread
        least, guessed = LEAST_SCATTER * unit, 1.0 - part
        limits = ratio * length, share, lost, kept
        return cls(blocks, noise, coordinates, directions, known, least, guessed, *limits)

    def drawn(self, rng, number):
        """Roots (number, 1 + k, 1 + k) of mean products of contributions that agree with these."""
        normal = rng.normal(size=(number, *self.blocks.shape))
        normal = (normal + np.swapaxes(normal, -1, -2)) / np.sqrt(2.0)
        values, vectors = np.linalg.eigh(self.blocks + self.noise * normal)
        values = np.maximum(values, self.least)
        return products(self.coordinates.gradients, vectors * np.sqrt(values)[..., None, :])

    def residual_squares(self, typical, subjects, degrees=3.0, block=32, more=1.25):
        """Mean squares (n,) of residuals of a population that agree with these of so many subjects.

        And with simulated ones.  Heavy tails have such ``degrees`` of freedom, two of a ``block``
        have normal ones, and the share beyond a length is up to ``more`` times the planned one.
        """
        rng, number = np.random.default_rng(SEED), len(typical)
        # Of the footpoint's part of a contribution, which is the residual.
        found = np.sum(self.drawn(rng, number)[:, 0] ** 2, axis=-1) - self.lost
        # No mean of numbers between zero and a limit varies more with the sample.
        spread = np.sqrt(np.maximum(found * (self.clip**2 - found), 0.0) / subjects)
        found += spread * rng.normal(size=number)
        # What clipping took is between nothing and the most, and an interval holds both; of normal
        # residuals are few, so that the median is.
        which, dim, share = np.arange(number) % block, len(self.directions), found / self.clip**2
        given = share, more * self.share, dim
        usual, heavy = (student_squares_beyond(*given, each) for each in (1e6, degrees))
        most = np.maximum(self.lost, heavy * self.clip**2)
        found += np.where(which < 2, usual * self.clip**2, most * (which % 2))
        found += self.guessed * (typical**2 - np.median(typical**2))
        return np.maximum(found, LEAST_SCATTER * typical**2)

    def errors(self, found, rng, alone=False, longer=5.0):
        """Sampling errors (releases, 1 + k, dim) of estimates.

        Of each coordinate as if all scatter were in it ``alone``, or of all together: where
        directions are not measured residuals are so much ``longer`` in one than in each other.
        """
        number, dim = len(found.truth), found.dim
        inverse = inverses(np.broadcast_to(found.covariates.matrix, (number, *self.blocks.shape)))
        root = products(inverse, self.drawn(rng, number)) / np.sqrt(found.number)
        if self.kept != (1.0, 0.0):
            kept = self.kept[0] + self.kept[1] * rng.normal(size=(number, 1, 1))
            root = root / np.clip(kept, LEAST_WITHIN, 1.0)
        normal = rng.normal(size=(number, len(self.blocks), dim))
        if not alone and dim > 1:
            spikes = rng.normal(size=(number, dim))
            spikes /= np.linalg.norm(spikes, axis=1, keepdims=True)
            others = dim - 1.0 + longer**2
            # A root of one direction times as long as others, wherever it is.
            along = np.einsum("nbd,nd->nb", normal, spikes)[..., None] * spikes[:, None]
            spiked = (normal + (longer - 1.0) * along) / np.sqrt(others)
            which = rng.random((number, 1, 1)) < self.known
            # Large matrices take seconds, and often no direction is known.
            measured = normal @ self._root if np.any(which) else normal
            normal = np.where(which, measured, spiked)
        return root @ normal

    @cached_property
    def _root(self):
        """Symmetric root of `directions`."""
        values, vectors = np.linalg.eigh(self.directions)
        return (vectors * np.sqrt(values)) @ vectors.T


def with_looks(plan, kind):
    """Stages of a kind, each with how many looks are before it and the share beyond the last."""
    looks: Any = []
    for stage in plan.stages:
        looks += [stage] if stage.is_look else []
        if isinstance(stage, kind) and looks:
            yield stage, len(looks), 1.0 - float(looks[-1].share)


def clipped_errors(found, rows):
    """What clipping of the last step adds to errors of combinations (m, 1 + k), at most; (m,)."""
    if not np.any(found.excess):
        return np.zeros(len(rows))
    inverse = np.linalg.inv(np.reshape(found.covariates.matrix, (-1, *[len(found.radii)] * 2)))
    leverages = np.einsum("mi,nij,mj->nm", rows, inverse, rows)
    return np.mean(found.excess) * np.mean(np.sqrt(leverages), axis=0)


def sampled_errors(found, rng, times=1.0, scatter=None):
    """Errors of simulated releases with the sampling variation of their estimates.

    Or with so many times that.  Away from the middle of a range covariates make those of footpoint
    and shooting vectors go together.
    """
    errors = found.errors
    if found.left is not None:
        errors = errors + found.left @ rng.normal(size=errors.shape)
    if scatter is not None:
        errors = errors + scatter.errors(found, rng, alone=times > 1.0)
        # Truth and release are both in the support; and longer errors have no end on some spaces.
        return _shortened(errors, 2.0 * found.radii * max(times, 1.0))
    root = times * np.linalg.cholesky(found.estimate_covariance)
    return errors + root @ rng.normal(size=errors.shape)


def in_the_space(assumptions, errors, state, moments):
    """Errors (n, 1 + k, dim) at a released state, bent, of truths that are in the support.

    Those that are bent may be many times as long, and have no end on some spaces.
    """
    matrix = bend(assumptions, state, moments)
    if matrix is None:
        return errors
    manifold, centre, (p, *vectors) = assumptions.manifold, assumptions.centre, state
    frame, radius = manifold.frame(p), assumptions.footpoint_radius
    errors = bent(matrix, errors)
    # No farther than the radius at first, so that nothing overflows on the way back to the ball.
    steps, turns = _shortened(errors[:, 0], radius), errors[:, 1:]
    away = manifold.log(centre, manifold.exp(p, manifold.vector(frame, steps)))
    far = np.maximum(manifold.norm(centre, away) / radius, 1.0)
    back = manifold.log(p, manifold.exp(centre, away / manifold.expand(far)))
    steps = np.where(far[:, None] > 1.0, manifold.coordinates(p, back, frame), steps)
    own = manifold.coordinates(p, np.stack(vectors), frame)
    turns = _shortened(own + turns, np.array(assumptions.lengths)) - own
    return np.concatenate([steps[:, None], turns], axis=1)


def _shortened(vectors, limits):
    """Vectors (..., dim) of coordinates, no longer than limits."""
    lengths = np.linalg.norm(vectors, axis=-1) / limits
    return vectors / np.maximum(lengths, 1.0)[..., None]


def half_widths(matrix, found, level, scatter=None):
    """Half-widths (m,) of intervals of combinations (m, 1 + k) of the parts of flat states."""
    # As if each coordinate scattered as all do together: which of them does is not measured.
    rng = np.random.default_rng([SEED, 2])
    times = np.sqrt(found.dim)
    errors = np.moveaxis(sampled_errors(found, rng, times, scatter), 1, 0)
    errors = errors.reshape((len(errors), -1))
    weights = np.repeat(found.weight, found.dim)
    how: Any = {"weights": weights, "method": "inverted_cdf"}
    # One by one: there may be as many as records.
    found_at = [np.quantile(np.abs(row @ errors), level, **how) for row in matrix]
    return np.array(found_at) + clipped_errors(found, matrix)


@dataclass(frozen=True, eq=False)
class TrueGeodesics:
    """Geodesics that may be the true one, which simulated errors of a released state lead to."""

    manifold: Any
    state: np.ndarray
    footpoints: np.ndarray  # (n, *point_shape), as each of the velocities.
    velocities: list
    # Distances (n,) of their predictions from a point, by the bytes of its place and its own.
    kept: dict = field(default_factory=dict)

    @classmethod
    def of(cls, manifold, errors, state, large=100):
        """Those of errors (n, 1 + k, dim), truth minus release, of a released state.

        From ``large`` dimensions on products of matrices are computed as one, for time.
        """
        p, *vectors = state
        frame = manifold.frame(p)
        if manifold.dim > large:
            frame = frame[None]
        steps, *turns = (manifold.vector(frame, each) for each in np.moveaxis(errors, 1, 0))
        starts = manifold.exp(p, steps)
        before = np.broadcast_to(p, starts.shape)
        both = zip(vectors, turns, strict=True)
        velocities = [manifold.transport(before, steps, v + turn) for v, turn in both]
        return cls(manifold, state, starts, velocities)

    def radii(self, places, levels=LEVELS, together=False):
        """Radii (levels, m) of balls about predictions at (m, k) that hold the true prediction.

        Each is pointwise: for one covariate, over the chance of the data and of the noise; or
        ``together``: in proportion to these and as large as holds at all places at once.
        """
        places = np.asarray(places, dtype=float)
        predicted = self.manifold.ends(self.state[0], self.state[1:], places)
        away = np.empty((len(places), len(self.footpoints)))
        for index, (x, point) in enumerate(zip(places, predicted, strict=True)):
            away[index] = self._away(x, point)
        radii = np.quantile(away, levels, axis=1)
        if together:
            for each, level in zip(radii, levels, strict=True):
                each *= np.quantile(np.max(away / each[:, None], axis=0, initial=0.0), level)
        return radii

    def _away(self, x, point, most=128):
        key = x.tobytes(), point.tobytes()
        if (found := self.kept.get(key)) is None:
            ends = self.manifold.ends(self.footpoints, self.velocities, x[None])[:, 0]
            found = self.manifold.dist(ends, point)
            # A table and its figure have places in common; of many each is asked for once.
            if len(self.kept) < most:
                self.kept[key] = found
        return found
