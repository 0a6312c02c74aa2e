"""Realised privacy loss of the published densities on the sphere S^2, and of repairs to them.

Each variant repairs one more of the reasons for which the stated budget does not hold.  None of
them is a mechanism to use: even those whose loss keeps within the budget rest on a fixed geodesic.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from geodp.audit.disc import Disc
from geodp.audit.worst_neighbours import RecordDomain, climb, log_ratio, worst_neighbour
from geodp.data.simulate import simulate_geodesic_data
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.sphere import Sphere
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Huber, SquaredDistance
from geodp.randomness import random_stream

SPHERE = Sphere(2)


@dataclass(frozen=True)
class Variant:
    """A density of the published mechanism, as published or with some of it repaired."""

    name: str
    # What is drawn; a shooting vector at the fixed footpoint that the first data set has.
    block: str = "footpoint"
    # The bound on residuals: each data set's own largest (and then covariates are scaled by each
    # data set's own range, as published), the larger of the two, ``shared``, or a ``public``
    # number.
    tau: str = "own"
    # The shooting vector of the footpoint's density: each data set's fit, or that of the first for
    # both, ``fixed``.
    vector: str = "own"
    clipped: bool = False  # Whether residuals are clipped to tau.
    factor: float = 1.0  # Of the scale ``Delta / eps``; two pays for the normalising constant.
    whole: bool = False  # Footpoints anywhere, not in the public ball alone.


SHOOTING: dict[str, Any] = {"block": "shooting_vector"}
CLIPPED: dict[str, Any] = {"tau": "public", "vector": "fixed", "clipped": True}
VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("as published"),
        Variant("as published, any footpoint", whole=True),
        Variant("tau shared", tau="shared"),
        Variant("tau shared, v fixed", tau="shared", vector="fixed"),
        Variant("tau shared, v fixed, any footpoint", tau="shared", vector="fixed", whole=True),
        Variant("residuals clipped", **CLIPPED),
        Variant("residuals clipped, factor 2", factor=2.0, **CLIPPED),
        Variant("shooting vector as published", **SHOOTING),
        Variant("shooting vector, tau shared", tau="shared", **SHOOTING),
        Variant("shooting vector, residuals clipped", **CLIPPED, **SHOOTING),
        Variant("shooting vector, clipped, factor 2", factor=2.0, **CLIPPED, **SHOOTING),
    )
}


@dataclass(frozen=True)
class SphereSetting(RecordDomain):
    """The ball that holds the data, and footpoints unless they may lie anywhere; and tau."""

    tau: float


@dataclass(frozen=True)
class Densities:
    """Two densities for each of several pairs of data sets; arrays have axes (pairs, 2, ...).

    The geodesic that each density knows has its shooting vector, carried, for a footpoint's
    density, at its footpoint for a shooting vector's.  The pole is near the mode of each.
    """

    disc: Disc
    covariates: np.ndarray
    points: np.ndarray
    scale: np.ndarray
    footpoint: np.ndarray
    shooting_vector: np.ndarray
    pole: np.ndarray
    block: str
    clip: float | None

    def log_density(self, states):
        """Up to a constant, at states (pairs, 2, chains, ...); minus infinity off the disc."""
        start = self.footpoint[..., None, :]
        if self.block == "footpoint":
            p = states
            v = SPHERE.transport_to(start, states, self.shooting_vector[..., None, :])
        else:
            frame = SPHERE.frame(self.footpoint)[..., None, :, :]
            v = SPHERE.vector(frame, states)
            p = np.broadcast_to(start, v.shape)
        model = _clipped_model(self.clip)
        data = (self.covariates, self.points)
        found = model.energy_gradient(model.parameters(p, v), *data, (self.block,))
        norm = SPHERE.norm(p, found.gradient[self.block])
        return np.where(self.disc.contains(states), -norm / self.scale[..., None], -np.inf)


def _clipped_model(clip):
    """Geodesic regression on the sphere; clipped residuals are those of Huber's loss."""
    return GeodesicModel(SPHERE, loss=SquaredDistance() if clip is None else Huber(clip))


def densities(variant, setting, budget, covariates, points):
    """`Densities` of pairs at a stated budget, from covariates (pairs, 2, n) and their points."""
    number = covariates.shape[-1]
    if variant.tau == "own":
        low = np.min(covariates, axis=-1, keepdims=True)
        covariates = (covariates - low) / np.ptp(covariates, axis=-1, keepdims=True)
    found = _clipped_model(None).fit(covariates, points, max_iterations=200)
    tau = {
        "own": found.largest_residual,
        "shared": np.max(found.largest_residual, axis=-1, keepdims=True),
        "public": np.asarray(setting.tau),
    }[variant.tau]
    scale = variant.factor * 2.0 * np.broadcast_to(tau, covariates.shape[:2]) / (number * budget)
    # What did not converge has no density to compare.
    scale = np.where(found.converged, scale, np.nan)
    p, v = found.footpoint, found.shooting_vector
    clip = setting.tau if variant.clipped else None
    if variant.vector == "fixed" or variant.block == "shooting_vector":
        p, v = (np.broadcast_to(part[:, :1], part.shape) for part in (p, v))
    model, settings = _clipped_model(clip), {"tolerance": 1e-8, "max_iterations": 40}
    start = model.parameters(p, v)
    mode = model.minimise(start, covariates, points, blocks=(variant.block,), **settings)
    if variant.block == "footpoint":
        radius = np.pi if variant.whole else setting.radius
        disc, pole = Disc(SPHERE, setting.centre, radius), mode.parameters["footpoint"]
    else:
        # The longest shooting vectors lead from edge to edge of the ball.
        disc = Disc(Euclidean(2), np.zeros(2), 2.0 * setting.radius)
        pole = SPHERE.coordinates(p, mode.parameters["shooting_vector"])
    return Densities(disc, covariates, points, scale, p, v, pole, variant.block, clip)


