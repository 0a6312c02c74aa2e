"""The base class of sections of a configuration, types of keys, and errors of validators."""

from difflib import get_close_matches
from typing import Annotated

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError


def refused(sentence, key=""):
    """Error of a validator.

    Parameters
    ----------
    sentence : str
        Text after the place of the key, such as ": the list is empty".
    key : str
        Path of a key below that place.
    """
    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence, "key": key})


def unknown(key, known):
    """Error for an unknown key, with the nearest known one."""
    near = get_close_matches(str(key), known, n=1)
    remedy = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(known)}"
    return refused(f" is unknown: {remedy}", str(key))


class Section(BaseModel):
    """A section of a configuration: keys with types, limits, descriptions and defaults."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, given):
        if isinstance(given, dict):
            cls.check_keys(given)
        return given

    @classmethod
    def check_keys(cls, given):
        """Refuse unknown keys, before other errors of the section."""
        known = list(cls.model_fields)
        for key in given:
            if key not in known:
                raise unknown(key, known)


def refuse_descending(section, low, high):
    """Refuse limits of which the lower one is the larger."""
    lower, upper = getattr(section, low), getattr(section, high)
    if lower > upper:
        raise refused(
            f": {lower} is more than {high}, {upper}: lower it or raise {high}",
            low,
        )


def _as_given(value, check):
    """Check a number without conversion: 1 stays 1, and is printed so."""
    check(value)
    return value


def number(**limits):
    """Type of a number within limits, such as ``gt=0``."""
    return Annotated[float, Field(strict=True, **limits), WrapValidator(_as_given)]


def integer(**limits):
    """Type of an integer within limits, such as ``ge=1``."""
    return Annotated[int, Field(strict=True, **limits)]


def some(type_):
    """Type of a list with at least one entry."""
    return Annotated[list[type_], Field(min_length=1)]


def _distinct(values):
    if isinstance(values, list):
        for index, value in enumerate(values):
            if value in values[:index]:
                raise refused(f": {value} is listed twice: list it once")
    return values


def distinct(type_):
    """Type of a list with at least one entry and no duplicates."""
    return Annotated[
        list[type_],
        Field(min_length=1, json_schema_extra={"uniqueItems": True}),
        BeforeValidator(_distinct),
    ]


def one_of(type_, forms):
    """Type of a key with several forms, with an error that names them."""

    def checked(value, check):
        try:
            return check(value)
        except ValidationError as problem:
            if value == []:
                raise refused(": the list is empty: give at least one entry") from problem
            raise refused(f": {value!r} has none of its forms: give {forms}") from problem

    return Annotated[type_, WrapValidator(checked)]


def absent(**limits):
    """Default of a key that is left out of its section unless it is given."""
    return Field(default=None, exclude_if=lambda value: value is None, **limits)


Number = number()
Positive = number(gt=0)
Share = number(gt=0, lt=1)
Count = integer(ge=1)
Seed = integer(ge=0)
Text = Annotated[str, Field(strict=True)]
Truth = Annotated[bool, Field(strict=True)]
Coordinates = list[Number]

# Names that become parts of rules and files.
FileName = Annotated[str, StringConstraints(strict=True, pattern="^[A-Za-z0-9_-]+$")]
Name = Annotated[str, StringConstraints(strict=True, pattern="^[A-Za-z][A-Za-z0-9_]*$")]

# Decimal text keeps its digits in names and paths, so that 1.0 stays 1.0.
DecimalText = one_of(Text | Number, 'a decimal number such as "0.5"')


def check_variance(value):
    """Refuse anything but a number above zero; text keeps its digits in names."""
    try:
        positive = 0.0 < float(value) < float("inf")
    except (TypeError, ValueError):
        positive = False
    if not positive or isinstance(value, bool):
        raise refused(f': {value!r} is not a number above zero: give a variance such as "0.001"')
    return value


Variance = Annotated[Text | Number, BeforeValidator(check_variance)]
