"""The sections ``model``, ``mechanism`` and ``budgets`` of a study."""

from dataclasses import fields
from typing import Annotated, Literal, Union

from pydantic import BeforeValidator, Field, create_model, model_validator

from geodp.mechanisms.registry import MECHANISMS
from geodp.models.losses import LOSSES
from reproduction.configuration.section import (
    DecimalText,
    Positive,
    Section,
    absent,
    integer,
    refused,
    some,
)


def _named(value):
    """Section from a name alone, as a dict with no other key."""
    return {"name": value} if isinstance(value, str) else value


def or_name(*names):
    """Change of a JSON schema that allows some forms to be given by their names alone."""

    def change(schema):
        del schema["discriminator"]
        schema["anyOf"] = [{"enum": list(names)}, *schema.pop("oneOf")]

    return change


def _section(name, title, description, **keys):
    """A section whose first key is a fixed name."""
    return create_model(
        "".join(part.capitalize() for part in name.split("_")) + title,
        __base__=Section,
        __doc__=description,
        name=(Literal[name], Field(description=f"Name of the {title.lower()}.")),
        **keys,
    )


def _numbers(descriptions):
    """Keys that are positive numbers, from their descriptions by name."""
    return {
        name: (Positive, Field(description=description))
        for name, description in descriptions.items()
    }


def _loss_section(name, loss):
    """The section of a loss: its first line, and its fields."""
    described = {each.name: each.metadata["description"] for each in fields(loss)}
    return _section(name, "Loss", loss.__doc__.splitlines()[0], **_numbers(described))


def _mechanism_section(name, entry):
    """The section of a mechanism, with its options."""
    title = "".join(part.capitalize() for part in name.split("_"))
    if entry.options:
        options = create_model(
            f"{title}Options",
            __base__=Section,
            __doc__=f"Options of {name}.",
            **_numbers(entry.options),
        )
        key = (options, Field(description="Public assumptions."))
    else:
        key = (NoOptions, Field(default={}, validate_default=True, description="None."))
    return _section(name, "Mechanism", entry.description, options=key)


class NoOptions(Section):
    """No options."""


LossSettings = Annotated[
    Union[tuple(_loss_section(*each) for each in LOSSES.items())],  # noqa: UP007
    Field(discriminator="name"),
    BeforeValidator(_named),
]


class ModelSettings(Section):
    """`y ~ Exp(p, x_1 v_1 + ... + x_k v_k)` and the loss of a residual."""

    covariates: integer(ge=0, le=9) = Field(
        default=1, description="k: 0 for a Frechet mean, 1 for a geodesic."
    )
    loss: LossSettings = Field(
        default={"name": "squared_distance"},
        validate_default=True,
        json_schema_extra=or_name(*(name for name, loss in LOSSES.items() if not fields(loss))),
        description="Loss of a record: a name alone, or a mapping with the loss's own keys.",
    )


# The mechanisms of geodp.mechanisms.registry, each with its options.
MechanismSettings = Annotated[
    Union[tuple(_mechanism_section(*each) for each in MECHANISMS.items())],  # noqa: UP007
    Field(discriminator="name"),
    BeforeValidator(_named),
]


class BudgetGrid(Section):
    """Privacy budgets of several cells: `totals`, or a `total` with the parts of one block."""

    totals: some(DecimalText) | None = absent(
        description="Budgets in all, each divided equally among the blocks of the model."
    )
    total: DecimalText | None = absent(
        description="One budget in all, of which a block gets parts."
    )
    footpoint: some(DecimalText) | None = absent(
        description="Parts of `total` for the footpoint; the shooting vector gets the rest."
    )
    shooting_vector: some(DecimalText) | None = absent(
        description="Parts of `total` for the shooting vector; the footpoint gets the rest."
    )

    @model_validator(mode="after")
    def _one_form(self):
        given = sorted(self.model_fields_set)
        if given not in (["totals"], ["footpoint", "total"], ["shooting_vector", "total"]):
            raise refused(
                f": it has {' and '.join(given) or 'no key'}: give totals alone, or total with "
                "footpoint or shooting_vector"
            )
        return self
