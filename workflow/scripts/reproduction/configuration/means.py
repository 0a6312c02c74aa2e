"""Tables and figures of private Frechet means."""

from typing import Literal

from pydantic import ConfigDict, Field, create_model, model_validator

from geodp.mechanisms.registry import named_in
from geodp.settings.section import Count, Positive, Text, distinct, integer, named, number, refused
from reproduction.configuration.data import TableData
from reproduction.configuration.figures import PaperFigure
from reproduction.configuration.spaces import PublicCentre, SpaceTable, check_centre

MeanMechanism = Literal[tuple(named_in("means"))]


class MeanTable(SpaceTable):
    """A table of one space."""

    space: Text
    """Its name in tables and figures; random numbers are keyed by it."""


class MeansOfNeighbours(MeanTable):
    """Distances of the means of neighbouring data sets in a ball, and steps to them."""

    kind: Literal["means_of_neighbours"]
    radius: Positive
    """Radius of the ball."""
    n: distinct(Count)
    """Sizes of data sets."""
    pairs: Count
    """Pairs of each size."""


class BudgetedTable(MeanTable):
    """A table of mechanisms."""

    budget: Positive
    """Budget of a draw, epsilon."""


class BallTable(BudgetedTable):
    """A table of mechanisms for data in a public ball."""

    radius: Positive
    """Radius of the ball."""


class PrivateMeans(BallTable):
    """Errors of private means of simulated data on a sphere or SPD matrices."""

    kind: Literal["private_means"]
    n: distinct(Count)
    """Sizes of data sets."""
    replicates: integer(ge=2)
    """Data sets of each size."""
    mechanisms: named(Count, MeanMechanism)
    """Draws from each data set, by mechanism."""


class MeanLosses(BallTable):
    """Largest privacy losses found between neighbours, by mechanism and size."""

    kind: Literal["mean_losses"]
    n: distinct(Count)
    """Sizes of data sets."""


class MeanTesters(BallTable):
    """Privacy losses that draws prove, of mechanisms and of walks, for two neighbours."""

    kind: Literal["mean_testers"]
    n: Count
    """Records of a data set: the fewer, the more is seen."""
    mechanisms: distinct(MeanMechanism)
    """Mechanisms, in this order."""
    draws: integer(ge=1000)
    """Draws of a mechanism from each data set."""
    walks: integer(ge=1000)
    """Walks from each mean, of one draw each."""
    steps: Count
    """Steps of a walk."""


class MeanMedians(BallTable):
    """Means and medians of data with outliers, private and not."""

    kind: Literal["mean_medians"]
    n: Count
    """Records of a data set."""
    replicates: integer(ge=2)
    """Data sets."""
    outliers: distinct(number(ge=0, lt=1))
    """Shares of outliers."""


class MeanWalks(MeanTable):
    """Random walks against exact Laplace draws, on a sphere or SPD matrices of size 2."""

    kind: Literal["mean_walks"]
    scales: distinct(Positive)
    """Scales of the distributions, and of the steps."""
    chains: integer(ge=2)
    """Walks."""
    burn_in: Count
    """Steps before the first draw."""
    jump: Count
    """Steps from one draw to the next."""
    draws: Count
    """Draws of each walk."""


class SensitivityBounds(SpaceTable):
    """Changes of a logarithm on the sphere S^2, and their bound."""

    kind: Literal["sensitivity_bounds"]
    radii: integer(ge=2)
    """Number of radii, in equal steps between 0 and the largest of the theorem, a quarter of pi."""


class MeanData(TableData):
    """Records of a file, which need no covariate; those of a subject count as their mean."""

    covariate: Text | None = None  # type: ignore[assignment]
    """Column of the covariate, which is not used."""


class MeanShapes(BudgetedTable):
    """Private mean shapes of one data set, with balls that are read off the data."""

    kind: Literal["mean_shapes"]
    draws: integer(ge=2)
    """Draws of each mechanism."""
    data: MeanData
    """The records; a stand-in is of simulated outlines."""


class OwnMeans(SpaceTable):
    """Mean, median and private means of a table of your own; it shows the data: no release."""

    kind: Literal["own_means"]
    budget: Positive = 1.0
    """Budget of a draw, epsilon."""
    data: MeanData
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


TABLES = (
    *(PrivateMeans, MeansOfNeighbours, MeanLosses, SensitivityBounds, MeanTesters),
    *(MeanWalks, MeanMedians, MeanShapes, OwnMeans),
)


class _Figure(PaperFigure):
    """A figure made here: looking for docstrings of keys needs a class's own source."""

    model_config = ConfigDict(use_attribute_docstrings=False)


def _figure(kind, words, *tables, **keys):
    """The section of a figure, with the tables it reads and keys of its own."""
    keys |= {"kind": (Literal[kind], ...)}
    section = create_model(f"Figure_{kind}", __base__=_Figure, __doc__=words, **keys)
    section.tables = tables
    return section


MARKED = (Positive, Field(description="Radius that is marked, of the simulations."))
FIGURES = (
    _figure("sensitivities", "Changes of a logarithm, and bounds.", "bounds", radius=MARKED),
    _figure("laplace_means", "Means of neighbours, and errors.", "errors", "neighbours"),
    _figure("kng_means", "Errors of mechanisms over that of the Laplace mechanism.", "errors"),
    _figure("mean_shapes", "Private mean shapes over the mean.", "errors"),
    _figure("mean_losses", "Losses that draws prove, over the stated budget.", "testers"),
    _figure("walks", "Mean distance of draws of walks, over the scale.", "walks"),
    _figure("medians", "Means and medians, by the share of outliers.", "medians"),
)
