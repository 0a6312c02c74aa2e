"""A private choice among public points by their clipped losses (exponential mechanism)."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.supports import even_coordinates
from geodp.samplers.integer_choice import ExactChoice
from geodp_release.promise.budget import choice_cost
from geodp_release.run.contributions import LOSS_LATTICE, loss_sums
from geodp_release.run.noise import ChoiceNoise
from geodp_release.stages.residual_tables import (
    clipped_residuals,
    in_tables,
    level_of,
    looked_up_in,
    places_in_tables,
)
from geodp_release.stages.stage import Stage

# Simulations score all of so FEW points, and else the NEAR nearest exactly and a random FAR of the
# rest, reweighted.
FEW, NEAR, FAR = 256, 128, 96


@dataclass(frozen=True)
class PointsStage(Stage):
    """One choice among public points that fill the support."""

    epsilon: Fraction = Fraction(0)  # Of the exponential mechanism; it costs the budget.
    points: int = 0  # A power of two.
    clip: float = 0.0  # Length at which residuals are clipped in the loss.

    what = (
        "exact choice among {0.points} public points of the support by losses clipped at "
        "{0.clip:.4g}"
    )
    positive = ("clip",)

    @classmethod
    def of(cls, epsilon, unit, points, clip):
        """The stage with this epsilon, whose budget follows from it."""
        return cls(choice_cost(epsilon, unit), unit, Fraction(epsilon), points, clip)

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

    def noise(self, assumptions):
        """The `ChoiceNoise` of losses."""
        return ChoiceNoise((self.epsilon / (assumptions.changes * LOSS_LATTICE),))

    def _choice(self, assumptions, records, losses, bits=20):
        """Public points, and an exact choice among them by their losses, which are kept.

        Volumes have so many ``bits``.
        """
        states, volumes = assumptions.support.even_points(self.points)
        # Whole, and of negative curvature too large for integers of NumPy.
        weights = np.rint(np.ldexp(volumes, bits))
        used = np.flatnonzero(weights > 0)
        if (key := (self.points, self.clip)) not in losses:
            losses[key] = loss_sums(assumptions, records, states[used], self.clip)
        [rate] = self.noise(assumptions).scales
        # As long a computation for all data sets of so many subjects.
        most = LOSS_LATTICE * len(records)
        return states[used], ExactChoice(weights[used].tolist(), losses[key].tolist(), rate, most)

    def run(self, before, assumptions, records, bits, shared=None):
        made = {} if shared is None else shared
        if self not in made:
            made[self] = self._choice(assumptions, records, made.setdefault("losses", {}))
        states, choice = made[self]
        return replace(before, state=states[choice.draw(bits)], reached=0.0, covariance=None)

    def simulate(self, releases, rng, many=1000, block=64):
        number, points = len(releases.state), support_points(releases, self.points)
        parts = [(releases, points)]
        if number > many:
            # A block at once, which stays in a cache.
            rows = [slice(at, at + block) for at in range(0, number, block)]
            parts = [(releases.drawn(some), points.drawn(some)) for some in rows]
        found = zip(*(self._simulated(*part, rng) for part in parts), strict=True)
        state, weight = map(np.concatenate, found)
        kept = {"reached": 0.0, "covariance": None, "last_level": None}
        return replace(releases, state=state, weight=weight, **kept)

    def _simulated(self, releases, points, rng):
        """States and weights after the choice."""
        loss = _mean_losses(releases, points, level_of(self.clip, releases.typical))
        rate = releases.number * float(self.epsilon) / releases.assumptions.changes
        exponents = points.log_weight - rate * loss
        exponents -= np.max(exponents, axis=1, keepdims=True)
        shares = _normalised(np.exp(exponents).astype(float))
        drawn = shares
        if releases.tails:
            flatter = _normalised(np.sqrt(shares))
            drawn = (1.0 - releases.tails) * shares + releases.tails * flatter
        below = np.cumsum(drawn, axis=1)
        rows = np.arange(len(below))
        best = np.sum(below < rng.random((len(rows), 1)) * below[:, -1:], axis=1)
        state = points.states[points.index[rows, best]]
        return state, releases.weight * (shares[rows, best] / drawn[rows, best])


def _normalised(shares):
    return shares / np.sum(shares, axis=1, keepdims=True)


# Simulation of points and their losses


def _mean_losses(releases, points, level, nodes=32):
    """Mean clipped losses (releases, points), by so many nodes of covariates at most.

    They are kept for other levels and for other releases with the same truths.
    """
    covariates, typical = releases.covariates, releases.typical
    # The first points of a Sobol sequence are even; every second one is not.
    scales, weights, values = (
        each[:nodes] for each in (releases.scales_at_nodes, *covariates.by_release)
    )
    weights = weights / np.sum(weights, axis=0)
    # Of residuals of these lengths, which differ between releases with the same truths.
    about = covariates, np.asarray(typical).tobytes()
    key = *about, np.asarray(level).tobytes()
    if key in points.known:
        return points.known[key]
    if about not in points.known:
        points.known[about] = [
            places_in_tables(points.squares(x) / _column(np.square(typical * size)))
            for x, size in zip(values, scales, strict=True)
        ]
    table, rows = clipped_residuals(releases.dim)[1], in_tables(level - level_of(scales, 1.0))
    total: Any = 0.0
    for share, row, place in zip(weights, rows, points.known[about], strict=True):
        each = looked_up_in(table, row[:, None], place)
        each *= _column(share)
        total += each
    points.known[key] = total
    return total


def _column(numbers):
    """A number for all rows, or one each, in single precision."""
    return np.reshape(numbers, (-1, 1)).astype(np.float32)


def support_points(releases, number):
    """Even points of the support beside simulated truths, as `_Points`; found once."""
    if number not in releases.kept:
        truth = releases.truth
        key = truth.tobytes(), truth.shape, tuple(releases.radii), tuple(releases.weights)
        # Losses differ between residual scales, and are not kept beyond these releases.
        releases.kept[number] = replace(_Points.near(number, *key), known={})
    return releases.kept[number]


@dataclass(frozen=True)
class _Points:
    """Points of the support: those near simulated truths, and a random part of the others.

    `index` (releases, chosen) says which of `states`, `inner` has inner products of two blocks of
    truth minus point, `log_weight` says for how many points each stands, and `known` keeps mean
    losses.
    """

    states: np.ndarray
    index: np.ndarray
    inner: dict
    log_weight: np.ndarray
    known: dict = field(default_factory=dict)

    @classmethod
    @lru_cache(maxsize=4)
    def near(cls, number, truth, shape, radii, weights):
        """Those about truths, as bytes: all releases by a plan are compared with the same truths.

        The support has ``radii``; ``weights`` are of squared errors of the parts of a state.
        """
        truth, states = (
            np.frombuffer(truth).reshape(shape),
            even_coordinates(radii, shape[-1], number),
        )
        if number <= FEW:
            index = np.broadcast_to(np.arange(number), (len(truth), number))
            log_weight = np.zeros(index.shape, dtype=np.float32)
        else:
            scaled = np.sqrt(weights)[:, None]
            index, log_weight = _some_points(
                np.random.default_rng([len(truth), number]),
                (truth * scaled).reshape(len(truth), -1),
                (states * scaled).reshape(number, -1),
            )
        # Coordinates first, so that memory is read in its order.
        places = np.ascontiguousarray(np.moveaxis(states, 0, -1))
        places = places[:, :, None] if number <= FEW else np.take(places, index, axis=-1)
        # Single precision is far below the error of so few releases, and twice as fast.
        rest = (np.moveaxis(truth, 0, -1)[..., None] - places).astype(np.float32)
        pairs = combinations_with_replacement(range(len(rest)), 2)
        inner = {pair: np.einsum("irc,irc->rc", *rest[[*pair]]) for pair in pairs}
        return cls(states, index, inner, log_weight)

    def drawn(self, rows):
        """Those of some releases."""
        inner = {pair: product[rows] for pair, product in self.inner.items()}
        return _Points(self.states, self.index[rows], inner, self.log_weight[rows])

    def squares(self, x):
        """Squared distances of predictions at covariates (k or more, 1 or releases)."""
        places, total = [1.0, *map(_column, x)], 0.0
        for (one, other), product in self.inner.items():
            factor = (1.0 if one == other else 2.0) * places[one] * places[other]
            total += factor * product
        return total


def _some_points(rng, places, points, block=1 << 19, sampled=16, spare=16):
    """Indices (places, NEAR + FAR) of points near each place and a random part of the others.

    Besides, the logarithms of how many points each stands for; others that are near stand for none.
    To find those near, one of ``sampled`` points is in a sample, of which ``spare`` are to spare.
    Distances are computed in blocks of so many, which stay in a cache.
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
    rows = max(block // number, 1)
    for start in range(0, len(places), rows):
        chosen, away = index[start : start + rows], places[start : start + rows] @ points
        # A sample of the points tells within which distance more than enough are.
        limits = np.partition(away[:, sample], rank, axis=1)[:, rank]
        # Each has another number of points within its limit.
        for near, row, limit in zip(chosen, away, limits, strict=True):
            some = np.flatnonzero(row <= limit)
            if len(some) <= NEAR:
                some = np.arange(number)
            near[:NEAR] = some[np.argpartition(row[some], NEAR)[:NEAR]]
        away = np.take_along_axis(away, chosen, axis=1)
        is_near = away[:, NEAR:] <= np.max(away[:, :NEAR], axis=1, keepdims=True)
        log_weight[start : start + rows, NEAR:][is_near] = -np.inf
    return index, log_weight
