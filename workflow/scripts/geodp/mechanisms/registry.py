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
    """

    place: str
    description: str
    joint: bool = False
    options: dict[str, str] = field(default_factory=dict)

    @property
    def module(self):
        """The module of the mechanism."""
        return self.place.partition(":")[0]


MECHANISMS = {
    "kng_as_published": Entry(
        "geodp.mechanisms.kng_as_published:KNGAsPublished",
        "K-norm gradient mechanism, as published; its stated budget does not hold.",
    ),
    "certified": Entry(
        "geodp.release.mechanism:CertifiedMechanism",
        "Draws of all blocks at once, private with a proof at the budget in all.",
        joint=True,
        options={
            "residual_scale": "A guess: standard deviation of the records about their geodesic, "
            "in each direction; it chooses where residuals are clipped."
        },
    ),
    "laplace": Entry(
        "geodp.mechanisms.laplace:Laplace",
        "Riemannian Laplace mechanism of a Frechet mean; needs `data_radius`.",
    ),
}


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
    if mechanism not in MECHANISMS:
        raise DataError(f"mechanism {mechanism!r} is not one of {', '.join(MECHANISMS)}")
    return (ALL,) if MECHANISMS[mechanism].joint else block_names(covariates)
