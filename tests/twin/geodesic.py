"""Geodesic regression and its private release by the K-norm gradient mechanism (001)."""

from functools import lru_cache

import numpy as np

from . import spd, sphere

ARC = np.pi / 5  # length of the simulated geodesic on the sphere; the paper leaves it open
DATA_RADIUS = 1.0  # tau_m on SPD(2)
END = 0.9999 * np.pi  # transport has no meaning between opposite points


def simulate_sphere(n, variance, rng):
    """001, section 4.1: points of a geodesic, with ambient noise, put back on the sphere."""
    x, p = np.linspace(0, 1, n), sphere.uniform(rng)
    angle = rng.uniform(0, 2 * np.pi)
    v = ARC * np.array([np.cos(angle), np.sin(angle)])
    y = sphere.exp(p, x[:, None] * v) + np.sqrt(variance) * rng.standard_normal((n, 3))
    return x, y / np.linalg.norm(y, axis=1, keepdims=True)


def simulate_spd(n, variance, rng):
    """001, appendix F: the geodesic between two random matrices, with tangent noise."""
    x = np.linspace(0, 1, n)
    p, q = (spd.uniform_in_ball(0.9, rng) for _ in range(2))
    clean = spd.exp(p, x[:, None] * spd.log(p, q))
    return x, spd.exp(clean, np.sqrt(variance) * rng.standard_normal((n, 3)))


SIMULATE = {sphere: simulate_sphere, spd: simulate_spd}
NOISE = {sphere: 0.001, spd: 0.0001}


def gradients(manifold, p, v, x, y):
    """Gradients of the energy by footpoint and shooting vector (001, equations 5 and 6), and MSE.

    In the frame of `residuals`. The last component is the one across the geodesic.
    """
    e, footpoint_factor, vector_factor = manifold.residuals(p, v, x, y)
    by_p, by_v = e.copy(), x[:, None] * e
    by_p[..., -1] *= footpoint_factor
    by_v[..., -1] *= vector_factor
    return -by_p.mean(-2), -by_v.mean(-2), (e**2).sum(-1).mean(-1)


def fit(manifold, x, y):
    """Least squares (001, equation 4), by steps of Newton with the flat space's Hessian."""
    first, last = x.argmin(), x.argmax()
    p, v = y[first], manifold.log(y[first], y[last])
    hessian = np.array([[1, x.mean()], [x.mean(), (x**2).mean()]])
    for _ in range(60):
        g = np.stack([manifold.from_frame(v, g) for g in gradients(manifold, p, v, x, y)[:2]])
        step = np.linalg.solve(hessian, g)
        q = manifold.exp(p, -step[0])
        p, v = q, manifold.transport(p, q, v - step[1])
        if np.abs(step).max() < 1e-11:
            break
    return p, v


def largest_residual(manifold, p, v, x, y):
    """tau of 001, section 5: the largest residual of the fit."""
    return float(np.linalg.norm(manifold.residuals(p, v, x, y)[0], axis=-1).max())


def sensitivities(manifold, tau, n):
    """001, theorem 3.3 and equation 20, with curvature at least 0 and -1/2."""
    if manifold is sphere:
        return 2 * tau / n, 2 * tau / n
    a = (DATA_RADIUS + tau) / np.sqrt(2)
    return 2 * tau / n * np.cosh(2 * a), tau / n * np.sinh(2 * a) / a


def directions(dimension, count):
    i = np.arange(count)
    if dimension == 2:
        return np.stack([np.cos(2 * np.pi * i / count), np.sin(2 * np.pi * i / count)], -1)
    z, angle = 1 - (2 * i + 1) / count, i * np.pi * (3 - np.sqrt(5))
    s = np.sqrt(1 - z**2)
    return np.stack([s * np.cos(angle), s * np.sin(angle), z], -1)


def polar(dimension, scale, end, radii=28, count=None):
    """Nodes of a quadrature about 0 with radii in a geometric series, and logs of weights."""
    count = count or (16 if dimension == 2 else 26)
    r = np.geomspace(0.01 * scale, end, radii)
    u = r[:, None, None] * directions(dimension, count)
    weight = dimension * np.log(r) + np.log(np.log(r[1] / r[0]) / count)
    return u.reshape(-1, dimension), np.repeat(weight, count)


