"""`Assumptions`: all public inputs of a release, chosen without looking at its data."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.manifold import Manifold
from geodp.manifolds.supports import ProductSupport
from geodp.manifolds.symmetric import SymmetricSpace
from geodp.models.terms import LINE
from geodp_release.promise import public_inputs as public
from geodp_release.promise import public_words
from geodp_release.promise.design import Design

# The `size` from which on plans may take a minute, so that one has to do.
SLOW = 5_000


@dataclass(frozen=True)
class Assumptions(Design):
    """Public assumptions about the data of a release, none of them read off the records.

    A `DataError` says that a value is out of range, or one at which numbers lose their digits.

    With several covariates one value may be for all, or a tuple has one for each.

    Attributes
    ----------
    manifold : Manifold
        A symmetric space of the library.
    centre : ndarray, shape point_shape, or str
        Centre of the ball in which the footpoint is, the prediction in the middle of the ranges; or
        its name as in settings, such as "anywhere".
    footpoint_radius : float, optional
        Radius of that ball, in the manifold's unit of length; left out as large as numbers allow.
    shooting_vector_length : float, or tuple of float, optional
        Largest length of the geodesic over the covariate's range; left out with the radius.
    covariate_range : tuple of float, or tuple of such tuples
        Covariates outside are clipped to it.  Empty without one, where a mean is released.
    subjects : int
        Their number; with "add or remove one subject" about that.
    records_per_subject : int
        Limit; of a subject's records the first so many count, each as a part of the subject.
    neighbours : {"replace one subject", "add or remove one subject"}
        Which data sets a release cannot tell apart.
    transformation : {"none", "log"}, or tuple of these
        Of the covariate, whose range is given without it; one that has no logarithm is missing.
    covariate_spread : {"evenly", "two groups", "unknown"}, or tuple of these
        How the covariate is spread over its range: two groups are at its ends.  Steps and bands of
        one that is said to be spread evenly rest on it; a release whose noisy moments contradict it
        has a doubt and no band.  Otherwise noisy moments are released first, for a part of the
        budget, and bands follow them.
    residual_scale : float, optional
        Guess of the standard deviation of a residual in each direction of the tangent space, for
        which the plan is best.  A release measures it in any case, privately.
    smallest_radius : float, optional
        The release is planned for balls from this radius to `footpoint_radius`, by their
        logarithm.  Left out with that one it is far smaller, and otherwise as large.
    tails : {"exponential", "any"}
        What long residuals may do, which bands rest on: beyond a length that is released, at which
        few are left, they thin out at least as fast as those of an exponential distribution; or
        whatever radii allow, so that the last step clips none, which costs more noise.  Bands for
        Huber's loss do not rest on it.
    loss : {"squares", "huber"}
        What the released geodesic minimises: squares, as the conditional mean does, or the mean of
        Huber's loss, which is where most records are.
    threshold : float, optional
        From which length of a residual on Huber's loss is linear: so many times the released length
        that about half of the residuals are shorter than; 2 if left out.
    basis : "line" or dict, or tuple of these
        What covariates are made of each column; see `geodp.models.terms.basis_of`.
    products : sequence of pairs of int
        Columns whose covariates are multiplied with each other, beside their own.
    names : tuple of str
        What each column is called, for names of covariates that a basis makes.
    sources : dict of str
        By name of an attribute, where the holder says that it comes from.
    """

    manifold: Manifold
    centre: Any
    footpoint_radius: Any = None
    shooting_vector_length: Any = None
    covariate_range: Any = ()
    subjects: Any = None
    records_per_subject: int = 1
    neighbours: str = public.REPLACE
    transformation: Any = public.NONE
    covariate_spread: Any = public.UNKNOWN
    residual_scale: float | None = None
    smallest_radius: Any = None
    sources: dict = field(default_factory=dict)
    tails: str = public.EXPONENTIAL
    loss: str = public.LEAST_SQUARES
    threshold: float | None = None
    basis: Any = LINE
    products: Any = ()
    names: Any = ()

    def __post_init__(self):
        if not isinstance(self.manifold, SymmetricSpace):
            raise DataError(
                "releases are for manifolds of the class SymmetricSpace, and "
                f"{self.manifold.name} is none: take another manifold"
            )
        self._set("covariate_range", public.ranges_of(self.covariate_range))
        self._check_basis()
        self._check_each("transformation", public.one_of(public.TRANSFORMATIONS))
        self._check_each("covariate_spread", public.one_of(public.SQUARES))
        self._check_columns()
        self._refuse_large()
        for name in ("footpoint_radius", "smallest_radius", "shooting_vector_length"):
            given = public.as_tuple(getattr(self, name))
            if any(isinstance(each, public.Widest) for each in given):
                self._set(name, None)
        if self.footpoint_radius is None:
            self._take_the_widest()
        for name in ("footpoint_radius", "smallest_radius", "residual_scale"):
            if (value := getattr(self, name)) is not None:
                self._set(name, public.positive(name, value))
        if self.wider < 1.0:
            raise DataError(
                f"smallest_radius is {self.smallest_radius:g}, and footpoint_radius "
                f"{self.footpoint_radius:g}: give both, the smaller one first"
            )
        self._check_each("shooting_vector_length", public.positive)
        self._refuse_far()
        self._set("subjects", public.counted("subjects", self.subjects, 10**9))
        counted = public.counted("records_per_subject", self.records_per_subject, 1000)
        self._set("records_per_subject", counted)
        public.one_of(public.NEIGHBOURS)("neighbours", self.neighbours)
        public.one_of(public.TAILS)("tails", self.tails)
        public.one_of(public.LOSSES)("loss", self.loss)
        self._check_threshold()
        for name, text in self.sources.items():
            # A terminal obeys some characters, and words are printed.
            if not (isinstance(text, str) and text.isprintable() and name in vars(self)):
                raise DataError(
                    f"sources: {name!r} is {text!r}: give a line of printable text for a public "
                    "input"
                )
        self._set("centre", self._checked_centre())

    def _refuse_large(self, largest=75_000):
        """Refuse a `size` that takes too long.

        Stages of one of 8,210, that of SPD(40), took 13 seconds of processor time, of 29,970, that
        of 1,500 landmarks, 18, and of 34,816 and 71,296, those of 20 and of 30 covariates on S^2,
        24 and 34.
        """
        if self.size > largest:
            raise DataError(
                f"a release with {self.number_of_covariates} covariates in {self.manifold.dim} "
                f"dimensions cannot be planned: {self.size} numbers would be simulated for each, "
                f"and no more than {largest} can be afforded: give fewer covariates, or a space of "
                "fewer dimensions, such as shapes by a landmark_map"
            )

    def _check_threshold(self, usual=2.0, least=1.0):
        if not self.is_robust and self.threshold is None:
            return
        value = public.positive("threshold", usual if self.threshold is None else self.threshold)
        if not self.is_robust or value < least:
            raise DataError(
                f"threshold is {value:g}: give {least:g} or more with the loss {public.HUBER!r}, "
                "and none with another"
            )
        self._set("threshold", value)

    def _take_the_widest(self, flat=1e6):
        """Radii where none is given: whole spaces, or as far as numbers keep their digits.

        In flat space, which has no length of its own, they are so many times the unit.
        """
        most, least = self.manifold.injectivity_radius, 0.125
        if not np.isfinite(most):
            # A line in the form of a curved space has the digits of one.
            farthest = 8.0 if self._farthest == public.LONGEST else self._farthest
            most, least = 0.5 * farthest, 1.0 / 128.0
            if isinstance(self.manifold, Euclidean):
                most, least = flat, flat**-1.5
        self._set("footpoint_radius", public.Widest(most))
        if self.smallest_radius is None:
            self._set("smallest_radius", public.Widest(least * most))
        if self.shooting_vector_length is None:
            number = self.number_of_covariates
            longest = (public.Widest(most if number == 1 else 2.0 * most / max(number, 1)),)
            self._set("shooting_vector_length", longest * self.number_of_columns)

    @property
    def _farthest(self, curved=8.0):
        """Largest reach at which numbers keep their digits.

        On a space of negative curvature ``curved`` times its radius leaves six of them.
        """
        curvature = -min(self.manifold.curvature_bounds[0], 0.0)
        return curved / np.sqrt(curvature) if curvature else public.LONGEST

    def _refuse_far(self):
        """Refuse radii at which numbers lose their digits, whatever the records are."""
        # A geodesic longer than half a great circle, or a ball that meets itself, says nothing.
        most = self.manifold.injectivity_radius
        for name, limit in (("footpoint_radius", most), ("shooting_vector_length", 2.0 * most)):
            value = np.max(getattr(self, name), initial=0.0)
            if value > limit * (1.0 + 1e-9):
                raise DataError(
                    f"{name} is {value:g}, and on {self.manifold.name} no more than {limit:g} "
                    "means anything: give a smaller one"
                )
        if self.reach > self._farthest * (1.0 + 1e-9):
            raise DataError(
                f"footpoint_radius and half of shooting_vector_length add up to {self.reach:g}, "
                f"and beyond {self._farthest:g} numbers on {self.manifold.name} lose their "
                "digits: give less"
            )

    def _checked_centre(self):
        manifold = self.manifold
        given = self.centre
        if isinstance(given, str):
            # With what checks settings, which the rest does without.
            from geodp.settings.shared_sections import CENTRES, public_centre

            if given not in CENTRES:
                names = ", ".join(CENTRES)
                raise DataError(f"centre is {given!r}: give a point, or one of {names}")
            given = public_centre(manifold, given, "centre")
        try:
            centre: Any = np.asarray(given, dtype=manifold.dtype)
        except (TypeError, ValueError):
            centre = np.empty(0)
        reason = "its shape is another"
        with np.errstate(all="ignore"):
            if centre.shape == manifold.point_shape:
                reason = manifold.invalid_reason(centre)
            if reason is None:
                centre = manifold.project(centre)
                reason = public.lost_digits(manifold, centre, self.footpoint_radius, self.reach)
        if reason is not None:
            raise DataError(f"centre is no point of {manifold.name}, since {reason}: correct it")
        return centre

    @property
    def size(self):
        """Numbers of a simulated release: errors and moments at the nodes of the covariates."""
        k, c = self.number_of_covariates, self.number_of_columns
        nodes = 5 if k == 1 else min(3**c, 128)
        return nodes * ((1 + k) * self.manifold.dim + k * (k + 3) // 2)

    @property
    def what(self):
        """What is released: a mean, a geodesic, or one for each covariate."""
        if self.is_robust and not self.number_of_covariates:
            return "a Huber mean"
        if self.terms.has_curves:
            return "a curve" if self.number_of_columns == 1 else "curves"
        some = ("a line", "a plane") if self.is_flat else ("a geodesic", "geodesics")
        return ("a mean", *some)[min(self.number_of_covariates, 2)]

    @property
    def is_robust(self):
        """Whether the loss is Huber's."""
        return self.loss == public.HUBER

    @property
    def fit(self):
        """What a release estimates, in words that follow "by"."""
        return "Huber's loss" if self.is_robust else "least squares"

    @property
    def is_flat(self):
        """Whether the space is Euclidean, where coefficients mean something."""
        return type(self.manifold) is Euclidean

    @property
    def without_source(self):
        """Public inputs that say something of data and have no source: what each is, by name."""
        choices = {"manifold", "records_per_subject", "neighbours", "tails", "loss"}
        choices |= {"covariate_spread"} if {*self.spreads} == {public.UNKNOWN} else set()
        return {
            name: what
            for name, (what, _) in self.described().items()
            if name not in {*self.sources} | choices
            and not isinstance(public.as_tuple(getattr(self, name))[0], public.Widest | None)
        }

    @property
    def reach(self):
        """Largest distance of a prediction from the centre, in flat space."""
        return self.footpoint_radius + 0.5 * float(np.sum(self.lengths))

    @property
    def has_radii(self):
        """Whether the largest radius was given."""
        return not isinstance(self.footpoint_radius, public.Widest)

    @property
    def wider(self):
        """How many times larger the largest radius is than the smallest."""
        return self.footpoint_radius / (self.smallest_radius or self.footpoint_radius)

    @property
    def usual_radius(self):
        """The middle one, by their logarithm."""
        return float(self.footpoint_radius / np.sqrt(self.wider))

    def sizes(self, number):
        """Radii (number,) of the balls that simulations are for, in parts of the support's.

        Evenly by their logarithm, in an order that goes with nothing else.
        """
        return self.wider ** -((np.arange(number) * np.sqrt(2.0)) % 1.0)

    def typical_length(self, number, factor=100.0, about=1.5):
        """Root mean squared lengths (number,) of a residual, as simulations have them.

        Evenly by their logarithm: from a guess divided by ``about`` to so many times the guess;
        without one from the radii of `sizes` down to a part of ``factor``.
        """
        # In an order that goes with nothing else.
        order = np.argsort((np.arange(number) * 0.5 * (np.sqrt(5.0) - 1.0)) % 1.0)
        places = (np.argsort(order) + 0.5) / number
        if self.residual_scale is not None:
            return self.residual_scale * np.sqrt(self.manifold.dim) * about ** (2.0 * places - 1.0)
        return self.footpoint_radius * self.sizes(number) * factor**-places

    @property
    def support(self):
        """The states that may be released, a `ProductSupport`."""
        return ProductSupport(self.manifold, self.centre, self.footpoint_radius, self.lengths)

    @property
    def changes(self):
        """How many contributions differ between neighbouring data sets: two, or one."""
        return 2 if self.neighbours == public.REPLACE else 1

    described = public_words.described

    def lines(self):
        """The assumptions in words, one a line, each with its source if one was given."""
        return [
            f"{what}: {value}"
            + (f" (source: {self.sources[name]})" if self.sources.get(name) else "")
            for name, (what, value) in self.described().items()
            if name != "manifold"
        ]
