"""Independence Metropolis with a proposal matched to the curvature of the energy.

Near its mode a K-norm gradient density is an elliptical Laplace law: with ``H`` the Hessian of
the energy there, the density at ``Exp(mode, u)`` is about ``exp(-|H u| / sigma)``.  That law is
drawn exactly, as ``u = sigma H^-1 R U`` with R ~ Gamma(dim, 1) and U uniform on the unit
sphere, and moved to the manifold by Exp, whose volume density enters the weight.  Other modes
that the target knows of get ellipses of their own, in proportion to their mass.

On a bounded support two more components guard against what the ellipses cannot see: the main
ellipse narrowed until it fits the support, for densities that are nearly flat over it, and a
law uniform in the ball that holds the support (in normal coordinates), which bounds the weight
and finds modes elsewhere.  Proposals outside that ball are drawn again, which changes the
mixture's density by a constant only.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from geodp.samplers.base import Info, Kernel, Plan, State, choose

# A direction in which the energy is flat, or bends down, gets a proposal no wider than this
# multiple of the narrowest allows.
SMALLEST_RELATIVE_CURVATURE = 1e-3

# A narrowed ellipse reaches, on average, to this fraction of the support's radius.
NARROWED_REACH = 0.5

# How much wider the second ellipse around another mode is.
OTHER_MODES_WIDENED = 3.0

# After so many draws outside the support a proposal is left there, and refused.
REDRAWS = 30

# Proposals evaluated at once.
BLOCK = 1 << 15

# Shares of the ellipse, the narrowed ellipse and the uniform law that a plan chooses from.
SHARES = (
    (0.90, 0.00, 0.10),
    (0.70, 0.00, 0.30),
    (0.45, 0.45, 0.10),
    (0.45, 0.00, 0.55),
    (0.10, 0.80, 0.10),
    (0.20, 0.30, 0.50),
    (0.10, 0.00, 0.90),
)
ELLIPSE_ALONE = (1.0, 0.0, 0.0)
PILOT_SHARES = (0.4, 0.3, 0.3)


@dataclass(frozen=True)
class Matched(Kernel):
    """Curvature-matched independence Metropolis.

    Parameters
    ----------
    shares : sequence of float or ndarray, shape (3,) or (*batch, 3)
        Shares of proposals from the ellipse, from the narrowed ellipse, and uniform in the ball
        that holds the support; without such a ball all come from the ellipse.
    """

    shares: tuple | np.ndarray = SHARES[0]

    name = "matched"

    def member(self, index):
        """The same kernel for one part of the batch, given as a tuple of slices."""
        shares = np.asarray(self.shares)
        return Matched(shares[index] if shares.ndim > 1 else shares)

    def init(self, rng, target, chains):
        """One proposal for each chain, within the support where that is possible."""
        proposal = _Proposal.of(target, self.shares)
        state = proposal.draw(rng, chains)
        for _ in range(REDRAWS):
            outside = np.isneginf(state.log_density)
            if not np.any(outside):
                break
            state = choose(target.space, outside, proposal.draw(rng, chains), state)
        return state

    def step(self, rng, target, state):
        """One Metropolis-Hastings step; returns the new state and its `Info`."""
        proposed = _Proposal.of(target, self.shares).draw(rng, state.log_density.shape[-1])
        change = proposed.memory["log_weight"] - state.memory["log_weight"]
        accepted = np.log(rng.random(change.shape)) < change
        return choose(target.space, accepted, proposed, state), Info(accepted)

    def walk(self, rng, target, state, steps, every):
        """As `Kernel.walk`; proposals do not depend on the state, so many are drawn at once."""
        proposal = _Proposal.of(target, self.shares)
        shape = state.log_density.shape
        chains = shape[-1]
        block = max(1, BLOCK // int(np.prod(shape)))
        accepted = np.zeros(target.batch)
        for start in range(0, steps, block):
            count = min(block, steps - start)
            proposed = _in_blocks(target.space, proposal.draw(rng, chains * count), chains)
            weights = proposed.memory["log_weight"]
            thresholds = np.log(rng.random(weights.shape))
            weight = state.memory["log_weight"]
            # Where each chain stands: a proposal of this block, or its state before it.
            place = np.full(shape, -1)
            for step in range(count):
                accept = thresholds[..., step] < weights[..., step] - weight
                weight = np.where(accept, weights[..., step], weight)
                place = np.where(accept, step, place)
                accepted = accepted + np.mean(accept, axis=-1)
                if (start + step + 1) % every == 0:
                    yield _at(target.space, proposed, place, state), accepted / every
                    accepted = np.zeros(target.batch)
            state = _at(target.space, proposed, place, state)


def _in_blocks(space, state, chains):
    """Split the chain axis of proposals into (chains, steps)."""

    def split(array, tail):
        lead = array.shape[: array.ndim - tail - 1]
        return array.reshape((*lead, chains, -1, *array.shape[array.ndim - tail :]))

    return State(
        split(state.position, space.point_ndim),
        split(state.log_density, 0),
        {key: split(value, 0) for key, value in state.memory.items()},
    )


def _at(space, proposed, place, before):
    """The proposals at index ``place`` of each chain, or the state before where it is -1."""
    index = np.maximum(place, 0)[..., None]
    position = np.take_along_axis(
        proposed.position, space.expand(index), axis=-space.point_ndim - 1
    )
    picked = State(
        np.squeeze(position, axis=-space.point_ndim - 1),
        np.take_along_axis(proposed.log_density, index, axis=-1)[..., 0],
        {
            key: np.take_along_axis(value, index, axis=-1)[..., 0]
            for key, value in proposed.memory.items()
        },
    )
    return choose(space, place >= 0, picked, before)


@dataclass(frozen=True)
class _Proposal:
    """The mixture of proposals for one batch of densities.

    Attributes
    ----------
    shares : ndarray, shape (*batch, 3)
    centres : ndarray, shape (*batch, modes, *point_shape)
        The main mode, then any others.
    matrices : ndarray, shape (*batch, modes, dim, dim)
        Hessian over scale, in the frames at the centres.
    mode_shares : ndarray, shape (*batch, modes)
        Of the ellipses around each mode.
    narrowing : ndarray, shape (*batch)
    bounded : bool
    """

    target: object
    shares: np.ndarray
    centres: np.ndarray
    matrices: np.ndarray
    mode_shares: np.ndarray
    narrowing: np.ndarray
    bounded: bool

    @classmethod
    def of(cls, target, shares):
        axis = -target.space.point_ndim - 1
        centres = np.expand_dims(target.centre, axis)
        hessians = target.hessian[..., None, :, :]
        masses = np.ones((*target.batch, 1))
        modes = target.other_modes
        if modes is not None:
            # Other modes often lie among jumps of the gradient, so each gets a wider ellipse too;
            # and one that seems heavier than the main mode is not trusted to be.
            mass = 0.5 * np.exp(np.minimum(modes.log_mass, 0.0))
            wide = modes.hessian / OTHER_MODES_WIDENED
            centres = np.concatenate([centres, modes.position, modes.position], axis=axis)
            hessians = np.concatenate([hessians, modes.hessian, wide], axis=-3)
            masses = np.concatenate([masses, mass, mass], axis=-1)
        matrices = _positive(hessians) / target.scale[..., None, None, None]
        bounded = bool(np.all(np.isfinite(target.support_radius)))
        if not bounded:
            shares = ELLIPSE_ALONE
        spread = np.sqrt(np.mean(np.linalg.eigvalsh(matrices[..., 0, :, :]) ** -2.0, axis=-1))
        reach = target.space.dim * spread
        narrowing = np.minimum(1.0, NARROWED_REACH * target.support_radius / reach)
        # An ellipse that fits the support as it is leaves its share to those of all modes.
        shares = np.broadcast_to(shares, (*target.batch, 3))
        whole = np.stack(
            [shares[..., 0] + shares[..., 1], np.zeros(target.batch), shares[..., 2]], axis=-1
        )
        shares = np.where((narrowing == 1.0)[..., None], whole, shares)
        return cls(
            target,
            shares,
            centres,
            matrices,
            masses / np.sum(masses, axis=-1, keepdims=True),
            narrowing,
            bounded,
        )

    def draw(self, rng, chains):
        """Fresh states with their log weights; (*batch, chains)."""
        position, outside = self._draw_once(rng, chains)
        for _ in range(REDRAWS):
            if not np.any(outside):
                break
            again, again_outside = self._draw_once(rng, chains)
            position = np.where(self.target.space.expand(outside), again, position)
            outside = outside & again_outside
        log_density = self.target.log_density(position)
        log_density = np.where(outside | np.isnan(log_density), -np.inf, log_density)
        with np.errstate(divide="ignore"):
            log_shares = np.moveaxis(np.log(self.shares), -1, 0)[..., None]
        log_proposal = logsumexp(log_shares + self.log_components(position), axis=0)
        return State(position, log_density, {"log_weight": log_density - log_proposal})

    def _draw_once(self, rng, chains):
        """Positions from the mixture, and which of them are outside the support's ball."""
        target, space = self.target, self.target.space
        axis = -space.point_ndim - 1
        shape = (*target.batch, chains)
        directions = rng.standard_normal((*shape, space.dim))
        directions /= np.sqrt(np.sum(directions**2, axis=-1, keepdims=True))
        radii = rng.gamma(space.dim, size=shape)
        chosen = rng.random(shape)
        narrowed = chosen < self.shares[..., 1:2]
        uniformly = chosen >= 1.0 - self.shares[..., 2:3]
        radii = np.where(narrowed, self.narrowing[..., None] * radii, radii)
        # Which mode's ellipse; the narrowed one is the main mode's.
        edges = np.cumsum(self.mode_shares, axis=-1)[..., None, :]
        mode = np.sum(rng.random(shape)[..., None] * edges[..., -1:] >= edges, axis=-1)
        mode = np.where(narrowed, 0, np.minimum(mode, edges.shape[-1] - 1))
        matrix = np.take_along_axis(self.matrices, mode[..., None, None], axis=-3)
        centre = np.take_along_axis(self.centres, space.expand(mode), axis=axis)
        steps = np.linalg.solve(matrix, (radii[..., None] * directions)[..., None])[..., 0]
        # Beyond the injectivity radius two steps lead to one place.
        outside = np.sqrt(np.sum(steps**2, axis=-1)) > space.injectivity_radius
        position = space.exp(centre, space.vector(space.frame(centre), steps))
        if not self.bounded:
            return position, outside
        support_centre = np.expand_dims(target.support_centre, axis)
        length = target.support_radius[..., None] * rng.random(shape) ** (1.0 / space.dim)
        frame = np.expand_dims(space.frame(target.support_centre), axis - 1)
        uniform = space.exp(support_centre, space.vector(frame, length[..., None] * directions))
        position = np.where(space.expand(uniformly), uniform, position)
        away = space.dist(support_centre, position)
        outside = np.where(uniformly, False, outside)
        return position, outside | (away > target.support_radius[..., None] * (1.0 + 1e-9))

    def log_components(self, position):
        """Log density of each component with respect to volume; (3, *batch, chains)."""
        target, space = self.target, self.target.space
        dim = space.dim
        axis = -space.point_ndim - 1
        log_area = np.log(2.0) + 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim)
        ellipses = []
        for mode in range(self.mode_shares.shape[-1]):
            centre = np.take(self.centres, mode, axis=axis)
            matrix = self.matrices[..., mode, :, :]
            frame = np.expand_dims(space.frame(centre), axis - 1)
            centre = np.expand_dims(centre, axis)
            vector = space.log(centre, position)
            steps = space.coordinates(centre, vector, frame)
            white = np.matmul(matrix[..., None, :, :], steps[..., None])[..., 0]
            length = np.sqrt(np.sum(white**2, axis=-1))
            log_constant = np.linalg.slogdet(matrix)[1][..., None] - gammaln(dim) - log_area
            log_constant = log_constant - np.log(space.exp_volume(centre, vector))
            if mode == 0:
                narrowing = self.narrowing[..., None]
                narrowed = log_constant - length / narrowing - dim * np.log(narrowing)
            ellipses.append(log_constant - length)
        with np.errstate(divide="ignore"):
            log_shares = np.moveaxis(np.log(self.mode_shares), -1, 0)[..., None]
        ellipse = logsumexp(log_shares + np.stack(ellipses), axis=0)
        if not self.bounded:
            return np.stack([ellipse, narrowed, np.full_like(ellipse, -np.inf)])
        support_centre = np.expand_dims(target.support_centre, axis)
        vector = space.log(support_centre, position)
        log_ball = 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim + 1.0)
        log_ball = log_ball + dim * np.log(target.support_radius[..., None])
        uniform = -log_ball - np.log(space.exp_volume(support_centre, vector))
        return np.stack([ellipse, narrowed, uniform])


