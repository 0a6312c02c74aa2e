"""The sections ``model``, ``mechanism`` and ``budgets`` of a study."""

from dataclasses import fields
from typing import Annotated, Literal, Union

from pydantic import BeforeValidator, ConfigDict, Field, create_model, model_validator

from geodp.mechanisms.registry import named_in
from geodp.models.losses import LOSSES
from geodp.settings.section import DecimalText, Positive, Section, absent, integer, refused, some


class _Described(Section):
    """A section made here, whose keys state their meanings: looking for docstrings takes long."""

    model_config = ConfigDict(use_attribute_docstrings=False)


class NoOptions(Section):
    """No options."""


def _section(name, what, words, numbers, /, **others):
    """A section for something named, of positive numbers by their meanings and other keys."""
    title = "".join(part.capitalize() for part in name.split("_"))
    keys = {key: (Positive, Field(description=meaning)) for key, meaning in numbers.items()}
    return create_model(title + what, __base__=_Described, __doc__=words, **others, **keys)


def _choice(sections):
    """Type of a section whose name chooses its keys, from sections by name.

    The name may stand alone where no other key is required.
    """
    alone = [
        name
        for name, section in sections.items()
        if not any(key.is_required() for key in list(section.model_fields.values())[1:])
    ]

    def change(schema):
        del schema["discriminator"]
        schema["anyOf"] = [{"enum": alone}, *schema.pop("oneOf")]

    return Annotated[
        Union[tuple(sections.values())],  # noqa: UP007
        Field(discriminator="name", json_schema_extra=change),
        BeforeValidator(lambda value: {"name": value} if isinstance(value, str) else value),
    ]


def _loss(name, loss):
    numbers = {each.name: each.metadata["description"] for each in fields(loss)}
    words = loss.__doc__.splitlines()[0]
    return _section(name, "Loss", words, numbers, name=(Literal[name], ...))


def _mechanism(name, entry):
    options = NoOptions, Field(default={}, description="None.")
    if entry.options:
        section = _section(name, "Options", f"Options of {name}.", entry.options)
        options = section, Field(description="Public assumptions.")
    own = {"name": (Literal[name], ...), "options": options}
    return _section(name, "Mechanism", entry.description, {}, **own)


LossSettings = _choice({name: _loss(name, loss) for name, loss in LOSSES.items()})
MechanismSettings = _choice(
    {name: _mechanism(name, entry) for name, entry in named_in("studies").items()}
)


class ModelSettings(Section):
    """`y ~ Exp(p, x_1 v_1 + ... + x_k v_k)` and the loss of a residual."""

    covariates: integer(ge=0, le=9) = 1
    """k: 0 for a Frechet mean, 1 for a geodesic."""
    loss: LossSettings = Field(default={"name": "squared_distance"})
    """Loss of a record: a name alone, or a mapping with the loss's own keys."""


class BudgetGrid(Section):
    """Privacy budgets of several cells: `totals`, or a `total` with the parts of one block."""

    totals: some(DecimalText) | None = absent()
    """Budgets in all, each divided equally among the blocks of the model."""
    total: DecimalText | None = absent()
    """One budget in all, of which a block gets parts."""
    footpoint: some(DecimalText) | None = absent()
    """Parts of `total` for the footpoint; the shooting vector gets the rest."""
    shooting_vector: some(DecimalText) | None = absent()
    """Parts of `total` for the shooting vector; the footpoint gets the rest."""

    @model_validator(mode="after")
    def _one_form(self):
        given = sorted(self.model_fields_set)
        if given not in (["totals"], ["footpoint", "total"], ["shooting_vector", "total"]):
            raise refused(
                f": it has {' and '.join(given) or 'no key'}: give totals alone, or total with "
                "footpoint or shooting_vector"
            )
        return self
