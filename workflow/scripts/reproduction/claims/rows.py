"""Files of claims: a typed row each, checked by a model."""

from typing import Annotated, Literal

import pandas as pd
from pydantic import AfterValidator, BeforeValidator, StringConstraints, model_validator

from geodp.errors import DataError
from geodp.settings.section import Section, Text, refused
from geodp.settings.settings_files import check
from reproduction.claims.conditions import criterion, selection
from reproduction.claims.measures import MEASURES


def _known(name):
    if name not in MEASURES:
        raise refused(f": '{name}' is not known: use one of {', '.join(MEASURES)}")
    return name


Trimmed = Annotated[str, StringConstraints(strip_whitespace=True)]
Selection = Annotated[Trimmed, AfterValidator(selection)]
Criterion = Annotated[Trimmed, AfterValidator(criterion)]
Words = Annotated[list[str], BeforeValidator(str.split)]


class Claim(Section):
    """A row of a file of claims; ``resources/published/README.md`` says what its columns mean.

    ``place`` is the row's place in messages.
    """

    place: str
    claim: Text
    part: str
    reading: str
    section: str
    figure: str
    study: str
    mechanism: Text
    statement: str
    quantity: str
    measure: Annotated[str, AfterValidator(_known)]
    table: Literal["errors", "neighbours", "losses", "convergence", "bounds", "draws", "settings"]
    where: Selection
    along: Trimmed
    within: Words
    column: Words
    direction: Literal["", "falls", "rises"]
    against: str
    against_where: Selection
    holds: Criterion
    in_part: Criterion
    needs: Selection = ""
    construction: str = ""

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
                raise refused(f": it is empty and {name} needs it: fill it in", column)
        if self.against and "against" not in measure.needed:
            raise refused(f": {name} looks at one study: leave the column empty", "against")
        count = len(self.column)
        if count != measure.columns and not (count and measure.columns is None):
            wanted = measure.columns or "one or more"
            raise refused(
                f": it names {count} columns and {name} takes {wanted}: name as many", "column"
            )
        return self


def sentence_of(claim):
    """Identifier of the sentence that a row belongs to: what stands before a point."""
    return claim.partition(".")[0]


def read_claims(file, source):
    """A paper's claims, a list, from a CSV file, checked; ``source`` is what messages call it.

    Each has the statement of its sentence.
    """
    try:
        table = pd.read_csv(file, dtype=str, keep_default_na=False)
    except ValueError as problem:
        reason = " ".join(str(problem).split())
        raise DataError(
            f"{source}: it is no table of comma-separated values ({reason}): correct it"
        ) from problem
    if table.empty:
        raise DataError(f"{source}: it holds no claim: add one, or leave the paper out")
    table = table.filter(items=Claim.model_fields)
    names = table.get("claim", pd.Series("", table.index))
    table["place"] = [
        f"{source}, row {number} (claim '{name}')" for number, name in enumerate(names, start=2)
    ]
    claims = list(map(_checked, table.to_dict("records")))
    _check_sentences(table)
    statements = table.groupby(names.map(sentence_of))["statement"].transform("first")
    return [
        claim.model_copy(update={"statement": statement})
        for claim, statement in zip(claims, statements, strict=True)
    ]


def _checked(row):
    try:
        return check(Claim, row)
    except DataError as problem:
        raise DataError(f"{row['place']}, column {str(problem).removeprefix('key ')}") from None


def _check_sentences(table):
    """Refuse rows that do not say what they are of their sentence."""
    sentences = table["claim"].map(sentence_of)
    first, counts = ~sentences.duplicated(), table["reading"] == ""
    is_stated, is_part = table["statement"] != "", table["part"] != ""
    several = counts.groupby(sentences).transform("sum") > 1
    statement = "statement: the first row of a sentence has its statement, and no other: "
    for words, wrong in (
        (
            "claim: other rows stand between those of its sentence: put them together",
            ~first & (sentences != sentences.shift()),
        ),
        ("claim: another row has this name: rename one", table["claim"].duplicated()),
        (f"{statement}fill it in", first & ~is_stated),
        (f"{statement}leave it empty", ~first & is_stated),
        ("reading: the first row of a sentence counts: empty it", first & ~counts),
        ("reading: the row is a part of its sentence: empty one", ~counts & is_part),
        ("part: its sentence has several: say which one it is", counts & ~is_part & several),
    ):
        if wrong.any():
            raise DataError(f"{table['place'][wrong.idxmax()]}, column {words}")
