"""Release of one private geodesic, mean or several, with its guarantee and its confidence band.

A release holds its plan, which is public, and what the stages released.  Nothing else in it depends
on the records.  Random bits come from the operating system, without a seed.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from geodp.errors import DataError
from geodp.models.terms import PERIODIC
from geodp.samplers.integer_choice import system_bits
from geodp_release.plan import agreeing, bands
from geodp_release.plan.release_plan import ReleasePlan
from geodp_release.run.partitions import are_partitioned, parted_records
from geodp_release.run.subjects import subject_records
from geodp_release.show import release_words
from geodp_release.show.document import About, write_release
from geodp_release.show.doubts import doubts
from geodp_release.show.hypotheses import ReleaseGuarantee, check_hypotheses
from geodp_release.show.read_document import read_release
from geodp_release.show.statistics import Statistics
from geodp_release.stages import BeyondStage
from geodp_release.stages.draw import run_plan


@dataclass(frozen=True, repr=False, eq=False)
class Release(Statistics):
    """A private geodesic and its guarantee; without a covariate a mean, with more one for each.

    Printed, it says in words what was released and what its guarantee assumes.

    Attributes
    ----------
    footpoint : ndarray, shape point_shape
        Prediction in the middle of the covariates' ranges.
    shooting_vectors : ndarray, shape (k, *point_shape)
        Tangent vectors at the footpoint, each as long as the geodesic over its covariate's range.
    number : float
        Number of subjects, public or noisy.
    moments : ndarray, shape (k (k + 3) / 2,)
        Of the covariates, scaled to -1/2 to 1/2, as assumed or noisy; see
        `geodp_release.run.covariate_moments`.
    lengths : tuple of float
        Lengths that shares of the residuals are shorter than, about the states of the stages that
        measure them, by which the share is: half at first, more before and after the last step.
    plan : ReleasePlan
    guarantee : ReleaseGuarantee
    far : float, optional
        Noisy number of subjects, by the parts of their records, whose residual is longer than
        `geodp_release.stages.counts.far_away` times the last length.
    reached : ndarray, shape (1 + k,)
        See `geodp_release.stages.draw.Released`: what `doubts` go by.
    tails, products : tuple
        See `geodp_release.stages.draw.Released`: counts of what the last step clipped, and second
        moments, of which bands are made.
    about : geodp_release.show.document.About, optional
        Name, description, names of covariates and responses, and units, as settings have them.
    """

    footpoint: np.ndarray
    shooting_vectors: np.ndarray
    number: float
    moments: np.ndarray
    lengths: tuple[float, ...]
    plan: ReleasePlan
    guarantee: ReleaseGuarantee
    far: float | None = None
    reached: np.ndarray | float = 0.0
    tails: tuple[float, ...] = ()
    products: tuple[tuple[float, ...], ...] = ()
    about: About | None = None

    @classmethod
    def of(cls, plan, found, guarantee):
        """The release of a plan whose stages released `geodp_release.stages.draw.Released`."""
        state, kept = found.state, (found.number, found.moments, found.lengths)
        others = plan.path(found.lengths), guarantee, found.far
        reached = np.zeros(len(state)) + found.reached
        return cls(state[0], state[1:], *kept, *others, reached, found.tails, found.products)

    @property
    def shooting_vector(self) -> np.ndarray:
        """The shooting vector (*point_shape) of the one covariate."""
        [vector] = self.shooting_vectors
        return vector

    def predict(self, covariates: ArrayLike | None = None) -> np.ndarray:
        """Predictions (m, *point_shape).

        Parameters
        ----------
        covariates : array, shape (m, k), or (m,) with one covariate
            Without a covariate nothing: there is one prediction, the mean.
        """
        manifold = self.plan.assumptions.manifold
        return manifold.ends(self.footpoint, self.shooting_vectors, self._places(covariates))

    def band(
        self,
        covariates: ArrayLike | None = None,
        level: float = bands.LEVELS[-1],
        together: bool = False,
        doubted: bool = False,
    ) -> np.ndarray:
        """Radius (m,) of the ball about each prediction that holds the true one.

        True is what the least-squares geodesic of the population predicts, or where the loss is
        Huber's the one that minimises it with the `threshold` of this release.

        Parameters
        ----------
        covariates : array
            As in `predict`.
        level : float
            Probability that it does, for each covariate by itself, if the assumptions are right.
        together : bool
            Or for all that are given at once, such as many over the whole range.
        doubted : bool
            Whether there are radii in spite of `doubts`, to see what they are worth.

        Returns
        -------
        ndarray, shape (m,)
            In the manifold's unit of length; NaN where `has_subjects` says that there are none,
            and everywhere if there are `doubts`.
        """
        if not 0.0 < level < 1.0:
            raise DataError(f"level is {level}: give a probability, such as 0.95")
        places = self._places(covariates)
        radii = np.full(len(places), np.nan)
        if not doubted and self.doubts():
            return radii
        there = agreeing.has_subjects(self.plan, self.moments, places)
        [found] = self._truths.radii(places[there], [level], together)
        rows = np.insert(places[there], 0, 1.0, axis=1)
        radii[there] = found + bands.clipped_errors(self.agreeing[0], rows)
        return radii

    def has_subjects(self, covariates: ArrayLike | None = None) -> np.ndarray:
        """Whether there are subjects at covariates as in `predict`, by released moments; (m,).

        Where they are assumed to be spread evenly there are everywhere, unless these contradict it.
        """
        return agreeing.has_subjects(self.plan, self.moments, self._places(covariates))

    @property
    def usual(self) -> np.ndarray:
        """Covariates (k,) where subjects are: noisy means, or the first of two groups."""
        assumptions = self.plan.assumptions
        if agreeing.moments_stage(self.plan, self.moments) is None:
            return assumptions.usual
        grid = np.linspace(assumptions.ranges[:, 0], assumptions.ranges[:, 1], 101)
        found, places = assumptions.usual.copy(), assumptions.column_places(grid)
        for column in np.flatnonzero(~assumptions.groups):
            own = assumptions.terms.of(column)
            # The first of a column's covariates is the line, but along a period.
            if PERIODIC not in assumptions.terms.bases[column]:
                away = np.abs(places[:, column] - self.moments[own[0]])
                found[column] = grid[np.argmin(away), column]
        return found

    @property
    def threshold(self) -> float | None:
        """Length of residuals from which on Huber's loss is linear; ``None`` for least squares."""
        assumptions = self.plan.assumptions
        if not assumptions.is_robust:
            return None
        _, looks, _ = next(bands.with_looks(self.plan, BeyondStage))
        return assumptions.threshold * self.lengths[looks - 1]

    @property
    def within(self) -> tuple[float, float] | None:
        """What mean gradients of Huber's loss keep of a small error, and its deviation."""
        for stage, *_ in bands.with_looks(self.plan, BeyondStage):
            return stage.within(self.plan.assumptions, self.tails, self.number)
        return None

    def doubts(self) -> list[str]:
        """Sentences that say which public input to change next time; bands are withheld then."""
        typical, _, away, far, _ = self._simulated
        return doubts(self, away, typical, far)

    def coefficients(
        self, level: float = bands.LEVELS[-1], at: ArrayLike | None = None
    ) -> bands.Estimate:
        """Coefficients of a line or plane in flat space with intervals, as arrays (1 + k, dim).

        The prediction at ``plan.assumptions.usual``, or m of them ``at`` covariates (m, k), and
        slopes per unit of each covariate, or of its logarithm where that is its transformation.  An
        interval holds the true coefficient with the probability of the level; in several dimensions
        with more, unless nearly all scatter is in one of them.  Limits are NaN if there are
        `doubts`.
        """
        assumptions = self.plan.assumptions
        if not assumptions.is_flat:
            raise DataError("coefficients are of Euclidean space: use predict and band")
        at = assumptions.usual[None] if at is None else np.asarray(at, dtype=float)
        matrix = assumptions.coefficients_at(at)
        half = bands.half_widths(matrix, self.agreeing[0], level, self._scatter)[:, None]
        values = matrix @ [self.footpoint, *self.shooting_vectors]
        half = np.nan if self.doubts() else half
        return bands.Estimate(values, values - half, values + half, level)

    @property
    def error(self) -> float:
        """Root mean squared error over where subjects are, simulated given what was released."""
        _, errors, *_, matrix = self._simulated
        # By the covariates that each was simulated with.
        squares = np.sum(errors * (matrix @ errors), axis=(-2, -1))
        return float(np.sqrt(np.mean(squares)))

    @property
    def error_without_privacy(self) -> float:
        """That of the fit, for residuals as they were measured if they were."""
        if not self.lengths:
            return self.plan.error_without_privacy
        if self.plan.assumptions.is_robust:
            errors = self._scatter.errors(self.agreeing[0], np.random.default_rng(agreeing.SEED))
            squares = np.sum(errors * (self._simulated[-1] @ errors), axis=(-2, -1))
            return float(np.sqrt(np.mean(squares)))
        squares = np.median(self._simulated[0] ** 2) * (1 + len(self.shooting_vectors))
        return float(np.sqrt(squares / self.number))

    @property
    def share_far_away(self) -> float | None:
        """Noisy share of records far from the geodesic; ``None`` if no stage counts them."""
        return None if self.far is None else float(np.clip(self.far / self.number, 0.0, 1.0))

    found = release_words.found
    __str__ = release_words.text

    @property
    def _coordinates(self):
        """Coordinates (1 + k, dim) at the footpoint: of zero, and of the shooting vectors."""
        manifold, p = self.plan.assumptions.manifold, self.footpoint
        vectors = np.stack([np.zeros_like(p), *self.shooting_vectors])
        return manifold.coordinates(p, vectors, manifold.frame(p))

    @cached_property
    def agreeing(self):
        """Simulated releases that agree with this one; see `agreeing.agreeing_releases`."""
        return self._agreeing()

    def _agreeing(self, without=None, scales=None):
        within = self.within and self.within[0]
        given = self.plan, self.moments, self.lengths
        return agreeing.agreeing_releases(*given, without, scales, within)

    @cached_property
    def _scatter(self):
        return bands.Scatter.of(self, self.agreeing[0])

    @cached_property
    def _simulated(self):
        """Of simulated releases that agree with this one.

        Residuals, errors, lengths, far records, and moment matrices of covariates.
        """
        found, rng = self.agreeing
        typical = np.broadcast_to(found.typical, len(found.truth))
        errors = bands.sampled_errors(found, rng, scatter=self._scatter)
        # With the chance of the sample, which simulated steps do not have.
        led = found.state * np.maximum(found.reached, 1.0)[..., None] + (errors - found.errors)
        away = np.linalg.norm(led, axis=-1) / found.radii
        return typical, errors, away, found.far, found.covariates.matrix

    @cached_property
    def _truths(self):
        given, state = self.plan.assumptions, np.stack([self.footpoint, *self.shooting_vectors])
        errors = bands.in_the_space(given, self._simulated[1], state, self.moments)
        return bands.TrueGeodesics.of(given.manifold, errors, state)

    def save(self, path: str | Path) -> None:
        """Write the release to a new file, as JSON with all digits.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        DataError
            The file is there already or cannot be written, or the manifold is none of the library.
        """
        write_release(self, path)

    @classmethod
    def load(cls, path: str | Path) -> "Release":
        """Read a release from a file that `save` wrote.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Release
            With the numbers of the one that was saved, bit by bit.

        Raises
        ------
        DataError
            The file cannot be read, or is not that of a release.
        """
        return cls(**read_release(path))

    def _places(self, covariates):
        """Covariates (m, k) in units of their ranges, from the middles."""
        assumptions = self.plan.assumptions
        columns = assumptions.number_of_columns
        if covariates is None and not columns:
            return np.zeros((1, 0))
        given = np.asarray(covariates, dtype=float)
        if columns == 1 and given.ndim == 1:
            given = given[:, None]
        if given.ndim != 2 or given.shape[-1] != columns:
            raise DataError(
                f"covariates have shape {given.shape}: give rows of {columns}, one a prediction"
            )
        if not np.all(assumptions.usable(given)):
            raise DataError(
                "covariates: one has no place on the geodesic: give finite numbers, and positive "
                "ones where their logarithm is taken"
            )
        return assumptions.places(given)

    def __repr__(self):
        assumptions, budget = self.plan.assumptions, self.plan.budget
        return (
            f"<Release by {assumptions.fit} on {assumptions.manifold.name}: "
            f"{self.number:g} subjects, {budget.unit} {budget.amount}>"
        )


