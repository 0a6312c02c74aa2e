"""Independence Metropolis with a proposal matched to the curvature of the energy.

Proposals are of a `Mixture`, whose components follow the density.

The total variation distance of a draw from the target is estimated from the importance weights of
pilot proposals.  This estimate does not include a region that no pilot reached.  `resolution`
estimates how much of the target such a region may hold, and a plan never states less.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from geodp.samplers.kernel import Kernel, SamplerPlan, choose, visited
from geodp.samplers.mixture import ELLIPSE_ALONE, Mixture

# Shares of the elliptical, the axial and the uniform component that a plan chooses from.
SHARES = ((0.90, 0.00, 0.10), (0.70, 0.00, 0.30), (0.45, 0.00, 0.55), (0.10, 0.00, 0.90))


@dataclass(frozen=True)
class Matched(Kernel):
    """Independence Metropolis with a proposal matched to the curvature of the energy."""

    # Shares (3,) or (*batch, 3) of proposals from the ellipses, from the axial distribution, and
    # uniform in the support; where that is unbounded all come from the ellipses.
    shares: tuple | np.ndarray = SHARES[0]

    name = "matched"

    def member(self, index):
        shares = np.asarray(self.shares)
        return Matched(shares[index] if shares.ndim > 1 else shares)

    def init(self, rng, target, chains, redraws=30):
        """One proposal for each chain; one outside the support is drawn again, at most so often."""
        proposal = Mixture.of(target, self.shares)
        state = proposal.draw(rng, target, chains)
        for _ in range(redraws):
            nowhere = ~np.isfinite(state.log_density)
            if not np.any(nowhere):
                break
            state = choose(target.space, nowhere, proposal.draw(rng, target, chains), state)
        return state

    def walk(self, rng, target, state, steps, every, at_once=1 << 15):
        """As `Kernel.walk`; proposals do not depend on the state, so many are drawn at once."""
        space, batch = target.space, target.batch
        proposal = Mixture.of(target, self.shares)
        chains = state.log_density.shape[-1]
        block = max(1, at_once // state.log_density.size)
        accepted = np.zeros(batch)

        def in_blocks(_, array):
            return array.reshape((*batch, chains, -1, *array.shape[len(batch) + 1 :]))

        for start in range(0, steps, block):
            count = min(block, steps - start)
            proposed = proposal.draw(rng, target, chains * count).combined(space, in_blocks)
            weights = proposed.memory["log_weight"]
            thresholds = np.log(rng.random(weights.shape))
            place = visited(state.memory["log_weight"], weights, thresholds)
            rates, before = np.mean(place == np.arange(count), axis=-2), 0
            for after in range(every - start % every, count + 1, every):
                accepted = accepted + np.sum(rates[..., before:after], axis=-1)
                yield _at(space, proposed, place[..., after - 1], state), accepted / every
                accepted, before = np.zeros(batch), after
            accepted = accepted + np.sum(rates[..., before:], axis=-1)
            state = _at(space, proposed, place[..., -1], state)


def _at(space, proposed, place, before):
    """The proposals at index ``place`` of each chain, or the state before where it is -1."""
    index = np.maximum(place, 0)[..., None]
    axis = index.ndim - 1

    def pick(expand, array):
        return np.squeeze(np.take_along_axis(array, expand(index), axis=axis), axis=axis)

    return choose(space, place >= 0, proposed.combined(space, pick), before)


def plan(
    rng,
    target,
    proposals,
    total_variation,
    fewest,
    most,
    counted=True,
    good_weight=3.0,
    few_dimensions=12,
    most_pilots=60_000,
    least_mass=1e-6,
):
    """`SamplerPlan` with the mixture of proposals and the number of steps, from pilot proposals.

    Each member of the batch gets the mixture whose largest importance weight among pilot proposals
    is the smallest.  The number of steps is the smallest, from ``fewest`` to ``most``, that reaches
    the wanted total variation distance of the worst member by `total_variation_bounds`, estimated
    from pilots of the chosen mixture.  There are up to ten times as many pilots where weights are
    large or another mode has mass.  A part of the target that no pilot reached is not in the
    estimate, so the plan states at least the pilots' `resolution`.  Members (*batch) that are
    ``counted`` alone decide on the steps and the diagnostics, those whose chains are used.

    In at most ``few_dimensions`` the axial component is tried only where a weight is larger than
    ``good_weight``.  Another mode has mass if it has more than ``least_mass`` times the main one's:
    that comes from the Hessian, and near jumps of the gradient a mode held a thousand times more.
    All members together have at most ``most_pilots``.
    """
    dim = target.space.dim
    counted = np.broadcast_to(counted, target.batch)
    # A line has no directions across an axis.
    axial = dim > 1 and target.support.bounded
    # In many dimensions all pilots of the other components can miss the mass.
    if not axial or dim <= few_dimensions:
        shares, log_largest = _pilot(rng, target, proposals, (0.6, 0.0, 0.4), SHARES)
        axial = axial and np.max(log_largest[counted]) > np.log(good_weight)
    if axial:
        # It takes hundreds of evaluations to tabulate.
        known = *SHARES, (0.45, 0.45, 0.10), (0.10, 0.80, 0.10), (0.20, 0.30, 0.50)
        shares, log_largest = _pilot(rng, target, proposals, (0.4, 0.3, 0.3), known)
    modes = target.other_modes
    other_mode = modes is not None and np.any(modes.log_mass[counted] > np.log(least_mass))
    if np.max(log_largest[counted]) > np.log(good_weight) or other_mode:
        members = int(np.prod(target.batch, dtype=int))
        proposals = max(proposals, min(10 * proposals, most_pilots // members))
    drawn = Mixture.of(target, shares).draw(rng, target, proposals)
    log_weight = drawn.memory["log_weight"][counted]
    steps = np.unique(np.geomspace(fewest, most, 60).astype(int))
    distances = np.max(total_variation_bounds(log_weight, steps), axis=0)
    enough = distances <= total_variation
    chosen = int(np.argmax(enough)) if np.any(enough) else -1
    return SamplerPlan(
        Matched(shares),
        int(steps[chosen]),
        float(np.exp(np.max(_relative(log_weight)))),
        max(float(distances[chosen]), float(np.max(resolution(log_weight)))),
        not np.any(enough),
        proposals=1 + int(steps[chosen]),
    )


def resolution(log_weight):
    """Estimate of the share (*batch) of the target that all pilot proposals may have missed.

    All pilots miss a region of proposal probability ``3 / pilots`` in one case in twenty.  If the
    importance weight there is w, the largest of the pilots, it holds ``3 w / pilots`` of the
    target, and chains that never reach it have that total variation distance.  This is not an upper
    bound: the weight there may be larger.  Log weights (*batch, pilots) are up to a constant.
    """
    largest = np.exp(np.max(_relative(log_weight), axis=-1))
    # The rule of three: so many pilots are expected in a region that all miss in 1 case of 20.
    return np.minimum(1.0, -np.log(0.05) * largest / log_weight.shape[-1])


def _relative(log_weight):
    """Log weights relative to their mean over proposals; infinite if none was in the support."""
    number = log_weight.shape[-1]
    mean = logsumexp(log_weight, axis=-1, keepdims=True) - np.log(number)
    return np.where(np.isneginf(mean), np.inf, log_weight - np.where(np.isneginf(mean), 0.0, mean))


def total_variation_bounds(log_weight, steps):
    """Bound on the total variation distance of independence Metropolis to its target.

    It is a bound for the given distribution of importance weights.  With the weights of pilots it
    is an estimate of the bound, which larger weights than theirs could raise.

    Let w be target over proposal, of mean one under the proposal q, and start from q.  After m
    steps a state of weight w has a share ``1 - d_m(w)`` of its density under the target, with
    ``d_0(w) = 1 - 1/w``.  One step gives ``d_(m+1)(w) = r(w) d_m(w) + h_m(w)``, where r is the
    probability of staying and ``h_m(w)`` the mean of ``d_m(w') min(1/w, 1/w')`` under the target.
    By induction d_m does not decrease with w and its mean under the target is zero, so h_m is
    nowhere positive, and the total variation is at most the mean under the target of
    ``max(0, 1 - 1/w) r(w)^m``.

    From log weights (*batch, proposals), up to a constant for each batch member, and numbers of
    steps (k,) to bounds (*batch, k); one where all weights are zero.
    """
    weight = np.sort(np.exp(_relative(log_weight)), axis=-1)
    number = weight.shape[-1]
    unknown = np.isinf(weight[..., -1])
    weight = np.where(unknown[..., None], 1.0, weight)
    above = number - 1 - np.arange(number)
    positive = np.where(weight > 0.0, weight, 1.0)
    accepted = (np.cumsum(weight, axis=-1) + above * weight) / (number * positive)
    stay = np.clip(1.0 - accepted, 0.0, 1.0)
    missing = np.maximum(weight - 1.0, 0.0)
    bounds = np.stack([np.mean(missing * stay**m, axis=-1) for m in steps], axis=-1)
    return np.where(unknown[..., None], 1.0, bounds)


def _pilot(rng, target, proposals, pilot_shares, candidates):
    """Best candidate shares of each member (*batch, 3), and their largest log weight (*batch)."""
    pilot = Mixture.of(target, pilot_shares)
    state = pilot.draw(rng, target, proposals)
    candidates = np.array(candidates if target.support.bounded else (ELLIPSE_ALONE,))
    with np.errstate(divide="ignore"):
        log_shares = np.log(candidates).reshape(
            (len(candidates), 3) + (1,) * state.log_density.ndim
        )
    log_mixtures = logsumexp(log_shares + pilot.log_components(state.position), axis=1)
    # Of pilot density q0: log f / q0, and log q / q0 for each candidate q.
    log_weight = state.memory["log_weight"]
    finite = np.isfinite(log_weight)
    # A rejected pilot has weight zero, and its difference of infinities is not a number.
    with np.errstate(invalid="ignore"):
        log_ratio = log_mixtures - (state.log_density - log_weight)
        log_ratio = np.where(finite, log_ratio, -np.inf)
        log_largest = (
            np.max(np.where(finite, state.log_density - log_mixtures, -np.inf), axis=-1)
            + logsumexp(log_ratio, axis=-1)
            - logsumexp(log_weight, axis=-1)
        )
    # Without any pilot in the support all candidates are equally good.
    log_largest = np.where(np.isnan(log_largest), np.inf, log_largest)
    # Of about equally good mixtures take the most axial, whose proposals stay in the support.
    good = log_largest <= np.min(log_largest, axis=0) + 0.1
    axial = candidates[:, 1].reshape((-1,) + (1,) * (log_largest.ndim - 1))
    best = np.argmax(np.where(good, axial, -1.0), axis=0)
    return candidates[best], np.take_along_axis(log_largest, best[None], axis=0)[0]
