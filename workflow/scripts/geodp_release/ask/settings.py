"""Settings of a release, a YAML file: data, public inputs, budget, ledger and folder."""

import hashlib
import json
import os
from functools import cached_property
from itertools import chain

from pydantic import TypeAdapter, ValidationError, model_validator

from geodp.data.dates import Dates
from geodp.errors import DataError
from geodp.settings.section import refused, unknown
from geodp.settings.settings_files import PlainLoader, check, load_keys
from geodp.settings.shared_sections import DateSettings, date_text
from geodp_release.ask.release_sections import TableSettings
from geodp_release.ask.wording import Wording
from geodp_release.show.document import plan_document

# Path of records that are in memory.
FRAME = "the data frame"


class ReleaseSettings(Wording):
    """Settings of a release: `geodp release FILE`."""

    @model_validator(mode="before")
    @classmethod
    def _dates_are_numbers(cls, given):
        return _with_numbers(given) if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _sections_agree(self):
        parts = self._of_covariates, self._of_names, self._of_predictions
        # What the later ones look at is as the earlier ones want it.
        for words, key in chain.from_iterable(part() for part in parts):
            raise refused(words, key)
        return self

    def _of_covariates(self):
        """What is wrong with numbers of covariates, and the key."""
        number, public, data = len(self.public.ranges), self.public, self.data
        if isinstance(data, TableSettings):
            columns = data.covariates
            measured = [name for name in columns if name not in data.words]
            listed = " without listed words" if data.words else ""
            if len(measured) != number:
                yield (
                    f": it names {len(measured)} columns{listed}, and public.covariate_range has "
                    f"{number} ranges: give as many",
                    "data.covariate",
                )
            for name in columns:
                if columns.count(name) > 1 or name == data.subject:
                    words = "is named twice, or is the subject: name a column of its own for each"
                    yield f": {name} {words} covariate", "data.covariate"
            number = len(columns)
        elif number > 1:
            yield ": simulated outlines have one covariate: give one", "public.covariate_range"
        if number and public.footpoint_radius and public.shooting_vector_length is None:
            yield " is missing: add it", "public.shooting_vector_length"
        if not number:
            given = self.model_fields_set | {f"public.{key}" for key in public.model_fields_set}
            others = "shooting_vector_length", "covariate_spread", "transformation"
            keys = {"covariate", "predictions", *(f"public.{key}" for key in others)}
            for key in sorted(keys & given):
                yield ": a mean has no covariate: remove it", key
        names = self.covariate if isinstance(self.covariate, list) else [""] * number
        if len(names) != number:
            words = f": it has {len(names)} names, and there are {number} covariates: give as many"
            yield words, "covariate"

    def _of_names(self):
        if isinstance(self.data, TableSettings):
            self._bases(self.data)
        # Columns of another space have no names: what is wrong with them is told without units.
        known = [*self.names, *self.responses] if self.units else []
        for name in self.units:
            if name not in known:
                yield unknown(name, known), f"units.{name}"
        if not all(name.isprintable() for name in self.names):
            yield (
                ": a name has characters that cannot be printed, and the release shows it: give "
                "other names by the key covariate",
                "data.covariate",
            )

    def _of_predictions(self):
        for index, row in enumerate(self.predictions or ()):
            row, key = row if isinstance(row, list) else [row], f"predictions[{index}]"
            if len(row) != (number := len(self.ranges)):
                yield (
                    f": it has {len(row)} values, and there are {number} covariates: give one for "
                    "each",
                    key,
                )
            for column, (value, (low, high)) in enumerate(zip(row, self.ranges, strict=True)):
                codes = self.codes(column)
                if isinstance(value, str) or self.is_listed(column):
                    known = f"one of {', '.join(codes)}" if codes else "a number"
                    shown = value if isinstance(value, str) else f"{value:g}"
                    if value not in codes:
                        yield f": {shown} is no value there: give {known}", key
                elif not low <= value <= high:
                    yield (
                        f": {value:g} is outside covariate_range, {low:g} to {high:g}, where "
                        "nothing is released: give values within",
                        key,
                    )

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

    def number(name, value):
        text = date_text(value)
        if name not in scales or not isinstance(text, str):
            return value
        found = Dates(**dict(scales[name])).number(text)
        return value if found is None else found

    def numbered(names, values):
        """Values with the name of each; how many there have to be is checked elsewhere."""
        return zip([*names, *[None] * len(values)], values, strict=False)

    try:
        data, public = given["data"], given["public"]
        scales = TypeAdapter(dict[str, DateSettings]).validate_python(data["dates"])
        names, ranges = data["covariate"], public["covariate_range"]
        names = [str(name) for name in (names if isinstance(names, list) else [names])]
        # Listed words have no range.
        words = data.get("categories") or {}
        ranged = [name for name in names if not isinstance(words.get(name), list)]
        if isinstance(ranges[0], list):
            pairs = numbered(ranged, ranges)
            ranges = [[number(name, each) for each in pair] for name, pair in pairs]
        else:
            ranges = [number(ranged[0], each) for each in ranges]
        rows = given.get("predictions") or []
        if isinstance(rows, list):
            rows = [
                [number(*each) for each in numbered(names, row)]
                if isinstance(row, list)
                else number(names[0], row)
                for row in rows
            ]
    except (ValidationError, ValueError, TypeError, LookupError):
        # There are none, or they are refused where they are checked.
        return given
    found = given | {"public": public | {"covariate_range": ranges}}
    return found | ({"predictions": rows} if rows else {})


def _hash(values):
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def read_settings(path):
    """The `ReleaseSettings` in a file; a `DataError` names the file and the path of the key."""
    given = load_keys(path, loader=PlainLoader)
    try:
        return check(ReleaseSettings, given)
    except DataError as problem:
        raise DataError(f"{path}: {problem}") from None
