"""Private draws: the stages of a plan, run on records, with exact arithmetic and random bits."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from geodp.samplers.integer_choice import ExactChoice
from geodp_release.contributions import (
    COVARIATE_LATTICE,
    LATTICE,
    LOSS_LATTICE,
    covariate_sums,
    gradient_sums,
    loss_sums,
)
from geodp_release.coordinates import ClippingCoordinates
from geodp_release.simulation import Covariates
from geodp_release.stages import CountStage, MomentsStage, PointsStage, moment_weights

# Volumes are multiples of 2^-VOLUME_BITS.
VOLUME_BITS = 20


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
        Of the covariates; see `geodp_release.moments`.
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
            number = float(max(1, _noisy_count(assumptions, stage, records, bits)))
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


def _noisy_count(assumptions, stage, records, bits):
    return int(stage.noise(assumptions).add([[len(records)]], bits)[0, 0])


def _moments(assumptions, stage, records, number, bits):
    """Moments of the covariates, from noisy sums."""
    noise = stage.noise(assumptions)
    first, second = covariate_sums(records)
    if len(first) == 1:
        noisy, units = noise.add([first, second], bits), [COVARIATE_LATTICE, COVARIATE_LATTICE**2]
    else:
        weights = moment_weights(len(first))
        in_unit = [COVARIATE_LATTICE * each for each in first] + second
        weighted = [weight * total for weight, total in zip(weights, in_unit, strict=True)]
        noisy = noise.add([weighted], bits)
        units = [weight * COVARIATE_LATTICE**2 for weight in weights]
    means = [
        float(Fraction(int(total), unit)) / number
        for total, unit in zip(np.ravel(noisy), units, strict=True)
    ]
    return stage.moments(np.array(means), number, assumptions.changes, assumptions.spreads)


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
    [rate] = stage.noise(assumptions).scales
    # As long a computation for all data sets of so many subjects.
    most = LOSS_LATTICE * len(records)
    return states[used], ExactChoice(weights[used].tolist(), scores.tolist(), rate, most)


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
    states, volumes = support.pattern(centre, stage.radii, stage.points)
    volumes = np.where(support.contains(states), volumes, 0.0)
    # The centre is in the support, whatever rounding says.
    return np.concatenate([states, centre[None]]), np.append(volumes, 1.0)


def _noisy_means(assumptions, stage, records, state, number, bits):
    """Noisy means (1 + k, dim) of clipped gradients in the footpoint and in shooting vectors."""
    sums = gradient_sums(assumptions, records, state, stage.clip)
    coordinates = ClippingCoordinates(assumptions.number_of_covariates)
    noisy = coordinates.noisy(sums, bits, stage.noise(assumptions))
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
