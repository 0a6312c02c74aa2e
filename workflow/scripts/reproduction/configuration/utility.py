"""Settings of simulated releases, config/utility.yaml."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from geodp.release.simulation import EVENLY, SQUARES
from reproduction.configuration.manifold import SpaceSettings, spaces_of
from reproduction.configuration.plan import BallSettings
from reproduction.configuration.section import (
    Count,
    Positive,
    Section,
    Seed,
    Share,
    Text,
    absent,
    refuse_descending,
    refused,
    some,
)
from reproduction.figures.style import CURVES


class NumberForRecords(Section):
    """Number of data sets of size n that fit the record budget, clipped to [least, most]."""

    records: Count = Field(description="The record budget: records in all.")
    least: Count = Field(description="Lower limit of the number.")
    most: Count = Field(description="Upper limit of the number.")

    @model_validator(mode="after")
    def _limits_have_a_range(self):
        refuse_descending(self, "least", "most")
        return self


class GeodesicData(Section):
    """Simulated records about a random geodesic."""

    kind: Literal["geodesic"] = Field(description="Kind of the data.")
    length: Positive = Field(description="Length of the geodesic.")


class RatsData(Section):
    """Simulated records about the geodesic of the observed rats, one a subject."""

    kind: Literal["rats"] = Field(description="Kind of the data.")


class OutlinesData(Section):
    """Simulated stand-ins for outlines of the corpus callosum."""

    kind: Literal["outlines"] = Field(description="Kind of the data.")


class UtilitySpace(SpaceSettings):
    """A space and its public assumptions."""

    data: Annotated[GeodesicData | RatsData | OutlinesData, Field(discriminator="kind")] = Field(
        description="The records. The true geodesic lies half a footpoint radius from the centre."
    )
    support: BallSettings = Field(description="Support of the geodesics.")
    residual_scale: Positive = Field(
        description="Standard deviation of a residual in each direction, from which releases "
        "are planned; simulated data have it, except outlines."
    )


class ReleasesSettings(Section):
    """Geodesics drawn as a release draws them."""

    n: some(Count) = Field(description="Numbers of subjects.")
    budgets: some(Positive) = Field(description="Budgets in all.")
    data_sets: Count = Field(description="Data sets of a cell.")
    draws: Count = Field(description="Draws from each.")


class ErrorsSettings(Section):
    """Errors of private geodesics."""

    n: some(Count) = Field(description="Numbers of subjects.")
    budgets: some(Positive) = Field(description="Budgets in all.")
    shown: Annotated[some(Positive), Field(max_length=len(CURVES))] = Field(
        description="Budgets that the figure shows, 4 at most; the largest n has these alone."
    )
    data_sets: NumberForRecords = Field(description="Data sets of a cell.")
    draws: Count = Field(description="Draws from each.")
    releases: dict[Text, ReleasesSettings] = Field(
        description="By space: where geodesics are also drawn as a release draws them."
    )

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

    total_variation: Share = Field(description="Total variation distance wanted.")
    fewest_steps: Count = Field(description="Fewest steps.")
    most_steps: Count = Field(description="Most steps.")

    @model_validator(mode="after")
    def _steps_have_a_range(self):
        refuse_descending(self, "fewest_steps", "most_steps")
        return self


class ChainsSettings(ChainLimits):
    """Chains whose last states are draws."""

    pilots: NumberForRecords = Field(description="Pilot proposals.")


class CoverageSpace(SpaceSettings):
    """A space, and the releases that are simulated on it."""

    support: BallSettings = Field(description="Support of the geodesics.")
    residual_scale: Positive = Field(
        description="Standard deviation of a residual in each direction, assumed and simulated."
    )
    n: Count = Field(description="Number of subjects.")
    budget: Positive = Field(description="Budget of a release, epsilon.")
    covariate_spread: list[Literal[tuple(SQUARES)]] = Field(  # type: ignore[valid-type]
        default=[EVENLY],
        description="How each covariate is spread over its range; an empty list for means.",
    )
    first_group: Share = Field(
        default=0.5,
        description="Share of subjects in the first of two groups; half is what plans assume.",
    )
    covariates: Annotated[list[Positive], Field(min_length=2, max_length=2)] | None = absent(
        description="Parameters of the Beta distribution of covariates that are no groups, by "
        "default uniform, as plans assume."
    )


class CoverageSettings(Section):
    """How often confidence bands hold the true prediction."""

    releases: Count = Field(description="Simulated releases on each space.")
    work: Count = Field(
        description="Distances from points to records that a choice among points may take, few so "
        "that many releases are drawn in a short time."
    )
    spaces: spaces_of(CoverageSpace)


class UtilitySettings(Section):
    """Settings of `./run snakemake utility` and `coverage`."""

    seed: Seed = Field(description="Every random stream is keyed by this number.")
    spaces: spaces_of(UtilitySpace)
    utility: ErrorsSettings = Field(description="Errors of private geodesics.")
    chains: ChainsSettings = Field(description="Chains whose last states are draws.")
    coverage: CoverageSettings = Field(description="Coverage of confidence bands.")

    @model_validator(mode="after")
    def _spaces_are_known(self):
        for space in self.utility.releases:
            if space not in self.spaces:
                raise refused(
                    f" is unknown: known keys are {', '.join(self.spaces)}",
                    f"utility.releases.{space}",
                )
        return self
