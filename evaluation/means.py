"""Errors of private means on the sphere S^2: of releases, and with noise by heat diffusion.

Such noise (Chang, Jiang, Mostajeran and Hu 2026, arXiv 2604.20761) is a Brownian motion from the
Frechet mean.  Its guarantee relies on records within a public ball; that of a release does not.
"""

import numpy as np
import pandas as pd

import script
from geodp import Assumptions, GeodesicModel, PrivacyBudget, Sphere, plan_release
from geodp.models.sensitivity import mean_sensitivity
from geodp.randomness import random_stream


def diffuse(rng, manifold, points, sensitivity, rho, steps=200):
    """Brownian motions from points, for as long as rho asks for where Ricci curvatures are one.

    By Wang's Harnack inequality heat kernels of a time t that start a distance d apart have Renyi
    divergences of at most ``alpha d^2 / (2 (exp(2 t) - 1))``, below ``alpha d^2 / (4 t)`` of
    curvatures from zero.
    """
    time = 0.5 * np.log1p(sensitivity**2 / (2.0 * rho))
    for _ in range(steps):
        step = np.sqrt(2.0 * time / steps) * manifold.random_tangent(rng, points)
        points = manifold.exp(points, step)
    return points


def records_about(rng, manifold, truths, scatter, farthest, n):
    """Normal records (data_sets, n, 3) about means on the sphere, those farther away redrawn."""
    start = np.broadcast_to(truths[:, None], (len(truths), n, 3))
    nearer = -np.expm1(-0.5 * (farthest / scatter) ** 2)
    lengths = scatter * np.sqrt(-2.0 * np.log1p(-nearer * rng.random(start.shape[:2])))
    return manifold.exp(start, lengths[..., None] * manifold.random_direction(rng, start))


def measure(cell, releases, work, seed):
    """Table of one row: root mean squared errors in a cell of radius, scatter, n and rho."""
    radius, scatter, n, rho = cell
    sphere, model = Sphere(2), GeodesicModel(Sphere(2), 0)
    centres = np.tile([0.0, 0.0, 1.0], (releases, 1))
    known = Assumptions(sphere, centres[0], footpoint_radius=radius, subjects=n)
    plan = plan_release(known, PrivacyBudget(rho=str(rho), delta="1e-6"), work=work)
    rng = random_stream(seed, "means", *map(str, cell))
    # Away from the centre, with all records in the ball and their population's mean there.
    truths = sphere.exp(centres, radius / 3.0 * sphere.random_direction(rng, centres))
    points = records_about(rng, sphere, truths, scatter, radius * 2.0 / 3.0, n)
    x = np.zeros((releases, n, 0))
    fits = model.fit(x, points).footpoint
    ours = [script.release(plan, x[0], each, rng).footpoint for each in points]
    heat = diffuse(rng, sphere, fits, mean_sensitivity(model, n, radius), rho)
    squares = sphere.dist(np.stack([ours, heat, fits])[:, None], [truths, fits]) ** 2
    [ours, noise], [heat, heat_noise], [fit, _] = np.sqrt(np.mean(squares, axis=-1))
    row = {"radius": radius, "scatter": scatter, "n": n, "rho": rho, "release": ours}
    row |= {"heat diffusion": heat, "no privacy": fit, "ratio": ours / heat}
    return pd.DataFrame([row | {"ratio of noise": noise / heat_noise}])


def summarise(table, most):
    """The table of the page; ``most`` is the aim at the ratio, which sampling may exceed alone."""
    beyond = table["no privacy"] > most * table["heat diffusion"]
    met = np.select([table["ratio"] <= most, beyond], ["yes", "out of reach"], "**no**")
    return {"means": table.assign(n=table["n"].map("{:,}".format), met=met)}, None
