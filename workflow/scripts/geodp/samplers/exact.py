"""Independent draws from a density itself, by rejection under a certified envelope.

A proposal is accepted with a probability that is the density over the envelope.  So accepted
proposals are independent draws from the target.  The number of proposals of a draw is limited: with
at most a stated probability all of them are rejected, and the draw is the last one.  This
probability bounds the total variation distance to the target.
"""

from dataclasses import dataclass, replace

import numpy as np

from geodp.samplers.cell_envelope import CellEnvelope
from geodp.samplers.kernel import Kernel, SamplerPlan, State
from geodp.samplers.radial import RadialEnvelope

# Cells for each density, by dimension: fewest with which a certificate is attempted, and most.
CELLS = {1: (300, 10_000), 2: (1_000, 10_000), 3: (3_000, 50_000)}


@dataclass(frozen=True)
class Exact(Kernel):
    """Rejection sampling under certified envelopes."""

    envelopes: tuple
    # Index of the envelope of each member of the flattened batch; -1 for none.
    chosen: np.ndarray
    proposals: int  # Largest number of proposals of a draw.

    name = "exact"

    def init(self, rng, target, chains):
        """One independent draw for each chain.

        A `RuntimeError` says that a density exceeds its bound: the certificate is wrong, and so
        would be the draws.
        """
        space, shape = target.space, (len(self.chosen), chains)
        position, log_density = np.empty((*shape, *space.point_shape), space.dtype), np.empty(shape)
        for index, envelope in enumerate(self.envelopes):
            mine = np.flatnonzero(self.chosen == index)
            if len(mine):
                found = self._rejection(rng, envelope, mine, chains)
                position[mine], log_density[mine] = found
        shape = (*target.batch, chains)
        return State(position.reshape((*shape, *space.point_shape)), log_density.reshape(shape))

    def _rejection(self, rng, envelope, members, chains, at_once=1 << 16, numbers=1 << 18):
        """Positions and log densities (members, chains, ...): accepted proposals, in turn.

        At most ``at_once`` proposals are computed together, and of one member at most as many as
        have so many ``numbers``: arrays larger than a processor's cache take several times as long.
        """
        space = envelope.target.space
        widest = max(1, min(at_once, numbers // (space.dim + 1)))
        position = np.empty((len(members), chains, *space.point_shape), dtype=space.dtype)
        log_density = np.empty((len(members), chains))
        # Of each member: number of draws, and of proposals since the last one.
        drawn, refused = np.zeros((2, len(members)), dtype=int)
        # Proposals of a round, over those that draws need on average if no more are accepted than
        # is certified: few, since more are; then ever more.
        share = 0.8
        while np.any(drawn < chains):
            left = np.flatnonzero(drawn < chains)
            missing = chains - drawn[left]
            wanted = np.ceil(share * missing / envelope.acceptance[members[left]])
            wanted = np.minimum(wanted, missing * self.proposals - refused[left])
            share *= 2.0
            # In rows of one member each.
            width = int(min(np.median(wanted), widest))
            rows = np.repeat(left, np.maximum(np.rint(wanted / width), 1).astype(int))
            step = max(1, at_once // width) if width < widest else 1
            for first in range(0, len(rows), step):
                row = rows[first : first + step]
                *found, accepted = self._propose(rng, envelope, members[row], width)
                owner = np.repeat(row, width)
                settled = _settled(owner, accepted.ravel(), refused, self.proposals)
                owner = owner[settled]
                place = drawn[owner] + _ranks(owner)
                drawn += np.bincount(owner, minlength=len(drawn))
                kept = place < chains
                there = owner[kept], place[kept]
                flat = (np.reshape(each, (-1, *each.shape[2:])) for each in found)
                position[there], log_density[there] = (each[settled][kept] for each in flat)
        return position, log_density

    def _propose(self, rng, envelope, members, count):
        """Positions of proposals (k, count, ...), log densities there, and which are accepted."""
        target = envelope.target
        position, limit = envelope.propose(rng, members, count)
        log_density = target.density.take(members).log_density(position)
        log_density = np.where(np.isposinf(limit), -np.inf, log_density)
        excess = log_density - limit
        # Up to rounding; also false where a density is not a number.
        if not np.all(excess <= 1e-7):
            raise RuntimeError(f"a log density exceeds its certified bound by {np.max(excess):.3g}")
        inside = target.support.take(members).contains(position)
        return position, log_density, inside & (np.log(rng.random(excess.shape)) < excess)


def _ranks(owner):
    """Rank of each entry among those of the same owner, which follow one another."""
    place = np.arange(len(owner))
    first = np.append(True, owner[1:] != owner[:-1])[: len(owner)]
    return place - np.maximum.accumulate(np.where(first, place, 0))


def _settled(owner, accepted, refused, most):
    """Mask of proposals that become draws: accepted ones, and each ``most``-th since the last.

    Proposals of an owner, an index, follow one another; ``refused`` is the number of its proposals
    since its last draw, before these and then, in place, after them.
    """
    place, rank = np.arange(len(owner)), _ranks(owner)
    # Place after the last accepted one, if that is of the same owner.
    after = np.maximum.accumulate(np.append(0, np.where(accepted, place + 1, 0))[:-1])
    since = np.where(after > place - rank, place + 1 - after, refused[owner] + rank + 1) % most
    settled = accepted | (since == 0)
    # Of the same owner's entries the last one stays.
    refused[owner] = np.where(settled, 0, since)
    return settled


def plan(target, draws, work=5e7, run_out=1e-12, most_proposals=20_000, mode_acceptance=0.02):
    """Certify an envelope for each member of a batch, of so many draws.

    A `SamplerPlan`, or ``None`` without any certificate; which members have one (*batch); and why
    the others have none, or ``None``.

    ``work`` is the most cells times records, over the batch: the default takes 20 s on the sphere,
    half a minute elsewhere.  All proposals of a draw are rejected with a probability of at most
    ``run_out``; a density that may need more than ``most_proposals`` has no certificate.  A
    certified ``mode_acceptance`` of an envelope at the mode is enough for any number of draws.
    """
    density = target.density
    reason = "its density gives no bounds" if density is None else density.refusal()
    nowhere = np.zeros(target.batch, dtype=bool)
    if reason is not None:
        return None, nowhere, reason
    # Normal coordinates within the cut locus cover every point once.
    reach = np.minimum(target.support.radius, target.space.injectivity_radius)
    target = replace(target, support=replace(target.support, radius=reach))
    least = -np.expm1(np.log(run_out) / most_proposals)
    number = int(np.prod(target.batch, dtype=int))
    envelopes, chosen = [RadialEnvelope.of(target)], np.full(number, -1)

    def choose(index, enough):
        chosen[(chosen < 0) & (envelopes[index].acceptance >= enough)] = index

    choose(0, max(least, mode_acceptance))
    rest = np.flatnonzero(chosen < 0)
    if len(rest):
        reason, cells = _cells(target, rest, draws, least, work, envelopes[0])
        if cells is not None:
            envelopes.append(cells)
            choose(1, least)
        # An envelope at the mode with a low acceptance rate is better than none.
        if target.space.dim in CELLS:
            choose(0, least)
    certified = chosen >= 0
    if not np.any(certified):
        return None, nowhere, reason
    worst = min(float(envelopes[chosen[k]].acceptance[k]) for k in np.flatnonzero(certified))
    proposals = int(np.ceil(np.log(run_out) / np.log1p(-min(worst, 1.0 - 1e-15))))
    words = ", ".join(envelopes[index].description for index in np.unique(chosen[certified]))
    words += f"; acceptance at least {worst:.2g}; all {proposals} proposals are refused with a "
    words += f"probability of at most {run_out:.0e}"
    kernel = Exact(tuple(envelopes), chosen, proposals)
    planned = SamplerPlan(
        kernel, 0, np.nan, run_out, proposals=proposals, exact_share=1.0, certificate=words
    )
    return planned, certified.reshape(target.batch), None if np.all(certified) else reason


def _cells(target, members, draws, least, work, at_mode):
    """Reason for members without a certificate, and a `CellEnvelope`; either may be ``None``."""
    dim = target.space.dim
    convexity = "its energy is not certified to be convex enough"
    if dim not in CELLS:
        return f"{convexity}, and {dim} dimensions are too many for cells", None
    if not target.support.bounded:
        return f"{convexity}, and its support is unbounded", None
    fewest, most_cells = CELLS[dim]
    affordable = work / (target.density.number_of_records * len(members))
    most_cells = int(min(most_cells, affordable))
    reason = f"{convexity}, and {most_cells} cells certify too small an acceptance"
    if most_cells < fewest:
        allowed = f"the {most_cells} cells for each that its work allows are too few"
        return f"{convexity}, and {allowed}", None
    return reason, CellEnvelope.of(target, members, draws, least, most_cells, at_mode)
