"""Realised privacy losses of mechanisms for means, on neighbours chosen to make them large."""

import numpy as np
import pandas as pd

from geodp.means.losses import gradient_losses, losses_by_form, problems_of_neighbours
from geodp.means.samples import pole
from geodp.mechanisms.registry import mechanism_class
from reproduction.manifolds import study_manifold


def tabulate(job):
    """A row a size, mechanism and support: the largest loss that is found."""
    chosen, rows = job.params.settings, []
    manifold = study_manifold(chosen["manifold"])
    radius, budget = chosen["radius"], chosen["budget"]
    for number in chosen["n"]:
        problems = problems_of_neighbours(manifold, pole(manifold), radius, number)
        found = {(name, ""): each for name, each in losses_by_form(problems, budget).items()}
        if ("kng", "") in found:
            # The paper states no support.
            found["kng", "twice the ball"] = found.pop(("kng", ""))
            for words, ball in (("the ball", radius), ("anywhere", np.pi)):
                found["kng", words] = gradient_losses(problems, budget, ball)
        for (name, support), each in found.items():
            row = {
                "mechanism": name,
                "guarantee": mechanism_class(name).status(manifold),
                "support": support,
                "n": number,
                "budget": budget,
                "loss": float(np.max(each)),
            }
            rows.append(row | {"loss_over_stated": row["loss"] / budget})
    common = {"space": chosen["space"], "manifold": manifold.name}
    return pd.DataFrame([common | row for row in rows])
