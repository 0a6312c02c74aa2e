"""Settings of a release, a YAML file: data, public inputs, budget, ledger and folder."""

import hashlib
import json
import os
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field, PrivateAttr, WithJsonSchema, model_validator

from geodp.data.angles import ANGLES
from geodp.data.coordinates import PLACES, View, are_read, in_layout, limits_of
from geodp.errors import DataError
from geodp.mechanisms.budgets import parse_budget
from geodp.settings.reading import LONGEST_NUMBER, PlainLoader, check, load_keys
from geodp.settings.section import Count, FileName, Section, Text, refused, surplus, unknown
from geodp.settings.sections import CentreName, ManifoldSettings, TableSection, public_centre
from geodp_release.ask.dated import with_numbers
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import CONCENTRATED, PURE, PrivacyBudget
from geodp_release.promise.public_inputs import (
    EXPONENTIAL,
    LEAST_SQUARES,
    LOSSES,
    NEIGHBOURS,
    NONE,
    REPLACE,
    SQUARES,
    TAILS,
    TRANSFORMATIONS,
    TWO_GROUPS,
    UNKNOWN,
)
from geodp_release.run.subjects import ONE_EACH
from geodp_release.show.document import About, plan_document

# Path of records that are in memory.
FRAME = "the data frame"

# Keys that a mean has not.
OF_COVARIATES = {
    *("public.shooting_vector_length", "public.covariate_spread", "public.transformation"),
    *("covariate", "predictions"),
}

# Covariates that are tabulated where the settings name none.
TABULATED = 5


def _is_line(text):
    """Refuse text that a page or a terminal does not show as one line."""
    if not text.isprintable():
        raise refused(": it is not one line of printable characters: give that")
    return text


# Numbers become floats, so that 1 and 1.0 are the same release to a ledger.
Number = Annotated[float, Field()]
Positive = Annotated[float, Field(gt=0)]
Line = Annotated[Text, AfterValidator(_is_line)]
Amount = Annotated[str, Field(min_length=1, max_length=LONGEST_NUMBER)]
# Of a covariate; dates that stand for it become numbers before.
DATE_OR_NUMBER = {"anyOf": [{"type": "number"}, {"type": "string", "format": "date"}]}
Value = Annotated[float, WithJsonSchema(DATE_OR_NUMBER)]
Pair = Annotated[list[Value], Field(min_length=2, max_length=2)]
Transformation = Literal[tuple(TRANSFORMATIONS)]  # type: ignore[valid-type]
Spread = Literal[tuple(SQUARES)]  # type: ignore[valid-type]


class ReleaseSection(Section):
    """A section of a release, which has no seed."""

    @classmethod
    def check_keys(cls, given):
        """See `Section.check_keys`."""
        if "seed" in given:
            raise refused(
                " is refused: a release draws its random bits from the operating system, since "
                "whoever knew a seed could take the noise away: remove the key",
                "seed",
            )
        super().check_keys(given)


class JoinSettings(ReleaseSection):
    """A second table, with covariates of each subject in a row."""

    path: Text
    """Its file, in any format of the first."""
    subject: Text
    """Its column of the labels of subjects; the first row of a label counts."""


class TableSettings(ReleaseSection, TableSection):
    """Records of a table, one a row."""

    covariate: Text | Annotated[list[Text], Field(min_length=1)] | None = None
    """Column of the covariate, or of each; null for a mean."""
    subject: Text
    """Column that names the subject of each record; or "one record each"."""
    missing_responses: Literal["keep", "drop"] = "keep"
    """Records whose response is missing, in any of its cells: `drop` leaves them out, so that the
    release is about subjects with a response; else they count for a subject, and tell nothing."""
    join: JoinSettings | None = None
    """A second table, for covariates that are not in the first."""
    _frame: Any = PrivateAttr(None)

    def set_frame(self, frame):
        """Take the records from a data frame."""
        self._frame = frame

    @property
    def frame(self):
        """A data frame in place of a file, or None."""
        return self._frame

    @model_validator(mode="after")
    def _joined_by_subjects(self):
        if self.join is not None and self.is_one_each:
            raise refused(": tables are joined by subjects: name their column", "subject")
        for key in ("categories", "dates"):
            for name in getattr(self, key):
                if name not in self.covariates:
                    raise surplus(f"{key}.{name}", "it is the column of no covariate")
        for name in self.dates:
            if name in self.categories:
                raise surplus(f"dates.{name}", "its words have numbers by categories")
        return self

    @property
    def paths(self):
        """Paths of its files."""
        return [self.path] if self.join is None else [self.path, self.join.path]

    @property
    def drops_missing(self):
        """Whether records without a response are none."""
        return self.missing_responses == "drop"

    @property
    def is_one_each(self):
        """Whether no two records are of one subject."""
        return self.subject == ONE_EACH


