"""Certified envelope that is a function of the distance from the mode, for rejection sampling.

It needs the gradient to grow fast enough along geodesics from the mode, which
`GradientDensity.slopes` certifies.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from geodp.manifolds.symmetric import jacobi_sine
from geodp.mechanisms.gradient_bounds import ROUNDING
from geodp.randomness import random_directions
from geodp.samplers.kernel import Target, inverted, log_sphere_area


@dataclass(frozen=True, eq=False)
class RadialEnvelope:
    """Envelope that depends on the distance from the mode alone, under strong geodesic convexity.

    Beyond the last edge R the bound with respect to length is
    ``exp(log_tail - tail_rate (r - R))``, with rates and tails (k,).
    """

    target: Target
    # (k, shells + 1): distances from the mode, up to the farthest of the support.
    edges: np.ndarray
    log_bound: np.ndarray  # (k, shells): of the density, between two edges.
    log_volume: np.ndarray  # (k, shells): of the volume density of Exp.
    # Bounds (k, shells + 1) of the mass in each shell, the last that beyond the last edge of an
    # unbounded support.  Minus infinity where nothing is proposed.
    log_upper: np.ndarray
    log_lower: np.ndarray  # (k, shells)
    tail_rate: np.ndarray
    log_tail: np.ndarray

    description = "energy is convex along geodesics from the mode"

    @cached_property
    def log_masses(self):
        """Logarithms of the upper and the lower bound of the whole mass; (k,) each."""
        return logsumexp(self.log_upper, axis=-1), logsumexp(self.log_lower, axis=-1)

    @cached_property
    def acceptance(self):
        """Certified lower bound of the acceptance rate, (k,)."""
        upper, lower = self.log_masses
        return np.exp(np.minimum(lower - upper, 0.0))

    def rising(self):
        """The envelope within the ball about the mode where it is tight and falling.

        A `RadialEnvelope` without mass outside, and the radius of the ball (k,).
        """
        last = np.argmin(self.log_bound, axis=-1)
        within = np.sum(np.isfinite(self.log_lower), axis=-1) - 1
        last = np.minimum(last, within)
        # Where it is loose, cells do better.
        falling = np.arange(self.log_bound.shape[-1]) <= last[:, None]
        upper = np.where(falling, self.log_upper[:, : falling.shape[-1]], -np.inf)
        largest = np.max(upper, axis=-1, keepdims=True)
        lower = np.where(falling, self.log_lower, -np.inf)
        # Without a certificate masses are infinite or zero, and none of it is a number.
        with np.errstate(invalid="ignore"):
            upper, lower = (np.cumsum(np.exp(each - largest), axis=-1) for each in (upper, lower))
        good = falling & (lower > 0.1 * upper)
        last = np.where(np.any(good, axis=-1), _last(good), -1)
        radius = np.take_along_axis(self.edges, last[:, None] + 1, axis=-1)[:, 0]
        upper, lower = (
            np.where(np.arange(values.shape[-1]) > last[:, None], -np.inf, values)
            for values in (self.log_upper, self.log_lower)
        )
        return replace(self, log_upper=upper, log_lower=lower), radius

    @classmethod
    def of(cls, target, slope_places=24, shells=1000):
        """Envelope of each member of a target's batch; acceptance zero where there is none.

        The growth of the gradient is bounded at ``slope_places`` distances from the mode, and the
        density on ``shells`` of distances.
        """
        space, dim = target.space, target.space.dim
        members = int(np.prod(target.batch, dtype=int))
        mode = target.centre.reshape((members, 1, *space.point_shape))
        part = target.density.take(np.arange(members))
        scale = target.scale.reshape(members)[:, None]
        aside = space.dist(target.support.centre, target.centre).reshape(members)
        radius = target.support.radius.reshape(members)
        rest = -part.log_density(mode)
        reach = np.minimum(radius + aside, space.injectivity_radius)
        # On an unbounded support the shells end as well, and a tail bound holds beyond.
        rate, loss, end, tail_rate = _tail(space, part, mode, scale[:, 0])
        unbounded = np.isinf(reach)
        reach = np.where(unbounded, np.where(np.isinf(end), 1.0, end), reach)
        places = np.linspace(0.0, 1.0, slope_places + 1)[1:] * reach[:, None]
        least, greatest = part.slopes(mode, places)
        # Shells as thin as the density is narrow near the mode, and wider ones farther out.
        steep = np.where(np.isfinite(greatest[:, :1]), np.maximum(greatest[:, :1], 1e-300), 1e-300)
        narrow = np.minimum(dim * scale / steep, reach[:, None])
        steps = np.linspace(0.0, 1.0, shells + 1)
        edges = narrow * np.sinh(steps * np.arcsinh(reach[:, None] / narrow))
        edges[:, -1] = reach
        gap = reach[:, None] / slope_places
        risen = [
            _integral(np.where(np.isfinite(s), s, n), gap, edges)
            for s, n in ((least, -1e300), (greatest, 1e300))
        ]
        rise = np.minimum(risen[0][:, :-1], risen[0][:, 1:]) / scale
        far = (rate[:, None] * edges[:, :-1] - loss[:, None]) / scale
        log_bound = np.minimum(np.minimum(rest - rise, -far), 0.0) + ROUNDING
        # Of Exp, with the shell's distances and any direction.
        log_volume, log_least = _shell_volumes(space, edges)
        log_sphere = log_sphere_area(dim)
        log_shell = log_power_gaps(edges[:, :-1], edges[:, 1:], dim) + log_sphere
        # Lower bound of the mass: shells inside the support, by the gradient's upper bound.
        inside = edges[:, 1:] <= (radius - aside)[:, None]
        lower = log_least + log_shell - rest - ROUNDING - risen[1][:, 1:] / scale
        log_tail = (dim - 1) * np.log(reach) + space.volume_growth * reach + ROUNDING
        log_tail -= (rate * reach - loss) / scale[:, 0]
        tail = np.where(unbounded, log_tail - np.log(tail_rate) + log_sphere, -np.inf)
        upper = np.append(log_bound + log_volume + log_shell, tail[:, None], axis=-1)
        known = np.isfinite(end) | ~unbounded
        lower = np.where(inside & known[:, None], lower, -np.inf)
        return cls(target, edges, log_bound, log_volume, upper, lower, tail_rate, log_tail)

    def propose(self, rng, members, count):
        """Proposals (k, count, ...) and the log envelope there (k, count)."""
        shape = (len(members), count)
        position, limit = self.draw(rng, np.repeat(members, count))
        return position.reshape((*shape, *self.target.space.point_shape)), limit.reshape(shape)

    @cached_property
    def _masses(self):
        """Cumulative masses of shells, and the last shell in which something is proposed."""
        # Without a certificate they are infinite.
        with np.errstate(invalid="ignore"):
            log_upper = self.log_upper - np.max(self.log_upper, axis=-1, keepdims=True)
        return np.cumsum(np.exp(log_upper), axis=-1), _last(np.isfinite(log_upper))

    def draw(self, rng, members):
        """A proposal for each of some members, the same ones together, and the log envelope."""
        space = self.target.space
        dim = space.dim
        cumulative, last = self._masses
        threshold = rng.random(len(members)) * cumulative[members, -1]
        # Rounding of the sums must not choose a shell in which nothing is proposed.
        shell = np.minimum(inverted(cumulative, members, threshold), last[members])
        beyond = shell == self.log_bound.shape[-1]
        shell = np.minimum(shell, self.log_bound.shape[-1] - 1)
        length = draw_lengths(rng, self.edges[members, shell], self.edges[members, shell + 1], dim)
        farther = rng.exponential(size=len(members)) / self.tail_rate[members]
        length = np.where(beyond, self.edges[members, -1] + farther, length)
        steps = length[:, None] * random_directions(rng, (len(members), dim))
        position, volume = leave(space, self.target.centre, members, steps)
        log_bound = self.log_bound[members, shell] + self.log_volume[members, shell]
        tail = self.log_tail[members] - self.tail_rate[members] * farther
        log_bound = np.where(beyond, tail - (dim - 1) * np.log(length), log_bound)
        with np.errstate(divide="ignore"):
            return position, log_bound - np.log(volume)


def _tail(space, density, mode, scale, fall=40.0):
    """Rate and loss of `GradientDensity.far_slope`, start of the tail, and rate of the tail.

    It starts where the density is below ``exp(-fall)``.  Where these are unknown the rate is zero,
    and the loss and the start are infinite.
    """
    known = density.far_slope(mode)
    if known is None:
        return np.zeros_like(scale), *np.full((2, len(scale)), np.inf), np.ones_like(scale)
    rate, loss = (values[:, 0] for values in known)
    falling = rate / scale > 1.05 * space.volume_growth
    end = np.where(falling, (loss + fall * scale) / np.where(falling, rate, 1.0), np.inf)
    # A power of the length is below the exponential that touches it where the tail starts.
    power = np.where(falling, (space.dim - 1) / end, 0.0)
    tail_rate = rate / scale - space.volume_growth - power
    falling = falling & (tail_rate > 0.0)
    return (
        np.where(falling, rate, 0.0),
        np.where(falling, loss, np.inf),
        np.where(falling, end, np.inf),
        np.where(falling, tail_rate, 1.0),
    )


def _last(chosen):
    """Index of the last chosen entry of each row."""
    return chosen.shape[-1] - 1 - np.argmax(chosen[..., ::-1], axis=-1)


def log_power_gaps(low, high, dim):
    """Logarithm of ``(high^dim - low^dim) / dim``, whose powers underflow in many dimensions."""
    return dim * np.log(high) + np.log1p(-((low / high) ** dim)) - np.log(dim)


def draw_lengths(rng, low, high, dim):
    """Draws of lengths between ``low`` and ``high`` with density ``r^(dim - 1)``."""
    inner = (low / high) ** dim
    return high * (inner + rng.random(low.shape) * (1.0 - inner)) ** (1.0 / dim)


def leave(space, points, members, steps):
    """Ends of steps from the points of some members, and the volume density of Exp there."""
    points = points.reshape((-1, *space.point_shape))
    vectors = space.vector(space.frame(points)[members], steps)
    return space.exp(points[members], vectors), space.exp_volume(points[members], vectors)


def _integral(steps, gap, places):
    """Integrals from zero to places (k, p) of steps (k, m) between multiples of a gap (k, 1)."""
    whole = np.concatenate([np.zeros_like(gap), np.cumsum(steps * gap, axis=-1)], axis=-1)
    index = np.clip((places / gap).astype(int), 0, steps.shape[-1] - 1)
    within = places - index * gap
    return np.take_along_axis(whole, index, axis=-1) + within * np.take_along_axis(
        steps, index, axis=-1
    )


def _shell_volumes(space, edges):
    """Logarithms of the upper and lower bound of the volume density of Exp in each shell."""
    lower, upper = space.curvature_bounds
    if upper > 0.0:
        # Curvatures are the least in some directions and the greatest in others.
        least = jacobi_sine(1, np.minimum(np.sqrt(upper) * edges[:, 1:], np.pi))
        greatest = jacobi_sine(1, np.sqrt(max(lower, 0.0)) * edges[:, :-1])
        with np.errstate(divide="ignore"):
            return tuple((space.dim - 1) * np.log(np.maximum(v, 0.0)) for v in (greatest, least))
    # The sum of frequencies bounds that of the logarithms of sinh(f) / f, each no more than f.
    by_rate = (space.dim - 1) * np.log(jacobi_sine(-1, np.sqrt(-lower) * edges[:, 1:]))
    return np.minimum(by_rate, space.volume_growth * edges[:, 1:]), np.zeros_like(edges[:, 1:])
