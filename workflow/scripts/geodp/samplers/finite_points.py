"""Draws from a density restricted to finitely many public points of its support.

The points are a low-discrepancy set that does not depend on the data, each weighted by its share of
the support's volume.  To draw one of them is a finite exponential mechanism: it is approximate only
by floating-point arithmetic, and its running time does not depend on the data.  The resolution is
the distance between neighbouring points, about the number of points to the power -1 / dim.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from geodp.errors import DataError
from geodp.samplers.base import SamplerPlan, State, inverted
from geodp.samplers.exact import Independent

# In more dimensions no feasible number of points is close enough together.
MOST_DIMENSIONS = 4

# Most words of random bits of a uniform number, which is then exact down to 2^-256; a double from
# one draw stops at 2^-53.
WORDS = 8
BITS = 32


@dataclass(frozen=True)
class FinitePoints(Independent):
    """The distribution of a target on public points.

    Attributes
    ----------
    positions : ndarray, shape (*batch, points, *point_shape)
        By increasing probability.
    log_density : ndarray, shape (*batch, points)
    log_cumulative : ndarray, shape (*batch, points)
        Summed from the least probable point on, so that small probabilities keep their digits.
    """

    positions: np.ndarray
    log_density: np.ndarray
    log_cumulative: np.ndarray

    name = "finite_points"

    @classmethod
    def of(cls, target, points):
        """Restrict each density of a target to public points.

        Parameters
        ----------
        target : Target
            With a bounded support.
        points : int
            A power of two.

        Raises
        ------
        DataError
            The support is unbounded, or of too many dimensions.
        """
        space = target.space
        if space.dim > MOST_DIMENSIONS:
            raise DataError(
                f"{space.name}: {space.dim} dimensions are too many for finitely many points "
                f"({MOST_DIMENSIONS} at most): choose the sampler automatic"
            )
        if not target.support.bounded:
            raise DataError(
                f"{space.name}: finitely many points need a bounded support: give one, or choose "
                "the sampler automatic"
            )
        axis = -space.point_ndim - 1
        positions, volumes = target.support.even_points(points)
        positions = np.broadcast_to(positions, (*target.batch, points, *space.point_shape))
        log_density = target.unrestricted(positions)
        with np.errstate(divide="ignore"):
            log_mass = log_density + np.log(volumes)
        order = np.argsort(log_mass, axis=-1)
        log_mass = np.take_along_axis(log_mass, order, axis=-1)
        log_mass = log_mass - logsumexp(log_mass, axis=-1, keepdims=True)
        return cls(
            np.take_along_axis(positions, space.expand(order), axis=axis),
            np.take_along_axis(log_density, order, axis=-1),
            np.logaddexp.accumulate(log_mass, axis=-1),
        )

    def member(self, index):
        return FinitePoints(
            self.positions[index], self.log_density[index], self.log_cumulative[index]
        )

    def init(self, rng, target, chains):
        """See `Kernel.init`; independent draws by inversion of the distribution function."""
        space = target.space
        *batch, points = self.log_cumulative.shape
        threshold = log_uniform(rng, (*batch, chains))
        chosen = np.minimum(inverted(self.log_cumulative, threshold), points - 1)
        axis = -space.point_ndim - 1
        return State(
            np.take_along_axis(self.positions, space.expand(chosen), axis=axis),
            np.take_along_axis(self.log_density, chosen, axis=-1),
        )


def log_uniform(rng, shape):
    """Logarithms of uniform draws from (0, 1), with full relative accuracy near zero."""
    zeros = np.zeros(shape)
    running = np.ones(shape, dtype=bool)
    for _ in range(WORDS):
        word = rng.integers(0, 1 << BITS, size=shape)
        # The exponent is the position of the highest bit; a word of zeros goes on to the next.
        leading = BITS - np.frexp(word.astype(float))[1]
        zeros = zeros + np.where(running, leading, 0)
        running = running & (word == 0)
    mantissa = 1.0 - 0.5 * rng.random(shape)
    return np.log(mantissa) - zeros * np.log(2.0)


def plan(target, points):
    """Plan of draws from a target's distribution on public points; see `FinitePoints.of`.

    The plan does not state how far that is from the distribution on the whole support.

    Returns
    -------
    SamplerPlan
    """
    return SamplerPlan(
        FinitePoints.of(target, points),
        0,
        proposals=1,
        certificate=f"the distribution on {points} public points of the support",
    )
