"""Bounds of the second derivative of the energy, from bounds of the curvature.

The gradient of one record is the product of its residual with a Jacobi field of the geodesic to
its prediction.  As the geodesic moves, the residual changes by the Hessian of half the squared
distance, and the Jacobi field by a field ``K`` that solves the Jacobi equation with a right-hand
side.  Bounds of the curvature bound both.  So the results hold on every symmetric space, without
any derivatives of the data.

Let ``T`` be the geodesic's velocity at time t, of length ``rho``, ``J`` the variation of the
geodesic and ``J_E`` the Jacobi field of the gradient.  The curvature tensor R is parallel, so
covariant differentiation along the variation gives
``K'' + R(K, T) T = -R(J_E, J') T - R(J_E, T) J' - R(J', T) J_E - 2 R(J, T) J_E'``,
``K(0) = 0`` and ``K'(0) = -R(J(0), T) J_E(0)``.  With ``|R(X, Y) Z| <= C |X| |Y| |Z|``
(`SymmetricSpace.curvature_norm`) its size at time one is bounded by integrals of hyperbolic sines,
written out below.  Under positive curvature Jacobi fields are bounded by those of flat space.
"""

import numpy as np

from geodp.manifolds.symmetric import jacobi_cosine, jacobi_sine
from geodp.manifolds.unit_norm import SQUARE_ROUNDING
from geodp.models.blocks import block_names
from geodp.models.geodesic import sum_over_records
from geodp.models.residuals import residuals_of

# Relative and absolute allowance for rounding.
ROUNDING = 1e-9

# Products of unit vectors give short distances up to rounding.
DISTANCE_ROUNDING = np.sqrt(SQUARE_ROUNDING)

# A record whose gradient may change by more than this many times its largest length in a cell is
# left out of a bound's sum of gradients: all gradients in the cell then differ from the sum by at
# most that length, instead of the change.
LEFT_OUT = 1.5


def _growth(manifold, length):
    """Largest frequency of growing Jacobi fields of a geodesic of the given length."""
    return np.sqrt(max(-manifold.curvature_bounds[0], 0.0)) * length


def _series(frequency, terms, closed):
    """The function ``closed`` of a frequency, by its even power series where that is small."""
    small = frequency < 0.1
    safe = np.where(small, 1.0, frequency)
    square = np.where(small, frequency, 0.0) ** 2
    return np.where(small, sum(term * square**k for k, term in enumerate(terms)), closed(safe))


def _convolved_sines(frequency):
    """``(sinh 2a - 2 sinh a) / a^3``."""
    return _series(
        frequency,
        (1.0, 1.0 / 4.0, 1.0 / 40.0, 17.0 / 12096.0),
        lambda a: (np.sinh(2.0 * a) - 2.0 * np.sinh(a)) / a**3,
    )


def _convolved_cosines(frequency):
    """``(5 (cosh 2a - cosh a) / 3 + cosh a - 1) / (2 a^2)``."""
    return _series(
        frequency,
        (3.0 / 2.0, 13.0 / 24.0, 53.0 / 720.0, 71.0 / 13440.0),
        lambda a: (5.0 * (np.cosh(2.0 * a) - np.cosh(a)) / 3.0 + np.cosh(a) - 1.0) / (2.0 * a**2),
    )


def footpoint_turning(manifold, length):
    """Bound of ``|K|`` for a moving footpoint, in its own block of the gradient."""
    curvature = manifold.curvature_norm * length
    upper = manifold.curvature_bounds[1]
    if upper > 0.0:
        return curvature * (1.0 + 5.0 * upper * length**2 / 6.0)
    growth = _growth(manifold, length)
    return curvature * (jacobi_sine(-1, growth) + 5.0 * growth**2 * _convolved_sines(growth) / 6.0)


def mixed_turning(manifold, length):
    """Bound of ``|K|`` for a moving shooting vector, in the footpoint's block."""
    curvature = manifold.curvature_norm * length
    upper = manifold.curvature_bounds[1]
    if upper > 0.0:
        return curvature * (1.5 + upper * length**2 / 6.0)
    return curvature * _convolved_cosines(_growth(manifold, length))


def shooting_vector_turning(manifold, length):
    """Bound of ``|K|`` for a moving shooting vector, in its own block of the gradient.

    Under constant positive curvature ``K`` is known.  In units in which the curvature is one, for a
    shooting vector of length r that moves at speed a along itself and b across it, ``a^2 + b^2 =
    1``, its components are ``b^2 (r - sin r cos r) / r^2`` along the geodesic and ``2 a b (cos r -
    sin r / r) / r`` across.  So its length is at most the smaller of ``2 r / 3`` and ``2 / pi``,
    which it is at ``r = pi / 2``.
    """
    lower, upper = manifold.curvature_bounds
    if lower == upper > 0.0:
        root = np.sqrt(upper)
        return root * np.minimum(2.0 / 3.0 * root * length, 2.0 / np.pi)
    curvature = manifold.curvature_norm * length
    if upper > 0.0:
        return curvature * 5.0 / 6.0
    return curvature * 5.0 * _convolved_sines(_growth(manifold, length)) / 6.0


