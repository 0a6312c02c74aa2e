"""The section ``figures`` of a study: one model for each kind of figure."""

from typing import ClassVar, Literal

from geodp.settings.section import Count, Number, Positive, Section, Text, absent, integer, some


class FigureSection(Section):
    """A figure; `reproduction.figures` has a module for each kind."""

    # Names of the tables that it reads: of a study, or else a kind that is made for it alone.
    tables: ClassVar[tuple[str, ...]] = ()
    # Whether it shows draws, so that its caption warns where their budgets do not hold.
    shows_draws: ClassVar[bool] = True

    number: Text | None = absent()
    """Its number in the study's paper."""


class CellFigure(FigureSection):
    """A figure of one cell."""

    cell: Text
    """Cell that is shown, such as `p0.5_v0.5`; or `all1.0`, of releases."""
    group: Text | None = absent()
    """Its group of data sets, such as `n50_noise0.001`; null for the study's first."""


class ErrorFigure(FigureSection):
    """Error against budget: a panel a grid, a curve a group."""

    tables: ClassVar = ("errors",)

    kind: Literal["error"]
    grids: some(Text)
    """Grids of budgets, a panel each."""
    groups: some(Text) | None = absent()
    """Groups of data sets, a curve each, 4 at most; null for all with those grids."""
    curves: Literal["n", "noise_variance", "none"] = "none"
    """What tells the curves apart in the legend."""


class CurvesFigure(FigureSection):
    """Geodesics on the sphere at every budget of a grid."""

    tables: ClassVar = ("curves",)

    kind: Literal["curves"]
    grids: some(Text)
    """Grids of budgets, a geodesic each budget; `release` for those of releases."""
    groups: some(Text)
    """Groups of data sets, a row each."""


class RatiosFigure(FigureSection):
    """Published over realised sensitivity, by number of records."""

    tables: ClassVar = ("neighbours",)
    shows_draws: ClassVar = False

    kind: Literal["ratios"]


class SamplersFigure(FigureSection):
    """Diagnostics of the samplers, over budgets."""

    tables: ClassVar = ("diagnostics",)
    shows_draws: ClassVar = False

    kind: Literal["samplers"]


class TransportFigure(FigureSection):
    """Parallel transport around a loop on the sphere."""

    tables: ClassVar = ("transport",)
    shows_draws: ClassVar = False

    kind: Literal["transport"]


class PredictedFigure(CellFigure):
    """Predictions at chosen values of the covariate."""

    tables: ClassVar = ("predictions",)

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


class RegressionFigure(FigureSection):
    """The fit without privacy: records, curve, residuals, and a table of its parameters."""

    tables: ClassVar = ("regression",)
    shows_draws: ClassVar = False

    kind: Literal["regression"]


class ConvergenceFigure(CellFigure):
    """Distance of the footpoint from the estimate against steps of the random walk."""

    tables: ClassVar = ("convergence",)

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
