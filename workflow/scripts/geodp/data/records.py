"""Records of a regression from the cells of a file: covariates, subjects and points.

`tables` reads the files.  Every error names the file, the record (in a table its row;
the header is row 1) and the column or variable.
"""

import math
import re
from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np

from geodp.data.checks import check_points, far_records, mended_landmarks
from geodp.data.messages import few
from geodp.errors import DataError
from geodp.manifolds.kendall import NoReducedShapeError

TRANSFORMATIONS = {"none": lambda value: value, "log": math.log}

FEWEST_RECORDS = 3

DATE = re.compile(r"\d{4}-\d\d-\d\d")

# A number with words behind it.
NUMBER = re.compile(r"\s*[-+]?\d+(\.\d*)?(?=\s*[^\d\s.,:/-])")


@dataclass(frozen=True)
class Records:
    """Records of a file."""

    # (n,), transformed, then scaled to [0, 1]; (n, k) of a list, and zeros where none is named.
    covariates: np.ndarray
    covariate_range: tuple  # The transformed values that became 0 and 1; of a list one pair each.
    points: np.ndarray  # (n, *point_shape)
    subjects: list  # Texts; empty where the file names no subjects.
    # Row of each record in a table, whose header is row 1, or its number in a .mat file.
    rows: list
    row_word: str  # Word for an entry of ``rows``: "row" or "record".
    notes: list  # A sentence for each omission, repair or resampling.


@dataclass(frozen=True)
class RecordOptions:
    """Columns or variables to read besides the points, and how to read them.

    Parameters
    ----------
    covariate : str, list of str or None
        Column or variable of the covariate, with one number a record, or of each.
    transformation : {"none", "log"}, or list of these
        Applied to the covariate before it is scaled; of several one for all, or a list.
    subject : str, optional
        Column or variable that names the subject of a record.
    keep : dict, optional
        By column or variable, the value or list of values of the records to keep.  Numbers are
        compared as numbers.
    covariate_range : tuple of float, or list of these; optional
        Values of the covariate, before its transformation, that become 0 and 1; none may lie
        outside.  By default the least and the greatest of the data.
    outline : bool
        Whether landmarks run along a closed outline: any number of them is then accepted, see
        `mended_landmarks`.
    reading : TableReading
    """

    covariate: str | list | None
    transformation: str | list = "none"
    subject: str | None = None
    keep: dict | None = None
    covariate_range: tuple | list | None = None
    outline: bool = False
    reading: "TableReading" = field(default_factory=lambda: TableReading())

    @property
    def fields(self):
        """Names of the columns or variables that hold one value a record."""
        subject = [self.subject] if self.subject else []
        return [*self.covariates, *subject, *(self.keep or {})]

    @property
    def covariates(self):
        """Names of the columns or variables of covariates."""
        if isinstance(self.covariate, list):
            return self.covariate
        return [self.covariate] if self.covariate else []

    @property
    def each_covariate(self):
        """Name, transformation and range of each covariate."""
        names, words, limits = self.covariates, self.transformation, self.covariate_range
        if not isinstance(self.covariate, list):
            return [(name, words, limits) for name in names]
        words = words if isinstance(words, list) else [words] * len(names)
        return list(zip(names, words, limits or [None] * len(names), strict=True))


def has_landmarks(manifold):
    """Whether points of a manifold are shapes of landmarks."""
    return manifold.dtype is complex