def distance_hessian(manifold, distance):
    """Bounds of the eigenvalues of the Hessian of half the squared distance to a point.

    The lower one is minus infinity at and beyond the cut locus.
    """
    lower, upper = manifold.curvature_bounds
    least, greatest = np.ones_like(distance), np.ones_like(distance)
    if np.isfinite(manifold.injectivity_radius):
        # Flat spaces that close up, such as the circle, have cut loci too.
        angle = np.sqrt(max(upper, 0.0)) * distance
        within = (distance < manifold.injectivity_radius) & (angle < np.pi)
        angle = np.where(within, angle, 1.0)
        cosine = np.where(angle > 0.0, np.cos(angle) / np.sinc(angle / np.pi), 1.0)
        least = np.where(within, cosine, -np.inf)
    if lower < 0.0:
        growth = np.sqrt(-lower) * distance
        # Hyperbolic cosines of long distances overflow; their ratio to sines does not.
        greatest = np.divide(growth, np.tanh(growth), out=greatest, where=growth > 0.0)
    return least, greatest


def transport_turning(manifold, distance):
    """Largest rotation of a vector transported from a fixed point, per unit motion of its end.

    For the largest distance of the end from the fixed point; infinite from the cut locus on.
    """
    upper = manifold.curvature_bounds[1]
    if upper <= 0.0:
        return manifold.curvature_norm * 0.5 * distance
    angle = np.sqrt(upper) * distance
    within = (distance < manifold.injectivity_radius) & (angle < np.pi)
    tangent = np.tan(0.5 * np.where(within, angle, 0.0)) / np.sqrt(upper)
    return np.where(within, manifold.curvature_norm * tangent, np.inf)


def arc_turning(manifold, distance):
    """Largest difference of a unit vector transported along radii to both ends of a unit arc.

    For the arc's distance from where the vector comes from, within the injectivity radius.
    """
    lower = manifold.curvature_bounds[0]
    # Fields that vanish at the pole are no longer than under the least curvature (Rauch).
    if lower > 0.0:
        area = (1.0 - np.cos(np.minimum(np.sqrt(lower) * distance, np.pi))) / lower
    elif lower < 0.0:
        area = (np.cosh(np.sqrt(-lower) * distance) - 1.0) / -lower
    else:
        area = 0.5 * distance**2
    return manifold.curvature_norm * area


def footpoint_change(manifold, distances, covariates, length, moved, turned):
    """Bounds of each record's change of ``grad_p E``, and of its length afterwards, times n.

    The footpoint moves by at most ``moved``, and the shooting vector is transported with it and
    meanwhile, at a constant rate, changed by at most ``turned``; its length stays below ``length``.
    Residuals before the move have lengths ``distances`` (..., n); the others are (..., 1).
    """
    covariates = np.abs(covariates)
    geodesic = covariates * length
    cosine = jacobi_cosine(-1, _growth(manifold, geodesic))
    sine = covariates * jacobi_sine(-1, _growth(manifold, geodesic))
    farthest = distances + cosine * moved + sine * turned
    bend, halfway = _bend_on_the_way(manifold, distances, farthest)
    with np.errstate(invalid="ignore"):
        by_footpoint = moved * (bend * cosine**2 + halfway * footpoint_turning(manifold, geodesic))
        by_vector = turned * (
            bend * cosine * sine + halfway * covariates * mixed_turning(manifold, geodesic)
        )
    after = cosine * _within_diameter(manifold, farthest)
    # Where a cut locus is within reach, at most the sum of both gradients.
    return np.fmin(by_footpoint + by_vector, cosine * distances + after), after


def shooting_vector_change(manifold, distances, covariates, length, moved):
    """Bounds of each record's change of ``grad_v E``, and of its length afterwards, times n.

    As `footpoint_change`; ``moved`` is by how much the shooting vector changes at most.
    """
    covariates = np.abs(covariates)
    geodesic = covariates * (length + moved)
    sine = covariates * jacobi_sine(-1, _growth(manifold, geodesic))
    farthest = distances + sine * moved
    bend, halfway = _bend_on_the_way(manifold, distances, farthest)
    with np.errstate(invalid="ignore"):
        change = moved * (
            bend * sine**2 + halfway * covariates**2 * shooting_vector_turning(manifold, geodesic)
        )
    after = sine * _within_diameter(manifold, farthest)
    return np.fmin(change, sine * distances + after), after


