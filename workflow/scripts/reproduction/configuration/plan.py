"""The section ``plan``: predicted errors of a release."""

from pydantic import Field

from geodp.settings.section import Count, Positive, Section, distinct
from geodp.settings.sections import ManifoldSettings
from reproduction.configuration.spaces import BallSettings


class PlanSettings(Section):
    """Predicted errors of a release, `./run snakemake plan`, from what is public alone."""

    manifold: ManifoldSettings
    support: BallSettings
    residual_scale: Positive
    """A guess: standard deviation of the records about their geodesic, in each direction."""
    n: distinct(Count) = Field(default=[20, 50, 100, 200, 500, 1000, 3000, 10000])
    """Numbers of subjects."""
    budgets: distinct(Positive) = Field(default=[0.1, 0.3, 1, 3, 10])
    """Budgets of the release."""
    wanted: Positive | None = None
    """Root mean squared error of the geodesic for which the n and the budget needed are found."""
