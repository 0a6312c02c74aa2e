"""The section ``data`` of a study: simulated, or read from a table."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from reproduction.configuration.section import (
    Coordinates,
    Number,
    Positive,
    Section,
    Text,
    Truth,
    integer,
    number,
    one_of,
    refused,
    some,
)

Point = one_of(Literal["random"] | Coordinates, "random, or coordinates")


class SimulatedData(Section):
    """Records about random geodesics."""

    source: Literal["simulated"] = Field(description="Where data come from.")
    data_sets: integer(ge=0) = Field(
        default=20,
        description="Data sets besides the first, which alone is shown; they give curves a band. "
        "Other keys of this name count all data sets.",
    )
    shooting_vector_length: Positive | None = Field(
        default=None,
        description="Length of the true geodesics, in a random direction; else give `last_point`.",
    )
    covariates: Literal["equally_spaced", "uniform", "none"] = Field(
        default="equally_spaced",
        description="Covariates in equal steps from 0 to 1, or uniform; none in a model without "
        "covariates, where it is the default.",
    )
    first_point: Point = Field(
        default="random",
        description="Where true geodesics start: random for each data set, or coordinates.",
    )
    last_point: Point | None = Field(
        default=None,
        description="Where they end, unless a length is given: random, or coordinates.",
    )
    random_point_radius: Positive = Field(
        default=0.9,
        description="Random points of an unbounded space are Exp of a uniform draw from the "
        "tangent ball of this radius at the origin (of matrices: the identity).",
    )
    noise: Literal["ambient", "tangent"] = Field(
        default="ambient",
        description="Normal in every coordinate of the ambient space, then projected; or normal "
        "in the tangent space.",
    )


class StandInData(Section):
    """Simulated outlines that replace a table that is not there."""

    n: integer(ge=3) = Field(default=100, description="Records of a data set.")
    data_sets: integer(ge=0) = Field(
        default=10,
        description="Data sets besides the first; other keys of this name count all data sets.",
    )
    trend_length: number(ge=0) = Field(
        default=0.045, description="Length of the geodesic over the covariate's range, in rad."
    )


class TableData(Section):
    """Records of a file."""

    source: Literal["table"] = Field(description="Where data come from.")
    path: one_of(Text | some(Text), "a file, or a list of files") = Field(
        description="File of the records: CSV, or Parquet, NumPy or MATLAB by its suffix .parquet, "
        ".npz or .mat; of several the one that is there, and no two may be."
    )
    covariate: Text = Field(description="Column of the covariate.")
    covariate_range: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = Field(
        default=None,
        description="Covariates that become 0 and 1, and outside of which records are refused; "
        "null for the least and the greatest there are, which reveals them.",
    )
    columns: list[Text] | None = Field(
        default=None,
        description="Columns of the coordinates; needed but for landmarks, which are then all of "
        "x1, y1, x2, y2, .... An array of more than one axis stands for all its numbers.",
    )
    coordinates: Literal["ambient", "latitude_longitude"] = Field(
        default="ambient",
        description="What these hold: coordinates of the space, row by row (of a symmetric matrix "
        "also its upper triangle), or latitude and longitude in degrees, of the sphere S^2.",
    )
    transformation: Literal["none", "log"] = Field(
        default="none", description="Of the covariate, before it is scaled to [0, 1]."
    )
    subject: Text | None = Field(
        default=None, description="Column that names the subject, the unit of privacy."
    )
    keep: dict[Text, one_of(Text | Number | some(Text | Number), "a value or a list of values")] = (
        Field(
            default={},
            description="Records to keep: a value, or a list of values, for each column named.",
        )
    )
    outline: Truth = Field(
        default=False,
        description="Landmarks run along a closed outline: reversed ones are turned, and other "
        "numbers of landmarks are resampled by arc length from the first one.",
    )
    landmarks: Text = Field(
        default="landmarks", description="Variable of a .mat file that holds the landmarks."
    )
    stand_in: StandInData | None = Field(
        default=None,
        description="Simulated outlines where there is no file; null to refuse a missing file.",
    )

    @model_validator(mode="after")
    def _range_is_ascending(self):
        limits = self.covariate_range
        if limits is not None and limits[0] >= limits[1]:
            raise refused(
                f": {limits[0]:g} is not below {limits[1]:g}: give the smaller value first",
                "covariate_range",
            )
        return self


DataSettings = Annotated[SimulatedData | TableData, Field(discriminator="source")]
