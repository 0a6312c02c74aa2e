"""Releases as the mechanism of a study, drawn as `geodp_release.show.release` does."""

from dataclasses import dataclass, field

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.euclidean import Euclidean
from geodp.mechanisms.mechanism import PROVED, Guarantee, Mechanism, SamplingReport, as_draws
from geodp.models.blocks import ALL
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import SquaredDistance
from geodp.samplers.integer_choice import generator_bits
from geodp_release.plan.agreeing import agreeing_releases
from geodp_release.plan.bands import (
    TrueGeodesics,
    clipped_errors,
    in_the_space,
    sampled_errors,
)
from geodp_release.plan.sample_size import planned
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import PrivacyBudget
from geodp_release.promise.public_inputs import EVENLY
from geodp_release.run.subjects import ONE_EACH, subject_records
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.draw import run_plan


@dataclass(frozen=True)
class ReleaseMechanism(Mechanism):
    """Releases of the geodesics of some data sets, one record a subject unless labels differ.

    Draws of a study use its seeded generator.  The model is of least squares, covariates are
    (data_sets, n, k), points (data_sets, n, *point_shape) and labels of subjects (data_sets, n) or
    None; assumptions are about each of the data sets.  ``kept`` has losses of points by data set,
    which all budgets share.
    """

    model: GeodesicModel
    covariates: np.ndarray
    points: np.ndarray
    assumptions: Assumptions
    subjects: np.ndarray | None = None
    kept: dict = field(default_factory=dict, init=False, repr=False)

    name = "release"
    of_data_sets = ("covariates", "points", "subjects")

    @property
    def guarantee(self):
        """See `Guarantee`; of subjects if their labels were given, else of records."""
        unit = "record" if self.subjects is None else "subject"
        line = (
            f"Releases: each draw's budget holds for one {unit} replaced, by proof, "
            "under the hypotheses of docs/guarantee.md."
        )
        return Guarantee(PROVED, f"one {unit} replaced", unit, line)

    @classmethod
    def prepare(cls, model, covariates, points, public, fit, subjects=None):
        """See `Mechanism.prepare`; data sets share a centre, and ``residual_scale`` is a guess."""
        if not isinstance(model.loss, SquaredDistance):
            raise DataError("releases are for least squares: take these, or another mechanism")
        number_of_covariates = model.number_of_covariates
        if number_of_covariates > 1 and not isinstance(model.manifold, Euclidean):
            raise DataError(
                "releases have their footpoint in the middle of the covariates' ranges, where with "
                "several covariates on a curved space the model is another than that of studies: "
                "take one covariate, or release by geodp.release_geodesic"
            )
        given = {"footpoint_radius": public.footpoint_radius}
        given["residual_scale"] = public.options.get("residual_scale")
        if number_of_covariates:
            names = "shooting_vector_length", "covariate_range"
            given |= {name: getattr(public, name) for name in names}
        for name, value in given.items():
            if value is None:
                raise DataError(f"a release needs the public {name}: give it")
        x, labels = model.aligned(covariates, points), None
        number, limit = x.shape[-2], 1
        if subjects is not None and np.size(subjects) > 0:
            labels = np.broadcast_to(subjects, x.shape[:-1])
            _, counts = np.unique(labels.reshape((-1, number))[0], return_counts=True)
            number, limit = len(counts), int(np.max(counts))
        assumptions = Assumptions(
            manifold=model.manifold,
            centre=public.shared_centre(model.manifold, "a release"),
            footpoint_radius=min(public.footpoint_radius, model.manifold.injectivity_radius),
            shooting_vector_length=(public.shooting_vector_length,) * number_of_covariates,
            covariate_range=(public.covariate_range,) * number_of_covariates,
            # Assumed of every study: bands of its releases rest on it.
            covariate_spread=(EVENLY,) * number_of_covariates,
            residual_scale=given["residual_scale"],
            subjects=number,
            records_per_subject=limit,
        )
        return cls(model, x, points, assumptions, labels)

    @property
    def support_description(self):
        """Limits of footpoints and shooting vectors in a line."""
        lengths = {f"|v| <= {each:g}" for each in np.ravel(self.assumptions.shooting_vector_length)}
        return ", ".join(
            [f"distance of p to its centre <= {self.assumptions.footpoint_radius:g}", *lengths]
        )

    def plan(self, budgets):
        return planned(self.assumptions, PrivacyBudget(budgets[ALL]))

    def errors_without_data(self):
        """Mean squared errors (data_sets,) of the public centre as the prediction everywhere."""
        away = self.model.manifold.dist(self.assumptions.centre, self.points)
        return np.mean(away**2, axis=-1)

    def band(self, budgets, parameters, covariates, level):
        """Radii (m,) of balls about predictions of one draw that hold the true ones.

        Budgets are those of `Mechanism.draw`; parameters one footpoint and its shooting vectors, by
        block.  Unlike those of `Release`, which follow what it measured, they rest on the guess of
        the residual scale.
        """
        manifold, assumptions = self.model.manifold, self.assumptions
        # From covariates zero to the middle of their ranges, and to their units.
        given = (parameters[block] for block in self.model.blocks)
        start, *vectors = _moved(manifold, assumptions.middles, *given)
        widths = np.ptp(assumptions.ranges, axis=-1)
        state = np.stack([start, *map(np.multiply, widths, vectors)])
        x = np.reshape(covariates, (len(covariates), len(vectors)))
        found, rng = agreeing_releases(self.plan(budgets))
        places, moments = assumptions.places(x), Covariates.assumed(assumptions).moments
        errors = in_the_space(assumptions, sampled_errors(found, rng), state, moments)
        radii = TrueGeodesics.of(manifold, errors, state).radii(places, [level])[0]
        return radii + clipped_errors(found, np.insert(places, 0, 1.0, axis=1))

    def draw(self, rng, budgets, draws, plan_sampler=None):
        """See `Mechanism.draw`; stages are planned from public assumptions."""
        plan = self.plan(budgets)
        bits, count = generator_bits(rng, ahead=1 << 14), draws[ALL]
        states = np.empty(
            (len(self.covariates), count, len(self.model.blocks), *self.model.manifold.point_shape),
            dtype=self.model.manifold.dtype,
        )
        for index, given in enumerate(zip(self.covariates, self.points, strict=True)):
            labels = ONE_EACH if self.subjects is None else self.subjects[index]
            records = subject_records(self.assumptions, *given, labels)
            # Losses of points are the same at all budgets.
            shared = {"losses": self.kept.setdefault(index, {})}
            for draw in range(count):
                states[index, draw] = run_plan(plan, records, bits, shared).state
        middles, *vectors = np.moveaxis(states, 2, 0)
        # From the middle of the covariates' ranges to covariates zero, and to their units.
        assumptions = self.assumptions
        vectors = list(map(np.divide, vectors, np.ptp(assumptions.ranges, axis=-1)))
        moved = _moved(self.model.manifold, -assumptions.middles, middles, *vectors)
        state = self.model.parameters(*moved)
        report = SamplingReport(
            drawn_by="exact noise and choices among public points",
            certificate=f"up to {max(map(len, plan.paths))} stages, integer arithmetic",
            proposals=max(map(len, plan.paths)),
        )
        return as_draws(self.model, state, {ALL: report})


def _moved(manifold, covariates, start, *vectors):
    """Footpoint and shooting vectors, transported to the prediction at covariates (k,)."""
    parts = (each * vector for each, vector in zip(covariates, vectors, strict=True))
    step = sum(parts, np.zeros_like(start))
    ends = (manifold.transport(start, step, vector) for vector in vectors)
    return manifold.exp(start, step), *ends
