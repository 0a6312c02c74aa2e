"""Settings of the benchmark, config/benchmark.yaml."""

from typing import Literal

from geodp.settings.section import Count, Positive, Section, Seed, absent, named, number, some


class BenchmarkedSpace(Section):
    """Sizes and budgets at which samplers are measured on a space."""

    n: some(Count)
    """Numbers of records; the largest is measured at the ends of `budgets` alone."""
    budgets: some(Positive)
    """Footpoint budgets."""
    chain: Positive | None = absent()
    """As `seconds.chain`, where chains need longer."""


class SecondsSettings(Section):
    """Time limits of single measurements, seconds."""

    default_sampler: number(ge=0)
    """Planning and drawing, for a larger number of draws to be tried."""
    chain: number(ge=0)
    """Chains whose autocorrelation is taken."""
    rate: number(ge=0)
    """Counting steps per second, once for each walk."""
    fit: Positive
    """One fit of geomstats, which is stopped then."""
    mean: Positive
    """One mean of another library, which is stopped then."""


class SizesSettings(Section):
    """Numbers of records."""

    n: some(Count)
    """Numbers of records."""


class BenchmarkSettings(Section):
    """Settings of `./run snakemake benchmark`."""

    seed: Seed
    spaces: named(BenchmarkedSpace, Literal["S^2", "SPD(2)", "SPD(3)", "rats", "outlines"])
    """Spaces; the 144 observed `rats` or more, simulated about their geodesic, and `outlines` in 96
    dimensions."""
    draws: some(Count)
    """Draws of the default sampler; all but the first only where time allows."""
    seconds: SecondsSettings
    fits: SizesSettings
    """Fits beside those of geomstats."""
    means: named(some(Count), Literal["S^2", "SPD(3)", "SPD(8)", "SPD(20)"])
    """Numbers of points of Frechet means beside those of geomstats, pyRiemann and Pymanopt."""
