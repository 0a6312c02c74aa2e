"""Scales of the certified mechanism by a rule, from public inputs alone.

The rule was found by trying scales on simulated data on S^2 (`docs/certified.md` says how well it
does); it is no part of the theorem, which holds for any scales that were not taken from the data.
"""

from typing import NamedTuple

import numpy as np

# In units of the residuals' scale: where contributions to the gradient are clipped, and where
# losses are, at least and at most.
GRADIENT = 1.5
LEAST_LOSS = 2.2
MOST_LOSS = 8.0

# With a budget times number of this for each dimension of the state, losses are clipped at
# `MIDDLE_LOSS`; with more of it sooner, for then records far away tell little, and with less later,
# for then nothing else leads to the data.
MIDDLE_BUDGET = 6.0
MIDDLE_LOSS = 7.0
POWER = 1.5

# Share of the loss expected at the optimum that is taken off.
OFFSET = 0.5


class Scales(NamedTuple):
    """What `PublicInputs` calls them."""

    gradient_scale: float
    loss_scale: float
    loss_offset: float


def public_scales(residual_scale, number, epsilon, dim):
    """tau, c and f0.

    Parameters
    ----------
    residual_scale : float
        Root mean squared distance of records from the geodesic that is assumed, from what is known
        without the data: other studies, or the precision of measurements.
    number : int
        n, of subjects.
    epsilon : float
        The budget.
    dim : int
        Of the manifold; the state has twice as many dimensions.

    Returns
    -------
    Scales
    """
    lacking = MIDDLE_BUDGET * 2 * dim / (number * float(epsilon))
    loss = float(np.clip(MIDDLE_LOSS * lacking**POWER, LEAST_LOSS, MOST_LOSS))
    return Scales(GRADIENT * residual_scale, loss * residual_scale, OFFSET / loss**2)
