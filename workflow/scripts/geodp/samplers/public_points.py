"""Exact draws from the certified law on finitely many public points, in one stage or two.

In one stage the points fill the support.  In two, a first draw among them is followed by one among
a fixed pattern of points about it: each stage has its part of the budget, and the parts add up.
Scores are rounded down to multiples of a power of two, which keeps their sensitivity, and weights
are integers, so that `ExactChoice` draws the law on the points exactly.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.supports import even_balls
from geodp.samplers.integer_choice import ExactChoice

# In more dimensions of the state no number of points that fits a computer is close enough together.
MOST_DIMENSIONS = 6

# Scores are multiples of 2^-SCORE_BITS, volumes of 2^-VOLUME_BITS.
SCORE_BITS = 10
VOLUME_BITS = 20

POINTS = 1 << 15


@dataclass(frozen=True)
class Stage:
    """One choice among public points; every part of it is public.

    Attributes
    ----------
    epsilon : Fraction
        Its budget.
    points : int
        A power of two.
    reach : float
        Radii of the pattern relative to those of the support; the first stage's is the support
        itself.
    """

    epsilon: Fraction
    points: int = POINTS
    reach: float = 1.0


def one_stage(epsilon, points=POINTS):
    """A single choice with all of a budget."""
    return (Stage(Fraction(epsilon), points),)


def two_stages(epsilon, share, reach, points=POINTS):
    """A choice in the support with a share of the budget, and one about it with the rest."""
    epsilon, share = Fraction(epsilon), Fraction(share)
    return Stage(epsilon * share, points), Stage(epsilon * (1 - share), points, reach)


def plan_stages(public, epsilon):
    """Stages for a release, from public inputs alone."""
    return one_stage(epsilon)


def check_dimensions(space):
    """Refuse spaces of so many dimensions that points would lie too far apart."""
    if space.dim > MOST_DIMENSIONS:
        raise DataError(
            f"{space.name}: {space.dim} dimensions are too many for finitely many points "
            f"({MOST_DIMENSIONS} at most): choose the sampler matched"
        )


def draw(law, stages, bits, draws=1):
    """Independent draws for each data set.

    Parameters
    ----------
    law : Certified
    stages : sequence of Stage
    bits : callable
        See `ExactChoice.draw`.
    draws : int

    Returns
    -------
    ndarray, shape (*data_sets, draws, 2, *point_shape)
    """
    space, support = law.space, law.public.support
    check_dimensions(space)
    batch = law.records.covariates.shape[:-2]
    states, volumes = support.even_points(stages[0].points)
    states = np.broadcast_to(states, (*batch, *states.shape))
    volumes = np.broadcast_to(volumes, states.shape[: len(batch) + 1])
    chosen = _choose(law, stages[0], states, volumes, bits, draws)
    for stage in stages[1:]:
        finer = []
        for index in range(draws):
            centre = np.take(chosen, index, axis=len(batch))
            states, volumes = pattern(support, centre, stage)
            finer.append(_choose(law, stage, states, volumes, bits, 1))
        chosen = np.concatenate(finer, axis=len(batch))
    return chosen


def pattern(support, centre, stage):
    """The points about a state among which a later stage chooses, and their volumes.

    Parameters
    ----------
    support : ProductSupport
    centre : ndarray, shape (*batch, 2, *point_shape)
        In the support.
    stage : Stage

    Returns
    -------
    tuple of ndarray
        States (*batch, points + 1, 2, *point_shape), the centre last; and volumes (*batch,
        points + 1), zero for those outside the support.
    """
    space = support.space
    axis = -space.point_ndim - 1
    dim = space.base.dim
    steps = stage.reach * np.repeat(support.radii, dim) * even_balls((dim, dim), stage.points)
    steps = np.concatenate([steps, np.zeros((1, 2 * dim))])
    start = np.expand_dims(centre, axis)
    vectors = space.vector(np.expand_dims(space.frame(centre), axis - 1), steps)
    states = space.exp(start, vectors)
    return states, np.where(support.contains(states), space.exp_volume(start, vectors), 0.0)


def _choose(law, stage, states, volumes, bits, draws):
    """States (*data_sets, draws, ...) chosen among states (*data_sets, points, ...)."""
    space = law.space
    scores = np.floor(np.ldexp(law.score(states), SCORE_BITS)).astype(np.int64)
    weights = np.rint(np.ldexp(volumes, VOLUME_BITS)).astype(np.int64)
    rate = stage.epsilon / (2 << SCORE_BITS)
    chosen = np.empty((*scores.shape[:-1], draws), dtype=int)
    for member in np.ndindex(scores.shape[:-1]):
        choice = ExactChoice(weights[member].tolist(), scores[member].tolist(), rate)
        chosen[member] = [choice.draw(bits) for _ in range(draws)]
    return np.take_along_axis(states, space.expand(chosen), axis=-space.point_ndim - 1)
