"""Settings of a release, a YAML file: data, public inputs, budget, ledger and folder."""

import hashlib
import json
import os
import re
import reprlib
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from geodp.data.records import has_landmarks
from geodp.data.tables import parse_matrix
from geodp.errors import DataError
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.hyperbolic import Hyperbolic
from geodp.manifolds.landmark_maps import LandmarkMap, fourier_harmonics
from geodp.manifolds.registry import LARGEST_SIZE, MANIFOLDS, make_manifold, parse_point
from geodp.manifolds.spd import SPD
from geodp.mechanisms.budgets import parse_budget
from geodp.release.accounting import CONCENTRATED, PURE, PrivacyBudget
from geodp.release.assumptions import (
    NEIGHBOURS,
    NONE,
    REPLACE,
    TRANSFORMATIONS,
    Assumptions,
)
from geodp.release.files import plan_document
from geodp.release.simulation import SQUARES, TWO_GROUPS, UNKNOWN
from geodp.release.subjects import ONE_EACH

# Covariates that are tabulated where the settings name none.
TABULATED = 5

# Public centres by name.
IDENTITY, ORIGIN, CORPUS_CALLOSUM = "identity", "origin", "corpus callosum"

# Limits of the settings: characters of the file, of a text in it, and of a number; lists and
# mappings within each other.  Characters of a table that the settings name.
LONGEST_FILE, LONGEST_TEXT, LONGEST_NUMBER, DEEPEST = 1_000_000, 10_000, 100, 10
LONGEST_TABLE = 100_000_000

# No path has the first, and no UTF-8 the others.
NO_CHARACTER = re.compile("[\0\ud800-\udfff]")


def refused(sentence):
    """Error of a validator: text after the path of the key, such as ": the list is empty"."""
    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence})


def _is_line(text):
    """Refuse text that a page or a terminal does not show as one line."""
    if not text.isprintable():
        raise refused(": it is not one line of printable characters: give that")
    return text


Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0)]
Count = Annotated[int, Field(strict=True, ge=1)]
Text = Annotated[str, StringConstraints(strict=True, min_length=1)]
Line = Annotated[str, StringConstraints(strict=True, min_length=1), AfterValidator(_is_line)]
Amount = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=LONGEST_NUMBER)]
Truth = Annotated[bool, Field(strict=True)]
Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]
Transformation = Literal[tuple(TRANSFORMATIONS)]  # type: ignore[valid-type]
Spread = Literal[tuple(SQUARES)]  # type: ignore[valid-type]

REMEDIES = {
    "missing": " is missing: add it",
    "greater_than": ": {found} is too small: give a number above {gt}",
    "greater_than_equal": ": {found} is too small: give {ge} or more",
    "literal_error": ": {found} is not known: give one of {expected}",
    "int_type": ": {found} has the wrong type: give an integer",
    "float_type": ": {found} has the wrong type: give a number",
    "string_type": ": {found} has the wrong type: give text",
    "bool_type": ": {found} has the wrong type: give true or false",
    "list_type": ": {found} has the wrong type: give a list",
    "string_too_long": ": it has more than {max_length} characters: give fewer",
    "too_short": ": {found} has too few entries: give {min_length}",
    "too_long": ": {found} has too many entries: give {max_length}",
    "model_type": ": {found} has the wrong type: give a mapping from keys to values",
    "model_attributes_type": ": {found} has the wrong type: give a mapping from keys to values",
    "union_tag_not_found": ".{discriminator} is missing: give table or simulated outlines",
    "union_tag_invalid": ".{discriminator}: {tag!r} is not known: give one of {expected_tags}",
    "refused": "{sentence}",
}

# Problems of a value whose form is right.
OF_FORM = ("too_short", "too_long", "string_too_long", "refused")

# Forms of sections, which Pydantic puts into the path of an error.
FORMS = ("table", "simulated outlines")


