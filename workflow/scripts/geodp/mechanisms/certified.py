"""The certified distribution: pure differential privacy with a proof.

The density of a geodesic ``(p, v)`` is ``exp(-(eps / 2) s)`` on a public support, for a score
``s`` of sensitivity one.  Near the optimum ``s`` is a norm of the gradient of the energy, as in the
K-norm gradient mechanism (Reimherr and Awan 2019; Kulkarni and Soto).  Far from it, where clipped
gradients carry little information, it is the clipped energy.

Covariates are centred: ``p`` is the point of the geodesic in the middle of the covariate's range,
and its ends are ``Exp(p, -v/2)`` and ``Exp(p, v/2)``.

``docs/certified_distribution.md`` states the theorem and proves it from numbered hypotheses.
"(H3)" marks the code that makes the third one true.
"""

from dataclasses import dataclass

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.base import Manifold, align_data_axes
from geodp.manifolds.supports import ProductSupport
from geodp.manifolds.symmetric import SymmetricSpace, jacobi_cosine
from geodp.manifolds.tangent_bundle import TangentBundle
from geodp.models.blocks import block_names
from geodp.models.chunks import sum_over_records
from geodp.models.residuals import residuals_of

# Parameters of a geodesic.
BLOCKS = block_names(1)

# Combinations of the gradient's blocks; in flat space the gradients at the geodesic's two ends.
ENDS = tuple({BLOCKS[0]: 0.5, BLOCKS[1]: sign} for sign in (1.0, -1.0))

# The score of the theorem, then others for comparison.
SCORES = ("combined", "energy", "gradient", "gradient_by_blocks")

# Scores are reduced by this fraction, so that rounding does not raise their sensitivity above one.
# Measured errors, of norms near the cut locus, are about 1e-7 at most.
SLACK = 1e-6

# Length of a residual, as a fraction of the injectivity radius, from which rounding leaves its
# direction undetermined.
CUT_LOCUS = 0.999

# Longest lengths without overflow: of their exponential, in units of the radius of negative
# curvature; and of their square.  The second limits covariates, too.
FARTHEST_CURVED = 100.0
FARTHEST = 1e100