def assemble(source, manifold, options, numbers, fields, read):
    """`Records` from cells of text and a function that reads coordinates.

    ``numbers`` are those of the records in messages, and ``fields`` has the values of
    `RecordOptions.fields`, empty texts for missing ones.  ``read`` takes indices of records to
    complex landmarks or real coordinates (n, k).  It is called for records that are kept, so the
    others need not be readable.  What is wrong is a `DataError` that names the file, the record and
    the field.
    """
    kept, notes = _kept(source, options.keep or {}, fields, len(numbers))
    numbers = [numbers[index] for index in kept]
    fields = {name: [texts[index] for index in kept] for name, texts in fields.items()}
    if len(numbers) < FEWEST_RECORDS:
        raise DataError(
            f"{source.name}: a fit needs at least {FEWEST_RECORDS} records and there are "
            f"{len(numbers)}{' after keep' if options.keep else ''}: add records"
        )
    scaled = [
        _scaled(source, options.reading, each, numbers, fields[each[0]])
        for each in options.each_covariate
    ] or [(np.zeros(len(numbers)), (0.0, 0.0))]
    covariates, limits = scaled[0]
    if isinstance(options.covariate, list):
        covariates = np.stack([values for values, _ in scaled], axis=-1)
        limits = tuple(each for _, each in scaled)
    array = read(kept)
    if has_landmarks(manifold):
        landmarks, mended = mended_landmarks(
            array, source, numbers, manifold.landmarks, options.outline
        )
        notes += mended
        try:
            points = manifold.from_landmarks(landmarks)
        except NoReducedShapeError as problem:
            raise DataError(
                f"{source.record(numbers[problem.record])}: {problem.reason}"
            ) from problem
    else:
        points = manifold.from_layout(array)
        check_points(manifold, points, source, numbers)
        # Removes the rounding of decimal text.
        points = manifold.project(points)
    # Up to rounding.
    if np.max(manifold.dist(points[:1], points)) <= 1e-9:
        raise DataError(
            f"{source.name}: every {source.record_word} has the same point: a regression needs "
            "points that differ"
        )
    notes += far_records(manifold, points, source, numbers)
    subjects = fields.get(options.subject, [])
    if "" in subjects:
        place = numbers[subjects.index("")]
        raise source.refusal(place, "the value is missing", options.subject)
    if len(set(subjects)) < len(subjects):
        notes.append(
            f"{len(subjects)} records of {len(set(subjects))} subjects: a budget stated per record "
            "is not one per subject"
        )
    return Records(covariates, limits, points, subjects, numbers, source.record_word, notes)


def _kept(source, keep, fields, number):
    """Indices of the records to keep, and notes on them."""

    def label(value):
        # A number if possible, so that 1, 1.0 and "01" are equal.
        found = finite_number(value)
        return str(value).strip() if found is None else found

    kept, wanted = list(range(number)), []
    for name, values in keep.items():
        allowed = values if isinstance(values, (list, tuple)) else [values]
        words = " or ".join(map(str, allowed))
        wanted.append(f"{name} {words}")
        labels = {label(value) for value in allowed}
        left = [index for index in kept if label(fields[name][index]) in labels]
        if kept and not left:
            found = [fields[name][index] for index in kept]
            there = dict.fromkeys(found)
            # Values that no two records share, such as names of subjects, are not for messages.
            shown = "" if len(there) == len(found) else f" (there are: {few(there)})"
            among = "records" if len(kept) == number else "records the filters before it left"
            raise DataError(
                f"{source.name}: keep leaves nothing, since none of the {len(kept)} {among} has "
                f"{words} in {source.field_word} {name}{shown}: correct keep",
                argument="keep",
            )
        kept = left
    if len(kept) == number:
        return kept, []
    return kept, [f"{len(kept)} of {number} records were kept, those with {' and '.join(wanted)}"]


def finite_number(text, kind=float):
    """The finite number that a text states, or ``None``."""
    try:
        value = kind(text)
    except (TypeError, ValueError):
        return None
    # Python reads 1_1 as eleven; in a file it is a name, or a misprint.
    return value if np.isfinite(value) and "_" not in str(text) else None


