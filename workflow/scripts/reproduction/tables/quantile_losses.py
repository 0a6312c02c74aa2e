"""Realised over stated privacy losses of private quantiles: as published, and as proved."""

import numpy as np
import pandas as pd

from geodp.linear.quantiles import log_density
from geodp.mechanisms.base import FALSE, PROVED


def tabulate(job):
    """A row a quantile and sensitivity of its gradient."""
    chosen, rows = job.params.settings, []
    for tau in chosen["tau"]:
        # As published it is too small above the median: one record moves the number of those below
        # a point by one (and a regression on |x| <= 1 by 2 max(tau, 1 - tau)).
        stated = {"private_quantile": 2.0 * (1.0 - tau), "private_quantile_proved": 1.0}
        for name, sensitivity in stated.items():
            row = {"mechanism": name, "guarantee": PROVED if sensitivity >= 1.0 else FALSE}
            loss = realised_loss(tau, chosen["budget"], chosen["n"], sensitivity)
            row |= {"tau": tau, "n": chosen["n"], "budget": chosen["budget"], "loss": loss}
            rows.append(row | {"loss_over_stated": loss / chosen["budget"]})
    return pd.DataFrame(rows)


def realised_loss(tau, budget, number, sensitivity):
    """Largest difference of log densities that a search over neighbours finds, exactly computed.

    Some records lie at -1, some at 1 and one next to -1; of the neighbour one of the first has
    moved to 1.  So the count of records below a point moves away from ``n tau`` where little of the
    mass is and towards it where most is.
    """
    losses = []
    for low in range(1, number - 1):
        for inner in (-1.0 + 1e-9, 0.0, 1.0 - 1e-9):
            first = np.r_[np.full(low, -1.0), inner, np.full(number - low - 1, 1.0)]
            middles = np.array([0.5 * (inner - 1.0), 0.5 * (inner + 1.0)])
            one, other = (
                log_density(values, tau, budget, 1.0, sensitivity, middles)
                for values in (first, np.r_[1.0, first[1:]])
            )
            losses.append(np.max(np.abs(one - other)))
    return float(max(losses))
