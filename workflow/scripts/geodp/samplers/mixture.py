"""Proposals that follow a density: ellipses at its modes, its profile about an axis, the support.

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
"""

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from geodp.manifolds.manifold import Manifold
from geodp.manifolds.supports import Ball
from geodp.randomness import random_directions
from geodp.samplers.axial import AxialDistribution
from geodp.samplers.kernel import State, log_sphere_area

# Shares of the three components where the support is unbounded.
ELLIPSE_ALONE = (1.0, 0.0, 0.0)


@dataclass(frozen=True)
class Mixture:
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
        shares = shares if target.support.bounded else ELLIPSE_ALONE
        shares = np.broadcast_to(shares, (*target.batch, 3))
        axial = _axial_distribution(target) if np.any(shares[..., 1] > 0.0) else None
        parts: Any = (target.space, target.support, shares, *_ellipses(target), axial)
        return cls(*parts)

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
        position = np.zeros((*shape, *space.point_shape), dtype=space.dtype)
        outside = np.zeros(shape, dtype=bool)

        def fill(chosen, draw):
            # As many draws for each member as are wanted for any.
            there = np.nonzero(chosen)
            if len(there[0]):
                rank = np.cumsum(chosen, axis=-1)[there] - 1
                drawn, beyond = draw(int(np.max(rank)) + 1)
                position[there] = drawn[(*there[:-1], rank)]
                outside[there] = beyond[(*there[:-1], rank)]

        def evenly(number):
            directions = random_directions(rng, (*shape[:-1], number, space.dim))
            return support.draw_along(rng, directions), np.zeros((*shape[:-1], number), dtype=bool)

        def axially(number):
            drawn = support.place(axial.draw(rng, number))[0]
            return drawn, np.zeros((*shape[:-1], number), dtype=bool)

        axial: Any = self.axial
        chosen = rng.random(shape)
        is_axial = chosen < self.shares[..., 1:2]
        is_even = chosen >= 1.0 - self.shares[..., 2:3]
        edges = np.cumsum(self.mode_shares, axis=-1)[..., None, :]
        mode = np.sum(rng.random(shape)[..., None] * edges[..., -1:] >= edges, axis=-1)
        mode = np.where(is_axial | is_even, -1, np.minimum(mode, edges.shape[-1] - 1))
        for index in range(edges.shape[-1]):
            fill(mode == index, partial(self._draw_about, rng, index))
        fill(is_even, evenly)
        fill(is_axial, axially)
        return position, outside | ~support.contains(position)

    def _draw_about(self, rng, mode, number):
        """Draws from the ellipse of a mode, and which steps there are too long."""
        space = self.space
        shape = (*self.shares.shape[:-1], number)
        lengths = rng.gamma(space.dim, size=shape)[..., None]
        steps = lengths * random_directions(rng, (*shape, space.dim))
        steps = steps @ np.swapaxes(self.inverses[..., mode, :, :], -1, -2)
        centre, frame = self._centre_and_frame(mode)
        # Beyond the injectivity radius two steps lead to one point.
        beyond = ~(np.sqrt(np.sum(steps**2, axis=-1)) <= space.injectivity_radius)
        return space.exp(centre, space.vector(frame, steps)), beyond

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


# Cached for the plan of a target, its start and its steps.
@lru_cache(maxsize=2)
def _axial_distribution(target):
    """The axial distribution of a target."""
    return AxialDistribution.of(target)


@lru_cache(maxsize=2)
def _ellipses(target):
    """Centres of a target's elliptical components, their matrices and inverses, and shares."""
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
    shares = masses / np.sum(masses, axis=-1, keepdims=True)
    return centres, matrices, np.linalg.inv(matrices), shares


def _positive(hessian, least=1e-3):
    """Symmetric matrix with the same eigenvectors and eigenvalues bounded away from zero.

    The bound, relative to the largest, limits the width where the energy is flat or concave.
    """
    values, vectors = np.linalg.eigh(hessian)
    values = np.abs(values)
    values = np.maximum(values, least * np.max(values, axis=-1, keepdims=True))
    return (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
