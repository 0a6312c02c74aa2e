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
from geodp.release.simulation import EVEN
from geodp.release.stages import (
    GAUSSIAN_MOMENTS,
    GAUSSIAN_VARIANCES,
    LAPLACE_MOMENTS,
    MOMENT_RATIO,
    CountStage,
    MomentsStage,
    PointsStage,
)
from geodp.samplers.exact_noise import discrete_gaussian, discrete_laplace, rounded_laplace
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
    state : ndarray, shape (2, *point_shape)
        Footpoint and shooting vector.
    number : float
        Number of subjects, exact or noisy.
    moments : ndarray, shape (2,)
        Mean and mean square of the covariate.
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
    moments, covariance = EVEN.moments, None
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
                means, moments, number, assumptions.changes, assumptions.manifold.dim, covariance
            )
            state = moved(assumptions, state, change)
    return Released(state, number, moments)


def _count_noise(stage, bits):
    if stage.unit == PURE:
        return discrete_laplace(bits, 1 / stage.budget)
    return discrete_gaussian(bits, 1 / (2 * stage.budget))


def _moments(assumptions, stage, records, number, bits):
    """Mean and mean square of the covariate, from noisy sums."""
    sums, changes = covariate_sums(records), assumptions.changes
    units = COVARIATE_LATTICE, COVARIATE_LATTICE**2
    if stage.unit == PURE:
        scale = FOR_ROUNDING * LAPLACE_MOMENTS[changes] / stage.budget
        scales = scale, scale / MOMENT_RATIO
        noise = [
            discrete_laplace(bits, unit * each) for unit, each in zip(units, scales, strict=True)
        ]
    else:
        variance = FOR_ROUNDING * GAUSSIAN_MOMENTS[changes] / (2 * stage.budget)
        variances = variance, variance / MOMENT_RATIO**2
        noise = [
            discrete_gaussian(bits, unit**2 * each)
            for unit, each in zip(units, variances, strict=True)
        ]
    noisy = [
        float(Fraction(total + each, unit))
        for total, each, unit in zip(sums, noise, units, strict=True)
    ]
    return stage.moments(np.array(noisy) / number, number, changes)


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
    centre : ndarray, shape (2, *point_shape)
        In the support.
    stage : PointsStage

    Returns
    -------
    tuple of ndarray
        States (points + 1, 2, *point_shape), the centre itself last; and volumes (points + 1,),
        zero for those outside the support.
    """
    space = support.space
    dim = space.base.dim
    steps = np.repeat(stage.radii, dim) * even_balls((dim, dim), stage.points)
    vectors = space.vector(space.frame(centre)[None], steps)
    states = space.exp(centre[None], vectors)
    volumes = space.exp_volume(centre[None], vectors)
    volumes = np.where(support.contains(states), volumes, 0.0)
    # The centre is in the support, whatever rounding says.
    return np.concatenate([states, centre[None]]), np.append(volumes, 1.0)


def _noisy_means(assumptions, stage, records, state, number, bits):
    """Noisy means (2, dim) of clipped gradients in the footpoint and in the shooting vector."""
    dim, changes = assumptions.manifold.dim, assumptions.changes
    ends = np.array(gradient_sums(assumptions, records, state, stage.clip), dtype=object)
    if stage.unit == PURE:
        scale = changes * LATTICE / stage.budget
        ends = ends + [rounded_laplace(bits, dim, scale) for _ in ends]
        sums = np.array([2 * (ends[0] + ends[1]), ends[0] - ends[1]])
    else:
        unit = Fraction((changes * LATTICE) ** 2) / (2 * stage.budget)
        # a, and 2 b, whose noise is then halved with it.
        sums = np.array([ends[0] + ends[1], ends[0] - ends[1]])
        sums = sums + [
            [discrete_gaussian(bits, variance * unit) for _ in range(dim)]
            for variance in GAUSSIAN_VARIANCES
        ]
        sums = np.array([2 * sums[0], sums[1]])
    return sums.astype(float) * (0.5 * stage.clip / LATTICE / number)


def moved(assumptions, state, change):
    """The state after a step, brought back to the support.

    Parameters
    ----------
    assumptions : Assumptions
    state : ndarray, shape (2, *point_shape)
    change : ndarray, shape (2, dim)
        Coordinates of the steps of footpoint and shooting vector.

    Returns
    -------
    ndarray, shape (2, *point_shape)
    """
    manifold = assumptions.manifold
    p, v = state
    # No farther than across the support, so that nothing overflows.
    longest = assumptions.shooting_vector_length
    by_footpoint = _shortened(change[0], 2.0 * assumptions.footpoint_radius)
    by_vector = _shortened(change[1], 2.0 * longest)
    step, turn = manifold.vector(manifold.frame(p), np.stack([by_footpoint, by_vector]))
    end = manifold.exp(p, step)
    vector = manifold.transport(p, step, v + turn)
    away = manifold.log(assumptions.centre, end)
    distance = float(manifold.norm(assumptions.centre, away))
    if distance > assumptions.footpoint_radius:
        shorter = (1.0 - 1e-12) * assumptions.footpoint_radius / distance
        inside = manifold.exp(assumptions.centre, away * shorter)
        vector = manifold.transport_to(end, inside, vector)
        end = inside
    length = float(manifold.norm(end, vector))
    return np.stack([end, vector * min(1.0, (1.0 - 1e-12) * longest / max(length, 1e-300))])


def _shortened(vector, limit):
    """A vector of coordinates, no longer than a limit; its length may be too large to square."""
    largest = max(np.max(np.abs(vector)), 1e-300)
    length = largest * np.linalg.norm(vector / largest)
    return vector * (limit / length) if length > limit else vector
