"""The fit of a model: damped second-order minimisation of its energy from an automatic start."""

import math
from dataclasses import dataclass, replace

import numpy as np

from geodp.data.large import extremes, in_turn
from geodp.errors import DataError
from geodp.models.blocks import FOOTPOINT
from geodp.models.losses import Distance, SquaredDistance
from geodp.models.residuals import kind_of, steps_in_frame
from geodp.models.start import (
    STARTING_RECORDS,
    lowest_mean,
    some_records,
    starting_parameters,
)

# Distance of a record from its prediction, as a fraction of the injectivity radius, beyond which a
# small change of the fit could reverse the direction of its residual.
CUT_LOCUS_FRACTION = 0.9


class FitError(DataError):
    """The data do not determine a fit."""


class CutLocusError(FitError):
    """A record lies near the cut locus of its prediction.

    ``record`` is its index within its data set; ``reason`` has the fault and the remedy, without
    the record.
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
class Minimum:
    """End of a minimisation of the energy; arrays have shape (*data_sets, *chains)."""

    parameters: dict  # Arrays (*data_sets, *chains, *point_shape) by block.
    # The mean loss, by least squares ``1/(2n) sum d^2``: half the papers' mean squared error.
    energy: np.ndarray
    # Relative to the data's scale: the root of twice the mean loss of distances to a point amid the
    # data, by least squares the root mean squared distance to it.
    gradient_norm: np.ndarray
    # Whether the tolerance was reached, or as much of it as rounding lets be: the gradient norm
    # says how much.
    converged: np.ndarray
    iterations: int
    largest_residual: np.ndarray  # In the manifold's unit of length; of a fit the papers' tau.

    @property
    def is_reached(self) -> np.ndarray:
        """Whether it is as good as converged, so that what follows from it may be used.

        Parameters are off by about a millionth of a typical residual.
        """
        return self.converged | (self.gradient_norm <= 1e-6)


def minimise(
    model,
    start,
    covariates,
    points,
    blocks=None,
    tolerance=1e-10,
    max_iterations=100,
    spread=None,
    near=None,
):
    """`Minimum` of the energy over some blocks, all unless given, from a given start.

    Steps with an approximate Hessian (`GeodesicModel.newton_steps`) cost about as much as a
    gradient; when some have not sufficed, steps with the exact one follow.  A step that does not
    lower the energy is taken again, more strongly damped (Levenberg-Marquardt).

    The start is a dict by block of arrays (*data_sets, *chains, *point_shape), ``spread`` the mean
    loss (*data_sets) of distances to a point amid the data, unless given the starting footpoint,
    and ``near`` a `HessianNearby` to use in place of the approximate one; the other arguments are
    those of `fit`.
    """
    # Energies that differ by so small a part of them, or by so little, differ by rounding alone.
    # Where barely damped steps promise no more, and so many in a row lower no gradient, damped ones
    # neither, rounding has ended what can be gained.
    relative_rounding, least_gain, barely, most_in_vain = 1e-12, 1e-14, 1e-3, 4
    manifold = model.manifold
    blocks = model.blocks if blocks is None else blocks
    data = (covariates, points)
    state = start
    current = model.energy_gradient(state, *data, blocks, normal=True, matrices=near is None)
    if spread is None:
        spread = _spread(model, start, *data, current.energy)
    scale = _scale(model, points, spread)
    norm = _gradient_norm(manifold, state, current)
    damping = np.zeros(norm.shape)
    # At a record the gradient of a distance jumps, and steps that gain nothing say nothing of it.
    is_smooth = not isinstance(model.loss, Distance)
    in_vain, slow, iterations = np.zeros(norm.shape, dtype=int), False, 0
    while iterations < max_iterations:
        active = (norm > tolerance * scale) & (in_vain < most_in_vain)
        if not np.any(active):
            break
        iterations += 1
        # Gauss-Newton converges at a rate of about the squared residuals; exact Hessians take many
        # gradients each.
        if iterations > 12:
            exact = HessianNearby.of(model, state, *data, tuple(current.gradient))
            steps = exact.steps(manifold, state, current.gradient, damping)
        elif near is not None:
            steps = near.steps(manifold, state, current.gradient, damping)
        else:
            steps = model.newton_steps(state, current, damping, slow)
        decrease = -0.5 * sum(
            manifold.inner(state[FOOTPOINT], steps[block], current.gradient[block])
            for block in blocks
        )
        steps = _shorten(manifold, state[FOOTPOINT], steps)
        trial = model.retract(state, steps)
        found = model.energy_gradient(trial, *data, blocks, normal=True, matrices=near is None)
        trial_norm = _gradient_norm(manifold, trial, found)
        gain = current.energy - found.energy
        # Where energies differ by rounding alone the gradient is the better judge.
        least = relative_rounding * current.energy + least_gain
        by_gradient = (np.abs(gain) <= least) | (decrease <= least)
        accept = active & np.where(by_gradient, trial_norm < norm, gain > 1e-4 * decrease)
        little = (
            is_smooth
            & (decrease <= relative_rounding * current.energy)
            & ((damping <= barely) | (in_vain > 0))
        )
        in_vain = np.where(active, np.where(little & ~accept, in_vain + 1, 0), in_vain)
        damping = np.where(
            accept, np.where(damping > 1e-6, 0.1 * damping, 0.0), np.maximum(10 * damping, barely)
        )
        state, current = _accepted(manifold, accept, (trial, found), (state, current))
        slow = slow or bool(np.any(active & (trial_norm > 0.01 * norm)))
        norm = np.where(accept, trial_norm, norm)
    distances = np.sqrt(current.largest)
    return Minimum(
        state,
        current.energy,
        norm / scale,
        (norm <= tolerance * scale) | (in_vain >= most_in_vain),
        iterations,
        distances,
    )


def _accepted(manifold, accept, new, old):
    """States and what was found at them, new where accepted."""
    if np.all(accept):
        return new
    if not np.any(accept):
        return old
    (trial, found), (state, current) = new, old

    def choose(first, second):
        if isinstance(first, dict):
            return {block: choose(value, second[block]) for block, value in first.items()}
        if first is None:
            return None
        extra = first.ndim - accept.ndim
        return np.where(accept.reshape(accept.shape + (1,) * extra), first, second)

    names = ("energy", "gradient", "normal", "largest")
    merged = {name: choose(getattr(found, name), getattr(current, name)) for name in names}
    return choose(trial, state), replace(current, residuals=None, **merged)


def _spread(model, start, covariates, points, energy):
    """Energy of the starting footpoint; that of the start is known."""
    if len(start) == 1:
        return energy
    at_footpoint = {
        block: value if block == FOOTPOINT else np.zeros_like(value)
        for block, value in start.items()
    }
    return model.energy_gradient(at_footpoint, covariates, points, blocks=()).energy


def _scale(model, points, spread):
    """Scale of each data set, for all its chains: the root of twice the spread."""
    manifold = model.manifold
    if manifold.scale_free:
        size = np.ones(())
    else:
        axes = tuple(range(-manifold.point_ndim - 1, 0))
        parts = [np.max(np.abs(points[some]), axis=axes) for some in in_turn(points)]
        size = np.concatenate(parts) if np.ndim(parts[0]) else np.max(parts)
        size = size.reshape(size.shape + (1,) * (spread.ndim - size.ndim))
    # Below 1e-4 of the coordinates a gradient of 1e-10 of the scale would be rounding.
    return np.maximum(np.sqrt(2.0 * spread), 1e-4 * size)


def _gradient_norm(manifold, state, found):
    squares = [manifold.inner(state[FOOTPOINT], each, each) for each in found.gradient.values()]
    return np.sqrt(np.maximum(sum(squares), 0.0))


def _shorten(manifold, footpoint, steps):
    """Keep every step within a quarter of the injectivity radius."""
    if np.isinf(manifold.injectivity_radius):
        return steps
    longest = 0.25 * manifold.injectivity_radius
    length = np.max([manifold.norm(footpoint, step) for step in steps.values()], axis=0)
    factor = manifold.expand(np.minimum(1.0, longest / np.maximum(length, longest)))
    return {block: factor * step for block, step in steps.items()}


@dataclass(frozen=True)
class HessianNearby:
    """Hessian of the energy at a footpoint, as absolute eigenvalues and eigenvectors."""

    footpoint: np.ndarray
    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, model, state, covariates, points, blocks=None):
        """That of these records, in the frame at the footpoint."""
        matrix = model.hessian(state, covariates, points, blocks)
        values, vectors = np.linalg.eigh(matrix)
        return cls(state[FOOTPOINT], np.abs(values), vectors)

    def steps(self, manifold, state, gradient, damping):
        """Steps, damped, at another footpoint nearby, to which all is carried in parallel."""
        largest = np.maximum(np.max(self.values, axis=-1)[..., None], np.finfo(float).tiny)
        values = np.maximum(self.values, 1e-12 * largest) + damping[..., None] * largest

        def solve(each):
            turned = np.swapaxes(self.vectors, -1, -2) @ each
            return -(self.vectors @ (turned / values[..., None]))

        here, there = state[FOOTPOINT], self.footpoint
        carried = {
            block: manifold.transport_to(here, there, each) for block, each in gradient.items()
        }
        steps = steps_in_frame(manifold, there, carried, solve)
        return {block: manifold.transport_to(there, here, each) for block, each in steps.items()}


def fit(model, covariates, points, tolerance, max_iterations):
    """`Minimum` of a model's energy from an automatic start; see `GeodesicModel.fit`."""
    manifold = model.manifold
    points = np.asarray(points)
    x = model.aligned(covariates, points)
    _check_finite("a covariate", x, x.ndim - 1)
    _check_finite("a coordinate of its point", points, x.ndim - 1)
    _check_covariates(x)
    some, alike = some_records(manifold, x, points), replace(model, weights=None)
    (start, spread), near = starting_parameters(alike, *some), None
    if x.shape[-2] > 4 * STARTING_RECORDS:
        # Most of the way on some of the records.
        start = minimise(alike, start, some[0], some[1], tolerance=1e-3, spread=spread).parameters
        size = math.prod(x.shape[:-1]) * kind_of(manifold, x.shape[-1]).record_size(manifold)
        # Else each step has Hessians of its own: all of their numbers fit a processor's cache.
        without = size > 1 << 16 or not isinstance(model.loss, SquaredDistance)
        without = without and model.weights is None
        if not x.shape[-1] and without and manifold.dim * STARTING_RECORDS <= x.shape[-2]:
            # Hessians of means differ little; others as much as their covariates do.
            near = HessianNearby.of(model, start, *some)
    found = minimise(
        model, start, x, points, None, tolerance, max_iterations, spread=spread, near=near
    )
    if isinstance(model.loss, Distance) and not x.shape[-1]:
        found = _at_a_record(model, found, points)
    if not x.shape[-1]:
        # One record near the cut locus moves a mean by a part of its own distance.
        return lowest_mean(model, found, points, tolerance, max_iterations)
    if np.any(found.largest_residual > CUT_LOCUS_FRACTION * manifold.injectivity_radius):
        distances = model.residual_distances(found.parameters, x, points)
        check_cut_locus(manifold, distances, model.loss)
    return found


