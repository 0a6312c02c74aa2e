"""What each subject contributes to a stage, in whole numbers, and their sums.

A contribution is computed from that subject's records, the public state and public inputs alone,
rounded to a public lattice and clipped there.  So the sensitivity of a sum is a fact about
integers, whatever rounding did before; and sums are exact.  Records that cannot be used contribute
zero to gradients and the largest loss.
"""

import numpy as np

from geodp.mechanisms.certified import BLOCKS, CUT_LOCUS
from geodp.models.residuals import PerRecordGeodesicResiduals

# Steps of the lattice in the length to which gradients are clipped, and in the largest loss.
LATTICE = 1 << 26
LOSS_LATTICE = 1 << 10

# Steps of the lattice of covariates, whose range is twice that.
COVARIATE_LATTICE = 1 << 20

# What rounding may add to a norm before it is clipped; far above its errors.
MARGIN = 2.0**-20

# Records that are computed at once, and states.  A power of two that suits the public number of
# subjects: always so many records, so that no record changes how others are rounded.
LEAST_CHUNK, CHUNK, STATES = 32, 256, 256

# Records at once where the public number of subjects is large, and from which number on.
LARGE_CHUNK, MANY = 1 << 12, 1 << 14

# Length of a residual, as a fraction of the injectivity radius, from which contributions fall to
# zero, which they reach at `CUT_LOCUS`.
TAPER = 0.9