class Release:
    """The mechanism of 001 for one data set: scale Delta/eps, tau read off the data.

    Footpoints lie anywhere on the sphere, and |v| <= pi there; on SPD(2) within tau_m + tau of the
    identity, and |v| <= 2 (tau_m + tau) (appendix C).
    """

    def __init__(self, manifold, x, y):
        self.manifold, self.x, self.y = manifold, x, y
        self.p, self.v = fit(manifold, x, y)
        self.mse = gradients(manifold, self.p, self.v, x, y)[2]
        self.tau = largest_residual(manifold, self.p, self.v, x, y)
        self.delta = sensitivities(manifold, self.tau, len(x))
        self.longest = np.pi if manifold is sphere else 2 * (DATA_RADIUS + self.tau)

    def footpoint_nodes(self, scale):
        """Quadrature nodes over footpoints, and logs of weights by volume."""
        m, end = self.manifold, END if self.manifold is sphere else self.longest
        u, weight = polar(m.DIMENSION, scale, end)
        p, weight = m.exp(self.p, u), weight + np.log(np.maximum(m.volume(u), 1e-300))
        if m is spd:
            return p, np.where(spd.distance(np.eye(2), p) <= self.longest / 2, weight, -np.inf)
        # Gradients vanish opposite the data as well: a second set of nodes for that half.
        u, other = polar(2, 1.0, END, 40, 32)
        q = sphere.exp(-sphere.exp(self.p, self.v / 2), u)
        other = other + np.log(sphere.volume(u) + 1e-300)
        weight = np.where(p @ self.p > 0, weight, -np.inf)
        other = np.where(q @ self.p > 0, -np.inf, other)
        return np.concatenate([p, q]), np.concatenate([weight, other])

    def footpoints(self, budget):
        """Footpoints, transported vectors and probabilities (001, appendix A)."""
        sigma = self.delta[0] / budget
        p, weight = self.footpoint_nodes(sigma)
        v = self.manifold.transport(self.p, p, self.v)
        g = gradients(self.manifold, p, v, self.x, self.y)[0]
        return p, v, normalised(weight - np.linalg.norm(g, axis=-1) / sigma)

    def vectors(self, p, v, budget):
        """Shooting vectors at each footpoint, their probabilities and mean squared errors."""
        m, sigma = self.manifold, self.delta[1] / budget
        second = (self.x**2).mean()
        centre = v
        for _ in range(8):
            g = gradients(m, p, centre, self.x, self.y)[1]
            centre = shorten(centre - m.from_frame(centre, g) / second, self.longest)
        u, weight = polar(
            m.DIMENSION,
            sigma / second,
            2 * self.longest,
            48 if m is sphere else 20,
            8 * m.DIMENSION - 4,
        )
        w = centre[:, None] + u
        _, g, mse = gradients(m, p[:, None], w, self.x, self.y)
        weight = weight - np.linalg.norm(g, axis=-1) / sigma
        return w, normalised(np.where(norm(w) <= self.longest, weight, -np.inf)), mse

    def errors(self, budgets, rng, footpoints=24, vectors=12):
        """Mean squared errors of draws: footpoints by rows, their vectors in columns."""
        p, v, chance = self.footpoints(budgets[0])
        i = systematic(chance, footpoints, rng)
        _, chance, mse = self.vectors(p[i], v[i], budgets[1])
        return np.stack([m[systematic(c, vectors, rng)] for c, m in zip(chance, mse, strict=True)])


def norm(u):
    return np.linalg.norm(u, axis=-1)


def shorten(v, longest):
    return v * np.minimum(1, longest / np.maximum(norm(v), 1e-300))[..., None]


def normalised(log_weight):
    w = np.exp(log_weight - log_weight.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


def systematic(chance, count, rng):
    """Indices of draws with one uniform number for all, spread over the distribution."""
    u = (np.arange(count) + rng.random()) / count
    return np.minimum(np.searchsorted(np.cumsum(chance), u), len(chance) - 1)


def log_average(errors, rng, repetitions=200):
    """Mean of ln of the average of 10 footpoints with 10 vectors each (001, section 4)."""
    logs = []
    for _ in range(repetitions):
        rows = rng.integers(len(errors), size=(10, 1))
        logs.append(np.log(errors[rows, rng.integers(errors.shape[1], size=(10, 10))].mean()))
    return np.mean(logs)


@lru_cache
def curves(manifold, n, budgets, data_sets=5):
    """Per data set: ln of the released error for each pair of budgets, and ln of the fit's."""
    rng = np.random.default_rng([1, n])
    rows, fits = [], []
    for _ in range(data_sets):
        data = SIMULATE[manifold](n, NOISE[manifold], rng)
        release = Release(manifold, *data)
        rows.append([log_average(release.errors(pair, rng), rng) for pair in budgets])
        fits.append(np.log(release.mse))
    return np.array(rows), np.array(fits)
