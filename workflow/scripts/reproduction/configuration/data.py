"""The section ``data`` of a study: simulated, or read from a table."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from geodp.settings.section import (
    Count,
    DecimalText,
    Number,
    Positive,
    Section,
    Text,
    integer,
    missing,
    number,
    refused,
    some,
)
from geodp.settings.shared_sections import TableSection

Point = Literal["random"] | list[Number]
Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]
Transformation = Literal["none", "log"]


class SimulatedData(Section):
    """Records about random geodesics."""

    source: Literal["simulated"]
    data_sets: Count = 21
    """Data sets: the first is shown, and all give the bands of curves."""
    shooting_vector_length: Positive | None = None
    """Length of the true geodesics, in a random direction; else give `last_point`."""
    covariates: Literal["equally_spaced", "uniform", "none"] = "equally_spaced"
    """Covariates from 0 to 1 in equal steps or uniform; none in a model without covariates."""
    first_point: Point = "random"
    """Where true geodesics start."""
    last_point: Point | None = None
    """Where they end, unless a length is given."""
    random_point_radius: Positive = 0.9
    """Random points of an unbounded space are Exp of a uniform draw from this tangent ball at the
    origin, or identity."""
    noise: Literal["ambient", "tangent"] = "ambient"
    """Normal in the ambient space, then projected; or normal in the tangent space."""


class StandInData(Section):
    """Simulated outlines that replace a table that is not there."""

    n: integer(ge=3) = 100
    """Records of a data set."""
    data_sets: Count = 11
    """Data sets: the first is shown, and all give the bands of curves."""
    trend_length: number(ge=0) = 0.045
    """Length of the geodesic over the covariate's range, in rad."""


class TableData(TableSection):
    """Records of a file."""

    path: Text | some(Text)
    """CSV file, or of another format that releases read, by its suffix; of several names one must
    be there."""
    covariate: Text | Annotated[list[Text], Field(min_length=2)]
    """Column of the covariate, or of each of several."""
    covariate_range: Pair | some(Pair) | None = None
    """Covariates that become 0 and 1, or a list; records outside are refused. null for the least
    and the greatest there are, which reveals them."""
    transformation: Transformation | some(Transformation) = "none"
    """Transformation of the covariate before it is scaled to [0, 1]; one for several, or a list."""
    subject: Text | None = None
    """Column that names the subject, the unit of privacy."""
    keep: dict[Text, DecimalText | some(DecimalText)] = Field(default={})
    """Values to keep, by column."""
    landmarks: Text = "landmarks"
    """Variable of a .mat file that holds the landmarks, where `columns` is null."""
    stand_in: StandInData | None = None
    """Simulated outlines where there is no file; null to refuse that."""

    @model_validator(mode="after")
    def _one_for_each_covariate(self):
        limits, words = self.covariate_range, self.transformation
        is_nested = limits is not None and isinstance(limits[0], list)
        ranges = limits if is_nested else [limits] if limits else []
        form = isinstance(self.covariate, list), len(self.covariates) - len(self.words)
        if (self.basis or self.words) and len(ranges) != form[1]:
            raise missing("covariate_range", "knots, degrees and words are for public ranges")
        advice = f": give one for each covariate, {', '.join(self.covariates)}"
        if ranges and (is_nested, len(ranges)) != form:
            raise refused(advice, "covariate_range")
        if isinstance(words, list) and (True, len(words)) != form:
            raise refused(advice, "transformation")
        for low, high in ranges:
            if low >= high:
                raise refused(
                    f": {low:g} is not below {high:g}: give the smaller value first",
                    "covariate_range",
                )
        return self

    @property
    def ranges(self):
        """Ranges of all covariates, of listed words those of their places; none if left out."""
        limits = self.covariate_range or []
        each = iter(
            limits if limits and isinstance(limits[0], list) else [limits] if limits else []
        )
        found = [
            [0.0, len(self.words[name]) - 1.0] if name in self.words else next(each, None)
            for name in self.covariates
        ]
        return found if all(found) else []


DataSettings = Annotated[SimulatedData | TableData, Field(discriminator="source")]
