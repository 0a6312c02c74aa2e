"""Independence Metropolis with a proposal matched to the curvature of the energy.

Near its mode a K-norm gradient density is an elliptical Laplace law: with ``H`` the Hessian of
the energy there, the density at ``Exp(mode, u)`` is about ``exp(-|H u| / sigma)``.  That law is
drawn exactly, as ``u = sigma H^-1 R U`` with R ~ Gamma(dim, 1) and U uniform on the unit
sphere, and moved to the manifold by Exp, whose volume density enters the weight.  On a bounded
support a share of the proposals is uniform in the ball that holds it, in normal coordinates, so
that the weight is bounded and modes elsewhere are found.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from geodp.samplers.base import Info, Plan, State, choose

# A direction in which the energy is flat, or bends down, gets a proposal no wider than this
# multiple of the narrowest allows.
SMALLEST_RELATIVE_CURVATURE = 1e-3

# Shares of uniform proposals to choose from: a safeguard where the density is concentrated, and
# the better part where it is nearly flat over its support.
UNIFORM_SHARES = (0.1, 0.6)


@dataclass(frozen=True)
class Matched:
    """Curvature-matched independence Metropolis.

    Parameters
    ----------
    uniform_share : float or ndarray, shape (*batch)
        Share of proposals that are uniform in the ball that holds a bounded support.
    """

    uniform_share: float | np.ndarray = UNIFORM_SHARES[0]

    name = "matched"

    def init(self, rng, target, chains):
        """One proposal for each chain, from anywhere within the support if that is possible."""
        state = self._propose(rng, target, chains)
        for _ in range(100):
            outside = np.isneginf(state.log_density)
            if not np.any(outside):
                return state
            state = choose(target.space, outside, self._propose(rng, target, chains), state)
        return state

    def step(self, rng, target, state):
        """One Metropolis-Hastings step; returns the new state and its `Info`."""
        proposed = self._propose(rng, target, state.log_density.shape[-1])
        change = proposed.memory["log_weight"] - state.memory["log_weight"]
        accepted = np.log(rng.random(change.shape)) < change
        return choose(target.space, accepted, proposed, state), Info(accepted)

    def weights(self, rng, target, proposals):
        """Importance weights of fresh proposals, scaled to a mean of one; (*batch, proposals)."""
        log_weight = self._propose(rng, target, proposals).memory["log_weight"]
        top = np.max(log_weight, axis=-1, keepdims=True)
        weight = np.exp(log_weight - np.where(np.isfinite(top), top, 0.0))
        return weight / np.mean(weight, axis=-1, keepdims=True)

    def _propose(self, rng, target, chains):
        space = target.space
        axis = -space.point_ndim - 1
        shape = (*target.batch, chains)
        matrix = _positive(target.hessian)[..., None, :, :] / target.scale[..., None, None, None]
        centre = np.expand_dims(target.centre, axis)
        frame = np.expand_dims(space.frame(target.centre), axis - 1)
        directions = rng.standard_normal((*shape, space.dim))
        directions /= np.sqrt(np.sum(directions**2, axis=-1, keepdims=True))
        radii = rng.gamma(space.dim, size=shape)
        steps = np.linalg.solve(matrix, (radii[..., None] * directions)[..., None])[..., 0]
        position = space.exp(centre, space.vector(frame, steps))
        # Beyond the cut locus more steps than one lead to the same point, and the density of
        # the proposal below counts the shortest alone: such proposals are refused.
        refused = np.sqrt(np.sum(steps**2, axis=-1)) >= space.injectivity_radius

        share = np.where(np.isfinite(target.support_radius), self.uniform_share, 0.0)[..., None]
        if np.any(share > 0.0):
            chosen = rng.random(shape) < share
            refused = refused & ~chosen
            position = np.where(
                space.expand(chosen), self._uniform(rng, target, directions), position
            )
        log_density = target.log_density(position)
        log_proposal = self._log_proposal(target, position, matrix, frame, share)
        log_density = np.where(refused | np.isnan(log_density), -np.inf, log_density)
        return State(position, log_density, {"log_weight": log_density - log_proposal})

    def _uniform(self, rng, target, directions):
        """Uniform in normal coordinates of the ball that holds the support."""
        space = target.space
        axis = -space.point_ndim - 1
        radius = np.where(np.isfinite(target.support_radius), target.support_radius, 1.0)
        length = radius[..., None] * rng.random(directions.shape[:-1]) ** (1.0 / space.dim)
        frame = np.expand_dims(space.frame(target.support_centre), axis - 1)
        vector = space.vector(frame, length[..., None] * directions)
        return space.exp(np.expand_dims(target.support_centre, axis), vector)

    def _log_proposal(self, target, position, matrix, frame, share):
        """Log density of the mixture of proposals with respect to volume."""
        space = target.space
        axis = -space.point_ndim - 1
        dim = space.dim
        centre = np.expand_dims(target.centre, axis)
        vector = space.log(centre, position)
        steps = space.coordinates(centre, vector, frame)
        length = np.sqrt(np.sum(np.matmul(matrix, steps[..., None])[..., 0] ** 2, axis=-1))
        _, log_determinant = np.linalg.slogdet(matrix)
        log_area = np.log(2.0) + 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim)
        log_ellipse = (
            log_determinant
            - length
            - gammaln(dim)
            - log_area
            - np.log(space.exp_volume(centre, vector))
        )
        if not np.any(share > 0.0):
            return log_ellipse
        support_centre = np.expand_dims(target.support_centre, axis)
        radius = np.where(np.isfinite(target.support_radius), target.support_radius, 1.0)[..., None]
        vector = space.log(support_centre, position)
        inside = space.norm(support_centre, vector) <= radius * (1.0 + 1e-12)
        log_ball = 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim + 1.0) + dim * np.log(radius)
        log_uniform = -log_ball - np.log(space.exp_volume(support_centre, vector))
        with np.errstate(divide="ignore"):
            log_share = np.where(inside, np.log(share), -np.inf)
            return np.logaddexp(np.log1p(-share) + log_ellipse, log_share + log_uniform)


def _positive(hessian):
    """Symmetric matrix with the same eigenvectors and eigenvalues bounded away from zero."""
    values, vectors = np.linalg.eigh(hessian)
    values = np.abs(values)
    values = np.maximum(values, SMALLEST_RELATIVE_CURVATURE * values[..., -1:])
    return (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def plan(rng, target, proposals, total_variation, fewest, most):
    """Choose the share of uniform proposals and the number of steps from pilot proposals.

    An independence chain started from its proposal is within ``(1 - 1/w)^m`` of its target in
    total variation after ``m`` steps, ``w`` the largest weight.  The largest weight seen among
    the pilot proposals stands for it here, so the number of steps rests on an estimate, not on
    a bound.

    Parameters
    ----------
    proposals : int
        Pilot proposals for each share and batch member.
    total_variation : float
        Distance to the target wanted.
    fewest, most : int
        Limits of the number of steps.

    Returns
    -------
    Plan
    """
    bounded = bool(np.any(np.isfinite(target.support_radius)))
    shares = UNIFORM_SHARES if bounded else UNIFORM_SHARES[:1]
    pilots = np.stack([Matched(share).weights(rng, target, proposals) for share in shares])
    effective = 1.0 / np.mean(pilots**2, axis=-1)
    best = np.argmax(effective, axis=0)
    chosen = np.take_along_axis(pilots, best[None, ..., None], axis=0)[0]
    # A weight that never varies would need no step at all.
    largest = max(float(np.max(chosen)), 1.0 + 1e-9)
    needed = np.log(total_variation) / np.log1p(-1.0 / largest)
    steps = int(np.clip(np.ceil(needed), fewest, most))
    return Plan(Matched(np.asarray(shares)[best]), steps, largest)