class Section(BaseModel):
    """A section of the settings; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, given):
        for key in given if isinstance(given, dict) else ():
            if key == "seed":
                raise refused(
                    ".seed is refused: a release draws its random bits from the operating system, "
                    "since whoever knew a seed could take the noise away: remove the key"
                )
            if key not in cls.model_fields:
                near = get_close_matches(str(key), cls.model_fields, n=1)
                known = f"known keys are {', '.join(cls.model_fields)}"
                raise refused(f".{key} is unknown: {f'did you mean {near[0]}?' if near else known}")
        return given


class ReleasedLandmarkMapSettings(Section):
    """A public linear map of planar landmarks, by one of its keys."""

    harmonics: Count | None = Field(
        default=None, description="Keep the Fourier harmonics of the outline up to this one."
    )
    matrix: Text | None = Field(
        default=None,
        description="CSV file of the matrix: a row for each kept coordinate, an entry a landmark.",
    )

    @model_validator(mode="after")
    def _one_form(self):
        if (self.harmonics is None) == (self.matrix is None):
            raise refused(": give one of harmonics and matrix")
        return self

    def make(self, size):
        """The `LandmarkMap` of so many landmarks."""
        if self.matrix is None:
            return fourier_harmonics(size, self.harmonics)
        matrix = parse_matrix(text_of(self.matrix), self.matrix)
        described = f"linear map of {Path(self.matrix).name}"
        return LandmarkMap(matrix, described, self.matrix)


class ReleasedManifoldSettings(Section):
    """The space of the records."""

    name: Literal[tuple(MANIFOLDS)] = Field(description="The space.")  # type: ignore[valid-type]
    size: Annotated[int, Field(strict=True, ge=1, le=LARGEST_SIZE)] = Field(
        description="Dimension; of spd the number of rows; of kendall the number of landmarks."
    )
    landmark_map: ReleasedLandmarkMapSettings | None = Field(
        default=None,
        description="Public linear map that keeps less of planar landmarks; null for none.",
    )

    @model_validator(mode="after")
    def _enough_landmarks(self):
        if self.name == "kendall" and self.size < 3:
            raise refused(f".size: {self.size} is too small: planar shapes need 3 landmarks")
        return self

    def make(self):
        """The `Manifold`."""
        chosen = self.landmark_map
        return make_manifold(self.name, self.size, chosen and chosen.make(self.size))


class TableSettings(Section):
    """Records of a table, one a row."""

    source: Literal["table"] = Field(description="Where data come from.")
    path: Text = Field(
        description="CSV file with a header, or a Parquet file or arrays of NumPy if its name ends "
        "in .parquet or .npz; seen from the working directory."
    )
    covariate: Text | Annotated[list[Text], Field(min_length=1)] | None = Field(
        default=None,
        description="Column of the covariate, or of each; left out for a mean.",
    )
    subject: Text = Field(
        description='Column that names the subject of each record; or "one record each".'
    )
    columns: list[Text] | None = Field(
        default=None,
        description="Columns of the coordinates; needed but for landmarks, which are then all of "
        "x1, y1, x2, y2, .... An array of more than one axis stands for all its numbers.",
    )
    coordinates: Literal["ambient", "latitude_longitude"] = Field(
        default="ambient",
        description="What these hold: coordinates of the space, row by row (of a symmetric matrix "
        "also its upper triangle), or latitude and longitude in degrees, of the sphere S^2.",
    )
    outline: Truth = Field(
        default=False,
        description="Landmarks run along a closed outline: reversed ones are turned, and other "
        "numbers of landmarks are resampled by arc length from the first one.",
    )

    @property
    def covariates(self):
        """Columns of the covariates."""
        if self.covariate is None:
            return []
        return [self.covariate] if isinstance(self.covariate, str) else self.covariate

    @property
    def is_one_each(self):
        """Whether no two records are of one subject."""
        return self.subject == ONE_EACH


class SimulatedSettings(Section):
    """Simulated outlines of the corpus callosum, new ones at every run, to try releases on."""

    source: Literal["simulated outlines"] = Field(description="Where data come from.")
    number: Count = Field(description="Number of outlines, each of a subject of its own.")
    trend_length: Annotated[float, Field(ge=0)] = Field(
        default=0.045, description="Length of their geodesic from age 50 to age 90, in rad."
    )


class PublicSettings(Section):
    """Public inputs: assumptions about the data, chosen without a look at them."""

    manifold: ReleasedManifoldSettings = Field(description="The space of the records.")
    centre: Literal["identity", "origin", "corpus callosum"] | list[Number] | Text = Field(
        description="Centre of the ball of footpoints: numbers; the path of a table with one "
        "point; or `identity` (spd), `origin` (euclidean, hyperbolic), `corpus callosum` (kendall: "
        "the mean of 647 published outlines)."
    )
    footpoint_radius: Positive = Field(
        description="How far the footpoint, in the middle of the covariate's range, may lie from "
        "the centre, in the manifold's unit of length."
    )
    shooting_vector_length: Positive | list[Positive] | None = Field(
        default=None,
        description="How long the geodesic may be over the covariate's range, in the same unit; "
        "of several covariates one number for all or a list.",
    )
    covariate_range: Pair | Annotated[list[Pair], Field(min_length=1)] | None = Field(
        default=None,
        description="Range of the covariate, or a list with one of each; values outside are "
        "clipped to it. Left out for a mean.",
    )
    residual_scale: Positive = Field(
        description="A guess: standard deviation of the records about their geodesic, in each "
        "direction."
    )
    subjects: Count = Field(
        description="Number of subjects; where neighbours add or remove one, about how many."
    )
    records_per_subject: Count = Field(
        default=1, description="Records of a subject that count, the first so many."
    )
    transformation: Transformation | list[Transformation] = Field(  # type: ignore[valid-type]
        default=NONE,
        description="Of the covariate, or a list; with `log` records whose covariate is not "
        "positive have none. Its range and predictions are given without it.",
    )
    covariate_spread: Spread | list[Spread] = Field(  # type: ignore[valid-type]
        default=UNKNOWN,
        description="How the covariate is spread over its range, or a list; `two groups` are at "
        "its ends, such as 0 and 1. Say `evenly` of one covariate only if that is known, as by "
        "design: its noisy moments need not be released first then, and bands rest on it.",
    )
    neighbours: Literal[NEIGHBOURS] = Field(  # type: ignore[valid-type]
        default=REPLACE, description="Which data sets a release cannot tell apart."
    )

    @property
    def ranges(self):
        """Ranges of the covariates."""
        given = self.covariate_range
        if given is None:
            return []
        return given if isinstance(given[0], list) else [given]


class BudgetSettings(Section):
    """Privacy budget: epsilon, or rho with a delta."""

    epsilon: Number | Amount | None = Field(
        default=None, description='Pure differential privacy, as decimal text such as "0.5".'
    )
    rho: Number | Amount | None = Field(
        default=None, description="Zero-concentrated differential privacy."
    )
    delta: Number | Amount | None = Field(
        default=None, description="With rho: the delta for which an epsilon is stated too."
    )

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


class ReleaseSettings(Section):
    """Settings of a release: `geodp release FILE`."""

    name: Annotated[str, StringConstraints(strict=True, pattern="^[A-Za-z0-9_-]+$")] = Field(
        description="Name of the release in its ledger, its folder and its page."
    )
    description: Line | None = Field(
        default=None,
        description="What the data are, in a line for readers of the release, which shows it.",
    )
    covariate: Line | list[Line] = Field(
        default="covariate",
        description="What the release calls the covariate, such as `age`, or a list.",
    )
    data: Annotated[TableSettings | SimulatedSettings, Field(discriminator="source")] = Field(
        description="The private records."
    )
    public: PublicSettings = Field(
        description="What is assumed about them, chosen without a look at them."
    )
    sources: dict[Literal[tuple(PublicSettings.model_fields)], Line] = Field(  # type: ignore[valid-type]
        default={}, description="Where each public input comes from, which the release shows."
    )
    budget: BudgetSettings = Field(description="Privacy budget of the release.")
    ledger: Text = Field(
        description="File that counts what all releases from the data spent; see `geodp ledger "
        "create`."
    )
    folder: Text = Field(description="Folder that the release becomes; it must not be there yet.")
    predictions: Annotated[list[Number] | list[list[Number]], Field(min_length=1)] | None = Field(
        default=None,
        description="Covariates to tabulate; by default five over the range. Of several covariates "
        "a list of rows; by default the ends of each, the others in their middle or first group.",
    )
    allow_noise: Truth = Field(
        default=False, description="Release even if the plan says that it would be noise."
    )

    @model_validator(mode="after")
    def _covariates_agree(self):
        number, public = len(self.public.ranges), self.public
        if isinstance(self.data, TableSettings):
            columns = self.data.covariates
            if len(columns) != number:
                raise refused(
                    f".data.covariate: it names {len(columns)} columns, and public.covariate_range "
                    f"has {number} ranges: give as many"
                )
            twice = {name for name in columns if columns.count(name) > 1}
            twice |= {name for name in columns if name == self.data.subject}
            if twice:
                raise refused(
                    f".data.covariate: {twice.pop()} is named twice, or is the subject: name a "
                    "column of its own for each covariate"
                )
        elif number > 1:
            raise refused(
                ".public.covariate_range: simulated outlines have one covariate: give one"
            )
        if number and public.shooting_vector_length is None:
            raise refused(".public.shooting_vector_length is missing: add it")
        if not number:
            for key in ("shooting_vector_length", "covariate_spread", "transformation"):
                if key in public.model_fields_set:
                    raise refused(f".public.{key}: a mean has no covariate: remove it")
            for key in ("covariate", "predictions"):
                if key in self.model_fields_set:
                    raise refused(f".{key}: a mean has no covariate: remove it")
        if isinstance(self.covariate, list) and len(self.covariate) != number:
            raise refused(
                f".covariate: it has {len(self.covariate)} names, and public.covariate_range "
                f"{number} ranges: give as many"
            )
        if not all(name.isprintable() for name in self.names):
            raise refused(
                ".data.covariate: a name has characters that cannot be printed, and the release "
                "shows it: give other names by the key covariate"
            )
        return self

    @model_validator(mode="after")
    def _predictions_in_range(self):
        for index, row in enumerate(self.predictions or ()):
            row = row if isinstance(row, list) else [row]
            if len(row) != len(self.public.ranges):
                raise refused(
                    f".predictions[{index}]: it has {len(row)} values, and there are "
                    f"{len(self.public.ranges)} covariates: give one for each"
                )
            for value, (low, high) in zip(row, self.public.ranges, strict=True):
                if not low <= value <= high:
                    raise refused(
                        f".predictions[{index}]: {value:g} is outside covariate_range, {low:g} to "
                        f"{high:g}, where nothing is released: give values within"
                    )
        return self

    @property
    def names(self):
        """What each covariate is called."""
        number = len(self.public.ranges)
        if isinstance(self.covariate, list):
            return self.covariate
        if number == 1:
            return [self.covariate]
        # Several have the names of their columns; simulated outlines have one.
        return self.data.covariates if isinstance(self.data, TableSettings) else []

    @property
    def covariates(self):
        """Covariates (m, k) to tabulate."""
        ranges = self.public.ranges
        if self.predictions is not None:
            return np.array(self.predictions, dtype=float).reshape((-1, len(ranges)))
        assumptions = self.assumptions
        if len(ranges) == 1 and assumptions.spreads != (TWO_GROUPS,):
            low, high = ranges[0]
            return np.linspace(low, high, TABULATED)[:, None]
        # Each covariate's ends, the others as in the first row.
        first = assumptions.usual
        rows = [first]
        for index, limits in enumerate(ranges):
            for end in limits:
                row = first.copy()
                row[index] = end
                if row[index] != first[index]:
                    rows.append(row)
        return np.array(rows)

    @cached_property
    def assumptions(self):
        """The `Assumptions` of the public inputs."""
        public = self.public
        manifold = public.manifold.make()
        given = {name: getattr(public, name) for name in type(public).model_fields}
        return Assumptions(
            **given
            | {
                "manifold": manifold,
                "centre": public_centre(manifold, public.centre),
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
        if "path" in found:
            found["path"] = os.path.realpath(found["path"])
        return found

    def key(self, plan):
        """Identifies the release in its ledger: a digest of its plan and of what its data are."""
        return _digest(
            {"name": self.name, "data": self._resolved_data, "plan": plan_document(plan)}
        )


def _digest(values):
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def public_centre(manifold, given):
    """A centre by its name, from its numbers, or from a table with one point."""
    if given == IDENTITY and isinstance(manifold, SPD):
        return np.eye(manifold.size)
    if given == ORIGIN and isinstance(manifold, Euclidean | Hyperbolic):
        origin = np.zeros(manifold.point_shape)
        # Of the hyperboloid the lowest point; its first coordinate is time.
        origin[0] = isinstance(manifold, Hyperbolic)
        return origin
    if given == CORPUS_CALLOSUM and has_landmarks(manifold):
        from geodp.data.stand_in import MEAN, outline

        return manifold.from_landmarks(outline(MEAN, manifold.landmarks))
    if given in (IDENTITY, ORIGIN, CORPUS_CALLOSUM):
        raise DataError(
            f"public.centre: {manifold.name} has no centre called {given}: give numbers, or the "
            "path of a table with one point"
        )
    place = "public.centre"
    if isinstance(given, str):
        place, given = given, _numbers_of_table(given)
    if has_landmarks(manifold) and len(given) == 2 * manifold.landmarks:
        return manifold.from_landmarks(np.array(given[0::2]) + 1j * np.array(given[1::2]))
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
            f"one of {IDENTITY}, {ORIGIN}, {CORPUS_CALLOSUM}"
        ) from None


def text_of(path, most=LONGEST_TABLE):
    """Text of a file of so many characters at most."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(most + 1)
    except OSError as problem:
        raise DataError(
            f"{path} cannot be read ({problem.strerror}): correct its path, seen from {Path.cwd()}"
        ) from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text: save it as UTF-8") from None
    if len(text) > most:
        raise DataError(f"{path} has more than {most} characters: give a smaller file")
    return text


