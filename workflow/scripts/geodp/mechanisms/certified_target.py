"""The certified distribution as a target of samplers: centre and shape of their proposals.

Nothing here is released.  A poor centre costs proposals and does not change the distribution.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from geodp.mechanisms.certified import BLOCKS, ENDS, clip_factors
from geodp.mechanisms.norms import Norm
from geodp.mechanisms.target import Target
from geodp.models.geodesic import GeodesicModel
from geodp.models.residuals import gauss_newton_steps

# Public points tried as starts, and Gauss-Newton steps from the best of them.  The steps are taken
# with each of these multiples of the scales in turn, since clipped records do not tell how far away
# they are.
STARTS = 256
STEPS = 12
EASED = (16.0, 4.0, 1.0)

# Steps from given starts end once they are this short, relative to the scale of the distribution.
CLOSE = 0.1

# Step of the differences that give the derivative of the clipped gradient.
DIFFERENCE_STEP = 1e-4

# Widths of proposals: where gradients are clipped the distribution is wider than at its mode.
WIDTHS = (1.0, 2.0, 4.0)


def certified_target(certified, budget, start=None):
    """The target of a `CertifiedDistribution` at a budget, for a batch of data sets.

    Parameters
    ----------
    certified : CertifiedDistribution
    budget : float
    start : ndarray, shape (*data_sets, 2, *point_shape), optional
        Geodesics to start from instead of public points, such as fits of simulated data, which is
        faster.  The running time then depends on the data.

    Returns
    -------
    Target
        Its batch is that of the data sets.
    """
    public = certified.public
    # Whatever the score, proposals have the shape of the clipped gradients.
    shape = replace(certified, score_name="combined")
    # Where the gradient term is the larger, its part at an end is Laplace with this scale.
    scale = 4.0 * public.gradient_scale / (public.number * float(budget))
    centre = robust_fit(shape) if start is None else _refined(shape, start, CLOSE * scale)
    if certified.score_name == "energy":
        scale = np.inf
    return Target(
        space=certified.space,
        unrestricted=partial(certified.unrestricted, budget=float(budget)),
        centre=centre,
        hessian=clipped_hessian(shape, centre),
        scale=np.minimum(scale, _scale_of_loss(certified, centre, float(budget))),
        support=public.support,
        norm=HullNorm(),
        widths=WIDTHS,
    )


class HullNorm(Norm):
    """`certified.hull_norm`; in flat space its parts are the gradients at the geodesic's ends."""

    def parts(self, dim):
        ends = [[end[block] for block in BLOCKS] for end in ENDS]
        return np.kron(ends, np.eye(dim // 2)), len(ENDS)


def _scale_of_loss(certified, centre, budget):
    """Scale of proposals as wide as the distribution if the loss were the score; (*data_sets).

    Above its offset the loss is quadratic, so the distribution is normal; below, it is constant.
    """
    public = certified.public
    if certified.score_name.startswith("gradient"):
        return np.full(certified.space.batch_shape(centre), np.inf)
    least = certified.sums(centre).loss
    offset = public.loss_offset if certified.score_name == "combined" else 0.0
    free = np.maximum(offset - least / public.number, 0.0)
    spread = public.loss_scale * np.sqrt(1.0 / (public.number * budget) + free)
    return spread / np.sqrt(certified.space.dim)


def robust_fit(certified):
    """Geodesics in the support at which the clipped gradient nearly vanishes.

    The influence of a record is bounded, as in the distribution.

    Parameters
    ----------
    certified : CertifiedDistribution

    Returns
    -------
    ndarray, shape (*data_sets, 2, *point_shape)
    """
    space, support, public = certified.space, certified.public.support, certified.public
    eased = [
        replace(
            certified,
            public=replace(
                public,
                gradient_scale=min(factor * public.gradient_scale, public.farthest),
                loss_scale=min(factor * public.loss_scale, public.farthest),
            ),
        )
        for factor in EASED
    ]
    axis = -space.point_ndim - 1
    batch = certified.records.covariates.shape[:-1]
    starts, _ = support.even_points(STARTS)
    starts = np.broadcast_to(starts, (*batch, *starts.shape))
    best = np.argmin(eased[0].sums(starts).loss, axis=-1)[..., None]
    state = np.squeeze(np.take_along_axis(starts, space.expand(best), axis=axis), axis=axis)
    for each in eased:
        state = _refined(each, state)
    return state


def _refined(certified, state, close=0.0):
    """States after Gauss-Newton steps that lower the score, until all are below ``close``."""
    space, support = certified.space, certified.public.support
    damping = np.zeros(space.batch_shape(state))
    score = certified.score(state)
    for _ in range(STEPS):
        step = _gauss_newton_step(certified, state, damping)
        trial = space.exp(state, step)
        inside = support.contains(trial)
        trial = np.where(space.expand(inside), trial, state)
        trial_score = certified.score(trial)
        better = trial_score < score
        state = np.where(space.expand(better), trial, state)
        score = np.where(better, trial_score, score)
        damping = np.where(better, 0.1 * damping, np.maximum(10.0 * damping, 1e-2))
        if np.all(space.norm(state, step) < close):
            break
    return state


def _gauss_newton_step(certified, state, damping):
    """Gauss-Newton step (*data_sets, 2, *point_shape) with the clipped gradient."""
    manifold, records = certified.public.manifold, certified.records
    p, v = certified.space.parts(state)
    sums = certified.sums(state)
    model = GeodesicModel(manifold)
    geodesics, data = model.parameters(p, v), (records.covariates, records.points)
    distances = np.sqrt(model.residuals(geodesics, *data).squared_distances)
    weights = clip_factors(distances, certified.public.gradient_scale)
    weights = weights * records.valid + 1e-12
    gradients = {block: -getattr(sums, block) / certified.public.number for block in BLOCKS}
    x = model.aligned(*data)
    steps = gauss_newton_steps(manifold, geodesics, x, gradients, damping, weights)
    reach = 0.25 * certified.public.support.radii
    parts = []
    for block, longest in zip(BLOCKS, reach, strict=True):
        factor = clip_factors(manifold.norm(p, steps[block]), longest)
        parts.append(manifold.expand(factor) * steps[block])
    return certified.space.join(*parts)


def clipped_hessian(certified, states):
    """Derivative of the mean clipped gradient, by central differences.

    Parameters
    ----------
    certified : CertifiedDistribution
    states : ndarray, shape (*data_sets, 2, *point_shape)

    Returns
    -------
    ndarray, shape (*data_sets, 2 dim, 2 dim)
        Symmetric, in the frame at the states.
    """
    space = certified.space
    axis = -space.point_ndim - 1
    frame = space.frame(states)
    centre = np.expand_dims(states, axis)
    sides = []
    for sign in (1.0, -1.0):
        moved = space.exp(centre, sign * DIFFERENCE_STEP * frame)
        sums = certified.sums(moved)
        gradient = (
            -space.join(*(getattr(sums, block) for block in BLOCKS)) / certified.public.number
        )
        back = space.transport_to(moved, np.broadcast_to(centre, moved.shape), gradient)
        sides.append(space.coordinates(centre, back, np.expand_dims(frame, axis - 1)))
    matrix = (sides[0] - sides[1]) / (2.0 * DIFFERENCE_STEP)
    return 0.5 * (matrix + np.swapaxes(matrix, -1, -2))
