"""Settings of private Frechet means, config/means.yaml."""

import re
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from geodp.means.mechanisms import MEAN_MECHANISMS, WRAPPED
from geodp.means.samples import SAMPLES
from reproduction.configuration.data import TableData
from reproduction.configuration.manifold import SpaceSettings, spaces_of
from reproduction.configuration.section import (
    Count,
    Positive,
    Section,
    Seed,
    Text,
    absent,
    integer,
    number,
    refuse_descending,
    refused,
    some,
)
from reproduction.configuration.study import PublicCentre, check_centre


class NeighbourSizes(Section):
    """Pairs of neighbouring data sets, by size."""

    pairs: Count = Field(description="Pairs of each size.")
    first: Count = Field(description="Smallest size.")
    last: Count = Field(description="Largest size.")
    step: Count = Field(description="Step from one size to the next.")

    @model_validator(mode="after")
    def _sizes_have_a_range(self):
        refuse_descending(self, "first", "last")
        return self


class MeansSpace(SpaceSettings):
    """A space, its simulated data and the mechanisms that are compared there."""

    data: Literal[tuple(SAMPLES)] = Field(
        description="`wishart`: matrices of mean I, drawn again outside of the ball; `polar`: "
        "points at uniform distances from the pole."
    )
    radius: Positive = Field(description="Radius of the public ball that holds the data.")
    mechanisms: some(Literal[tuple(MEAN_MECHANISMS)]) = Field(
        description="Mechanisms, in this order; `laplace` is what the others are compared with."
    )

    @model_validator(mode="after")
    def _mechanisms_are_of_the_space(self):
        name, size = {"wishart": ("spd", None), "polar": ("sphere", 2)}[self.data]
        if self.manifold.name != name or size not in (None, self.manifold.size):
            wanted = "SPD matrices" if name == "spd" else "the sphere of size 2"
            raise refused(f": {self.data} data lie on {wanted}: give that", "manifold")
        if "laplace" not in self.mechanisms:
            raise refused(": laplace is missing: add it", "mechanisms")
        for wrapped in WRAPPED:
            if name == "sphere" and wrapped in self.mechanisms:
                raise refused(f": {wrapped} has no budget on a sphere: remove it", "mechanisms")
        # Up to here the Hessian of the energy has a lower bound on the support.
        if name == "sphere" and self.radius >= np.pi / 6:
            raise refused(f": {self.radius:g} is too large: give less than pi/6", "radius")
        return self


class ShapesSpace(SpaceSettings):
    """A space of planar shapes, and a data set there."""

    data: Literal["rats", "outlines"] = Field(
        description="`rats`: each rat's mean shape over its ages; `outlines`: outlines of the "
        "corpus callosum, simulated unless there is a file."
    )
    n: Count | None = absent(description="Number of simulated outlines.")
    file: TableData | None = absent(
        description="Outlines of your own, which take the place of simulated ones where they are."
    )

    @model_validator(mode="after")
    def _outlines_are_counted(self):
        if (self.n is None) != (self.data == "rats"):
            word = "rats have no number: remove it" if self.n else "give the number of outlines"
            raise refused(f": {word}", "n")
        if self.file is not None and self.data == "rats":
            raise refused(": rats have a file of their own: remove it", "file")
        return self


class OwnData(TableData):
    """Records of a file, which need no covariate."""

    covariate: Text | None = Field(  # type: ignore[assignment]
        default=None, description="Column of the covariate, which is not used."
    )


class OwnTable(SpaceSettings):
    """A table of your own: its mean, its median and private means of it.

    This is no release: what it writes shows the data, too.
    """

    data: OwnData = Field(description="The records.")
    centre: PublicCentre = Field(
        description="Centre of the public ball: coordinates, or a name, as of a study's releases."
    )
    radius: Positive = Field(description="Radius of the public ball.")
    draws: integer(ge=2) = Field(default=200, description="Draws of each mechanism.")

    @model_validator(mode="after")
    def _has_its_centre(self):
        check_centre(self.centre, self.manifold.name, "centre")
        if self.data.stand_in is not None:
            raise refused(": a missing file has no stand-in here: remove it", "data.stand_in")
        return self


class ShapesSettings(Section):
    """Private mean shapes of one data set each."""

    draws: integer(ge=2) = Field(description="Draws of each mechanism.")
    spaces: spaces_of(ShapesSpace)