def _positive(hessian):
    """Symmetric matrix with the same eigenvectors and eigenvalues bounded away from zero."""
    values, vectors = np.linalg.eigh(hessian)
    values = np.abs(values)
    largest = np.max(values, axis=-1, keepdims=True)
    values = np.maximum(values, SMALLEST_RELATIVE_CURVATURE * largest)
    return (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def plan(rng, target, proposals, total_variation, fewest, most):
    """Choose the mixture of proposals and the number of steps from pilot proposals.

    An independence chain started from its proposal is within ``(1 - 1/w)^m`` of its target in
    total variation after ``m`` steps, ``w`` the largest weight relative to its mean.  Each
    member of the batch gets the mixture with the least largest weight among its pilot
    proposals, and that weight stands for ``w``: the number of steps rests on an estimate, not
    on a bound.

    Parameters
    ----------
    rng : numpy.random.Generator
    target : Target
    proposals : int
        Pilot proposals for each batch member.
    total_variation : float
        Distance to the target wanted.
    fewest, most : int
        Limits of the number of steps.

    Returns
    -------
    Plan
    """
    pilot = _Proposal.of(target, PILOT_SHARES)
    state = pilot.draw(rng, proposals)
    candidates = np.array(SHARES if pilot.bounded else (ELLIPSE_ALONE,))
    with np.errstate(divide="ignore"):
        log_shares = np.log(candidates).reshape(
            (len(candidates), 3) + (1,) * state.log_density.ndim
        )
    log_mixtures = logsumexp(log_shares + pilot.log_components(state.position), axis=1)
    # Of pilot density q0: log f / q0, and log q / q0 for each candidate q.
    log_weight = state.memory["log_weight"]
    finite = np.isfinite(log_weight)
    # A refused pilot proposal has no weight, and its difference of infinities no meaning.
    with np.errstate(invalid="ignore"):
        log_ratio = log_mixtures - (state.log_density - log_weight)
        log_ratio = np.where(finite, log_ratio, -np.inf)
        log_largest = (
            np.max(np.where(finite, state.log_density - log_mixtures, -np.inf), axis=-1)
            + logsumexp(log_ratio, axis=-1)
            - logsumexp(log_weight, axis=-1)
        )
    # Where every pilot proposal fell outside the support nothing is known: take the widest.
    log_largest = np.where(np.isnan(log_largest), np.inf, log_largest)
    best = np.argmin(log_largest, axis=0)
    worst = np.max(np.min(log_largest, axis=0))
    # A weight that never varies would need no step at all.
    largest = max(float(np.exp(worst)), 1.0 + 1e-9)
    needed = np.log(total_variation) / np.log1p(-1.0 / largest) if np.isfinite(largest) else np.inf
    steps = int(np.clip(np.ceil(min(needed, most)), fewest, most))
    return Plan(Matched(candidates[best]), steps, largest, bool(needed > most))