class SimulatedSettings(ReleaseSection):
    """Simulated outlines of the corpus callosum, new ones at every run, to try releases on."""

    source: Literal["simulated outlines"]
    number: Count
    """Number of outlines, each of a subject of its own."""
    trend_length: Annotated[float, Field(ge=0)] = 0.045
    """Length of their geodesic from age 50 to age 90, in rad."""
    drops_missing: ClassVar[bool] = False


class PublicSettings(ReleaseSection):
    """Public inputs: assumptions about the data, chosen without a look at them."""

    manifold: ManifoldSettings
    centre: CentreName | list[Number] | Text = "anywhere"  # type: ignore[valid-type]
    """Centre of the ball of footpoints: numbers, the path of a table with one point, a name as of a
    study's releases, or `anywhere`."""
    footpoint_radius: Positive | None = None
    """Largest distance of the footpoint, in the middle of the covariate's range, from the centre;
    left out as large as numbers allow."""
    smallest_radius: Positive | None = None
    """The release is planned for balls from this radius to the one above; left out with that one it
    is far smaller."""
    shooting_vector_length: Positive | list[Positive] | None = None
    """Largest length of the geodesic over the covariate's range; of several covariates one for all,
    or a list; left out with the radius."""
    covariate_range: Pair | Annotated[list[Pair], Field(min_length=1)] | None = None
    """Range of the covariate, or a list; values outside are clipped to it. null for a mean."""
    residual_scale: Positive | None = None
    """A guess: standard deviation of the records about their geodesic, in each direction, for which
    the plan is best; a release measures it in any case."""
    subjects: Count
    """Number of subjects; an approximate one where neighbours add or remove one."""
    records_per_subject: Count = 1
    """Records of a subject that count, the first so many."""
    transformation: Transformation | list[Transformation] = NONE  # type: ignore[valid-type]
    """Of the covariate, or a list; `log` needs positive ones. Its range and predictions are given
    without it."""
    covariate_spread: Spread | list[Spread] = UNKNOWN  # type: ignore[valid-type]
    """How the covariate is spread over its range, or a list; `two groups` are at its ends. Bands
    rest on `evenly`: say it only if that is known, as by design."""
    tails: Literal[TAILS] = EXPONENTIAL  # type: ignore[valid-type]
    """What long residuals may do, which bands rest on: thin out as those of an exponential
    distribution do, or faster; or `any`, which clips none at the end, for more noise."""
    loss: Literal[LOSSES] = LEAST_SQUARES  # type: ignore[valid-type]
    """What is released: the geodesic of least `squares`, or of Huber's loss, which is that of most
    records, whatever the others are."""
    threshold: Positive | None = None
    """Of Huber's loss, from which length of a residual on it is linear, in released lengths that
    half of the residuals are shorter than; null for 2."""
    neighbours: Literal[NEIGHBOURS] = REPLACE  # type: ignore[valid-type]
    """Which data sets a release cannot tell apart."""

    @model_validator(mode="after")
    def _ranges_ascend(self):
        for low, high in self.ranges:
            if not low < high:
                raise refused(
                    f": it runs from {low:g} to {high:g}: give the smaller number first",
                    "covariate_range",
                )
        return self

    @property
    def ranges(self):
        """Ranges of the covariates."""
        given = self.covariate_range
        if given is None:
            return []
        return given if isinstance(given[0], list) else [given]


class BudgetSettings(ReleaseSection):
    """Privacy budget: epsilon, or rho with a delta."""

    epsilon: Number | Amount | None = None
    """Pure differential privacy, as decimal text such as "0.5"."""
    rho: Number | Amount | None = None
    """Zero-concentrated differential privacy."""
    delta: Number | Amount | None = None
    """With rho: the delta for which an epsilon is stated too."""

    @model_validator(mode="after")
    def _one_unit(self):
        if (self.epsilon is None) == (self.rho is None):
            raise refused(": give one of epsilon and rho")
        return self

    def make(self):
        """The `PrivacyBudget`."""
        unit = CONCENTRATED if self.epsilon is None else PURE
        amount = self.rho if self.epsilon is None else self.epsilon
        delta = None if self.delta is None else parse_budget(self.delta, "budget.delta")
        return PrivacyBudget(parse_budget(amount, f"budget.{unit}"), unit, delta)


