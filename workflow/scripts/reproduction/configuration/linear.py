"""Settings of linear and quantile regression, config/linear.yaml."""

from pydantic import Field

from geodp.settings.section import (
    Count,
    Number,
    Positive,
    Section,
    Seed,
    Share,
    distinct,
    integer,
    some,
)


class ChainsSettings(Section):
    """Chains in the plane, each from a start of its own, for data sets of all sizes."""

    chains: integer(ge=2)
    """Number of chains; the last state of one is a draw."""
    states: integer(ge=4)
    """States of a chain."""
    replicates: integer(ge=2)
    """Data sets of each size."""
    n: distinct(Count)
    """Sizes of data sets."""


class LinearSettings(Section):
    """Least squares, private and not, of data sets of all sizes."""

    replicates: integer(ge=2)
    """Data sets of each size."""
    n: distinct(Count)
    """Sizes of data sets."""
    covariates: integer(ge=2)
    """Number of covariates d, with the one that is constant."""
    bound: Positive
    """B: coefficients lie in the ball of this l1 norm."""
    steps: Count
    """Steps of a chain that moves one coordinate at a time."""


class QuantileSettings(ChainsSettings):
    """Quantile regression, private and not, in the plane."""

    tau: Share
    """Which quantile; above the median budgets need another scale."""
    coefficients: some(Number) = Field(max_length=2)
    """True ones, of the constant and of one covariate."""
    bound: Positive
    """B: coefficients lie in the ball of this l1 norm."""


class LocationSettings(ChainsSettings):
    """Means, medians and quantiles, private and not."""

    tau: distinct(Share)
    """Quantiles whose realised losses are searched for."""
    neighbours: integer(ge=3)
    """Records of the neighbours of that search."""


class NotebookCell(Section):
    """Data sets and a budget."""

    n: integer(ge=3)
    """Records of a data set."""
    noise_variance: Positive
    """Variance of each coordinate of the noise."""
    budget: Positive
    """Budget of the footpoint, and of a shooting vector."""


class PairsSettings(Section):
    """Pairs of neighbouring data sets."""

    pairs: Count
    """Number of pairs."""
    n: integer(ge=3)
    """Records of each data set."""


class NotebookSettings(Section):
    """Geodesic regression on the sphere with the published mechanism."""

    data_sets: integer(ge=2)
    """Data sets of each cell."""
    shooting_vector_length: Positive
    """Length of the true geodesics."""
    footpoints: integer(ge=2)
    """Footpoints drawn for a data set."""
    shooting_vectors: integer(ge=2)
    """Shooting vectors drawn at each."""
    cells: distinct(NotebookCell)
    """The first is the one claims are judged at."""
    neighbours: PairsSettings


class LinearFileSettings(Section):
    """Settings of the targets `reimherr_awan` and `kulkarni_soto_first_version`."""

    seed: Seed
    budget: Positive
    """Budget of a draw, epsilon, in Euclidean space."""
    kng_linear: LinearSettings
    kng_quantile: QuantileSettings
    kng_location: LocationSettings
    geodesic_vs_notebook: NotebookSettings
