"""Sections that studies, measurements and releases have in common: a space, a table, a centre."""

from datetime import date
from typing import Annotated, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from geodp.data.angles import ANGLES
from geodp.data.cells import TableReading
from geodp.data.columns import has_landmarks
from geodp.data.dates import UNITS, Dates, is_day
from geodp.data.matrices import read_landmark_map
from geodp.data.messages import text_of
from geodp.data.triangles import TRIANGLES
from geodp.errors import DataError
from geodp.manifolds.landmark_maps import fourier_harmonics
from geodp.manifolds.positive_definite import METRICS
from geodp.manifolds.registry import LARGEST_SIZE, MANIFOLDS, make_manifold, parse_point
from geodp.manifolds.rotations import FORMS
from geodp.models.terms import LINE, PERIODIC, WORDS
from geodp.settings.section import (
    Count,
    Number,
    Positive,
    Section,
    Text,
    integer,
    missing,
    number,
    refused,
    surplus,
    unknown,
)

# Spaces that have a centre of a name.
CENTRES = {
    "identity": ("spd", "rotations"),
    "origin": ("euclidean", "hyperbolic"),
    "corpus callosum": ("kendall",),
    "anywhere": tuple(MANIFOLDS),
}
CentreName = Literal[tuple(CENTRES)]  # type: ignore[valid-type]


class LandmarkMapSettings(Section):
    """A public linear map that keeps less of planar landmarks, by one of its keys."""

    harmonics: Count | None = None
    """Keep the Fourier harmonics of the outline up to this one."""
    matrix: Text | None = None
    """CSV file of the matrix: a row for each kept coordinate, an entry a landmark."""

    @model_validator(mode="after")
    def _one_form(self):
        if (self.harmonics is None) == (self.matrix is None):
            raise refused(": give one of harmonics and matrix")
        return self

    def make(self, size):
        """The `LandmarkMap` of so many landmarks."""
        if self.matrix is None:
            return fourier_harmonics(size, self.harmonics)
        return read_landmark_map(self.matrix, size)


# What columns of a point may hold.
COORDINATES = ("ambient", "latitude_longitude", *ANGLES, "shares", *TRIANGLES)

Size = integer(ge=1, le=LARGEST_SIZE)


def _fits_the_space(section):
    """Refuse keys of a section of a space that this has not, or that are missing."""
    keys, name = MANIFOLDS[section.name].keys, section.name
    for key in ("size", "landmark_map", "metric", "factors", "size_weight"):
        given = getattr(section, key, None) is not None
        if given and key not in keys:
            why = "only planar landmarks can be mapped" if key == "landmark_map" else ""
            raise surplus(key, why or f"{name} has none")
        if not given and key in keys and key in ("size", "factors"):
            raise missing(key, f"{name} needs it")
    if section.size is not None and section.size < (least := MANIFOLDS[name].smallest):
        is_shape = name in ("kendall", "size_and_shape")
        what = "planar shapes need 3 landmarks" if is_shape else f"{name} needs {least}"
        raise refused(f": {section.size} is too small: {what} or more", "size")
    return section


class FactorSettings(Section):
    """A factor of a product, as a space."""

    name: Literal[tuple(name for name in MANIFOLDS if name != "product")]  # type: ignore[valid-type]
    """As of a space."""
    size: Size | None = None  # type: ignore[valid-type]
    """As of a space."""
    metric: Literal[METRICS] | None = None  # type: ignore[valid-type]
    """As of a space."""
    coordinates: Literal[(*COORDINATES, *FORMS)] | None = None  # type: ignore[valid-type]
    """What columns of this factor hold, as of a table or of rotations; null for its own numbers."""
    weight: number(gt=0) = 1.0  # type: ignore[valid-type]
    """By which its squared distances are multiplied."""

    _fits = model_validator(mode="after")(_fits_the_space)

    @model_validator(mode="after")
    def _reads_its_columns(self):
        made = make_manifold(self.name, self.size, metric=self.metric)
        known = {"ambient", *(FORMS if self.name == "rotations" else made.coordinate_kinds)}
        if self.coordinates is not None and self.coordinates not in known:
            raise refused(unknown(self.coordinates, sorted(known)), "coordinates")
        return self