class WalksSpace(SpaceSettings):
    """A sphere or SPD matrices of size 2, and walks there."""

    chains: integer(ge=2) = Field(description="Walks.")
    burn_in: Count = Field(description="Steps before the first draw.")
    jump: Count = Field(description="Steps from one draw to the next.")
    draws: Count = Field(description="Draws of each walk.")

    @model_validator(mode="after")
    def _has_walks(self):
        if self.manifold.name != "sphere" and (self.manifold.name, self.manifold.size) != (
            "spd",
            2,
        ):
            raise refused(": there are walks on spheres and on SPD matrices of size 2", "manifold")
        return self


class WalksSettings(Section):
    """Random walks against exact draws from Laplace distributions."""

    scales: some(Positive) = Field(description="Scales of the distributions, and of the steps.")
    spaces: spaces_of(WalksSpace)


class MeansAudit(Section):
    """Lower bounds of what mechanisms and walks spend, from draws for neighbours."""

    n: dict[Text, Count] = Field(description="By space: records of a data set.")
    draws: integer(ge=1000) = Field(description="Draws of a mechanism from each data set.")
    walks: integer(ge=1000) = Field(description="Walks from each mean, of one draw each.")
    steps: Count = Field(description="Steps of a walk.")


class MediansSpace(SpaceSettings):
    """A sphere, SPD matrices or shapes, and the ball of the records."""

    radius: Positive = Field(description="Radius of the ball.")

    @model_validator(mode="after")
    def _has_a_centre(self):
        if self.manifold.name not in ("sphere", "spd", "kendall"):
            raise refused(
                f": {self.manifold.name} has no data here: give sphere, spd or kendall",
                "manifold.name",
            )
        return self


class MediansSettings(Section):
    """Means and medians of data with outliers."""

    n: Count = Field(description="Records of a data set.")
    replicates: integer(ge=2) = Field(description="Data sets.")
    outliers: some(number(ge=0, lt=1)) = Field(description="Shares of outliers.")
    spaces: spaces_of(MediansSpace)


class MeansSettings(Section):
    """Settings of the targets `reimherr_bharath_soto` and `soto`."""

    seed: Seed = Field(description="Every random stream is keyed by this number.")
    budget: Positive = Field(description="Budget of a draw, epsilon.")
    replicates: integer(ge=2) = Field(description="Data sets of each size.")
    n: some(Count) = Field(description="Sizes of data sets whose means are drawn.")
    shown: integer(ge=1) = Field(
        description="Figures show the sizes that are multiples of this one."
    )
    neighbours: NeighbourSizes = Field(description="Neighbours whose means are compared.")
    losses: some(Count) = Field(description="Sizes at which realised losses are searched for.")
    radii: integer(ge=2) = Field(
        description="Number of radii of the figure of sensitivities on the sphere."
    )
    spaces: spaces_of(MeansSpace)
    shapes: ShapesSettings = Field(description="Private mean shapes.")
    own: OwnTable | None = Field(default=None, description="A table of your own, or null.")
    medians: MediansSettings = Field(description="Means and medians.")
    walks: WalksSettings = Field(description="Random walks against exact draws.")
    audit: MeansAudit = Field(description="What draws tell of the budgets.")

    @model_validator(mode="after")
    def _names_differ(self):
        if sum(space.data == "polar" for space in self.spaces.values()) != 1:
            raise refused(": one space has to have polar data, for the figure of it", "spaces")
        if not any(n % self.shown == 0 for n in self.n):
            raise refused(f": no size of n is a multiple of {self.shown}: give another", "shown")
        for part, named in (
            ("spaces", {**self.spaces, **self.shapes.spaces}),
            ("medians.spaces", self.medians.spaces),
            ("walks.spaces", self.walks.spaces),
        ):
            files = [re.sub("[^a-z0-9]", "", name.lower()) for name in named]
            for name, file in zip(named, files, strict=True):
                if files.count(file) > 1 or file in ("", "figures", "logs", "own"):
                    raise refused(
                        ": it gives a folder no name of its own: rename it", f"{part}.{name}"
                    )
        if set(self.audit.n) != set(self.spaces):
            raise refused(f": give one for each of {', '.join(self.spaces)}", "audit.n")
        return self
