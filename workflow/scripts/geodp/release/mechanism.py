"""The certified mechanism of studies: releases as `geodp.release.release` makes them."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.mechanisms.base import PROVED, Guarantee, Mechanism, SamplingReport, as_draws
from geodp.models.blocks import ALL
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import SquaredDistance
from geodp.release.accounting import PrivacyBudget
from geodp.release.assumptions import Assumptions
from geodp.release.bands import band_radii, simulated_errors
from geodp.release.draw import run_plan
from geodp.release.needed import planned
from geodp.release.subjects import ONE_EACH, subject_records
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
    assumptions : Assumptions
        Public, about each of the data sets.
    subjects : ndarray, shape (n,), or None
        Labels of subjects, if each may have several records.
    """

    model: GeodesicModel
    covariates: np.ndarray
    points: np.ndarray
    assumptions: Assumptions
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
        x = model.aligned(covariates, points)[..., 0]
        known = subjects is not None and np.size(subjects) > 0
        labels: Any = np.broadcast_to(subjects, x.shape) if known else None
        number, limit = x.shape[-1], 1
        if known:
            counts: dict = Counter(labels.reshape((-1, number))[0].tolist())
            number, limit = len(counts), max(counts.values())
        assumptions = Assumptions(
            manifold=model.manifold,
            centre=centre,
            footpoint_radius=min(public.footpoint_radius, model.manifold.injectivity_radius),
            shooting_vector_length=public.shooting_vector_length,
            covariate_range=public.covariate_range,
            residual_scale=public.options["residual_scale"],
            subjects=number,
            records_per_subject=limit,
        )
        return cls(model, x, points, assumptions, labels)

    @property
    def support_description(self):
        """Limits of footpoints and shooting vectors in a line."""
        return (
            f"distance of p to its centre <= {self.assumptions.footpoint_radius:g}, "
            f"|v| <= {self.assumptions.shooting_vector_length:g}"
        )

    def take(self, data_sets):
        return replace(
            self,
            covariates=self.covariates[data_sets],
            points=self.points[data_sets],
            subjects=None if self.subjects is None else self.subjects[data_sets],
        )

    def plan(self, budgets):
        """The plan of a release at a budget."""
        return planned(self.assumptions, PrivacyBudget(budgets[ALL]))

    def band(self, budgets, parameters, covariates, level):
        """Radii (m,) of balls about predictions of one draw that hold the true ones.

        Parameters
        ----------
        budgets : dict of str
            See `Mechanism.draw`.
        parameters : dict of ndarray
            One footpoint and one shooting vector, by block.
        covariates : ndarray, shape (m,)
        level : float
            See `geodp.release.bands.band_radii`.
        """
        manifold, (low, high) = self.model.manifold, self.assumptions.covariate_range
        middle = 0.5 * (low + high)
        start, vector = (parameters[block] for block in self.model.blocks)
        state = np.stack(
            [
                manifold.exp(start, middle * vector),
                (high - low) * manifold.transport(start, middle * vector, vector),
            ]
        )
        places = (np.asarray(covariates) - middle) / (high - low)
        return band_radii(manifold, simulated_errors(self.plan(budgets)), state, places, [level])[0]

    def draw(self, rng, budgets, draws, plan_sampler=None):
        """See `Mechanism.draw`; stages are planned from public assumptions."""
        plan = self.plan(budgets)
        bits, count = generator_bits(rng), draws[ALL]
        states = np.empty(
            (len(self.covariates), count, 2, *self.model.manifold.point_shape),
            dtype=self.model.manifold.dtype,
        )
        for index, (x, y) in enumerate(zip(self.covariates, self.points, strict=True)):
            labels = ONE_EACH if self.subjects is None else self.subjects[index]
            kept: dict = {}
            records = subject_records(self.assumptions, x, y, labels)
            for draw in range(count):
                states[index, draw] = run_plan(plan, records, bits, kept).state
        middles, vectors = np.moveaxis(states, 2, 0)
        # From the middle of the covariate's range to covariate zero, and to its unit.
        low, high = self.assumptions.covariate_range
        manifold, vectors = self.model.manifold, vectors / (high - low)
        back = -0.5 * (low + high) * vectors
        state = self.model.parameters(
            manifold.exp(middles, back), manifold.transport(middles, back, vectors)
        )
        report = SamplingReport(
            drawn_by="exact noise and choices among public points",
            certificate=f"{len(plan.stages)} stages, integer arithmetic",
            proposals=len(plan.stages),
        )
        return as_draws(self.model, state, {ALL: report})
