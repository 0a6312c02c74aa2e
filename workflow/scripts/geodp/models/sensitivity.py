"""Published sensitivities of gradients and of estimates, and realised ones of neighbours."""

from dataclasses import dataclass

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.sphere import Sphere
from geodp.manifolds.symmetric import jacobi_cosine, jacobi_sine
from geodp.models.blocks import FOOTPOINT
from geodp.models.losses import SquaredDistance


class NoTheoryError(DataError):
    """No sensitivity is published for this model."""


@dataclass(frozen=True)
class Sensitivity:
    """Published sensitivities of the gradient; arrays have shape (*data_sets)."""

    blocks: dict  # By block.
    tau: np.ndarray  # Largest residual the bounds assume.
    # Longest geodesic ``|x v|`` that data in a ball of the public radius admit (Kulkarni and Soto,
    # appendix C); infinite without a radius.
    reach: np.ndarray

    def take(self, data_sets):
        """The same for some of the data sets, given as a slice."""
        blocks = {block: value[data_sets] for block, value in self.blocks.items()}
        return Sensitivity(blocks, self.tau[data_sets], self.reach[data_sets])


def gradient_sensitivity(model, tau, number, data_radius=None):
    """`Sensitivity` of the gradient as published, for residuals of at most ``tau`` (*data_sets).

    With one covariate it is that of Kulkarni and Soto, eq. 19 and 20.  (Their theorem D.1 prints
    another second bound than eq. 20 and its own proof; this is the proof's.)  Without a covariate
    it is that of the K-norm gradient mechanism for the Frechet mean, ``2 r (2 - h) / n`` (Soto et
    al., supplement 2.4.2).  For others it raises `NoTheoryError`.  ``data_radius``, tau_m or r, is
    that of a public ball that holds the data; negative curvature and the Frechet mean need it.
    """
    if model.number_of_covariates > 1 or not isinstance(model.loss, SquaredDistance):
        raise NoTheoryError(
            "no sensitivity is published for a gradient with "
            f"{model.number_of_covariates} covariates and the loss {model.loss.name}: take at most "
            "one covariate and the loss squared_distance, or another mechanism"
        )
    tau = np.asarray(tau, dtype=float)
    reach = np.full_like(tau, np.inf) if data_radius is None else 2.0 * (data_radius + tau)
    if not model.number_of_covariates:
        h = convexity(model.manifold, data_radius)
        bound = np.full_like(tau, 2.0 * data_radius * (2.0 - h) / number)
        return Sensitivity({FOOTPOINT: bound}, tau, reach)
    footpoint, shooting_vector = model.blocks
    lower = model.manifold.curvature_bounds[0]
    base = 2.0 * tau / number
    if lower >= 0.0:
        return Sensitivity({footpoint: base, shooting_vector: base}, tau, reach)
    if data_radius is None:
        raise DataError(
            f"{model.manifold.name} has negative curvature, so its sensitivity needs the radius of "
            "a ball that holds the data: give data_radius"
        )
    frequency = np.sqrt(-lower) * reach
    blocks = {
        footpoint: base * jacobi_cosine(-1, frequency),
        shooting_vector: base * jacobi_sine(-1, frequency),
    }
    return Sensitivity(blocks, tau, reach)


def convexity(manifold, radius):
    """Lower bound h(r, kappa) of the Hessian of half the squared distance within a ball.

    Source: Reimherr, Bharath and Soto, theorem 2, which holds for a radius below
    ``min(injectivity radius, pi / (2 sqrt(kappa))) / 2`` (assumption 1).  It is from 0 to 1, and 1
    where no curvature is positive.
    """
    if radius is None:
        raise DataError(
            "the sensitivity of a mean needs the public radius of a ball that holds the data: give "
            "data_radius"
        )
    upper = manifold.curvature_bounds[1]
    # A circle is flat and closes up all the same.
    bend = 0.5 * np.pi / np.sqrt(upper) if upper > 0.0 else np.inf
    limit = 0.5 * min(manifold.injectivity_radius, bend)
    if not radius < limit:
        raise DataError(
            f"data_radius is {radius:g}: on {manifold.name} the sensitivity of a mean is known for "
            f"balls of a radius below {limit:.4g}: give a smaller one"
        )
    if upper <= 0.0:
        return 1.0
    angle = 2.0 * radius * np.sqrt(upper)
    return float(angle / np.tan(angle))


