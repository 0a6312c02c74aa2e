"""Sections of a study: data, balls, cells, support, samplers, releases, neighbours, losses."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from geodp.settings.section import (
    Count,
    DecimalText,
    Number,
    Positive,
    Section,
    Share,
    Text,
    absent,
    integer,
    missing,
    number,
    refused,
    some,
)
from geodp.settings.shared_sections import CENTRES, CentreName, TableSection

Point = Literal["random"] | list[Number]
Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]
Transformation = Literal["none", "log"]


class SimulatedData(Section):
    """Records about random geodesics."""

    source: Literal["simulated"]
    data_sets: Count = 21
    """Data sets: the first is shown, and all give the bands of curves."""
    shooting_vector_length: Positive | None = None
    """Length of the true geodesics, in a random direction; else give `last_point`."""
    covariates: Literal["equally_spaced", "uniform", "none"] = "equally_spaced"
    """Covariates from 0 to 1 in equal steps or uniform; none in a model without covariates."""
    first_point: Point = "random"
    """Where true geodesics start."""
    last_point: Point | None = None
    """Where they end, unless a length is given."""
    random_point_radius: Positive = 0.9
    """Random points of an unbounded space are Exp of a uniform draw from this tangent ball at the
    origin, or identity."""
    noise: Literal["ambient", "tangent"] = "ambient"
    """Normal in the ambient space, then projected; or normal in the tangent space."""


class StandInData(Section):
    """Simulated outlines that replace a table that is not there."""

    n: integer(ge=3) = 100
    """Records of a data set."""
    data_sets: Count = 11
    """Data sets: the first is shown, and all give the bands of curves."""
    trend_length: number(ge=0) = 0.045
    """Length of the geodesic over the covariate's range, in rad."""


class TableData(TableSection):
    """Records of a file."""

    path: Text | some(Text)
    """CSV file, or of another format that releases read, by its suffix; of several names one must
    be there."""
    covariate: Text | Annotated[list[Text], Field(min_length=2)]
    """Column of the covariate, or of each of several."""
    covariate_range: Pair | some(Pair) | None = None
    """Covariates that become 0 and 1, or a list; records outside are refused. null for the least
    and the greatest there are, which reveals them."""
    transformation: Transformation | some(Transformation) = "none"
    """Transformation of the covariate before it is scaled to [0, 1]; one for several, or a list."""
    subject: Text | None = None
    """Column that names the subject, the unit of privacy."""
    keep: dict[Text, DecimalText | some(DecimalText)] = Field(default={})
    """Values to keep, by column."""
    stand_in: StandInData | None = None
    """Simulated outlines where there is no file; null to refuse that."""

    @model_validator(mode="after")
    def _one_for_each_covariate(self):
        limits, words = self.covariate_range, self.transformation
        is_nested = limits is not None and isinstance(limits[0], list)
        ranges = limits if is_nested else [limits] if limits else []
        form = isinstance(self.covariate, list), len(self.covariates) - len(self.words)
        if (self.basis or self.words) and len(ranges) != form[1]:
            raise missing("covariate_range", "knots, degrees and words are for public ranges")
        advice = f": give one for each covariate, {', '.join(self.covariates)}"
        if ranges and (is_nested, len(ranges)) != form:
            raise refused(advice, "covariate_range")
        if isinstance(words, list) and (True, len(words)) != form:
            raise refused(advice, "transformation")
        for low, high in ranges:
            if low >= high:
                raise refused(
                    f": {low:g} is not below {high:g}: give the smaller value first",
                    "covariate_range",
                )
        return self

    @property
    def ranges(self):
        """Ranges of all covariates, of listed words those of their places; none if left out."""
        limits = self.covariate_range or []
        each = iter(
            limits if limits and isinstance(limits[0], list) else [limits] if limits else []
        )
        found = [
            [0.0, len(self.words[name]) - 1.0] if name in self.words else next(each, None)
            for name in self.covariates
        ]
        return found if all(found) else []


DataSettings = Annotated[SimulatedData | TableData, Field(discriminator="source")]


PublicCentre = CentreName | list[Number]


def check_centre(centre, space, key):
    """Refuse a named centre that a space does not have; whether the centre has a name."""
    spaces = CENTRES.get(centre) if isinstance(centre, str) else None
    if spaces and space not in spaces:
        raise refused(f": {space} has no centre called {centre}: give coordinates", key)
    return bool(spaces)


class BallSettings(Section):
    """A public support of geodesics."""

    footpoint_radius: Positive
    """Largest distance of the footpoint, in the middle of the covariate's range, from a public
    centre."""
    shooting_vector_length: Positive
    """Largest length of the geodesic over the covariate's range."""


