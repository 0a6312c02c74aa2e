"""Mistakes that break the guarantee of a release, made on purpose: an audit has to find them.

Besides, what lets an audit draw many times from the same records without computing all again.
"""

from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from geodp_release import contributions
from geodp_release.assumptions import Assumptions
from geodp_release.contributions import LATTICE
from geodp_release.stages import NoisyStep, points, step

# Records that are computed at once, where there are but a few.
FEW = 8


def without_factor_two():
    """Noise for one changed contribution, where a replacement changes two."""
    return patch.object(Assumptions, "changes", 1)


def unclipped_sums(assumptions, records, state, clip):
    """Sums of gradients, clipped to what as many clipped ones could be at most."""
    far = 1e6 * clip
    sums = np.array(contributions.gradient_sums(assumptions, records, state, far), dtype=object)
    sums = sums * 10**6
    length = sum(np.linalg.norm(row.astype(float)) for row in sums)
    most = len(records) * LATTICE
    if length > most:
        sums = np.array(
            [[int(entry * most / length) for entry in row] for row in sums.astype(float)]
        )
    return sums.tolist()


def clipping_after_the_sum():
    """Sums are clipped, and no contribution is."""
    return patch.object(step, "gradient_sums", unclipped_sums)


def tau_from_the_data():
    """Clipped at the largest residual: a record decides how wide the noise is."""
    noisy_means = NoisyStep.noisy_means

    def by_data(stage, assumptions, records, state, number, bits):
        steps = assumptions.manifold.expand(records.covariates[..., 0]) * state[1]
        ends = assumptions.manifold.exp(np.broadcast_to(state[0], steps.shape), steps)
        away = assumptions.manifold.dist(ends, records.points)
        largest = max(float(np.max(away[records.valid], initial=0.0)), 1e-3)
        tuned = replace(stage, clip=largest)
        return noisy_means(tuned, assumptions, records, state, number, bits)

    return patch.object(NoisyStep, "noisy_means", by_data)


def few_at_once():
    """Small chunks: padding, which changes no sum, would be most of the work."""
    return patch.multiple(contributions, CHUNK=FEW, LEAST_CHUNK=FEW)


@contextmanager
def same_sums():
    """Compute sums of the same records, state and limit once: only noise differs between draws."""
    known: dict = {}

    def remembered(function):
        def found(assumptions, records, states, clip):
            key = function, id(records), states.tobytes(), clip
            if key not in known:
                # Records are kept as well, so that no others get their id.
                known[key] = records, function(assumptions, records, states, clip)
            return known[key][1]

        return found

    with (
        few_at_once(),
        patch.object(step, "gradient_sums", remembered(step.gradient_sums)),
        patch.object(points, "loss_sums", remembered(points.loss_sums)),
    ):
        yield


def same_choices():
    """Compute the probabilities of the same choice once."""
    made = points.ExactChoice
    known: dict = {}

    def remembered(weights, exponents, *rate):
        key = tuple(weights), tuple(exponents), *rate
        if key not in known:
            known[key] = made(*key)
        return known[key]

    return patch.object(points, "ExactChoice", remembered)