class ManifoldSettings(Section):
    """The space of the records."""

    name: Literal[tuple(MANIFOLDS)] = Field(  # type: ignore[valid-type]
        description="; ".join(
            f"`{name}`: {str(space.__doc__).splitlines()[0].rstrip('.')}"
            for name, space in MANIFOLDS.items()
        )
        + "."
    )
    size: Size | None = None  # type: ignore[valid-type]
    """Dimension; of matrices the number of rows; of kendall the number of landmarks."""
    landmark_map: LandmarkMapSettings | None = None
    metric: Literal[METRICS] | None = None  # type: ignore[valid-type]
    """Metric of spd; null for affine_invariant."""
    coordinates: Literal[FORMS] | None = None  # type: ignore[valid-type]
    """Form of a rotation: a matrix row by row, or a quaternion, w first; null for the matrix."""
    factors: Annotated[list[FactorSettings], Field(min_length=2)] | None = None
    """Factors of a product."""
    size_weight: number(gt=0) | None = None  # type: ignore[valid-type]
    """Weight of squared differences of log centroid sizes in size_and_shape; null for 1."""

    @model_validator(mode="after")
    def _fits(self):
        _fits_the_space(self)
        if self.coordinates is not None and self.name != "rotations":
            raise surplus("coordinates", f"{self.name} has none: set those of the table")
        if self.landmark_map is None or self.size is None:
            return self
        harmonics, most = self.landmark_map.harmonics, (self.size - 1) // 2
        if harmonics is not None and harmonics > most:
            raise refused(
                f": {harmonics} is too large: {self.size} landmarks have harmonics up to {most}",
                "landmark_map.harmonics",
            )
        return self

    def make(self):
        """The `Manifold`."""
        given = {key: each for key, each in self if key != "landmark_map"}
        given["factors"] = self.factors and [each.model_dump() for each in self.factors]
        chosen = self.landmark_map
        return make_manifold(**given, landmark_map=chosen and chosen.make(self.size))


def date_text(value):
    """A value of YAML as text if it is a date."""
    return value.isoformat() if isinstance(value, date) else value


def _is_day(text):
    if not is_day(text):
        raise refused(f": {text} is no date: give one like 2000-01-31")
    return text


Day = Annotated[
    str,
    BeforeValidator(date_text),
    AfterValidator(_is_day),
    WithJsonSchema({"type": "string", "format": "date"}),
]


class DateSettings(Section):
    """How the dates of a covariate become numbers."""

    since: Day
    """A public date, from which they count, such as 2000-01-01."""
    unit: Literal[tuple(UNITS)] = "years"  # type: ignore[valid-type]
    """Unit of the time since then; a year has 365.25 days, a month a twelfth of them."""


# How long periods are in units of covariates.
PERIODS = {
    "year": {"years": 1.0, "months": 12.0, "weeks": 365.25 / 7.0, "days": 365.25},
    "week": {"weeks": 1.0, "days": 7.0, "hours": 168.0},
    "day": {"days": 1.0, "hours": 24.0, "minutes": 1440.0},
}

NO_COVARIATE = "it is the column of no covariate"

# The number of each word, or the words alone, kept as they were given.
Categories = Annotated[
    Annotated[dict[Text, Number], Field(min_length=1)] | Annotated[list[Text], Field(min_length=2)],
    PlainSerializer(lambda value: value),
]

# Names of columns whose covariates are multiplied, such as `age:sex`.
Product = Annotated[str, Field(pattern="^[^:]+:[^:]+$")]


class BasisSettings(Section):
    """A curve along a covariate, by one of its keys; all numbers in it are public."""

    spline: integer(ge=3, le=12) | None = None  # type: ignore[valid-type]
    """A natural cubic spline with so many knots, evenly spaced over the range with its ends."""
    polynomial: integer(ge=2, le=8) | None = None  # type: ignore[valid-type]
    """A polynomial of this degree."""
    periodic: Positive | Literal[tuple(PERIODS)] | None = None  # type: ignore[valid-type]
    """A wave with this period, a number in the covariate's unit; or a word, where `units` says that
    unit."""

    @model_validator(mode="after")
    def _one_form(self):
        if len(self.given) != 1:
            raise refused(": give one of spline, polynomial and periodic")
        return self

    @property
    def given(self):
        """The key that is given, with its value."""
        return {name: value for name, value in self if value is not None}


