"""A private choice among public points by their clipped losses (exponential mechanism)."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.supports import even_balls
from geodp.samplers.integer_choice import ExactChoice
from geodp_release.accounting import choice_cost
from geodp_release.contributions import LOSS_LATTICE, loss_sums
from geodp_release.noise import ChoiceNoise
from geodp_release.simulation import (
    level_of,
    limit_at,
    looked_up,
    looked_up_in,
    places_in_tables,
    residual_lengths,
)
from geodp_release.stages.base import Stage

# Volumes are multiples of 2^-VOLUME_BITS.
VOLUME_BITS = 20

# Simulations score the NEAR nearest points exactly and a random FAR of the rest, reweighted.
NEAR, FAR = 128, 96


@dataclass(frozen=True)
class PointsStage(Stage):
    """One choice among public points.

    Attributes
    ----------
    epsilon : Fraction
        Of the exponential mechanism; what it costs is the stage's budget.
    points : int
        A power of two.
    clip : float
        Length at which residuals are clipped in the loss.
    radii : tuple of float, optional
        Radii of the pattern about the state before, of footpoints and of each shooting vector.  A
        first stage has none: its points fill the support.
    """

    epsilon: Fraction = Fraction(0)
    points: int = 0
    clip: float = 0.0
    radii: tuple[float, ...] | None = None

    @classmethod
    def of(cls, epsilon, unit, points, clip, radii=None):
        """The stage with this epsilon, whose budget follows from it."""
        return cls(choice_cost(epsilon, unit), unit, Fraction(epsilon), points, clip, radii)

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "epsilon", Fraction(self.epsilon))
        if choice_cost(self.epsilon, self.unit) != self.budget:
            raise DataError(
                f"a stage chooses with epsilon {self.epsilon}, which does not cost its budget "
                f"{self.budget}: give the one that does"
            )
        if self.points < 2 or self.points & (self.points - 1):
            raise DataError(f"a stage has {self.points} points: give a power of two")
        self._refuse_unless_positive("clip")
        if self.radii is not None:
            radii = np.asarray(self.radii)
            if radii.ndim != 1 or not np.all(np.isfinite(radii) & (radii > 0)):
                raise DataError(f"a stage has radii {self.radii}: give positive numbers")

    def noise(self, assumptions):
        """The `ChoiceNoise` of losses."""
        return ChoiceNoise((self.epsilon / (assumptions.changes * LOSS_LATTICE),))

    def chosen(self, assumptions, records, state, bits, shared=None):
        """The state after an exact choice among public points."""
        # Points of the whole support do not depend on the state.
        made = {} if shared is None or self.radii is not None else shared
        if self not in made:
            made[self] = self._choice(assumptions, records, state)
        states, choice = made[self]
        return states[choice.draw(bits)]

    def _choice(self, assumptions, records, state):
        """Public points, and an exact choice among them by their losses."""
        states, volumes = self.candidates(assumptions.support, state)
        weights = np.rint(np.ldexp(volumes, VOLUME_BITS)).astype(np.int64)
        used = np.flatnonzero(weights > 0)
        scores = loss_sums(assumptions, records, states[used], self.clip)
        [rate] = self.noise(assumptions).scales
        # As long a computation for all data sets of so many subjects.
        most = LOSS_LATTICE * len(records)
        return states[used], ExactChoice(weights[used].tolist(), scores.tolist(), rate, most)

    def candidates(self, support, state):
        """Points to choose among (m, 1 + k, *point_shape); volumes are zero outside the support.

        About a state these are the points of a pattern, and the state itself last.
        """
        if self.radii is None:
            return support.even_points(self.points)
        states, volumes = support.pattern(state, self.radii, self.points)
        volumes = np.where(support.contains(states), volumes, 0.0)
        # The state is in the support, whatever rounding says.
        return np.concatenate([states, state[None]]), np.append(volumes, 1.0)

    def run(self, before, assumptions, records, bits, shared=None):
        state = self.chosen(assumptions, records, before.state, bits, shared)
        return replace(before, state=state, covariance=None)

    def prepare(self, releases, rng=None):
        """The points, with their distances from the truth."""
        return points_about(releases, rng, self.points, self.radii)

    def simulate(self, releases, rng, prepared=None):
        points = self.prepare(releases, rng) if prepared is None else prepared
        loss = _mean_losses(releases, points, level_of(self.clip, releases.typical))
        rate = releases.number * float(self.epsilon) / releases.assumptions.changes
        shares = _normalised(np.exp(_shifted(points.log_weight - rate * loss)).astype(float))
        drawn = shares
        if releases.tails:
            flatter = _normalised(np.sqrt(shares))
            drawn = (1.0 - releases.tails) * shares + releases.tails * flatter
        below = np.cumsum(drawn, axis=1)
        rows = np.arange(len(below))
        best = np.sum(below < rng.random((len(rows), 1)) * below[:, -1:], axis=1)
        state = points.pattern[points.index[rows, best]]
        if self.radii is not None:
            state = releases.state + state
        weight = releases.weight * (shares[rows, best] / drawn[rows, best])
        return replace(releases, state=state, weight=weight, covariance=None, last_level=None)

    def check(self, blocks):
        if self.radii is not None:
            self._refuse_other_number(self.radii, blocks)

    def describe(self):
        where = "of the support"
        if self.radii is not None:
            radii = " and ".join(f"{each:.4g}" for each in self.radii)
            where = f"within {radii} of the state before"
        return (
            f"exact choice among {self.points} public points {where} by losses clipped at "
            f"{self.clip:.4g}, {self.cost}"
        )


def _shifted(exponents):
    return exponents - np.max(exponents, axis=1, keepdims=True)


def _normalised(shares):
    return shares / np.sum(shares, axis=1, keepdims=True)


# Simulation of points and their losses


@lru_cache(maxsize=512)
def _losses(dim, level):
    """Mean of the squared length up to a limit, as a fraction of its square; (distances,)."""
    length = residual_lengths(dim)[1]
    return np.mean(np.minimum(length / limit_at(level, 1.0), 1.0) ** 2, axis=(1, 2))


def _mean_losses(releases, points, level):
    """Mean clipped losses (releases, points)."""
    known, covariates = points.known, releases.covariates
    if covariates not in known:
        known[covariates] = [
            places_in_tables(points.squares(x) / _column(releases.typical**2))
            for x in covariates.in_single_precision
        ]
    key = covariates, np.asarray(level).tobytes()
    if key not in known:
        unique, index = np.unique(level, return_inverse=True)
        tables = np.array([_losses(releases.dim, int(each)) for each in unique], dtype=np.float32)
        known[key] = sum(
            np.float32(share) * _looked_up(tables, index, places)
            for share, places in zip(covariates.weights, known[covariates], strict=True)
        )
    return known[key]


def _looked_up(tables, index, places):
    """Values of tables at `places_in_tables`: of one for all rows, or of one each."""
    if len(tables) == 1:
        return looked_up(tables[0], places)
    return looked_up_in(tables, np.reshape(index, (-1, 1)), places)


def _column(squares):
    """A number for all rows, or one each, in single precision."""
    return (
        np.reshape(squares, (-1, 1)).astype(np.float32) if np.ndim(squares) else np.float32(squares)
    )


def points_about(releases, rng, number, radii=None):
    """Points of the support, or of a pattern about simulated states, as `_Points`."""
    if radii is None:
        # Found once for all stages.
        if number not in releases.kept:
            rng = np.random.default_rng([len(releases.truth), number])
            pattern = _even_pattern(releases.radii, number, releases.dim)
            releases.kept[number] = _Points.of(rng, releases.truth, pattern, releases.weights)
        return releases.kept[number]
    pattern = _even_pattern(radii, number, releases.dim)
    points = _Points.of(rng, releases.errors, pattern, releases.weights)
    # Those of the pattern outside the support do not count.
    lengths = np.sum((releases.state[:, None] + pattern[points.index]) ** 2, axis=-1)
    outside = np.any(lengths > releases.radii**2, axis=-1)
    # A release then has the state itself left.
    outside &= ~np.all(outside, axis=-1, keepdims=True)
    return replace(points, log_weight=np.where(outside, -np.inf, points.log_weight))


def _even_pattern(radii, number, dim):
    """Points (number, 1 + k, dim) that fill a ball of footpoints and balls of shooting vectors."""
    blocks = len(radii)
    pattern = even_balls((dim,) * blocks, number).reshape((-1, blocks, dim))
    return np.asarray(radii)[:, None] * pattern


@dataclass(frozen=True)
class _Points:
    """Points of a pattern about some states: those near the truth, and a random part of the others.

    `index` (releases, chosen) says which, `inner` has inner products of two blocks of truth minus
    point, `log_weight` says for how many points each stands, and `known` keeps mean losses.
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


def _some_points(rng, places, points, rows=64, sampled=16, spare=16):
    """Indices (places, NEAR + FAR) of points near each place and a random part of the others.

    Besides, the logarithms of how many points each stands for; others that are near stand for none.
    Places are computed ``rows`` at once.  To find those near, one of ``sampled`` points is in a
    sample, of which ``spare`` are to spare.
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
    sample = rng.choice(number, number // sampled, replace=False)
    rank = min(NEAR // sampled + spare, len(sample) - 1)
    for start in range(0, len(places), rows):
        away = places[start : start + rows] @ points
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
