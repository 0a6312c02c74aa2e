"""The certified distribution of a Frechet mean, drawn exactly, for many data sets at once.

The density is ``exp(-(budget / 2) s(p))`` on a public ball, with the score

    s = max(n |g| / (2 tau), n (L - f0)).

g is the mean of the logarithms at p, clipped to the length tau, and L that of ``min(d, c)^2 /
c^2``, d the distance from p.  Replacing a record moves g by at most ``2 tau / n`` and L by at most
``1 / n``, whatever the record is, so that s moves by at most one.  This is the distribution of
`geodp.mechanisms.certified` without a covariate.

**Draws.**  From any point q, with d_i the distances of the records from it, the length of g at the
distance t is at least

    G(t) - |g(q)|,    G(t) = h mean_i min(t, max(tau - d_i, 0)).

For g is minus the gradient of a sum of Huber's losses.  Along a geodesic from q its slope is at
least h for each record that is not clipped there, h being 1 or, under positive curvature, ``tau
sqrt(kappa) cot(tau sqrt(kappa))``; and it is at least zero for the others, up to a quarter turn
away from them.  A record farther than that from some part of the ball is left out of G, and its
gradient, no longer than tau at either end, takes ``2 tau / n`` off the bound.  And by the triangle
inequality L at the distance t is at least the mean of ``min(|t - d_i|, c)^2 / c^2``.  So a density
of the distance from q, in segments, is an envelope, and rejection from it is exact, wherever
records are.  q is next to the point where g vanishes or, if that is outside of the ball, its
centre.

The density has its budget whatever the data are.  Draws by rejection may take too long, and that is
refused: a refusal tells of the data.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from geodp.errors import DataError
from geodp.models.blocks import FOOTPOINT
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Huber

# Segments of the envelope, longer with the distance; every so many G is computed, and in between
# taken to be linear, which is below a concave function.
SEGMENTS, EVERY, STRETCH = 256, 16, 6.0

# Steps by the mean of clipped logarithms, towards the point where that vanishes.
STEPS = 8

# Most proposals for a draw, on average of all data sets.
MOST_PROPOSALS = 2_000

# A score is known to this, by rounding.
ROUNDING = 1e-7


@dataclass(frozen=True)
class MeanScore:
    """The score; see the module.

    Attributes
    ----------
    clip : float
        Tau, in the manifold's unit of length.
    loss_scale : float
        c, in the same unit.
    offset : float
        f0.
    """

    clip: float
    loss_scale: float
    offset: float

    def gradients(self, manifold, at, points):
        """Gradients -g at points (*data_sets, *chains, *point_shape)."""
        model = GeodesicModel(manifold, 0, Huber(self.clip))
        return model.energy_gradient({FOOTPOINT: at}, None, points).gradient[FOOTPOINT]

    def values(self, manifold, at, points):
        """Scores.

        Parameters
        ----------
        manifold : Manifold
        at : ndarray, shape (*data_sets, *chains, *point_shape)
        points : ndarray, shape (*data_sets, n, *point_shape)

        Returns
        -------
        ndarray, shape (*data_sets, *chains)
        """
        length = manifold.norm(at, self.gradients(manifold, at, points))
        away = GeodesicModel(manifold, 0).residual_distances({FOOTPOINT: at}, None, points)
        loss = np.mean((np.minimum(away, self.loss_scale) / self.loss_scale) ** 2, axis=-1)
        return away.shape[-1] * np.maximum(0.5 * length / self.clip, loss - self.offset)


def _start(manifold, score, points, start, centre, radius):
    """The q of the module, and the length of g there."""
    for _ in range(STEPS):
        start = manifold.exp(start, -score.gradients(manifold, start, points))
    outside = manifold.expand(manifold.dist(centre, start) > radius)
    start = np.where(outside, centre, start)
    return start, manifold.norm(start, score.gradients(manifold, start, points))


def _quarter_turn(manifold):
    upper = manifold.curvature_bounds[1]
    return 0.5 * np.pi / np.sqrt(upper) if upper > 0.0 else np.inf


def _slope(manifold, clip):
    """h of the module."""
    upper = manifold.curvature_bounds[1]
    if upper <= 0.0:
        return 1.0
    angle = clip * np.sqrt(upper)
    return max(float(angle / np.tan(angle)), 0.0) if angle < 0.5 * np.pi else 0.0


def draw_certified_means(rng, manifold, points, start, score, budget, centre, radius):
    """Draw one point for each data set.

    Parameters
    ----------
    rng : numpy.random.Generator
    manifold : SymmetricSpace
    points : ndarray, shape (data_sets, n, *point_shape)
        Anywhere.
    start : ndarray, shape (data_sets, *point_shape)
        Near the middle of each data set, such as its mean.
    score : MeanScore
    budget : float
    centre : ndarray, shape point_shape
    radius : float
        Of the support, a ball about the centre.

    Returns
    -------
    drawn : ndarray, shape (data_sets, *point_shape)
    proposals : float
        Per draw.

    Raises
    ------
    DataError
        Nearly no proposal is accepted; this depends on the data.
    """
    middle, slack = _start(manifold, score, points, start, centre, radius)
    off = manifold.dist(centre, middle)
    away = manifold.dist(np.expand_dims(middle, 1), points)
    farthest = manifold.dist(centre, points) + np.maximum(radius, off)[:, None]
    near = farthest < _quarter_turn(manifold)
    slack = slack + 2.0 * score.clip * np.mean(~near, axis=-1)
    room = _slope(manifold, score.clip) * np.maximum(score.clip - away, 0.0) * near
    reach = np.minimum(radius + off, manifold.injectivity_radius)
    unit, least = _least_scores(score, away, room, slack, _slope(manifold, score.clip), reach)
    volume = manifold.volume_growth * reach[:, None] * unit[1:]
    log_heights = (manifold.dim - 1) * np.log(unit[1:]) + volume - 0.5 * budget * least
    shares = np.cumsum(np.exp(log_heights) * np.diff(unit), axis=-1)
    drawn = np.array(middle)
    left, proposals = np.arange(len(drawn)), 0
    while len(left):
        proposals += len(left)
        if proposals > MOST_PROPOSALS * len(drawn):
            raise DataError(
                "nearly no proposal for a draw is accepted: too many records are far from their "
                "mean, for this ball and budget; take a wider ball, or one that holds the data"
            )
        mass = rng.random(len(left)) * shares[left, -1]
        segment = np.sum(shares[left] <= mass[:, None], axis=-1)
        low, high = unit[segment], unit[segment + 1]
        length = reach[left] * (low + rng.random(len(left)) * (high - low))
        base = middle[left]
        step = manifold.expand(length) * manifold.random_direction(rng, base)
        proposed = manifold.exp(base, step)
        inside = manifold.dist(centre, proposed) <= radius
        if not np.any(inside):
            continue
        place, length = left[inside], length[inside]
        log_density = (manifold.dim - 1) * np.log(length / reach[place]) + np.log(
            manifold.exp_volume(base[inside], step[inside])
        )
        found = score.values(manifold, proposed[inside], points[place])
        log_chance = log_density - 0.5 * budget * found - log_heights[place, segment[inside]]
        if np.any(log_chance > ROUNDING * np.maximum(1.0, 0.5 * budget * found)):
            raise ArithmeticError("a score is below its lower bound: report this")
        accepted = np.log(rng.random(len(place))) < log_chance
        drawn[place[accepted]] = proposed[inside][accepted]
        left = np.setdiff1d(left, place[accepted])
    return drawn, proposals / len(drawn)


def _least_scores(score, away, room, slack, slope, reach):
    """Segments of the distance from each middle, and a lower bound of the score in each.

    Returns
    -------
    unit : ndarray, shape (SEGMENTS + 1,)
        Ends of segments, as shares of the farthest distance, ``reach``.
    least : ndarray, shape (data_sets, SEGMENTS)
    """
    unit = np.expm1(STRETCH * np.linspace(0.0, 1.0, SEGMENTS + 1)) / np.expm1(STRETCH)
    knots = [
        np.mean(np.minimum(room, slope * (share * reach)[:, None]), axis=-1)
        for share in unit[::EVERY]
    ]
    # Between knots in proportion to the distance.
    knot = np.minimum(np.arange(SEGMENTS) // EVERY, len(knots) - 2)
    ends = unit[::EVERY]
    weight = (unit[:-1] - ends[knot]) / (ends[knot + 1] - ends[knot])
    table = np.stack(knots, axis=-1)
    length = (1.0 - weight) * table[:, knot] + weight * table[:, knot + 1] - slack[:, None]
    loss = np.empty_like(length)
    for index, (low, high) in enumerate(itertools.pairwise(unit)):
        beyond = np.maximum(away - (high * reach)[:, None], (low * reach)[:, None] - away)
        shares = np.clip(beyond, 0.0, score.loss_scale) / score.loss_scale
        loss[:, index] = np.mean(shares**2, axis=-1)
    least = np.maximum(0.5 * length / score.clip, loss - score.offset)
    return unit, away.shape[-1] * np.maximum(least, 0.0)