class ReleaseSettings(ReleaseSection):
    """Settings of a release: `geodp release FILE`."""

    name: FileName
    """Name of the release in its ledger, its folder and its page."""
    description: Line | None = None
    """What the data are, in a line for readers of the release, which shows it."""
    covariate: Line | list[Line] | None = None
    """What the release calls the covariate, such as `age`, or a list; null for names of columns."""
    units: dict[Text, Line] = Field(default={})
    """Unit of a covariate or of a response, by its name or column, which the release shows."""
    data: Annotated[TableSettings | SimulatedSettings, Field(discriminator="source")]
    """The private records."""
    public: PublicSettings
    sources: dict[Literal[tuple(PublicSettings.model_fields)], Line] = Field(default={})  # type: ignore[valid-type]
    """Where each public input comes from, which the release shows."""
    budget: BudgetSettings
    ledger: Text
    """File that counts what all releases from the data spent; see `geodp ledger create`."""
    folder: Text
    """Folder that the release becomes; it must not be there yet."""
    predictions: Annotated[list[Value] | list[list[Value]], Field(min_length=1)] | None = None
    """Covariates to tabulate; null for five over the range. Of several covariates a list of rows;
    null for the ends of where subjects are, the others at noisy means or in the first group."""
    allow_noise: bool = False
    """Release even if the plan says that it would be noise."""

    @model_validator(mode="before")
    @classmethod
    def _dates_are_numbers(cls, given):
        return with_numbers(given) if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _covariates_agree(self):
        number, public = len(self.public.ranges), self.public
        if isinstance(self.data, TableSettings):
            columns = self.data.covariates
            if len(columns) != number:
                raise refused(
                    f": it names {len(columns)} columns, and public.covariate_range "
                    f"has {number} ranges: give as many",
                    "data.covariate",
                )
            twice = {name for name in columns if columns.count(name) > 1}
            twice |= {name for name in columns if name == self.data.subject}
            if twice:
                raise refused(
                    f": {twice.pop()} is named twice, or is the subject: name a "
                    "column of its own for each covariate",
                    "data.covariate",
                )
        elif number > 1:
            raise refused(
                ": simulated outlines have one covariate: give one", "public.covariate_range"
            )
        if number and public.footpoint_radius and public.shooting_vector_length is None:
            raise refused(" is missing: add it", "public.shooting_vector_length")
        if not number:
            given = self.model_fields_set | {f"public.{key}" for key in public.model_fields_set}
            for key in sorted(OF_COVARIATES & given):
                raise surplus(key, "a mean has no covariate")
        if isinstance(self.covariate, list) and len(self.covariate) != number:
            raise refused(
                f": it has {len(self.covariate)} names, and public.covariate_range "
                f"{number} ranges: give as many",
                "covariate",
            )
        for name in self.units:
            if name not in (known := [*self.names, *self.responses]):
                raise refused(unknown(name, known), f"units.{name}")
        if not all(name.isprintable() for name in self.names):
            raise refused(
                ": a name has characters that cannot be printed, and the release "
                "shows it: give other names by the key covariate",
                "data.covariate",
            )
        return self

    @model_validator(mode="after")
    def _predictions_in_range(self):
        for index, row in enumerate(self.predictions or ()):
            row = row if isinstance(row, list) else [row]
            if len(row) != len(self.public.ranges):
                raise refused(
                    f": it has {len(row)} values, and there are "
                    f"{len(self.public.ranges)} covariates: give one for each",
                    f"predictions[{index}]",
                )
            for value, (low, high) in zip(row, self.public.ranges, strict=True):
                if not low <= value <= high:
                    raise refused(
                        f": {value:g} is outside covariate_range, {low:g} to "
                        f"{high:g}, where nothing is released: give values within",
                        f"predictions[{index}]",
                    )
        return self

    @property
    def names(self):
        """What each covariate is called."""
        number = len(self.public.ranges)
        if isinstance(self.covariate, list):
            return self.covariate
        if number == 1 and self.covariate is not None:
            return [self.covariate]
        return self.data.covariates if isinstance(self.data, TableSettings) else ["age"][:number]

    @cached_property
    def view(self):
        """The numbers that points are shown as."""
        return View(self.assumptions.manifold, getattr(self.data, "coordinates", "ambient"))

    @property
    def responses(self):
        """Names of coordinates, those of their columns if they are known; shapes have none."""
        columns, view = getattr(self.data, "columns", None) or [], self.view
        found = list(view.names)
        columns = view.manifold.named_by(columns, view.coordinates)
        return columns if len(columns) == len(found) and "".join(columns).isprintable() else found

    @property
    def turn(self):
        """Factor from lengths to those that tables and figures have, and their unit."""
        return self.view.turn or (1.0, self.length_unit)

    @property
    def about(self):
        """What the release is of, in words for its readers."""
        own = zip(self.responses, self.view.units, strict=True)
        units = {name: unit for name, unit in own if unit} | self.units
        if isinstance(self.data, TableSettings):
            dates = self.data.reading.dates
            both = zip(self.names, self.data.covariates, strict=True)
            units |= {name: str(dates[column]) for name, column in both if column in dates}
        return About(
            name=self.name,
            description=self.description,
            covariates=tuple(self.names),
            responses=tuple(self.responses),
            units=units,
        )

    def labels(self, names):
        """Names with their units."""
        units = self.about.units
        return [f"{name} ({units[name]})" if name in units else name for name in names]

    def value_words(self, index, value):
        """A value of a covariate: the word of its category, or the number."""
        codes = {}
        if isinstance(self.data, TableSettings):
            codes = self.data.categories.get(self.data.covariates[index], {})
        return next((word for word, code in codes.items() if code == value), f"{value:g}")

    def contrast(self, index):
        """What a slope is of: a unit of a covariate, or one category against another."""
        low, high = (self.value_words(index, end) for end in self.public.ranges[index])
        is_step = self.public.ranges[index] == [0.0, 1.0] and (low, high) != ("0", "1")
        return f"{high} against {low}" if is_step else "per unit"

    @property
    def length_unit(self):
        """Unit of lengths: in flat space that of all responses, if they have one in common."""
        units = {self.units.get(name, "") for name in self.responses}
        shared = self.assumptions.is_flat and len(units) == 1
        return units.pop() if shared else self.assumptions.manifold.length_unit

    def covariates(self, release=None):
        """Covariates (m, k) to tabulate; of a release of several only where subjects are."""
        ranges = self.public.ranges
        if self.predictions is not None:
            return np.array(self.predictions, dtype=float).reshape((-1, len(ranges)))
        if len(ranges) == 1 and self.assumptions.spreads != (TWO_GROUPS,):
            low, high = ranges[0]
            return np.linspace(low, high, TABULATED)[:, None]
        # Each covariate's ends, the others as in the first row.
        rows = [first := (release or self.assumptions).usual]
        for index, (low, high) in enumerate(ranges):
            is_group = self.assumptions.spreads[index] == TWO_GROUPS
            along = np.tile(first, (2 if is_group else 101, 1))
            along[:, index] = np.linspace(low, high, len(along))
            some = along if is_group or not release else along[release.has_subjects(along)]
            rows += [row for row in (*some[:1], *some[-1:]) if row[index] != first[index]]
        return np.array(rows)

    @cached_property
    def assumptions(self):
        """The `Assumptions` of the public inputs."""
        public = self.public
        manifold, centre = public.manifold.make(), public.centre
        coordinates = getattr(self.data, "coordinates", "ambient")
        if coordinates != "ambient" and isinstance(centre, list):
            centre = _centre_of_columns(centre, coordinates)
        given = {name: getattr(public, name) for name in type(public).model_fields}
        return Assumptions(
            **given
            | {
                "manifold": manifold,
                "centre": public_centre(manifold, centre),
                "covariate_range": tuple(map(tuple, public.ranges)),
                "sources": self.sources,
            }
        )

    @cached_property
    def privacy_budget(self):
        """The `PrivacyBudget`."""
        return self.budget.make()

    @property
    def checked(self):
        """Identifies what a check of a file judges, whatever its path: two digests.

        The first is of how it is read, so that other public inputs do not make up for a check
        that said no; the second also of these, so that a check by others does not either.
        """
        reading = self._resolved_data | {"path": None}
        return _digest(reading), _digest([reading, self.public.model_dump()])

    @property
    def _resolved_data(self):
        """What the data are; a file by one path, whatever the working directory and links."""
        found = self.data.model_dump()
        for part in (found, found.get("join") or {}):
            if part.get("path", FRAME) != FRAME:
                part["path"] = os.path.realpath(part["path"])
        return found

    def key(self, plan):
        """Identifies the release in its ledger: a digest of its plan and of what its data are."""
        return _digest(
            {"name": self.name, "data": self._resolved_data, "plan": plan_document(plan)}
        )


def _centre_of_columns(centre, coordinates):
    """A centre in the numbers of its space, from what columns of a point hold; or as it is."""
    numbers = np.array([centre], dtype=float)
    width = {1: coordinates in ANGLES, 2: coordinates == PLACES}
    if not (width.get(len(centre)) or coordinates == "shares"):
        return centre
    for value, (low, high) in zip(centre, limits_of(coordinates), strict=False):
        if not low <= value <= high:
            raise DataError(
                f"public.centre: {value:g} is not between {low:g} and {high:g}, as columns of "
                f"{coordinates} are: correct it"
            )
    if not are_read(numbers, coordinates)[0]:
        raise DataError("public.centre: it is no list of shares of a whole: correct it")
    return in_layout(numbers, coordinates)[0].tolist()


def _digest(values):
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def read_settings(path):
    """The `ReleaseSettings` in a file; a `DataError` names the file and the path of the key."""
    given = load_keys(path, loader=PlainLoader)
    try:
        return check(ReleaseSettings, given)
    except DataError as problem:
        raise DataError(f"{path}: {problem}") from None
