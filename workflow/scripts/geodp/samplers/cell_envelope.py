"""Certified envelope that is constant on cells of the support, for rejection sampling.

Cells are of polar normal coordinates about the support's centre, and those whose bound is loose are
halved.  `GradientDensity.extremes` bounds the density on each.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from geodp.mechanisms.gradient_bounds import ROUNDING
from geodp.samplers.kernel import Target
from geodp.samplers.radial import RadialEnvelope, draw_lengths, leave, log_power_gaps


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
    # face's coordinates, and the log volume in that measure.
    log_upper: Any = None
    log_lower: Any = None
    log_volume: Any = None
    # Of the log density itself: bound of its change within the cell, and the lesser of that and of
    # how far the middle is below zero.
    change: Any = None
    fall: Any = None

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
        each = vars(self).values()
        arrays: Any = [None if array is None else array.take(chosen, axis=0) for array in each]
        return Cells(*arrays)

    def joined(self, *others):
        """These cells and others."""
        every = zip(*(vars(each).values() for each in (self, *others)), strict=True)
        arrays: Any = [None if each[0] is None else np.concatenate(each) for each in every]
        return Cells(*arrays)

    def bounded(self, target, near_radius):
        """The same with bounds, ordered by member and without those in a radius of the mode."""
        cells = self.at(np.argsort(self.member, kind="stable"))
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
        kept = np.flatnonzero(away + ball > inner * (1.0 - ROUNDING))
        cells = cells.at(kept)
        along, across, angle, centre, unit, states, ball, away, inner = (
            array.take(kept, axis=0)
            for array in (along, across, angle, centre, unit, states, ball, away, inner)
        )
        log_lower, log_upper = np.empty(len(ball)), np.empty(len(ball))
        density = target.density
        for rows, owners in _rows(cells.member, density.number_of_records):
            part = density.take(owners)
            log_lower[rows], log_upper[rows] = part.extremes(
                states[rows], ball[rows], angle[rows], centre[rows[:, :1]]
            )
        change = 0.5 * (log_upper - log_lower)
        fall = np.minimum(change - log_upper, change)
        least, greatest = space.exp_volume_range(centre, unit, cells.low, cells.high, angle)
        near = np.maximum(np.abs(cells.middle) - cells.half[:, None], 0.0)
        far = np.abs(cells.middle) + cells.half[:, None]
        with np.errstate(divide="ignore"):
            # The lower bound of a cell that reaches into the ball around the mode is zero.
            log_lower[away - ball < inner] = -np.inf
            log_lower += np.log(least) - 0.5 * dim * np.log1p(np.sum(far**2, axis=-1))
            log_upper = np.minimum(log_upper, 0.0) + np.log(greatest)
            log_upper -= 0.5 * dim * np.log1p(np.sum(near**2, axis=-1))
        radial = log_power_gaps(cells.low, cells.high, dim)
        bounds = {"log_upper": log_upper, "log_lower": log_lower, "change": change, "fall": fall}
        bounds["log_volume"] = radial + (dim - 1) * np.log(2.0 * cells.half)
        return replace(cells, along=along, across=across, **bounds)

    def halved(self):
        """Cells without bounds, halved along or across the radius, whichever is longer."""
        radially = self.along >= self.across
        along = self.at(np.repeat(np.flatnonzero(radially), 2))
        between, inner = 0.5 * (along.low + along.high), np.arange(len(along.low)) % 2 == 0
        corners = np.array(list(product((-0.5, 0.5), repeat=self.middle.shape[-1])))
        across = self.at(np.repeat(np.flatnonzero(~radially), len(corners)))
        corners = np.tile(corners, (int(np.sum(~radially)), 1))
        low, high = np.where(inner, along.low, between), np.where(inner, between, along.high)
        # Extents are about halved, for the choice of where to halve once more.
        along = replace(along, low=low, high=high, along=0.5 * along.along)
        middle, half = across.middle + across.half[:, None] * corners, 0.5 * across.half
        return along.joined(replace(across, middle=middle, half=half, across=0.5 * across.across))

    def split(self, excess):
        """The same without bounds, halved once to three times.

        As often as makes the upper bound of the mass smaller by a factor, whose logarithm is the
        ``excess``: the change of the log density within a cell is about as its length, which two
        halvings halve.
        """
        share = (self.fall - excess) / self.change
        # Nothing is known of where the density may be so high everywhere.
        halvings = 1 + (share < 0.6) + ((share < 0.4) & (share > 0.0))
        bare = Cells(*list(vars(self).values())[:8])
        once, twice, thrice = (bare.at(np.flatnonzero(halvings == times)) for times in (1, 2, 3))
        return once.halved().joined(twice.halved().halved(), thrice.halved().halved().halved())


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
    def of(cls, target, members, draws, least, most_cells, radial, worth=8.0):
        """Halve cells until that costs more than the proposals it saves, or there are too many.

        Only ``members``, indices of the flattened batch of a target with a bounded support, get
        cells; of others the acceptance is zero.  ``draws`` are the number of draws of each, which
        few cells repay: bounds of a cell's halves are worth ``worth`` refused proposals in it.
        ``least`` is the certified acceptance rate that is needed in any case.  A `RadialEnvelope`
        replaces cells near the mode, see `RadialEnvelope.rising`.
        """
        number = int(np.prod(target.batch, dtype=int))
        near, near_radius = radial.rising()
        near_upper, near_lower = near.log_masses
        cells = Cells.whole(target, members).bounded(target, near_radius)
        while True:
            member = cells.member
            log_mass = cells.log_upper + cells.log_volume
            in_cells = _log_sums(member, log_mass, number)
            total = np.logaddexp(in_cells, near_upper)
            upper = np.exp(log_mass - total[member])
            lower = np.exp(cells.log_lower + cells.log_volume - total[member])
            acceptance = np.exp(near_lower - total) + np.bincount(member, lower, minlength=number)
            count = np.bincount(member, minlength=number)
            with np.errstate(divide="ignore", invalid="ignore"):
                # Of the proposals for all draws, how many may be refused in a cell, over
                # those that bounds of its halves are worth.
                refused = (upper - lower) * (draws / acceptance / worth)[member]
            # While bounds are loose the acceptance is too low, and those numbers are too large; so
            # the worst cells are halved first.
            loose = (upper - lower) * count[member] > 0.5 * (1.0 - acceptance[member])
            chosen = loose & ((refused > 1.0) | (acceptance < least)[member])
            chosen &= (count < most_cells)[member]
            if not np.any(chosen):
                break
            chosen, others = np.flatnonzero(chosen), np.flatnonzero(~chosen)
            # Near the limit cells are halved only once.
            many = (count > most_cells / 2**target.space.dim)[member[chosen]]
            excess = np.where(many, -np.inf, np.log(refused[chosen]))
            parts = cells.at(chosen).split(excess).bounded(target, near_radius)
            cells = cells.at(others).joined(parts)
        order = np.argsort(member, kind="stable")
        log_mass = log_mass - in_cells[member]
        return cls(
            target,
            cells.at(order),
            # However small a share all cells have, each member's share of them is well defined.
            log_mass=log_mass[order],
            acceptance=np.where(np.isin(np.arange(number), members), acceptance, 0.0),
            near=near,
            near_radius=near_radius,
            near_share=np.exp(near_upper - total),
        )

    def propose(self, rng, members, count):
        """Proposals (k, count, ...) and the log envelope there (k, count)."""
        space = self.target.space
        owner = np.repeat(members, count)
        position: np.ndarray = np.empty((len(owner), *space.point_shape), space.dtype)
        limit = np.empty(len(owner))
        nearby = rng.random(len(owner)) < self.near_share[owner]
        for mine, draw in ((nearby, self.near.draw), (~nearby, self._draw_in_cells)):
            if np.any(mine):
                position[mine], limit[mine] = draw(rng, owner[mine])
        shape = (len(members), count)
        return position.reshape((*shape, *space.point_shape)), limit.reshape(shape)

    def _draw_in_cells(self, rng, members):
        """A proposal in the cells of each of some members, and the log envelope there."""
        cells, space, dim = self.cells, self.target.space, self.target.space.dim
        edges, cumulative = self._masses
        start, end = edges[members], edges[members + 1]
        threshold = cumulative[start] + rng.random(len(members)) * (
            cumulative[end] - cumulative[start]
        )
        chosen = np.clip(np.searchsorted(cumulative, threshold, "right") - 1, start, end - 1)
        length = draw_lengths(rng, cells.low[chosen], cells.high[chosen], dim)
        place = rng.uniform(-1.0, 1.0, (len(chosen), dim - 1))
        place = cells.middle[chosen] + cells.half[chosen, None] * place
        steps = length[:, None] * _directions(cells.face[chosen], place)
        with np.errstate(divide="ignore", invalid="ignore"):
            position, volume = leave(space, self.target.support.centre, members, steps)
            limit = cells.log_upper[chosen] - np.log(volume)
        limit += 0.5 * dim * np.log1p(np.sum(place**2, axis=-1))
        # In the ball around the mode only the radial envelope proposes.
        mode = self.target.centre.reshape((-1, *space.point_shape))[members]
        hole = space.dist(mode, position) < self.near_radius[members]
        return position, np.where(hole, np.inf, limit)

    @cached_property
    def _masses(self):
        """Index of each member's first cell, and sums of the masses of cells before each."""
        edges = np.searchsorted(self.cells.member, np.arange(len(self.acceptance) + 1))
        return edges, np.append(0.0, np.cumsum(np.exp(self.log_mass)))


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
    if space.curvature_bounds == (0.0, 0.0) and np.isinf(space.injectivity_radius):
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
