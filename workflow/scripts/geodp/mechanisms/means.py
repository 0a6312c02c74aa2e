"""Mechanisms for the Frechet mean of data in a public ball: densities on the manifold.

What their budgets rest on is in their docstrings, and `MeanMechanism.status` says whether that is a
proof.  All are in exact arithmetic and for simulations; none releases anybody's data.  Those that
add noise to coordinates are in `geodp.mechanisms.mean_noise`.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms.density import FootpointDensity
from geodp.mechanisms.gradient_bounds import ROUNDING
from geodp.mechanisms.mechanism import (
    FALSE,
    NONE,
    PROVED,
    Guarantee,
    Mechanism,
    SamplingReport,
    as_draws,
)
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Huber
from geodp.models.sensitivity import convexity, largest_change_of_logs, mean_sensitivity
from geodp.samplers.kernel import by_rejection
from geodp.samplers.riemannian_laplace import check_laplace_space, draw_laplace, mean_under_laplace


def is_nonpositive(manifold):
    """Whether no curvature is positive."""
    return manifold.curvature_bounds[1] <= 0.0


def embed(manifold, points):
    """Coordinates in the ambient space of SPD matrices, their upper triangles, or of spheres."""
    return manifold.entries(points) if isinstance(manifold, SPD) else points


def ambient_radius(manifold, radius):
    """Radius of a ball in the ambient space that holds a geodesic ball about the pole.

    ``e^r - 1`` about the identity, and the chord ``2 sin(r / 2)`` on the sphere (Reimherr, Bharath
    and Soto, A.2.2 and A.3.2).
    """
    return np.expm1(radius) if isinstance(manifold, SPD) else 2.0 * np.sin(0.5 * radius)


@dataclass(frozen=True)
class MeanProblem:
    """Data sets in a public ball, and their means."""

    model: GeodesicModel  # Without covariates, least squares.
    centre: np.ndarray  # Of shape point_shape, or that of the means.
    radius: float  # Of the public ball.
    points: np.ndarray  # (data_sets, n, *point_shape)
    # (data_sets, *point_shape), or (data_sets, draws, *point_shape) for several draws each.
    mean: np.ndarray

    @classmethod
    def fitted(cls, manifold, centre, radius, points):
        """That of some data sets; a mean that has not converged is a `DataError`."""
        found = GeodesicModel(manifold, 0).fit(None, points)
        if not np.all(found.converged):
            raise DataError("a Frechet mean has not converged: take data in a smaller ball")
        return cls(found.model, centre, radius, points, found.footpoint)

    @property
    def manifold(self):
        """Where the data lie."""
        return self.model.manifold

    @property
    def number(self):
        """Records of a data set."""
        return self.points.shape[1]

    def mean_of_logs(self, at, clip):
        """Given points as an array of all data sets', and the mean there of clipped logarithms."""
        base = np.broadcast_to(at, self.mean.shape)
        # Clipped logarithms are gradients of Huber's loss.
        model = GeodesicModel(self.manifold, 0, Huber(clip))
        [block] = model.blocks
        return base, -model.energy_gradient({block: base}, None, self.points).gradient[block]