# Errors of a manifold's functions for an array that is not a point.
FAILURES = (ArithmeticError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class Scales:
    """Scales of the score; `PublicInputs` describes them."""

    gradient_scale: float
    loss_scale: float
    loss_offset: float


@dataclass(frozen=True)
class PublicInputs:
    """Public inputs of the mechanism, none of which may come from the records (H2).

    Attributes
    ----------
    manifold : Manifold
    centre : ndarray, shape point_shape
        m0, the centre of the ball of footpoints.
    footpoint_radius : float
        R_p, the radius of that ball.
    shooting_vector_length : float
        R_v, the largest length of a shooting vector, which is the length of the geodesic over the
        covariate's range.
    covariate_range : tuple of float
        Covariates outside are clipped to it.
    gradient_scale : float
        tau, in the manifold's unit of length: the bound to which a subject's contribution to the
        gradient is clipped in `hull_norm`.  Choose about the largest residual expected.
    loss_scale : float
        c, in the same unit: the length at which residuals are clipped in the loss.
    number : int
        n, the number of subjects, each with one record.
    loss_offset : float
        f0, subtracted from the mean loss, as a fraction of ``c^2``.  Choose about the mean loss
        expected at the optimum.

    Raises
    ------
    DataError
        An input is not of the kind or in the range described.
    """

    manifold: Manifold
    centre: np.ndarray
    footpoint_radius: float
    shooting_vector_length: float
    covariate_range: tuple[float, float]
    gradient_scale: float
    loss_scale: float
    number: int
    loss_offset: float = 0.0

    def __post_init__(self):
        for name in ("footpoint_radius", "shooting_vector_length", "gradient_scale", "loss_scale"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise DataError(f"public input {name} is {value}: give a positive number")
            if value > self.farthest:
                raise DataError(
                    f"public input {name} is {value:g}, and beyond {self.farthest:g} numbers on "
                    f"{self.manifold.name} overflow: give a smaller one"
                )
        if not (0.0 <= self.loss_offset < 1.0):
            raise DataError(
                f"public input loss_offset is {self.loss_offset}: give a number from 0 to below 1"
            )
        if not (isinstance(self.number, int | np.integer) and self.number > 0):
            raise DataError(
                f"public input number is {self.number}: give the number of subjects, at least 1"
            )
        low, high = self.covariate_range
        # A middle or a width that overflows would make an infinite covariate NaN, not clip it (H3).
        if not -FARTHEST < low < high < FARTHEST:
            raise DataError(
                f"public input covariate_range is {low} to {high}: give two numbers of a size "
                f"below {FARTHEST:g}, the smaller first"
            )
        centre: np.ndarray = np.asarray(self.centre, dtype=self.manifold.dtype)
        reason = "its shape is another"
        if centre.shape == self.manifold.point_shape:
            reason = self.manifold.invalid_reason(centre)
        if reason is not None:
            raise DataError(
                f"public input centre is no point of {self.manifold.name}, since {reason}: "
                "correct it"
            )
        object.__setattr__(self, "centre", self.manifold.project(centre))

    @property
    def farthest(self):
        """Largest distance of a valid point from the centre: numbers overflow beyond."""
        lower = min(self.manifold.curvature_bounds[0], 0.0)
        return FARTHEST if lower == 0.0 else FARTHEST_CURVED / np.sqrt(-lower)

    @property
    def support(self):
        """Z, the support of the released geodesic (H7); a `ProductSupport`."""
        return ProductSupport(
            TangentBundle(self.manifold),
            self.centre,
            self.footpoint_radius,
            self.shooting_vector_length,
        )


@dataclass(frozen=True)
class MappedRecords:
    """Records after the record map, one a subject.

    Attributes
    ----------
    covariates : ndarray, shape (*data_sets, n)
        From -1/2 to 1/2.
    points : ndarray, shape (*data_sets, n, *point_shape)
        The public centre in place of those that are invalid.
    valid : ndarray of bool, shape (*data_sets, n)
    """

    covariates: np.ndarray
    points: np.ndarray
    valid: np.ndarray


def map_records(public, covariates, points, subjects=None):
    """The record map, a function of each record and the public inputs, defined everywhere (H3).

    Parameters
    ----------
    public : PublicInputs
    covariates : ndarray, shape (*data_sets, n)
        Clipped to the public range, which is scaled to [-1/2, 1/2].  A record whose covariate is
        not a number is invalid.
    points : ndarray, shape (*data_sets, n, *point_shape)
        A record is invalid if its array is not a point of the manifold, or lies so far away that
        numbers overflow.
    subjects : array, shape (*data_sets, n), optional
        Labels of the subjects, the unit of privacy; each must have one record (H1).

    Returns
    -------
    MappedRecords

    Raises
    ------
    DataError
        The number of records is not the public one, a subject has several, or shapes do not match.
    """
    manifold = public.manifold
    covariates, points = record_arrays(manifold, covariates, points)
    if points.shape != covariates.shape + manifold.point_shape:
        raise DataError(
            f"{manifold.name}: points and covariates do not go together: give one point of shape "
            f"{manifold.point_shape} a covariate"
        )
    _refuse_repeated(subjects, covariates.shape)
    if covariates.shape[-1] != public.number:
        raise DataError(
            "the number of subjects of the data is not the public number "
            f"{public.number}: make them equal, the number from what is public"
        )
    low, high = public.covariate_range
    valid = ~np.isnan(covariates)
    middle = 0.5 * (low + high)
    x = (np.where(valid, covariates, middle) - middle) / (high - low)
    # After scaling, since the ends of most ranges are scaled to beyond a half by rounding.
    x = np.clip(x, -0.5, 0.5)
    y = np.broadcast_to(public.centre, points.shape).copy()
    for index in np.ndindex(covariates.shape):
        point = _usable(public, points[index]) if valid[index] else None
        valid[index] = point is not None
        y[index] = public.centre if point is None else point
    return MappedRecords(x, y, valid)


def record_arrays(manifold, covariates, points):
    """Covariates and points as arrays; records that do not fit become NaN."""
    try:
        return np.asarray(covariates, dtype=float), np.asarray(points, dtype=manifold.dtype)
    except FAILURES:
        pass
    # A record that is not an array of numbers must neither raise nor be reported.  Iterating over a
    # data frame would give the names of its columns.
    covariates, points = (
        getattr(each, "to_numpy", lambda x=each: x)() for each in (covariates, points)
    )
    numbers = np.array([_array_or_nan(each, (), float) for each in covariates])
    if len(points) != len(numbers):
        raise DataError(f"{manifold.name}: give as many points as covariates")
    shape = manifold.point_shape
    return numbers, np.array([_array_or_nan(each, shape, manifold.dtype) for each in points])


def _array_or_nan(value, shape, dtype):
    try:
        found = np.asarray(value, dtype=dtype)
    except FAILURES:
        return np.full(shape, np.nan, dtype=dtype)
    return found if found.shape == shape else np.full(shape, np.nan, dtype=dtype)


def _usable(public, point):
    """The nearest point of the manifold to a valid array, or ``None``."""
    manifold = public.manifold
    with np.errstate(all="ignore"):
        try:
            if manifold.invalid_reason(point) is not None:
                return None
            point = manifold.project(point)
            away = manifold.dist(public.centre, point)
        except FAILURES:
            return None
    return point if np.isfinite(away) and away <= public.farthest else None


def _refuse_repeated(subjects, shape):
    """Refuse a missing label, and a label of several records of a data set (H1)."""
    if subjects is None:
        return
    # As objects: among text a missing label would become text.
    subjects = np.asarray(subjects, dtype=object)
    if subjects.shape != shape:
        raise DataError("subjects and covariates do not go together: name one subject a record")
    for index in np.ndindex(shape[:-1]):
        labels = subjects[index].tolist()
        if any(_is_missing(label) for label in labels):
            raise DataError("subjects: a record has none: name whose each record is")
        if len(set(labels)) < len(labels):
            raise DataError(
                "subjects: some have several records, for which no guarantee is proved: keep one "
                "record of each, by a rule chosen without looking at the data"
            )


def _is_missing(label):
    """Whether a label is None, NaN or pandas' NA, whose truth value is undefined."""
    try:
        return label is None or not bool(label == label)
    except FAILURES:
        return True


@dataclass(frozen=True)
class ClippedSums:
    """Sums over subjects of their clipped contributions at a geodesic.

    Attributes
    ----------
    loss : ndarray, shape (*data_sets, *chains)
        Sum of ``min(d_i^2, c^2) / c^2``, between 0 and n.
    footpoint, shooting_vector : ndarray (*data_sets, *chains, *point_shape), or None
        Minus n times the clipped gradient.
    """

    loss: np.ndarray
    footpoint: np.ndarray | None = None
    shooting_vector: np.ndarray | None = None


@dataclass(frozen=True)
class CertifiedDistribution:
    """Distribution of a private geodesic: pure differential privacy, replacing one subject.

    States are stacks of footpoint and shooting vector, shape (*data_sets, *chains, 2,
    *point_shape): points of `TangentBundle`.

    Attributes
    ----------
    public : PublicInputs
    records : MappedRecords
        Of `map_records`, with the same public inputs.
    score_name : str, one of `SCORES`
        ``combined`` is the score of the theorem.  The others, for comparison, are the energy alone,
        the gradient alone, and the gradient in the larger of the norms of its blocks with residuals
        clipped to tau (symmetric spaces only).  All have sensitivity one.
    """

    public: PublicInputs
    records: MappedRecords
    score_name: str = "combined"

    def __post_init__(self):
        if self.score_name not in SCORES:
            raise ValueError(f"score {self.score_name!r} is none of {', '.join(SCORES)}")
        by_blocks = self.score_name == "gradient_by_blocks"
        if by_blocks and not isinstance(self.public.manifold, SymmetricSpace):
            # Elsewhere bounds of the curvature do not bound the adjoint Jacobi fields.
            raise DataError(
                f"score gradient_by_blocks has no sensitivity on {self.public.manifold.name}, "
                "which is not symmetric: take another"
            )

    @property
    def space(self):
        """Space of the states, a `TangentBundle`."""
        return self.public.support.space

    def unrestricted(self, states, budget):
        """Log density (*data_sets, *chains) without the restriction to the support."""
        return -0.5 * budget * self.score(states)

    def log_density(self, states, budget):
        """Log density (*data_sets, *chains), up to a constant, for volume times Lebesgue (H7)."""
        support = self.public.support
        inside = support.contains(states)
        states = np.where(self.space.expand(inside), states, support.origin)
        return np.where(inside, self.unrestricted(states, budget), -np.inf)

    def score(self, states):
        """Score of sensitivity one at the states; shape (*data_sets, *chains)."""
        public = self.public
        sums = self.sums(states)
        if self.score_name == "energy":
            return shrunk(sums.loss)
        value = self._gradient_score(self.space.parts(states)[0], sums)
        if self.score_name == "combined":
            value = np.maximum(value, sums.loss - public.number * public.loss_offset)
        return shrunk(value)

    def _gradient_score(self, p, sums):
        """Norm of n times the clipped gradient, divided by its sensitivity."""
        public, manifold = self.public, self.public.manifold
        if self.score_name != "gradient_by_blocks":
            norm = hull_norm(manifold, p, sums.footpoint, sums.shooting_vector)
            return norm / (2.0 * public.gradient_scale)
        norm = np.maximum(
            manifold.norm(p, sums.footpoint), 2.0 * manifold.norm(p, sums.shooting_vector)
        )
        frequency = (
            0.5 * public.shooting_vector_length * np.sqrt(-min(manifold.curvature_bounds[0], 0.0))
        )
        return norm / (2.0 * public.gradient_scale * jacobi_cosine(-1, frequency))

    def sums(self, states):
        """Sums of the subjects' clipped contributions.

        Parameters
        ----------
        states : ndarray, shape (*data_sets, *chains, 2, *point_shape)

        Returns
        -------
        ClippedSums
        """
        geodesics = dict(zip(BLOCKS, self.space.parts(states), strict=True))
        # Overflow is tested for, and records whose numbers overflow do not count.
        with np.errstate(all="ignore"):
            found = sum_over_records(
                self.public.manifold, geodesics, self.records.covariates.shape, self._part
            )
        return ClippedSums(*found)

    def _part(self, geodesics, index):
        """Part of the sums, over the subjects of an index.

        Records whose points need other formulas are computed apart, so that they do not change the
        rounding of the others (H4).
        """
        careful = self.public.manifold.needs_care(self.records.points[index])
        careful = np.any(careful, axis=tuple(range(careful.ndim - 1)))
        if np.all(careful) or not np.any(careful):
            return self._sums_over(geodesics, index)
        parts = []
        for kind in (False, True):
            chosen = (*index[:-1], index[-1].start + np.flatnonzero(careful == kind))
            parts.append(self._sums_over(geodesics, chosen))
        return [sum(part) for part in zip(*parts, strict=True)]

    def _sums_over(self, geodesics, index):
        """The sums over the subjects of an index, all computed by the same formulas."""
        records = self.records
        residuals, norms, counts = self._residuals(
            geodesics, records.covariates[index], records.points[index], records.valid[index]
        )
        limit = self.public.loss_scale**2
        squares = np.where(counts, residuals.squared_distances, limit)
        loss = np.sum(np.minimum(squares, limit), axis=-1) / limit
        if self.score_name == "energy":
            return [loss]
        if self.score_name == "gradient_by_blocks":
            norms = np.sqrt(residuals.squared_distances)
        weights = np.where(counts, clip_factors(norms, self.public.gradient_scale), 0.0)
        return [loss, *(residuals.adjoint_sums(block, weights) for block in BLOCKS)]

    def _residuals(self, geodesics, covariates, points, valid):
        """Residuals, finite for every record, and which of them count (H3).

        Returns
        -------
        residuals : Residuals
        norms : ndarray, shape (*data_sets, *chains, n), or None
            The hull norm of each record's contribution, if any score but the energy is wanted.
        counts : ndarray of bool, shape (*data_sets, *chains, n)
            False for invalid records, and where the residual reaches the cut locus or its numbers
            overflow.  Such a record contributes nothing to the gradient and the largest loss.
        """
        manifold = self.public.manifold
        footpoint = geodesics[BLOCKS[0]]
        batch_ndim = footpoint.ndim - manifold.point_ndim
        data_ndim = covariates.ndim - 1
        residuals = residuals_of(manifold, geodesics, covariates[..., None], points)
        norms = self._norms(residuals)
        finite = np.isfinite(residuals.squared_distances if norms is None else norms)
        # Decided before anything is computed again, so that a record whose numbers overflow cannot
        # change, by rounding, whether another one counts (H4).
        counts = finite & align_data_axes(valid, data_ndim, batch_ndim)
        if np.isfinite(manifold.injectivity_radius):
            reach = (CUT_LOCUS * manifold.injectivity_radius) ** 2
            counts = counts & (residuals.squared_distances < reach)
        if not np.all(finite):
            # Each geodesic gets data of its own, in which its footpoint replaces the records that
            # overflow: zero times a number that is not finite would still spoil a sum.
            shape = finite.shape
            x = np.broadcast_to(align_data_axes(covariates, data_ndim, batch_ndim), shape)
            y = align_data_axes(points, data_ndim, batch_ndim)
            start = np.expand_dims(footpoint, batch_ndim)
            y = np.where(manifold.expand(finite), y, start)
            x = np.where(finite, x, 0.0)[..., None]
            residuals = residuals_of(manifold, geodesics, x, y)
            norms = self._norms(residuals)
        return residuals, norms, counts

    def _norms(self, residuals):
        if self.score_name == "energy":
            return None
        return sum(residuals.adjoint_norms(end) for end in ENDS)


def hull_norm(manifold, footpoint, first, second):
    """Norm ``|a/2 + b| + |a/2 - b|`` to which contributions to the gradients are clipped (H5).

    In flat space it is the sum of the lengths of a record's contributions at the two ends of the
    geodesic.  There a contribution is ``(r, x r)`` with ``|x| <= 1/2``, of norm ``|r|``.  The unit
    ball of the norm is the convex hull of those with ``|r| <= 1``, so no smaller norm bounds them.

    Parameters
    ----------
    manifold : Manifold
    footpoint, first, second : ndarray, shape (*batch, *point_shape)
        The two tangent vectors a and b at the footpoint.

    Returns
    -------
    ndarray, shape (*batch)
    """
    return manifold.norm(footpoint, 0.5 * first + second) + manifold.norm(
        footpoint, 0.5 * first - second
    )


def shrunk(score):
    """A score reduced by `SLACK`, so that rounding cannot raise its sensitivity above one."""
    return (1.0 - SLACK) * score


def clip_factors(norms, limit):
    """Factors that shorten vectors of given norms to a limit (H5)."""
    return limit / np.maximum(norms, limit)
