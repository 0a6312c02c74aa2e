"""Geodesic regression: energy, gradients, Hessians and the fit, by least squares or Huber's loss.

The model is ``y ~ Exp(p, x v)`` with footpoint ``p`` and shooting vector ``v`` (Fletcher 2011;
Kulkarni and Soto, eq. 3 to 6).  Everything is vectorised over data sets and chains: parameters
have shape (*data_sets, *chains, *point_shape), covariates (*data_sets, n) and points
(*data_sets, n, *point_shape).

``huber`` is a threshold ``c`` in the manifold's unit of length: a record at distance ``d`` costs
``d^2 / 2`` up to it and ``c d - c^2 / 2`` beyond (Huber 1964), so that no record pulls at the
geodesic more strongly than one at ``c``.  ``None`` is least squares.
"""

from dataclasses import dataclass

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.base import BLOCKS

# Numbers one array of a chunk may hold: a few such arrays fit a processor's cache.
CHUNK = 1 << 16

# Gauss-Newton contracts by about the squared residuals a step, so when a few steps have not
# been enough the data are spread widely and the exact Hessian is worth its gradients.
GAUSS_NEWTON_STEPS = 6

# A record this close to the cut locus of its prediction (as a fraction of the injectivity
# radius) has a residual whose direction a small change of the fit would reverse.
CUT_LOCUS_FRACTION = 0.9

# Energies come from cosines of distances on spaces of unit vectors, so their rounding does not
# shrink with them.
ENERGY_ROUNDING = 1e-14

# Step of the central differences of the gradient, radians: error of order 1e-10 both ways.
DIFFERENCE_STEP = 1e-5

# Rounds of reweighting of the robust start, each about one pass over the data.
STARTING_ROUNDS = 30

# Records that are enough for a start.
STARTING_RECORDS = 4096


class FitError(DataError):
    """The data admit no geodesic that can be vouched for."""


class CutLocusError(FitError):
    """A record lies near the cut locus of its prediction.

    Attributes
    ----------
    record : int
        Its index within its data set.
    reason : str
        What is wrong and what to do, without saying which record it is.
    """

    def __init__(self, index, distance, injectivity_radius, data_sets=()):
        self.record = int(index[-1])
        self.reason = (
            f"it lies {distance:.4g} from its prediction, near the cut locus at "
            f"{injectivity_radius:.4g}, where residuals have no sure direction: correct or "
            "remove it"
        )
        of_data_set = f" of data set {index[0] + 1}" if np.prod(data_sets, dtype=int) > 1 else ""
        super().__init__(f"record {self.record + 1}{of_data_set}: {self.reason}")


@dataclass(frozen=True)
class EnergyGradient:
    """Energy and the parts of its gradient asked for, at each parameter of a batch.

    Attributes
    ----------
    energy : ndarray, shape (*data_sets, *chains)
    footpoint, shooting_vector : ndarray (*data_sets, *chains, *point_shape), or None
    """

    energy: np.ndarray
    footpoint: np.ndarray | None = None
    shooting_vector: np.ndarray | None = None


def record_losses(squared_distances, huber=None):
    """Loss of each record, and the factor of its residual in the gradient.

    Parameters
    ----------
    squared_distances : ndarray
    huber : float, optional

    Returns
    -------
    losses : ndarray
    weights : ndarray or None
        ``min(1, c / d)``; none where all are one.
    """
    if huber is None:
        return 0.5 * squared_distances, None
    distances = np.sqrt(squared_distances)
    clipped = np.minimum(distances, huber)
    weights = np.divide(clipped, distances, out=np.ones_like(distances), where=distances > 0.0)
    return clipped * (distances - 0.5 * clipped), weights