def _check_finite(what, values, leading):
    """Raise a `DataError` that names the first record of which not all numbers are finite."""
    if not all(np.all(np.isfinite(values[some])) for some in in_turn(values)):
        wrong = np.argwhere(~np.all(np.isfinite(values), axis=tuple(range(leading, values.ndim))))
        *data_set, record = wrong[0]
        of = f" of data set {', '.join(str(each + 1) for each in data_set)}" if data_set else ""
        raise DataError(
            f"record {record + 1}{of}: {what} is not a finite number: correct or remove it"
        )


def _check_covariates(x):
    number, k = x.shape[-2:]
    least = k + 2 if k else 1
    if number < least:
        raise FitError(
            f"a fit with {k} covariates needs at least {least} records and there are {number}: add "
            "records"
        )
    ends = [np.take_along_axis(x, each[..., None, :], axis=-2) for each in extremes(x)]
    if k and np.any(np.equal(*ends)):
        raise FitError("a covariate is the same for all records: give one that varies")
    if k > 1 and np.any(np.linalg.matrix_rank(x - np.mean(x, axis=-2, keepdims=True)) < k):
        raise FitError(
            "a covariate is a linear combination of the others: leave out what the others tell"
        )


def check_cut_locus(manifold, distances, loss):
    """Raise `CutLocusError` when a residual that counts in full comes near the cut locus.

    Distances have shape (*data_sets, n).  By least squares such a record pulls more strongly than
    any other, in a direction that a small change of the fit reverses.  With a loss that bounds the
    pull it is one more outlier, and is accepted, unless the bound is itself near the cut locus.
    """
    limit = CUT_LOCUS_FRACTION * manifold.injectivity_radius
    if loss.linear_from < limit:
        return
    if np.any(distances > limit):
        worst = np.unravel_index(np.argmax(distances), distances.shape)
        raise CutLocusError(
            worst, float(distances[worst]), manifold.injectivity_radius, distances.shape[:-1]
        )


