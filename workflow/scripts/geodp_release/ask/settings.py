"""Settings of a release, a YAML file: data, public inputs, budget, ledger and folder."""

import hashlib
import json
import os
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from geodp.data.angles import ANGLES
from geodp.data.coordinates import PLACES, are_read, in_layout, limits_of
from geodp.data.dates import Dates
from geodp.errors import DataError
from geodp.settings.section import FileName, Text, refused, surplus, unknown
from geodp.settings.settings_files import PlainLoader, check, load_keys
from geodp.settings.shared_sections import DateSettings, date_text, public_centre
from geodp_release.ask.release_sections import (
    BudgetSettings,
    Line,
    Number,
    PublicSettings,
    ReleaseSection,
    SimulatedSettings,
    TableSettings,
)
from geodp_release.ask.wording import Wording
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.public_inputs import NONE, TWO_GROUPS, of_all
from geodp_release.show.document import plan_document

# Path of records that are in memory.
FRAME = "the data frame"

# Keys that a mean has not.
OF_COVARIATES = {
    *("public.shooting_vector_length", "public.covariate_spread", "public.transformation"),
    *("covariate", "predictions"),
}

# Public inputs whose source can be stated.
SOURCES = (*PublicSettings.model_fields, "basis", "products")

# A value of a covariate.
Value = Number | Text


class ReleaseSettings(Wording, ReleaseSection):
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
    sources: dict[Literal[SOURCES], Line] = Field(default={})  # type: ignore[valid-type]
    """Where each public input comes from, which the release shows."""
    budget: BudgetSettings
    ledger: Text
    """File that counts what all releases from the data spent; see `geodp ledger create`."""
    folder: Text
    """Folder that the release becomes; it must not be there yet."""
    predictions: Annotated[list[Value] | list[list[Value]], Field(min_length=1)] | None = None
    """Covariates to tabulate, numbers or their words; null for five over the range. Several
    covariates have a list of rows; null gives the ends of where subjects are for each of them, with
    the others at noisy means or in the first group."""
    allow_noise: bool = False
    """Release even if the plan says that it would be noise."""

    @model_validator(mode="before")
    @classmethod
    def _dates_are_numbers(cls, given):
        return _with_numbers(given) if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _covariates_agree(self):
        number, public = len(self.public.ranges), self.public
        if isinstance(self.data, TableSettings):
            columns = self.data.covariates
            measured = [name for name in columns if name not in self.data.words]
            if len(measured) != number:
                listed = " without listed words" if self.data.words else ""
                raise refused(
                    f": it names {len(measured)} columns{listed}, and public.covariate_range "
                    f"has {number} ranges: give as many",
                    "data.covariate",
                )
            number = len(columns)
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
                f": it has {len(self.covariate)} names, and there are {number} covariates: give "
                "as many",
                "covariate",
            )
        if isinstance(self.data, TableSettings):
            self._bases(self.data)
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
            row, key = row if isinstance(row, list) else [row], f"predictions[{index}]"
            if len(row) != len(self.ranges):
                raise refused(
                    f": it has {len(row)} values, and there are "
                    f"{len(self.ranges)} covariates: give one for each",
                    key,
                )
            for column, (value, (low, high)) in enumerate(zip(row, self.ranges, strict=True)):
                codes = self.codes(column)
                if isinstance(value, str) or self.is_listed(column):
                    if value in codes:
                        continue
                    known = f"one of {', '.join(codes)}" if codes else "a number"
                    shown = value if isinstance(value, str) else f"{value:g}"
                    raise refused(f": {shown} is no value there: give {known}", key)
                if not low <= value <= high:
                    raise refused(
                        f": {value:g} is outside covariate_range, {low:g} to "
                        f"{high:g}, where nothing is released: give values within",
                        key,
                    )
        return self

    @cached_property
    def assumptions(self):
        public = self.public
        manifold, centre = public.manifold.make(), public.centre
        coordinates = getattr(self.data, "coordinates", "ambient")
        if coordinates != "ambient" and isinstance(centre, list):
            centre = _centre_of_columns(centre, coordinates)
        given = {name: getattr(public, name) for name in type(public).model_fields}
        if isinstance(self.data, TableSettings) and (self.data.words or self.data.basis):
            given |= self._of_terms(self.data)
        if isinstance(self.data, TableSettings) and self.data.products:
            given |= {"products": self.data.pairs, "names": self.names}
        return Assumptions(
            **given
            | {
                "manifold": manifold,
                "centre": public_centre(manifold, centre),
                "covariate_range": tuple(map(tuple, self.ranges)),
                "sources": self.sources,
            }
        )

    def _bases(self, data):
        each = zip(data.covariates, self.names, strict=True)
        return data.bases({column: self.units.get(name, "") for column, name in each})

    def _of_terms(self, data):
        """Public inputs of all columns, those of listed words among them."""
        lists = {"transformation": NONE, "covariate_spread": TWO_GROUPS}
        found: dict = {"basis": self._bases(data), "names": self.names}
        for name, of_words in lists.items():
            listed = [column in data.words for column in data.covariates]
            found[name] = of_all(f"public.{name}", getattr(self.public, name), listed, of_words)
        return found

    @cached_property
    def privacy_budget(self):
        return self.budget.make()

    @property
    def checked(self):
        """Identifies what a check of a file judges, whatever its path: two digests.

        The first is of how it is read, so that other public inputs do not make up for a check
        that said no; the second also of these, so that a check by others does not either.
        """
        reading = self._resolved_data | {"path": None}
        return _hash(reading), _hash([reading, self.public.model_dump()])

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
        return _hash({"name": self.name, "data": self._resolved_data, "plan": plan_document(plan)})


def _with_numbers(given):
    """Settings as they were given, with numbers in place of dates; what is no date stays."""
    data, public, rows = (given.get(key) for key in ("data", "public", "predictions"))
    try:
        scales = TypeAdapter(dict[str, DateSettings]).validate_python(data["dates"])
        names = data["covariate"]
        ranges = public["covariate_range"]
    except (ValidationError, TypeError, KeyError):  # none, or refused where they are checked
        return given
    names = [str(name) for name in (names if isinstance(names, list) else [names])]
    # Listed words have no range.
    words = data.get("categories") or {}
    ranged = [name for name in names if not isinstance(words.get(name), list)]

    def number(place, value, is_row):
        some, text = names if is_row else ranged, date_text(value)
        scale = scales.get(some[place]) if place < len(some) else None
        if scale is None or not isinstance(text, str):
            return value
        found = Dates(**dict(scale)).number(text)
        return value if found is None else found

    def numbers(values, is_row):
        """Of a row a value for each covariate, of a range two for one."""
        if not isinstance(values, list):
            return values
        return [
            [number(inner if is_row else place, each, is_row) for inner, each in enumerate(value)]
            if isinstance(value, list)
            else number(0, value, is_row)
            for place, value in enumerate(values)
        ]

    found = {"public": public | {"covariate_range": numbers(ranges, False)}}
    return given | found | ({"predictions": numbers(rows, True)} if rows else {})


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


def _hash(values):
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def read_settings(path):
    """The `ReleaseSettings` in a file; a `DataError` names the file and the path of the key."""
    given = load_keys(path, loader=PlainLoader)
    try:
        return check(ReleaseSettings, given)
    except DataError as problem:
        raise DataError(f"{path}: {problem}") from None
