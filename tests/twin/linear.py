"""Linear and quantile regression with a budget of 1 and bounds of 1 (002)."""

import numpy as np
from scipy import optimize

from .geodesic import norm, normalised

TRUTH = np.concatenate([[0], -1 + 2 * np.arange(11) / 11])
GRADIENT = 1 / 16  # eps/(8 (1 + B)) of density (1)
EXPONENTIAL = 1 / 8  # eps/(2 (1 + B)^2)
D = 12


def moments(n, rng):
    """X'X, X'y and the largest |y| of algorithm 1."""
    x = rng.uniform(-1, 1, (n, D))
    x[:, 0] = 1
    y = x @ TRUTH + rng.standard_normal(n)
    return x.T @ x, x.T @ y, np.abs(y).max()


def onto_ball(theta):
    """The nearest points of the ball |theta|_1 <= 1."""
    size = -np.sort(-np.abs(theta), -1)
    excess = (np.cumsum(size, -1) - 1) / np.arange(1, D + 1)
    count = (size > excess).sum(-1, keepdims=True) - 1
    cut = np.maximum(np.take_along_axis(excess, count, -1), 0)
    return np.sign(theta) * np.maximum(np.abs(theta) - cut, 0)


def uniform_in_ball(count, rng):
    """Uniform points of the ball |theta|_1 <= 1."""
    e = rng.exponential(size=(count, D + 1))
    return rng.choice([-1, 1], (count, D)) * e[:, :D] / e.sum(-1, keepdims=True)


def cube_noise(count, rng):
    """Draws of exp(-GRADIENT |b|_inf): a Gamma(d + 1) radius times a point of the cube."""
    return rng.gamma(D + 1, 1 / GRADIENT, (count, 1)) * rng.uniform(-1, 1, (count, D))


def objective(square, product, count, rng):
    """Objective perturbation (002, section 7.2), by accelerated projected gradients."""
    ridge = 2 * D / (np.exp(0.5) - 1)
    quadratic = 2 * square + ridge * np.eye(D)
    linear = cube_noise(count, rng) - 2 * product
    rate = 1 / np.linalg.eigvalsh(quadratic)[-1]
    theta = ahead = np.zeros((count, D))
    for _ in range(300):
        new = onto_ball(ahead - rate * (ahead @ quadratic + linear))
        theta, ahead = new, new + 0.6 * (new - theta)
    return theta


def linear_errors(square, product, largest, rng, count):
    """Mean errors by mechanism, and draws of one, with responses divided by the largest.

    Draws without the ball of coefficients are those in it that lie there; where few do, points of
    the ball are weighted with the density.
    """
    product = product / largest
    fit = np.linalg.solve(square, product)
    half = np.linalg.inv(np.linalg.cholesky(2 * EXPONENTIAL * square))
    free = {
        "kng": fit + cube_noise(count, rng) @ np.linalg.inv(square),
        "exponential": fit + rng.standard_normal((count, D)) @ half,
    }
    found = {}
    for name, theta in free.items():
        inside = np.abs(theta).sum(-1) <= 1
        weight = np.where(inside, 0.0, -np.inf)
        if inside.sum() < 1000:
            theta = uniform_in_ball(count, rng)
            g = theta @ square - product
            gradient, squares = np.abs(g).max(-1), ((g - product) * theta).sum(-1)
            weight = -GRADIENT * gradient if name == "kng" else -EXPONENTIAL * squares
        found[name] = normalised(weight) @ norm(largest * theta - TRUTH)
    drawn = objective(square, product, 200, rng)
    return {**found, "objective": norm(largest * drawn - TRUTH)}


def quantile_errors(x, y, truth, points=61):
    """Errors of median regression, and mean ones of mechanisms by quadrature."""
    largest = np.abs(y).max()

    def loss(t):
        return np.abs(y / largest - t[0] - t[1] * x).sum()

    fit, options = np.zeros(2), {"xatol": 1e-7, "fatol": 1e-10, "maxiter": 2000}
    for _ in range(3):
        fit = optimize.minimize(loss, fit, method="Nelder-Mead", options=options).x
    found = {"fit": norm(largest * fit - truth)}
    for name, width in (("kng", 150 / (len(x) * largest)), ("exponential", 14 / len(x) ** 0.5)):
        width = min(1, width)
        centre = np.clip(fit, -1 + width, 1 - width)
        theta = np.stack(np.meshgrid(*centre[:, None] + width * np.linspace(-1, 1, points)), -1)
        theta = theta.reshape(-1, 2)
        exponent = np.where(np.abs(theta).sum(-1) <= 1, 0, -np.inf)
        for i, (intercept, slope) in enumerate(theta):
            r = y / largest - intercept - slope * x
            below = (r < 0) - 0.5
            gradient = max(abs(below.sum()), abs(below @ x))
            exponent[i] -= gradient / 2 if name == "kng" else np.abs(r).sum() / 8
        found[name] = norm(largest * theta - truth) @ normalised(exponent)
    return found