def _at_a_record(model, found, points):
    """Geometric medians, moved to a record where that record is the minimum.

    No direction from a record lowers the sum of distances if the sum of the unit vectors towards
    the other records is no longer than the number of records that lie at this one; all of them as
    they are weighted.
    """
    manifold = model.manifold
    weights = np.ones(1) if model.weights is None else model.weights
    axis = -manifold.point_ndim - 1
    start = np.expand_dims(found.parameters[FOOTPOINT], axis)
    distances = manifold.dist(start, points)
    nearest = np.argmin(distances, axis=-1)[..., None]
    record = np.take_along_axis(points, manifold.expand(nearest), axis=axis)
    away = manifold.dist(record, points)
    scale = np.max(away, axis=-1)
    # Records this near, in the data's scale, count as lying at the median.
    here = away <= 1e-6 * scale[..., None]
    vectors = manifold.log(record, points)
    parts = np.where(here, 0.0, weights) / np.where(here, 1.0, away)
    units = vectors * manifold.expand(parts)
    record = np.squeeze(record, axis=axis)
    pull = manifold.norm(record, np.sum(units, axis=axis))
    at_record = ~found.converged & (pull <= np.sum(weights * here, axis=-1))
    energy = np.where(at_record, np.mean(weights * away, axis=-1), found.energy)
    footpoint = np.where(manifold.expand(at_record), record, found.parameters[FOOTPOINT])
    return replace(
        found,
        parameters={FOOTPOINT: footpoint},
        energy=energy,
        largest_residual=np.where(at_record, scale, found.largest_residual),
        gradient_norm=np.where(at_record, 0.0, found.gradient_norm),
        converged=found.converged | at_record,
    )
