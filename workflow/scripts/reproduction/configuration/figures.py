"""The section ``figures`` of a study: one model for each kind of figure."""

from typing import Annotated, Literal, Union

from pydantic import Field

from geodp.settings.section import Count, Number, Positive, Section, Text, absent, integer, some


class CellFigure(Section):
    """A figure of one cell."""

    cell: Text
    """Cell that is shown, such as `p0.5_v0.5`; or `all1.0`, of releases."""
    group: Text | None = absent()
    """Its group of data sets, such as `n50_noise0.001`; null for the study's first."""


class ErrorFigure(Section):
    """Error against budget: a panel a grid, a curve a group."""

    kind: Literal["error"]
    grids: some(Text)
    """Grids of budgets, a panel each."""
    groups: some(Text) | None = absent()
    """Groups of data sets, a curve each, 4 at most; null for all with those grids."""
    curves: Literal["n", "noise_variance", "none"] = "none"
    """What tells the curves apart in the legend."""


class CurvesFigure(Section):
    """Geodesics on the sphere at every budget of a grid."""

    kind: Literal["curves"]
    grids: some(Text)
    """Grids of budgets, a geodesic each budget; `release` for those of releases."""
    groups: some(Text)
    """Groups of data sets, a row each."""


class RatiosFigure(Section):
    """Published over realised sensitivity, by number of records."""

    kind: Literal["ratios"]


class SamplersFigure(Section):
    """Diagnostics of the samplers, over budgets."""

    kind: Literal["samplers"]


class TransportFigure(Section):
    """Parallel transport around a loop on the sphere."""

    kind: Literal["transport"]


class PredictedFigure(CellFigure):
    """Predictions at chosen values of the covariate."""

    values: some(Number)
    """Values of the covariate, in its own unit."""
    draws: Count = 1
    """Draws that are shown."""


class ShapesFigure(PredictedFigure):
    """Planar shapes at chosen values of the covariate."""

    kind: Literal["shapes"]
    cell: Text | some(Text)
    """Cell that is shown, or several, a row each."""
    random_walk: bool = False
    """Add a row with draws of the random walk."""


class EllipsesFigure(PredictedFigure):
    """2 x 2 matrices at chosen values of the covariate."""

    kind: Literal["ellipses"]


class RegressionFigure(Section):
    """The fit without privacy: records, curve, residuals, and a table of its parameters."""

    kind: Literal["regression"]


class ConvergenceFigure(CellFigure):
    """Distance of the footpoint from the estimate against steps of the random walk."""

    kind: Literal["convergence"]
    steps: integer(ge=10) = 10000
    """Steps of a walk."""
    chains: integer(ge=2) = 10
    """Walks."""
    draws: integer(ge=2) = 200
    """Independent draws."""
    footpoint_radius: Positive | None = absent()
    """Radius of a wider ball of footpoints, shown besides."""
    reduced: Text | None = absent()
    """Study of the same data after a landmark map, shown besides."""


KINDS = (
    ErrorFigure,
    CurvesFigure,
    RatiosFigure,
    ShapesFigure,
    SamplersFigure,
    TransportFigure,
    EllipsesFigure,
    RegressionFigure,
    ConvergenceFigure,
)

FigureSettings = Annotated[Union[KINDS], Field(discriminator="kind")]  # noqa: UP007
