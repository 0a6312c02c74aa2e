"""Files of claims: a typed row each, checked by a model."""

from itertools import groupby
from typing import Annotated, NamedTuple

import pandas as pd
from pydantic import (
    BaseModel,
    BeforeValidator,
    PlainValidator,
    StringConstraints,
    ValidationError,
    model_validator,
)

from geodp.errors import DataError
from geodp.settings.section import refused
from reproduction.claims.comparisons import MEASURES
from reproduction.claims.conditions import Conditions
from reproduction.claims.measures import DIRECTIONS

TABLES = ("errors", "neighbours", "losses", "convergence", "bounds", "draws", "settings")


def _parsed(parse, advice):
    """Validator of a text that ``parse`` takes."""

    def validate(text):
        try:
            return parse(text)
        except ValueError:
            raise refused(f"'{text}' is not {advice}") from None

    return PlainValidator(validate)


def _one_of(names):
    """Validator of a name."""

    def validate(name):
        if name not in names:
            raise refused(f"'{name}' is not known: use one of {', '.join(filter(None, names))}")
        return name

    return PlainValidator(validate)


Selection = Annotated[
    Conditions,
    _parsed(
        Conditions.parse,
        "a selection of rows: compare columns with texts and numbers, joined by and and or, such "
        "as sampler == 'default' and n in [20, 50]",
    ),
]
Criterion = Annotated[
    Conditions,
    _parsed(
        Conditions.of_number,
        "a criterion: write comparisons of value with numbers, such as value >= 0.95",
    ),
]
Filled = Annotated[str, StringConstraints(min_length=1)]
Words = Annotated[list[str], BeforeValidator(str.split)]


class Claim(BaseModel):
    """A row of a file of claims; ``resources/published/README.md`` says what its columns mean.

    ``place`` is the row's place in messages.
    """

    place: str
    claim: Filled
    part: str
    reading: str
    section: str
    figure: str
    study: str
    mechanism: Filled
    statement: str
    quantity: str
    measure: Annotated[str, _one_of(MEASURES)]
    table: Annotated[str, _one_of(TABLES)]
    where: Selection
    along: Annotated[str, StringConstraints(strip_whitespace=True)]
    within: Words
    column: Words
    direction: Annotated[str, _one_of(DIRECTIONS)]
    against: str
    against_where: Selection
    holds: Criterion
    in_part: Criterion
    needs: Selection = Conditions.parse("")
    construction: str = ""

    @property
    def sentence(self):
        """Identifier of the sentence that the row belongs to: what stands before a point."""
        return sentence_of(self.claim)

    @property
    def other(self):
        """Study and mechanism that the claim compares with; empty if there is no other."""
        study, _, mechanism = self.against.partition(" ")
        return (study, mechanism or self.mechanism) if study else ()

    @model_validator(mode="after")
    def _fits_its_measure(self):
        """Refuse a row that does not give its measure what it needs."""
        name, measure = self.measure, MEASURES[self.measure]
        for column in measure.needed:
            if not getattr(self, column):
                raise refused(f"it is empty and {name} needs it: fill it in", column)
        if self.against and "against" not in measure.needed:
            raise refused(f"{name} looks at one study: leave the column empty", "against")
        count = len(self.column)
        if count != measure.columns and not (count and measure.columns is None):
            wanted = measure.columns or "one or more"
            raise refused(
                f"it names {count} columns and {name} takes {wanted}: name as many", "column"
            )
        return self


def sentence_of(claim):
    """Identifier of the sentence that a row belongs to: what stands before a point."""
    return claim.partition(".")[0]


class Paper(NamedTuple):
    """A paper's name and its claims, each with the statement of its sentence."""

    name: str
    claims: list[Claim]


def read_paper(name, file, source):
    """A paper's claims from a CSV file, checked; ``source`` is what messages call it."""
    try:
        table = pd.read_csv(file, dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as problem:
        reason = " ".join(str(problem).split())
        raise DataError(
            f"{source}: it is no table of comma-separated values ({reason}): correct it"
        ) from problem
    for column, field in Claim.model_fields.items():
        if column not in table.columns and field.is_required() and column != "place":
            raise DataError(f"{source}, row 1: there is no column {column}: add it")
    if table.empty:
        raise DataError(f"{source}: it holds no claim: add one, or leave the paper out")
    claims = [
        _checked(row | {"place": f"{source}, row {number} (claim '{row['claim']}')"})
        for number, row in enumerate(table.to_dict("records"), start=2)
    ]
    _check_sentences(claims)
    statements = {claim.sentence: claim.statement for claim in claims if claim.statement}
    return Paper(
        name,
        [claim.model_copy(update={"statement": statements[claim.sentence]}) for claim in claims],
    )


def _checked(row):
    """A claim; of what is wrong with it, one sentence."""
    try:
        return Claim.model_validate(row)
    except ValidationError as problem:
        [first, *_] = problem.errors()
        context = first.get("ctx", {})
        column = first["loc"][0] if first["loc"] else context["key"]
        words = context.get("words", "it is empty: fill it in")
        raise DataError(f"{row['place']}, column {column}: {words}") from None


def _check_sentences(claims):
    """Refuse rows that do not say what they are of their sentence."""
    done = set()
    for sentence, rows in groupby(claims, lambda claim: claim.sentence):
        rows = list(rows)
        if sentence in done:
            raise DataError(
                f"{rows[0].place}: other rows stand between those of {sentence}: put them together"
            )
        done.add(sentence)
        names = [row.claim for row in rows]
        counting = [row for row in rows if not row.reading]
        for row in rows:
            first = row is rows[0]
            unnamed = row in counting and not row.part and len(counting) > 1
            for wrong, column, words in (
                (names.count(row.claim) > 1, "claim", "another row has this name: rename one"),
                (
                    first != bool(row.statement),
                    "statement",
                    "the first row of a sentence has its statement, and no other: "
                    + ("fill it in" if first else "leave it empty"),
                ),
                (first and row.reading, "reading", "the first row of a sentence counts: empty it"),
                (
                    row.reading and row.part,
                    "reading",
                    "the row is a part of its sentence: empty one",
                ),
                (unnamed, "part", "its sentence has several: say which one it is"),
            ):
                if wrong:
                    raise DataError(f"{row.place}, column {column}: {words}")