class _Loader(yaml.SafeLoader):
    """Loader of values as they are written, without aliases and tags, and each key once."""

    depth = 0

    def compose_node(self, parent, index):
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            raise _at(event, "an alias is refused: write the value out")
        if event.tag is not None:
            raise _at(event, f"the tag {event.tag} is refused: remove it")
        if self.depth > DEEPEST:
            raise _at(event, f"more than {DEEPEST} lists or mappings lie in each other: flatten it")
        if isinstance(event, yaml.ScalarEvent):
            if len(event.value) > LONGEST_TEXT:
                raise _at(event, f"a text has more than {LONGEST_TEXT} characters: shorten it")
            if NO_CHARACTER.search(event.value):
                raise _at(event, "a text has a character that no file has: remove it")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        is_number = isinstance(node, yaml.ScalarNode) and not node.tag.endswith(":str")
        if is_number and len(node.value) > LONGEST_NUMBER:
            raise _at(event, f"a number has more than {LONGEST_NUMBER} characters: round it")
        return node

    def construct_mapping(self, node, deep=False):
        seen: set[Any] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _at(key, "a key is a list or a mapping: give text")
            if key.value in seen:
                raise _at(key, f"the key {key.value} stands there already: keep one of them")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _at(place, sentence):
    """Error at a node or an event of YAML."""
    return DataError(f"line {place.start_mark.line + 1}: {sentence}")


