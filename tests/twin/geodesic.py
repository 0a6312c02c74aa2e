"""Geodesic regression and its private release by the K-norm gradient mechanism (001)."""

import numpy as np
from scipy import stats

from . import spd, sphere

ARC = np.pi / 5  # length of the simulated geodesic on the sphere; the paper leaves it open
DATA_RADIUS = 1.0  # tau_m on SPD(2)
END = 0.9999 * np.pi  # transport has no meaning between opposite points
NOISE = {sphere: 0.001, spd: 0.0001}


def norm(g):
    return np.linalg.norm(g, axis=-1)


def distance(manifold, p, q):
    return norm(manifold.log(p, q))


def simulate(manifold, n, rng):
    """001, section 4.1, ambient noise put back on the sphere, and appendix F, tangent noise."""
    x = np.linspace(0, 1, n)
    deviation = np.sqrt(NOISE[manifold])
    if manifold is sphere:
        p, v = (z / norm(z) for z in (rng.standard_normal(3), rng.standard_normal(2)))
        y = sphere.exp(p, ARC * x[:, None] * v) + deviation * rng.standard_normal((n, 3))
        return x, y / norm(y)[:, None]
    z = rng.standard_normal((2, 3))
    radii = 0.9 * rng.random(2) ** (1 / 3)  # uniform in a flat ball; 001 says "random" alone
    p, q = spd.exp(np.eye(2), (radii / norm(z))[:, None] * z)
    clean = spd.exp(p, x[:, None] * spd.log(p, q))
    return x, spd.exp(clean, deviation * rng.standard_normal((n, 3)))


def residuals(manifold, p, v, x, y):
    """Log(Exp(p, x v), y) carried back to p."""
    p = np.expand_dims(p, v.ndim - 1)
    q = manifold.exp(p, x[:, None] * v[..., None, :])
    return manifold.transport(q, p, manifold.log(q, y))


def gradients(manifold, v, x, e):
    """Gradients of the energy by footpoint and shooting vector (001, equations 5 and 6).

    Residuals along the last direction of the frame are multiplied with Jacobi fields.
    """
    frame, bend = manifold.frame(v)
    t = x * np.emath.sqrt(bend)[..., None]
    e = e @ np.swapaxes(frame, -1, -2)
    found = []
    for weight, field in ((1, np.cos(t)), (x[:, None], np.sinc(t / np.pi))):
        one = weight * e
        one[..., -1] *= field.real
        found.append(-(one.mean(-2)[..., None, :] @ frame)[..., 0, :])
    return found


def fit(manifold, x, y):
    """Least squares (001, equation 4), by steps of Newton with the flat space's Hessian."""
    p, v = y[0], manifold.log(y[0], y[-1])
    hessian = np.array([[1, x.mean()], [x.mean(), (x**2).mean()]])
    for _ in range(60):
        found = gradients(manifold, v, x, residuals(manifold, p, v, x, y))
        step = np.linalg.solve(hessian, np.stack(found))
        q = manifold.exp(p, -step[0])
        p, v = q, manifold.transport(p, q, v - step[1])
        if np.abs(step).max() < 1e-11:
            break
    return p, v


def sensitivities(manifold, tau, n):
    """001, theorem 3.3 and equation 20, with curvature at least 0 and -1/2."""
    if manifold is sphere:
        return np.array([2 * tau / n, 2 * tau / n])
    a = (DATA_RADIUS + tau) / np.sqrt(2)
    return np.array([2 * tau / n * np.cosh(2 * a), tau / n * np.sinh(2 * a) / a])


def neighbour_ratios(manifold, x, y):
    """Ratios of 001, appendix G: theorem 3.3, equation 20, and theorem D.1 as printed.

    n + 1 records without the first and without the last; gradients at the fit of the former.
    """
    p, v = fit(manifold, x[1:], y[1:])
    e = residuals(manifold, p, v, x, y)
    tau, n = norm(e).max(), len(x) - 1
    a, b = (gradients(manifold, v, x[side], e[side]) for side in (slice(1, None), slice(-1)))
    realised = np.array([norm(a[0] - b[0]), norm(a[1] - b[1])])
    printed = 2 * tau / n * np.sinh(tau / np.sqrt(2)) * np.sqrt(2)
    return [*(sensitivities(manifold, tau, n) / realised), printed / realised[1]]


def spread(dimension, count=2048):
    """Directions and uniform numbers, evenly spread."""
    found = stats.qmc.Sobol(dimension + 1, seed=1).random(count)
    z = stats.norm.ppf(found[:, 1:])
    return z / norm(z)[:, None], found[:, 0]


