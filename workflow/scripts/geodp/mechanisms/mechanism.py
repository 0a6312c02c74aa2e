"""The protocol of a mechanism: draws of a model's parameters at given budgets, with a guarantee."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from geodp.errors import DataError
from geodp.models.blocks import FOOTPOINT
from geodp.models.geodesic import GeodesicModel

PROVED, FALSE, NONE = "proved", "stated but false", "none"


@dataclass(frozen=True)
class Guarantee:
    """Differential privacy of a mechanism's draws.

    Attributes
    ----------
    status : {"proved", "stated but false", "none"}
        Whether the stated budgets hold.
    neighbours : str
        Definition of neighbouring data sets.
    unit : str
        Unit of privacy, of which neighbours differ in one: ``record`` or ``subject``.
    line : str
        The guarantee in one sentence, for figures and tables.
    """

    status: str
    neighbours: str
    unit: str
    line: str

    def __post_init__(self):
        if self.status not in (PROVED, FALSE, NONE):
            raise ValueError(f"status {self.status!r}: give {PROVED}, {FALSE} or {NONE}")


@dataclass(frozen=True)
class PublicSettings:
    """Public settings of a mechanism; each mechanism uses those it needs.

    Attributes
    ----------
    data_radius : float, optional
        Radius of a ball that holds the data (the papers' ``tau_m`` or r).
    centre : ndarray, shape (point_shape) or (data_sets, *point_shape), optional
        Centre of that ball, and of the ball of footpoints.  Studies may take it from the truth or
        the fit, one for each data set: `shared_centre` refuses that.
    footpoint_radius, shooting_vector_length : float, optional
        Limits of the support.
    covariate_range : tuple of float, optional
        Public limits of the covariate, in the units of the covariates given.
    options : dict
        Settings of one mechanism alone.
    """

    data_radius: float | None = None
    centre: np.ndarray | None = None
    footpoint_radius: float | None = None
    shooting_vector_length: float | None = None
    covariate_range: tuple[float, float] | None = None
    options: dict = field(default_factory=dict)

    def shared_centre(self, manifold, mechanism):
        """The centre (point_shape) that all data sets share, or `DataError` if there is none."""
        if self.centre is None or np.shape(self.centre) != manifold.point_shape:
            raise DataError(
                f"{mechanism} needs a public centre that does not depend on the data set: give "
                "coordinates of a point"
            )
        return np.asarray(self.centre)


@dataclass(frozen=True)
class SamplingReport:
    """Report on the draws of one budget, for tables; see `geodp.samplers.kernel.SamplerPlan`."""

    drawn_by: str  # Name of the sampler, or of what takes its place.
    certificate: str  # Why draws are exact, or ``none``.
    proposals: int = 1
    steps: int = 0
    exact_share: float = 1.0
    accepted: float = 1.0  # Acceptance rate.
    largest_weight: float = float("nan")
    total_variation: float = 0.0
    cut_short: bool = False
    sampler: Any = None  # The kernel that drew, for traces; not kept in files.


# Fields of a `SamplingReport` that tables repeat for each budget.
SAMPLED_BY = ("drawn_by", "proposals", "certificate")


def sampled_by(arrays, names):
    """Columns that say how draws were made, from `Draws.arrays` and the names of budgets.

    A dict of str by column, such as ``"footpoint_drawn_by"``.
    """
    return {f"{name}_{key}": str(arrays[f"{name}_{key}"]) for name in names for key in SAMPLED_BY}


@dataclass(frozen=True)
class Draws:
    """Draws of a mechanism at one budget."""

    # Arrays by block.  The footpoint has shape (data_sets, F, *point_shape); shooting vectors have
    # shape (data_sets, F, V, *point_shape), V of them at each footpoint, perhaps one alone.
    parameters: dict
    # `SamplingReport` by name of a budget, for each of those of the draws: a block, or ``all``.
    reports: dict

    def arrays(self):
        """Arrays to keep in a file, by name: parameters, and fields of reports."""
        kept = {
            f"{name}_{key}": np.array(value)
            for name, report in self.reports.items()
            for key, value in vars(report).items()
            if key != "sampler"
        }
        return {**self.parameters, **kept}


class Mechanism(ABC):
    """A mechanism applied to some data sets: draws parameters of a model at any budget.

    Attributes
    ----------
    name : str
        As in `geodp.mechanisms.registry`.
    model : GeodesicModel
    guarantee : Guarantee
    support_description : str
        The support of the draws, in a line.
    of_data_sets : tuple of str
        Fields that have an axis of data sets: arrays, or what has a method `take` itself.
    """

    name: str
    model: GeodesicModel
    guarantee: Any
    support_description: Any
    of_data_sets: ClassVar[tuple[str, ...]] = ("covariates", "points")

    @classmethod
    @abstractmethod
    def prepare(cls, model, covariates, points, public, fit, subjects=None):
        """Apply the mechanism to some data sets.

        Parameters
        ----------
        model : GeodesicModel
        covariates : ndarray, shape (data_sets, n, k); (data_sets, n) with one
        points : ndarray, shape (data_sets, n, *point_shape)
        public : PublicSettings
        fit : Fit
            The fit without privacy.  A private mechanism may use it for proposals of its sampler,
            never for its distribution.
        subjects : ndarray, shape (n,), optional
            Label of the subject of each record.

        Raises
        ------
        DataError
            The mechanism is not defined for the model, or public settings are missing or wrong.
        """

    def bounds(self):
        """Sensitivities and the quantities they depend on, by name; arrays over data sets."""
        return {}

    def take(self, data_sets):
        """The same mechanism, a dataclass, for some of the data sets, given as a slice."""
        fields = {name: getattr(self, name) for name in self.of_data_sets}
        taken = {
            name: each[data_sets] if isinstance(each, np.ndarray) else each.take(data_sets)
            for name, each in fields.items()
            if each is not None
        }
        return replace(self, **taken)  # type: ignore[type-var]

    @abstractmethod
    def draw(self, rng, budgets, draws, plan_sampler):
        """`Draws` at budgets, decimal texts by name.

        Parameters
        ----------
        rng : numpy.random.Generator
        budgets : dict of str
        draws : dict of int
            Number of draws, by name of a budget.  Those of a later block are made at each draw of
            the block before.
        plan_sampler : callable
            Chooses a sampler, for mechanisms that need one: from a generator, a `Target` and the
            number of draws of each member to a `geodp.samplers.kernel.SamplerPlan`.
        """

    def traces(self, rng, budgets, draws, chains, states, warm_up=0, thin=None):
        """Traces (chains, states) of the chains that drew; empty for independent draws.

        By name of a budget, then of a scalar summary.  The entry ``thin`` is the number of steps
        between traced states.
        """
        return {}


def as_draws(model, state, reports):
    """`Draws` of joint states: arrays (data_sets, draws, *point_shape) by block."""
    axis = -model.manifold.point_ndim - 1
    parameters = {
        block: value if block == FOOTPOINT else np.expand_dims(value, axis)
        for block, value in state.items()
    }
    return Draws(parameters, reports)
