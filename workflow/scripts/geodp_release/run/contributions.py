"""Clipped contributions of each subject to a stage, in whole numbers, and their sums.

A contribution is computed from that subject's records, the public state and public inputs alone,
rounded to a public lattice and clipped there.  So the sensitivity of a sum is a fact about
integers, whatever rounding did before; and sums are exact.  Records that cannot be used contribute
zero to gradients and the largest loss.
"""

import operator
from typing import Any

import numpy as np

from geodp.models.blocks import block_names
from geodp.models.residuals import PerRecordGeodesicResiduals
from geodp_release.run.covariate_moments import product_indices
from geodp_release.run.parts import in_parts

# Steps of the lattice: in the length to which gradients are clipped,
LATTICE = 1 << 26
# in the largest loss,
LOSS_LATTICE = 1 << 10
# in the largest length of a record's vector in a matrix of moments,
MATRIX_LATTICE = 1 << 24
# in the norm to which contributions are clipped whose products are summed,
PRODUCT_LATTICE = 1 << 12
# and of covariates, whose range is twice that.
COVARIATE_LATTICE = 1 << 20

# What rounding may add to a norm before it is clipped; far above its errors.
MARGIN = 2.0**-20

# Records that are computed at once, and where it adds little padding more; see `chunk_size`.
LEAST_CHUNK, CHUNK = 32, 256
LARGE_CHUNKS = (1 << 12, 1 << 10)