def losses(compared, nodes=(16, 12), places=8):
    """Privacy losses of pairs, NaN where a fit failed, at nodes of quadrature, rings and rays.

    The largest ``|log f_D - log f_D'|`` (pairs,), logarithms (pairs, 2) of the integrals of the
    densities, and places (pairs, places, ...) where the loss is largest, the largest first.
    """
    fine = np.nan_to_num(compared.scale, nan=1.0)
    states, log_weights = compared.disc.nodes(compared.pole, fine, *nodes)
    each = states.shape[2]
    # Both densities at the nodes of both: the second's nodes know where its mode is.
    both = states.reshape((len(states), 1, 2 * each, *states.shape[3:]))
    value = compared.log_density(np.repeat(both, 2, axis=1))
    own = np.stack([value[:, 0, :each], value[:, 1, each:]], axis=1)
    constants = logsumexp(own + log_weights, axis=-1)
    gap = log_ratio(*np.moveaxis(value - constants[..., None], 1, 0))
    order = np.argsort(-gap, axis=-1)[:, :places]
    places = np.take_along_axis(both[:, 0], compared.disc.space.expand(order), axis=1)
    return np.max(gap, axis=-1), constants, places


class Realised(NamedTuple):
    """The realised privacy loss of one pair."""

    loss: float
    # Change of the difference of the log constants, by which they enter the loss, when the nodes of
    # quadrature are increased by half.
    error: float
    place: np.ndarray  # Where it is attained: a footpoint, or coordinates of a shooting vector.


def realised_loss(rng, compared, nodes=(40, 32)):
    """Realised loss of the only pair of a `Densities`: finer quadrature, and climbing."""
    space = compared.disc.space
    _, constants, starts = losses(compared, nodes)
    _, rougher, _ = losses(compared, tuple(2 * count // 3 for count in nodes))

    def gap(states):
        flat = states.reshape((1, 1, -1, *space.point_shape))
        value = compared.log_density(np.repeat(flat, 2, axis=1))
        inside = ~np.isneginf(value[:, 0])
        found = log_ratio(*np.moveaxis(value - constants[..., None], 1, 0))
        return np.where(inside, found, -np.inf).reshape(states.shape[:2])

    longest = 0.3 * min(compared.disc.radius, 1.0)
    sizes = (longest, 1e-3 * min(float(np.min(compared.scale)), longest))
    places, values = climb(rng, space, gap, starts[0], sizes, rounds=25, trials=12)
    best = int(np.argmax(values))
    error = float(np.abs(np.diff((constants - rougher)[0])[0]))
    return Realised(float(values[best]), error, places[best])


def pair_loss(rng, variant, setting, budget, pair):
    """Realised loss of a variant for one `Pair`; see `densities` and `realised_loss`."""
    compared = densities(variant, setting, budget, pair.covariates[None], pair.points[None])
    return realised_loss(rng, compared)


def records_in_ball(seed, n, ball_radius, geodesic_length, noise_variance, tau):
    """Simulated records about a geodesic through the middle of a public ball of the sphere S^2.

    Covariates (n,) and points (n, 3) within the ball, and a `SphereSetting`, where a neighbour's
    record may lie.  Lengths and tau, where repaired densities clip residuals, are in radians.
    """
    centre = np.array([0.0, 0.0, 1.0])
    setting = SphereSetting(SPHERE, centre, ball_radius, tau)
    along = 0.5 * geodesic_length * SPHERE.frame(centre)[0]
    rng, model = random_stream(seed, "audit", f"n{n}", "data"), GeodesicModel(SPHERE)
    ends = {"first_point": SPHERE.exp(centre, -along), "last_point": SPHERE.exp(centre, along)}
    made = simulate_geodesic_data(rng, model, 1, n, noise_variance, **ends)
    return (made.covariates[0, :, 0], setting.pull_inside(made.points[0])), setting


def worst_published_loss(seed, n, budget, variant, candidates, rounds, **chosen):
    """`Realised` loss of a `Variant` at the worst neighbours that a search finds.

    ``chosen`` are arguments of `records_in_ball`.
    """
    first, setting = records_in_ball(seed, n, **chosen)
    rng = random_stream(seed, "audit", f"n{n}", f"{budget:g}", variant.name)

    def loss(*neighbours):
        both = (
            np.stack([np.broadcast_to(one, many.shape), many], axis=1)
            for one, many in zip(first, neighbours, strict=True)
        )
        return losses(densities(variant, setting, budget, *both))[0]

    covariates, points = first
    pair, _ = worst_neighbour(rng, covariates, points, setting, loss, candidates, rounds)
    return pair_loss(rng, variant, setting, budget, pair)
