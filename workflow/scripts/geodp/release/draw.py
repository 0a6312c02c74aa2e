"""Private draws: the stages of a plan, run on records, with exact arithmetic and random bits."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from geodp.manifolds.supports import even_balls
from geodp.release.accounting import PURE
from geodp.release.contributions import (
    COVARIATE_LATTICE,
    LATTICE,
    LOSS_LATTICE,
    covariate_sums,
    gradient_sums,
    loss_sums,
)
from geodp.release.coordinates import ClippingCoordinates
from geodp.release.simulation import Covariates
from geodp.release.stages import (
    GAUSSIAN_MOMENTS,
    LAPLACE_MOMENTS,
    MOMENT_RATIO,
    CountStage,
    MomentsStage,
    PointsStage,
    moment_weights,
    moments_change,
)
from geodp.samplers import exact_noise
from geodp.samplers.integer_choice import ExactChoice

# Volumes are multiples of 2^-VOLUME_BITS.
VOLUME_BITS = 20

# By how much noise of the moments is larger than their bound wants, for what rounding adds to it.
FOR_ROUNDING = Fraction(1025, 1024)


@dataclass(frozen=True)
class Released:
    """What stages released: all of it may be known.

    Attributes
    ----------
    state : ndarray, shape (1 + k, *point_shape)
        Footpoint and shooting vectors.
    number : float
        Number of subjects, exact or noisy.
    moments : ndarray, shape (k (k + 3) / 2,)
        Of the covariates; see `geodp.release.moments`.
    """

    state: np.ndarray
    number: float
    moments: np.ndarray


def run_plan(plan, records, bits, shared=None):
    """Run the stages of a plan.

    Parameters
    ----------
    plan : ReleasePlan
    records : SubjectRecords
    bits : callable
        From a count to an integer of so many random bits, such as
        `geodp.samplers.integer_choice.system_bits`.
    shared : dict, optional
        Choices among points of the whole support, by stage. Studies that draw several times from
        the same records give the same one, empty at first, so that points are scored once.

    Returns
    -------
    Released
    """
    assumptions = plan.assumptions
    state, number = np.array(assumptions.support.origin), float(assumptions.subjects)
    moments, covariance = Covariates.independent(assumptions.spreads).moments, None
    for stage in plan.stages:
        if isinstance(stage, CountStage):
            number = float(max(1, len(records) + _count_noise(stage, bits)))
        elif isinstance(stage, MomentsStage):
            moments = _moments(assumptions, stage, records, number, bits)
        elif isinstance(stage, PointsStage):
            state, covariance = _chosen(assumptions, stage, records, state, bits, shared), None
        else:
            means = _noisy_means(assumptions, stage, records, state, number, bits)
            change, covariance = stage.change(
                means, moments, number, assumptions.changes, covariance
            )
            state = moved(assumptions, state, change)
    return Released(state, number, moments)


def _count_noise(stage, bits):
    if stage.unit == PURE:
        return exact_noise.discrete_laplace(bits, 1 / stage.budget)
    return exact_noise.discrete_gaussian(bits, 1 / (2 * stage.budget))


def _moments(assumptions, stage, records, number, bits):
    """Moments of the covariates, from noisy sums."""
    changes = assumptions.changes
    first, second = covariate_sums(records)
    noisy_sums = _noisy_pair if len(first) == 1 else _noisy_products
    noisy = noisy_sums(stage, first, second, changes, bits)
    return stage.moments(np.array(noisy) / number, number, changes, assumptions.spreads)


def _noisy_pair(stage, first, second, changes, bits):
    """Noisy sums of one covariate and of its square."""
    units = COVARIATE_LATTICE, COVARIATE_LATTICE**2
    if stage.unit == PURE:
        scale = FOR_ROUNDING * LAPLACE_MOMENTS[changes] / stage.budget
        scales = scale, scale / MOMENT_RATIO
        noise = [
            exact_noise.discrete_laplace(bits, unit * each)
            for unit, each in zip(units, scales, strict=True)
        ]
    else:
        variance = FOR_ROUNDING * GAUSSIAN_MOMENTS[changes] / (2 * stage.budget)
        variances = variance, variance / MOMENT_RATIO**2
        noise = [
            exact_noise.discrete_gaussian(bits, unit**2 * each)
            for unit, each in zip(units, variances, strict=True)
        ]
    return [
        float(Fraction(total + each, unit))
        for total, each, unit in zip(first + second, noise, units, strict=True)
    ]


def _noisy_products(stage, first, second, changes, bits):
    """Noisy sums of several covariates and of products of two."""
    unit = COVARIATE_LATTICE**2
    weights = moment_weights(len(first))
    in_unit = [COVARIATE_LATTICE * each for each in first] + second
    change = FOR_ROUNDING * moments_change(len(first), changes) * unit
    if stage.unit == PURE:
        noise = exact_noise.rounded_laplace(bits, len(weights), change / stage.budget)
    else:
        variance = change**2 / (2 * stage.budget)
        noise = [exact_noise.discrete_gaussian(bits, variance) for _ in weights]
    return [
        float(Fraction(weight * total + each, weight * unit))
        for weight, total, each in zip(weights, in_unit, noise, strict=True)
    ]


def _chosen(assumptions, stage, records, state, bits, shared=None):
    """The state after an exact choice among public points."""
    # Points of the whole support do not depend on the state.
    made = {} if shared is None or stage.radii is not None else shared
    if stage not in made:
        made[stage] = _choice(assumptions, stage, records, state)
    states, choice = made[stage]
    return states[choice.draw(bits)]


def _choice(assumptions, stage, records, state):
    """Public points, and an exact choice among them by their losses."""
    support = assumptions.support
    if stage.radii is None:
        states, volumes = support.even_points(stage.points)
    else:
        states, volumes = pattern(support, state, stage)
    weights = np.rint(np.ldexp(volumes, VOLUME_BITS)).astype(np.int64)
    used = np.flatnonzero(weights > 0)
    scores = loss_sums(assumptions, records, states[used], stage.clip)
    rate = stage.epsilon / (assumptions.changes * LOSS_LATTICE)
    return states[used], ExactChoice(weights[used].tolist(), scores.tolist(), rate)


def pattern(support, centre, stage):
    """Points about a state from which a later stage chooses, and their volumes.

    Parameters
    ----------
    support : ProductSupport
    centre : ndarray, shape (1 + k, *point_shape)
        In the support.
    stage : PointsStage

    Returns
    -------
    tuple of ndarray
        States (points + 1, 1 + k, *point_shape), the centre itself last; and volumes (points + 1,),
        zero for those outside the support.
    """
    space = support.space
    dim = space.base.dim
    steps = np.repeat(stage.radii, dim) * even_balls((dim,) * space.blocks, stage.points)
    vectors = space.vector(space.frame(centre)[None], steps)
    states = space.exp(centre[None], vectors)
    volumes = space.exp_volume(centre[None], vectors)
    volumes = np.where(support.contains(states), volumes, 0.0)
    # The centre is in the support, whatever rounding says.
    return np.concatenate([states, centre[None]]), np.append(volumes, 1.0)


def _noisy_means(assumptions, stage, records, state, number, bits):
    """Noisy means (1 + k, dim) of clipped gradients in the footpoint and in shooting vectors."""
    sums = gradient_sums(assumptions, records, state, stage.clip)
    noisy = ClippingCoordinates(assumptions.number_of_covariates).noisy(
        sums, bits, stage.unit, assumptions.changes * LATTICE, stage.budget
    )
    return noisy * (stage.clip / LATTICE / number)


def moved(assumptions, state, change):
    """The state after a step, brought back to the support.

    Parameters
    ----------
    assumptions : Assumptions
    state : ndarray, shape (1 + k, *point_shape)
    change : ndarray, shape (1 + k, dim)
        Coordinates of the steps of footpoint and shooting vectors.

    Returns
    -------
    ndarray, shape (1 + k, *point_shape)
    """
    manifold = assumptions.manifold
    p, *vectors = state
    lengths = np.ravel(assumptions.shooting_vector_length)
    # No farther than across the support, so that nothing overflows.
    radii = np.append(assumptions.footpoint_radius, lengths)
    change = [_shortened(each, 2.0 * radius) for each, radius in zip(change, radii, strict=True)]
    step, *turns = manifold.vector(manifold.frame(p), np.stack(change))
    end = manifold.exp(p, step)
    vectors = [
        manifold.transport(p, step, v + turn) for v, turn in zip(vectors, turns, strict=True)
    ]
    away = manifold.log(assumptions.centre, end)
    distance = float(manifold.norm(assumptions.centre, away))
    if distance > assumptions.footpoint_radius:
        shorter = (1.0 - 1e-12) * assumptions.footpoint_radius / distance
        inside = manifold.exp(assumptions.centre, away * shorter)
        vectors = [manifold.transport_to(end, inside, v) for v in vectors]
        end = inside
    for index, (v, longest) in enumerate(zip(vectors, lengths, strict=True)):
        length = float(manifold.norm(end, v))
        vectors[index] = v * min(1.0, (1.0 - 1e-12) * longest / max(length, 1e-300))
    return np.stack([end, *vectors])


def _shortened(vector, limit):
    """A vector of coordinates, no longer than a limit; its length may be too large to square."""
    largest = max(np.max(np.abs(vector)), 1e-300)
    length = largest * np.linalg.norm(vector / largest)
    return vector * (limit / length) if length > limit else vector