@dataclass(frozen=True)
class TableReading:
    """How the cells of a table become numbers.

    Attributes
    ----------
    decimal : {".", ","}
        The sign before decimals in text.
    categories : dict
        By column, the number of each word in it.
    sheet : str, optional
        Of an Excel file; by default the first.
    """

    decimal: str = "."
    categories: dict = field(default_factory=dict)
    sheet: str | None = None

    def number(self, text, name):
        """The finite number that a cell of a column states, or ``None``."""
        codes = self.categories.get(name)
        if codes is not None:
            return codes.get(text.strip())
        if self.decimal == ",":
            # A point would be a separator of thousands, or a decimal point: nobody knows.
            return None if "." in text else finite_number(text.replace(",", "."))
        return finite_number(text)

    def fault(self, text, name):
        """Why a cell of a column states no number."""
        codes = self.categories.get(name)
        if not text.strip():
            return "the value is missing"
        if codes is not None:
            near = get_close_matches(text.strip().casefold(), map(str.casefold, codes), n=1)
            meant = [code for code in codes if code.casefold() in near or code[:1] == text[:1]]
            hint = f", and may be meant for {meant[0]}" if meant else ""
            return f"'{text}' is none of the categories {', '.join(codes)}{hint}"
        if self.decimal == "," and "." in text:
            return (
                f"'{text}' has a point, and data.decimal says that decimals follow a comma (where "
                'they follow points, set decimal to ".")'
            )
        if finite_number(text.replace(",", ".")) is not None:
            return (
                f"'{text}' has a comma for its decimal point (decimal: \",\" in the section data "
                "reads a file of such numbers)"
            )
        if finite_number(text.replace(",", "")) is not None:
            return f"'{text}' has commas between its thousands"
        if DATE.match(text):
            return f"'{text}' is a date and not a number"
        if (number := NUMBER.match(text)) is not None:
            return f"'{text}' is not a number alone, such as {number[0].strip()}"
        return f"'{text}' is not a number"


def number_of(text, source, record, field_name, reading=None):
    """Parse the finite number of a cell, by a `TableReading`."""
    reading = reading or TableReading()
    value = reading.number(text, field_name)
    if value is None:
        raise source.refusal(record, reading.fault(text, field_name), field_name)
    return value


def _scaled(source, reading, each, numbers, texts):
    """One of `each_covariate` scaled to [0, 1], and the transformed values that became 0 and 1."""
    name, word, limits = each
    transformation, is_log = TRANSFORMATIONS[word], word == "log"
    raw = [
        number_of(text, source, number, name, reading)
        for text, number in zip(texts, numbers, strict=True)
    ]
    if min(raw) == max(raw):
        raise DataError(
            f"{source.name}: {source.field_word} {name} is {texts[0]} in every "
            f"{source.record_word}: a regression needs a covariate that varies"
        )
    low, high = limits or (min(raw), max(raw))
    if limits and not low < high:
        raise DataError(
            f"{source.name}: covariate_range is {low:g} to {high:g}: give a lower and then a "
            "higher limit",
            argument="covariate_range",
        )
    if limits and is_log and low <= 0.0:
        raise DataError(
            f"{source.name}: covariate_range starts at {low:g}, which has no logarithm: give a "
            "positive limit or set transformation to none",
            argument="covariate_range",
        )
    for value, text, number in zip(raw, texts, numbers, strict=True):
        if not low <= value <= high:
            raise DataError(
                f"{source.cell(number, name)}: {text} lies outside {low:g} to {high:g}: "
                f"{source.remedy}, or change covariate_range",
                argument="covariate_range",
            )
        if is_log and value <= 0.0:
            raise DataError(
                f"{source.cell(number, name)}: {text} has no logarithm: give a positive value or "
                "set transformation to none",
                argument="transformation",
            )
    low, high = transformation(low), transformation(high)
    values = np.array([transformation(value) for value in raw])
    if not limits:
        _refuse_wild_covariate(source, name, numbers, values, texts)
    return (values - low) / (high - low), (low, high)


def _refuse_wild_covariate(source, name, numbers, values, texts, times=1000.0):
    """Refuse a covariate so many times farther out than the others are apart.

    It is a misprint or a code, and leaves them no range after the transformation.
    """
    order = np.argsort(values)
    ascending = values[order]
    for end, others in ((0, ascending[1:]), (-1, ascending[:-1])):
        others_range, away = np.ptp(others), np.max(np.abs(others - ascending[end]))
        if 0.0 < times * others_range < away:
            index = order[end]
            raise source.refusal(
                numbers[index],
                f"{texts[index]} is over {times:g} times farther from the other values "
                "than they are apart",
                name,
            )
