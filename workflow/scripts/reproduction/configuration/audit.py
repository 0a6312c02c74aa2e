"""Settings of the audit, config/audit.yaml."""

from geodp.settings.section import Count, Positive, Section, Seed, Share, integer, number, some
from geodp.settings.sections import ManifoldSettings


class SearchSettings(Section):
    """Search for the worst neighbour."""

    candidates: integer(ge=8)
    """Neighbours tried in a round; fewer where their records exceed `work`."""
    rounds: Count
    """Rounds."""
    work: Count
    """Most records evaluated in a round."""


class SphereLossSettings(Section):
    """Losses on the sphere S^2; lengths in radians."""

    ball_radius: number(gt=0, lt=1.5)
    """Radius of the public ball of all records; neighbours replace one record in it."""
    geodesic_length: Positive
    """Length of the geodesic through its centre that records lie about."""
    noise_variance: Positive
    """Variance of each coordinate of the noise."""
    tau: Positive
    """Length at which repaired versions of the published density clip residuals."""
    budgets: some(Positive)
    """Stated budgets: all at the first n, the middle one at every other n."""
    n: some(integer(ge=4))
    """Numbers of records."""
    search: SearchSettings


class TwoPointSettings(Section):
    """A worst case of two records."""

    angle: Positive
    """Angle between them, radians."""
    tau: Positive
    """Length at which residuals are clipped."""


class ReleaseTestSettings(Section):
    """Property testers on whole releases, as they are and with mistakes."""

    confidence: Share
    """Of each lower bound, one at a time."""
    stated: Positive
    """Budget that is stated."""
    draws: integer(ge=16)
    """Releases of each of two neighbouring data sets."""


class TimesSettings(Section):
    """Processor times of draws and of releases."""

    draws: integer(ge=200)
    """Draws of each kind of noise."""
    n: integer(ge=4)
    """Records of a release."""
    repeats: integer(ge=3)
    """Releases with and without an extreme record."""
    spaces: some(ManifoldSettings)
    """Spaces."""


class ReplaySettings(Section):
    """Record and replay of whole releases, `./run snakemake replay`."""

    blocks: Count
    """Jobs."""
    pairs: Count
    """Pairs of neighbouring tables of each."""


class AuditSettings(Section):
    """Settings of `./run snakemake audit`."""

    seed: Seed
    sphere: SphereLossSettings
    two_points: TwoPointSettings
    releases: ReleaseTestSettings
    times: TimesSettings
    replay: ReplaySettings