class TableSection(Section):
    """Records of a table, one a row."""

    source: Literal["table"]
    path: Text
    """CSV file with a header; or by its suffix a spreadsheet (.xlsx, .ods), a file of SPSS, Stata,
    SAS or R (.sav, .zsav, .dta, .sas7bdat, .rds, .RData), Parquet, Feather, NumPy or MATLAB
    (.parquet, .feather, .npz, .mat), or landmarks (.tps, .nts, or morphologika); or a folder of
    Parquet files, read in the order of their names; seen from the working directory."""
    sheet: Text | None = None
    """Sheet of a spreadsheet, null for its first; or a table in a file of R with several."""
    decimal: Literal[".", ","] = "."
    """Sign before decimals in a CSV file."""
    dates: dict[Text, DateSettings] = Field(default={})
    """By column of a covariate, how its dates, in text like 2000-01-31, become numbers:
    `{visit: {since: 2000-01-01, unit: years}}`."""
    categories: dict[Text, Categories] = Field(default={})
    """By column, the number of each word in it: `{sex: {F: 0, M: 1}}`; or its words,
    `{region: [north, south, west]}`, each a group, compared with the first. Words are also those
    that a file of SPSS, Stata or R has for codes."""
    basis: dict[Text, BasisSettings] = Field(default={}, exclude_if=lambda value: not value)
    """By column of a covariate, the curve along it: `{age: {spline: 4}}`; else a geodesic."""
    products: list[Product] = Field(default=[], exclude_if=lambda value: not value)
    """Pairs of covariates whose effects go together, such as `age:sex`."""
    columns: list[Text] | None = None
    """Columns of the coordinates; null for landmarks in x1, y1, x2, y2, .... An array stands for
    all its numbers."""
    coordinates: Literal[COORDINATES] = "ambient"  # type: ignore[valid-type]
    """What they hold: coordinates of the space, row by row (of a symmetric matrix also its upper
    triangle), or degrees on the sphere S^2, or one angle on the circle S^1, in this unit (a day or
    a month of the year is 1 at first), or shares of a whole (parts of one or percent), whose
    square roots are on a sphere, or a triangle of a symmetric matrix: the lower one row
    by row; in the order and with the factors of nilearn or pyRiemann; of 3 x 3 matrices in the
    order of Voigt, VTK or MRtrix."""
    outline: bool = False
    """Landmarks run along a closed outline: reversed ones are turned, other numbers resampled by
    arc length."""

    @property
    def covariates(self):
        """Columns of the covariates."""
        given = getattr(self, "covariate", None)
        return [given] if isinstance(given, str) else given or []

    @property
    def reading(self):
        """How cells become numbers: of listed words, their places in the list."""
        codes = {
            name: {word: float(code) for code, word in enumerate(words)}
            if isinstance(words, list)
            else words
            for name, words in self.categories.items()
        }
        dates = {name: Dates(**dict(each)) for name, each in self.dates.items()}
        return TableReading(self.decimal, codes, dates, self.sheet)

    @property
    def words(self):
        """By column, its words where these are listed."""
        return {name: each for name, each in self.categories.items() if isinstance(each, list)}

    @model_validator(mode="after")
    def _terms_of_covariates(self):
        for key in (*(f"basis.{name}" for name in self.basis), *self.words):
            name = key.removeprefix("basis.")
            if name not in self.covariates:
                raise surplus(key if name != key else f"categories.{key}", NO_COVARIATE)
        for name in {*self.basis} & {*self.categories}:
            raise surplus(f"basis.{name}", "it has words, and no curve goes along these")
        pairs = [{*pair.split(":")} for pair in self.products]
        for index, names in enumerate(pairs):
            if len(names) != 2 or not names <= {*self.covariates} or names in pairs[:index]:
                raise refused(
                    f": {self.products[index]} is no product of two covariates, or is named "
                    f"twice: name two of {', '.join(self.covariates)}",
                    f"products[{index}]",
                )
        return self

    def bases(self, units=None):
        """Basis of each covariate as `geodp.models.terms.basis_of` takes it, by their units."""
        found = []
        for name in self.covariates:
            given = self.basis[name].given if name in self.basis else LINE
            if len(self.words.get(name, [])) > 2:
                given = {WORDS: self.words[name]}
            if isinstance(given, dict) and isinstance(period := given.get(PERIODIC), str):
                dated = self.dates.get(name)
                unit = dated.unit if dated else (units or {}).get(name, "")
                if unit not in PERIODS[period]:
                    raise refused(
                        f": how long a {period} is depends on the unit: give the unit of {name} "
                        f"by units, one of {', '.join(PERIODS[period])}, or a number",
                        f"data.basis.{name}.periodic",
                    )
                given = {PERIODIC: PERIODS[period][unit]}
            found.append(given)
        return found

    @property
    def pairs(self):
        """Products, by the numbers of their columns."""
        columns = self.covariates
        return [tuple(map(columns.index, pair.split(":"))) for pair in self.products]


def public_centre(manifold, given, place="public.centre"):
    """A centre by its name, from its numbers, or from a table with one point.

    Messages call the key ``place``.
    """
    if isinstance(given, str) and given in manifold.centres:
        return manifold.centres[given]
    if given == "corpus callosum" and has_landmarks(manifold):
        from geodp.data.stand_in import MEAN, outline

        return manifold.from_landmarks(outline(MEAN, manifold.landmarks))
    if isinstance(given, str) and given in CENTRES:
        raise DataError(f"{place}: {manifold.name} has no centre called {given}: give a point")
    if isinstance(given, str):
        place, given = given, _numbers_of_table(given)
    if has_landmarks(manifold) and len(given) == 2 * manifold.landmarks:
        with np.errstate(invalid="ignore"):
            point = manifold.from_landmarks(np.array(given[0::2]) + 1j * np.array(given[1::2]))
        if (reason := manifold.invalid_reason(point)) is not None:
            raise DataError(f"{place}: not a point of {manifold.name}, since {reason}: correct it")
        return point
    return parse_point(manifold, given, place)


def _numbers_of_table(path):
    """Numbers of a table with a header and one row."""
    lines = [line.split(",") for line in text_of(path).splitlines() if line.strip()]
    try:
        [_, row] = lines
        return [float(cell) for cell in row]
    except ValueError:
        raise DataError(
            f"{path}: it is not a header and one row of numbers: give a table with one point, or "
            f"one of {', '.join(CENTRES)}"
        ) from None
