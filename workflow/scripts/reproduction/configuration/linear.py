"""Tables and figures of linear and quantile regression, and of geodesics on the sphere."""

from typing import ClassVar, Literal

from geodp.settings.section import Count, Positive, Section, Share, Text, distinct, integer, some
from reproduction.configuration.figures import PaperFigure
from reproduction.configuration.spaces import TableSection


class SimulatedErrors(TableSection):
    """Errors of mechanisms on simulated data sets."""

    n: distinct(Count)
    """Sizes of data sets."""
    replicates: integer(ge=2)
    """Data sets of each size."""
    budget: Positive
    """Budget of a draw, epsilon."""


class LinearErrors(SimulatedErrors):
    """Errors of linear regression with twelve covariates, private and not; draws are exact."""

    kind: Literal["linear_errors"]


class QuantileErrors(SimulatedErrors):
    """Errors of median regression with one covariate, private and not, drawn by chains."""

    kind: Literal["quantile_errors"]


class LocationErrors(SimulatedErrors):
    """Noise of private means, medians and geometric medians in the plane."""

    kind: Literal["location_errors"]


class ErrorsBySize(TableSection):
    """Means of the table `errors` over data sets, by estimate and size."""

    reads: ClassVar = ("errors",)

    kind: Literal["errors_by_size"]
    column: Literal["distance", "noise"]
    """Distance to the truth, or of private and non-private estimates."""


class QuantileLosses(TableSection):
    """Realised privacy losses of private quantiles, found by a search over neighbours."""

    kind: Literal["quantile_losses"]
    tau: distinct(Share)
    """Quantiles."""
    n: integer(ge=3)
    """Records of the neighbours."""
    budget: Positive
    """Stated budget, epsilon."""


class GeodesicCell(Section):
    """Data sets and a budget."""

    n: integer(ge=3)
    """Records of a data set."""
    noise_variance: Positive
    """Variance of each coordinate of the noise."""
    budget: Positive
    """Budget of the footpoint, and of a shooting vector."""


class Geodesics(TableSection):
    """Draws of the published mechanism for geodesics on the sphere."""

    kind: Literal["geodesics"]
    rows: Literal["data_sets", "draws", "records", "neighbours"]
    """Errors, a row a data set; or, of the first cell: draws, or records, of the first data set; or
    ratios of published to realised sensitivity, a row a pair of neighbours."""
    cells: distinct(GeodesicCell)
    """The first is the one claims are judged at."""
    data_sets: integer(ge=2)
    """Data sets of each cell."""
    pairs: Count
    """Pairs of neighbours."""
    shooting_vector_length: Positive
    """Length of the true geodesics."""
    footpoints: integer(ge=2)
    """Footpoints drawn for a data set."""
    shooting_vectors: integer(ge=2)
    """Shooting vectors drawn at each."""


class Wine(TableSection):
    """Lines of red wine by the published mechanism, beside recorded ones of other tools."""

    kind: Literal["wine"]
    rows: Literal["draws", "settings", "lines"]
    """Errors, a row a draw; errors of DP-SGD, a row a setting; or lines, a row a place."""
    files: some(Text)
    """The table of red wine, and recorded lines of other tools and of Opacus."""
    covariate: Text
    """Column of the covariate."""
    responses: some(Text)
    """Columns of the responses."""
    budgets: distinct(Positive)
    """Budgets of a line."""
    delta: Share
    """Of recorded lines with approximate privacy."""
    draws: Count
    """Draws of the published mechanism."""
    competitors: some(Text)
    """Recorded methods that are compared."""


class WineFigure(PaperFigure):
    """Lines of red wine."""

    tables: ClassVar = ("lines",)
    kind: Literal["wine"]


class LinearFigure(PaperFigure):
    """Errors of linear regression over the number of records."""

    tables: ClassVar = ("bounds",)
    kind: Literal["kng_linear"]


class QuantileFigure(PaperFigure):
    """Errors of median regression over the number of records."""

    tables: ClassVar = ("bounds",)
    kind: Literal["kng_quantile"]


class LocationFigure(PaperFigure):
    """Noise of means and medians, and realised losses of private quantiles."""

    tables: ClassVar = ("bounds", "losses")
    kind: Literal["kng_location"]


class NotebookFigure(PaperFigure):
    """Histograms of draws for one data set, and of ratios of neighbours."""

    tables: ClassVar = ("draws", "neighbours")
    kind: Literal["notebook"]


class NotebookDataFigure(PaperFigure):
    """Records on the sphere and their geodesic."""

    tables: ClassVar = ("records",)
    kind: Literal["notebook_data"]


class NotebookSizesFigure(PaperFigure):
    """Mean absolute errors of private geodesics, and of the fit, over the number of records."""

    tables: ClassVar = ("errors",)
    kind: Literal["notebook_sizes"]


TABLES = (
    LinearErrors,
    QuantileErrors,
    LocationErrors,
    ErrorsBySize,
    QuantileLosses,
    Geodesics,
    Wine,
)
FIGURES = (
    *(LinearFigure, QuantileFigure, LocationFigure),
    *(NotebookFigure, NotebookDataFigure, NotebookSizesFigure, WineFigure),
)