def release_geodesic(
    plan: ReleasePlan, covariates: ArrayLike | None, points: ArrayLike, subjects: ArrayLike | str
) -> Release:
    """Draw one geodesic under differential privacy; or a mean, or one for each covariate.

    Parameters
    ----------
    plan : ReleasePlan
        Of `plan_release`, from public assumptions.
    covariates : array, shape (n, k), or (n,) with one covariate; ``None`` without one
    points : array, shape (n, *point_shape)
    subjects : array, shape (n,), or "one record each"
        Whose each record is: the unit of privacy is a subject with all its records.

    Covariates, points and subjects may be columns of one data frame of Dask, or arrays of Dask.

    Returns
    -------
    Release

    Raises
    ------
    DataError
        Shapes do not go together, or the number of subjects is not the public one; or a partition
        cannot be computed.
    """
    if not isinstance(plan, ReleasePlan):
        raise DataError(
            f"plan is of type {type(plan).__name__}: give plan_release(assumptions, budget)"
        )
    group = parted_records if are_partitioned(points) else subject_records
    return release_records(plan, group(plan.assumptions, covariates, points, subjects))


def release_records(plan, records):
    """Draw one geodesic from `SubjectRecords`; see `release_geodesic`."""
    guarantee = ReleaseGuarantee.of(plan, check_hypotheses(plan, records, system_bits))
    if not guarantee.holds:
        raise DataError(f"nothing is released, since there is {guarantee.words()}")
    return Release.of(plan, run_plan(plan, records, system_bits), guarantee)
