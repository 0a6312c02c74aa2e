"""Sections of a study's ``tables``: one model for each kind of computed table."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from geodp.errors import DataError
from geodp.mechanisms.registry import mechanism_class, named_in
from geodp.models.sensitivity import convexity
from geodp.settings.section import (
    Count,
    Positive,
    Section,
    Share,
    Text,
    distinct,
    integer,
    named,
    number,
    refused,
    some,
    surplus,
)
from geodp.settings.shared_sections import ManifoldSettings
from reproduction.configuration.study_sections import PublicCentre, TableData, check_centre

Budget = number(gt=0, description="Budget of a draw, epsilon.")
Radius = number(gt=0, description="Radius of the public ball.")
Sizes = Annotated[distinct(Count), Field(description="Sizes of data sets.")]
Replicates = integer(ge=2, description="Data sets of each size.")
Draws = integer(ge=2, description="Draws of each mechanism.")
SpaceName = Annotated[
    Text,
    Field(description="Name of the space in tables and figures; random numbers are keyed by it."),
]
MeanMechanism = Literal[tuple(named_in("means"))]  # type: ignore[valid-type]


class ComputedTable(Section):
    """A table that is computed by the function of `reproduction.tables` called like its kind."""

    # The module of that function.
    module: ClassVar[str]
    # Columns that figures and other tables may read, where they depend on its rows by these.
    columns: ClassVar[str | dict[str, str]]
    # Columns that it needs of other tables of the study, by the names of these.
    reads: ClassVar[dict[str, tuple[str, ...]]] = {}

    @classmethod
    def columns_of(cls, settings):
        """Columns of the table with some settings, a dict."""
        given = cls.columns
        return (given if isinstance(given, str) else given[settings["rows"]]).split()


def check(key, function, *arguments):
    """Call a function of the library, whose `DataError` is then of a key."""
    try:
        function(*arguments)
    except DataError as problem:
        raise refused(f": {problem}", key) from problem


# --- Private Frechet means ---


class TableOfSpace(ComputedTable):
    """A table of one space."""

    module = "means"
    # Names of the spaces that it is for, with the only size of each if there is one, else from 2.
    spaces: ClassVar[dict[str, int | None]] = {"sphere": None, "spd": None}

    manifold: ManifoldSettings

    @model_validator(mode="after")
    def _is_for_its_space(self):
        name, size, kind = self.manifold.name, self.manifold.size, self.kind
        if name not in self.spaces:
            raise refused(
                f": {kind} is not for {name}: give {' or '.join(self.spaces)}", "manifold.name"
            )
        wanted = self.spaces[name]
        if size < 2 or size != (wanted or size):
            raise refused(
                f": {kind} is not for {name} of size {size}: give {wanted or '2 or more'}",
                "manifold.size",
            )
        return self


class TableOfBall(TableOfSpace):
    """A table of data in a public ball, in which means have a sensitivity."""

    space: SpaceName
    radius: Radius

    @model_validator(mode="after")
    def _has_a_sensitivity(self):
        check("radius", convexity, self.manifold.make(), self.radius)
        return self


class PrivateMeans(TableOfBall):
    """Errors of private means of simulated data on a sphere or SPD matrices."""

    columns = "space mechanism guarantee n budget data_set distance bias outside"

    kind: Literal["private_means"]
    budget: Budget
    n: Sizes
    replicates: Replicates
    mechanisms: named(Count, MeanMechanism)
    """Draws from each data set, by mechanism."""

    @model_validator(mode="after")
    def _mechanisms_are_for_the_space(self):
        for name in self.mechanisms:
            of_space = mechanism_class(name).check_space
            check(f"mechanisms.{name}", of_space, self.manifold.make())
        return self


class MeansOfNeighbours(TableOfBall):
    """Distances of the means of neighbouring data sets in a ball, and steps to them."""

    columns = "space n pair moved bound moved_over_bound iterations ambient_moved ambient_bound"

    kind: Literal["means_of_neighbours"]
    n: Sizes
    pairs: Count
    """Pairs of each size."""


class MeanLosses(TableOfBall):
    """Largest privacy losses found between neighbours, by mechanism and size."""

    spaces: ClassVar = {"sphere": 2, "spd": None}
    columns = "space mechanism guarantee support n budget loss loss_over_stated"

    kind: Literal["mean_losses"]
    budget: Budget
    n: Sizes


class SensitivityBounds(TableOfSpace):
    """Changes of a logarithm on the sphere S^2, and their bound."""

    spaces: ClassVar = {"sphere": 2}
    columns = "radius without_curvature largest_on_grid bound over_flat over_bound"

    kind: Literal["sensitivity_bounds"]
    radii: integer(ge=2)
    """Number of radii, in equal steps between 0 and the largest of the theorem, a quarter of pi."""


class MeanMedians(TableOfSpace):
    """Means and medians of data with outliers, private and not."""

    spaces: ClassVar = {"sphere": None, "spd": None, "kendall": None}
    columns = "space estimate n budget outliers over_radius low high data_sets"

    kind: Literal["mean_medians"]
    space: SpaceName
    radius: Radius
    budget: Budget
    n: Count
    """Records of a data set."""
    replicates: Replicates
    outliers: distinct(number(ge=0, lt=1))
    """Shares of outliers."""


class MeanData(TableData):
    """Records of a file, which need no covariate; those of a subject count as their mean."""

    covariate: Text | None = None  # type: ignore[assignment]
    """Column of the covariate, which is not used."""


class MeanShapes(TableOfSpace):
    """Private mean shapes of one data set, with balls that are read off the data."""

    module = "own_means"
    spaces: ClassVar = {"kendall": None}
    columns = "space mechanism guarantee n budget draw distance over_radius radius simulated"

    kind: Literal["mean_shapes"]
    space: SpaceName
    budget: Budget
    draws: Draws
    data: MeanData
    """The records; a stand-in is of simulated outlines."""

    @model_validator(mode="after")
    def _has_all_landmarks(self):
        if self.manifold.landmark_map is not None:
            raise surplus("manifold.landmark_map", "mean shapes have all landmarks")
        return self


class OwnMeans(ComputedTable):
    """Mean, median and private means of a table of your own; it shows the data: no release."""

    module = "own_means"
    columns = "kind estimate n budget distance"

    kind: Literal["own_means"]
    manifold: ManifoldSettings
    budget: Budget = 1.0
    data: MeanData
    """The records."""
    centre: PublicCentre
    """Centre of the public ball, as of a study's releases."""
    radius: Radius
    draws: Draws = 200

    @model_validator(mode="after")
    def _has_its_centre(self):
        check_centre(self.centre, self.manifold.name, "centre")
        if self.data.stand_in is not None:
            raise surplus("data.stand_in", "a missing file has no stand-in here")
        return self


