"""Samplers, fits and means of `benchmark`, as written with geomstats and pyRiemann."""

from functools import partial

import numpy as np
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.pre_shape import PreShapeSpace
from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDMatrices
from geomstats.learning.frechet_mean import FrechetMean
from geomstats.learning.geodesic_regression import GeodesicRegression
from geomstats.numerics.optimization import ScipyMinimize
from pyriemann.geometry.mean import mean_riemann

from geodp import SPD, Sphere
from geodp.manifolds.symmetric import jacobi_factors
from geodp.randomness import random_directions


def geomstats_space(manifold):
    """The same space in geomstats, equipped with its metric."""
    if isinstance(manifold, Sphere):
        return Hypersphere(manifold.dim)
    if isinstance(manifold, SPD):
        space = SPDMatrices(manifold.size, equip=False)
        space.equip_with_metric(SPDAffineMetric)
        return space
    preshapes = PreShapeSpace(manifold.landmarks, 2)
    preshapes.equip_with_group_action("rotations")
    preshapes.equip_with_quotient()
    return preshapes.quotient


def to_geomstats(array):
    """Landmarks as pairs of numbers; anything else as it is."""
    return np.stack([array.real, array.imag], axis=-1) if np.iscomplexobj(array) else array


def from_geomstats(manifold, array):
    """Undo `to_geomstats`."""
    return array[..., 0] + 1j * array[..., 1] if manifold.dtype is complex else array


def log_density(mechanism, budget):
    """Log density of the footpoint of one data set, a function of a point of geomstats.

    It is ``-|grad_p E(p, transported v_hat)| / scale``, vectorised over records.  The eigenspaces
    of the curvature, which geomstats does not have, are the library's.
    """
    manifold, found, support = mechanism.manifold, mechanism.fit, mechanism.support
    metric = geomstats_space(manifold).metric
    x, points = mechanism.covariates[0, :, 0], to_geomstats(mechanism.points[0])
    footpoint, vector = to_geomstats(found.footpoint[0]), to_geomstats(found.shooting_vector[0])
    scale = mechanism.sensitivity.blocks["footpoint"][0] / budget

    def transported(vectors, start, directions):
        if manifold.dtype is complex:
            # `parallel_transport` of shapes integrates; a pole ladder is exact, and faster.
            ladder = metric.ladder_parallel_transport(vectors, start, directions)
            return np.reshape(ladder["transported_tangent_vec"], np.shape(vectors))
        carried = metric.parallel_transport(vectors, start, direction=directions)
        return np.reshape(carried, np.shape(vectors))

    def value(point):
        if support.footpoint_centre is not None:
            centre = to_geomstats(support.footpoint_centre[0])
            if np.squeeze(metric.dist(centre, point)) > support.footpoint_radius[0]:
                return -np.inf
        direction = np.reshape(metric.log(point, footpoint), footpoint.shape)
        # Of shapes, the representative of the point that transport ends at.
        point = np.reshape(metric.exp(direction, footpoint), direction.shape)
        velocity = transported(vector, footpoint, direction)
        predictions = metric.exp(np.einsum("n,...->n...", x, velocity), point)
        residuals = metric.log(points, predictions)
        back = transported(residuals, predictions, metric.log(point, predictions))
        p, v, back = (from_geomstats(manifold, each) for each in (point, velocity, back))
        factors = jacobi_factors(manifold, manifold.frequencies(p, v), x)["point"]
        weights = [factor + np.zeros(len(x)) for factor in factors]
        total = np.einsum("kn,nk...->...", weights, manifold.split(p[None], v[None], back))
        return -np.squeeze(metric.norm(to_geomstats(total / len(x)), point)) / scale

    return value


def walk(rng, mechanism, budget, radius):
    """Yield point, log density and acceptance of a chain from the fit, as of `RandomWalk`."""
    manifold, density = mechanism.manifold, log_density(mechanism, budget)
    metric = geomstats_space(manifold).metric
    point = to_geomstats(mechanism.fit.footpoint[0])
    value = density(point)
    while True:
        direction = random_directions(rng, (manifold.dim,))
        length = min(radius, manifold.injectivity_radius) * rng.random() ** (1.0 / manifold.dim)
        vector = manifold.tangent(from_geomstats(manifold, point), length * direction)
        proposed = np.reshape(metric.exp(to_geomstats(vector), point), point.shape)
        proposed_value = density(proposed)
        accepted = np.log(rng.random()) < proposed_value - value
        if accepted:
            point, value = proposed, proposed_value
        yield from_geomstats(manifold, point), value, accepted


def geodesic(manifold, covariates, points, options):
    """Point at the mean covariate and shooting vector, from a line in the mean's tangent space."""
    space, points = geomstats_space(manifold), to_geomstats(points)
    mean = FrechetMean(space).fit(points).estimate_
    centred = covariates - np.mean(covariates)
    slope = np.tensordot(centred, space.metric.log(points, mean), 1) / np.sum(centred**2)
    regression = GeodesicRegression(space, method="extrinsic", initialization=(mean, slope))
    regression.optimizer = ScipyMinimize(**options)
    regression.fit(covariates, points)
    p, v = (from_geomstats(manifold, each) for each in (regression.intercept_, regression.coef_))
    # On shapes the slope may have a part along the rotations, which moves no shape.
    return p, manifold.project_tangent(p, v)


def means(manifold, points, tolerance):
    """By name, functions that find the mean, to a gradient of a length."""
    # To the end, which its own settings are far from; steps by their squared length.
    estimator = FrechetMean(geomstats_space(manifold)).set(epsilon=tolerance**2, max_iter=200)
    found = {"geomstats": lambda: estimator.fit(points).estimate_}
    if isinstance(manifold, SPD):
        found["pyRiemann"] = partial(mean_riemann, points, tol=tolerance, maxiter=200)
    return found
