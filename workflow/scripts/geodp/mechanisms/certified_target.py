"""The certified law as a target of samplers: where proposals are centred, and how wide they are.

Nothing here is released, and nothing here is part of the law: a poor centre costs proposals.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from geodp.manifolds.base import BLOCKS
from geodp.mechanisms.certified import clip_factors
from geodp.mechanisms.target import Target

# Public points looked at for a start, and Gauss-Newton steps from the best of them: in turn with
# records clipped at these multiples of the law's scales, for clipped records do not tell how far
# away they are.
STARTS = 256
STEPS = 12
EASED = (16.0, 4.0, 1.0)

# Where the time may depend on the data, steps end once they are this short, relative to the scale
# of the law.
CLOSE = 0.1

# Step of the differences that give the derivative of the clipped gradient.
DIFFERENCE_STEP = 1e-4

# Where gradients are clipped the law is wider than its shape at the mode says.
WIDTHS = (1.0, 2.0, 4.0)


def certified_target(law, budget, start=None):
    """The law of `Certified` at a budget, for a batch of data sets.

    Parameters
    ----------
    law : Certified
    budget : float
    start : ndarray, shape (*data_sets, 2, *point_shape), optional
        Geodesics to start from instead of public points, such as fits of simulated data, to save
        time.  What this does then takes a time that depends on the data.

    Returns
    -------
    Target
        Its batch is that of the data sets.
    """
    public = law.public
    # Whatever the score, proposals have the shape of the clipped gradients.
    shape = replace(law, score_name="combined")
    # Where the gradient decides.
    scale = 4.0 * public.gradient_scale / (public.number * float(budget))
    centre = robust_fit(shape) if start is None else _refined(shape, start, CLOSE * scale)
    if law.score_name == "energy":
        scale = np.inf
    return Target(
        space=law.space,
        unrestricted=partial(law.unrestricted, budget=float(budget)),
        centre=centre,
        hessian=clipped_hessian(shape, centre),
        scale=np.minimum(scale, _scale_of_loss(law, centre, float(budget))),
        support=public.support,
        norm="hull",
        widths=WIDTHS,
    )


def _scale_of_loss(law, centre, budget):
    """Scale of proposals as wide as the law would be if the loss decided; (*data_sets).

    Where it lies above its offset the loss is a square, and the law normal; below, it is nothing.
    """
    public = law.public
    if law.score_name.startswith("gradient"):
        return np.full(law.space.batch_shape(centre), np.inf)
    least = np.squeeze(law.sums(np.expand_dims(centre, -law.space.point_ndim - 1)).loss, axis=-1)
    offset = public.loss_offset if law.score_name == "combined" else 0.0
    free = np.maximum(offset - least / public.number, 0.0)
    spread = public.loss_scale * np.sqrt(1.0 / (public.number * budget) + free)
    return spread / np.sqrt(law.space.dim)


def robust_fit(law):
    """Geodesics in the support at which the clipped gradient about vanishes.

    No record pulls at them by more than the law lets it.

    Returns
    -------
    ndarray, shape (*data_sets, 2, *point_shape)
    """
    space, support, public = law.space, law.public.support, law.public
    eased = [
        replace(
            law,
            public=replace(
                public,
                gradient_scale=min(factor * public.gradient_scale, public.farthest),
                loss_scale=min(factor * public.loss_scale, public.farthest),
            ),
        )
        for factor in EASED
    ]
    axis = -space.point_ndim - 1
    batch = law.records.covariates.shape[:-1]
    starts, _ = support.even_points(STARTS)
    starts = np.broadcast_to(starts, (*batch, *starts.shape))
    best = np.argmin(eased[0].sums(starts).loss, axis=-1)[..., None]
    state = np.squeeze(np.take_along_axis(starts, space.expand(best), axis=axis), axis=axis)
    for law in eased:
        state = _refined(law, state)
    return state


def _refined(law, states, close=0.0):
    """States with a lower score, by Gauss-Newton steps, until all steps are shorter than close."""
    space, support = law.space, law.public.support
    axis = -space.point_ndim - 1
    state = np.expand_dims(states, axis)
    damping = np.zeros(space.batch_shape(state))
    score = law.score(state)
    for _ in range(STEPS):
        step = _gauss_newton_step(law, state, damping)
        trial = space.exp(state, step)
        inside = support.contains(trial)
        trial = np.where(space.expand(inside), trial, state)
        trial_score = law.score(trial)
        better = trial_score < score
        state = np.where(space.expand(better), trial, state)
        score = np.where(better, trial_score, score)
        damping = np.where(better, 0.1 * damping, np.maximum(10.0 * damping, 1e-2))
        if np.all(space.norm(state, step) < close):
            break
    return np.squeeze(state, axis=axis)


def _gauss_newton_step(law, state, damping):
    """A step (*data_sets, 1, 2, *point_shape) that should make the clipped gradient smaller."""
    manifold, records = law.public.manifold, law.records
    p, v = law.space.parts(state)
    sums = law.sums(state)
    residuals = manifold.residuals(p, v, records.covariates, records.points)
    distances = np.sqrt(residuals.squared_distances)
    weights = clip_factors(distances, law.public.gradient_scale)
    weights = weights * records.valid[..., None, :] + 1e-12
    gradients = {block: -getattr(sums, block) / law.public.number for block in BLOCKS}
    steps = manifold.gauss_newton_steps(p, v, records.covariates, gradients, damping, weights)
    reach = 0.25 * law.public.support.radii
    parts = []
    for block, longest in zip(BLOCKS, reach, strict=True):
        factor = clip_factors(manifold.norm(p, steps[block]), longest)
        parts.append(manifold.expand(factor) * steps[block])
    return law.space.join(*parts)


def clipped_hessian(law, states):
    """Derivative of the mean clipped gradient, by central differences.

    Parameters
    ----------
    states : ndarray, shape (*data_sets, 2, *point_shape)

    Returns
    -------
    ndarray, shape (*data_sets, 2 dim, 2 dim)
        Symmetric, in the frame at the states.
    """
    space = law.space
    axis = -space.point_ndim - 1
    frame = space.frame(states)
    centre = np.expand_dims(states, axis)
    sides = []
    for sign in (1.0, -1.0):
        moved = space.exp(centre, sign * DIFFERENCE_STEP * frame)
        sums = law.sums(moved)
        gradient = -space.join(*(getattr(sums, block) for block in BLOCKS)) / law.public.number
        back = space.transport_to(moved, np.broadcast_to(centre, moved.shape), gradient)
        sides.append(space.coordinates(centre, back, np.expand_dims(frame, axis - 1)))
    matrix = (sides[0] - sides[1]) / (2.0 * DIFFERENCE_STEP)
    return 0.5 * (matrix + np.swapaxes(matrix, -1, -2))