@in_parts
def loss_sums(assumptions, records, states, clip, distances=1 << 16):
    """Sums (states,) over subjects of their mean losses, in steps of ``1 / LOSS_LATTICE``.

    A loss is the squared distance of a record from its prediction, over that of ``clip``, and one
    beyond: adding or removing a subject adds or removes 0 to `LOSS_LATTICE`.  States have the shape
    (states, 1 + k, *point_shape).  About so many ``distances`` are computed at once.
    """
    total = np.zeros(len(states), dtype=np.int64)
    at_once = max(distances // chunk_size(assumptions), 1)
    for start in range(0, len(states), at_once):
        some = states[start : start + at_once]
        for x, y, valid, counts in _chunks(assumptions, records):
            each: Any = 0
            for place in range(x.shape[1]):
                with np.errstate(all="ignore"):
                    loss = _distances(assumptions.manifold, some, x[:, place], y[:, place])
                    loss = loss / clip
                    loss *= loss
                # What is not a number is not below one either; and padding counts for nothing.
                loss = np.where(loss < valid[:, place], loss, 1.0)
                loss *= np.where(place < counts, LOSS_LATTICE, 0)
                each = loss.astype(np.int64) + each
            total[start : start + at_once] += _sum_of_means(each, counts, x.shape[1])
    return total


def shares_within(ratios):
    """Shares of records that count as shorter, by the ratio of the length to their residual.

    From none at 2/3 to all at 4/3, so that numbers follow the length where residuals are alike.
    """
    shares = 1.5 * ratios
    shares -= 1.0
    return np.clip(shares, 0.0, 1.0, out=shares)


@in_parts
def length_counts(assumptions, records, state, lengths, share=shares_within):
    """Sums (lengths,) over subjects of the shares of their records whose residual is shorter.

    In steps of ``1 / LOSS_LATTICE``: adding or removing a subject adds or removes 0 to
    `LOSS_LATTICE` at each length.  Records that cannot be used are beyond all lengths.
    """
    total = np.zeros(len(lengths), dtype=np.int64)
    for x, y, valid, counts in _chunks(assumptions, records):
        each: Any = 0
        for place in range(x.shape[1]):
            with np.errstate(all="ignore"):
                away = _distances(assumptions.manifold, state[None], x[:, place], y[:, place])[0]
                # A distance that is no number is one beyond all lengths.
                is_near = valid[:, place] & (place < counts) & (away < np.inf)
                shares = share(lengths[:, None] / np.where(is_near, away, np.inf))
            each = (LOSS_LATTICE * shares).astype(np.int64) + each
        total += _sum_of_means(each, counts, x.shape[1])
    return total


def _sum_of_means(each, counts, places):
    """Sums (...) of whole means of subjects (..., n), of numbers that are not negative."""
    # The mean of one is itself.
    return np.sum(each if places == 1 else each // np.maximum(counts, 1), axis=-1)


def _distances(manifold, states, covariates, points):
    """Distances (states, n) of points from their predictions."""
    footpoint, *vectors = np.moveaxis(states, 1, 0)
    if not vectors:
        still, times = np.zeros_like(footpoint), np.zeros(len(points))
        return manifold.distances_along(footpoint, still, times, points)
    if len(vectors) == 1:
        return manifold.distances_along(footpoint, *vectors, covariates[:, 0], points)
    return manifold.dist(manifold.ends(footpoint, vectors, covariates), points)


@in_parts
def gradient_sums(assumptions, records, state, clip, coordinates, longest=np.inf):
    """Sums over subjects of mean gradients at a state, in steps of ``clip / LATTICE``.

    Lists of whole numbers (1 + k, dim), in `ClippingCoordinates`: adding or removing a subject
    changes them by `LATTICE` at most, in the norm of these ``coordinates``.  Residuals are
    shortened to the ``longest`` before.
    """
    total = np.zeros((len(state), assumptions.manifold.dim), dtype=object)
    for each in _subject_gradients(assumptions, records, state, clip, coordinates, longest):
        total += np.sum(each, axis=0, dtype=np.int64)
    return total.tolist()


def _subject_gradients(assumptions, records, state, clip, coordinates, longest):
    """Mean gradients (subjects, 1 + k, dim) of subjects, in steps of ``clip / LATTICE``, by turns.

    Each is `LATTICE` at most in the norm of the coordinates.
    """
    for found, valid, counts in _gradients_at(assumptions, records, state, coordinates):
        limits = clip, coordinates, longest
        each = sum(
            lattice_gradients(assumptions.manifold, some, valid[:, place], *limits)
            for place, some in enumerate(found)
        )
        # The mean of one is itself.
        yield each if len(found) == 1 else _mean_towards_zero(each, counts)


def _gradients_at(assumptions, records, state, coordinates, most=1 << 23):
    """`gradients` of a place of all subjects, a list, which are valid, and counts, by turns.

    Up to so many numbers are kept for more stages that need them, and if they are few those at the
    first state for studies, whose draws all start there.
    """
    key, kept = (state.tobytes(), coordinates.standard.tobytes()), []
    if key in records.gradients:
        yield from records.gradients[key]
        return
    size = len(state) * assumptions.manifold.dim
    size *= assumptions.subjects * assumptions.records_per_subject
    is_small, is_tiny = size <= most, 8 * size <= most
    for last in list(records.gradients)[1 if is_tiny else 0 :]:
        del records.gradients[last]
    for x, y, valid, counts in _chunks(assumptions, records):
        places = zip(np.moveaxis(x, 1, 0), np.moveaxis(y, 1, 0), strict=True)
        found = [gradients(assumptions.manifold, *each, state, coordinates) for each in places]
        if is_small:
            kept.append((found, valid, counts))
        yield found, valid, counts
    if kept:
        records.gradients[key] = kept


@in_parts
def product_sums(assumptions, records, state, clip, coordinates, directions=False, longest=np.inf):
    """Sum over subjects of products of two parts of their mean gradients at a state.

    An upper triangle, row by row: of blocks (1 + k, 1 + k), over all directions; or of
    ``directions`` (dim, dim), over all blocks.  In steps of ``1 / PRODUCT_LATTICE**2`` of a square
    of the clip; a subject adds a positive semidefinite matrix of a trace of ``PRODUCT_LATTICE**2``
    at most, as norms of these ``coordinates`` are at least as long as the parts together.
    """
    kind = "nbd,nbe->de" if directions else "nbd,ncd->bc"
    size = assumptions.manifold.dim if directions else len(state)
    total = np.zeros((size, size), dtype=object)
    for each in _subject_gradients(assumptions, records, state, clip, coordinates, longest):
        # Towards zero, so that norms do not grow; sums of 2^12 subjects are below 2^36, and exact.
        coarse = np.trunc(each * (PRODUCT_LATTICE / LATTICE))
        total += np.einsum(kind, coarse, coarse).astype(np.int64)
    return total[np.triu_indices(size)].tolist()


@in_parts
def tail_counts(assumptions, records, state, limits, coordinates):
    """Sums (limits,) over subjects of the shares of their records with so long contributions.

    Longer, before clipping, than each of increasing limits and no longer than the next, in steps of
    ``1 / LOSS_LATTICE``: adding or removing a subject changes all together by `LOSS_LATTICE` at
    most.  Records that cannot be used are shorter than all.
    """
    total = np.zeros(len(limits), dtype=np.int64)
    for found, valid, counts in _gradients_at(assumptions, records, state, coordinates):
        each = np.zeros((len(counts), len(limits)), dtype=np.int64)
        for place, (_, lengths, _) in enumerate(found):
            with np.errstate(all="ignore"):
                longer = lengths[:, None] > limits
            longer &= (valid[:, place] & (place < counts))[:, None]
            each += longer & ~np.append(longer[:, 1:], np.zeros((len(longer), 1), bool), axis=1)
        total += np.sum(LOSS_LATTICE * each // np.maximum(counts, 1)[:, None], axis=0)
    return total.tolist()


@in_parts
def covariate_sums(records, at_once=1 << 12):
    """Sums over subjects of their mean covariates and mean products of two.

    Lists of whole numbers: k in steps of ``1 / COVARIATE_LATTICE``; and k (k + 1) / 2, in the order
    of `geodp_release.run.covariate_moments`, in steps of its square.  So many subjects are taken
    ``at_once``.
    """
    half = COVARIATE_LATTICE // 2
    one, other = product_indices(records.covariates.shape[-1])
    sums = [[0] * records.covariates.shape[-1], [0] * len(one)]
    for start in range(0, len(records), at_once):
        some = slice(start, start + at_once)
        valid = records.valid[some, :, None]
        whole = np.where(valid, np.trunc(records.covariates[some] * COVARIATE_LATTICE), 0.0)
        # As integers, whatever scaling them did.
        whole = np.clip(whole.astype(np.int64), -half, half)
        for place, each in enumerate((whole, whole[..., one] * whole[..., other])):
            # Each below 2^38, so that sums of 2^12 are below 2^50.
            means = _mean_towards_zero(np.sum(each, axis=1), records.counts[some])
            sums[place] = list(map(operator.add, sums[place], np.sum(means, axis=0).tolist()))
        records.settle(start)
    return tuple(sums)


@in_parts
def matrix_sums(assumptions, records, state, clip, coordinates):
    """Sum over subjects of mean z z' of their records, its upper triangle, row by row.

    A z, of whole numbers in steps of ``1 / MATRIX_LATTICE``, has 1 and covariates in the
    ``coordinates`` of a `geodp_release.stages.matrix.MatrixStage`, and a residual, clipped.  A
    subject adds a positive semidefinite matrix of a trace of ``MATRIX_LATTICE**2`` at most.
    """
    rows = np.triu_indices(len(state) + assumptions.manifold.dim)
    total = np.zeros(len(rows[0]), dtype=object)
    for x, y, valid, counts in _chunks(assumptions, records):
        # The root of a mean's weight, for each z.
        weights = (1.0 / np.sqrt(np.maximum(counts, 1)))[:, None]
        for place in range(x.shape[1]):
            some = x[:, place], y[:, place], valid[:, place]
            z = lattice_vectors(assumptions.manifold, *some, state, clip, coordinates, weights)
            # Of 2^12 records at most, so that sums are below 2^60.
            total += np.einsum("ni,nj->ij", z, z)[rows]
    return total.tolist()


def lattice_vectors(manifold, covariates, points, valid, state, clip, coordinates, weights):
    """Vectors z (n, 1 + k + dim) of records in `matrix_sums`, of whole numbers.

    Each is of that record alone, and no longer than `MATRIX_LATTICE` times its weight.
    """
    with np.errstate(all="ignore"):
        # In flat space, and about a centre anywhere, those are the residuals.
        (residuals, *_), _ = _adjoints(manifold, covariates, points, state)
        lengths = np.sqrt(np.sum(residuals**2, axis=-1))
        factors = np.where(valid, _taper(manifold, lengths), 0.0) / np.maximum(lengths, clip)
        z = coordinates(covariates, residuals * factors[:, None])
        whole = np.trunc(z * ((1.0 - MARGIN) * MATRIX_LATTICE * weights))
        norms = np.sqrt(np.sum(whole**2, axis=-1))
        usable = valid & (norms <= (1.0 - 0.5 * MARGIN) * MATRIX_LATTICE * weights[:, 0])
    return np.where(usable[:, None], whole, 0.0).astype(np.int64)


def _mean_towards_zero(sums, counts):
    """Whole means of subjects' records, so that norms do not grow."""
    divisor = np.maximum(counts, 1).reshape((-1, *[1] * (sums.ndim - 1)))
    return np.sign(sums) * (np.abs(sums) // divisor)


def chunk_size(assumptions, padding=0.25, numbers=1 << 20):
    """Records that are computed at once, from the public number of subjects and the space.

    Always so many, so that no record changes how others are rounded: a power of two; a large one
    if that adds no more than that part of the subjects as padding, and no larger arrays of numbers.
    """
    subjects, manifold = assumptions.subjects, assumptions.manifold
    each = len(manifold.curvature_signs) * int(np.prod(manifold.point_shape))
    for size in LARGE_CHUNKS:
        if -subjects % size <= padding * subjects and size * each <= numbers:
            return size
    return min(max(1 << (subjects - 1).bit_length(), LEAST_CHUNK), CHUNK)


def _chunks(assumptions, records):
    """Records of always as many subjects at a time, of which the last are padding.

    No subject at all takes as long as one.
    """
    size = chunk_size(assumptions)
    parts = records.covariates, records.points, records.valid, records.counts
    blank = [np.zeros((size, *part.shape[1:]), dtype=part.dtype) for part in parts]
    blank[1][:] = assumptions.centre
    for start in range(0, max(len(records), 1), size):
        some = [part[start : start + size] for part in parts]
        if (number := len(some[3])) < size:
            both = zip(some, blank, strict=True)
            some = [np.concatenate([part, more[number:]]) for part, more in both]
        yield some
        records.settle(start)


def lattice_gradients(manifold, found, valid, clip, coordinates, longest=np.inf):
    """Contributions (n, 1 + k, dim) of records, integers in units of ``clip / LATTICE``.

    Each is of that record alone, in ``coordinates``, in whose norm it is `LATTICE` at most.  What
    was ``found`` is theirs of `gradients`; valid is (n,).  Residuals are shortened to the
    ``longest`` before.
    """
    parts, lengths, distances = found
    # What fails, of whatever record, becomes a number that is not finite, and then zero.
    with np.errstate(all="ignore"):
        weights = np.where(valid, _taper(manifold, distances), 0.0)
        factors = weights / np.maximum(np.maximum(lengths / clip, distances / longest), 1.0)
        scaled = parts * (factors * ((1.0 - MARGIN) * LATTICE / clip))[:, None, None]
        # Towards zero, so that norms do not grow.
        whole = np.trunc(scaled)
        norms = coordinates.norm(whole)
        # Integers below 2^53 are exact, and rounding of their norms is far below the margin.
        usable = norms <= (1.0 - 0.5 * MARGIN) * LATTICE
    return np.where(usable[:, None, None], whole, 0.0).astype(np.int64)


def gradients(manifold, covariates, points, state, coordinates):
    """Gradients (n, 1 + k, dim) in coordinates, their norms (n,), and lengths of residuals (n,).

    Covariates are (n, k), points (n, *point_shape), a state (1 + k, *point_shape).
    """
    with np.errstate(all="ignore"):
        each, distances = _adjoints(manifold, covariates, points, state)
        parts = coordinates.of(np.stack(each, axis=1))
        return parts, coordinates.norm(parts), distances


def _adjoints(manifold, covariates, points, state):
    """Adjoints of residuals by block, each coordinates (n, dim) in the frame, and their lengths."""
    blocks = block_names(len(state) - 1)
    if manifold.has_adjoints_along and len(blocks) <= 2:
        velocity, times = state[0] * 0.0, np.zeros(len(points))
        if len(state) > 1:
            velocity, times = state[1], covariates[:, 0]
        each, distances = manifold.adjoints_along(state[0], velocity, times, points)
        return each[: len(state)], distances
    parts = dict(zip(blocks, state, strict=True))
    found = PerRecordGeodesicResiduals.of(manifold, parts, covariates, points)
    frame = manifold.frame(state[0])
    each = [manifold.coordinates(state[0], found.contributions(each), frame) for each in blocks]
    return each, np.sqrt(found.squared_distances)


def _taper(manifold, distances, start=0.9, end=0.999):
    """Weights of residuals: one, falling to zero before the cut locus.

    From ``start`` to ``end`` times the injectivity radius, where rounding leaves their direction
    undetermined.
    """
    radius = manifold.injectivity_radius
    if not np.isfinite(radius):
        return np.ones(distances.shape)
    return np.clip((end - distances / radius) / (end - start), 0.0, 1.0)
