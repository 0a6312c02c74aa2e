"""Settings of the benchmark, config/benchmark.yaml."""

from typing import Annotated, Literal

from pydantic import Field

from reproduction.configuration.section import (
    Count,
    Positive,
    Section,
    Seed,
    absent,
    number,
    some,
)


class BenchmarkedSpace(Section):
    """Sizes and budgets at which samplers are measured on a space."""

    n: some(Count) = Field(
        description="Numbers of records; the largest is measured at the ends of `budgets` alone."
    )
    budgets: some(Positive) = Field(description="Footpoint budgets.")
    chain: Positive | None = absent(description="As `seconds.chain`, where chains need longer.")


class SecondsSettings(Section):
    """Time limits of single measurements, seconds."""

    default_sampler: number(ge=0) = Field(
        description="Planning and drawing, for a larger number of draws to be tried."
    )
    chain: number(ge=0) = Field(description="Chains whose autocorrelation is taken.")
    rate: number(ge=0) = Field(description="Counting steps per second, once for each walk.")
    fit: Positive = Field(description="One fit of geomstats, which is stopped then.")
    mean: Positive = Field(description="One mean of geomstats, which is stopped then.")


class SizesSettings(Section):
    """Numbers of records."""

    n: some(Count) = Field(description="Numbers of records.")


class BenchmarkSettings(Section):
    """Settings of `./run snakemake benchmark`."""

    seed: Seed = Field(description="Every random stream is keyed by this number.")
    spaces: Annotated[
        dict[Literal["S^2", "SPD(2)", "SPD(3)", "rats", "outlines"], BenchmarkedSpace],
        Field(min_length=1),
    ] = Field(
        description="Spaces. 144 records of `rats` are the observed ones, others are simulated "
        "about their geodesic; `outlines` have 50 landmarks, 96 dimensions."
    )
    draws: some(Count) = Field(
        description="Draws of the default sampler: the first always, the others where their time "
        "allows."
    )
    seconds: SecondsSettings = Field(description="Time limits.")
    fits: SizesSettings = Field(description="Fits beside those of geomstats.")
    means: SizesSettings = Field(description="Frechet means on S^2 beside that of geomstats.")
    sizes: SizesSettings = Field(
        description="Time and memory of a fit and of a gradient, each n in a process of its own."
    )
