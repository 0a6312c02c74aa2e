"""Private geodesics in two stages, to compare with the certified distribution.

Each stage has a part of the budget and a distribution of its own, with the proof of
`docs/certified_distribution.md`.  What the second stage has of the first is a draw that may be
released, so the two budgets add up.

* *Zoom*: a draw from the certified distribution, then one from the same distribution on a ball
  about the first draw.  The ball is public once that draw is.
* *Mean, then slope*: a footpoint of geodesics of length zero, so a mean of the points; then a
  shooting vector at that footpoint.

The scores of the latter have sensitivity one like that of the certified distribution: where a pair
``(a, b)`` is no longer than tau in `hull_norm`, neither is ``a``, nor ``2 b``, since the norm is at
least the length of each.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.supports import Ball
from geodp.mechanisms.certified import BLOCKS, shrunk
from geodp.mechanisms.certified_target import WIDTHS, certified_target, clipped_hessian
from geodp.mechanisms.target import Target
from geodp.models.geodesic import GeodesicModel

FOOTPOINT, SHOOTING_VECTOR = BLOCKS

# What the norm of a pair is at least, as a multiple of the length of a block.
FACTORS = dict(zip(BLOCKS, (1.0, 2.0), strict=True))


def zoomed_target(distribution, budget, around, radius, start=None):
    """The certified distribution within a ball about a state for each data set.

    Parameters
    ----------
    distribution : CertifiedDistribution
    budget : float
    around : ndarray, shape (*data_sets, 2, *point_shape)
    radius : float
        Public.
    start : ndarray, shape (*data_sets, 2, *point_shape), optional
        As in `certified_target`.

    Returns
    -------
    Target
    """
    shape = certified_target(distribution, budget, start)
    radius = min(
        radius, distribution.space.injectivity_radius, float(distribution.public.support.widest)
    )
    reach = np.full(distribution.space.batch_shape(around), radius)
    return replace(
        shape,
        unrestricted=partial(distribution.log_density, budget=float(budget)),
        support=Ball(distribution.space, around, reach),
    )


def block_score(distribution, block, states):
    """Score of the certified distribution with one block of the gradient; (*data_sets, *chains)."""
    public = distribution.public
    sums = distribution.sums(states)
    length = public.manifold.norm(distribution.space.parts(states)[0], getattr(sums, block))
    gradient = FACTORS[block] * length / (2.0 * public.gradient_scale)
    return shrunk(np.maximum(gradient, sums.loss - public.number * public.loss_offset))


def mean_target(distribution, budget):
    """The distribution of footpoints of geodesics of length zero, on the ball of footpoints.

    Parameters
    ----------
    distribution : CertifiedDistribution
    budget : float

    Returns
    -------
    Target
    """
    public, manifold = distribution.public, distribution.public.manifold
    batch = distribution.records.covariates.shape[:-1]
    centre = np.broadcast_to(public.centre, (*batch, *manifold.point_shape))
    mean = _minimum(distribution, centre, np.zeros_like(centre), FOOTPOINT)[FOOTPOINT]

    def unrestricted(points):
        states = distribution.space.join(points, np.zeros_like(points))
        return -0.5 * budget * block_score(distribution, FOOTPOINT, states)

    hessian = clipped_hessian(distribution, distribution.space.join(mean, np.zeros_like(mean)))
    return Target(
        space=manifold,
        unrestricted=unrestricted,
        centre=mean,
        hessian=hessian[..., : manifold.dim, : manifold.dim],
        scale=np.full(batch, _scale(distribution, FOOTPOINT, budget)),
        support=Ball(manifold, centre, np.full(batch, public.support.radii[0])),
        widths=WIDTHS,
    )


def slope_target(distribution, footpoints, budget):
    """The distribution of shooting vectors at footpoints.

    Parameters
    ----------
    distribution : CertifiedDistribution
    footpoints : ndarray, shape (*data_sets, footpoints, *point_shape)
    budget : float

    Returns
    -------
    tuple
        A `Target` on R^dim, whose states are coordinates in the frame at the footpoint and whose
        batch is (*data_sets, footpoints); and that frame.
    """
    public, manifold = distribution.public, distribution.public.manifold
    batch = manifold.batch_shape(footpoints)
    found = _minimum(distribution, footpoints, np.zeros_like(footpoints), SHOOTING_VECTOR)
    vectors = found[SHOOTING_VECTOR]
    frame = manifold.frame(footpoints)
    axis = -manifold.point_ndim - 1
    states = partial(_states, distribution.space, np.expand_dims(footpoints, axis), frame)
    hessian = clipped_hessian(distribution, distribution.space.join(footpoints, vectors))
    space = Euclidean(manifold.dim)

    def unrestricted(vectors):
        return -0.5 * budget * block_score(distribution, SHOOTING_VECTOR, states(vectors))

    target = Target(
        space=space,
        unrestricted=unrestricted,
        centre=manifold.coordinates(footpoints, vectors, frame),
        hessian=hessian[..., manifold.dim :, manifold.dim :],
        scale=np.full(batch, _scale(distribution, SHOOTING_VECTOR, budget)),
        support=Ball(
            space,
            np.zeros((*batch, manifold.dim)),
            np.full(batch, public.shooting_vector_length),
        ),
        widths=WIDTHS,
    )
    return target, frame


def _states(space, footpoints, frame, coordinates):
    """Geodesics from footpoints (*batch, 1, ...) and coordinates (*batch, chains, dim)."""
    base = space.base
    vectors = base.vector(np.expand_dims(frame, -base.point_ndim - 2), coordinates)
    return space.join(footpoints, vectors)


def _minimum(distribution, footpoints, vectors, block):
    """Parameters of least energy over one block, as a place for proposals."""
    model, records = GeodesicModel(distribution.public.manifold), distribution.records
    return model.minimise(
        model.parameters(footpoints, vectors),
        records.covariates,
        records.points,
        blocks=(block,),
        tolerance=1e-6,
        max_iterations=15,
    ).parameters


def _scale(distribution, block, budget):
    """Near its mode a distribution is ``exp(-|gradient| / scale)``."""
    public = distribution.public
    return 4.0 * public.gradient_scale / (FACTORS[block] * public.number * float(budget))