def energy_gradient(
    manifold, footpoint, shooting_vector, covariates, points, blocks=BLOCKS, huber=None
):
    """Energy, the mean loss, and its gradients (Kulkarni and Soto, eq. 3, 5 and 6).

    By least squares the energy is ``1/(2n) sum d^2``.

    Parameters
    ----------
    manifold : Manifold
    footpoint, shooting_vector : ndarray, shape (*data_sets, *chains, *point_shape)
    covariates : ndarray, shape (*data_sets, n)
    points : ndarray, shape (*data_sets, n, *point_shape)
    blocks : sequence of {"footpoint", "shooting_vector"}
        The gradients wanted; empty for the energy alone.
    huber : float, optional
        Threshold of Huber's loss; least squares if not given.

    Returns
    -------
    EnergyGradient
    """
    number = covariates.shape[-1]

    def part(p, v, records):
        """Sum of losses, and minus the sums of adjoint Jacobi fields."""
        residuals = manifold.residuals(p, v, covariates[records], points[records])
        losses, weights = record_losses(residuals.squared_distances, huber)
        gradients = [-residuals.adjoint_sums(block, weights) for block in blocks]
        return [np.sum(losses, axis=-1), *gradients]

    energy, *gradients = sum_over_records(
        manifold, footpoint, shooting_vector, covariates.shape, part
    )
    return EnergyGradient(
        energy / number,
        **{block: total / number for block, total in zip(blocks, gradients, strict=True)},
    )


