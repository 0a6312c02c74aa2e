"""Published densities for tests of exact draws, and their plans."""

from functools import cache, partial

import numpy as np
from quadrature import beside_the_fit, published_mechanism, target_in_a_ball

from geodp import SPD, Euclidean, Hyperbolic, KendallPlanarShapes, Sphere
from geodp.samplers import exact
from geodp.samplers.kernel import run

NUMBER = 8


def footpoints(space, noise_variances, budget):
    return published_mechanism(space, noise_variances, NUMBER).footpoint_target(budget)


def footpoints_in_a_ball(space, noise_variances, budget, radius, aside=0.0):
    """With the centre of the support beside the fit."""
    whole = published_mechanism(space, noise_variances, NUMBER)
    return target_in_a_ball(whole, budget, radius, aside)


def shooting_vectors(space, noise_variances, budget, distances):
    """At footpoints so far from the fit; the batch is (data sets, distances)."""
    whole = published_mechanism(space, noise_variances, NUMBER)
    places = np.stack([beside_the_fit(whole, away) for away in distances], axis=1)
    return whole.shooting_vector_target(places, budget)[0]


CIRCLE, SPHERE, PLANE, SOLID = Sphere(1), Sphere(2), Hyperbolic(2), Euclidean(3)

# One for each envelope on each kind of space and support: unbounded and bounded, about the fit and
# beside it, up to the cut locus, of one dimension and of four, of one member and of several.
TARGETS = {
    "R3": partial(footpoints, SOLID, (0.01,), 1.0),
    "R3 ball": partial(footpoints_in_a_ball, SOLID, (0.01,), 1.0, 0.2),
    "R1 ball elsewhere": partial(footpoints_in_a_ball, Euclidean(1), (0.01,), 1.0, 0.3, 3.0),
    "S1": partial(footpoints, CIRCLE, (0.01, 0.1), 1.0),
    "S1 ball": partial(footpoints_in_a_ball, CIRCLE, (0.01,), 1.0, 0.5, 0.6),
    "S2 narrow": partial(footpoints, SPHERE, (0.0001,), 10.0),
    "S2 whole, beside": partial(footpoints_in_a_ball, SPHERE, (0.01,), 0.5, np.pi, 1.5),
    "S2 vector": partial(shooting_vectors, SPHERE, (0.001, 0.1), 1.0, (0.0, 0.3)),
    "S3": partial(footpoints_in_a_ball, Sphere(3), (0.001,), 1.0, 0.5, 0.4),
    "H2": partial(footpoints, PLANE, (0.0001, 0.01), 2.0),
    "H2 ball": partial(footpoints_in_a_ball, PLANE, (0.001,), 0.2, 1.0, 0.9),
    "SPD2": partial(footpoints, SPD(2), (0.0001, 0.01), 5.0),
    "SPD2 ball": partial(footpoints_in_a_ball, SPD(2), (0.001,), 1.0, 0.5, 0.4),
    "Kendall3": partial(footpoints, KendallPlanarShapes(3), (0.001,), 1.0),
    "Kendall4": partial(footpoints_in_a_ball, KendallPlanarShapes(4), (0.00001,), 20.0, 0.15),
}


@cache
def target(name):
    return TARGETS[name]()


@cache
def planned(name, draws=1000):
    found, certified, reason = exact.plan(target(name), draws)
    assert reason is None
    assert np.all(certified)
    return found


def states_of(kernel, found, count, seed=1):
    state, accepted = run(np.random.default_rng(seed), kernel, found, count, 0)
    assert np.all(accepted == 1.0)
    return state


def distances_of(found, state):
    axis = -found.space.point_ndim - 1
    return found.space.dist(np.expand_dims(found.centre, axis), state.position)
