"""Searches for the worst places of polar cells; see `test_gradient_bounds`."""

import numpy as np
from quadrature import footpoint_density, shooting_vector_density

from geodp import SPD, Euclidean, Hyperbolic, KendallPlanarShapes, Sphere
from geodp.randomness import random_directions

KINDS = {"R": (Euclidean, 2), "S": (Sphere, 1, 2, 3), "H": (Hyperbolic, 1, 2, 3)}
KINDS |= {"SPD": (SPD, 1, 2, 3), "Kendall": (KendallPlanarShapes, 3, 5)}
SPACES = {f"{each}{size}": kind(size) for each, (kind, *sizes) in KINDS.items() for size in sizes}

# Configurations of a search, and random moves in each.
TRIALS = 300
MOVES = 6

# Longest covariate and shooting vector, and farthest record of a space without a cut locus.
COVARIATE = 1.5
VECTOR = 1.2
FARTHEST = 2.5

# Step of central differences, and what they are off by.
STEP = 1e-5
DIFFERENCES = 1e-6


def units_across(rng, unit):
    """Unit vectors orthogonal to given ones; zero on a line."""
    across = rng.standard_normal(unit.shape)
    across -= np.sum(across * unit, axis=-1, keepdims=True) * unit
    size = np.linalg.norm(across, axis=-1, keepdims=True)
    return across / np.where(size > 1e-9, size, 1.0) * (size > 1e-9)


def end_of_cut(space):
    return min(space.injectivity_radius, FARTHEST)


def arc_stretch(space, rng):
    """Length of short arcs about points, over the angle they are seen in."""
    pole = space.random_point(rng, (TRIALS,))
    distance = end_of_cut(space) * rng.random(TRIALS)
    frame = space.frame(pole)
    unit = random_directions(rng, (TRIALS, space.dim))
    across = units_across(rng, unit)
    one, other = (
        space.exp(pole, space.vector(frame, distance[:, None] * (unit + sign * STEP * across)))
        for sign in (1.0, -1.0)
    )
    speed = space.dist(one, other) / (2.0 * STEP)
    claimed = space.arc_stretch(pole, space.vector(frame, unit), distance)
    return speed / (claimed + DIFFERENCES), distance > 0.5


def cells(space, rng, reach):
    """Polar cells: their direction, least and greatest distance and angle; and places in them."""
    unit = random_directions(rng, (TRIALS, space.dim))
    wide = 10.0 ** rng.uniform(-3.0, 0.0, (2, TRIALS))
    low = reach * rng.random(TRIALS)
    # At the cut locus itself the vector that is carried there is not defined.
    high = np.minimum(low + wide[0], reach * (1.0 - 1e-9))
    angle = wide[1] * (space.dim > 1)
    shape = (TRIALS, 12)
    length = low[:, None] + (high - low)[:, None] * rng.choice([0.0, 0.3, 0.5, 0.8, 1.0], shape)
    # Many directions are at the very limit.
    away = np.minimum(1.0, 1.5 * rng.random(shape)) * angle[:, None]
    across = units_across(rng, np.broadcast_to(unit[:, None], (*shape, space.dim)))
    turned = np.cos(away)[..., None] * unit[:, None] + np.sin(away)[..., None] * across
    places = turned / np.linalg.norm(turned, axis=-1, keepdims=True)
    return unit, low, high, angle, length[..., None] * places


def exp_volume_range(space, rng):
    pole = space.random_point(rng, (TRIALS,))
    frame = space.frame(pole)
    unit, low, high, angle, places = cells(space, rng, end_of_cut(space))
    volume = space.exp_volume(pole[:, None], space.vector(frame[:, None], places))
    direction = space.vector(frame, unit)
    least, greatest = space.exp_volume_range(pole, direction, low, high, angle)
    # Near the cut locus the volume is nothing but the rounding of its place.
    slack = 1e-9
    least, greatest = least[:, None], greatest[:, None]
    found = np.stack([least / (volume + slack), volume / (greatest + slack)])
    return found, ((high - low < 0.1) & (angle < 0.1))[:, None]


def pairs_of_records(space, rng, footpoints, vectors):
    """Two records about each geodesic, of which most have gradients that cancel, as at a mode.

    Then a change of the gradient is one of its length, which is all that a density shows of it.
    """
    covariates = np.repeat(COVARIATE * rng.uniform(-1.0, 1.0, (TRIALS, 1)), 2, axis=1)
    predictions = space.exp(footpoints, space.expand(covariates[:, 0]) * vectors)
    away = 0.95 * end_of_cut(space) * rng.random(TRIALS)
    residuals = space.expand(away) * space.random_direction(rng, predictions)
    points = np.stack([space.exp(predictions, sign * residuals) for sign in (1.0, -1.0)], axis=1)
    points[::8, 1] = points[::8, 0]
    return covariates, points, np.ones(TRIALS)


def extremes(states, rng, pole, reach, density_at):
    """Log densities at places in polar cells, against their lower bounds there."""
    unit, low, high, angle, places = cells(states, rng, reach)
    frame = states.frame(pole)
    direction = states.vector(frame, unit)
    middle = 0.5 * (low + high)
    state = states.exp(pole, states.expand(middle) * direction)
    radii = 0.5 * (high - low) + angle * states.arc_stretch(pole, direction, middle)
    made = density_at(state)
    lower, upper = made.extremes(state[:, None], radii[:, None], angle[:, None], pole[:, None])
    found = made.log_density(states.exp(pole[:, None], states.vector(frame[:, None], places)))
    # Where gradients do not vanish the bound from above says something, too.
    assert np.all(found <= upper)
    assert np.mean(upper < -0.1) > 0.02
    return found / lower, (radii < 0.05)[:, None]


def footpoint_extremes(space, rng, aside=False):
    """Cells about where the shooting vector was fitted, or about a point elsewhere."""
    fitted = space.random_point(rng, (TRIALS,))
    lengths = VECTOR * rng.random(TRIALS)
    vectors = space.expand(lengths) * space.random_direction(rng, fitted)
    pole = fitted
    if aside:
        away = 0.5 * end_of_cut(space) * rng.random(TRIALS)
        pole = space.exp(fitted, space.expand(away) * space.random_direction(rng, fitted))

    def density_at(state):
        carried = space.transport_to(fitted, state, vectors)
        data = pairs_of_records(space, rng, state, carried)
        return footpoint_density(space, *data, fitted, vectors)

    return extremes(space, rng, pole, end_of_cut(space), density_at)


def shooting_vector_extremes(space, rng):
    footpoints = space.random_point(rng, (TRIALS,))
    frames = space.frame(footpoints)

    def density_at(state):
        data = pairs_of_records(space, rng, footpoints, space.vector(frames, state))
        return shooting_vector_density(space, *data, footpoints, frames)

    flat, pole = Euclidean(space.dim), np.zeros((TRIALS, space.dim))
    return extremes(flat, rng, pole, VECTOR, density_at)
