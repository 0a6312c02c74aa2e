"""The K-norm gradient mechanism as published by Kulkarni and Soto, kept to reproduce them.

It is **not private** at the budget it states: its scale and one of its arguments are read off
the data, its normalising constant depends on them too, and its sensitivity does not cover its
support.  Nothing here may be used to release anything.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.base import Manifold
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.supports import Ball
from geodp.mechanisms.density import FootpointDensity, ShootingVectorDensity
from geodp.mechanisms.modes import find_modes
from geodp.mechanisms.target import Target
from geodp.models.regression import BLOCKS, Fit, hessian, minimise_energy
from geodp.models.sensitivity import Sensitivity

# Most dimensions of a space in which other modes are looked for.
SEARCHED_DIMENSIONS = 12

# Records that are enough to search with.
SEARCHED_RECORDS = 2000


@dataclass(frozen=True)
class Support:
    """Where the published densities live.

    Attributes
    ----------
    shooting_vector_length : ndarray, shape (*data_sets)
        Longest shooting vector.
    footpoint_centre : ndarray, shape (*data_sets, *point_shape), or None
    footpoint_radius : ndarray, shape (*data_sets), or float
        Radius of the ball of footpoints; infinite for the whole manifold.
    """

    shooting_vector_length: np.ndarray
    footpoint_centre: np.ndarray | None = None
    footpoint_radius: np.ndarray | float = np.inf

    def describe(self):
        """One line for tables."""
        length = _limit("|v|", self.shooting_vector_length, "2 (tau_m + tau)")
        if self.footpoint_centre is None:
            return f"p anywhere, {length}"
        away = _limit("distance of p to its centre", self.footpoint_radius, "tau_m + tau")
        return f"{away}, {length}"


def _limit(quantity, values, formula):
    """A bound in words: a number where all data sets share it, else its formula."""
    values = np.unique(np.round(values, 4))
    if np.isinf(values[0]):
        return f"{quantity} unbounded"
    return f"{quantity} <= {values[0]:g}" if len(values) == 1 else f"{quantity} <= {formula}"


def configured_support(
    manifold,
    sensitivity,
    footpoint_centre=None,
    footpoint_radius=None,
    shooting_vector_length=None,
):
    """Support of the densities; the papers leave it open.

    Shooting vectors are no longer than the injectivity radius on spaces of positive curvature
    (the density has no finite integral beyond), and than ``2 (tau_m + tau)`` where the data lie
    in a ball of public radius ``tau_m`` (appendix C); footpoints lie anywhere, or in a ball, by
    default of radius ``tau_m + tau`` for the same reason.

    Parameters
    ----------
    footpoint_centre : ndarray, shape point_shape or (data_sets, *point_shape), optional
        Centre of the ball of footpoints.
    footpoint_radius, shooting_vector_length : float, optional
        Narrower or, for the footpoint, other limits.

    Raises
    ------
    DataError
        A ball of footpoints with neither a radius nor data in a ball, or without a centre.
    """
    if footpoint_centre is None and footpoint_radius is not None:
        raise DataError(
            "configuration key support.footpoint_centre is missing: a ball of footpoints needs a "
            "centre: add it"
        )
    longest = np.minimum(manifold.injectivity_radius, sensitivity.reach)
    if shooting_vector_length is not None:
        longest = np.minimum(longest, shooting_vector_length)
    longest = np.broadcast_to(longest, sensitivity.tau.shape)
    if footpoint_centre is None:
        return Support(longest, footpoint_radius=np.full(longest.shape, np.inf))
    radius = 0.5 * sensitivity.reach if footpoint_radius is None else footpoint_radius
    if np.any(np.isinf(radius)):
        raise DataError(
            "configuration key support.footpoint_radius is missing: a ball of footpoints needs a "
            "radius, or data_radius from which one follows: add either"
        )
    centre = np.broadcast_to(footpoint_centre, (*longest.shape, *manifold.point_shape))
    radius = np.broadcast_to(np.minimum(radius, manifold.injectivity_radius), longest.shape)
    return Support(longest, centre, radius)


@dataclass(frozen=True)
class AsPublished:
    """Footpoint first, then the shooting vector at each released footpoint.

    Attributes
    ----------
    manifold : Manifold
    covariates : ndarray, shape (*data_sets, n)
    points : ndarray, shape (*data_sets, n, *point_shape)
    fit : Fit
    sensitivity : Sensitivity
    support : Support
    searched : bool
        Whether samplers are to look for modes away from the fit, which takes a few hundred
        gradients.
    """

    manifold: Manifold
    covariates: np.ndarray
    points: np.ndarray
    fit: Fit
    sensitivity: Sensitivity
    support: Support
    searched: bool = True

    def take(self, data_sets):
        """The same mechanism for some of the data sets, given as a slice."""

        def part(record):
            return type(record)(
                **{
                    entry.name: value[data_sets] if isinstance(value, np.ndarray) else value
                    for entry in fields(record)
                    for value in [getattr(record, entry.name)]
                }
            )

        return replace(
            self,
            covariates=self.covariates[data_sets],
            points=self.points[data_sets],
            fit=part(self.fit),
            sensitivity=part(self.sensitivity),
            support=part(self.support),
        )

    def footpoint_target(self, budget):
        """Density ``exp(-|grad_p E(p, transported v_hat)| / sigma_p)`` on the manifold.

        Returns
        -------
        Target
            Its batch is that of the data sets.
        """
        manifold, found, support = self.manifold, self.fit, self.support
        data = (self.covariates, self.points)
        scale = np.asarray(self.sensitivity.footpoint / budget)
        widest = float(np.max(scale))
        if support.footpoint_centre is None and widest * manifold.volume_growth >= 1.0:
            raise DataError(
                f"at a footpoint budget of {budget:g} the scale {widest:.3g} reaches "
                f"{1.0 / manifold.volume_growth:.3g}, beyond which a Laplace law on "
                f"{manifold.name} has no finite integral: raise the budget or n, or give the "
                "support a ball of footpoints"
            )
        whole = support.footpoint_centre is None
        radius = manifold.injectivity_radius if whole else support.footpoint_radius
        density = FootpointDensity(manifold, *data, scale, found.footpoint, found.shooting_vector)
        return self._target(
            density,
            space=manifold,
            centre=found.footpoint,
            hessian=hessian(manifold, found.footpoint, found.shooting_vector, *data, BLOCKS[:1]),
            support=Ball(
                manifold,
                found.footpoint if whole else support.footpoint_centre,
                np.broadcast_to(radius, scale.shape),
            ),
        )

    def shooting_vector_target(self, footpoints, budget):
        """Density ``exp(-|grad_v E(p, v)| / sigma_v)`` on the tangent space at each footpoint.

        Parameters
        ----------
        footpoints : ndarray, shape (*data_sets, footpoints, *point_shape)
        budget : float

        Returns
        -------
        tuple
            A `Target` on R^dim, whose states are coordinates in the frame at the footpoint and
            whose batch is (*data_sets, footpoints); and that frame.
        """
        manifold, found = self.manifold, self.fit
        data, block = (self.covariates, self.points), BLOCKS[1:]
        axis = -manifold.point_ndim - 1
        carried = manifold.transport_to(
            np.expand_dims(found.footpoint, axis),
            footpoints,
            np.expand_dims(found.shooting_vector, axis),
        )
        # Close to the mode, beside the density's scale, is enough: the sampler corrects for its
        # proposal's shape.
        close = min(1e-4, 0.1 / (self.covariates.shape[-1] * float(budget)))
        mode = minimise_energy(
            manifold, footpoints, carried, *data, blocks=block, tolerance=close, max_iterations=15
        ).shooting_vector
        frame = manifold.frame(footpoints)
        longest = self.support.shooting_vector_length[..., None]
        length = manifold.norm(footpoints, mode)
        positive = np.where(length > 0.0, length, 1.0)
        mode = mode * manifold.expand(np.minimum(longest, length) / positive)
        batch = manifold.batch_shape(footpoints)
        scale = np.broadcast_to((self.sensitivity.shooting_vector / budget)[..., None], batch)
        density = ShootingVectorDensity(manifold, *data, scale, footpoints, frame)
        space = Euclidean(manifold.dim)
        return self._target(
            density,
            space=space,
            centre=manifold.coordinates(footpoints, mode, frame),
            hessian=hessian(manifold, footpoints, mode, *data, block),
            support=Ball(space, np.zeros((*batch, manifold.dim)), np.broadcast_to(longest, batch)),
        ), frame

    def _target(self, density, **shape):
        """The target of a density; its other modes are looked for where there may be any.

        Where no curvature is positive, the squared distance to a record has one critical point, and
        no second one of their sum was found by searching; in many dimensions a few hundred points
        looked at see nothing.
        """
        manifold = self.manifold
        target = Target(
            unrestricted=density.log_density, scale=density.scale, density=density, **shape
        )
        many = manifold.dim > SEARCHED_DIMENSIONS
        flat = manifold.curvature_bounds[1] <= 0.0
        if not self.searched or not target.support.bounded or flat or many:
            return target

        def search():
            return find_modes(
                target.space,
                density,
                density.thinned(SEARCHED_RECORDS),
                target.centre,
                target.hessian,
                target.support.centre,
                target.support.radius,
            )

        return replace(target, find_other_modes=search)
