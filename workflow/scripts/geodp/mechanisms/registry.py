"""Mechanisms by the name a configuration gives them, and what divides their budgets."""

from geodp.errors import DataError
from geodp.models.blocks import ALL, block_names

# Module and class of each.
MECHANISMS = {
    "kng_as_published": "geodp.mechanisms.kng_as_published:AsPublished",
    "certified": "geodp.mechanisms.certified:Certified",
    "laplace": "geodp.mechanisms.laplace:Laplace",
}

# Those that draw all blocks at once, and spend one budget on it.
JOINT = ("certified",)


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
