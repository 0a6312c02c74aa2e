"""The section ``figures`` of a study: one model for each kind of figure."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from geodp.settings.section import (
    Count,
    Number,
    Positive,
    Section,
    Text,
    absent,
    integer,
    named,
    some,
    surplus,
)

# Table that a figure of data and draws reads, by its kind: of a study, or made for it alone.
TABLE_OF = {
    **{"error": "errors", "ratios": "neighbours", "samplers": "diagnostics"},
    **{"shapes": "predictions", "ellipses": "predictions"},
    **{name: name for name in ("convergence", "curves", "regression", "transport")},
}

# Curves that readers can tell apart, as many as `reproduction.figures.style` has styles.
MOST_CURVES = 4


class FigureSection(Section):
    """A figure; `reproduction.figures` has a module for each kind."""

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

    kind: Literal["error"]
    grids: some(Text)
    """Grids of budgets, a panel each."""
    groups: some(Text) | None = absent()
    """Groups of data sets, a curve each, 4 at most; null for all with those grids."""
    curves: Literal["n", "noise_variance", "none"] = "none"
    """What tells the curves apart in the legend; none for what differs."""


class CurvesFigure(FigureSection):
    """Geodesics on the sphere at every budget of a grid."""

    kind: Literal["curves"]
    grids: some(Text)
    """Grids of budgets, a geodesic each budget; `release` for those of releases."""
    groups: some(Text)
    """Groups of data sets, a row each."""


class FigureWithoutDraws(FigureSection):
    """A figure that shows no draws, so that its caption does not warn of their budgets."""

    kind: Literal["ratios", "samplers", "transport", "regression"]
    """Published over realised sensitivity, by number of records; diagnostics of the samplers, over
    budgets; parallel transport around a loop on the sphere; or the fit without privacy: records,
    curve, residuals, and a table of its parameters."""


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


# --- Figures of tables that are computed ---


class PaperFigure(FigureSection):
    """A figure of tables that are computed."""

    studies: some(Text) | None = absent()
    """Studies whose tables it shows together; its own unless given."""

    @classmethod
    def reads(cls, settings):
        """Columns that a figure needs, from its settings, by the names of tables."""
        raise NotImplementedError


class Panel(Section):
    """A panel of curves, or one for each value of a column."""

    table: Text
    """Table that it shows."""
    x: Text
    """Column of the horizontal axis."""
    y: Text | some(Text)
    """Column of the vertical axis, of which curves are means with a band of two standard errors; or
    several, a curve each."""
    of: Text | None = absent()
    """Column that tells curves apart, of one `y`."""
    each: Text | None = absent()
    """Column with a panel for each value."""
    where: dict[Text, Number] = Field(default={})
    """Numbers that rows have, by column."""
    over: Text | None = absent()
    """Curve that the others are divided by."""
    band: Annotated[list[Text], Field(min_length=2, max_length=2)] | None = absent()
    """Columns of the ends of bands, where a curve has one row at each x."""
    dots: list[Text] = Field(default=[])
    """Curves whose rows are dots."""
    log: list[Literal["x", "y"]] = Field(default=[])
    """Axes that are logarithmic."""
    from_zero: bool = True
    """Whether a vertical axis that is not logarithmic begins at zero."""
    line: Number | None = absent()
    """Value on the vertical axis that is marked."""
    xlabel: Text
    """What the horizontal axis is called."""
    ylabel: Text
    """What the vertical axis is called."""

    @model_validator(mode="after")
    def _curves_have_one_name(self):
        if self.of is not None and isinstance(self.y, list):
            raise surplus("of", "curves of several columns are told apart by these")
        if self.over is not None and (self.dots or self.band is not None):
            raise surplus("over", "dots and bands of columns are divided by no curve")
        return self


class LinesFigure(PaperFigure):
    """Curves over a column of tables."""

    kind: Literal["lines"]
    panels: some(Panel)
    """Panels; those of one value of `each` stand in a row."""
    labels: named(Text, Text)
    """Names of curves in the legend, in this order, and of values of `each`; other curves are left
    out."""
    caption: Text
    """What the report says of it."""

    @classmethod
    def reads(cls, settings):
        found: dict = {}
        for panel in settings["panels"]:
            y = panel["y"] if isinstance(panel["y"], list) else [panel["y"]]
            also = (panel[key] for key in ("of", "each") if key in panel)
            columns = [panel["x"], *y, *also, *panel["where"], *panel.get("band", [])]
            found.setdefault(panel["table"], []).extend(columns)
        return found


class TablesFigure(PaperFigure):
    """A figure of one paper."""

    kind: Literal["mean_shapes", "notebook", "notebook_data"]
    """Private mean shapes over the mean; histograms of draws of geodesics and of ratios of
    neighbours; or records and their geodesic."""
    shows: ClassVar = {
        "mean_shapes": {"errors": "space mechanism draw simulated"},
        "notebook": {
            "draws": "distance angle absolute_error non_private_absolute_error",
            "neighbours": "ratio_footpoint ratio_shooting_vector",
        },
        "notebook_data": {"records": "kind coordinate_1 coordinate_2 coordinate_3"},
    }

    @classmethod
    def reads(cls, settings):
        return {name: columns.split() for name, columns in cls.shows[settings["kind"]].items()}


KINDS = (
    *(ErrorFigure, CurvesFigure, ShapesFigure, EllipsesFigure, FigureWithoutDraws),
    *(ConvergenceFigure, LinesFigure, TablesFigure),
)
