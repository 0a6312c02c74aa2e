"""The section ``figures`` of a study: one model for each kind of figure."""

from typing import Annotated, Literal, Union

from pydantic import Field

from reproduction.configuration.section import (
    Number,
    Positive,
    Section,
    Text,
    Truth,
    absent,
    integer,
    one_of,
    refused,
    some,
    unknown,
)


class Figure(Section):
    """Settings of a figure; a subclass for each kind."""

    @classmethod
    def check_keys(cls, given):
        """See `Section.check_keys`; errors name the kind of the figure."""
        known = list(cls.model_fields)
        others = {key for kind in KINDS for key in kind.model_fields}
        for key in given:
            if key in others and key not in known:
                raise refused(f": a figure of kind {given['kind']} has no such key: remove it", key)
            if key not in known:
                raise unknown(key, known)
        for key, field in cls.model_fields.items():
            if field.is_required() and key not in given:
                raise refused(f" is missing: a figure of kind {given['kind']} needs it", key)


class CellFigure(Figure):
    """A figure of one cell."""

    cell: Text = Field(
        description="Cell that is shown, such as `p0.5_v0.5`; or `all1.0`, of releases."
    )
    group: Text | None = absent(
        description="Its group of data sets, such as `n50_noise0.001`; else the study's first, and "
        "that in place of a stand-in where there is a file."
    )


class ErrorFigure(Figure):
    """Error against budget: a panel a grid, a curve a group."""

    kind: Literal["error"] = Field(description="Kind of the figure.")
    grids: some(Text) = Field(description="Grids of budgets, a panel each.")
    groups: some(Text) | None = absent(
        description="Groups of data sets, a curve each, 4 at most; else all with those grids."
    )
    curves: Literal["n", "noise_variance", "none"] = Field(
        default="none", description="What tells the curves apart in the legend."
    )


class CurvesFigure(Figure):
    """Geodesics on the sphere at every budget of a grid."""

    kind: Literal["curves"] = Field(description="Kind of the figure.")
    grids: some(Text) = Field(
        description="Grids of budgets, a geodesic each budget; `release` for those of releases."
    )
    groups: some(Text) = Field(description="Groups of data sets, a row each.")


class RatiosFigure(Figure):
    """Published over realised sensitivity, by number of records."""

    kind: Literal["ratios"] = Field(description="Kind of the figure.")


class SamplersFigure(Figure):
    """Diagnostics of the samplers, over budgets."""

    kind: Literal["samplers"] = Field(description="Kind of the figure.")


class TransportFigure(Figure):
    """Parallel transport around a loop on the sphere."""

    kind: Literal["transport"] = Field(description="Kind of the figure.")


class PredictedFigure(CellFigure):
    """Predictions at chosen values of the covariate."""

    values: some(Number) = Field(description="Values of the covariate, in its own unit.")
    draws: integer(ge=1) = Field(default=1, description="Draws that are shown.")


class ShapesFigure(PredictedFigure):
    """Planar shapes at chosen values of the covariate."""

    kind: Literal["shapes"] = Field(description="Kind of the figure.")
    cell: one_of(Text | some(Text), "a cell or a list of cells") = Field(
        description="Cell that is shown, or several, a row each."
    )
    random_walk: Truth = Field(
        default=False,
        description="Add a row with draws of the random walk, which must run on the cell.",
    )


class EllipsesFigure(PredictedFigure):
    """2 x 2 matrices at chosen values of the covariate."""

    kind: Literal["ellipses"] = Field(description="Kind of the figure.")


class ConvergenceFigure(CellFigure):
    """Distance of the footpoint from the estimate against steps of the random walk."""

    kind: Literal["convergence"] = Field(description="Kind of the figure.")
    steps: integer(ge=10) = Field(default=10000, description="Steps of a walk.")
    chains: integer(ge=2) = Field(default=10, description="Walks.")
    draws: integer(ge=2) = Field(default=200, description="Independent draws.")
    footpoint_radius: Positive | None = absent(
        description="Radius of a wider ball of footpoints, shown besides."
    )
    reduced: Text | None = absent(
        description="Study of the same data after a landmark map, shown besides."
    )


KINDS = (
    ErrorFigure,
    CurvesFigure,
    RatiosFigure,
    ShapesFigure,
    SamplersFigure,
    TransportFigure,
    EllipsesFigure,
    ConvergenceFigure,
)

FigureSettings = Annotated[Union[KINDS], Field(discriminator="kind")]  # noqa: UP007
