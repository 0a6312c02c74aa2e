"""Sentences of 002: linear and quantile regression with a budget of 1 and bounds of 1."""

from functools import lru_cache

import numpy as np
from scipy import optimize

from .geodesic import norm, normalised
from .registry import average, exact, sentence

TRUTH = np.concatenate([[0], -1 + 2 * np.arange(11) / 11])
REPLICATES = {100: 60, 1000: 60, 10**4: 40, 10**5: 30, 10**6: 12, 10**7: 3}
GRADIENT = 1 / 16  # eps/(8 (1 + B)) of density (1)
EXPONENTIAL = 1 / 8  # eps/(2 (1 + B)^2)
D = 12


def moments(n, rng):
    """X'X, X'y and the largest |y| of algorithm 1."""
    square, product, largest, left = np.zeros((D, D)), np.zeros(D), 0.0, n
    while left:
        k = min(left, 10**6)
        x = rng.uniform(-1, 1, (k, D))
        x[:, 0] = 1
        y = x @ TRUTH + rng.standard_normal(k)
        square, product = square + x.T @ x, product + x.T @ y
        largest, left = max(largest, np.abs(y).max()), left - k
    return square, product, largest


def onto_ball(theta):
    """The nearest points of the ball |theta|_1 <= 1."""
    size = -np.sort(-np.abs(theta), -1)
    excess = (np.cumsum(size, -1) - 1) / np.arange(1, D + 1)
    count = (size > excess).sum(-1, keepdims=True) - 1
    cut = np.maximum(np.take_along_axis(excess, count, -1), 0)
    return np.sign(theta) * np.maximum(np.abs(theta) - cut, 0)


def cube_noise(count, rng):
    """Draws of exp(-GRADIENT |b|_inf): a Gamma(d + 1) radius times a point of the cube."""
    return rng.gamma(D + 1, 1 / GRADIENT, (count, 1)) * rng.uniform(-1, 1, (count, D))


def slices(theta, square, product, minus_log, rng, sweeps=200):
    """Slice sampling along random lines (hit and run) in the ball |theta|_1 <= 1.

    `minus_log` takes theta, g = X'X theta - X'y and X'y. Lines suit its width.
    """
    widths = np.linalg.inv(np.linalg.cholesky(square))
    for _ in range(sweeps):
        z = np.einsum("cij,ci->cj", widths, rng.standard_normal(theta.shape))
        z_g, g = (np.einsum("cij,cj->ci", square, a) for a in (z, theta))
        g = g - product
        level = minus_log(theta, g, product) + rng.exponential(size=len(theta))
        high = 2 / np.abs(z).sum(-1)
        low, step = -high, np.zeros(len(theta))
        todo = np.ones(len(theta), dtype=bool)
        while todo.any():
            t = rng.uniform(low, high)[:, None]
            new, new_g = theta + t * z, g + t * z_g
            good = (np.abs(new).sum(-1) <= 1) & (minus_log(new, new_g, product) <= level)
            step = np.where(todo & good, t[:, 0], step)
            todo &= ~good
            low, high = np.where(t[:, 0] < 0, t[:, 0], low), np.where(t[:, 0] < 0, high, t[:, 0])
        theta = theta + step[:, None] * z
    return theta


def gradient_norm(theta, g, product):
    return GRADIENT * np.abs(g).max(-1)


def squares(theta, g, product):
    """The sum of squares but for a constant: theta'(X'X theta) - 2 theta'X'y."""
    return EXPONENTIAL * ((g + product) * theta - 2 * theta * product).sum(-1)


def objective(square, product, rng):
    """Objective perturbation (002, section 7.2), by accelerated projected gradients."""
    ridge = 2 * D / (np.exp(0.5) - 1)
    quadratic = 2 * square + ridge * np.eye(D)
    linear = cube_noise(len(product), rng) - 2 * product
    rate = 1 / np.linalg.eigvalsh(quadratic)[:, -1:]
    theta = ahead = np.zeros_like(product)
    for _ in range(300):
        new = onto_ball(ahead - rate * (np.einsum("cij,cj->ci", quadratic, ahead) + linear))
        theta, ahead = new, new + 0.6 * (new - theta)
    return theta


@lru_cache
def linear_errors(n, copies=4):
    """Errors by mechanism, a row for each data set, and distances of releases to least squares."""
    rng = np.random.default_rng([13, n])
    stacked = [moments(n, rng) for _ in range(REPLICATES[n])]
    square, product, largest = (
        np.repeat(np.array([s[i] for s in stacked]), copies, 0) for i in range(3)
    )
    product, largest = product / largest[:, None], largest[:, None]
    fit = np.linalg.solve(square, product[..., None])[..., 0]
    noise = np.linalg.solve(square, cube_noise(len(fit), rng)[..., None])[..., 0]
    start = fit + noise
    inside = np.abs(start).sum(-1, keepdims=True) < 1
    start = np.where(inside, start, 0.5 * onto_ball(start))  # chains leave corners slowly
    draws = {
        "fit": fit,
        "kng": slices(start, square, product, gradient_norm, rng),
        "exponential": slices(start, square, product, squares, rng),
        "objective": objective(square, product, rng),
    }
    errors = {k: norm(largest * t - TRUTH).reshape(-1, copies) for k, t in draws.items()}
    noise = {k: norm(largest * (t - fit)).reshape(-1, copies) for k, t in draws.items()}
    return errors, noise