def polar(manifold, scale, end):
    """Tangent vectors, nodes of a quadrature that are denser within the scale, and log weights."""
    directions, share = spread(manifold.DIMENSION)
    growth = end / (0.01 * scale)
    r = 0.01 * scale * growth**share
    return r[:, None] * directions, manifold.DIMENSION * np.log(r) + np.log(np.log(growth))


def volume_nodes(manifold, centre, scale, end):
    """The same as points about a centre, weighted by volume."""
    u, weight = polar(manifold, scale, end)
    return manifold.exp(centre, u), weight + np.log(np.maximum(manifold.volume(u), 1e-300))


def normalised(log_weight):
    w = np.exp(log_weight - log_weight.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


class Release:
    """The mechanism of 001 for one data set: scale Delta/eps, tau read off the data.

    Footpoints lie anywhere on the sphere, and |v| <= pi there; on SPD(2) within tau_m + tau of the
    identity, and |v| <= 2 (tau_m + tau) (appendix C).
    """

    def __init__(self, manifold, x, y):
        self.manifold, self.x, self.y = manifold, x, y
        self.p, self.v = fit(manifold, x, y)
        self.tau = norm(residuals(manifold, self.p, self.v, x, y)).max()
        self.delta = sensitivities(manifold, self.tau, len(x))
        self.longest = np.pi if manifold is sphere else 2 * (DATA_RADIUS + self.tau)

    def footpoint_nodes(self, scale):
        """Quadrature nodes over footpoints, and logs of weights by volume."""
        if self.manifold is spd:
            p, weight = volume_nodes(spd, self.p, scale, self.longest)
            return p, np.where(distance(spd, np.eye(2), p) <= self.longest / 2, weight, -np.inf)
        # Gradients vanish opposite the data as well: a second set of nodes for that half.
        p, weight = volume_nodes(sphere, self.p, scale, END)
        q, other = volume_nodes(sphere, -sphere.exp(self.p, self.v / 2), 1.0, END)
        weight = np.where(p @ self.p > 0, weight, -np.inf)
        other = np.where(q @ self.p > 0, -np.inf, other)
        return np.concatenate([p, q]), np.concatenate([weight, other])

    def footpoints(self, budget):
        """Footpoints, transported vectors and probabilities (001, appendix A)."""
        sigma = self.delta[0] / budget
        p, weight = self.footpoint_nodes(sigma)
        v = self.manifold.transport(self.p, p, self.v)
        e = residuals(self.manifold, p, v, self.x, self.y)
        g = gradients(self.manifold, v, self.x, e)[0]
        return p, v, normalised(weight - norm(g) / sigma)

    def vectors(self, p, v, budget):
        """Shooting vectors at a footpoint, their probabilities and lengths of residuals."""
        m, sigma = self.manifold, self.delta[1] / budget
        second = (self.x**2).mean()
        for _ in range(8):
            e = residuals(m, p, v, self.x, self.y)
            v = v - gradients(m, v, self.x, e)[1] / second
            v *= min(1, self.longest / norm(v))
        u, weight = polar(m, sigma / second, 2 * self.longest)
        w = v + u
        p = np.broadcast_to(p, (len(w), *p.shape))
        e = residuals(m, p, w, self.x, self.y)
        weight = weight - norm(gradients(m, w, self.x, e)[1]) / sigma
        return w, normalised(np.where(norm(w) <= self.longest, weight, -np.inf)), norm(e)

    def expectations(self, budgets, rng, count=30):
        """A release's mean distance of footpoints to the fit, by quadrature; and for drawn ones
        the means of the vector's distance, of ln mean squared error and of absolute error."""
        p, v, chance = self.footpoints(budgets[0])
        found = []
        for i in rng.choice(len(p), count, p=chance):
            w, weight, e = self.vectors(p[i], v[i], budgets[1])
            found.append(
                weight @ np.stack([norm(w - v[i]), np.log((e**2).mean(-1)), e.mean(-1)], -1)
            )
        return distance(self.manifold, self.p, p) @ chance, *np.transpose(found)


def footpoint_loss(x, y, other, budget, place):
    """Difference of log densities of a footpoint, for data sets with responses y and other.

    With one tau, the larger, and one shooting vector, the first's, as in the proofs of 001.
    """
    first, second = Release(sphere, x, y), Release(sphere, x, other)
    sigma = 2 * max(first.tau, second.tau) / len(x) / budget
    p, weight = first.footpoint_nodes(sigma)
    p = np.concatenate([p, place[None]])
    v = sphere.transport(first.p, p, first.v)
    logs = []
    for data in (y, other):
        e = residuals(sphere, p, v, x, data)
        exponent = -norm(gradients(sphere, v, x, e)[0]) / sigma
        logs.append(exponent[-1] - np.log(np.exp(exponent[:-1] + weight).sum()))
    return abs(logs[0] - logs[1])
