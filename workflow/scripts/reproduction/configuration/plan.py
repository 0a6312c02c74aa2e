"""The section ``plan``: predicted errors of a release."""

from pydantic import Field

from reproduction.configuration.manifold import ManifoldSettings
from reproduction.configuration.section import Count, Positive, Section, distinct


class BallSettings(Section):
    """A public support of geodesics."""

    footpoint_radius: Positive = Field(
        description="How far the footpoint, in the middle of the covariate's range, may lie from a "
        "public centre, in the manifold's unit of length."
    )
    shooting_vector_length: Positive = Field(
        description="How long the shooting vector may be, in the same unit."
    )


class PlanSettings(Section):
    """Public assumptions about data, sizes and budgets; nothing here may come from the data."""

    manifold: ManifoldSettings = Field(description="The space of the records.")
    support: BallSettings = Field(description="Support of the geodesics.")
    residual_scale: Positive = Field(
        description="A guess: standard deviation of the records about their geodesic, in each "
        "direction."
    )
    n: distinct(Count) = Field(
        default=[20, 50, 100, 200, 500, 1000, 3000, 10000], description="Numbers of subjects."
    )
    budgets: distinct(Positive) = Field(
        default=[0.1, 0.3, 1, 3, 10], description="Budgets of the release."
    )
    wanted: Positive | None = Field(
        default=None,
        description="Root mean squared error of the geodesic for which the n and the budget needed "
        "are wanted; null for none.",
    )
