"""Private Frechet means on SPD(2) and the sphere (003 and 004)."""

import numpy as np
from scipy import stats

from . import spd, sphere
from .geodesic import END, distance, norm, normalised, spread, volume_nodes

RADIUS = {spd: 1.5, sphere: np.pi / 8}
CENTRE = {spd: np.eye(2), sphere: np.array([0.0, 0, 1])}
AMBIENT_RADIUS = {spd: np.exp(1.5) - 1, sphere: 2 * np.sin(np.pi / 16)}


def sample(manifold, n, rng):
    """003, A.2.1 (Wishart with 2 degrees of freedom and scale I/2, in the ball) and A.3.1."""
    if manifold is sphere:
        angle, turn = rng.uniform(0, np.pi / 8, n), rng.uniform(0, 2 * np.pi, n)
        s = np.sin(angle)
        return np.stack([s * np.cos(turn), s * np.sin(turn), np.cos(angle)], -1)
    z = rng.standard_normal((30 * n + 300, 2, 2)) / np.sqrt(2)
    m = z @ spd.swap(z)
    m = m[np.linalg.det(m) > 1e-6]  # all that is nearer than 1.5 has a larger one
    return m[distance(spd, np.eye(2), m) < RADIUS[spd]][:n]


def mean(manifold, y):
    """003, A.1, with whole steps."""
    m = y[0]
    for _ in range(100):
        step = manifold.log(m, y).mean(0)
        m = manifold.exp(m, step)
        if norm(step) < 1e-11:
            break
    return m


def h(manifold):
    """003, theorem 2."""
    r = RADIUS[manifold]
    return 2 * r / np.tan(2 * r) if manifold is sphere else 1.0


def bound(manifold, n):
    """003, theorem 2."""
    return 2 * RADIUS[manifold] * (2 - h(manifold)) / (n * h(manifold))


def largest_change():
    """003, B.1: the largest difference of logarithms of three points of the ball's edge."""
    edge = sphere.exp(CENTRE[sphere], RADIUS[sphere] * spread(2)[0])
    logs = sphere.log(edge[0], edge[1:])
    return norm(logs[:, None] - logs).max()


def laplace_scale(manifold, n):
    """Delta/eps with the sensitivity of B.1 over n h on the sphere, and 2 Delta/eps on SPD(2)."""
    if manifold is sphere:
        return largest_change() / h(sphere) / n
    return 2 * bound(spd, n)


def ambient(m):
    """Coordinates of the ambient space: those of half the matrix for SPD(2)."""
    return m if m.shape[-1] == 3 else np.stack([m[..., 0, 0], m[..., 0, 1], m[..., 1, 1]], -1)


def laplace_error(manifold, m, scale):
    """Mean ambient distance to m of the Laplace distribution (003, definition 3) about it."""
    x, weight = volume_nodes(manifold, m, scale, 30 * scale)
    d = distance(manifold, m, x)
    weight = np.where(d < 3.1, weight, -np.inf) if manifold is sphere else weight
    return norm(ambient(x) - ambient(m)) @ normalised(weight - d / scale)


def ambient_scale(manifold, n):
    """003, A.2.2 and A.3.2: the mean error is D times it."""
    return 2 * AMBIENT_RADIUS[manifold] / n


def share_outside(m, n):
    """Share of ambient draws that are not positive definite (003, 5.1)."""
    directions, share = spread(3)
    radii = ambient_scale(spd, n) * stats.gamma.ppf(share, 3)
    a, b, c = (ambient(m) + radii[:, None] * directions).T
    return 1 - ((a > 0) & (a * c > b * b)).mean()


def kng_scale(n):
    """004, section 2.4.2: Delta/eps."""
    return np.pi / 4 * (2 - h(sphere)) / n


def kng_nodes(y, radius):
    """Nodes over a ball about the pole, close to the mean, and logs of weights."""
    x, weight = volume_nodes(sphere, mean(sphere, y), kng_scale(len(y)), END)
    return x, np.where(x @ CENTRE[sphere] > np.cos(radius), weight, -np.inf)


def kng_log_density(y, x, weight):
    """Log density of KNG (004, section 2.4), normalised over nodes."""
    exponent = -norm(sphere.log(x[:, None], y[None]).mean(1)) / kng_scale(len(y))
    return exponent - np.log(np.exp(exponent + weight).sum())