def _bend_on_the_way(manifold, distances, farthest):
    """Bounds of the means, along a move, of the size of `distance_hessian` and of the distance.

    Distances grow no faster than evenly from the first to the ``farthest``, and the size is convex
    in them.
    """
    ends = (distance_hessian(manifold, each) for each in (distances, farthest))
    start, end = (np.maximum(greatest, -least) for least, greatest in ends)
    return 0.5 * (start + end), 0.5 * (distances + farthest)


def _within_diameter(manifold, distance):
    """A bound of a distance, no more than the diameter where that is known."""
    # Where no two directions differ the cut locus is as far as any point.
    known = manifold.two_point_homogeneous
    return np.minimum(distance, manifold.injectivity_radius) if known else distance


def slopes(manifold, block, distances, covariates, length, moved):
    """Bounds of each record's second derivative of the energy along a geodesic, times n.

    The geodesic is ``Exp(p, t u)``, with the shooting vector transported along, or ``v + t u``.
    The lower bound is of the derivative of the gradient's component along it.  The upper bound is
    of the length of the whole gradient's derivative.  Both hold at distances up to ``moved`` from
    the state at which residuals have lengths ``distances``.

    ``block`` is the one that moves, and arrays are as in `footpoint_change`.  Bounds are infinite
    where a cut locus is within reach.
    """
    covariates = np.abs(covariates)
    if block == "shooting_vector":
        length = length + moved
    geodesic = covariates * length
    upper = manifold.curvature_bounds[1]
    angle = np.sqrt(max(upper, 0.0)) * geodesic
    growth = _growth(manifold, geodesic)
    if block == "footpoint":
        widest, turning = jacobi_cosine(-1, growth), footpoint_turning(manifold, geodesic)
        narrowest = np.cos(np.minimum(angle, np.pi / 2))
    else:
        widest = covariates * jacobi_sine(-1, growth)
        narrowest = covariates * jacobi_sine(1, np.minimum(angle, np.pi))
        turning = covariates**2 * shooting_vector_turning(manifold, geodesic)
    farthest = distances + widest * moved
    least, greatest = distance_hessian(manifold, farthest)
    # A record at covariate zero does not contribute to the shooting vector.
    least = np.where(widest > 0.0, least, 0.0)
    low = np.where(least > 0.0, narrowest**2, widest**2) * least
    high = np.maximum(greatest, -least) * widest**2
    return low - farthest * turning, high + farthest * turning


def far_slope(manifold, distances, covariates, length):
    """Rate ``a`` and loss ``b`` such that the energy grows at least at ``a r - b`` at distance r.

    They hold without positive curvature and cut loci, along any geodesic from the footpoint at
    which residuals were taken, with the shooting vector transported along.  Three differences from
    a record at the start of the geodesic make up the loss:

    * The prediction is within ``rho`` of the footpoint, which changes minus the residual from ``r``
      times the geodesic's direction by at most ``rho (1 + k (r + rho))``, where k is the root of
      the largest curvature in size.
    * The record lies within ``d`` of the start, which changes it by ``d`` more.
    * The Jacobi field in the gradient differs from the direction by ``cosh(k rho) - 1``.

    Arrays are as in `footpoint_change`; what each record contributes is times n.
    """
    geodesic = np.abs(covariates) * length
    growth = _growth(manifold, geodesic)
    distances = distances + geodesic
    stretch = np.cosh(growth) - 1.0
    rate = 1.0 - growth - stretch
    loss = geodesic * (1.0 + growth) + distances + (geodesic + distances) * stretch
    return rate, loss


def record_means(manifold, footpoint, shooting_vector, covariates, points, bound, *arrays, size=1):
    """Means over records of sums, such as the gradient, and of bounds of each record.

    For geodesics (*data_sets, *chains, *point_shape), covariates (*data_sets, n) and points.
    ``bound`` takes `Residuals`, their distances (..., n), covariates, lengths of shooting vectors
    (..., 1) and ``arrays`` (..., 1) to a list of sums over records and a list of values (..., n),
    of which there may be ``size`` for a record.
    Returns the means (*data_sets, *chains, ...) of the sums, then of the values.
    """

    def part(some, records, *rest):
        x = covariates[records]
        found = residuals_of(manifold, some, x[..., None], points[records])
        distances = np.sqrt(found.squared_distances) + DISTANCE_ROUNDING
        sums, values = bound(
            found,
            distances,
            x[..., None, :],
            manifold.norm(*some.values())[..., None],
            *(array[..., None] for array in rest),
        )
        return [*sums, *(np.sum(value, axis=-1) for value in values)]

    geodesics = dict(zip(block_names(1), (footpoint, shooting_vector), strict=True))
    totals = sum_over_records(manifold, geodesics, covariates.shape, part, arrays, size)
    return [total / covariates.shape[-1] for total in totals]