def sum_over_records(manifold, footpoint, shooting_vector, data_shape, part, arrays=(), size=1):
    """Sums over records at each parameter of a batch, in chunks that fit a processor's cache.

    Parameters
    ----------
    manifold : Manifold
    footpoint, shooting_vector : ndarray, shape (*data_sets, *chains, *point_shape)
    data_shape : tuple of int
        (*data_sets, n).
    part : callable
        From parameters (*data_sets, some_chains, *point_shape), twice, an index of some of the
        records, and ``arrays`` (*data_sets, some_chains), to a list of sums over these records:
        numbers (*data_sets, some_chains) or tangent vectors (*data_sets, some_chains,
        *point_shape).
    arrays : sequence of ndarray
        Each broadcasts to (*data_sets, *chains).
    size : int
        How many records one of the n stands for.

    Returns
    -------
    list of ndarray
        The sums over all records, with axes (*data_sets, *chains) in front.
    """
    data_ndim = len(data_shape) - 1
    number = data_shape[-1]
    batch = manifold.batch_shape(footpoint)
    flat = (*batch[:data_ndim], int(np.prod(batch[data_ndim:], dtype=int)))
    p = footpoint.reshape(flat + manifold.point_shape)
    v = shooting_vector.reshape(flat + manifold.point_shape)
    arrays = [np.broadcast_to(array, batch).reshape(flat) for array in arrays]
    before = (slice(None),) * data_ndim
    data_sets = int(np.prod(flat[:-1], dtype=int)) * size
    record_step = min(number, max(1, CHUNK // data_sets))
    chain_step = max(1, CHUNK // (record_step * data_sets))
    totals = None
    for chain in range(0, max(1, flat[-1]), chain_step):
        chains = (*before, slice(chain, chain + chain_step))
        for record in range(0, number, record_step):
            records = (*before, slice(record, record + record_step))
            sums = part(p[chains], v[chains], records, *(array[chains] for array in arrays))
            if totals is None:
                totals = [
                    np.zeros((*flat, *found.shape[data_ndim + 1 :]), dtype=found.dtype)
                    for found in sums
                ]
            for total, found in zip(totals, sums, strict=True):
                total[chains] += found
    return [total.reshape((*batch, *total.shape[data_ndim + 1 :])) for total in totals]


def residual_distances(manifold, footpoint, shooting_vector, covariates, points):
    """Distances of the records to their predictions; shape (*data_sets, *chains, n)."""
    number = covariates.shape[-1]
    distances = np.empty((*manifold.batch_shape(footpoint), number))
    before = (slice(None),) * (covariates.ndim - 1)
    step = max(1, CHUNK // max(1, distances.size // number))
    for start in range(0, number, step):
        some = (*before, slice(start, start + step))
        residuals = manifold.residuals(footpoint, shooting_vector, covariates[some], points[some])
        distances[..., some[-1]] = np.sqrt(residuals.squared_distances)
    return distances


def predict(manifold, footpoint, shooting_vector, covariates):
    """Points ``Exp(p, x v)``.

    Parameters
    ----------
    footpoint, shooting_vector : ndarray, shape (*batch, *point_shape)
    covariates : ndarray, shape (m,)

    Returns
    -------
    ndarray, shape (*batch, m, *point_shape)
    """
    axis = -manifold.point_ndim - 1
    return manifold.exp(
        np.expand_dims(footpoint, axis),
        manifold.expand(covariates) * np.expand_dims(shooting_vector, axis),
    )


def retract(manifold, footpoint, shooting_vector, steps):
    """Move the blocks named in ``steps``; the shooting vector is carried along in parallel.

    Parameters
    ----------
    steps : dict
        Tangent vectors at the footpoint, by block.

    Returns
    -------
    tuple of ndarray
        The new footpoint and shooting vector.
    """
    if "shooting_vector" in steps:
        shooting_vector = shooting_vector + steps["shooting_vector"]
    if "footpoint" in steps:
        step = steps["footpoint"]
        shooting_vector = manifold.transport(footpoint, step, shooting_vector)
        footpoint = manifold.exp(footpoint, step)
    return footpoint, shooting_vector


def hessian(manifold, footpoint, shooting_vector, covariates, points, blocks=BLOCKS, huber=None):
    """Exact Hessian of the energy, by central differences of the gradient.

    Huber's loss has no second derivative where a record is just at the threshold: there this is
    a mean of the derivatives on both sides.

    Returns
    -------
    ndarray, shape (*data_sets, *chains, D, D)
        ``D = dim * len(blocks)``, in the frame at the footpoint, block after block.
    """
    frame = manifold.frame(footpoint)
    axis = -manifold.point_ndim - 1
    p = np.broadcast_to(np.expand_dims(footpoint, axis), frame.shape)
    v = np.broadcast_to(np.expand_dims(shooting_vector, axis), frame.shape)
    rows = []
    for moved in blocks:
        sides = []
        for sign in (1.0, -1.0):
            step = sign * DIFFERENCE_STEP * frame
            end, end_vector = retract(manifold, p, v, {moved: step})
            found = energy_gradient(manifold, end, end_vector, covariates, points, blocks, huber)
            columns = []
            for block in blocks:
                gradient = getattr(found, block)
                if moved == "footpoint":
                    back = -manifold.transport(p, step, step)
                    gradient = manifold.transport(end, back, gradient)
                columns.append(manifold.coordinates(p, gradient, np.expand_dims(frame, axis - 1)))
            sides.append(np.concatenate(columns, axis=-1))
        rows.append((sides[0] - sides[1]) / (2.0 * DIFFERENCE_STEP))
    matrix = np.concatenate(rows, axis=-2)
    return 0.5 * (matrix + np.swapaxes(matrix, -1, -2))


@dataclass(frozen=True)
class Minimum:
    """Where the energy stopped falling.

    Attributes
    ----------
    footpoint, shooting_vector : ndarray, shape (*data_sets, *chains, *point_shape)
    energy, gradient_norm : ndarray, shape (*data_sets, *chains)
        The norm is relative to the data's scale (root mean squared distance to the start, or
        what stands for it in Huber's loss).
    converged : ndarray of bool, shape (*data_sets, *chains)
    iterations : int
    """

    footpoint: np.ndarray
    shooting_vector: np.ndarray
    energy: np.ndarray
    gradient_norm: np.ndarray
    converged: np.ndarray
    iterations: int


def minimise_energy(
    manifold,
    footpoint,
    shooting_vector,
    covariates,
    points,
    blocks=BLOCKS,
    tolerance=1e-10,
    max_iterations=100,
    huber=None,
):
    """Damped second-order minimisation over the given blocks, from a given start.

    Gauss-Newton steps cost about as much as a gradient; when a few have not sufficed, steps with
    the exact Hessian follow.  A step that does not lower the energy is taken again, more strongly
    damped (Levenberg-Marquardt).  With Huber's loss Gauss-Newton weights each record as the
    gradient does (iterative reweighting); the exact Hessian knows that the weights move.

    Returns
    -------
    Minimum
    """
    p, v = footpoint, shooting_vector
    data = (covariates, points)
    start = energy_gradient(manifold, p, np.zeros_like(v), *data, blocks=(), huber=huber)
    scale = np.maximum(np.sqrt(2.0 * start.energy), np.finfo(float).tiny)
    current = energy_gradient(manifold, p, v, *data, blocks, huber)
    norm = _gradient_norm(manifold, p, current, blocks)
    damping = np.zeros(norm.shape)
    iterations = 0
    while iterations < max_iterations and np.any(norm > tolerance * scale):
        iterations += 1
        active = norm > tolerance * scale
        solve = _gauss_newton_steps if iterations <= GAUSS_NEWTON_STEPS else _newton_steps
        gradients = {block: getattr(current, block) for block in blocks}
        steps = solve(manifold, p, v, *data, gradients, damping, huber)
        decrease = -0.5 * sum(manifold.inner(p, steps[block], gradients[block]) for block in blocks)
        steps = _shorten(manifold, p, steps)
        trial_p, trial_v = retract(manifold, p, v, steps)
        trial = energy_gradient(manifold, trial_p, trial_v, *data, blocks, huber)
        trial_norm = _gradient_norm(manifold, trial_p, trial, blocks)
        gain = current.energy - trial.energy
        # Where energies differ by rounding alone the gradient is the better judge.
        rounding = np.abs(gain) <= 1e-12 * current.energy + ENERGY_ROUNDING
        accept = active & np.where(rounding, trial_norm < norm, gain > 1e-4 * decrease)
        damping = np.where(
            accept, np.where(damping > 1e-6, 0.1 * damping, 0.0), np.maximum(10 * damping, 1e-3)
        )
        choose = manifold.expand(accept)
        p, v = np.where(choose, trial_p, p), np.where(choose, trial_v, v)
        current = EnergyGradient(
            np.where(accept, trial.energy, current.energy),
            **{b: np.where(choose, getattr(trial, b), getattr(current, b)) for b in blocks},
        )
        norm = np.where(accept, trial_norm, norm)
    return Minimum(p, v, current.energy, norm / scale, norm <= tolerance * scale, iterations)


def _gradient_norm(manifold, footpoint, gradient, blocks):
    squares = [
        manifold.inner(footpoint, getattr(gradient, block), getattr(gradient, block))
        for block in blocks
    ]
    return np.sqrt(np.maximum(sum(squares), 0.0))


def _shorten(manifold, footpoint, steps):
    """Keep every step within a quarter of the injectivity radius."""
    if np.isinf(manifold.injectivity_radius):
        return steps
    longest = 0.25 * manifold.injectivity_radius
    length = np.max([manifold.norm(footpoint, step) for step in steps.values()], axis=0)
    factor = manifold.expand(np.minimum(1.0, longest / np.maximum(length, longest)))
    return {block: factor * step for block, step in steps.items()}


def _gauss_newton_steps(manifold, p, v, covariates, points, gradients, damping, huber):
    """Steps from the Gauss-Newton Hessian, reweighted for a loss that weights records."""
    weights = None
    if huber is not None:
        residuals = manifold.residuals(p, v, covariates, points)
        _, weights = record_losses(residuals.squared_distances, huber)
    return manifold.gauss_newton_steps(p, v, covariates, gradients, damping, weights)


def _newton_steps(manifold, p, v, covariates, points, gradients, damping, huber):
    """Steps from the exact Hessian, made positive where it is not."""
    blocks = tuple(gradients)
    matrix = hessian(manifold, p, v, covariates, points, blocks, huber)
    frame = manifold.frame(p)
    values, vectors = np.linalg.eigh(matrix)
    largest = np.max(np.abs(values), axis=-1)[..., None]
    values = np.maximum(np.abs(values), 1e-12 * largest) + damping[..., None] * largest
    flat = np.concatenate(
        [manifold.coordinates(p, gradients[block], frame) for block in blocks], axis=-1
    )
    turned = np.swapaxes(vectors, -1, -2) @ flat[..., None]
    moves = -(vectors @ (turned / values[..., None]))[..., 0]
    return {
        block: manifold.vector(frame, part)
        for block, part in zip(blocks, np.split(moves, len(blocks), axis=-1), strict=True)
    }


@dataclass(frozen=True)
class Fit:
    """A geodesic fitted to each data set.

    Attributes
    ----------
    footpoint, shooting_vector : ndarray, shape (*data_sets, *point_shape)
    energy : ndarray, shape (*data_sets)
        The mean loss, by least squares ``1/(2n) sum d^2``: the mean squared error of the papers
        is twice this.
    largest_residual : ndarray, shape (*data_sets)
        The papers' tau, in the manifold's unit of length.
    gradient_norm : ndarray, shape (*data_sets)
        At the fit, relative to the data's scale.
    converged : ndarray of bool, shape (*data_sets)
    iterations : int
    """

    footpoint: np.ndarray
    shooting_vector: np.ndarray
    energy: np.ndarray
    largest_residual: np.ndarray
    gradient_norm: np.ndarray
    converged: np.ndarray
    iterations: int


def fit(manifold, covariates, points, tolerance=1e-10, max_iterations=100, huber=None):
    """Geodesic of least energy (Kulkarni and Soto, eq. 4), from an automatic start.

    Parameters
    ----------
    manifold : Manifold
    covariates : ndarray, shape (*data_sets, n)
    points : ndarray, shape (*data_sets, n, *point_shape)
    tolerance : float
        Gradient norm to reach, relative to the data's scale.
    max_iterations : int
    huber : float, optional
        Threshold of Huber's loss in the manifold's unit of length, for data with outliers; least
        squares if not given.  Some 1.5 times the usual residual is customary.  The pull of
        outlying points is bounded, that of outlying covariates is not; and the mechanisms of the
        papers perturb the least-squares geodesic only.

    Returns
    -------
    Fit
        ``converged`` says, data set by data set, whether ``tolerance`` was reached.

    Raises
    ------
    FitError
        Fewer than three records, constant covariates, or a threshold that is not positive.
    CutLocusError
        A record near the cut locus of its prediction, where the residual has no sure direction,
        unless Huber's loss bounds its pull; see `check_cut_locus`.
    """
    if covariates.shape[-1] < 3:
        raise FitError(
            f"a geodesic needs at least 3 records and there are {covariates.shape[-1]}: add records"
        )
    if np.any(np.ptp(covariates, axis=-1) == 0.0):
        raise FitError("the covariate is the same for all records: give one that varies")
    if huber is not None and not huber > 0.0:
        raise FitError(f"the threshold of Huber's loss is {huber:g}: give a positive length")
    p, v = starting_geodesic(manifold, covariates, points, huber=huber)
    found = minimise_energy(
        manifold, p, v, covariates, points, BLOCKS, tolerance, max_iterations, huber
    )
    distances = residual_distances(
        manifold, found.footpoint, found.shooting_vector, covariates, points
    )
    check_cut_locus(manifold, distances, huber)
    return Fit(
        footpoint=found.footpoint,
        shooting_vector=found.shooting_vector,
        energy=found.energy,
        largest_residual=np.max(distances, axis=-1),
        gradient_norm=found.gradient_norm,
        converged=found.converged,
        iterations=found.iterations,
    )


def check_cut_locus(manifold, distances, huber=None):
    """Raise `CutLocusError` when a residual that counts in full comes near the cut locus.

    By least squares such a record pulls more strongly than any other, in a direction that a
    small change of the fit reverses.  Huber's loss bounds its pull to what a record at the
    threshold has, so it is one more outlier, on which the fit depends as little as on any: to
    refuse it would undo what the loss is for.  (The fit itself is sound: at the cut locus of a
    record its loss has a ridge, where no minimum is.)  A threshold that is itself near the cut
    locus bounds next to nothing, and excuses no record.

    Parameters
    ----------
    distances : ndarray, shape (*data_sets, n)
    huber : float, optional
        Threshold of the loss.
    """
    limit = CUT_LOCUS_FRACTION * manifold.injectivity_radius
    if huber is not None and huber < limit:
        return
    if np.any(distances > limit):
        worst = np.unravel_index(np.argmax(distances), distances.shape)
        raise CutLocusError(
            worst, float(distances[worst]), manifold.injectivity_radius, distances.shape[:-1]
        )


def starting_geodesic(manifold, covariates, points, candidates=32, huber=None):
    """Start of the fit: linear regression in the tangent space at a central record.

    The central record is the one, of up to ``candidates`` spread over the data, with the least
    sum of losses of the distances to the others.  With Huber's loss the regression is reweighted
    until outliers have no more pull in it than they will have in the fit.  Of very many records
    some are enough, spread over the data.

    Returns
    -------
    tuple of ndarray, shape (*data_sets, *point_shape)
        Footpoint and shooting vector.
    """
    record_axis = -manifold.point_ndim - 1
    number = covariates.shape[-1]
    if number > STARTING_RECORDS:
        used = np.linspace(0, number - 1, STARTING_RECORDS).astype(int)
        used = np.broadcast_to(used, (*covariates.shape[:-1], STARTING_RECORDS))
        # With the two that are farthest apart the covariate varies.
        ends = [np.argmin(covariates, axis=-1), np.argmax(covariates, axis=-1)]
        used = np.concatenate([used, np.stack(ends, axis=-1)], axis=-1)
        covariates = np.take_along_axis(covariates, used, axis=-1)
        points = np.take_along_axis(points, manifold.expand(used), axis=record_axis)
        number = used.shape[-1]
    chosen = np.unique(np.linspace(0, number - 1, min(number, candidates)).astype(int))
    some = np.take(points, chosen, axis=record_axis)
    squares = (
        manifold.dist(np.expand_dims(some, record_axis), np.expand_dims(some, record_axis - 1)) ** 2
    )
    losses, _ = record_losses(squares, huber)
    best = np.argmin(np.sum(losses, axis=-1), axis=-1)
    index = np.asarray(best)[(..., None) + (None,) * manifold.point_ndim]
    centre = np.take_along_axis(some, index, axis=record_axis)
    logs = manifold.log(centre, points)
    first, slope = _linear_regression(manifold, covariates, logs)
    if huber is not None:
        for _ in range(STARTING_ROUNDS):
            line = np.expand_dims(first, record_axis) + manifold.expand(
                covariates
            ) * np.expand_dims(slope, record_axis)
            apart = logs - line
            _, weights = record_losses(manifold.inner(centre, apart, apart), huber)
            first, slope = _linear_regression(manifold, covariates, logs, weights)
    centre = np.squeeze(centre, axis=record_axis)
    footpoint = manifold.exp(centre, first)
    return footpoint, manifold.log(footpoint, manifold.exp(centre, first + slope))


def _linear_regression(manifold, covariates, vectors, weights=None):
    """Intercept and slope (*data_sets, *point_shape) of tangent vectors at one point."""
    record_axis = -manifold.point_ndim - 1
    if weights is None:
        middle = np.mean(vectors, axis=record_axis)
        mean = np.mean(covariates, axis=-1)
        factors = x = covariates - mean[..., None]
    else:
        weights = weights / np.sum(weights, axis=-1, keepdims=True)
        middle = np.sum(manifold.expand(weights) * vectors, axis=record_axis)
        mean = np.sum(weights * covariates, axis=-1)
        x = covariates - mean[..., None]
        factors = weights * x
    slope = np.sum(manifold.expand(factors) * vectors, axis=record_axis) / manifold.expand(
        np.sum(factors * x, axis=-1)
    )
    return middle - manifold.expand(mean) * slope, slope
