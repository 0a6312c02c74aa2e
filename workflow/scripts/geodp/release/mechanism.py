"""The certified mechanism of studies: exact draws among public points, in stages."""

from dataclasses import dataclass

import numpy as np

from geodp.errors import DataError
from geodp.mechanisms.base import PROVED, Guarantee, Mechanism, SamplingReport, as_draws
from geodp.mechanisms.certified import CertifiedDistribution, PublicInputs, map_records
from geodp.models.blocks import ALL
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import SquaredDistance
from geodp.release.hypotheses import FAILS, check_hypotheses
from geodp.release.planner import Planner
from geodp.release.stages import plan_release
from geodp.samplers import public_points
from geodp.samplers.integer_choice import generator_bits

# Covariates of studies are scaled from their public range to this one.
COVARIATE_RANGE = (0.0, 1.0)


@dataclass(frozen=True)
class CertifiedMechanism(Mechanism):
    """Certified mechanism for the geodesics of some data sets, one record a subject.

    Draws of a study use its seeded generator.  `geodp.release.release.release_geodesic` makes one
    draw with random bits of the operating system.

    Attributes
    ----------
    model : GeodesicModel
        With one covariate, least squares.
    covariates : ndarray, shape (data_sets, n)
    points : ndarray, shape (data_sets, n, *point_shape)
    planner : Planner
        Public assumptions about the data.
    centre : ndarray, shape point_shape
    """

    model: GeodesicModel
    covariates: np.ndarray
    points: np.ndarray
    planner: Planner
    centre: np.ndarray

    name = "certified"
    guarantee = Guarantee(
        PROVED,
        "one subject replaced",
        "subject",
        "Certified mechanism: budgets hold by proof, under the hypotheses of docs/certified.md.",
    )

    @classmethod
    def prepare(cls, model, covariates, points, public, fit, subjects=None):
        """See `Mechanism.prepare`.

        ``public`` needs a centre that all data sets share, ``footpoint_radius``,
        ``shooting_vector_length``, and the option ``residual_scale``: a guess of the standard
        deviation of a residual in each direction.
        """
        if model.number_of_covariates != 1 or not isinstance(model.loss, SquaredDistance):
            raise DataError(
                "the certified mechanism is proved for one covariate and least squares: take "
                "these, or another mechanism"
            )
        for name in ("centre", "footpoint_radius", "shooting_vector_length"):
            if getattr(public, name) is None:
                raise DataError(f"the certified mechanism needs the public {name}: give it")
        centre = np.asarray(public.centre)
        if centre.shape != model.manifold.point_shape:
            raise DataError(
                "the certified mechanism needs a public centre that does not depend on the data "
                "set: give coordinates of a point"
            )
        if subjects is not None and len(np.unique(subjects)) < len(subjects):
            raise DataError(
                "some subjects have several records, for which no guarantee is proved: keep one "
                "record of each, by a rule chosen without looking at the data"
            )
        planner = Planner.of(
            model.manifold,
            public.footpoint_radius,
            public.shooting_vector_length,
            public.options["residual_scale"],
        )
        x = model.aligned(covariates, points)[..., 0]
        return cls(model, x, points, planner, centre)

    @property
    def support_description(self):
        """Limits of footpoints and shooting vectors in a line."""
        return (
            f"distance of p to its centre <= {self.planner.footpoint_radius:g}, "
            f"|v| <= {self.planner.shooting_vector_length:g}"
        )

    def take(self, data_sets):
        return CertifiedMechanism(
            self.model,
            self.covariates[data_sets],
            self.points[data_sets],
            self.planner,
            self.centre,
        )

    def draw(self, rng, budgets, draws, plan_sampler=None):
        """See `Mechanism.draw`; stages are planned from public assumptions."""
        number = self.covariates.shape[-1]
        plan = plan_release(self.planner, number, budgets[ALL])
        public = PublicInputs(
            self.model.manifold,
            self.centre,
            self.planner.footpoint_radius,
            self.planner.shooting_vector_length,
            COVARIATE_RANGE,
            number=number,
            **vars(plan.scales),
        )
        certified = CertifiedDistribution(public, map_records(public, self.covariates, self.points))
        states = public_points.draw(certified, plan.stages, generator_bits(rng), draws[ALL])
        self._refuse_failures(public, plan.stages, states)
        middles, vectors = certified.space.parts(states)
        # From the middle of the covariate's range to its start.
        manifold, back = self.model.manifold, -0.5 * vectors
        state = self.model.parameters(
            manifold.exp(middles, back), manifold.transport(middles, back, vectors)
        )
        report = SamplingReport(
            drawn_by="exact choice among public points",
            certificate=f"{len(plan.stages)} stages, integer arithmetic",
            proposals=sum(stage.points for stage in plan.stages),
        )
        return as_draws(self.model, state, {ALL: report})

    def _refuse_failures(self, public, stages, states):
        """Check the hypotheses of the theorem at the first draw of the first data set."""
        records = map_records(public, self.covariates[0], self.points[0])
        by_stage = [stage.rescaled(CertifiedDistribution(public, records)) for stage in stages]
        places = np.stack([states[0, 0], public.support.origin])
        failed = [each for each in check_hypotheses(by_stage, places) if each.state == FAILS]
        if failed:
            raise DataError(
                f"the guarantee does not hold, since {failed[0].name} of the theorem fails "
                f"({failed[0].statement}): change the public inputs"
            )
