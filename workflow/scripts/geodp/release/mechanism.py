"""The certified mechanism of studies: exact draws among public points, in stages."""

from dataclasses import dataclass, replace

import numpy as np

from geodp.errors import DataError
from geodp.mechanisms.base import PROVED, Guarantee, Mechanism, SamplingReport, as_draws
from geodp.mechanisms.certified import (
    CertifiedDistribution,
    MappedRecords,
    PublicInputs,
    map_records,
)
from geodp.models.blocks import ALL
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import SquaredDistance
from geodp.release.hypotheses import FAILS, check_hypotheses
from geodp.release.planner import Planner
from geodp.release.stages import plan_release
from geodp.samplers import public_points
from geodp.samplers.integer_choice import generator_bits


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
    covariate_range : tuple of float
    subjects : ndarray, shape (n,), or None
        Labels that say that each subject has one record.
    """

    model: GeodesicModel
    covariates: np.ndarray
    points: np.ndarray
    planner: Planner
    centre: np.ndarray
    covariate_range: tuple[float, float]
    subjects: np.ndarray | None = None

    name = "certified"

    @property
    def guarantee(self):
        """See `Guarantee`; of subjects if their labels were given, else of records."""
        unit = "record" if self.subjects is None else "subject"
        line = (
            f"Certified mechanism: each draw's budget holds for one {unit} replaced, by proof, "
            "under the hypotheses of docs/certified.md."
        )
        return Guarantee(PROVED, f"one {unit} replaced", unit, line)

    @classmethod
    def prepare(cls, model, covariates, points, public, fit, subjects=None):
        """See `Mechanism.prepare`.

        ``public`` needs a centre that all data sets share, ``footpoint_radius``,
        ``shooting_vector_length``, ``covariate_range``, and the option ``residual_scale``: a guess
        of the standard deviation of a residual in each direction.
        """
        if model.number_of_covariates != 1 or not isinstance(model.loss, SquaredDistance):
            raise DataError(
                "the certified mechanism is proved for one covariate and least squares: take "
                "these, or another mechanism"
            )
        needed = ("centre", "footpoint_radius", "shooting_vector_length", "covariate_range")
        for name in needed:
            if getattr(public, name) is None:
                raise DataError(f"the certified mechanism needs the public {name}: give it")
        if "residual_scale" not in public.options:
            raise DataError("the certified mechanism needs the option residual_scale: give it")
        centre = np.asarray(public.centre)
        if centre.shape != model.manifold.point_shape:
            raise DataError(
                "the certified mechanism needs a public centre that does not depend on the data "
                "set: give coordinates of a point"
            )
        planner = Planner.of(
            model.manifold,
            public.footpoint_radius,
            public.shooting_vector_length,
            public.options["residual_scale"],
        )
        x = model.aligned(covariates, points)[..., 0]
        known = subjects is not None and np.size(subjects) > 0
        labels = np.broadcast_to(subjects, x.shape) if known else None
        return cls(model, x, points, planner, centre, public.covariate_range, labels)

    @property
    def support_description(self):
        """Limits of footpoints and shooting vectors in a line."""
        return (
            f"distance of p to its centre <= {self.planner.footpoint_radius:g}, "
            f"|v| <= {self.planner.shooting_vector_length:g}"
        )

    def take(self, data_sets):
        return replace(
            self,
            covariates=self.covariates[data_sets],
            points=self.points[data_sets],
            subjects=None if self.subjects is None else self.subjects[data_sets],
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
            self.covariate_range,
            number=number,
            **vars(plan.scales),
        )
        records = map_records(public, self.covariates, self.points, self.subjects)
        certified = CertifiedDistribution(public, records)
        states = public_points.draw(certified, plan.stages, generator_bits(rng), draws[ALL])
        _refuse_failures(certified, plan.stages, states)
        middles, vectors = certified.space.parts(states)
        # From the middle of the covariate's range to covariate zero, and to its unit.
        low, high = self.covariate_range
        manifold, vectors = self.model.manifold, vectors / (high - low)
        back = -0.5 * (low + high) * vectors
        state = self.model.parameters(
            manifold.exp(middles, back), manifold.transport(middles, back, vectors)
        )
        report = SamplingReport(
            drawn_by="exact choice among public points",
            certificate=f"{len(plan.stages)} stages, integer arithmetic",
            proposals=sum(stage.points for stage in plan.stages),
        )
        return as_draws(self.model, state, {ALL: report})


def _refuse_failures(certified, stages, states):
    """Check the hypotheses of the theorem at the first draw of each data set."""
    for index, drawn in enumerate(states):
        records = MappedRecords(*(each[index] for each in vars(certified.records).values()))
        by_stage = [stage.rescaled(replace(certified, records=records)) for stage in stages]
        failed = [each for each in check_hypotheses(by_stage, drawn[0]) if each.state == FAILS]
        if failed:
            raise DataError(
                f"the guarantee does not hold, since {failed[0].name} of the theorem fails "
                f"({failed[0].statement}): change the public inputs"
            )
