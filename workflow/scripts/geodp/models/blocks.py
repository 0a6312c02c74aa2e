"""Names of the blocks of a model's parameters: a footpoint, a shooting vector a covariate."""

FOOTPOINT = "footpoint"

# Name of a budget that is not divided among blocks.
ALL = "all"


def block_names(covariates):
    """Names of the blocks of ``y ~ Exp(p, x_1 v_1 + ... + x_k v_k)``, footpoint first.

    With one covariate there is one ``shooting_vector``; with more they are numbered,
    ``shooting_vector_1`` and so on; a Frechet mean (k = 0) has a footpoint only.
    """
    if covariates == 1:
        return (FOOTPOINT, "shooting_vector")
    return (FOOTPOINT, *(f"shooting_vector_{j}" for j in range(1, covariates + 1)))


def symbol(block):
    """The papers' letter for a block in the names of cells: p, v, v1, v2, ...; or ``all``."""
    return block.replace(FOOTPOINT, "p").replace("shooting_vector", "v").replace("_", "")
