"""A plan of a release: its stages, their predicted errors, and branches by a released length."""

from dataclasses import dataclass, replace

import numpy as np

from geodp.errors import DataError
from geodp_release.plan.bands import clipped_errors, half_widths, sampled_errors
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import PrivacyBudget
from geodp_release.stages import BeyondStage, LastStep, MatrixStage, NoisyStep, PointsStage
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.simulation import FlatReleases, afforded

# Of the random numbers of plans; simulated releases that predict their errors, and the part of
# their choices that looks for rare failures.
SEED, PREDICTED, TAILS = 20261122, 2048, 0.25

# A release counts as noise if its error is more than this share of that of the geodesic that stays
# at the centre.
NOISE = 1.0 / 3.0


@dataclass(frozen=True)
class Way:
    """Stages that follow a residual length up to the ``longest``."""

    longest: float
    stages: tuple


@dataclass(frozen=True)
class ReleasePlan:
    """Everything public about a release: assumptions, budget, and stages with predicted errors.

    Attributes
    ----------
    assumptions : Assumptions
    budget : PrivacyBudget
    stages : tuple of Stage
    error : float
        Predicted root mean squared error of the geodesic over where subjects are; where no
        residual scale is assumed the geometric mean of those of three groups of scales.
    error_without_privacy, error_without_data : float
        Of the least-squares geodesic, and over the whole range of that which stays at the centre.
    error_if_clustered : float, optional
        If covariates cluster: a Beta(2, 5), groups of 3 to 1.  Without covariates that of the plan.
    ways : tuple of Way
        What follows the stages, by the residual length that the last of them releases: none in the
        plan of a release, which went one of them.
    """

    assumptions: Assumptions
    budget: PrivacyBudget
    stages: tuple
    error: float
    error_without_privacy: float
    error_without_data: float
    error_if_clustered: float | None = None
    ways: tuple = ()

    def __post_init__(self):
        for stages in self.paths:
            self._refuse(stages)
        if self.ways and not self.stages[-1].is_look:
            raise DataError("plan: ways part after a residual length: end the stages with one")

    def _refuse(self, stages):
        """Refuse stages, one after the other, that are not within the budget or make no sense."""
        looked = moved = False
        kinds = [type(stage) for stage in stages if isinstance(stage, NoisyStep | BeyondStage)]
        is_robust = kinds[-2:] == [BeyondStage, LastStep]
        if is_robust != self.assumptions.is_robust or BeyondStage in kinds[:-2] + kinds[-1:]:
            raise DataError(
                "plan: its last step is not for the loss of its assumptions: correct it"
            )
        for stage in stages:
            if stage.unit != self.budget.unit:
                raise DataError("plan: stages and budget are of different units: correct them")
            stage.check(1 + self.assumptions.number_of_covariates)
            if isinstance(stage, MatrixStage) and moved and not self.assumptions.is_flat:
                raise DataError(
                    "plan: in curved space a matrix of moments is about the centre: put it first"
                )
            moved = moved or isinstance(stage, PointsStage | NoisyStep)
            if stage.is_relative and not looked:
                raise DataError(
                    "plan: a stage is in units of a residual length that no stage before it "
                    "releases: correct it"
                )
            looked = looked or stage.is_look
        spent = sum(stage.budget for stage in stages)
        if spent > self.budget.exact:
            raise DataError(
                f"plan: its stages cost {float(spent):g}, which is more than the budget "
                f"{self.budget.amount}: correct them"
            )

    @property
    def paths(self):
        """All stages, in a tuple, of each way that a release may go."""
        return [self.stages + way.stages for way in self.ways] or [self.stages]

    def path(self, lengths):
        """The plan, without ways, of a release with these residual lengths, in their order."""
        if not self.ways:
            return self
        parting = lengths[sum(stage.is_look for stage in self.stages) - 1]
        return replace(self, stages=self.paths[int(self._way_of(parting))], ways=())

    def _way_of(self, lengths):
        """Index of the way that follows a length, or lengths."""
        limits = np.array([way.longest for way in self.ways])
        # Ways begin with the longest lengths, and the first takes those that are longer.
        places = np.sum(np.asarray(lengths)[..., None] <= limits, axis=-1) - 1
        return np.maximum(places, 0)

    def simulated(self, releases, rng):
        """`FlatReleases` that begin as given, after all stages and the way that each goes."""
        found = run_stages(releases, self.stages, rng)
        if not self.ways:
            return found
        index = self._way_of(found.length)
        parts = [
            run_stages(found.drawn(index == number), way.stages, rng)
            for number, way in enumerate(self.ways)
            if np.any(index == number)
        ]
        return FlatReleases.joined(parts)

    def predicted(self):
        """The plan with its predicted errors."""
        found = clustered = simulated(self)
        if self.assumptions.spreads:
            clustered = simulated(self, Covariates.assumed(self.assumptions, clustered=True))
        typical = np.exp(np.mean(np.log(np.square(found.typical))))
        usual = found.radii * self.assumptions.usual_radius / self.assumptions.footpoint_radius
        least = len(found.radii) * typical / self.assumptions.subjects
        return replace(
            self,
            error=float(np.sqrt(found.curve)),
            error_without_privacy=float(np.sqrt(least)),
            error_without_data=float(np.sqrt(usual**2 / 3.0 @ found.weights)),
            error_if_clustered=float(np.sqrt(clustered.curve)),
        )

    def error_at(self, residual_scale):
        """Root mean squared error for such residuals, of geodesics within the usual radius."""
        return float(np.sqrt(simulated(self, residual_scale=residual_scale).curve))

    def errors_by_scale(self):
        """The least and the greatest residual scale that plans without a guess are for.

        Pairs of it, in each direction, and of the error there.
        """
        lengths = self.assumptions.typical_length(PREDICTED)
        ends = np.array([np.min(lengths), np.max(lengths)]) / np.sqrt(self.assumptions.manifold.dim)
        return [(float(scale), self.error_at(float(scale))) for scale in ends]

    def usual_errors(self, part=0.1):
        """Errors, within the usual radius, where residuals are as guessed or such a part of it.

        Returns
        -------
        tuple of float
            The residual scale; the error that half of simulated releases are below, which rare
            failures do not move; and that of least squares.
        """
        assumptions = self.assumptions
        scale = part * assumptions.usual_radius / np.sqrt(assumptions.manifold.dim)
        scale = assumptions.residual_scale or scale
        found = simulated(self, residual_scale=scale)
        half = np.quantile(found.subject_squares, 0.5, weights=found.weight, method="inverted_cdf")
        least = len(found.radii) * np.square(found.typical[0]) / assumptions.subjects
        return float(scale), float(np.sqrt(half)), float(np.sqrt(least))

    def usual_bands(self, covariates, level):
        """Radii (m,) of bands at covariates (m, k), and half-widths of intervals of coefficients.

        Where residuals are as `usual_errors` has them, and as if the space were flat.
        """
        scale, *_ = self.usual_errors()
        found, rng = simulated(self, residual_scale=scale), np.random.default_rng([SEED, 3])
        places = np.insert(self.assumptions.places(covariates), 0, 1.0, axis=1)
        away = np.linalg.norm(places @ sampled_errors(found, rng), axis=-1)
        radii = np.quantile(away, level, 0, weights=found.weight, method="inverted_cdf")
        radii = radii + clipped_errors(found, places)
        return radii, half_widths(self.assumptions.coefficients, found, level)

    @property
    def is_noise(self):
        """Whether the release would carry almost no information about the data."""
        return self.error > NOISE * self.error_without_data


def run_stages(found, stages, rng):
    """Simulated releases after some more stages."""
    for stage in stages:
        found = stage.simulate(found, rng)
    return found


def simulated(plan, covariates=None, residual_scale=None):
    """Simulated releases, with covariates and a scale as assumed or given: they predict errors.

    Given a scale, of geodesics within the usual radius.  Truths and noise are always the same.
    """
    assumptions, size = plan.assumptions, None
    if residual_scale is not None:
        size = assumptions.usual_radius / assumptions.footpoint_radius
    rng = np.random.default_rng([SEED, 2])
    number = afforded(PREDICTED, assumptions.size)
    start = FlatReleases.start(assumptions, number, rng, TAILS, size)
    if residual_scale is not None:
        assumptions = replace(assumptions, residual_scale=residual_scale)
    # Predictions are for the guess itself.
    start = replace(start, typical=assumptions.typical_length(number, about=1.0))
    if covariates is not None:
        start = replace(start, covariates=covariates)
    return plan.simulated(start, rng)
