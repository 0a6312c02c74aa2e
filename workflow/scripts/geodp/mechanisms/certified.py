"""A mechanism with a proof: pure differential privacy on every manifold, from public inputs only.

``docs/certified.md`` states the theorem and proves it from numbered hypotheses; "(H3)" here marks
where the third becomes true.  In short, the density of a geodesic ``(p, v)`` is
``exp(-(eps / 2) s)`` on a public support, for a score ``s`` that no record moves by more than
one.  Near the optimum ``s`` is a norm of the gradient of the energy, as in the K-norm gradient
mechanism (Reimherr and Awan 2019; Kulkarni and Soto); far from it, where clipped gradients say
little, it is the clipped energy.

Covariates are centred: ``p`` is where the geodesic is in the middle of the covariate's range, and
its ends are ``Exp(p, -v/2)`` and ``Exp(p, v/2)``.
"""

from dataclasses import dataclass

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.base import Manifold, align_data_axes
from geodp.manifolds.supports import ProductSupport
from geodp.manifolds.symmetric import SymmetricSpace, jacobi_cosine
from geodp.manifolds.tangent_bundle import TangentBundle
from geodp.models.regression import BLOCKS, sum_over_records

# In flat space the gradients at the two ends of the geodesic.
ENDS = tuple({BLOCKS[0]: 0.5, BLOCKS[1]: sign} for sign in (1.0, -1.0))

# Scores to choose from; all but the first to compare it with.
SCORES = ("combined", "energy", "gradient", "gradient_by_blocks")

# Scores are smaller than their definition by this fraction, so that rounding (at most some 1e-7,
# of norms near the cut locus) cannot raise their sensitivity above one.
SLACK = 1e-6

# A residual at least this long, as a fraction of the injectivity radius, has no direction that its
# digits would determine.
CUT_LOCUS = 0.999

# Lengths beyond which exponentials of them overflow, relative to the curvature; and those of which
# squares do.
FARTHEST_CURVED = 100.0
FARTHEST = 1e100

