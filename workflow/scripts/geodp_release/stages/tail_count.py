"""A private count of records whose contributions the last step clips, and what tails may hold.

The public statement about tails, at each covariate: beyond the length l that a share q of residuals
exceeds at most the share ``q exp(-(t - l) / s)`` exceeds t, as if they were exponential from there
on, s the deviation in each direction of normal residuals of which a share q exceeds l.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import fdtrc, fdtri, gammaincinv

from geodp_release.run.contributions import LOSS_LATTICE, tail_counts
from geodp_release.stages.stage import Stage

# Counts beyond the limit go up to so many times it.
DOUBLINGS = 5


@dataclass(frozen=True)
class TailStage(Stage):
    """Release of the numbers of records whose contributions are so long, in doublings.

    Contributions are those of the step that follows, before clipping.  Of a subject with several
    records each counts as a part of it.

    Attributes
    ----------
    limit : float
        Norm from which on they are counted, in units of the residual length released last.
    """

    limit: float = 1.0

    # It needs a length.
    is_relative = True

    def __post_init__(self):
        super().__post_init__()
        self._refuse_unless_positive("limit")

    def noise(self, assumptions):
        """The `Noise` of numbers of subjects, in steps of the lattice."""
        # A subject is in one bin alone.
        return self._added(LOSS_LATTICE, assumptions.changes)

    def run(self, before, assumptions, records, bits, shared=None):
        limits = self.limit * before.lengths[-1] * 2.0 ** np.arange(DOUBLINGS)
        counts = tail_counts(assumptions, records, before.state, limits, before.coordinates)
        noisy = self.noise(assumptions).add([counts], bits)[0]
        return replace(before, tails=tuple(int(each) / LOSS_LATTICE for each in noisy))

    def limits(self, assumptions, probability):
        """What noise of each count exceeds, all together, with a probability."""
        noise = self.noise(assumptions)
        drawn = noise.draw(np.random.default_rng(0), (1 << 14, 1, DOUBLINGS)) / LOSS_LATTICE
        return float(np.quantile(np.max(drawn, axis=(1, 2)), 1.0 - probability))

    def describe(self):
        return (
            f"noisy numbers of records with contributions beyond {self.limit:.4g} released "
            f"lengths, in {DOUBLINGS} doublings, {self.cost}"
        )


def share_beyond(share, ratio, dim):
    """Share of residuals beyond ``ratio`` times the length that a ``share`` exceeds, at most.

    Of dimension ``dim``.
    """
    return share * np.exp(np.minimum(1.0 - ratio, 0.0) / _deviation(share, dim))


def excess_beyond(share, ratio, dim):
    """Mean of what residuals have beyond that, at most, in units of the length."""
    # Below the length as if all residuals were longer.
    shorter = np.maximum(1.0 - ratio, 0.0)
    return shorter + _deviation(share, dim) * share_beyond(share, ratio, dim)


def squares_beyond(share, ratio, dim):
    """Mean of what their squares have beyond that, at most, in units of its square; from 1 on."""
    each = _deviation(share, dim)
    return 2.0 * share_beyond(share, ratio, dim) * (ratio * each + each**2)


def student_squares_beyond(kept, share, dim, degrees):
    """Mean excess over one of squared residuals whose distribution is Student's, of any scale.

    Parameters
    ----------
    kept : float or ndarray
        Mean of the squares clipped to one, from zero to one, which determines the scale.
    share : float
        Largest share of residuals that are longer than one.
    dim : int
    degrees : float
        Degrees of freedom, above two; many are those of a normal distribution.
    """
    # Squares over their dimension have an F distribution.  Its mean beyond a limit is a tail of the
    # F distribution with two more and two fewer degrees of freedom.
    least, fewer = fdtri(dim, degrees, max(1.0 - share, 1e-4)), degrees - 2.0
    limits = np.geomspace(1e4, least, 400)
    whole = fdtrc(dim + 2.0, fewer, limits * dim * fewer / (degrees * (dim + 2.0)))
    beyond = degrees / fewer * whole - limits * fdtrc(dim, degrees, limits)
    return np.interp(kept, (degrees / fewer - beyond) / limits, beyond / limits)


def _deviation(share, dim):
    """Deviation of a normal residual in each direction, in units of what a share exceeds."""
    return 1.0 / np.sqrt(2.0 * gammaincinv(0.5 * dim, 1.0 - share))