@dataclass(frozen=True)
class MeanMechanism(MeanProblem, Mechanism):
    """A mechanism for the Frechet means of some data sets.

    Budgets hold as ``proved_nonpositive`` says on spaces without positive curvature, and on others
    as ``proved_positive``; if ``anywhere``, for records outside of the ball, too.
    """

    proved_nonpositive: ClassVar[str] = PROVED
    proved_positive: ClassVar[str] = PROVED
    anywhere: ClassVar[bool] = False
    delta: ClassVar[float] = 0.0  # Above zero the noise is Gaussian.
    certificate: ClassVar[str] = "noise of a closed form"
    support_description = "p anywhere"
    of_data_sets: ClassVar[tuple[str, ...]] = ("centre", "points", "mean")

    @classmethod
    def of(cls, problem):
        """The mechanism for a `MeanProblem`."""
        cls.check_space(problem.manifold)
        return cls(**vars(problem))

    @abstractmethod
    def private_means(self, rng, budget):
        """One private mean for each mean, an array of their shape."""

    @classmethod
    def check_space(cls, manifold):
        """Refuse a space that the mechanism is not for."""

    @classmethod
    def status(cls, manifold):
        """Whether budgets hold on a manifold."""
        return cls.proved_nonpositive if is_nonpositive(manifold) else cls.proved_positive

    @property
    def guarantee(self):
        """See `Guarantee`; proved for data in the ball, which `prepare` checks."""
        ball = "" if self.anywhere else f" within the public ball of radius {self.radius:g}"
        neighbours, status = f"one record replaced{ball}", self.status(self.manifold)
        words = {
            PROVED: f"in exact arithmetic each draw's budget holds for {neighbours}",
            NONE: "no budget is proved",
            FALSE: "the stated budgets do not hold",
        }[status]
        also = f", with delta {self.delta:g}" if self.delta else ""
        title = self.name.replace("_", " ").capitalize()
        return Guarantee(status, neighbours, "record", f"{title} mechanism: {words}{also}.")

    def many_means(self, rng, budget, draws):
        """Private means (data_sets, draws, *point_shape)."""
        shape = (len(self.mean), draws, *self.manifold.point_shape)
        centre, mean = (
            np.broadcast_to(np.expand_dims(each, 1), shape)
            for each in (np.broadcast_to(self.centre, self.mean.shape), self.mean)
        )
        return replace(self, centre=centre, mean=mean).private_means(rng, budget)

    def expected_distance(self, budget):
        """Mean distance of draws from the mean in the ambient space, if it has a formula.

        None where it has none, or where it depends on the data.
        """
        return None

    @property
    def sensitivity(self):
        """How far a mean moves at most when a record within the ball is replaced."""
        return mean_sensitivity(self.model, self.number, self.radius)

    def bounds(self):
        return {self.model.blocks[0]: np.full(len(self.mean), self.sensitivity)}

    @classmethod
    def prepare(cls, model, covariates, points, public, fit, subjects=None):
        """See `Mechanism.prepare`; ``public`` needs a centre and a ``data_radius``."""
        manifold = model.manifold
        cls.check_space(manifold)
        if not cls.anywhere:
            # Refuses a model that is no mean, and a radius of which nothing is known.
            mean_sensitivity(model, points.shape[1], public.data_radius)
        if public.centre is None:
            raise DataError(
                f"the {cls.name.capitalize()} mechanism needs the public ball that holds the data: "
                "give its centre"
            )
        if not np.all(fit.converged):
            raise DataError("a mean has not converged, and its sensitivity is that of the minimum")
        centre = np.broadcast_to(public.centre, (len(points), *manifold.point_shape))
        if not cls.anywhere:
            reach = public.data_radius * (1.0 + ROUNDING)
            # What is not a number is not inside either.
            outside = ~(manifold.dist(np.expand_dims(centre, 1), points) <= reach)
            if np.any(outside):
                data_set, record = np.argwhere(outside)[0]
                raise DataError(
                    f"record {record + 1} of data set {data_set + 1} is not within the public ball "
                    f"of radius {public.data_radius:g}, and the sensitivity is that of data within "
                    "it: correct the record, or leave it out by a rule chosen without looking at "
                    "the data"
                )
            if not np.all(manifold.dist(centre, fit.footpoint) <= reach):
                raise DataError("a fitted mean is not within the ball of its data: fit these data")
        return cls(model, centre, public.data_radius, points, fit.footpoint)

    def draw(self, rng, budgets, draws, plan_sampler=None):
        """See `Mechanism.draw`; every draw is independent and exact."""
        [block] = self.model.blocks
        points = self.many_means(rng, float(budgets[block]), draws[block])
        report = SamplingReport("exact", self.certificate)
        return as_draws(self.model, {block: points}, {block: report})


class Laplace(MeanMechanism):
    """The Laplace mechanism on a manifold (Reimherr, Bharath and Soto).

    On a symmetric space the normalising constant of ``exp(-d(p, mean) / sigma)`` does not depend on
    the mean, and ``sigma = sensitivity / budget`` satisfies the budget (their theorem 1).  The
    sensitivity is that of means of data in a public ball (theorem 2).
    """

    name = "laplace"
    certificate = "density of distances, or rejection from a flat Laplace"

    @classmethod
    def check_space(cls, manifold):
        check_laplace_space(manifold)

    def scale(self, budget):
        """Scale of the density."""
        return self.sensitivity / budget

    def expected_distance(self, budget):
        manifold = self.manifold
        if not isinstance(manifold, Sphere):
            return None
        return mean_under_laplace(manifold, self.scale(budget), partial(ambient_radius, manifold))

    def private_means(self, rng, budget):
        return draw_laplace(rng, self.manifold, self.mean, self.scale(budget))


