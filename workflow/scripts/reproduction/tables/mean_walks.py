"""Walks of papers against exact draws: mean distance over the scale, and realised losses."""

import numpy as np
import pandas as pd

from geodp.means.samples import pole
from geodp.means.walks import CORRECT, kind_of_loss, loss_of_walk, variants, walk_draws
from geodp.randomness import random_stream
from geodp.samplers.riemannian_laplace import draw_laplace
from reproduction.manifolds import study_manifold

EXACT = "exact"


def tabulate(job):
    """A row a sampler and scale."""
    chosen, rows = job.params.settings, []
    manifold, scales = study_manifold(chosen["manifold"]), np.array(chosen["scales"])[:, None]
    footpoint, kinds = pole(manifold), (EXACT, *variants(manifold))
    lengths = {key: chosen[key] for key in ("chains", "burn_in", "jump", "draws")}
    many = np.broadcast_to(footpoint, (chosen["draws"], chosen["chains"], *footpoint.shape))
    for name in kinds:
        rng = random_stream(job.params.seed, "means", "walks", chosen["space"], name)
        if name == EXACT:
            drawn = np.stack([draw_laplace(rng, manifold, many, s) for [s] in scales], axis=1)
        else:
            drawn = walk_draws(rng, manifold, footpoint, scales, name, **lengths)
        # Draws of a chain are correlated, and chains are independent.
        means = np.mean(manifold.dist(footpoint, drawn), axis=0) / scales
        variant, steps = (CORRECT, 0) if name == EXACT else (name, chosen["burn_in"])
        for [scale], each in zip(scales, means, strict=True):
            row = {"sampler": name, "scale": scale, "mean_over_scale": np.mean(each)}
            row["standard_error"] = np.std(each, ddof=1) / np.sqrt(len(each))
            row |= {"draws": many.shape[0] * many.shape[1], "steps": steps}
            row["loss_over_stated"] = loss_of_walk(rng, manifold, scale, variant)
            rows.append(row | {"loss_of": kind_of_loss(name)})
    common = {"space": chosen["space"], "manifold": manifold.name}
    return pd.DataFrame([common | row for row in rows])
