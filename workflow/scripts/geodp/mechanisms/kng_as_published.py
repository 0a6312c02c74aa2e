"""The K-norm gradient mechanism as published, kept to reproduce the papers.

For geodesic regression (Kulkarni and Soto) it draws the footpoint, then the shooting vector at each
drawn footpoint; for a Frechet mean (Soto et al.) the footpoint alone.

It is **not private** at the budget it states.  Its scale and one of its arguments are read off the
data, its normalising constant depends on them too, and its sensitivity does not cover its support.
It must not be used to release anything.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.supports import Ball
from geodp.mechanisms.density import FootpointDensity, ShootingVectorDensity
from geodp.mechanisms.mechanism import FALSE, Draws, Guarantee, Mechanism, SamplingReport
from geodp.mechanisms.modes import find_modes
from geodp.models.blocks import FOOTPOINT
from geodp.models.geodesic import Fit, GeodesicModel
from geodp.models.sensitivity import Sensitivity, check_data_radius, gradient_sensitivity
from geodp.samplers.kernel import Target, run, trace


@dataclass(frozen=True)
class PublishedSupport:
    """Support of the published densities."""

    shooting_vector_length: np.ndarray  # Longest, (*data_sets).
    footpoint_centre: Any = None  # (*data_sets, *point_shape), or None.
    # Of their ball, (*data_sets); infinite for the whole manifold.
    footpoint_radius: np.ndarray | float = np.inf

    def describe(self, model):
        """One line for tables."""
        away = "p anywhere"
        if self.footpoint_centre is not None:
            away = _limit("distance of p to its centre", self.footpoint_radius, "tau_m + tau")
        if not model.number_of_covariates:
            return away
        return f"{away}, {_limit('|v|', self.shooting_vector_length, '2 (tau_m + tau)')}"

    def take(self, data_sets):
        """The same for some of the data sets, given as a slice."""
        return PublishedSupport(
            *(each[data_sets] if np.ndim(each) else each for each in vars(self).values())
        )


def _limit(quantity, values, formula):
    """A bound in words: a number where all data sets share it, else its formula."""
    values = np.unique(np.round(values, 4))
    if np.isinf(values[0]):
        return f"{quantity} unbounded"
    return f"{quantity} <= {values[0]:g}" if len(values) == 1 else f"{quantity} <= {formula}"


def published_support(
    manifold, sensitivity, footpoint_centre=None, footpoint_radius=None, shooting_vector_length=None
):
    """Support of the published densities, which the papers leave open.

    Shooting vectors are at most as long as the injectivity radius, since on spaces of positive
    curvature the density has no finite integral beyond.  If the data lie in a ball of public radius
    ``tau_m``, they are at most ``2 (tau_m + tau)`` long (appendix C).  Footpoints lie anywhere, or
    in a ball, by default of radius ``tau_m + tau``.  Other limits are as in `PublicSettings`; a
    length limits further.  A ball needs a centre, and a radius that is given or follows.
    """
    if footpoint_centre is None and footpoint_radius is not None:
        raise DataError("footpoint_radius is that of a ball without a centre: give the centre")
    longest = np.minimum(manifold.injectivity_radius, sensitivity.reach)
    if shooting_vector_length is not None:
        longest = np.minimum(longest, shooting_vector_length)
    longest = np.broadcast_to(longest, sensitivity.tau.shape)
    if footpoint_centre is None:
        return PublishedSupport(longest, footpoint_radius=np.full(longest.shape, np.inf))
    radius = 0.5 * sensitivity.reach if footpoint_radius is None else footpoint_radius
    if np.any(np.isinf(radius)):
        raise DataError(
            "a ball of footpoints needs a radius: give footpoint_radius, or data_radius from which "
            "one follows"
        )
    centre = np.broadcast_to(footpoint_centre, (*longest.shape, *manifold.point_shape))
    radius = np.broadcast_to(np.minimum(radius, manifold.injectivity_radius), longest.shape)
    return PublishedSupport(longest, centre, radius)


@dataclass(frozen=True)
class KNGAsPublished(Mechanism):
    """The published mechanism: a footpoint, then a shooting vector at each drawn footpoint."""

    model: GeodesicModel
    covariates: np.ndarray
    points: np.ndarray
    fit: Fit
    sensitivity: Sensitivity
    support: PublishedSupport
    # Most records used in samplers' search for modes away from the fit, of a few hundred
    # gradients; zero for no search.
    searched_records: int = 2000

    name = "kng_as_published"
    of_data_sets = ("covariates", "points", "fit", "sensitivity", "support")
    guarantee = Guarantee(
        FALSE,
        "one record replaced",
        "record",
        "Mechanism as published: the stated budgets do not hold.",
    )

    @classmethod
    def prepare(cls, model, covariates, points, public, fit, subjects=None):
        """See `Mechanism.prepare`; the sensitivity is read off the fit, as in the papers."""
        x = model.aligned(covariates, points)
        length = np.zeros(len(points))
        for block in model.blocks[1:]:
            length += model.manifold.norm(fit.footpoint, fit.parameters[block])
        # Below this fraction of the geodesic's length residuals are rounding.
        exact = fit.largest_residual <= 1e-7 * length
        if np.any(exact | (fit.largest_residual == 0.0)):
            raise DataError(
                "the records of a data set lie exactly where the fit predicts them, and the "
                "published scale, their largest residual, would be zero: add noise or check the "
                "data"
            )
        check_data_radius(model.manifold, points, public.data_radius)
        tau, number = fit.largest_residual, x.shape[-2]
        sensitivity = gradient_sensitivity(model, tau, number, public.data_radius)
        limits = public.centre, public.footpoint_radius, public.shooting_vector_length
        support = published_support(model.manifold, sensitivity, *limits)
        return cls(model, x, points, fit, sensitivity, support)

    @property
    def manifold(self):
        """Manifold of the data."""
        return self.model.manifold

    @property
    def support_description(self):
        """The support in a line, with a note if predictions may reach the cut locus of the data."""
        described = self.support.describe(self.model)
        centre = self.support.footpoint_centre
        if centre is None:
            return described
        manifold = self.manifold
        axis = -manifold.point_ndim - 1
        spread = np.max(manifold.dist(np.expand_dims(centre, axis), self.points), axis=-1)
        reach = self.support.footpoint_radius + self.support.shooting_vector_length + spread
        if np.any(reach >= manifold.injectivity_radius):
            # There residuals jump and nearly cancel, so most of the mass can lie there.
            described += ", predictions may reach the cut locus of the data"
        return described

    def bounds(self):
        return {**self.sensitivity.blocks, "tau": self.sensitivity.tau}

    def footpoint_target(self, budget):
        """Density ``exp(-|grad_p E(p, transported v_hat)| / sigma_p)`` of each data set."""
        manifold, found, support = self.manifold, self.fit, self.support
        data = (self.covariates, self.points)
        scale = np.asarray(self.sensitivity.blocks[FOOTPOINT] / budget)
        widest = float(np.max(scale))
        whole = support.footpoint_centre is None
        if whole and widest * manifold.volume_growth >= 1.0:
            raise DataError(
                f"at a footpoint budget of {budget:g} the scale {widest:.3g} reaches "
                f"{1.0 / manifold.volume_growth:.3g}, beyond which a Laplace distribution on "
                f"{manifold.name} has no finite integral: raise the budget or n, or give the "
                "support a ball of footpoints"
            )
        if whole and not (manifold.two_point_homogeneous or np.isinf(manifold.injectivity_radius)):
            raise DataError(
                f"no ball about a point is all of {manifold.name}, so that nothing is drawn from "
                "the whole space: give the support a ball of footpoints"
            )
        radius = manifold.injectivity_radius if whole else support.footpoint_radius
        middle = found.footpoint if whole else support.footpoint_centre
        return self._target(
            FootpointDensity(self.model, *data, scale, found.parameters),
            space=manifold,
            centre=found.footpoint,
            hessian=self.model.hessian(found.parameters, *data, (FOOTPOINT,)),
            support=Ball(manifold, middle, np.broadcast_to(radius, scale.shape)),
        )

    def shooting_vector_target(self, footpoints, budget):
        """Density ``exp(-|grad_v E(p, v)| / sigma_v)`` on the tangent space at each footpoint.

        For footpoints (*data_sets, footpoints, *point_shape), a `Target` on R^dim, whose states are
        coordinates in the frame at the footpoint; and that frame.
        """
        model, manifold, found = self.model, self.manifold, self.fit
        data, block = (self.covariates, self.points), model.blocks[1]
        axis = -manifold.point_ndim - 1
        carried = manifold.transport_to(
            np.expand_dims(found.footpoint, axis),
            footpoints,
            np.expand_dims(found.parameters[block], axis),
        )
        # Accurate relative to the scale is enough: the sampler corrects for its proposal's shape.
        close = min(1e-4, 0.1 / (self.covariates.shape[-2] * float(budget)))
        start = model.parameters(footpoints, carried)
        there = model.minimise(start, *data, blocks=(block,), tolerance=close, max_iterations=15)
        mode = there.parameters[block]
        frame = manifold.frame(footpoints)
        longest = self.support.shooting_vector_length[..., None]
        length = manifold.norm(footpoints, mode)
        positive = np.where(length > 0.0, length, 1.0)
        mode = mode * manifold.expand(np.minimum(longest, length) / positive)
        batch = manifold.batch_shape(footpoints)
        scale = np.broadcast_to((self.sensitivity.blocks[block] / budget)[..., None], batch)
        density = ShootingVectorDensity(model, *data, scale, footpoints, frame)
        space = Euclidean(manifold.dim)
        return self._target(
            density,
            space=space,
            centre=manifold.coordinates(footpoints, mode, frame),
            hessian=model.hessian(model.parameters(footpoints, mode), *data, (block,)),
            support=Ball(space, np.zeros((*batch, manifold.dim)), np.broadcast_to(longest, batch)),
        ), frame

    def _target(self, density, **shape):
        """Target of a density, with a search for other modes where that can find any.

        Without positive curvature the squared distance to a record has one critical point, and
        searches found no second one of their sum.  In many dimensions the few hundred points of the
        search would find nothing.
        """
        manifold = self.manifold
        target = Target(
            unrestricted=density.log_density, scale=density.scale, density=density, **shape
        )
        many = manifold.dim > 12
        flat = manifold.curvature_bounds[1] <= 0.0
        if not self.searched_records or not target.support.bounded or flat or many:
            return target
        search = partial(find_modes, target, density.thinned(self.searched_records))
        return replace(target, find_other_modes=search)

    def draw(self, rng, budgets, draws, plan_sampler):
        """See `Mechanism.draw` (Kulkarni and Soto, section 4)."""
        target = self.footpoint_target(float(budgets[FOOTPOINT]))
        first, report = _drawn(rng, plan_sampler, target, draws[FOOTPOINT])
        if not self.model.number_of_covariates:
            return Draws({FOOTPOINT: first}, {FOOTPOINT: report})
        block = self.model.blocks[1]
        target, frame = self.shooting_vector_target(first, float(budgets[block]))
        second, second_report = _drawn(rng, plan_sampler, target, draws[block])
        vectors = self.manifold.vector(np.expand_dims(frame, -self.manifold.point_ndim - 2), second)
        return Draws({FOOTPOINT: first, block: vectors}, {FOOTPOINT: report, block: second_report})

    def traces(self, rng, budgets, draws, chains, states, warm_up=0, thin=None):
        """See `Mechanism.traces`; traces are of the first data set, block by block.

        The kernels are those that drew; what they drew exactly is independent, and has no chains.
        The shooting vector is traced at the drawn footpoint farthest from the fit, where the
        proposal fits its density worst.
        """
        one = self.take(slice(0, 1))
        drawn = draws.parameters[FOOTPOINT][:1]
        axis = -self.manifold.point_ndim - 1
        away = self.manifold.dist(np.expand_dims(one.fit.footpoint, axis), drawn)
        farthest = int(np.argmax(away[0]))
        place = slice(farthest, farthest + 1)
        traces = {}
        for block, drew in draws.reports.items():
            budget = float(budgets[block])
            member: tuple = (slice(0, 1), place)
            member = member[:1] if block == FOOTPOINT else member
            gap, kernel = thin or drew.steps, drew.sampler.member(member)
            if kernel.name == "exact":
                continue
            if block == FOOTPOINT:
                target = one.footpoint_target(budget)
            else:
                target, _ = one.shooting_vector_target(drawn[:, place], budget)
            found = trace(rng, kernel, target, chains, states, gap, warm_up)
            traces[block] = {
                name: np.reshape(values, (chains, states)) for name, values in found.items()
            }
            traces[block]["thin"] = np.array(gap)
        return traces


def _drawn(rng, plan_sampler, target, number):
    """Draws (*batch, number, *point_shape) from a target, and their `SamplingReport`."""
    plan = plan_sampler(rng, target, number)
    state, accepted = run(rng, plan.sampler, target, number, plan.steps)
    return state.position, SamplingReport(
        drawn_by=plan.drawn_by, accepted=float(np.mean(accepted)), **vars(plan)
    )