# What a function of a manifold raises on an array that it cannot take for a point.
FAILURES = (ArithmeticError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class Scales:
    """Scales of the score: those of `PublicInputs`, which says what they are."""

    gradient_scale: float
    loss_scale: float
    loss_offset: float


@dataclass(frozen=True)
class PublicInputs:
    """All that the mechanism knows besides the records; none of it may come from them (H2).

    Attributes
    ----------
    manifold : Manifold
    centre : ndarray, shape point_shape
        m0, about which footpoints are allowed.
    footpoint_radius : float
        R_p: the farthest a footpoint may lie from the centre.
    shooting_vector_length : float
        R_v: the longest shooting vector, the length of the geodesic over the covariate's range.
    covariate_range : tuple of float
        Covariates beyond it are moved to its ends.
    gradient_scale : float
        tau, in the manifold's unit of length: the most one subject contributes to the gradient,
        in `hull_norm`.  About the largest residual expected.
    loss_scale : float
        c, in the same unit: a residual of this length or more costs as much as one can.
    number : int
        n, the number of subjects.
    loss_offset : float
        f0: the score's energy counts from here; about the energy expected at the optimum, as a
        fraction of ``c^2``.

    Raises
    ------
    DataError
        An input that is no such quantity.
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
        for name in (
            "footpoint_radius",
            "shooting_vector_length",
            "gradient_scale",
            "loss_scale",
        ):
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
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise DataError(
                f"public input covariate_range is {low} to {high}: give two finite numbers, the "
                "smaller first"
            )
        centre = np.asarray(self.centre, dtype=self.manifold.dtype)
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
        """The farthest from the centre that a valid point may lie."""
        lower = min(self.manifold.curvature_bounds[0], 0.0)
        return FARTHEST if lower == 0.0 else FARTHEST_CURVED / np.sqrt(-lower)

    @property
    def support(self):
        """Z, where released geodesics lie (H7); a `ProductSupport`."""
        return ProductSupport(
            TangentBundle(self.manifold),
            self.centre,
            self.footpoint_radius,
            self.shooting_vector_length,
        )


@dataclass(frozen=True)
class Records:
    """What the record map keeps of each record, by subject.

    Attributes
    ----------
    covariates : ndarray, shape (*data_sets, n, m)
        From -1/2 to 1/2; m is the most records of a subject.
    points : ndarray, shape (*data_sets, n, m, *point_shape)
        The public centre stands for those that are invalid or only fill up.
    valid : ndarray of bool, shape (*data_sets, n, m)
    shares : ndarray, shape (*data_sets, n, m)
        Weight of a record in the mean of its subject; zero for those that only fill up.
    """

    covariates: np.ndarray
    points: np.ndarray
    valid: np.ndarray
    shares: np.ndarray


def map_records(public, covariates, points, subjects=None):
    """The record map: a function of each record and the public inputs, for every record (H3).

    Parameters
    ----------
    public : PublicInputs
    covariates : ndarray, shape (*data_sets, records)
        Clipped to the public range, which is scaled to [-1/2, 1/2]; a record without a number is
        invalid.
    points : ndarray, shape (*data_sets, records, *point_shape)
        A record is invalid if its array is not a point of the manifold, or lies so far away that
        numbers overflow.
    subjects : array, shape (*data_sets, records), optional
        Whose each record is, the unit of privacy (H1); every record is its own subject if not
        given.

    Returns
    -------
    Records

    Raises
    ------
    DataError
        The number of subjects is not the public one, or arrays do not fit together.
    """
    manifold = public.manifold
    covariates, points = _arrays(manifold, covariates, points)
    if points.shape != covariates.shape + manifold.point_shape:
        raise DataError(
            f"{manifold.name}: points and covariates do not go together: give one point of shape "
            f"{manifold.point_shape} a covariate"
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
    order, counted = _by_subject(public, covariates.shape, subjects)
    taken = np.take_along_axis(x, order, axis=-1)
    shape = (*covariates.shape[:-1], public.number, -1)
    counted = counted.reshape(shape)
    return Records(
        covariates=taken.reshape(shape),
        points=np.take_along_axis(y, manifold.expand(order), axis=-manifold.point_ndim - 1).reshape(
            (*counted.shape, *manifold.point_shape)
        ),
        valid=np.take_along_axis(valid, order, axis=-1).reshape(shape) & counted,
        shares=counted / np.sum(counted, axis=-1, keepdims=True),
    )


def _arrays(manifold, covariates, points):
    """Covariates and points as arrays; what does not fit into one is not a number."""
    try:
        return np.asarray(covariates, dtype=float), np.asarray(points, dtype=manifold.dtype)
    except FAILURES:
        pass
    # One record that is no array of numbers must not stop the others, nor be told of.  A data
    # frame would give its columns' names.
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


def _by_subject(public, shape, subjects):
    """Indices of records, subject after subject, each filled up to the most that one has.

    Returns
    -------
    order : ndarray of int, shape (*data_sets, n m)
    counted : ndarray of bool, shape (*data_sets, n m)
        Which of them do not only fill up.
    """
    if subjects is None:
        subjects = np.broadcast_to(np.arange(shape[-1]), shape)
    # As objects: among text a missing label would become text.
    subjects = np.asarray(subjects, dtype=object)
    if subjects.shape != shape:
        raise DataError("subjects and covariates do not go together: name one subject a record")
    groups = []
    for index in np.ndindex(shape[:-1]):
        records = {}
        for place, label in enumerate(subjects[index].tolist()):
            if _is_missing(label):
                raise DataError("a record has no subject: name whose each record is")
            records.setdefault(label, []).append(place)
        if len(records) != public.number:
            raise DataError(
                "the number of subjects of the data is not the public number "
                f"{public.number}: make them equal, the number from what is public"
            )
        groups.append(list(records.values()))
    most = max(len(records) for data_set in groups for records in data_set)
    order = np.zeros((len(groups), public.number, most), dtype=int)
    counted = np.zeros(order.shape, dtype=bool)
    for index, data_set in enumerate(groups):
        for subject, records in enumerate(data_set):
            order[index, subject, : len(records)] = records
            counted[index, subject, : len(records)] = True
    flat = (*shape[:-1], -1)
    return order.reshape(flat), counted.reshape(flat)


def _is_missing(label):
    """Whether a label is none, not a number, or one that cannot tell, as pandas' NA."""
    try:
        return label is None or not bool(label == label)
    except FAILURES:
        return True


@dataclass(frozen=True)
class ClippedSums:
    """Sums over subjects of what each contributes at a geodesic.

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
class Certified:
    """The law of a geodesic under pure differential privacy, replacing one subject.

    States are stacks of footpoint and shooting vector, shape (*data_sets, *chains, 2,
    *point_shape): points of `TangentBundle`.

    Attributes
    ----------
    public : PublicInputs
    records : Records
        Of `map_records`, with the same public inputs.
    score_name : str, one of `SCORES`
        ``combined`` unless it is to be compared with the energy alone, the gradient alone, or the
        gradient in the larger of the norms of its blocks with residuals clipped to tau (symmetric
        spaces only).  All have sensitivity one.
    """

    public: PublicInputs
    records: Records
    score_name: str = "combined"

    def __post_init__(self):
        if self.score_name not in SCORES:
            raise ValueError(f"score {self.score_name!r} is none of {', '.join(SCORES)}")
        by_blocks = self.score_name == "gradient_by_blocks"
        if by_blocks and not isinstance(self.public.manifold, SymmetricSpace):
            # The Jacobi fields of others may be longer than their bounds of curvature let expect.
            raise DataError(
                f"score gradient_by_blocks has no sensitivity on {self.public.manifold.name}, "
                "which is not symmetric: take another"
            )

    @property
    def space(self):
        """Where the states lie."""
        return self.public.support.space

    def unrestricted(self, states, budget):
        """Log density (*data_sets, *chains) for volume times Lebesgue, as it is on the support."""
        return -0.5 * budget * self.score(states)

    def log_density(self, states, budget):
        """Log density (*data_sets, *chains) for volume times Lebesgue, up to a constant (H7)."""
        support = self.public.support
        inside = support.contains(states)
        states = np.where(self.space.expand(inside), states, support.origin)
        return np.where(inside, self.unrestricted(states, budget), -np.inf)

    def score(self, states):
        """What no subject moves by more than one; shape (*data_sets, *chains)."""
        public = self.public
        sums = self.sums(states)
        if self.score_name == "energy":
            return shrunk(sums.loss)
        value = self._gradient_score(self.space.parts(states)[0], sums)
        if self.score_name == "combined":
            value = np.maximum(value, sums.loss - public.number * public.loss_offset)
        return shrunk(value)

    def _gradient_score(self, p, sums):
        """Norm of the clipped gradient, relative to what one subject can move it by."""
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
        footpoint, shooting_vector = self.space.parts(states)
        # Overflow is looked for, and what overflows does not count.
        with np.errstate(all="ignore"):
            found = sum_over_records(
                self.public.manifold,
                footpoint,
                shooting_vector,
                self.records.covariates.shape[:-1],
                self._part,
                size=self.records.covariates.shape[-1],
            )
        return ClippedSums(*found)

    def _part(self, footpoint, shooting_vector, index):
        """Part of the sums, over the subjects of an index.

        By which formulas one subject's contribution is computed must not hang on another's
        records, since they differ in rounding (H4): subjects with several records are kept apart,
        and those with points that need care.
        """
        records = self.records
        several = np.count_nonzero(records.shares[index], axis=-1) > 1
        careful = np.any(self.public.manifold.needs_care(records.points[index]), axis=-1)
        data_sets = tuple(range(several.ndim - 1))
        kinds = 2 * np.any(several, axis=data_sets) + np.any(careful, axis=data_sets)
        found, parts = np.unique(kinds), []
        for kind in found:
            compute = self._sums_of_subjects if kind >= 2 else self._sums_of_records
            chosen = index
            if len(found) > 1:
                chosen = (*index[:-1], index[-1].start + np.flatnonzero(kinds == kind))
            parts.append(compute(footpoint, shooting_vector, chosen))
        return [sum(part) for part in zip(*parts, strict=True)]

    def _sums_of_records(self, footpoint, shooting_vector, index):
        """Part of the sums, of subjects with one record."""
        records = self.records
        x, y, valid = (
            each[index][(..., 0) + (slice(None),) * tail]
            for each, tail in (
                (records.covariates, 0),
                (records.points, self.public.manifold.point_ndim),
                (records.valid, 0),
            )
        )
        residuals, norms, counts = self._residuals(footpoint, shooting_vector, x, y, valid)
        limit = self.public.loss_scale**2
        squares = np.where(counts, residuals.squared_distances, limit)
        loss = np.sum(np.minimum(squares, limit), axis=-1) / limit
        if self.score_name == "energy":
            return [loss]
        if self.score_name == "gradient_by_blocks":
            norms = np.sqrt(residuals.squared_distances)
        weights = np.where(counts, clip_factors(norms, self.public.gradient_scale), 0.0)
        return [loss, *(residuals.adjoint_sums(block, weights) for block in BLOCKS)]

    def _sums_of_subjects(self, footpoint, shooting_vector, index):
        """Part of the sums, of subjects with several records, averaged before clipping."""
        public, manifold = self.public, self.public.manifold
        records = self.records
        x, y, valid, shares = (
            each[index]
            for each in (records.covariates, records.points, records.valid, records.shares)
        )
        # To the manifold each subject is a data set.
        axis = x.ndim - 2
        chains = footpoint.shape[axis]
        shape = (*x.shape[:-1], chains, *manifold.point_shape)
        p = np.broadcast_to(np.expand_dims(footpoint, axis), shape)
        v = np.broadcast_to(np.expand_dims(shooting_vector, axis), shape)
        residuals, _, counts = self._residuals(p, v, x, y, valid)
        shares = np.expand_dims(shares, -2)
        limit = public.loss_scale**2
        squares = np.where(counts, residuals.squared_distances, limit)
        loss = np.minimum(np.sum(shares * squares, axis=-1), limit)
        loss = np.sum(loss, axis=axis) / limit
        if self.score_name == "energy":
            return [loss]
        weights = np.where(counts, shares, 0.0)
        by_blocks = self.score_name == "gradient_by_blocks"
        if by_blocks:
            lengths = np.sqrt(residuals.squared_distances)
            weights = weights * clip_factors(lengths, public.gradient_scale)
        parts = [residuals.adjoint_sums(block, weights) for block in BLOCKS]
        if not by_blocks:
            factors = clip_factors(hull_norm(manifold, p, *parts), public.gradient_scale)
            parts = [manifold.expand(factors) * part for part in parts]
        return [loss, *(np.sum(part, axis=axis) for part in parts)]

    def _residuals(self, footpoint, shooting_vector, covariates, points, valid):
        """Residuals, finite for every record, and which of them count (H3).

        Returns
        -------
        residuals : Residuals
        norms : ndarray, shape (*data_sets, *chains, n), or None
            The hull norm of each record's contribution, if any score but the energy is wanted.
        counts : ndarray of bool, shape (*data_sets, *chains, n)
            Not of invalid records, nor where the residual reaches the cut locus or its numbers
            overflow: there a record contributes nothing to the gradient and all to the loss.
        """
        manifold = self.public.manifold
        batch_ndim = footpoint.ndim - manifold.point_ndim
        data_ndim = covariates.ndim - 1
        residuals = manifold.residuals(footpoint, shooting_vector, covariates, points)
        norms = self._norms(residuals)
        finite = np.isfinite(residuals.squared_distances if norms is None else norms)
        if not np.all(finite):
            # Each geodesic gets data of its own, with the records that fail at it replaced by its
            # footpoint: zero times what is not finite would still spoil a sum.
            shape = finite.shape
            x = np.broadcast_to(align_data_axes(covariates, data_ndim, batch_ndim), shape)
            y = align_data_axes(points, data_ndim, batch_ndim)
            start = np.expand_dims(footpoint, batch_ndim)
            y = np.where(manifold.expand(finite), y, start)
            residuals = manifold.residuals(footpoint, shooting_vector, np.where(finite, x, 0.0), y)
            norms = self._norms(residuals)
        counts = finite & align_data_axes(valid, data_ndim, batch_ndim)
        if np.isfinite(manifold.injectivity_radius):
            reach = (CUT_LOCUS * manifold.injectivity_radius) ** 2
            counts = counts & (residuals.squared_distances < reach)
        return residuals, norms, counts

    def _norms(self, residuals):
        if self.score_name == "energy":
            return None
        return sum(residuals.adjoint_norms(end) for end in ENDS)


def hull_norm(manifold, footpoint, first, second):
    """``|a/2 + b| + |a/2 - b|``, in which contributions to the two gradients are clipped (H5).

    In flat space it is the sum of the lengths of what a record contributes at the two ends of the
    geodesic.  There a contribution is ``(r, x r)`` with ``|x| <= 1/2``, of norm ``|r|``, and the
    convex hull of those with ``|r| <= 1`` is the norm's unit ball: no norm that bounds the
    contributions is smaller.

    Parameters
    ----------
    footpoint, first, second : ndarray, shape (*batch, *point_shape)

    Returns
    -------
    ndarray, shape (*batch)
    """
    return manifold.norm(footpoint, 0.5 * first + second) + manifold.norm(
        footpoint, 0.5 * first - second
    )


def shrunk(score):
    """A score made smaller by so much that rounding cannot raise its sensitivity above one."""
    return (1.0 - SLACK) * score


def clip_factors(norms, limit):
    """Factors that shorten what is longer than a limit to it (H5)."""
    return limit / np.maximum(norms, limit)
