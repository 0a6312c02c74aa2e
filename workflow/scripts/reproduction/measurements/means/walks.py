"""Walks of papers against exact draws: mean distance over the scale, and realised losses."""

import numpy as np
import pandas as pd

from geodp.means.samples import pole
from geodp.means.walks import CORRECT, WalkLengths, kind_of_loss, loss_of_walk, variants, walk_draws
from geodp.randomness import random_stream
from geodp.samplers.riemannian_laplace import draw_laplace
from reproduction.manifolds import study_manifold

EXACT = "exact"


def measure(settings, space):
    """Table of draws by sampler and scale, on one space."""
    scales = np.array(settings["walks"]["scales"])[:, None]
    chosen = settings["walks"]["spaces"][space]
    manifold = study_manifold(chosen["manifold"])
    footpoint = pole(manifold)
    lengths = WalkLengths(**{key: chosen[key] for key in ("chains", "burn_in", "jump", "draws")})
    rows = []
    for name in (EXACT, *variants(manifold)):
        rng = random_stream(settings["seed"], "means", "walks", space, name)
        if name == EXACT:
            many = np.broadcast_to(footpoint, (lengths.draws, lengths.chains, *footpoint.shape))
            drawn = np.stack([draw_laplace(rng, manifold, many, s) for [s] in scales], axis=1)
        else:
            drawn = walk_draws(rng, manifold, footpoint, scales, name, lengths)
        # Draws of a chain are correlated, and chains are independent.
        means = np.mean(manifold.dist(footpoint, drawn), axis=0) / scales
        for [scale], each in zip(scales, means, strict=True):
            rows.append(
                {
                    "space": space,
                    "manifold": manifold.name,
                    "sampler": name,
                    "scale": scale,
                    "mean_over_scale": np.mean(each),
                    "standard_error": np.std(each, ddof=1) / np.sqrt(len(each)),
                    "draws": lengths.draws * lengths.chains,
                    "steps": 0 if name == EXACT else lengths.burn_in,
                    "loss_over_stated": loss_of_walk(
                        rng, manifold, scale, CORRECT if name == EXACT else name
                    ),
                    "loss_of": kind_of_loss(name),
                }
            )
    return (pd.DataFrame(rows),)
