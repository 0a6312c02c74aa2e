"""Exact draws from the certified law on finitely many public points, in one stage or two.

In one stage the points fill the support.  In two, a first draw among them is followed by one among
a fixed pattern of points about it: each stage has its part of the budget, and the parts add up.
Scores are rounded down to multiples of a power of two, which keeps their sensitivity, and weights
are integers, so that `ExactChoice` draws the law on the points exactly.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.supports import even_balls
from geodp.mechanisms.certified import Scales
from geodp.samplers.integer_choice import ExactChoice

# In more dimensions of the state no number of points that fits a computer is close enough together.
MOST_DIMENSIONS = 6

# Scores are multiples of 2^-SCORE_BITS, volumes of 2^-VOLUME_BITS.
SCORE_BITS = 10
VOLUME_BITS = 20

# Of a single stage, and of each of two.
POINTS = 1 << 16
STAGE_POINTS = 1 << 14

# Two stages are worth their halves of the budget if there is this much budget times number for each
# dimension of the state.
TWO_STAGES_FROM = 20.0

# The pattern of the second stage reaches so many distances between points of the first.
REACH = 1.7

# Distances of records from the best of the points, relative to those between points; and in units
# of such a distance, what it adds to the scales of the gradient and of the loss, and to the loss at
# the optimum.
MISFIT = 0.5
MISFIT_GRADIENT, MISFIT_LOSS, MISFIT_OFFSET = 1.5, 2.2, 0.5


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
    scales : Scales, optional
        Those of the public inputs if not given.
    """

    epsilon: Fraction
    points: int = POINTS
    reach: float = 1.0
    scales: Scales | None = None

    def describe(self, public):
        """The stage in words, for a release."""
        scales = self.scales or public
        return (
            f"exact choice among {self.points} public points with budget {self.epsilon}, reach "
            f"{self.reach:.4g}, tau {scales.gradient_scale:.4g}, c {scales.loss_scale:.4g}, "
            f"f0 {scales.loss_offset:.4g}"
        )

    def law(self, law):
        """The law with the stage's scales."""
        if self.scales is None:
            return law
        return replace(law, public=replace(law.public, **vars(self.scales)))


def one_stage(epsilon, points=POINTS):
    """A single choice with all of a budget."""
    return (Stage(Fraction(epsilon), points),)


def two_stages(epsilon, share, reach, points=STAGE_POINTS):
    """A choice in the support with a share of the budget, and one about it with the rest."""
    epsilon, share = Fraction(epsilon), Fraction(share)
    return Stage(epsilon * share, points), Stage(epsilon * (1 - share), points, reach)


def plan_stages(public, epsilon):
    """Stages for a release, by a rule and from public inputs alone.

    Two where budget times number is large enough, else one.  The pattern about the first choice
    covers the gaps between points and what the law's own spread adds.  Scales are those of records
    that scatter as widely as the points make them.

    Parameters
    ----------
    public : PublicInputs
    epsilon : Fraction

    Returns
    -------
    tuple of Stage
    """
    epsilon = Fraction(epsilon)
    dim = 2 * public.manifold.dim
    if public.number * epsilon < TWO_STAGES_FROM * dim:
        return (Stage(epsilon, POINTS, 1.0, _widened(public, POINTS)),)
    half = epsilon / 2
    footpoint, shooting_vector = public.support.radii
    spread = 4.0 * dim * public.gradient_scale / (public.number * float(half))
    spread = spread / min(footpoint, shooting_vector / np.sqrt(12.0))
    reach = min(REACH * STAGE_POINTS ** (-1.0 / dim) + spread, 1.0)
    return (
        Stage(half, STAGE_POINTS, 1.0, _widened(public, STAGE_POINTS)),
        Stage(epsilon - half, STAGE_POINTS, reach, _widened(public, STAGE_POINTS, reach)),
    )


def _widened(public, points, reach=1.0):
    """Scales for records whose distances to the best of so many points add to those they have."""
    footpoint, shooting_vector = public.support.radii
    # A covariate's share of the shooting vector is x v, and x^2 is one twelfth on average.
    width = np.sqrt(footpoint**2 + shooting_vector**2 / 12.0)
    misfit = MISFIT * reach * width * points ** (-0.5 / public.manifold.dim)
    loss = min(np.hypot(public.loss_scale, MISFIT_LOSS * misfit), public.farthest)
    gradient = min(np.hypot(public.gradient_scale, MISFIT_GRADIENT * misfit), public.farthest)
    offset = public.loss_offset * public.loss_scale**2 + MISFIT_OFFSET * misfit**2
    return Scales(float(gradient), float(loss), float(offset / loss**2))


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
    law = stage.law(law)
    scores = np.floor(np.ldexp(law.score(states), SCORE_BITS)).astype(np.int64)
    weights = np.rint(np.ldexp(volumes, VOLUME_BITS)).astype(np.int64)
    rate = stage.epsilon / (2 << SCORE_BITS)
    chosen = np.empty((*scores.shape[:-1], draws), dtype=int)
    for member in np.ndindex(scores.shape[:-1]):
        choice = ExactChoice(weights[member].tolist(), scores[member].tolist(), rate)
        chosen[member] = [choice.draw(bits) for _ in range(draws)]
    return np.take_along_axis(states, space.expand(chosen), axis=-space.point_ndim - 1)
