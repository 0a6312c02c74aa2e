"""Settings of private Frechet means, config/means.yaml."""

import re
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from geodp.errors import DataError
from geodp.manifolds.registry import MANIFOLDS
from geodp.means.samples import SAMPLES
from geodp.mechanisms.registry import mechanism_class, named_in
from geodp.settings.section import (
    Count,
    Positive,
    Section,
    Seed,
    Text,
    absent,
    integer,
    number,
    refused,
    some,
)
from reproduction.configuration.data import TableData
from reproduction.configuration.spaces import SpaceSettings, spaces_of
from reproduction.configuration.study import PublicCentre, check_centre


class NeighbourSizes(Section):
    """Pairs of neighbouring data sets, by size."""

    limits: ClassVar = ("first", "last")

    pairs: Count
    """Pairs of each size."""
    first: Count
    """Smallest size."""
    last: Count
    """Largest size."""
    step: Count
    """Step from one size to the next."""


class MeansSpace(SpaceSettings):
    """A space, its simulated data and the mechanisms that are compared there."""

    data: Literal[tuple(SAMPLES)]
    """`wishart`: matrices of mean I, drawn again outside of the ball; `polar`: points at uniform
    distances from the pole."""
    radius: Positive
    """Radius of the public ball that holds the data."""
    mechanisms: some(Literal[tuple(named_in("means"))])
    """Mechanisms, in this order; `laplace` is what the others are compared with."""
    draws: dict[Literal[tuple(named_in("means"))], Count] = Field(default={})
    """Draws from each data set, by mechanism; one where it has none."""

    @model_validator(mode="after")
    def _mechanisms_are_of_the_space(self):
        name, size = {"wishart": ("spd", None), "polar": ("sphere", 2)}[self.data]
        if self.manifold.name != name or size not in (None, self.manifold.size):
            wanted = "SPD matrices" if name == "spd" else "the sphere of size 2"
            raise refused(f": {self.data} data lie on {wanted}: give that", "manifold")
        if "laplace" not in self.mechanisms:
            raise refused(": laplace is missing: add it", "mechanisms")
        for mechanism in self.mechanisms:
            try:
                mechanism_class(mechanism).check_space(MANIFOLDS[name](self.manifold.size))
            except DataError as problem:
                raise refused(f": {mechanism}: {problem}: remove it", "mechanisms") from problem
        # Up to here the Hessian of the energy has a lower bound on the support.
        if name == "sphere" and self.radius >= np.pi / 6:
            raise refused(f": {self.radius:g} is too large: give less than pi/6", "radius")
        return self


class ShapesSpace(SpaceSettings):
    """A space of planar shapes, and a data set there."""

    data: Literal["rats", "outlines"]
    """`rats`: each rat's mean shape over its ages; `outlines`: outlines of the corpus callosum,
    simulated unless there is a file."""
    n: Count | None = absent()
    """Number of simulated outlines."""
    file: TableData | None = absent()
    """Outlines of your own, which take the place of simulated ones where they are."""

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

    covariate: Text | None = None  # type: ignore[assignment]
    """Column of the covariate, which is not used."""


class OwnTable(SpaceSettings):
    """A table of your own: its mean, its median and private means of it.

    This is no release: what it writes shows the data, too.
    """

    data: OwnData
    """The records."""
    centre: PublicCentre
    """Centre of the public ball, as of a study's releases."""
    radius: Positive
    """Radius of the public ball."""
    draws: integer(ge=2) = 200
    """Draws of each mechanism."""

    @model_validator(mode="after")
    def _has_its_centre(self):
        check_centre(self.centre, self.manifold.name, "centre")
        if self.data.stand_in is not None:
            raise refused(": a missing file has no stand-in here: remove it", "data.stand_in")
        return self


class ShapesSettings(Section):
    """Private mean shapes of one data set each."""

    draws: integer(ge=2)
    """Draws of each mechanism."""
    spaces: spaces_of(ShapesSpace)


class WalksSpace(SpaceSettings):
    """A sphere or SPD matrices of size 2, and walks there."""

    chains: integer(ge=2)
    """Walks."""
    burn_in: Count
    """Steps before the first draw."""
    jump: Count
    """Steps from one draw to the next."""
    draws: Count
    """Draws of each walk."""

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

    scales: some(Positive)
    """Scales of the distributions, and of the steps."""
    spaces: spaces_of(WalksSpace)


class MeansAudit(Section):
    """Lower bounds of what mechanisms and walks spend, from draws for neighbours."""

    n: dict[Text, Count]
    """By space: records of a data set."""
    draws: integer(ge=1000)
    """Draws of a mechanism from each data set."""
    walks: integer(ge=1000)
    """Walks from each mean, of one draw each."""
    steps: Count
    """Steps of a walk."""


class MediansSpace(SpaceSettings):
    """A sphere, SPD matrices or shapes, and the ball of the records."""

    radius: Positive
    """Radius of the ball."""

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

    n: Count
    """Records of a data set."""
    replicates: integer(ge=2)
    """Data sets."""
    outliers: some(number(ge=0, lt=1))
    """Shares of outliers."""
    spaces: spaces_of(MediansSpace)


class MeansSettings(Section):
    """Settings of the targets `reimherr_bharath_soto` and `soto`."""

    seed: Seed
    budget: Positive
    """Budget of a draw, epsilon."""
    replicates: integer(ge=2)
    """Data sets of each size."""
    n: some(Count)
    """Sizes of data sets whose means are drawn."""
    shown: integer(ge=1)
    """Figures show the sizes that are multiples of this one."""
    neighbours: NeighbourSizes
    losses: some(Count)
    """Sizes at which realised losses are searched for."""
    radii: integer(ge=2)
    """Number of radii of the figure of sensitivities on the sphere."""
    spaces: spaces_of(MeansSpace)
    shapes: ShapesSettings
    own: OwnTable | None = None
    medians: MediansSettings
    walks: WalksSettings
    audit: MeansAudit

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