def read_settings(path):
    """Read the settings of a release.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    ReleaseSettings

    Raises
    ------
    DataError
        One sentence with the file and the path of the key.
    """
    text = text_of(path, LONGEST_FILE)
    try:
        given = yaml.load(text, _Loader)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise DataError(
            f"{path}{where}: it is not YAML: mend its punctuation or indentation"
        ) from None
    except DataError as problem:
        raise DataError(f"{path}, {problem}") from None
    except ValueError:
        # PyYAML takes 2026-13-01 for a date, and then makes it one.
        raise DataError(f"{path}: it has a date that is none: put it in quotes") from None
    if not isinstance(given, dict):
        raise DataError(
            f"{path}: it has no keys: see config/release.example.yaml for those of a release"
        )
    try:
        return ReleaseSettings.model_validate(given)
    except ValidationError as problem:
        raise DataError(f"{path}: {_sentence(problem.errors(include_url=False))}") from None


def _sentence(problems):
    """Sentence for the first of Pydantic's problems; of a union, for the form that fits best."""
    problem = _of_best_form(problems)
    found = {"found": reprlib.repr(problem["input"]), **problem.get("ctx", {})}
    found["discriminator"] = str(found.get("discriminator", "")).strip("'")
    place = ""
    for part in problem["loc"]:
        if isinstance(part, int):
            place += f"[{part}]"
        elif part != "[key]" and not _is_form(part):
            place += f".{part}"
    remedy = REMEDIES.get(problem["type"], ": {found} is not allowed: {message}")
    words = f"{place}{remedy.format(message=problem['msg'], **found)}"
    return f"key {words.removeprefix('.')}"


def _is_form(part):
    """Whether a part of a problem's path is a form of a union and no key."""
    forms = ("literal", "list", "constrained", "function", "float")
    return part in FORMS or str(part).startswith(forms)


def _of_best_form(problems):
    """The first problem, or of a union at its key the one of the form that was meant.

    That is a list or a text of the wrong length, or one that a validator refuses; otherwise the
    problem deepest inside the value.
    """
    path = problems[0]["loc"]
    key = path[: next((place for place, part in enumerate(path) if _is_form(part)), len(path))]
    same = [problem for problem in problems if problem["loc"][: len(key)] == key]
    return max(same, key=lambda each: (each["type"] in OF_FORM, len(each["loc"])))
