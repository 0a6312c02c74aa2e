"""Settings of the audit, config/audit.yaml."""

from typing import Literal

from pydantic import Field

from reproduction.configuration.section import (
    Count,
    Positive,
    Section,
    Seed,
    Share,
    integer,
    number,
    some,
)


class SearchSettings(Section):
    """Search for the worst neighbour."""

    candidates: integer(ge=8) = Field(
        description="Neighbours tried in a round; fewer where n times as many exceeds `work`."
    )
    rounds: Count = Field(description="Rounds.")
    work: Count = Field(description="Most records evaluated in a round.")


class SphereLossSettings(Section):
    """Losses on the sphere S^2; lengths in radians."""

    ball_radius: number(gt=0, lt=1.5) = Field(
        description="Radius of a public ball that holds all records; every replacement of one "
        "record by a point of the ball and a covariate is a neighbour."
    )
    geodesic_length: Positive = Field(
        description="Length of the geodesic through its centre that records lie about."
    )
    noise_variance: Positive = Field(description="Variance of each coordinate of the noise.")
    tau: Positive = Field(
        description="Length at which repaired versions of the published density clip residuals."
    )
    budgets: some(Positive) = Field(
        description="Stated budgets: all at the first n, the middle one at every other n."
    )
    n: some(integer(ge=4)) = Field(description="Numbers of records.")
    search: SearchSettings = Field(description="Search for the worst neighbour.")


class TwoPointSettings(Section):
    """A worst case of two records."""

    angle: Positive = Field(description="Angle between them, radians.")
    tau: Positive = Field(description="Length at which residuals are clipped.")


class OneFarSettings(Section):
    """Neighbours on the line of multiples of the identity in SPD(2)."""

    n: integer(ge=2) = Field(description="Number of records.")
    footpoint_radius: Positive = Field(description="Radius of the ball of footpoints.")
    place: Positive = Field(description="Distance of the n - 1 records from the centre.")
    far: Positive = Field(description="Distance of the last one, on one side or on the other.")
    tau: Positive = Field(description="Length at which residuals are clipped.")


class BlackBoxSettings(Section):
    """Attacks from draws alone."""

    confidence: Share = Field(description="Of each lower bound, one at a time.")
    stated: Positive = Field(description="Budget that is stated.")
    times: number(gt=1) = Field(
        description="Factor on the stated budget at which mechanisms are run too, to check that "
        "the attack detects it."
    )
    published_draws: integer(ge=4) = Field(
        description="Draws of the published footpoint from each data set."
    )
    joint_draws: integer(ge=4) = Field(
        description="Draws of joint distributions on public points from each data set."
    )
    power: Count = Field(description="Public points are 2 to this power.")
    two_points: TwoPointSettings = Field(description="Neighbours on the sphere.")
    one_far: OneFarSettings = Field(description="Neighbours in SPD(2).")


class ReleaseTestSettings(Section):
    """Property testers on whole releases, as they are and with mistakes."""

    confidence: Share = Field(description="Of each lower bound, one at a time.")
    stated: Positive = Field(description="Budget that is stated.")
    draws: integer(ge=16) = Field(description="Releases of each of two neighbouring data sets.")


class TimedSpace(Section):
    """A space."""

    name: Literal["euclidean", "sphere", "hyperbolic", "spd", "kendall"] = Field(
        description="As `manifold.name` of a study."
    )
    size: Count = Field(description="As `manifold.size` of a study.")


class TimesSettings(Section):
    """Processor times of draws and of releases."""

    draws: integer(ge=200) = Field(description="Draws of each kind of noise.")
    n: integer(ge=4) = Field(description="Records of a release.")
    repeats: integer(ge=3) = Field(description="Releases with and without an extreme record.")
    spaces: some(TimedSpace) = Field(description="Spaces.")


class ReplaySettings(Section):
    """Record and replay of whole releases, `./run snakemake replay`."""

    blocks: Count = Field(description="Jobs.")
    pairs: Count = Field(description="Pairs of neighbouring tables of each.")


class AuditSettings(Section):
    """Settings of `./run snakemake audit`."""

    seed: Seed = Field(description="Every random stream is keyed by this number.")
    sphere: SphereLossSettings = Field(description="Losses on the sphere.")
    two_points: TwoPointSettings = Field(description="The worst case of two records.")
    black_box: BlackBoxSettings = Field(description="Attacks from draws alone.")
    releases: ReleaseTestSettings = Field(description="Property testers on whole releases.")
    times: TimesSettings = Field(description="Processor times of draws and of releases.")
    replay: ReplaySettings = Field(description="Record and replay of whole releases.")