def mean_sensitivity(model, number, radius):
    """Sensitivity of a Frechet mean: how far it moves when a record within a ball is replaced.

    ``2 r (2 - h) / (n h)`` (Reimherr, Bharath and Soto, theorem 2), with the radius r of a public
    ball that holds the data of both neighbours.  For other models it raises `NoTheoryError`.
    """
    if model.number_of_covariates or not isinstance(model.loss, SquaredDistance):
        raise NoTheoryError(
            "the sensitivity of an estimate is published for Frechet means only: take no covariate "
            "and the loss squared_distance, or another mechanism"
        )
    h = convexity(model.manifold, radius)
    return 2.0 * radius * (2.0 - h) / (number * h)


def largest_change_of_logs(manifold, radius, number=360):
    """Largest distance of the logarithms, at a point of a ball's edge, of two others of its edge.

    On the sphere S^2, for a radius below ``pi / 2``, on a grid of so many points.  It stands for
    ``2 r (2 - h)`` in the sensitivity of a mean, unproved (Reimherr, Bharath and Soto, B.1).
    """
    if not isinstance(manifold, Sphere) or manifold.dim != 2:
        raise DataError(f"the empirical bound is that of the sphere S^2, not of {manifold.name}")
    angles = 2.0 * np.pi * np.arange(number) / number
    around = radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    centres = np.broadcast_to(np.eye(3)[2], (number, 3))
    edge = manifold.exp(centres, manifold.tangent(centres[0], around))
    logs = manifold.log(np.broadcast_to(edge[0], edge.shape), edge)
    return float(np.max(np.linalg.norm(logs[:, None] - logs, axis=-1)))


def widest_pair(manifold, points):
    """Largest distance of two records of each data set (data_sets, n, *point_shape).

    Of all pairs those are looked at that hold the record farthest from the first.
    """
    axis = -manifold.point_ndim - 1
    first = np.take(points, [0], axis=axis)
    for _ in range(2):
        apart = manifold.dist(first, points)
        farthest = np.argmax(apart, axis=-1)
        first = np.take_along_axis(points, manifold.expand(farthest[:, None]), axis=axis)
    return np.max(apart, axis=-1)


def check_data_radius(manifold, points, data_radius):
    """Refuse a radius of a ball that cannot hold the records of a data set.

    Points have shape (data_sets, n, *point_shape).  The distance of two records is at most twice
    the radius, or a sensitivity would be understated.
    """
    if data_radius is None:
        return
    widest = float(np.max(widest_pair(manifold, points)))
    if widest > 2.0 * data_radius * (1.0 + 1e-9):
        raise DataError(
            f"two records are {widest:.4g} apart, and no ball of radius {data_radius:g} holds "
            "both: give data_radius the radius of a ball that holds all records"
        )


def neighbour_ratios(model, covariates, points, data_radius=None):
    """Published over realised sensitivity for pairs of neighbours (Kulkarni and Soto, appendix G).

    Covariates and points have leading axes (pairs, n + 1): the first data set of a pair leaves out
    the first record, the second the last.  Arrays (pairs,) are ``ratio_<block>``, ``tau`` (largest
    residual of all n + 1 records) and ``converged``; gradients are taken at the fit of the first
    data set.  Under negative curvature also ``ratio_<block>_smallest_ball``, for half of the
    largest distance of two records in place of the radius, which no ball that holds them is below;
    and ``ratio_<block>_printed``, of the shooting vector's bound as theorem D.1 prints it.
    """
    first = (covariates[:, 1:], points[:, 1:])
    second = (covariates[:, :-1], points[:, :-1])
    found = model.fit(*first)
    at = found.parameters
    tau = np.max(model.residual_distances(at, covariates, points), axis=-1)
    number, lower = points.shape[1] - 1, model.manifold.curvature_bounds[0]
    bounds = {"": gradient_sensitivity(model, tau, number, data_radius).blocks}
    if lower < 0.0:
        smallest = 0.5 * widest_pair(model.manifold, points)
        bounds["_smallest_ball"] = gradient_sensitivity(model, tau, number, smallest).blocks
        slope = np.sqrt(-lower)
        printed = 2.0 * tau / number * np.sinh(slope * tau) / slope
        bounds["_printed"] = {model.blocks[-1]: printed}
    gradients = [model.energy_gradient(at, *data).gradient for data in (first, second)]
    moved = {
        block: model.manifold.norm(found.footpoint, gradients[0][block] - gradients[1][block])
        for block in model.blocks
    }
    ratios = {
        f"ratio_{block}{which}": bound / moved[block]
        for which, blocks in bounds.items()
        for block, bound in blocks.items()
    }
    return {**ratios, "tau": tau, "converged": found.converged}
