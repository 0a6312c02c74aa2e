"""Walks of papers against exact draws: mean distance over the scale, and realised losses."""

import numpy as np
import pandas as pd

from geodp.means.chains import (
    ACCEPTED,
    CORRECT,
    VARIANTS,
    WalkLengths,
    loss_of_counting_accepted,
    walk_draws,
)
from geodp.means.samples import pole
from geodp.randomness import random_stream
from geodp.samplers.riemannian_laplace import draw_laplace
from reproduction.manifolds import study_manifold

EXACT = "exact"


def measure(settings):
    """Table of draws by sampler and scale.

    Parameters
    ----------
    settings : dict
        ``seed`` and the section ``walks`` of ``config/means.yaml``.
    """
    chosen = settings["walks"]
    manifold = study_manifold(chosen["manifold"])
    footpoint = pole(manifold)
    lengths = WalkLengths(**{key: chosen[key] for key in ("chains", "burn_in", "jump", "draws")})
    scales = np.array(chosen["scales"])[:, None]
    rows = []
    for name in (EXACT, *VARIANTS):
        rng = random_stream(settings["seed"], "means", "walks", name)
        if name == EXACT:
            many = np.broadcast_to(footpoint, (lengths.draws, lengths.chains, len(footpoint)))
            drawn = np.stack([draw_laplace(rng, manifold, many, s) for [s] in scales], axis=1)
        else:
            drawn = walk_draws(rng, manifold, footpoint, scales, name, lengths)
        # Draws of a chain are correlated, and chains are independent.
        means = np.mean(manifold.dist(footpoint, drawn), axis=0) / scales
        for scale, each in zip(chosen["scales"], means, strict=True):
            rows.append(
                {
                    "manifold": manifold.name,
                    "sampler": name,
                    "scale": scale,
                    "mean_over_scale": np.mean(each),
                    "standard_error": np.std(each, ddof=1) / np.sqrt(len(each)),
                    "draws": lengths.draws * lengths.chains,
                    "loss_over_stated": _loss(rng, manifold, scale, name),
                }
            )
    return (pd.DataFrame(rows),)


def _loss(rng, manifold, scale, name):
    """Realised over stated loss of close footpoints, where it can be computed."""
    if name == ACCEPTED:
        return loss_of_counting_accepted(rng, manifold, scale)
    return 1.0 if name in (EXACT, CORRECT) else np.nan
