"""Registry of mechanisms by name, and the names of their budgets."""

from importlib import import_module

from geodp.errors import DataError
from geodp.models.blocks import ALL, block_names

# Module and class of each, loaded on demand: a job needs its own mechanism only.
MECHANISMS = {
    "kng_as_published": "geodp.mechanisms.kng_as_published:KNGAsPublished",
    "certified": "geodp.release.mechanism:CertifiedMechanism",
    "laplace": "geodp.mechanisms.laplace:Laplace",
}

# Mechanisms that draw all blocks jointly, with one budget.
JOINT = ("certified",)


def mechanism_class(name):
    """Class of the mechanism with the given name."""
    module, _, attribute = MECHANISMS[name].partition(":")
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
    return (ALL,) if mechanism in JOINT else block_names(covariates)
