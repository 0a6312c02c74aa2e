"""Independence Metropolis with a proposal matched to the curvature of the energy.

Near its mode a K-norm gradient density is an elliptical Laplace distribution: with ``H`` the
Hessian of the energy there, the density at ``Exp(mode, u)`` is about ``exp(-|H u| / sigma)``.  It
is drawn exactly, as ``u = sigma H^-1 R U`` with R ~ Gamma(dim, 1) and U uniform on the unit
sphere, and moved to the manifold by Exp, whose volume density enters the weight.  Other modes
that the target reports get elliptical components of their own, in proportion to their mass.

On a bounded support the proposal is a mixture with two more components.  One follows the density's
profile about an axis (`axial`), for densities that are nearly flat over the support and for many
dimensions.  The other is uniform in the support (in normal coordinates); it bounds the importance
weights and finds modes elsewhere.  Proposals outside the support are drawn again, which changes the
mixture's density by a constant only.

The total variation distance of a draw from the target is estimated from the importance weights of
pilot proposals.  This estimate does not include a region that no pilot reached.  `resolution`
estimates how much of the target such a region may hold, and a plan never states less.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, logsumexp

from geodp.manifolds.base import Manifold
from geodp.manifolds.supports import Ball
from geodp.randomness import random_directions
from geodp.samplers.axial import AxialDistribution
from geodp.samplers.base import (
    Kernel,
    SamplerPlan,
    State,
    choose,
    log_sphere_area,
    visited,
)

# Proposals evaluated at once.
PROPOSALS_AT_ONCE = 1 << 15

# Most times that chains which start at density zero are drawn again.
REDRAWS = 30

# Shares of the elliptical, the axial and the uniform component that a plan chooses from, and those
# of its pilots.  The axial component takes hundreds of evaluations to tabulate, so it is tried only
# where the others give large weights.
SHARES = ((0.90, 0.00, 0.10), (0.70, 0.00, 0.30), (0.45, 0.00, 0.55), (0.10, 0.00, 0.90))
SHARES_WITH_AXIAL = (*SHARES, (0.45, 0.45, 0.10), (0.10, 0.80, 0.10), (0.20, 0.30, 0.50))
PILOT_SHARES = (0.6, 0.0, 0.4)
PILOT_SHARES_WITH_AXIAL = (0.4, 0.3, 0.3)
ELLIPSE_ALONE = (1.0, 0.0, 0.0)

# Largest importance weight up to which the axial component is not tried, in few dimensions.
GOOD_WEIGHT = 3.0
FEW_DIMENSIONS = 12

# Factor on the number of pilots where weights are larger than that or another mode has mass, and
# the most pilots of all batch members together.
MANY_TIMES, MANY = 10, 60000

# Log mass, relative to the main mode's, above which another mode counts.  This mass comes from the
# Hessian.  Near jumps of the gradient a mode held a thousand times more.
LEAST_LOG_MASS = np.log(1e-6)

# Expected number of pilots in a region that all of them miss with probability 1/20 (rule of three).
RULE_OF_THREE = -np.log(0.05)


@dataclass(frozen=True)
class Matched(Kernel):
    """Independence Metropolis with a proposal matched to the curvature of the energy.

    Parameters
    ----------
    shares : sequence of float or ndarray, shape (3,) or (*batch, 3)
        Shares of proposals from the ellipses, from the axial distribution, and uniform in the
        support; where that is unbounded all come from the ellipses.
    """

    shares: tuple | np.ndarray = SHARES[0]

    name = "matched"

    def member(self, index):
        shares = np.asarray(self.shares)
        return Matched(shares[index] if shares.ndim > 1 else shares)

    def init(self, rng, target, chains):
        """One proposal for each chain, within the support where that is possible."""
        proposal = _Proposal.of(target, self.shares)
        state = proposal.draw(rng, target, chains)
        for _ in range(REDRAWS):
            nowhere = ~np.isfinite(state.log_density)
            if not np.any(nowhere):
                break
            state = choose(target.space, nowhere, proposal.draw(rng, target, chains), state)
        return state

    def walk(self, rng, target, state, steps, every):
        """As `Kernel.walk`; proposals do not depend on the state, so many are drawn at once."""
        space, batch = target.space, target.batch
        proposal = _Proposal.of(target, self.shares)
        chains = state.log_density.shape[-1]
        block = max(1, PROPOSALS_AT_ONCE // state.log_density.size)
        accepted = np.zeros(batch)

        def in_blocks(_, array):
            return array.reshape((*batch, chains, -1, *array.shape[len(batch) + 1 :]))

        for start in range(0, steps, block):
            count = min(block, steps - start)
            proposed = proposal.draw(rng, target, chains * count).combined(space, in_blocks)
            weights = proposed.memory["log_weight"]
            thresholds = np.log(rng.random(weights.shape))
            place = visited(state.memory["log_weight"], weights, thresholds)
            for step in range(count):
                accepted = accepted + np.mean(place[..., step] == step, axis=-1)
                if (start + step + 1) % every == 0:
                    yield _at(space, proposed, place[..., step], state), accepted / every
                    accepted = np.zeros(batch)
            state = _at(space, proposed, place[..., -1], state)


def _at(space, proposed, place, before):
    """The proposals at index ``place`` of each chain, or the state before where it is -1."""
    index = np.maximum(place, 0)[..., None]
    axis = index.ndim - 1

    def pick(expand, array):
        return np.squeeze(np.take_along_axis(array, expand(index), axis=axis), axis=axis)

    return choose(space, place >= 0, proposed.combined(space, pick), before)


@dataclass(frozen=True)
class _Proposal:
    """The mixture from which proposals for a batch of densities are drawn."""

    space: Manifold
    support: Ball
    shares: np.ndarray  # (*batch, 3)
    centres: np.ndarray  # (*batch, modes, *point_shape): the main mode, then any others.
    # Hessian over scale (*batch, modes, dim, dim), in the frames at the centres.
    matrices: np.ndarray
    inverses: np.ndarray  # Of these.
    mode_shares: np.ndarray  # Shares (*batch, modes) of the elliptical components.
    axial: AxialDistribution | None

    @classmethod
    def of(cls, target, shares):
        axis = -target.space.point_ndim - 1
        centres = np.expand_dims(target.centre, axis)
        hessians = target.hessian[..., None, :, :]
        masses = np.ones((*target.batch, 1))
        modes = target.other_modes
        if modes is not None:
            # Other modes often lie among jumps of the gradient, so each gets a wider component too,
            # and no mode counts as heavier than the main one.
            mass = 0.5 * np.exp(np.minimum(modes.log_mass, 0.0))
            wide = modes.hessian / 3.0
            centres = np.concatenate([centres, modes.position, modes.position], axis=axis)
            hessians = np.concatenate([hessians, modes.hessian, wide], axis=-3)
            masses = np.concatenate([masses, mass, mass], axis=-1)
        matrices = _positive(hessians) / target.scale[..., None, None, None]
        shares = np.broadcast_to(
            shares if target.support.bounded else ELLIPSE_ALONE, (*target.batch, 3)
        )
        return cls(
            target.space,
            target.support,
            shares,
            centres,
            matrices,
            np.linalg.inv(matrices),
            masses / np.sum(masses, axis=-1, keepdims=True),
            _axial_distribution(target) if np.any(shares[..., 1] > 0.0) else None,
        )

    def take(self, members):
        """The mixtures at k indices of the flattened batch; the new batch has shape (k,)."""
        batch_ndim = self.shares.ndim - 1
        arrays = {name: each for name, each in vars(self).items() if isinstance(each, np.ndarray)}
        return replace(
            self,
            support=self.support.take(members),
            axial=None if self.axial is None else self.axial.take(members),
            **{
                name: array.reshape((-1, *array.shape[batch_ndim:]))[members]
                for name, array in arrays.items()
            },
        )

    def draw(self, rng, target, chains):
        """`State` of new proposals, with log importance weights in its memory; (*batch, chains)."""
        position, outside = self._draw_again(rng, *self._draw_once(rng, chains))
        log_density = target.log_density(position)
        log_density = np.where(outside | np.isnan(log_density), -np.inf, log_density)
        with np.errstate(divide="ignore"):
            log_shares = np.moveaxis(np.log(self.shares), -1, 0)[..., None]
        log_proposal = logsumexp(log_shares + self.log_components(position), axis=0)
        return State(position, log_density, {"log_weight": log_density - log_proposal})

    def _draw_again(self, rng, position, outside, redraws=6):
        """The positions and which are outside, after new draws of those that are outside."""
        shapes = position.shape, outside.shape
        position = position.reshape((-1, shapes[1][-1], *self.space.point_shape))
        outside = outside.reshape((-1, shapes[1][-1]))
        for _ in range(redraws):
            missing = np.sum(outside, axis=-1)
            # Members that miss about as many are drawn together, as many for each.
            sizes = np.frexp(missing)[1]
            for size in np.unique(sizes[missing > 0]):
                members = np.flatnonzero(sizes == size)
                again, again_outside = self.take(members)._draw_once(rng, np.max(missing[members]))
                replaced = outside[members]
                member, chain = np.nonzero(replaced)
                drawn = member, np.cumsum(replaced, axis=-1)[member, chain] - 1
                position[members[member], chain] = again[drawn]
                outside[members[member], chain] = again_outside[drawn]
        return position.reshape(shapes[0]), outside.reshape(shapes[1])

    def _draw_once(self, rng, chains):
        """Positions from the mixture, and which of them are outside the support."""
        space, support = self.space, self.support
        shape = (*self.shares.shape[:-1], chains)
        directions = random_directions(rng, (*shape, space.dim))
        radii = rng.gamma(space.dim, size=shape)
        chosen = rng.random(shape)
        axially = chosen < self.shares[..., 1:2]
        uniformly = chosen >= 1.0 - self.shares[..., 2:3]
        edges = np.cumsum(self.mode_shares, axis=-1)[..., None, :]
        mode = np.sum(rng.random(shape)[..., None] * edges[..., -1:] >= edges, axis=-1)
        mode = np.minimum(mode, edges.shape[-1] - 1)
        lengths = radii[..., None] * directions
        steps = np.zeros_like(lengths)
        position = np.zeros((*shape, *space.point_shape), dtype=space.dtype)
        for index in range(edges.shape[-1]):
            taken = mode == index
            centre, frame = self._centre_and_frame(index)
            step = lengths @ np.swapaxes(self.inverses[..., index, :, :], -1, -2)
            steps = np.where(taken[..., None], step, steps)
            reached = space.exp(centre, space.vector(frame, step))
            position = np.where(space.expand(taken), reached, position)
        # Beyond the injectivity radius two steps lead to one point.
        outside = ~(np.sqrt(np.sum(steps**2, axis=-1)) <= space.injectivity_radius)
        if not support.bounded:
            return position, outside
        evenly = support.draw_along(rng, directions)
        position = np.where(space.expand(uniformly), evenly, position)
        if self.axial is not None:
            place = support.place(self.axial.draw(rng, chains))[0]
            position = np.where(space.expand(axially), place, position)
        outside = np.where(uniformly | axially, False, outside)
        return position, outside | ~support.contains(position)

    def _centre_and_frame(self, mode):
        """Centre of a mode and the frame there, to broadcast against chains."""
        space = self.space
        axis = -space.point_ndim - 1
        centre = np.take(self.centres, mode, axis=axis)
        return np.expand_dims(centre, axis), np.expand_dims(space.frame(centre), axis - 1)

    def log_components(self, position):
        """Log density of each component with respect to volume; (3, *batch, chains)."""
        space = self.space
        log_unit = gammaln(space.dim) + log_sphere_area(space.dim)
        ellipses = []
        for mode in range(self.mode_shares.shape[-1]):
            centre, frame = self._centre_and_frame(mode)
            matrix = self.matrices[..., mode, :, :]
            vector = space.log(centre, position)
            steps = space.coordinates(centre, vector, frame)
            white = steps @ np.swapaxes(matrix, -1, -2)
            length = np.sqrt(np.sum(white**2, axis=-1))
            log_constant = np.linalg.slogdet(matrix)[1][..., None] - log_unit
            log_volume = np.log(space.exp_volume(centre, vector))
            ellipses.append(log_constant - log_volume - length)
        with np.errstate(divide="ignore"):
            log_shares = np.moveaxis(np.log(self.mode_shares), -1, 0)[..., None]
        ellipse = logsumexp(log_shares + np.stack(ellipses), axis=0)
        axial = uniform = np.full_like(ellipse, -np.inf)
        if self.support.bounded:
            uniform = self.support.log_draw_density(position)
        if self.axial is not None:
            within, volume = self.support.coordinates(position)
            axial = self.axial.log_density(within) - np.log(volume)
        return np.stack([ellipse, axial, uniform])


@lru_cache(maxsize=2)
def _axial_distribution(target):
    """The axial distribution of a target, cached for its plan, its start and its steps."""
    return AxialDistribution.of(target)


def _positive(hessian, least=1e-3):
    """Symmetric matrix with the same eigenvectors and eigenvalues bounded away from zero.

    The bound, relative to the largest, limits the width where the energy is flat or concave.
    """
    values, vectors = np.linalg.eigh(hessian)
    values = np.abs(values)
    values = np.maximum(values, least * np.max(values, axis=-1, keepdims=True))
    return (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def plan(rng, target, proposals, total_variation, fewest, most, counted=True):
    """`SamplerPlan` with the mixture of proposals and the number of steps, from pilot proposals.

    Each member of the batch gets the mixture whose largest importance weight among pilot proposals
    is the smallest.  The number of steps is the smallest, from ``fewest`` to ``most``, that reaches
    the wanted total variation distance of the worst member by `total_variation_bounds`, estimated
    from pilots of the chosen mixture.  There are up to ten times as many pilots where weights are
    large or another mode has mass.  A part of the target that no pilot reached is not in the
    estimate, so the plan states at least the pilots' `resolution`.  Members (*batch) that are
    ``counted`` alone decide on the steps and the diagnostics, those whose chains are used.
    """
    dim = target.space.dim
    counted = np.broadcast_to(counted, target.batch)
    # A line has no directions across an axis.
    axial = dim > 1 and target.support.bounded
    # In many dimensions all pilots of the other components can miss the mass.
    if not axial or dim <= FEW_DIMENSIONS:
        shares, log_largest = _pilot(rng, target, proposals, PILOT_SHARES, SHARES)
        axial = axial and np.max(log_largest[counted]) > np.log(GOOD_WEIGHT)
    if axial:
        shares, log_largest = _pilot(
            rng, target, proposals, PILOT_SHARES_WITH_AXIAL, SHARES_WITH_AXIAL
        )
    modes = target.other_modes
    other_mode = modes is not None and np.any(modes.log_mass[counted] > LEAST_LOG_MASS)
    if np.max(log_largest[counted]) > np.log(GOOD_WEIGHT) or other_mode:
        members = int(np.prod(target.batch, dtype=int))
        proposals = max(proposals, min(MANY_TIMES * proposals, MANY // members))
    drawn = _Proposal.of(target, shares).draw(rng, target, proposals)
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
    return np.minimum(1.0, RULE_OF_THREE * largest / log_weight.shape[-1])


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
    pilot = _Proposal.of(target, pilot_shares)
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