def loss_sums(assumptions, records, states, clip):
    """Sums over subjects of their mean losses, in steps of ``1 / LOSS_LATTICE``.

    A loss is the squared distance of a record from its prediction, over that of ``clip``, and one
    beyond.

    Parameters
    ----------
    assumptions : Assumptions
    records : SubjectRecords
    states : ndarray, shape (states, 2, *point_shape)
    clip : float

    Returns
    -------
    ndarray of int, shape (states,)
        Adding or removing a subject adds or removes 0 to `LOSS_LATTICE`.
    """
    total = np.zeros(len(states), dtype=np.int64)
    for start in range(0, len(states), STATES):
        some = states[start : start + STATES]
        for x, y, valid, counts in _chunks(assumptions, records):
            each = np.zeros((len(some), len(counts)), dtype=np.int64)
            for place in range(x.shape[1]):
                with np.errstate(all="ignore"):
                    away = assumptions.manifold.distances_along(
                        some[:, 0], some[:, 1], x[:, place], y[:, place]
                    )
                    loss = np.minimum((away / clip) ** 2, 1.0)
                # What is not a number is not below one either; and padding counts for nothing.
                usable = valid[:, place] & (loss < 1.0)
                whole = (np.where(usable, loss, 1.0) * LOSS_LATTICE).astype(np.int64)
                each += np.where(place < counts, whole, 0)
            total[start : start + STATES] += np.sum(each // np.maximum(counts, 1), axis=-1)
    return total


def gradient_sums(assumptions, records, state, clip):
    """Sums over subjects of their mean gradients at both ends, in steps of ``clip / LATTICE``.

    Parameters
    ----------
    assumptions : Assumptions
    records : SubjectRecords
    state : ndarray, shape (2, *point_shape)
    clip : float

    Returns
    -------
    list of two lists of int
        Coordinates of the sums of ``e+ = a/2 + b`` and ``e- = a/2 - b``, for a subject's gradients
        a in the footpoint and b in the shooting vector.  Adding or removing a subject changes them
        by `LATTICE` at most, in the sum of their Euclidean norms.
    """
    total = np.zeros((2, assumptions.manifold.dim), dtype=object)
    for x, y, valid, counts in _chunks(assumptions, records):
        each = np.zeros((len(counts), 2, assumptions.manifold.dim), dtype=np.int64)
        for place in range(x.shape[1]):
            each += lattice_gradients(
                assumptions.manifold, x[:, place], y[:, place], valid[:, place], state, clip
            )
        # Towards zero, so that norms do not grow.
        divisor = np.maximum(counts, 1)[:, None, None]
        each = np.sign(each) * (np.abs(each) // divisor)
        total += np.sum(each, axis=0, dtype=np.int64)
    return total.tolist()


def covariate_sums(records):
    """Sums over subjects of their mean covariate and its mean square, as integers.

    Returns
    -------
    tuple of int
        In steps of ``1 / COVARIATE_LATTICE`` and of its square.
    """
    whole = np.where(records.valid, np.trunc(records.covariates * COVARIATE_LATTICE), 0.0)
    # As integers, whatever scaling them did.
    half = COVARIATE_LATTICE // 2
    whole = np.clip(whole.astype(np.int64), -half, half)
    divisor = np.maximum(records.counts, 1)
    first = np.sum(whole, axis=1)
    first = np.sign(first) * (np.abs(first) // divisor)
    # Each below 2^38; sums of 2^30 subjects would not fit.
    second = np.sum(whole**2, axis=1) // divisor
    return int(np.sum(first)), sum(int(np.sum(part)) for part in np.array_split(second, 64))


def chunk_size(subjects):
    """Records that are computed at once, from the public number of subjects."""
    if subjects >= MANY:
        return LARGE_CHUNK
    return min(max(1 << (subjects - 1).bit_length(), LEAST_CHUNK), CHUNK)


def _chunks(assumptions, records):
    """Records of always as many subjects at a time, of which the last are padding."""
    size = chunk_size(assumptions.subjects)
    parts = records.covariates, records.points, records.valid, records.counts
    for start in range(0, len(records), size):
        some = [part[start : start + size] for part in parts]
        missing = size - len(some[3])
        if missing:
            some = [np.concatenate([part, np.repeat(part[:1], missing, axis=0)]) for part in some]
            some[2][-missing:] = False
            some[3][-missing:] = 0
        yield some


def lattice_gradients(manifold, covariates, points, valid, state, clip):
    """Contributions of records in units of ``clip / LATTICE``, each of that record alone.

    Parameters
    ----------
    manifold : SymmetricSpace
    covariates : ndarray, shape (n,)
    points : ndarray, shape (n, *point_shape)
    valid : ndarray of bool, shape (n,)
    state : ndarray, shape (2, *point_shape)
    clip : float

    Returns
    -------
    ndarray of int, shape (n, 2, dim)
        The Euclidean norms of the two rows of a record add up to `LATTICE` at most.
    """
    p, v = state
    # What fails, of whatever record, becomes a number that is not finite, and then zero.
    with np.errstate(all="ignore"):
        found = PerRecordGeodesicResiduals.of(
            manifold, dict(zip(BLOCKS, (p, v), strict=True)), covariates[:, None], points
        )
        first, second = (found.contributions(block) for block in BLOCKS)
        frame = manifold.frame(p)
        ends = np.stack([0.5 * first + second, 0.5 * first - second], axis=1)
        coordinates = manifold.coordinates(p, ends, frame)
        distances = np.sqrt(found.squared_distances)
        weights = np.where(valid, _taper(manifold, distances), 0.0)
        lengths = np.sum(np.sqrt(np.sum(coordinates**2, axis=-1)), axis=-1)
        factors = weights / np.maximum(lengths / clip, 1.0)
        scaled = coordinates * (factors * ((1.0 - MARGIN) * LATTICE / clip))[:, None, None]
        # Towards zero, so that norms do not grow.
        whole = np.trunc(scaled)
        norms = np.sum(np.sqrt(np.sum(whole**2, axis=-1)), axis=-1)
        # Integers below 2^53 are exact, and rounding of their norms is far below the margin.
        usable = norms <= (1.0 - 0.5 * MARGIN) * LATTICE
    return np.where(usable[:, None, None], whole, 0.0).astype(np.int64)


def _taper(manifold, distances):
    """Weights of residuals: one, falling to zero before the cut locus."""
    radius = manifold.injectivity_radius
    if not np.isfinite(radius):
        return np.ones(distances.shape)
    return np.clip((CUT_LOCUS - distances / radius) / (CUT_LOCUS - TAPER), 0.0, 1.0)
