"""Mechanisms by the name a configuration gives them, with their options and budgets."""

from dataclasses import dataclass, field
from importlib import import_module

from geodp.errors import DataError
from geodp.models.blocks import ALL, block_names


@dataclass(frozen=True)
class Entry:
    """A mechanism that a configuration may name.

    Attributes
    ----------
    place : str
        Module and class, loaded when asked for: a job needs its own mechanism only.
    description : str
    joint : bool
        Whether all blocks are drawn at once, and one budget is spent on it.
    options : dict of str
        Meaning of each option by name; options are positive numbers, and all are needed.
    named_in : tuple of str
        Where a configuration may name it: in ``studies``, as one of the mechanisms that are
        compared on spaces of ``means``, or for a mean of one's ``own`` table.
    """

    place: str
    description: str
    joint: bool = False
    options: dict[str, str] = field(default_factory=dict)
    named_in: tuple[str, ...] = ("means", "own")

    @property
    def module(self):
        """The module of the mechanism."""
        return self.place.partition(":")[0]


MECHANISMS = {
    "kng_as_published": Entry(
        "geodp.mechanisms.kng_as_published:KNGAsPublished",
        "K-norm gradient mechanism, as published; its stated budget does not hold.",
        named_in=("studies",),
    ),
    "certified": Entry(
        "geodp.release.mechanism:CertifiedMechanism",
        "Draws of all blocks at once, private with a proof at the budget in all.",
        joint=True,
        options={
            "residual_scale": "A guess: standard deviation of the records about their geodesic, "
            "in each direction; it chooses where residuals are clipped."
        },
        named_in=("studies",),
    ),
    "laplace": Entry(
        "geodp.mechanisms.means:Laplace",
        "Riemannian Laplace mechanism of a Frechet mean; needs `data_radius`.",
        named_in=("studies", "means", "own"),
    ),
    "laplace_as_published": Entry(
        "geodp.mechanisms.means:LaplaceAsPublished",
        "Riemannian Laplace mechanism of a Frechet mean, at the published scale.",
    ),
    "kng": Entry(
        "geodp.mechanisms.means:KNormGradient",
        "K-norm gradient mechanism of a Frechet mean, at the published scale.",
    ),
    "ambient_laplace": Entry(
        "geodp.mechanisms.means:AmbientLaplace",
        "Laplace noise in the ambient space; its stated budget does not hold.",
        named_in=("means",),
    ),
    "tangent_laplace": Entry(
        "geodp.mechanisms.means:TangentLaplace",
        "Mean of clipped logarithms at the centre of the ball, with Laplace noise.",
    ),
    "tangent_gaussian": Entry(
        "geodp.mechanisms.means:TangentGaussian",
        "Mean of clipped logarithms at the centre of the ball, with Gaussian noise.",
    ),
    "private_steps": Entry(
        "geodp.mechanisms.means:PrivateSteps",
        "Two private steps of clipped logarithms.",
    ),
    "wrapped_laplace": Entry(
        "geodp.mechanisms.means:WrappedLaplace",
        "Laplace noise at the mean, carried by the exponential map.",
    ),
    "wrapped_gaussian": Entry(
        "geodp.mechanisms.means:WrappedGaussian",
        "Gaussian noise at the mean, carried by the exponential map.",
    ),
    "private_median": Entry(
        "geodp.mechanisms.means:PrivateMedian",
        "Private steps towards a geometric median.",
        named_in=("own",),
    ),
    "landmarkwise_laplace": Entry(
        "geodp.mechanisms.means:LandmarkwiseLaplace",
        "Laplace noise for each coordinate of each landmark; no budget is proved.",
        named_in=("own",),
    ),
}


def named_in(place):
    """Entries that a configuration may name in a place, by name; see `Entry.named_in`."""
    return {name: entry for name, entry in MECHANISMS.items() if place in entry.named_in}


def mechanism_class(name):
    """The class of the mechanism called ``name``."""
    module, _, attribute = MECHANISMS[name].place.partition(":")
    return getattr(import_module(module), attribute)


def budget_names(mechanism, covariates):
    """Names of the budgets of a mechanism: the blocks of its model, or ``("all",)``.

    Parameters
    ----------
    mechanism : str
    covariates : int
        k of the model.

    Returns
    -------
    tuple of str

    Raises
    ------
    DataError
        There is no such mechanism.
    """
    known = named_in("studies")
    if mechanism not in known:
        raise DataError(f"mechanism {mechanism!r} is not one of {', '.join(known)}")
    return (ALL,) if MECHANISMS[mechanism].joint else block_names(covariates)
