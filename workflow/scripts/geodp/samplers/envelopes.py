"""Certified envelopes of a density, for rejection sampling.

* `EllipticalEnvelope` is for flat spaces, where the gradient is linear.
* `RadialEnvelope` is a function of the distance from the mode.  It needs the gradient to grow fast
  enough along geodesics from the mode, which `GradientDensity.slopes` certifies.
* `CellEnvelope` divides the support into cells, in polar normal coordinates about its centre, and
  halves those whose bound is loose.  `GradientDensity.extremes` bounds the density on each.

Every envelope has a certified lower bound of its acceptance rate.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.special import gammainc, logsumexp

from geodp.manifolds.supports import Ball
from geodp.manifolds.symmetric import jacobi_sine
from geodp.mechanisms.gradient_bounds import ROUNDING
from geodp.randomness import random_directions
from geodp.samplers.base import Target, inverted, log_sphere_area

# Distances from the mode at which the growth of the gradient is bounded, and shells of distances on
# which the density is.
SLOPE_PLACES, SHELLS = 24, 1000

# The tail of an unbounded support starts where the density is below the exponential of minus this.
TAIL = 40.0


@dataclass(frozen=True, eq=False)
class EllipticalEnvelope:
    """Envelope ``exp(offset - rate |u|)`` in coordinates u about the mode, for flat spaces.

    There the Hessian of the energy is a multiple of the identity, and its bounds are exact.
    """

    target: Target
    rate: np.ndarray
    offset: np.ndarray
    acceptance: np.ndarray

    description = "gradient is linear"

    @classmethod
    def of(cls, target):
        """Envelope of each member of a target's batch; acceptance zero where there is none."""
        space, dim = target.space, target.space.dim
        members, mode, part = _flattened(target)
        least, greatest = part.slopes(mode, np.zeros((members, 1)))
        scale = target.scale.reshape(members)
        rate = (1.0 - ROUNDING) * np.maximum(least[:, 0], 0.0) / scale
        steepest = (1.0 + ROUNDING) * greatest[:, 0] / scale
        # At the mode the gradient vanishes up to rounding, or is what the support leaves of it.
        offset = -part.log_density(mode)[:, 0]
        inside = target.support.radius - space.dist(target.support.centre, target.centre)
        inside = np.maximum(inside.reshape(members), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            held = np.where(np.isinf(inside), 1.0, gammainc(dim, inside * steepest))
            acceptance = held * np.exp(-2.0 * offset - ROUNDING) * (rate / steepest) ** dim
        acceptance = np.where(rate > 0.0, acceptance, 0.0)
        return cls(target, rate, offset + ROUNDING, acceptance)

    def propose(self, rng, members, count):
        """Proposals (k, count, ...) and the log envelope there (k, count)."""
        directions = random_directions(rng, (len(members), count, self.target.space.dim))
        lengths = rng.gamma(directions.shape[-1], size=directions.shape[:-1])
        steps = (lengths / self.rate[members, None])[..., None] * directions
        position, _ = _leave(self.target.space, self.target.centre, members, steps)
        return position, self.offset[members, None] - lengths


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
        upper, lower = (
            np.logaddexp.accumulate(values[:, : self.log_bound.shape[-1]], axis=-1)
            for values in (self.log_upper, self.log_lower)
        )
        good = lower - upper >= np.log(0.1)
        good &= np.arange(good.shape[-1]) <= last[:, None]
        last = np.where(np.any(good, axis=-1), _last(good), -1)
        radius = np.take_along_axis(self.edges, last[:, None] + 1, axis=-1)[:, 0]
        upper, lower = (
            np.where(np.arange(values.shape[-1]) > last[:, None], -np.inf, values)
            for values in (self.log_upper, self.log_lower)
        )
        return replace(self, log_upper=upper, log_lower=lower), radius

    @classmethod
    def of(cls, target):
        """Envelope of each member of a target's batch; acceptance zero where there is none."""
        space, dim = target.space, target.space.dim
        members, mode, part = _flattened(target)
        scale = target.scale.reshape(members)[:, None]
        aside = space.dist(target.support.centre, target.centre).reshape(members)
        radius = target.support.radius.reshape(members)
        rest = -part.log_density(mode)
        reach = np.minimum(radius + aside, space.injectivity_radius)
        # On an unbounded support the shells end as well, and a tail bound holds beyond.
        rate, loss, end, tail_rate = _tail(space, part, mode, scale[:, 0])
        unbounded = np.isinf(reach)
        reach = np.where(unbounded, np.where(np.isinf(end), 1.0, end), reach)
        places = np.linspace(0.0, 1.0, SLOPE_PLACES + 1)[1:] * reach[:, None]
        states = np.broadcast_to(mode, (members, SLOPE_PLACES, *space.point_shape))
        least, greatest = part.slopes(states, places)
        # Shells as thin as the density is narrow near the mode, and wider ones farther out.
        steep = np.where(np.isfinite(greatest[:, :1]), np.maximum(greatest[:, :1], 1e-300), 1e-300)
        narrow = np.minimum(dim * scale / steep, reach[:, None])
        steps = np.linspace(0.0, 1.0, SHELLS + 1)
        edges = narrow * np.sinh(steps * np.arcsinh(reach[:, None] / narrow))
        edges[:, -1] = reach
        gap = reach[:, None] / SLOPE_PLACES
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
        log_shell = _log_power_gaps(edges[:, :-1], edges[:, 1:], dim) + log_sphere
        # Lower bound of the mass: shells inside the support, by the gradient's upper bound.
        inside = edges[:, 1:] <= (radius - aside)[:, None]
        lower = log_least + log_shell - rest - ROUNDING - risen[1][:, 1:] / scale
        log_tail = (dim - 1) * np.log(reach) + space.volume_growth * reach + ROUNDING
        log_tail -= (rate * reach - loss) / scale[:, 0]
        tail = np.where(unbounded, log_tail - np.log(tail_rate) + log_sphere, -np.inf)
        upper = np.append(log_bound + log_volume + log_shell, tail[:, None], axis=-1)
        known = np.isfinite(end) | ~unbounded
        return cls(
            target,
            edges,
            log_bound,
            log_volume,
            upper,
            np.where(inside & known[:, None], lower, -np.inf),
            tail_rate,
            log_tail,
        )

    def propose(self, rng, members, count):
        """Proposals (k, count, ...) and the log envelope there (k, count)."""
        space = self.target.space
        dim = space.dim
        log_upper = self.log_upper[members]
        log_upper = log_upper - np.max(log_upper, axis=-1, keepdims=True)
        cumulative = np.cumsum(np.exp(log_upper), axis=-1)
        threshold = rng.random((len(members), count)) * cumulative[:, -1:]
        # Rounding of the sums must not choose a shell in which nothing is proposed.
        last = _last(np.isfinite(log_upper))
        shell = np.minimum(inverted(cumulative, threshold), last[:, None])
        beyond = shell == self.log_bound.shape[-1]
        shell = np.minimum(shell, self.log_bound.shape[-1] - 1)
        edges = self.edges[members]
        low = np.take_along_axis(edges, shell, axis=-1)
        high = np.take_along_axis(edges, shell + 1, axis=-1)
        length = _lengths(rng, low, high, dim)
        farther = rng.exponential(size=shell.shape) / self.tail_rate[members, None]
        length = np.where(beyond, edges[:, -1:] + farther, length)
        steps = length[..., None] * random_directions(rng, (*shell.shape, dim))
        position, volume = _leave(space, self.target.centre, members, steps)
        log_bound = np.take_along_axis(
            self.log_bound[members] + self.log_volume[members], shell, axis=-1
        )
        tail = self.log_tail[members, None] - self.tail_rate[members, None] * farther
        log_bound = np.where(beyond, tail - (dim - 1) * np.log(length), log_bound)
        with np.errstate(divide="ignore"):
            return position, log_bound - np.log(volume)


def _flattened(target):
    """Number of members of a target's batch, their modes (k, 1, ...), and their densities."""
    members = int(np.prod(target.batch, dtype=int))
    mode = target.centre.reshape((members, 1, *target.space.point_shape))
    return members, mode, target.density.take(np.arange(members))


def _tail(space, density, mode, scale):
    """Rate and loss of `GradientDensity.far_slope`, start of the tail, and rate of the tail.

    Where these are unknown the rate is zero, and the loss and the start are infinite.
    """
    known = density.far_slope(mode)
    if known is None:
        return np.zeros_like(scale), *np.full((2, len(scale)), np.inf), np.ones_like(scale)
    rate, loss = (values[:, 0] for values in known)
    falling = rate / scale > 1.05 * space.volume_growth
    end = np.where(falling, (loss + TAIL * scale) / np.where(falling, rate, 1.0), np.inf)
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


def _log_power_gaps(low, high, dim):
    """Logarithm of ``(high^dim - low^dim) / dim``, whose powers underflow in many dimensions."""
    return dim * np.log(high) + np.log1p(-((low / high) ** dim)) - np.log(dim)


def _lengths(rng, low, high, dim):
    """Draws of lengths between ``low`` and ``high`` with density ``r^(dim - 1)``."""
    inner = (low / high) ** dim
    return high * (inner + rng.random(low.shape) * (1.0 - inner)) ** (1.0 / dim)


def _leave(space, points, members, steps):
    """Ends of steps from the points of some members, and the volume density of Exp there."""
    centre = points.reshape((-1, *space.point_shape))[members]
    return Ball(space, centre, np.full(len(members), np.inf)).place(steps)


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


def is_flat(manifold):
    """Whether gradients are linear in normal coordinates."""
    return manifold.curvature_bounds == (0.0, 0.0) and np.isinf(manifold.injectivity_radius)


@dataclass(frozen=True)
class Cells:
    """Cells of the supports of a batch, in polar normal coordinates about their centres.

    A cell is an interval of distances from the centre times a set of directions.  Directions are
    those of points on a face of the cube ``[-1, 1]^dim``; the points of a cell form a smaller cube
    of the face.  Arrays have the shape (cells,).
    """

    member: np.ndarray  # Of the batch.
    face: np.ndarray  # Axis of its face, plus ``dim`` for the lower side.
    low: np.ndarray  # Interval of distances, with ``high``.
    high: np.ndarray
    middle: np.ndarray  # Of the small cube, (cells, dim - 1).
    half: np.ndarray  # Half the length of its edges.
    along: Any = None  # Half a cell's extent along the radius.
    across: Any = None  # The same across it.
    # Bounds of the log density with respect to ``r^(dim - 1) dr`` times Lebesgue measure of the
    # face's coordinates.
    log_upper: Any = None
    log_lower: Any = None

    @classmethod
    def whole(cls, target, members):
        """The faces of each member's support."""
        dim = target.space.dim
        radius = target.support.radius.reshape(-1)[members]
        many = 2 * dim * len(members)
        return cls(
            np.repeat(members, 2 * dim),
            np.tile(np.arange(2 * dim), len(members)),
            np.zeros(many),
            np.repeat(radius, 2 * dim),
            np.zeros((many, dim - 1)),
            np.ones(many),
        )

    def at(self, chosen):
        """The cells at some indices."""
        arrays = {name: each for name, each in vars(self).items() if each is not None}
        return replace(self, **{name: array[chosen] for name, array in arrays.items()})

    def by_member(self):
        """The same cells, those of a member after one another."""
        return self.at(np.argsort(self.member, kind="stable"))

    def bounded(self, target, near_radius):
        """The same with bounds, ordered by member and without those in a radius of the mode."""
        cells = self.by_member()
        space, dim = target.space, target.space.dim
        length, along = 0.5 * (cells.low + cells.high), 0.5 * (cells.high - cells.low)
        # The angle between two directions is at most the distance of their places on the face.
        angle = np.sqrt(dim - 1.0) * cells.half
        centre = target.support.centre.reshape((-1, *space.point_shape))[cells.member]
        unit = space.tangent(centre, _directions(cells.face, cells.middle))
        across = angle * space.arc_stretch(centre, unit, length)
        states = space.exp(centre, space.expand(length) * unit)
        ball = _way_to_corner(space, length, along, across)
        away = space.dist(target.centre.reshape((-1, *space.point_shape))[cells.member], states)
        inner = near_radius[cells.member]
        kept = away + ball > inner * (1.0 - ROUNDING)
        cells = cells.at(kept)
        along, across, angle, centre, unit, states, ball, away, inner = (
            array[kept] for array in (along, across, angle, centre, unit, states, ball, away, inner)
        )
        log_lower, log_upper = np.empty(len(ball)), np.empty(len(ball))
        density = target.density
        for rows, owners in _rows(cells.member, density.number_of_records):
            part = density.take(owners)
            log_lower[rows], log_upper[rows] = part.extremes(
                states[rows], ball[rows], angle[rows], centre[rows[:, :1]]
            )
        least, greatest = space.exp_volume_range(centre, unit, cells.low, cells.high, angle)
        near = np.maximum(np.abs(cells.middle) - cells.half[:, None], 0.0)
        far = np.abs(cells.middle) + cells.half[:, None]
        with np.errstate(divide="ignore"):
            # The lower bound of a cell that reaches into the ball around the mode is zero.
            log_lower[away - ball < inner] = -np.inf
            log_lower += np.log(least) - 0.5 * dim * np.log1p(np.sum(far**2, axis=-1))
            log_upper += np.log(greatest) - 0.5 * dim * np.log1p(np.sum(near**2, axis=-1))
        return replace(cells, along=along, across=across, log_upper=log_upper, log_lower=log_lower)

    def log_volume(self):
        """Log volume of each cell, in the measure of the bounds."""
        dim = self.middle.shape[-1] + 1
        radial = _log_power_gaps(self.low, self.high, dim)
        return radial + (dim - 1) * np.log(2.0 * self.half)

    def halved(self):
        """The same without bounds, halved along or across the radius, whichever is longer."""
        radially = self.along >= self.across
        along = self.at(np.repeat(np.flatnonzero(radially), 2))
        between, inner = 0.5 * (along.low + along.high), np.arange(len(along.low)) % 2 == 0
        corners = np.array(list(product((-0.5, 0.5), repeat=self.middle.shape[-1])))
        across = self.at(np.repeat(np.flatnonzero(~radially), len(corners)))
        corners = np.tile(corners, (int(np.sum(~radially)), 1))
        return Cells(
            np.concatenate([along.member, across.member]),
            np.concatenate([along.face, across.face]),
            np.concatenate([np.where(inner, along.low, between), across.low]),
            np.concatenate([np.where(inner, between, along.high), across.high]),
            np.concatenate([along.middle, across.middle + across.half[:, None] * corners]),
            np.concatenate([along.half, 0.5 * across.half]),
        )

    def refined(self, target, split, near_radius):
        """The same with some of the cells halved."""
        children = self.at(split).halved().bounded(target, near_radius)
        pairs = zip(vars(self.at(~split)).values(), vars(children).values(), strict=True)
        return Cells(*(np.concatenate(pair) for pair in pairs)).by_member()


@dataclass(frozen=True, eq=False)
class CellEnvelope:
    """Envelope that is constant on cells of the support."""

    target: Target
    cells: Cells
    # (cells,), of the envelope on the cell, relative to all cells of the member.
    log_mass: np.ndarray
    acceptance: np.ndarray  # (k,): certified lower bound of the acceptance rate.
    near: RadialEnvelope  # Envelope in the ball around the mode, which has no cells.
    near_radius: np.ndarray  # (k,): radius of that ball.
    near_share: np.ndarray  # (k,): share of proposals in it.

    description = "bounds on cells of the support"

    @classmethod
    def of(cls, target, members, draws, wanted, most_cells, radial):
        """Halve cells until that costs more than the proposals it saves, or there are too many.

        Only ``members``, indices of the flattened batch of a target with a bounded support, get
        cells; of others the acceptance is zero.  ``draws`` are the number of draws of each, which
        few cells repay.  ``wanted`` are the certified acceptance rate that is needed, and one
        enough for any number of draws.  A `RadialEnvelope` replaces cells near the mode, see
        `RadialEnvelope.rising`.
        """
        number = int(np.prod(target.batch, dtype=int))
        near, near_radius = radial.rising()
        near_upper, near_lower = near.log_masses
        cells = Cells.whole(target, members).bounded(target, near_radius)
        while True:
            member, volume = cells.member, cells.log_volume()
            in_cells = _log_sums(member, cells.log_upper + volume, number)
            total = np.logaddexp(in_cells, near_upper)
            upper = np.exp(cells.log_upper + volume - total[member])
            lower = np.exp(cells.log_lower + volume - total[member])
            acceptance = np.exp(near_lower - total) + np.bincount(member, lower, minlength=number)
            count = np.bincount(member, minlength=number)
            # The bounds of a cell cost about three proposals.
            cheap = (acceptance < wanted[1]) & (3.0 * count * acceptance < draws)
            unsettled = (cheap | (acceptance < wanted[0])) & (count > 0) & (count < most_cells)
            loose = (upper - lower) * count[member] > 0.5 * (1.0 - acceptance[member])
            split = loose & unsettled[member]
            if not np.any(split):
                break
            cells = cells.refined(target, split, near_radius)
        return cls(
            target,
            cells,
            # However small a share all cells have, each member's share of them is well defined.
            log_mass=cells.log_upper + volume - in_cells[member],
            acceptance=np.where(np.isin(np.arange(number), members), acceptance, 0.0),
            near=near,
            near_radius=near_radius,
            near_share=np.exp(near_upper - total),
        )

    def propose(self, rng, members, count):
        """Proposals (k, count, ...) and the log envelope there (k, count)."""
        space = self.target.space
        if not len(self.log_mass):
            return self.near.propose(rng, members, count)
        position, limit = self._propose_in_cells(rng, members, count)
        mode = self.target.centre.reshape((-1, 1, *space.point_shape))[members]
        # In the ball around the mode only the radial envelope proposes.
        hole = space.dist(mode, position) < self.near_radius[members, None]
        limit = np.where(hole, np.inf, limit)
        having = np.flatnonzero(self.near_share[members] > 0.0)
        if len(having):
            near, near_limit = self.near.propose(rng, members[having], count)
            nearby = rng.random(near_limit.shape) < self.near_share[members[having], None]
            position[having] = np.where(space.expand(nearby), near, position[having])
            limit[having] = np.where(nearby, near_limit, limit[having])
        return position, limit

    def _propose_in_cells(self, rng, members, count):
        cells, member = self.cells, self.cells.member
        space, dim = self.target.space, self.target.space.dim
        edges = np.searchsorted(member, np.arange(len(self.acceptance) + 1))
        cumulative = np.cumsum(np.exp(self.log_mass))
        # Each member's cells fill an interval; the sums before it are taken off.
        before = np.concatenate([[0.0], cumulative])[edges]
        inner = cumulative - before[member]
        whole = before[1:] - before[:-1]
        share = inner / whole[member]
        chosen = np.searchsorted(
            member + np.minimum(share, 1.0),
            members[:, None] + rng.random((len(members), count)),
            side="right",
        )
        chosen = np.clip(chosen, edges[members][:, None], edges[members + 1][:, None] - 1)
        length = _lengths(rng, cells.low[chosen], cells.high[chosen], dim)
        place = rng.uniform(-1.0, 1.0, (*chosen.shape, dim - 1))
        place = cells.middle[chosen] + cells.half[chosen][..., None] * place
        steps = length[..., None] * _directions(cells.face[chosen], place)
        with np.errstate(divide="ignore", invalid="ignore"):
            position, volume = _leave(space, self.target.support.centre, members, steps)
            limit = cells.log_upper[chosen] - np.log(volume)
        return position, limit + 0.5 * dim * np.log1p(np.sum(place**2, axis=-1))


def _directions(face, place):
    """Unit vectors (..., dim) through places (..., dim - 1) on faces of the cube."""
    dim = place.shape[-1] + 1
    # The face's own axis is one or minus one, and the others follow it in turn.
    turn = (np.arange(dim) - (face % dim)[..., None]) % dim
    along = np.where(face < dim, 1.0, -1.0)[..., None]
    if dim == 1:
        return along
    other = np.take_along_axis(place, np.maximum(turn - 1, 0), axis=-1)
    vectors = np.where(turn == 0, along, other)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _way_to_corner(space, length, along, across):
    """Largest length of a path from a cell's middle, at distance ``length`` of the pole, within it.

    Along an arc and then along a radius; in flat spaces straight, to the farthest corner.
    """
    if is_flat(space):
        return np.sqrt(along**2 + across**2 * (1.0 + along / length))
    return along + across


def _rows(member, records, at_once=1 << 18):
    """Indices of cells (rows, width) in rows of one member each, and these members; in parts.

    A row shorter than the rest repeats its last index.
    """
    if not len(member):
        return
    owners, start, count = np.unique(member, return_index=True, return_counts=True)
    width = int(np.clip(np.median(count), 1, 64))
    needed = -(-count // width)
    row_owner = np.repeat(np.arange(len(owners)), needed)
    place = np.arange(len(row_owner)) - np.repeat(np.cumsum(needed) - needed, needed)
    inside = place[:, None] * width + np.arange(width)
    index = start[row_owner][:, None] + np.minimum(inside, count[row_owner][:, None] - 1)
    step = max(1, at_once // records)
    for first in range(0, len(index), step):
        part = slice(first, first + step)
        yield index[part], owners[row_owner[part]]


def _log_sums(member, values, number):
    """Logarithms of sums of exponentials by member; minus infinity for an empty sum."""
    largest = np.full(number, -np.inf)
    np.maximum.at(largest, member, values)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    sums = np.bincount(member, np.exp(values - shift[member]), minlength=number)
    with np.errstate(divide="ignore"):
        return np.log(sums) + shift