def _positive(value):
    """Refuse a variance that is not above zero; text keeps its digits in names."""
    try:
        is_positive = 0.0 < float(value) < float("inf")
    except ValueError:
        is_positive = False
    if not is_positive:
        raise refused(f': {value!r} is not a number above zero: give a variance such as "0.001"')
    return value


Variance = Annotated[DecimalText, AfterValidator(_positive)]


class CellsSettings(Section):
    """Cells: every n with every noise variance, over the budgets named."""

    n: some(integer(ge=3)) | None = absent()
    """Numbers of records, of simulated data or of stand-ins."""
    noise_variance: some(Variance) | None = absent()
    """Variances of each coordinate of the noise, of simulated data."""
    budgets: some(Text)
    """Names of grids under `budgets`."""


class SupportSettings(Section):
    """Support of the parameters."""

    footpoint_centre: Literal["truth", "fit"] | list[Number] | None = None
    """Centre of a ball of footpoints: coordinates, `truth` of simulated data, or `fit`, the
    estimate; null for no ball."""
    footpoint_radius: Positive | None = None
    """Its radius; null for `data_radius` plus the largest residual."""
    shooting_vector_length: Positive | None = None
    """Greatest length; null for the injectivity radius or, with a `data_radius`, twice that sum."""

    @model_validator(mode="after")
    def _radius_has_a_centre(self):
        if self.footpoint_centre is None and self.footpoint_radius is not None:
            raise refused(
                " is missing: a ball of footpoints needs a centre and a radius", "footpoint_centre"
            )
        return self


class SamplerSettings(Section):
    """Independent draws by rejection where an envelope is certified, else chains."""

    work: Positive = 5.0e7
    """Most cells of envelopes, times records, over the densities of a batch."""
    total_variation: Share = 1.0e-5
    """Largest estimated total variation distance of a chain's end to the target."""
    chains: integer(ge=4) = 4
    """Traced chains, for diagnostics."""
    states: integer(ge=250) = 500
    """States of a trace, each as many steps from the last as a draw takes."""


class ComparedCell(Section):
    """A cell that the random walk samples as well."""

    group: Text | None = absent()
    """Group of data sets; else the study's first."""
    cell: Text
    """Cell, such as `p0.5_v0.5`."""


class RandomWalkSettings(Section):
    """The papers' random walk, for comparison, on some cells."""

    steps: Count = 1000
    """Steps of a chain; its end is the draw."""
    step_scale: Positive = 2.0
    """Radius of a step, in units of sigma."""
    cells: list[ComparedCell] = Field(default=[])
    """Cells that it samples."""
    data_sets: Count = 1
    """Data sets that it samples, from the first on."""


class StudyReleases(BallSettings):
    """Releases whose budget is proved, beside the study's own draws and at the same budgets.

    Public inputs are chosen without the data: see docs/releases.md.
    """

    centre: PublicCentre
    """Public centre of the ball of footpoints: coordinates; or `identity` of spd, `origin` of
    euclidean and hyperbolic, `corpus callosum` of kendall, the mean of 647 published outlines."""
    centre_moved: Positive | None = None
    """Distance by which a named centre is moved, in a random direction."""
    residual_scale: Positive | None = None
    """A guess: standard deviation of the records in each direction; null for that of simulated
    noise."""
    totals: some(DecimalText)
    """Budgets in all: the cell `all1.0` has budget 1.0."""
    draws: Count = 10
    """Releases from each data set."""
    data_sets: Count = 1
    """Data sets that have releases, from the first on."""


class NeighboursSettings(Section):
    """Pairs of neighbouring data sets, for ratios of published to realised sensitivity."""

    pairs: Count = 20
    """Pairs at each n."""
    n: list[integer(ge=3)] = Field(default=[])
    """Numbers of records; none for no pairs."""
    noise_variance: Variance = "0.001"
    """Variance of each coordinate of the noise."""


class LossesSettings(Section):
    """Search for neighbouring data sets with a large privacy loss, on the sphere S^2."""

    n: integer(ge=3) = 20
    """Number of records."""
    budget: Positive = 1.0
    """Stated budget of each step."""
    ball_radius: Positive = 0.3927
    """Radius of the public ball that holds all records, in rad."""
    geodesic_length: Positive = 0.6283
    """Length of the true geodesic through its middle, in rad."""
    noise_variance: Positive = 0.001
    """Variance of each coordinate of the noise."""
    candidates: integer(ge=8) = 24
    """Neighbours tried in each round."""
    rounds: Count = 3
    """Rounds; later ones are near the best so far."""