class LaplaceAsPublished(Laplace):
    """The Laplace mechanism as on the sphere of the paper's Figure 1.

    Its sensitivity was computed on a grid (B.1), and nothing is proved of it.  On SPD matrices the
    figure's mechanism is `Laplace`.
    """

    name = "laplace_as_published"
    proved_positive = NONE

    @classmethod
    def check_space(cls, manifold):
        if is_nonpositive(manifold):
            raise DataError(f"on {manifold.name} it is the Laplace mechanism: take laplace")

    def scale(self, budget):
        found = largest_change_of_logs(self.manifold, self.radius)
        return found / (self.number * convexity(self.manifold, self.radius)) / budget


class LaplaceGeneral(Laplace):
    """The Laplace mechanism at the other scale of theorem 1, twice that of `Laplace`.

    It is for spaces on which the normalising constant varies, which these are not.
    """

    name = "laplace_general"

    def scale(self, budget):
        return 2.0 * super().scale(budget)


class KNormGradient(MeanMechanism):
    """K-norm gradient mechanism (Soto et al., supplement 2.3 and 2.4), at its published scales.

    Where no curvature is positive the scale is twice the sensitivity ``2 r / n`` over the budget.
    The logarithm at a point is then 1-Lipschitz, so that the norm of the gradient differs by at
    most the sensitivity between neighbours, wherever the point is, and so does the logarithm of the
    normalising constant: the budget holds.  On the sphere the published scale has no factor of two,
    and no proof.  The support is there taken to be the ball of twice the radius of the data: far
    from these gradients vanish again.

    Within a ball in which the energy has a Hessian of at least h the gradient at p is at least ``h
    d(p, mean)`` long (lemma 1).  So a Laplace distribution about the mean, of scale ``scale / h``,
    is an envelope, and rejection from it is exact.
    """

    name = "kng"
    proved_positive = NONE
    certificate = "rejection from a Laplace distribution"
    at_once: ClassVar[int] = 1 << 10  # Proposals whose gradients are computed together.

    def scale(self, budget):
        """Scale of the gradient's length."""
        sensitivity = 2.0 * self.radius / self.number
        if is_nonpositive(self.manifold):
            return 2.0 * sensitivity / budget
        return sensitivity * (2.0 - convexity(self.manifold, self.radius)) / budget

    @property
    def support_radius(self):
        """Radius of the support."""
        return np.inf if is_nonpositive(self.manifold) else 2.0 * self.radius

    def private_means(self, rng, budget):
        model, manifold, scale = self.model, self.manifold, self.scale(budget)
        [block] = model.blocks
        # Two points of the support and the data are no farther apart.
        farthest = 0.5 * (self.radius + self.support_radius)
        h = 1.0 if is_nonpositive(manifold) else convexity(manifold, farthest)
        mean, centre = (
            np.broadcast_to(each, self.mean.shape).reshape((-1, *manifold.point_shape))
            for each in (self.mean, self.centre)
        )
        data_set = np.repeat(np.arange(len(self.points)), len(mean) // len(self.points))

        def propose(left):
            proposed = draw_laplace(rng, manifold, mean[left], scale / h)
            inside = manifold.dist(centre[left], proposed) <= self.support_radius
            if not np.any(inside):
                return inside, proposed
            places, left = proposed[inside], left[inside]
            log_chance = h * manifold.dist(mean[left], places) / scale
            for start in range(0, len(left), self.at_once):
                some = slice(start, start + self.at_once)
                points = self.points[data_set[left[some]]]
                arrays = model.aligned(None, points), points, np.full(len(points), scale)
                density = FootpointDensity(model, *arrays, {block: places[some]})
                log_chance[some] += density.log_density(places[some, None])[:, 0]
            # A mean and its gradient are known to this share of the scale.
            if np.any(log_chance > ROUNDING):
                raise ArithmeticError("a gradient is shorter than its lower bound: report this")
            inside[inside] = np.log(rng.random(len(places))) < log_chance
            return inside, proposed

        return by_rejection(mean.shape, propose)[0].reshape(self.mean.shape)
