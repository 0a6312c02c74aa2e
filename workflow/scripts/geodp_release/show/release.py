"""Release of one private geodesic, mean or several, with its guarantee, bands and tests.

A release holds its plan, which is public, and what the stages released.  Nothing else in it depends
on the records, so that bands and tests cost no budget of their own.  Random bits come from the
operating system, without a seed.
"""

from collections.abc import Sequence
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
from geodp_release.stages import BeyondStage
from geodp_release.stages.draw import run_plan


@dataclass(frozen=True, repr=False, eq=False)
class Release:
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
        Of the covariates, scaled to -1/2 to 1/2, as assumed or noisy.
    lengths : tuple of float
        That shares of residuals are shorter than: half at first, more about the last step.
    plan, guarantee : ReleasePlan and ReleaseGuarantee
    far : float, optional
        Noisy number of subjects, by the parts of their records, far from the geodesic.
    reached, tails, products : see `geodp_release.stages.draw.Released`
    about : About, optional, of names and units
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
        names = "number", "moments", "lengths", "far", "tails", "products"
        kept = {name: getattr(found, name) for name in names}
        kept |= {"plan": plan.path(found.lengths), "guarantee": guarantee}
        reached = np.zeros(len(found.state)) + found.reached
        return cls(found.state[0], found.state[1:], reached=reached, **kept)

    @property
    def shooting_vector(self) -> np.ndarray:
        """The shooting vector (*point_shape) of the one covariate."""
        [vector] = self.shooting_vectors
        return vector

    def predict(self, covariates: ArrayLike | None = None) -> np.ndarray:
        """Predictions (m, *point_shape) at covariates (m, k), or (m,) of one.

        Without a covariate there is one prediction, the mean, at nothing.
        """
        ends = self.plan.assumptions.manifold.ends
        return ends(self.footpoint, self.shooting_vectors, self._places(covariates))

    def band(
        self,
        covariates: ArrayLike | None = None,
        level: float = bands.LEVELS[-1],
        together: bool = False,
        doubted: bool = False,
    ) -> np.ndarray:
        """Radius (m,) of the ball about each prediction that holds the true one.

        True is what the least-squares geodesic of the population predicts, or where the loss is
        Huber's the one that minimises it with the `threshold` of this release.  Radii are in the
        manifold's unit of length; NaN where `has_subjects` says that there are none, and everywhere
        if there are `doubts`.

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
        """
        if not 0.0 < level < 1.0:
            raise DataError(f"level is {level}: give a probability, such as 0.95")
        places = self._places(covariates)
        radii = np.full(len(places), np.nan)
        if not doubted and self.doubts():
            return radii
        there = self.has_subjects(covariates)
        [found] = self._truths.radii(places[there], [level], together)
        rows = np.insert(places[there], 0, 1.0, axis=1)
        radii[there] = found + bands.clipped_errors(self.agreeing[0], rows)
        return radii

    def has_subjects(self, covariates: ArrayLike | None = None) -> np.ndarray:
        """Whether there are subjects at covariates as in `predict`, by released moments: (m,)."""
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
        stage, *_ = next(bands.with_looks(self.plan, BeyondStage), (None,))
        return stage and stage.within(self.plan.assumptions, self.tails, self.number)

    def doubts(self) -> list[str]:
        """Sentences that say which public input to change next time; bands are withheld then."""
        typical, _, away, far, _ = self._simulated
        return doubts(self, away, typical, far)

    def coefficients(
        self, level: float = bands.LEVELS[-1], at: ArrayLike | None = None
    ) -> bands.Estimate:
        """Coefficients of a line or plane in flat space with intervals, as arrays (1 + k, dim).

        The prediction at ``plan.assumptions.usual``, or m of them ``at`` covariates (m, k), and
        slopes per unit of each covariate, or of its logarithm where that is its transformation.
        Intervals hold with the probability of the level; in several dimensions with more, unless
        nearly all scatter is in one of them.  Limits are NaN if there are `doubts`.
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

    def residual_scale(self, level: float = bands.LEVELS[0]) -> bands.Estimate | None:
        """Root mean square of a residual in each direction; ``None`` if it is not measured."""
        if (squares := self._residual_squares) is None:
            return None
        return bands.Estimate.of(np.sqrt(squares / self.plan.assumptions.manifold.dim), level)

    def r_squared(self, level: float = bands.LEVELS[0]) -> bands.Estimate | None:
        """Share of the variance that the covariates explain.

        ``None`` without a covariate, for Huber's loss, or where no stage measures residuals.  The
        variance explained is that of predictions, in flat space, less what noise adds to it; the
        rest is the mean square of residuals.
        """
        if (squares := self._residual_squares) is None or not len(self.shooting_vectors):
            return None
        _, errors, *_, moments = self._simulated
        explained = bands.explained_variances(
            self._coordinates[1:], errors[:, 1:], moments, self.number
        )
        return bands.Estimate.of(explained / (explained + squares), level)

    @property
    def _residual_squares(self):
        """Mean squares (n,) of residuals in `agreeing`; ``None`` if not measured."""
        # With Huber's loss released squares are those of shortened residuals.
        if not self.lengths or self.plan.assumptions.is_robust:
            return None
        # Second moments are of means of subjects' records, if they have several.
        if self._scatter is None or self.plan.assumptions.records_per_subject > 1:
            return self._simulated[0] ** 2
        return self._scatter.residual_squares(self._simulated[0], self.number)

    def p_values(self) -> np.ndarray:
        """Of the hypothesis that predictions do not depend on a column of covariates: (c,).

        By how often shooting vectors of simulated releases are as long whose true ones are zero, as
        if clipping took as much from long residuals at all covariates.
        """
        terms = self.plan.assumptions.terms
        return np.array([self.p_value(terms.involving(each)) for each in range(len(terms.bases))])

    def p_value(self, covariates: Sequence[int]) -> float:
        """Of the hypothesis that the coefficients of some covariates, by index, are all zero.

        The statistic of several is their length in units of the covariance of simulated errors.
        """
        key, known = tuple(covariates), vars(self).setdefault("_p_values", {})
        if key not in known:
            known[key] = self._p_value([1 + each for each in key])
        return known[key]

    def p_words(self, values: Sequence[float] | np.ndarray | None = None) -> list[str]:
        """Each of `p_values` in words: one that no simulated release reaches is a limit."""
        least = 1.0 / (1.0 + len(self._simulated[1]))
        values = self.p_values() if values is None else values
        return [f"{p:.2g}{' or less' if p <= least else ''}" for p in values]

    def _p_value(self, numbers):
        scales = agreeing.agreeing_scales(self._simulated[0])
        simulated, rng = self._agreeing(numbers, scales)
        # What clipping takes makes no trend where residuals do not depend on the covariate.
        errors = bands.sampled_errors(simulated, rng, scatter=self._scatter)[:, numbers]
        root = np.linalg.cholesky(np.mean(errors @ np.swapaxes(errors, 1, 2), axis=0))
        lengths, length = (
            np.linalg.norm(np.linalg.solve(root, some), axis=(-2, -1))
            for some in (errors, self._coordinates[numbers])
        )
        return float((1.0 + np.sum(lengths >= length)) / (1.0 + len(lengths)))

    @property
    def error(self) -> float:
        """Root mean squared error over where subjects are, simulated given what was released."""
        return self._over_subjects(self._simulated[1])

    def _over_subjects(self, errors):
        # By the covariates that each was simulated with.
        squares = np.sum(errors * (self._simulated[-1] @ errors), axis=(-2, -1))
        return float(np.sqrt(np.mean(squares)))

    @property
    def error_without_privacy(self) -> float:
        """That of the fit, for residuals as they were measured if they were."""
        if not self.lengths:
            return self.plan.error_without_privacy
        if self.plan.assumptions.is_robust:
            rng = np.random.default_rng(agreeing.SEED)
            return self._over_subjects(self._scatter.errors(self.agreeing[0], rng))
        squares = np.median(self._simulated[0] ** 2) * (1 + len(self.shooting_vectors))
        return float(np.sqrt(squares / self.number))

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
        """Simulated releases that agree with this one, of `agreeing.agreeing_releases`."""
        return self._agreeing()

    def _agreeing(self, without=None, scales=None):
        given = self.plan, self.moments, self.lengths, without, scales
        return agreeing.agreeing_releases(*given, self.within and self.within[0])

    @cached_property
    def _scatter(self):
        return bands.Scatter.of(self, self.agreeing[0])

    @cached_property
    def _simulated(self):
        """Residuals, errors, lengths, far records, and moments of covariates of `agreeing`."""
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

        A `DataError` says that it is there already or cannot be written, or that the manifold is
        none of the library.
        """
        write_release(self, path)

    @classmethod
    def load(cls, path: str | Path) -> "Release":
        """Read a release from a file that `save` wrote: the same, bit by bit.

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
        given, budget = self.plan.assumptions, self.plan.budget
        what = f"{self.number:g} subjects, {budget.unit} {budget.amount}"
        return f"<Release by {given.fit} on {given.manifold.name}: {what}>"


def release_geodesic(
    plan: ReleasePlan, covariates: ArrayLike | None, points: ArrayLike, subjects: ArrayLike | str
) -> Release:
    """Draw one geodesic under differential privacy; or a mean, or one for each covariate.

    Covariates, points and subjects may be columns of one data frame of Dask, or arrays of Dask.

    Parameters
    ----------
    plan : ReleasePlan
        Of `plan_release`, from public assumptions.
    covariates : array, shape (n, k), or (n,) with one covariate; ``None`` without one
    points : array, shape (n, *point_shape)
        Shapes by `KendallPlanarShapes.from_landmarks`; what is no point counts for nobody.
    subjects : array, shape (n,), or "one record each"
        Whose each record is: the unit of privacy is a subject with all its records.

    Raises
    ------
    DataError
        Shapes or numbers of subjects do not go together, or a partition cannot be computed.
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
