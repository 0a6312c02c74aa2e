"""The Laplace mechanism on a manifold, for Frechet means (Reimherr, Bharath and Soto).

Its density is ``exp(-d(p, mean) / sigma)`` up to a constant.  A symmetric space looks the same from
each of its points, so that constant does not depend on the mean, and ``sigma = sensitivity /
budget`` satisfies the budget (their theorem 1).  The sensitivity is that of means of data in a
public ball (theorem 2).
"""

from dataclasses import dataclass, replace

import numpy as np

from geodp.errors import DataError
from geodp.mechanisms.base import PROVED, Guarantee, Mechanism, SamplingReport, as_draws
from geodp.models.geodesic import GeodesicModel
from geodp.models.sensitivity import mean_sensitivity
from geodp.samplers.riemannian_laplace import check_laplace_space, draw_laplace

# Relative excess of a distance over the radius of the ball that counts as rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Laplace(Mechanism):
    """Laplace mechanism for the Frechet means of some data sets.

    Attributes
    ----------
    model : GeodesicModel
    mean : ndarray, shape (data_sets, *point_shape)
    sensitivity : float
        How far a mean moves at most when a record within the ball is replaced.
    data_radius : float
        Radius of the public ball that holds the data.
    """

    model: GeodesicModel
    mean: np.ndarray
    sensitivity: float
    data_radius: float

    name = "laplace"
    support_description = "p anywhere"

    @property
    def guarantee(self):
        """See `Guarantee`; proved for data in the ball, which `prepare` checks."""
        neighbours = f"one record replaced within the public ball of radius {self.data_radius:g}"
        line = f"Laplace mechanism: in exact arithmetic each draw's budget holds for {neighbours}."
        return Guarantee(PROVED, neighbours, "record", line)

    @classmethod
    def prepare(cls, model, covariates, points, public, fit, subjects=None):
        """See `Mechanism.prepare`; ``public`` needs a centre and a ``data_radius``."""
        manifold = model.manifold
        check_laplace_space(manifold)
        bound = mean_sensitivity(model, points.shape[1], public.data_radius)
        if public.centre is None:
            raise DataError(
                "the Laplace mechanism needs the public ball that holds the data: give its centre"
            )
        centre = np.broadcast_to(public.centre, (len(points), *manifold.point_shape))
        reach = public.data_radius * (1.0 + ROUNDING)
        away = manifold.dist(np.expand_dims(centre, 1), points)
        # What is not a number is not inside either.
        outside = ~(away <= reach)
        if np.any(outside):
            data_set, record = np.argwhere(outside)[0]
            raise DataError(
                f"record {record + 1} of data set {data_set + 1} is not within the public ball of "
                f"radius {public.data_radius:g}, and the sensitivity is that of data within it: "
                "correct the record, or leave it out by a rule chosen without looking at the data"
            )
        if not np.all(fit.converged):
            raise DataError("a mean has not converged, and its sensitivity is that of the minimum")
        if not np.all(manifold.dist(centre, fit.footpoint) <= reach):
            raise DataError("a fitted mean is not within the ball of its data: fit these data")
        return cls(model, fit.footpoint, bound, public.data_radius)

    def bounds(self):
        """See `Mechanism.bounds`."""
        return {self.model.blocks[0]: np.full(len(self.mean), self.sensitivity)}

    def take(self, data_sets):
        return replace(self, mean=self.mean[data_sets])

    def draw(self, rng, budgets, draws, plan_sampler=None):
        """See `Mechanism.draw`; every draw is independent and exact."""
        [block] = self.model.blocks
        manifold, number = self.model.manifold, draws[block]
        shape = (len(self.mean), number)
        scale = self.sensitivity / float(budgets[block])
        centre = np.broadcast_to(np.expand_dims(self.mean, 1), (*shape, *manifold.point_shape))
        points = draw_laplace(rng, manifold, centre, scale)
        report = SamplingReport("exact", "density of distances, or rejection from a flat Laplace")
        return as_draws(self.model, {block: points}, {block: report})
