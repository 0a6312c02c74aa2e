"""What is assumed about the data of a release: public, and chosen without looking at them."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.base import Manifold
from geodp.manifolds.supports import ProductSupport
from geodp.manifolds.symmetric import SymmetricSpace
from geodp.manifolds.tangent_bundle import TangentBundle

# What a geodesic is taken along: the covariate itself, or its natural logarithm.
NONE, LOG = "none", "log"
TRANSFORMATIONS: dict[str, Any] = {NONE: np.asarray, LOG: np.log}

REPLACE, ADD_OR_REMOVE = "replace one subject", "add or remove one subject"
NEIGHBOURS = (REPLACE, ADD_OR_REMOVE)

# Ends of ranges below this size can be squared; and lengths below that, in single precision.
FARTHEST, LONGEST = 1e100, 1e15

# Least width of a range, relative to the size of its ends.
NARROWEST = 1e-9

# Widest reach of a support on a space of negative curvature, in units of its radius: within it a
# logarithm keeps six digits.
FARTHEST_CURVED = 8.0

# Largest ratio of the lengths, as arrays, of unit vectors at a centre that keeps as many digits; on
# SPD matrices it is the centre's condition.
MOST_STRETCH = 1e6

MOST_SUBJECTS = 10**9
MOST_RECORDS = 1000


@dataclass(frozen=True)
class Assumptions:
    """Public assumptions about the data of a release, none of them read off the records.

    Attributes
    ----------
    manifold : Manifold
        A symmetric space of the library.
    centre : ndarray, shape point_shape
        Centre of the ball in which the footpoint is: the point of the geodesic in the middle of the
        covariate's range.
    footpoint_radius : float
        Radius of that ball, in the manifold's unit of length.
    shooting_vector_length : float
        Largest length of the geodesic over the covariate's range.
    covariate_range : tuple of float
        Covariates outside are clipped to it.
    residual_scale : float
        Guess of the standard deviation of a residual in each direction of the tangent space.
    subjects : int
        Number of subjects; with "add or remove one subject" about how many there are.
    records_per_subject : int
        Limit; of a subject's records the first so many count, each as a part of the subject.
    neighbours : {"replace one subject", "add or remove one subject"}
        Which data sets a release cannot tell apart.
    transformation : {"none", "log"}
        Of the covariate, whose range is given without it; a record whose covariate has no logarithm
        is one without a covariate.
    sources : dict of str
        By name of an attribute, where the holder says that it comes from.

    Raises
    ------
    DataError
        A value out of range, or at which numbers lose their digits.
    """

    manifold: Manifold
    centre: np.ndarray
    footpoint_radius: float
    shooting_vector_length: float
    covariate_range: tuple[float, float]
    residual_scale: float
    subjects: int
    records_per_subject: int = 1
    neighbours: str = REPLACE
    transformation: str = NONE
    sources: dict = field(default_factory=dict)

    def __post_init__(self):
        if not isinstance(self.manifold, SymmetricSpace):
            raise DataError(
                f"releases are for symmetric spaces, and {self.manifold.name} is none: take "
                "another manifold"
            )
        for name in ("footpoint_radius", "shooting_vector_length", "residual_scale"):
            object.__setattr__(self, name, _positive(name, getattr(self, name)))
        self._refuse_far()
        for name, most in (("subjects", MOST_SUBJECTS), ("records_per_subject", MOST_RECORDS)):
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not (whole and 0 < value <= most):
                raise DataError(f"{name} is {value!r}: give a whole number from 1 to {most}")
            object.__setattr__(self, name, int(value))
        if self.neighbours not in NEIGHBOURS:
            raise DataError(
                f"neighbours is {self.neighbours!r}: give one of "
                f"{', '.join(repr(each) for each in NEIGHBOURS)}"
            )
        if self.transformation not in TRANSFORMATIONS:
            raise DataError(
                f"transformation is {self.transformation!r}: give one of "
                f"{', '.join(TRANSFORMATIONS)}"
            )
        low, high = _range(self.covariate_range)
        if self.transformation == LOG and not (low > 0.0 and np.log(high) > np.log(low)):
            raise DataError(
                f"covariate_range is {low:g} to {high:g}, which has no logarithm: give positive "
                "numbers, or no transformation"
            )
        object.__setattr__(self, "covariate_range", (low, high))
        object.__setattr__(self, "centre", self._checked_centre())

    def _refuse_far(self):
        """Refuse radii at which numbers lose their digits, whatever the records are."""
        manifold = self.manifold
        if np.isfinite(manifold.injectivity_radius):
            # A longer geodesic, or a ball that meets itself, says nothing.
            for name, most in (
                ("footpoint_radius", manifold.injectivity_radius),
                ("shooting_vector_length", 2.0 * manifold.injectivity_radius),
            ):
                if getattr(self, name) > most * (1.0 + 1e-9):
                    raise DataError(
                        f"{name} is {getattr(self, name):g}, and on {manifold.name} no more than "
                        f"{most:g} means anything: give a smaller one"
                    )
        curvature = -min(manifold.curvature_bounds[0], 0.0)
        reach = self.footpoint_radius + 0.5 * self.shooting_vector_length
        most = FARTHEST_CURVED / np.sqrt(curvature) if curvature else LONGEST
        if reach > most:
            raise DataError(
                f"footpoint_radius and half of shooting_vector_length add up to {reach:g}, and "
                f"beyond {most:g} numbers on {manifold.name} lose their digits: give less"
            )

    def _checked_centre(self):
        manifold = self.manifold
        try:
            centre: Any = np.asarray(self.centre, dtype=manifold.dtype)
        except (TypeError, ValueError):
            centre = np.empty(0)
        reason = "its shape is another"
        if centre.shape == manifold.point_shape:
            with np.errstate(all="ignore"):
                reason = manifold.invalid_reason(centre)
        if reason is None:
            with np.errstate(all="ignore"):
                projected = manifold.project(centre)
                reason = _lost_digits(manifold, projected)
        if reason is not None:
            raise DataError(f"centre is no point of {manifold.name}, since {reason}: correct it")
        return projected

    @property
    def support(self):
        """The states that may be released, a `ProductSupport`."""
        return ProductSupport(
            TangentBundle(self.manifold),
            self.centre,
            self.footpoint_radius,
            self.shooting_vector_length,
        )

    @property
    def changes(self):
        """How many contributions differ between neighbouring data sets: two, or one."""
        return 2 if self.neighbours == REPLACE else 1

    def lines(self):
        """The assumptions in words, one a line, each with its source if one was given."""
        manifold = self.manifold
        low, high = self.covariate_range
        about = "" if self.changes == 2 else "about "
        length = f"{self.shooting_vector_length:g} {manifold.length_unit}".strip()
        said = {
            "subjects": f"number of subjects: {about}{self.subjects}",
            "records_per_subject": f"records of a subject that count: {self.records_per_subject}",
            "neighbours": f"neighbouring data sets: {self.neighbours}",
            "covariate_range": f"range of the covariate: {low:g} to {high:g}{self.scale_in_words}",
            "transformation": f"transformation of the covariate: {self.transformation}",
            "footpoint_radius": f"footpoints within {self.footpoint_radius:g} of the centre",
            "centre": "centre: a point that is part of the release's file",
            "shooting_vector_length": f"geodesics no longer than {length} over the range",
            "residual_scale": f"standard deviation of a residual in each direction: "
            f"{self.residual_scale:g}",
        }
        return [
            text + (f" (source: {self.sources[name]})" if self.sources.get(name) else "")
            for name, text in said.items()
            if name in self.shown
        ]

    @property
    def shown(self):
        """Names of the public inputs that readers see; a transformation only where there is one."""
        names = [each.name for each in fields(self) if each.name != "sources"]
        told = self.transformation != NONE or self.sources.get("transformation")
        return [name for name in names if name != "transformation" or told]

    @property
    def scale_in_words(self):
        """How the covariate is transformed, to follow its range."""
        return ", by its logarithm" if self.transformation == LOG else ""

    @property
    def middle(self):
        """The covariate in the middle of its range, at which the footpoint is."""
        low, high = TRANSFORMATIONS[self.transformation](self.covariate_range)
        return float(
            np.exp(0.5 * (low + high)) if self.transformation == LOG else 0.5 * (low + high)
        )

    def usable(self, covariates):
        """Which covariates (n,) are numbers that have a place on the geodesic."""
        finite = np.isfinite(covariates)
        return finite & (covariates > 0.0) if self.transformation == LOG else finite

    def places(self, covariates):
        """Where usable covariates are on the geodesic: from -1/2 to 1/2 over the range."""
        transformed = TRANSFORMATIONS[self.transformation]
        low, high = transformed(self.covariate_range)
        return (transformed(covariates) - 0.5 * (low + high)) / (high - low)

    def scaled(self, covariates):
        """Places of usable covariates, those outside the range clipped to it."""
        # Rounding may lead beyond.
        return np.clip(self.places(np.clip(covariates, *self.covariate_range)), -0.5, 0.5)


def _lost_digits(manifold, centre):
    """Why a centre loses too many digits for what is computed there, or ``None``."""
    frame = manifold.frame(centre).reshape((manifold.dim, -1))
    parts = np.concatenate([frame.real, frame.imag], axis=-1)
    lengths = np.linalg.svd(parts, compute_uv=False) if np.all(np.isfinite(parts)) else [np.inf, 1]
    if not lengths[0] <= MOST_STRETCH * lengths[-1]:
        return "numbers there lose their digits"
    return None


def _positive(name, value):
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not 1.0 / LONGEST < number < LONGEST:
        raise DataError(f"{name} is {value!r}: give a positive number")
    return number


def _range(given):
    try:
        low, high = (float(each) for each in given)
    except (TypeError, ValueError):
        low = high = np.nan
    if not -FARTHEST < low < high < FARTHEST:
        raise DataError(
            f"covariate_range is {given!r}: give two numbers of a size below {FARTHEST:g}, the "
            "smaller first"
        )
    if high - low < NARROWEST * max(abs(low), abs(high)):
        raise DataError(
            f"covariate_range is {low:g} to {high:g}, which is too narrow for the digits of its "
            "ends: measure the covariate from the range's middle"
        )
    return low, high
