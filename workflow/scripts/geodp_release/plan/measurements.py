"""Choice of the stages of a plan that measure residuals, by their predicted noise."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import gammaincinv

from geodp_release.promise.budget import choice_cost, choice_epsilon
from geodp_release.run.contributions import LOSS_LATTICE
from geodp_release.stages import BeyondStage, FarStage, ProductsStage, ScaleStage, TailStage
from geodp_release.stages.residual_tables import length_grid
from geodp_release.stages.scale import LAST_SHARE, SHARE

# Number of subjects times epsilon of a look, and of the last one, which looks for a length that
# fewer residuals are longer than; where a support is planned for many radii the probability that
# the first length is far off; and the least and the largest share of the budget of a look.
LOOK, LAST_LOOK, MISTAKEN = 40.0, 60.0, 1e-4
LEAST_LOOK, MOST_LOOK = Fraction(1, 64), Fraction(1, 10)

# Shares of the budget of a look at the tail, least and most, and of what follows it: the count of
# contributions that are clipped, and second moments by blocks and by directions.
LEAST_TAIL_LOOK, MOST_TAIL_LOOK = Fraction(1, 20), Fraction(1, 10)
TAIL, BLOCKS, DIRECTIONS = Fraction(1, 32), Fraction(1, 16), Fraction(1, 24)

# Number of subjects times epsilon of that look times the share of residuals that are longer.  It is
# no less than the first share below, as tables of simulations are not fine enough for less, and no
# more than the second, or the third where so few subjects would be too few.
TAIL_RANKS, LEAST_BEYOND = 36.0, Fraction(1, 64)
MOST_BEYOND, FEW_BEYOND = Fraction(1, 4), Fraction(1, 2)

# Noise of second moments by directions is at most such a part of what is expected of them, and that
# of counts of the tail, with such a probability, at most so large a share of subjects.
DIRECTED, RARELY, COUNTED = 0.5, 0.01, 0.1


@dataclass(frozen=True)
class Measurements:
    """Looks at lengths of residuals, and what is measured of them before and after the last step.

    Attributes
    ----------
    look_cost : Fraction
        Budget of a look between steps.
    first_look : ScaleStage
        Where any length may be.
    tail_look : ScaleStage
        For the length by which the last step clips.
    tail : tuple of Stage
        A count of what is beyond the clip of the last step, if noise leaves it to be seen.
    products : tuple of ProductsStage
    last_looks : tuple of ScaleStage
    far : FarStage
    """

    look_cost: Fraction
    first_look: ScaleStage
    tail_look: ScaleStage
    tail: tuple
    products: tuple
    last_looks: tuple
    far: FarStage

    @classmethod
    def planned(cls, assumptions, unit, total, whole):
        """From a ``total`` budget, and the ``whole`` one that counts moments of covariates."""

        def cost_of_look(records):
            # Of a number of subjects times epsilon.
            cost = choice_cost(Fraction(float(records)) / assumptions.subjects, unit)
            return min(max(cost, total * LEAST_LOOK), total * MOST_LOOK)

        # Of any of many lengths the wrong ones together are this improbable.
        sure = 4.0 * np.log(len(length_grid(assumptions)) / MISTAKEN)
        first = ScaleStage(cost_of_look(sure), unit)
        look = _tail_look(assumptions, unit, total)
        # All residuals are told by shorter ones.
        last = ScaleStage(cost_of_look(LAST_LOOK), unit, share=LAST_SHARE)
        far = FarStage.planned(assumptions, unit, whole, min(look.share, LAST_SHARE))
        tail: tuple = (TailStage(total * TAIL, unit),)
        if tail[0].limits(assumptions, RARELY) > COUNTED * assumptions.subjects:
            tail = ()
        if assumptions.is_robust:
            tail = (BeyondStage(total * TAIL, unit),)
        return cls(
            cost_of_look(LOOK),
            first,
            look,
            tail,
            tuple(_products(assumptions, unit, total, look)),
            (last,) if look.share > LAST_SHARE else (),
            far,
        )

    @property
    def cost(self) -> Fraction:
        """Budget of all but looks between steps."""
        stages = self.tail_look, *self.tail, *self.products, *self.last_looks, self.far
        return sum((each.budget for each in stages), Fraction(0))


def _tail_look(assumptions, unit, total) -> ScaleStage:
    """The look for a length beyond which so few residuals lie as noise lets see."""
    cost = choice_cost(Fraction(64, assumptions.subjects), unit)
    cost = min(max(cost, total * LEAST_TAIL_LOOK), total * MOST_TAIL_LOOK)
    if assumptions.is_robust:
        return ScaleStage(cost, unit, share=SHARE)
    seen = float(choice_epsilon(cost, unit)) * assumptions.subjects
    share = Fraction(int(np.ceil(LOSS_LATTICE * TAIL_RANKS / seen)), LOSS_LATTICE)
    share = max(share, LEAST_BEYOND)
    if share > MOST_BEYOND:
        share = MOST_BEYOND if share < 3 * MOST_BEYOND else FEW_BEYOND
    return ScaleStage(cost, unit, share=1 - share)


def _products(assumptions, unit, total, look) -> Iterator[ProductsStage]:
    """Stages of second moments, of directions where these are not lost in noise."""
    dim, number = assumptions.manifold.dim, assumptions.number_of_covariates
    # Typical norm of the contribution of a residual of length one.
    clip = float(np.sqrt(1.0 + number)) if number > 1 else 1.0
    lengths = 2.0 * gammaincinv(0.5 * dim, float(look.share))
    if assumptions.is_robust:
        clip = assumptions.threshold
        lengths *= clip**2
        if number > 1:
            # They are clipped as those at the ends of all ranges are; most are shorter.
            lengths *= (1.0 + number) / (1.0 + number / 3.0)
    yield ProductsStage(total * BLOCKS, unit, clip=clip)
    stage = ProductsStage(total * DIRECTIONS, unit, clip=clip, directions=True)
    if dim > 1 and 2.0 * np.sqrt(dim) * stage.deviation(assumptions) * lengths <= DIRECTED:
        yield stage
