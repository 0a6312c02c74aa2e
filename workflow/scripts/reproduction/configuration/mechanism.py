"""The sections ``model``, ``mechanism`` and ``budgets`` of a study."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

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


class SquaredDistanceLoss(Section):
    """Half the squared distance of a record to its prediction: least squares."""

    name: Literal["squared_distance"] = Field(description="Name of the loss.")


class DistanceLoss(Section):
    """The distance itself: without covariates its minimum is the geometric median."""

    name: Literal["distance"] = Field(description="Name of the loss.")


class HuberLoss(Section):
    """Half the squared distance up to a threshold, linear beyond."""

    name: Literal["huber"] = Field(description="Name of the loss.")
    threshold: Positive = Field(
        description="Where the loss becomes linear, in the manifold's unit of length."
    )


LossSettings = Annotated[
    SquaredDistanceLoss | DistanceLoss | HuberLoss,
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
        json_schema_extra=or_name("squared_distance", "distance"),
        description="Loss of a record: a name alone, or a mapping with the loss's own keys.",
    )


class NoOptions(Section):
    """No options."""


class CertifiedOptions(Section):
    """Public assumptions of the certified mechanism."""

    residual_scale: Positive = Field(
        description="A guess: standard deviation of the records about their geodesic, in each "
        "direction; it chooses where residuals are clipped."
    )


class KngAsPublishedMechanismSettings(Section):
    """K-norm gradient mechanism, as published; its stated budget does not hold."""

    name: Literal["kng_as_published"] = Field(description="Name of the mechanism.")
    options: NoOptions = Field(default={}, validate_default=True, description="None.")


class CertifiedMechanismSettings(Section):
    """Draws of all blocks at once, private with a proof at the budget in all."""

    name: Literal["certified"] = Field(description="Name of the mechanism.")
    options: CertifiedOptions = Field(description="Public assumptions.")


class LaplaceMechanismSettings(Section):
    """Riemannian Laplace mechanism of a Frechet mean; needs `data_radius`."""

    name: Literal["laplace"] = Field(description="Name of the mechanism.")
    options: NoOptions = Field(default={}, validate_default=True, description="None.")


# The mechanisms of geodp.mechanisms.registry, each with its options.
MechanismSettings = Annotated[
    KngAsPublishedMechanismSettings | CertifiedMechanismSettings | LaplaceMechanismSettings,
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
