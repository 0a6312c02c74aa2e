"""Modes of a K-norm gradient density away from the fit.

The density is highest wherever the gradient of the energy vanishes: at the minimum, but also at
saddles and maxima, which a bounded or compact support can hold.  Near each of these the density is
an elliptical Laplace density, of mass proportional to ``1 / |det H|`` whatever the budget.  So a
sampler must know of them.
"""

import numpy as np

from geodp.randomness import random_directions
from geodp.samplers.kernel import Modes


def search_points(dim, number, rim=0.0):
    """Starting points in the unit ball, the same at every call, shape (number, dim).

    ``rim`` is the share of points whose radius is above 0.9.
    """
    directions = random_directions(np.random.default_rng(0), (number, dim))
    outer = round(rim * number)
    shells = (np.arange(number - outer) + 0.5) / max(number - outer, 1)
    radii = np.append(shells ** (1.0 / dim), 0.9 + 0.1 * (np.arange(outer) + 0.5) / max(outer, 1))
    return directions * radii[:, None]


def find_modes(
    target, rough, screened=256, chosen=8, steps=6, most=4, nearby=32, fractions=(0.08, 0.025)
):
    """Search a bounded support for modes other than the main one: `Modes` by decreasing mass.

    The target has a `GradientDensity` and a ball as its support; ``rough`` is a cheaper
    approximation for the search, such as `GradientDensity.thinned`.

    Of ``screened`` points all over the support the search takes the ``chosen`` best, descends so
    many ``steps`` from each and keeps the ``most`` heaviest ends.  About each it looks at
    ``nearby`` points, within each of the ``fractions`` of the support's radius.
    """
    space, density = target.space, target.density
    support_centre, support_radius = target.support.centre, target.support.radius
    axis = -space.point_ndim - 1
    centre = np.expand_dims(support_centre, axis)
    main = np.expand_dims(target.centre, axis)

    def around(place, radius, number, rim=0.0):
        frame = np.expand_dims(space.frame(place), axis - 1)
        offsets = radius[..., None, None] * search_points(space.dim, number, rim)
        points = space.exp(np.expand_dims(place, axis), space.vector(frame, offsets))
        return points, space.dist(centre, points) <= support_radius[..., None]

    def descend(state, density, steps):
        return _descend(space, density.linearise, state, centre, support_radius, steps)

    def distinct(density, ends):
        norm = np.linalg.norm(density.coordinates(main), axis=-1)
        main_log_mass = _log_mass(target.hessian[..., None, :, :], norm, density.scale)
        state, matrix, norm_at_end = ends
        log_mass = _log_mass(matrix, norm_at_end, density.scale) - main_log_mass
        # Two ends nearer than this are one mode.
        return _distinct(space, state, matrix, log_mass, main, 0.02 * support_radius, most)

    gradient = rough.coordinates
    # Half of them near the rim: long geodesics pass near many cut loci, with slivers of high
    # density between them.
    starts, _ = around(support_centre, support_radius, screened, 0.5)
    # Start where the gradient is smallest, absolutely and relative to its linear prediction from
    # the main mode.
    offset = space.coordinates(main, space.log(main, starts), space.frame(main))
    expected = np.linalg.norm(offset @ target.hessian, axis=-1)
    norm = np.maximum(np.linalg.norm(gradient(starts), axis=-1), 1e-12)
    half = chosen // 2
    order = np.concatenate(
        [np.argsort(norm, axis=-1)[..., :half], np.argsort(norm / expected, axis=-1)[..., :half]],
        axis=-1,
    )
    starts = np.take_along_axis(starts, space.expand(order), axis=axis)
    refined = distinct(rough, descend(starts, rough, steps)).position
    # Near a cut locus the gradient jumps, and a descent can end short of the mode.
    for fraction in fractions:
        best = []
        for mode in range(most):
            place = np.take(refined, mode, axis=axis)
            points, inside = around(place, fraction * support_radius, nearby)
            points = np.concatenate([np.expand_dims(place, axis), points], axis=axis)
            norm = np.linalg.norm(gradient(points), axis=-1)
            norm[..., 1:] = np.where(inside, norm[..., 1:], np.inf)
            index = np.argmin(norm, axis=-1)[..., None]
            best.append(np.take_along_axis(points, space.expand(index), axis=axis))
        refined = np.concatenate(best, axis=axis)
    ends = descend(refined, rough, steps)
    if rough is not density:
        ends = descend(ends[0], density, 3)
    return distinct(density, ends)


def _descend(space, linearise, state, centre, support_radius, steps):
    """Minimise the squared norm of the gradient (Levenberg-Marquardt), from several states."""
    gradient, matrix = linearise(state)
    norm = np.linalg.norm(gradient, axis=-1)
    damping = np.full(norm.shape, 1e-2)
    for _ in range(steps):
        square = matrix @ np.swapaxes(matrix, -1, -2)
        size = np.trace(square, axis1=-2, axis2=-1) / space.dim
        shift = (damping * size + 1e-30)[..., None, None] * np.eye(space.dim)
        step = -np.linalg.solve(square + shift, matrix @ gradient[..., None])[..., 0]
        trial = space.exp(state, space.tangent(state, step))
        inside = space.dist(centre, trial) <= support_radius[..., None]
        trial_gradient, trial_matrix = linearise(trial)
        trial_norm = np.linalg.norm(trial_gradient, axis=-1)
        accept = inside & (trial_norm < norm)
        state = np.where(space.expand(accept), trial, state)
        gradient = np.where(accept[..., None], trial_gradient, gradient)
        matrix = np.where(accept[..., None, None], trial_matrix, matrix)
        norm = np.where(accept, trial_norm, norm)
        damping = np.where(accept, 0.2 * damping, 5.0 * damping)
    return state, matrix, norm


def _distinct(space, state, matrix, log_mass, main, merge_radius, most):
    """`Modes` from the ends of a search: distinct from the main mode and one another."""
    axis = -space.point_ndim - 1
    taken = space.dist(main, state) < merge_radius[..., None]
    chosen = []
    for _ in range(most):
        log_mass = np.where(taken, -np.inf, log_mass)
        best = np.argmax(log_mass, axis=-1)[..., None]
        place = np.take_along_axis(state, space.expand(best), axis=axis)
        hessian = np.take_along_axis(matrix, best[..., None, None], axis=-3)
        chosen.append((place, hessian, np.take_along_axis(log_mass, best, axis=-1)))
        taken = space.dist(place, state) < merge_radius[..., None]
    positions, hessians, log_masses = zip(*chosen, strict=True)
    return Modes(
        np.concatenate(positions, axis=axis),
        np.concatenate(hessians, axis=-3),
        np.concatenate(log_masses, axis=-1),
    )


def _log_mass(matrix, norm, scale):
    """Logarithm of ``exp(-norm / scale) / |det matrix|`` (*batch, modes); -inf if not finite."""
    log_determinant = np.linalg.slogdet(matrix)[1]
    value = -norm / scale[..., None] - log_determinant
    return np.where(np.isfinite(value), value, -np.inf)
