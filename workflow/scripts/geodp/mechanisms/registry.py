"""Mechanisms by the name a configuration gives them, with their options and budgets."""

from dataclasses import dataclass, field
from importlib import import_module

from geodp.errors import DataError
from geodp.models.blocks import ALL, block_names


@dataclass(frozen=True)
class Entry:
    """A mechanism that a configuration may name."""

    place: str  # Module and class, loaded when asked for: a job needs its own mechanism only.
    description: str  # Of those that studies may name.
    joint: bool = False  # Whether all blocks are drawn at once, and one budget is spent on it.
    # Meaning of each option by name; options are positive numbers, and all are needed.
    options: dict[str, str] = field(default_factory=dict)
    most_covariates: int | None = None  # None for any number.
    # Public inputs that a study's settings must give: ``centre``, or ``centre or truth`` if the
    # true footpoint of simulated data will do; limits of the support; ``covariate_range``.
    needs: tuple[str, ...] = ()
    # Whether that of a mean has a sensitivity, for data in a ball of the study's data_radius.
    has_mean_sensitivity: bool = False
    anywhere: bool = False  # Whether draws may lie anywhere, so that a support has no limits.
    # Where a configuration may name it: in ``studies``, or in tables of ``means``.
    named_in: tuple[str, ...] = ("studies",)

    @property
    def module(self):
        """The module of the mechanism."""
        return self.place.partition(":")[0]


MECHANISMS = {
    "kng_as_published": Entry(
        "geodp.mechanisms.kng_as_published:KNGAsPublished",
        "K-norm gradient mechanism, as published; its stated budget does not hold.",
        most_covariates=1,
        has_mean_sensitivity=True,
    ),
    "release": Entry(
        "geodp_release.ask.as_mechanism:ReleaseMechanism",
        "Draws of all blocks at once, private with a proof at the budget in all.",
        joint=True,
        options={
            "residual_scale": "A guess: standard deviation of the records about their geodesic, "
            "in each direction; it chooses where residuals are clipped."
        },
        needs=("centre", "footpoint_radius", "shooting_vector_length", "covariate_range"),
    ),
    "laplace": Entry(
        "geodp.mechanisms.means:Laplace",
        "Riemannian Laplace mechanism of a Frechet mean; needs `data_radius`.",
        most_covariates=0,
        needs=("centre or truth",),
        has_mean_sensitivity=True,
        anywhere=True,
        named_in=("studies", "means"),
    ),
}
# Those of Frechet means alone, by module and class.
MECHANISMS |= {
    name: Entry(f"geodp.mechanisms.{place}", "", named_in=("means",))
    for name, place in {
        "laplace_as_published": "means:LaplaceAsPublished",
        "laplace_general": "means:LaplaceGeneral",
        "kng": "means:KNormGradient",
        "ambient_laplace": "mean_noise:AmbientLaplace",
        "tangent_laplace": "mean_noise:TangentLaplace",
        "tangent_gaussian": "mean_noise:TangentGaussian",
        "private_steps": "mean_noise:PrivateSteps",
        "wrapped_laplace": "mean_noise:WrappedLaplace",
        "wrapped_gaussian": "mean_noise:WrappedGaussian",
        "wrapped_laplace_at_centre": "mean_noise:WrappedLaplaceAtCentre",
        "wrapped_gaussian_at_centre": "mean_noise:WrappedGaussianAtCentre",
        "private_median": "mean_noise:PrivateMedian",
        "landmarkwise_laplace": "mean_noise:LandmarkwiseLaplace",
    }.items()
}


def named_in(place):
    """Entries that a configuration may name in a place, by name; see `Entry.named_in`."""
    return {name: entry for name, entry in MECHANISMS.items() if place in entry.named_in}


def mechanism_class(name):
    """The class of the mechanism called ``name``."""
    module, _, attribute = MECHANISMS[name].place.partition(":")
    return getattr(import_module(module), attribute)


def budget_names(mechanism, covariates):
    """Names of the budgets of a mechanism: the blocks of its model, or ``("all",)``."""
    known = named_in("studies")
    if mechanism not in known:
        raise DataError(f"mechanism {mechanism!r} is not one of {', '.join(known)}")
    return (ALL,) if MECHANISMS[mechanism].joint else block_names(covariates)
