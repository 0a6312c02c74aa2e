"""Exact draws from the certified distribution on public points, in one stage or several.

The points of the first stage fill the support.  Each later stage draws from a fixed pattern of
points about the draw before.  Each stage spends a part of the budget.  Scores are rounded down to
multiples of a power of two, which keeps their sensitivity, and volumes are rounded to integers.  So
`ExactChoice` draws from the distribution on the points exactly.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.supports import even_balls
from geodp.mechanisms.certified import Scales
from geodp.samplers.integer_choice import ExactChoice

# Scores are multiples of 2^-SCORE_BITS, volumes of 2^-VOLUME_BITS.
SCORE_BITS = 10
VOLUME_BITS = 20


@dataclass(frozen=True)
class Stage:
    """One draw among public points; all attributes are public.

    Attributes
    ----------
    epsilon : Fraction
        Its budget.
    points : int
        A power of two.
    radii : tuple of float, optional
        Radii of the pattern about the draw before, of footpoints and of shooting vectors.  The
        first stage has none: its points fill the support.
    scales : Scales, optional
        Scales of the score; those of the public inputs unless given.

    Raises
    ------
    DataError
        A budget, a number of points or radii out of range.
    """

    epsilon: Fraction
    points: int
    radii: tuple[float, float] | None = None
    scales: Scales | None = None

    def __post_init__(self):
        # Sums of fractions are exact, those of floats are rounded.
        object.__setattr__(self, "epsilon", Fraction(self.epsilon))
        if self.epsilon <= 0:
            raise DataError(f"a stage has budget {self.epsilon}: give each one above zero")
        if self.points < 2 or self.points & (self.points - 1):
            raise DataError(f"a stage has {self.points} points: give a power of two")
        if self.radii is not None:
            radii = np.asarray(self.radii)
            if radii.shape != (2,) or not np.all(np.isfinite(radii) & (radii > 0)):
                raise DataError(f"a stage has radii {self.radii}: give two positive numbers")

    def describe(self, public):
        """The stage in words, for a release."""
        scales = self.scales or public
        where = "of the support"
        if self.radii is not None:
            where = f"within {self.radii[0]:.4g} and {self.radii[1]:.4g} of the choice before"
        return (
            f"exact choice among {self.points} public points {where} with budget {self.epsilon}, "
            f"tau {scales.gradient_scale:.4g}, c {scales.loss_scale:.4g}, "
            f"f0 {scales.loss_offset:.4g}"
        )

    def rescaled(self, certified):
        """The `CertifiedDistribution` with the scales of this stage."""
        if self.scales is None:
            return certified
        return replace(certified, public=replace(certified.public, **vars(self.scales)))


def check_stages(stages):
    """Refuse stages unless the first has no pattern and all others have one.

    Raises
    ------
    DataError
    """
    first = [stage.radii is None for stage in stages]
    if not first or first != [True] + [False] * (len(stages) - 1):
        raise DataError(
            "stages: give those of plan_release, or a first one without radii and others with two"
        )


def draw(certified, stages, bits, draws=1):
    """Independent draws for each data set.

    Parameters
    ----------
    certified : CertifiedDistribution
    stages : sequence of Stage
    bits : callable
        See `ExactChoice.draw`.
    draws : int

    Returns
    -------
    ndarray, shape (*data_sets, draws, 2, *point_shape)
    """
    check_stages(stages)
    support = certified.public.support
    batch = certified.records.covariates.shape[:-1]
    states, volumes = support.even_points(stages[0].points)
    states = np.broadcast_to(states, (*batch, *states.shape))
    volumes = np.broadcast_to(volumes, states.shape[: len(batch) + 1])
    chosen = _choose(certified, stages[0], states, volumes, bits, draws)
    for stage in stages[1:]:
        finer = []
        for index in range(draws):
            centre = np.take(chosen, index, axis=len(batch))
            states, volumes = pattern(support, centre, stage)
            finer.append(_choose(certified, stage, states, volumes, bits, 1))
        chosen = np.concatenate(finer, axis=len(batch))
    return chosen


def pattern(support, centre, stage):
    """Points about a state from which a later stage draws, and their volumes.

    Parameters
    ----------
    support : ProductSupport
    centre : ndarray, shape (*batch, 2, *point_shape)
        In the support.
    stage : Stage

    Returns
    -------
    tuple of ndarray
        States (*batch, points + 1, 2, *point_shape), the centre itself last; and volumes (*batch,
        points + 1), zero for those outside the support.
    """
    space = support.space
    axis = -space.point_ndim - 1
    dim = space.base.dim
    steps = np.repeat(stage.radii, dim) * even_balls((dim, dim), stage.points)
    start = np.expand_dims(centre, axis)
    vectors = space.vector(np.expand_dims(space.frame(centre), axis - 1), steps)
    states = space.exp(start, vectors)
    volumes = np.where(support.contains(states), space.exp_volume(start, vectors), 0.0)
    # The centre is in the support, whatever rounding says.
    return (
        np.concatenate([states, start], axis=axis),
        np.concatenate([volumes, np.ones((*volumes.shape[:-1], 1))], axis=-1),
    )


def _choose(certified, stage, states, volumes, bits, draws):
    """Exact draws (*data_sets, draws, ...) among states (*data_sets, points, ...)."""
    space = certified.space
    certified = stage.rescaled(certified)
    scores = np.floor(np.ldexp(certified.score(states), SCORE_BITS)).astype(np.int64)
    weights = np.rint(np.ldexp(volumes, VOLUME_BITS)).astype(np.int64)
    rate = stage.epsilon / (2 << SCORE_BITS)
    chosen = np.empty((*scores.shape[:-1], draws), dtype=int)
    for member in np.ndindex(scores.shape[:-1]):
        choice = ExactChoice(weights[member].tolist(), scores[member].tolist(), rate)
        chosen[member] = [choice.draw(bits) for _ in range(draws)]
    return np.take_along_axis(states, space.expand(chosen), axis=-space.point_ndim - 1)
