"""The base class of sections of settings, types of their keys, and errors of validators."""

from difflib import get_close_matches
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WrapValidator, model_validator
from pydantic_core import PydanticCustomError


def refused(words, key=""):
    """Error of a validator: words after the place of a key, such as ": the list is empty".

    ``key`` is the path of one below that place.
    """
    return PydanticCustomError("refused", "{words}", {"words": words, "key": key})


def surplus(key, why):
    """Error of a validator: a key does not go with others."""
    return refused(f": {why}: remove it", key)


def missing(key, why):
    """Error of a validator: others need a key."""
    return refused(f" is missing: {why}: add it", key)


def unknown(key, known):
    """What to say of an unknown key: the nearest known one, or all."""
    near = get_close_matches(str(key), known, n=1)
    remedy = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(known) or 'none'}"
    return f" is unknown: {remedy}"


class Section(BaseModel):
    """A section of settings: keys with types, limits, defaults and, as docstrings, meanings."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, given):
        if isinstance(given, dict):
            cls.check_keys(given)
        return given

    @classmethod
    def check_keys(cls, given):
        """Refuse unknown keys, before other errors of the section."""
        for key in given:
            if key not in cls.model_fields:
                raise refused(unknown(key, list(cls.model_fields)), str(key))


def _as_given(value, check):
    """Check a number without conversion: 1 stays 1, and is printed so."""
    check(value)
    return value


def number(**limits):
    """Type of a number within limits, such as ``gt=0``."""
    return Annotated[float, Field(**limits), WrapValidator(_as_given)]


def integer(**limits):
    """Type of an integer within limits, such as ``ge=1``."""
    return Annotated[int, Field(**limits)]


def some(type_, most=None):
    """Type of a list with at least one entry."""
    return Annotated[list[type_], Field(min_length=1, max_length=most)]  # type: ignore[valid-type]


def _distinct(values):
    for index, value in enumerate(values):
        if value in values[:index]:
            raise refused(f": {value} is listed twice: list it once")
    return values


def distinct(type_):
    """Type of a list with at least one entry and no duplicates."""
    unique = Field(min_length=1, json_schema_extra={"uniqueItems": True})
    return Annotated[list[type_], unique, AfterValidator(_distinct)]  # type: ignore[valid-type]


def named(type_, name=str):
    """Type of a mapping with at least one entry, from names to values."""
    return Annotated[dict[name, type_], Field(min_length=1)]  # type: ignore[valid-type]


def absent():
    """Default of a key that is left out of its section unless it is given."""
    return Field(default=None, exclude_if=lambda value: value is None)


Number = number()
Positive = number(gt=0)
Share = number(gt=0, lt=1)
Count = integer(ge=1)
Seed = integer(ge=0, description="Every random stream is keyed by this number.")
Text = Annotated[str, Field(min_length=1)]

# Decimal text keeps its digits in names and paths, so that 1.0 stays 1.0.
DecimalText = Text | Number

# Names that become parts of files, and of rules.
FileName = Annotated[str, Field(pattern="^[A-Za-z0-9_-]+$")]
Name = Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_]*$")]