# --- Linear and quantile regression, and locations ---


class SimulatedErrors(ComputedTable):
    """Errors of mechanisms on simulated data sets."""

    module = "linear"
    columns = "mechanism guarantee n budget data_set distance noise"

    kind: Literal["linear_errors", "quantile_errors", "location_errors"]
    """Linear regression with twelve covariates, drawn exactly; median regression with one, drawn by
    chains; or means, medians and geometric medians in the plane."""
    n: Sizes
    replicates: Replicates
    budget: Budget


class ErrorsBySize(ComputedTable):
    """Mean distances to the truth of the table `errors`, over data sets, by estimate and size."""

    module = "linear"
    columns = "estimate guarantee budget n mean standard_error data_sets standard_error_log"

    reads: ClassVar = {"errors": ("mechanism", "guarantee", "budget", "n", "distance")}

    kind: Literal["errors_by_size"]


class QuantileLosses(ComputedTable):
    """Realised privacy losses of private quantiles, found by a search over neighbours."""

    module = "linear"
    columns = "mechanism guarantee tau n budget loss loss_over_stated"

    kind: Literal["quantile_losses"]
    tau: distinct(Share)
    """Quantiles."""
    n: integer(ge=3)
    """Records of the neighbours."""
    budget: Budget


# --- Geodesics on the sphere, and red wine: a table for each kind of rows ---


class GeodesicCell(Section):
    """Data sets and a budget."""

    n: integer(ge=3)
    """Records of a data set."""
    noise_variance: Positive
    """Variance of each coordinate of the noise."""
    budget: Positive
    """Budget of the footpoint, and of a shooting vector."""


class Geodesics(ComputedTable):
    """Draws of the published mechanism for geodesics on the sphere."""

    module = "geodesics"
    columns: ClassVar = {
        "data_sets": "n noise_variance budget data_set error_mean error_deviation "
        "log_non_private_absolute_error log_absolute_gap",
        "draws": "footpoint distance absolute_error angle non_private_absolute_error",
        "records": "kind coordinate_1 coordinate_2 coordinate_3",
        "neighbours": "pair n ratio_footpoint ratio_shooting_vector",
    }

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


class Wine(ComputedTable):
    """Lines of red wine by the published mechanism, beside recorded ones of other tools."""

    module = "wine"
    columns: ClassVar = {
        "draws": "method budget draw mean_squared_error",
        "settings": "budget setting draws mean low high",
        "lines": "covariate line low high response method draws budget",
    }

    kind: Literal["wine"]
    rows: Literal["draws", "settings", "lines"]
    """Errors, a row a draw; errors of DP-SGD, a row a setting; or lines, a row a place."""
    files: Annotated[list[Text], Field(min_length=3, max_length=3)]
    """The table of red wine, and recorded lines of other tools and of Opacus."""
    covariate: Text
    """Column of the covariate."""
    responses: some(Text)
    """Columns of the responses."""
    budgets: distinct(Positive)
    """Budgets of a line."""
    delta: Share
    """Delta of recorded lines with approximate privacy."""
    draws: Count
    """Draws of the published mechanism."""
    competitors: some(Text)
    """Recorded methods that are compared."""


TABLES = (
    *(PrivateMeans, MeansOfNeighbours, MeanLosses, SensitivityBounds, MeanMedians, MeanShapes),
    *(OwnMeans, SimulatedErrors, ErrorsBySize, QuantileLosses, Geodesics, Wine),
)