def by_size(errors, draws, sizes):
    """log10 of average errors by size and mechanism, and over the estimate's without privacy.

    `spread` is the standard error of log10 errors over 100 replicates (002, section 4.3).
    """
    numbers = {}
    for n in sizes:
        fit = errors(n)["fit"].mean()
        for name, e in errors(n).items():
            mean, error = average(e.mean(-1))
            numbers[f"n{n}_{name}"] = np.log10(mean), error / mean / np.log(10)
            numbers[f"n{n}_{name}_ratio"] = average(e.mean(-1) / fit)
            value = np.log10(draws(n)[name]).std() / 10
            numbers[f"n{n}_{name}_spread"] = value, value / np.sqrt(2 * len(e))
    return numbers


@sentence
def linear():
    """002, figure 1: a line of slope -1/2 falls by half a unit from size to size."""
    return by_size(lambda n: linear_errors(n)[0], lambda n: linear_errors(n)[0], REPLICATES)


@sentence
def noise():
    """Distance of releases to least squares by n and sqrt(n) (002, theorem 3.2)."""
    numbers = {}
    for n in (10**5, 10**6, 10**7):
        distances = linear_errors(n)[1]
        numbers[f"n{n}_kng_times_n"] = average(n * distances["kng"].mean(-1))
        numbers[f"n{n}_objective_times_n"] = average(n * distances["objective"].mean(-1))
        root = np.sqrt(n) * distances["exponential"].mean(-1)
        numbers[f"n{n}_exponential_times_root_n"] = average(root)
    return numbers


QUANTILE_TRUTH = np.array([0.0, -1.0])
QUANTILE_REPLICATES = {10: 100, 100: 100, 1000: 60, 10**4: 16, 10**5: 3}


def losses_on_grid(x, y, intercepts, slopes):
    """Median regression's loss and the largest entry of its gradient (002, section 4.5)."""
    loss, gradient = np.zeros((2, len(slopes), len(intercepts)))
    for i, slope in enumerate(slopes):
        r = y - slope * x
        order = np.argsort(r)
        r, z = r[order], np.concatenate([[0], np.cumsum(x[order])])
        total = np.concatenate([[0], np.cumsum(r)])
        k = np.searchsorted(r, intercepts, side="right")
        gradient[i] = np.maximum(np.abs(k - len(r) / 2), np.abs(z[k] - z[-1] / 2))
        loss[i] = (total[-1] - 2 * total[k] + (2 * k - len(r)) * intercepts) / 2
    return loss, gradient


def minimiser(x, y):
    """Median regression by the simplex search of Nelder and Mead, twice."""

    def loss(t):
        return np.abs(y - t[0] - t[1] * x).sum()

    start = np.linalg.lstsq(np.stack([np.ones_like(x), x], -1), y, rcond=None)[0]
    options = {"xatol": 1e-7, "fatol": 1e-10, "maxiter": 2000}
    found = optimize.minimize(loss, start, method="Nelder-Mead", options=options)
    return optimize.minimize(loss, found.x, method="Nelder-Mead", options=options).x


@lru_cache
def quantile_errors(n, points=61):
    """Mean errors by quadrature over both coefficients, with one draw of each for the spread."""
    rng, rows, draws = np.random.default_rng([14, n]), [], []
    for _ in range(QUANTILE_REPLICATES[n]):
        x = rng.uniform(-1, 1, n)
        y = -x + rng.standard_normal(n)
        largest = np.abs(y).max()
        fit = minimiser(x, y / largest)
        row, drawn = [norm(largest * fit - QUANTILE_TRUTH)], []
        for name, width in (("kng", 60 / (0.4 * n * largest)), ("exponential", 14 / n**0.5)):
            width = min(1, width)
            centre = np.clip(fit, -1 + width, 1 - width)
            a, b = (c + width * np.linspace(-1, 1, points) for c in centre)
            loss, gradient = losses_on_grid(x, y / largest, a, b)
            exponent = gradient / 2 if name == "kng" else loss / 4
            inside = np.abs(b)[:, None] + np.abs(a) <= 1
            chance = normalised(np.where(inside, -exponent, -np.inf).ravel())
            theta = np.stack(np.meshgrid(a, b), -1).reshape(-1, 2)
            error = norm(largest * theta - QUANTILE_TRUTH)
            row.append(error @ chance)
            drawn.append(error[rng.choice(len(error), p=chance)])
        rows.append(row)
        draws.append([row[0], *drawn])
    names = ("fit", "kng", "exponential")
    return tuple({k: np.array(r)[:, i, None] for i, k in enumerate(names)} for r in (rows, draws))


@sentence
def quantile():
    """002, figure 2, as `linear`."""
    return by_size(
        lambda n: quantile_errors(n)[0], lambda n: quantile_errors(n)[1], QUANTILE_REPLICATES
    )


@sentence
def quantile_sensitivity():
    """Largest change of the gradient over 2 (1 - tau) (002, 4.5): (1{y <= theta x} - tau) x.

    With both signs of x, as in regression, and with x = 1, as for a quantile.
    """
    numbers = {}
    for tau in (0.1, 0.25, 0.5, 0.75, 0.9):
        for name, signs in (("regression", (-1, 1)), ("quantile", (1,))):
            terms = [(below - tau) * s for below in (0, 1) for s in signs]
            numbers[f"tau{tau}_{name}"] = exact(np.ptp(terms) / (2 * (1 - tau)))
    return numbers
