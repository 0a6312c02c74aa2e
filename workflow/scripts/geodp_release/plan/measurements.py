"""Choice of the stages of a plan that measure residuals, by their predicted noise."""

from fractions import Fraction

import numpy as np
from scipy.special import gammaincinv

from geodp_release.promise.budget import choice_cost, choice_epsilon
from geodp_release.run.contributions import LOSS_LATTICE
from geodp_release.stages import BeyondStage, FarStage, ProductsStage, ScaleStage, TailStage
from geodp_release.stages.residual_tables import length_grid
from geodp_release.stages.scale import LAST_SHARE, SHARE

# Number of subjects times epsilon of the last look, for a length that fewer residuals exceed.
LAST_LOOK = 60.0


class Measurements:
    """Looks at lengths of residuals, and what is measured of them before and after the last step.

    From a ``total`` budget, and the ``whole`` one that counts moments of covariates.
    """

    def __init__(self, assumptions, unit, total, whole, mistaken=1e-4):
        def cost_of_look(records):
            # Of a number of subjects times epsilon.
            cost = choice_cost(Fraction(float(records)) / assumptions.subjects, unit)
            return min(max(cost, total * Fraction(1, 64)), total * Fraction(1, 10))

        # Budget of a look between steps.
        self.look_cost = cost_of_look(40.0)
        # Where any length may be; of many lengths the wrong ones together are this improbable.
        sure = 4.0 * np.log(len(length_grid(assumptions)) / mistaken)
        self.first_look = ScaleStage(cost_of_look(sure), unit)
        # For the length by which the last step clips.
        self.tail_look = look = _tail_look(assumptions, unit, total)
        # A count of what is beyond the clip of the last step, if noise leaves it to be seen: rarely
        # is that of a tenth of subjects.
        self.tail: tuple = (TailStage(total * Fraction(1, 32), unit),)
        if self.tail[0].limits(assumptions, 0.01) > 0.1 * assumptions.subjects:
            self.tail = ()
        if assumptions.is_robust:
            self.tail = (BeyondStage(total * Fraction(1, 32), unit),)
        self.products = tuple(_products(assumptions, unit, total, look))
        # All residuals are told by shorter ones.
        last = ScaleStage(cost_of_look(LAST_LOOK), unit, share=LAST_SHARE)
        self.last_looks = (last,) if look.share > LAST_SHARE else ()
        self.far = FarStage.planned(assumptions, unit, whole, min(look.share, LAST_SHARE))
        after = look, *self.tail, *self.products, *self.last_looks, self.far
        # Budget of all but looks between steps.
        self.cost = sum((each.budget for each in after), Fraction(0))


def _tail_look(assumptions, unit, total, ranks=36.0):
    """The look for a length beyond which so few residuals lie as noise lets see.

    Times epsilon of the look these are so many ``ranks``.
    """
    cost = choice_cost(Fraction(64, assumptions.subjects), unit)
    cost = min(max(cost, total * Fraction(1, 20)), total * Fraction(1, 10))
    if assumptions.is_robust:
        return ScaleStage(cost, unit, share=SHARE)
    seen = float(choice_epsilon(cost, unit)) * assumptions.subjects
    share = Fraction(int(np.ceil(LOSS_LATTICE * ranks / seen)), LOSS_LATTICE)
    # Tables of simulations are not fine enough for less.
    share = max(share, Fraction(1, 64))
    if share > Fraction(1, 4):
        # No more, but where that would be too few subjects.
        share = Fraction(1, 4) if share < Fraction(3, 4) else Fraction(1, 2)
    return ScaleStage(cost, unit, share=1 - share)


def _products(assumptions, unit, total, look, lost=0.5):
    """Stages of second moments, of directions where these are not lost in noise.

    That is at most such a part of what is expected of them.
    """
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
    yield ProductsStage(total * Fraction(1, 16), unit, clip=clip)
    stage = ProductsStage(total * Fraction(1, 24), unit, clip=clip, directions=True)
    if dim > 1 and 2.0 * np.sqrt(dim) * stage.deviation(assumptions) * lengths <= lost:
        yield stage
