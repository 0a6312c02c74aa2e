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

# Largest probability that all proposals of a draw are rejected, and their largest number; a density
# that may need more has no certificate.
RUN_OUT, MOST_PROPOSALS = 1e-12, 20000

# Certified acceptance rate of an envelope at the mode that is enough for any number of draws.
MODE_ACCEPTANCE = 0.02

# Cells for each density, by dimension: fewest with which a certificate is attempted, and most.
CELLS = {1: (300, 10_000), 2: (1_000, 10_000), 3: (3_000, 50_000)}

# Most cells times records of a batch: takes 20 s on the sphere, half a minute elsewhere.
MOST_WORK = 5e7


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

    def _rejection(self, rng, envelope, members, chains, at_once=1 << 16):
        target = envelope.target
        space = target.space
        position = np.empty((len(members), chains, *space.point_shape), dtype=space.dtype)
        log_density = np.full((len(members), chains), -np.inf)
        unsettled = np.ones((len(members), chains), dtype=bool)
        # Proposals a chain in one round: first about those of a draw, then ever more.
        wanted = round(1.0 / np.max(envelope.acceptance[members]))
        made = 0
        while made < self.proposals:
            asked = np.flatnonzero(np.any(unsettled, axis=-1))
            if not len(asked):
                break
            waiting = unsettled[asked]
            width = int(np.max(np.sum(waiting, axis=-1)))
            # The first of a row's chains are those without a draw yet.
            columns = np.argsort(~waiting, axis=-1, kind="stable")[:, :width]
            repeat = min(wanted, self.proposals - made, at_once // (len(asked) * width))
            repeat = max(1, repeat)
            step = max(1, at_once // (len(asked) * repeat))
            for first in range(0, width, step):
                part = columns[:, first : first + step]
                state = self._propose(rng, envelope, members[asked], part.shape[-1], repeat)
                rows = np.broadcast_to(asked[:, None], part.shape)
                still = unsettled[rows, part]
                rows, part = rows[still], part[still]
                position[rows, part] = state[0][still]
                log_density[rows, part] = state[1][still]
                unsettled[rows, part] = ~state[2][still]
            made += repeat
            wanted *= 2
        return position, log_density

    def _propose(self, rng, envelope, members, chains, repeat):
        """The first accepted of ``repeat`` proposals of each chain, else the last one.

        Positions, log densities, and whether a proposal was accepted; first axes (k, chains).
        """
        target = envelope.target
        space = target.space
        position, limit = envelope.propose(rng, members, chains * repeat)
        log_density = target.density.take(members).log_density(position)
        log_density = np.where(np.isposinf(limit), -np.inf, log_density)
        excess = log_density - limit
        # Up to rounding; also false where a density is not a number.
        if not np.all(excess <= 1e-7):
            raise RuntimeError(f"a log density exceeds its certified bound by {np.max(excess):.3g}")
        inside = target.support.take(members).contains(position)
        accepted = inside & (np.log(rng.random(excess.shape)) < excess)
        shape = (len(members), chains, repeat)
        accepted = accepted.reshape(shape)
        found = np.any(accepted, axis=-1)
        first = np.where(found, np.argmax(accepted, axis=-1), repeat - 1)[..., None]
        position = position.reshape((*shape, *space.point_shape))
        position = np.take_along_axis(position, space.expand(first), axis=2)[:, :, 0]
        log_density = np.take_along_axis(log_density.reshape(shape), first, axis=2)[..., 0]
        return position, log_density, found


def plan(target, draws, work=MOST_WORK):
    """Certify an envelope for each member of a batch, of so many draws.

    A `SamplerPlan`, or ``None`` without any certificate; which members have one (*batch); and why
    the others have none, or ``None``.  ``work`` is the most cells times records, over the batch.
    """
    density = target.density
    reason = "its density gives no bounds" if density is None else density.refusal()
    nowhere = np.zeros(target.batch, dtype=bool)
    if reason is not None:
        return None, nowhere, reason
    # Normal coordinates within the cut locus cover every point once.
    reach = np.minimum(target.support.radius, target.space.injectivity_radius)
    target = replace(target, support=replace(target.support, radius=reach))
    least = -np.expm1(np.log(RUN_OUT) / MOST_PROPOSALS)
    number = int(np.prod(target.batch, dtype=int))
    envelopes, chosen = [RadialEnvelope.of(target)], np.full(number, -1)

    def choose(index, enough):
        chosen[(chosen < 0) & (envelopes[index].acceptance >= enough)] = index

    choose(0, max(least, MODE_ACCEPTANCE))
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
    proposals = int(np.ceil(np.log(RUN_OUT) / np.log1p(-min(worst, 1.0 - 1e-15))))
    words = ", ".join(envelopes[index].description for index in np.unique(chosen[certified]))
    words += f"; acceptance at least {worst:.2g}; all {proposals} proposals are refused with a "
    words += f"probability of at most {RUN_OUT:.0e}"
    kernel = Exact(tuple(envelopes), chosen, proposals)
    planned = SamplerPlan(kernel, 0, total_variation=RUN_OUT, proposals=proposals)
    planned = replace(planned, exact_share=1.0, certificate=words)
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
