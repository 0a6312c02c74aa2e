"""Settings of simulated releases, config/utility.yaml."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from geodp.settings.section import (
    Count,
    Number,
    Positive,
    Section,
    Seed,
    Share,
    Text,
    absent,
    named,
    refused,
    some,
    unknown,
)
from geodp_release.simulation import SQUARES, UNKNOWN
from reproduction.configuration.spaces import BallSettings, SpaceSettings, spaces_of
from reproduction.figures.style import CURVES
from reproduction.measurements.coverage.data import UNLIKE
from reproduction.measurements.coverage.releases import MEASURES


class NumberForRecords(Section):
    """Number of data sets of size n that fit the record budget, clipped to [least, most]."""

    limits: ClassVar = ("least", "most")

    records: Count
    """The record budget: records in all."""
    least: Count
    """Lower limit of the number."""
    most: Count
    """Upper limit of the number."""


class GeodesicData(Section):
    """Simulated records about a random geodesic."""

    kind: Literal["geodesic"]
    length: Positive
    """Length of the geodesic."""


class RatsData(Section):
    """Simulated records about the geodesic of the observed rats, one a subject."""

    kind: Literal["rats"]


class OutlinesData(Section):
    """Simulated stand-ins for outlines of the corpus callosum."""

    kind: Literal["outlines"]


class UtilitySpace(SpaceSettings):
    """A space and its public assumptions."""

    data: Annotated[GeodesicData | RatsData | OutlinesData, Field(discriminator="kind")]
    """The records. The true geodesic lies half a footpoint radius from the centre."""
    support: BallSettings
    residual_scale: Positive
    """Standard deviation of a residual in each direction, assumed by releases and simulated except
    in outlines."""


class ReleasesSettings(Section):
    """Geodesics drawn as a release draws them."""

    n: some(Count)
    """Numbers of subjects."""
    budgets: some(Positive)
    """Budgets in all."""
    data_sets: Count
    """Data sets of a cell."""
    draws: Count
    """Draws from each."""


class ErrorsSettings(Section):
    """Errors of private geodesics."""

    n: some(Count)
    """Numbers of subjects."""
    budgets: some(Positive)
    """Budgets in all."""
    shown: some(Positive, len(CURVES))
    """Budgets that the figure shows, the only ones at the largest n."""
    data_sets: NumberForRecords
    """Data sets of a cell."""
    draws: Count
    """Draws from each."""
    releases: dict[Text, ReleasesSettings]
    """By space: where geodesics are also drawn as a release draws them."""

    @model_validator(mode="after")
    def _chosen_are_measured(self):
        chosen = {"shown": (self.shown, "budgets")}
        for space, releases in self.releases.items():
            chosen[f"releases.{space}.n"] = (releases.n, "n")
            chosen[f"releases.{space}.budgets"] = (releases.budgets, "budgets")
        for place, (values, key) in chosen.items():
            for value in values:
                if value not in getattr(self, key):
                    raise refused(
                        f": {value} is none of utility.{key}: add it there or remove it", place
                    )
        return self


class ChainLimits(Section):
    """Chains from a distribution: how near, and limits of their length."""

    limits: ClassVar = ("fewest_steps", "most_steps")

    total_variation: Share
    """Total variation distance wanted."""
    fewest_steps: Count
    """Fewest steps."""
    most_steps: Count
    """Most steps."""


class ChainsSettings(ChainLimits):
    """Chains whose last states are draws."""

    pilots: NumberForRecords
    """Pilot proposals."""


class CoverageSpace(SpaceSettings):
    """A space, and the releases that are simulated on it."""

    support: BallSettings
    residual_scale: Positive
    """Standard deviation of a residual in each direction, as simulated."""
    n: Count
    """Number of subjects."""
    budget: Positive
    """Budget of a release, epsilon."""
    covariate_spread: list[Literal[tuple(SQUARES)]] = Field(default=[UNKNOWN])
    """How each covariate is assumed to be spread over its range; an empty list for means."""


class Criterion(Section):
    """What a measure should be."""

    least: Number | None = absent()
    """The least it should be."""
    most: Number | None = absent()
    """The most it should be."""


class CoverageAim(Criterion):
    """What is measured of releases, and what it should be."""

    measure: Literal[tuple(MEASURES)]
    """Errors over those of releases that are told the residual scale, or the radii where these are
    left out, or over those of least squares; shares of predictions that
    90 % bands hold, of releases with a doubt, and of tests that find a trend at 5 %; or that less
    the share of an F test without privacy."""


class CoverageCells(Section):
    """Cells that are measured by the same aims: one on each space, for each residual scale."""

    spaces: some(Text)
    """Names of spaces."""
    unlike: Literal[tuple(UNLIKE)] = "nothing"
    """What is not as assumed."""
    true_over_assumed: some(Positive) | None = absent()
    """Residual scales of the data over the one that is assumed; null where none is."""
    radii_left_out: bool = False
    """Whether releases do without the radii of the support."""
    aims: some(Text)
    """Names of aims."""


class CoverageSettings(Section):
    """Releases that know little of the data, beside their aims."""

    releases: Count
    """Simulated releases of a cell."""
    fewer_releases: Count
    """The same for `coverage_smoke`."""
    every: Count
    """Of how many cells `coverage_smoke` has one."""
    work: Count
    """Most distances from points to records in a choice among points."""
    aims: named(CoverageAim)
    """Aims by name."""
    spaces: spaces_of(CoverageSpace)
    cells: some(CoverageCells)
    """What is simulated."""

    @model_validator(mode="after")
    def _names_are_known(self):
        for index, cells in enumerate(self.cells):
            for key in ("spaces", "aims"):
                for name in getattr(cells, key):
                    if name not in (known := list(getattr(self, key))):
                        raise refused(unknown(name, known), f"cells.{index}.{key}")
        return self


class HeldOutSettings(Section):
    """Releases of cohorts by five public inputs alone, beside what counts as right."""

    tables: Count
    """Tables of a cohort, each released once."""
    places: Count
    """Covariates at which bands are looked at, evenly over the range of the first; others are at
    their ends."""
    criteria: named(
        Criterion, Literal["bands", "trend", "no trend", "residual scale", "R^2", "doubts"]
    )
    """What counts as right: shares of bands and of intervals that hold, of tables in which a trend
    is found that is there or is not, and of doubts."""


class UtilitySettings(Section):
    """Settings of `./run snakemake utility`, `coverage` and `held_out`."""

    seed: Seed
    spaces: spaces_of(UtilitySpace)
    utility: ErrorsSettings
    chains: ChainsSettings
    coverage: CoverageSettings
    held_out: HeldOutSettings

    @model_validator(mode="after")
    def _spaces_are_known(self):
        for space in self.utility.releases:
            if space not in self.spaces:
                raise refused(
                    f" is unknown: known keys are {', '.join(self.spaces)}",
                    f"utility.releases.{space}",
                )
        return self
