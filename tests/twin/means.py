"""Sentences of 003 and 004: private Frechet means on SPD(2) and the sphere."""

import numpy as np
from scipy import optimize, stats

from . import spd, sphere
from .geodesic import END, directions, norm, normalised, polar
from .registry import average, exact, sentence

RADIUS = {spd: 1.5, sphere: np.pi / 8}
SIZES = (20, 25, 30, 40, 50, 100, 200, 300, 400, 500)
CENTRE = {spd: np.eye(2), sphere: np.array([0.0, 0, 1])}
POLE = CENTRE[sphere]


def sample(manifold, n, rng):
    """003, A.2.1 (Wishart with 2 degrees of freedom and scale I/2, in the ball) and A.3.1."""
    if manifold is sphere:
        angle, turn = rng.uniform(0, np.pi / 8, n), rng.uniform(0, 2 * np.pi, n)
        s = np.sin(angle)
        return np.stack([s * np.cos(turn), s * np.sin(turn), np.cos(angle)], -1)
    z = rng.standard_normal((30 * n + 300, 2, 2)) / np.sqrt(2)
    m = z @ spd.swap(z)
    m = m[np.linalg.det(m) > 1e-6]  # all that is nearer than 1.5 has a larger one
    return m[spd.distance(np.eye(2), m) < RADIUS[spd]][:n]


def mean(manifold, y):
    """003, A.1, with whole steps."""
    m = y[0]
    for _ in range(100):
        step = manifold.log(m, y).mean(0)
        m = manifold.exp(m, step)
        if norm(step) < 1e-11:
            break
    return m


def h(r, curvature=1):
    """003, theorem 2."""
    return 2 * r / np.tan(2 * r) if curvature > 0 else 1.0


def bound(manifold, n):
    r, c = RADIUS[manifold], h(RADIUS[manifold], 1 if manifold is sphere else 0)
    return 2 * r * (2 - c) / (n * c)


def largest_change(r):
    """003, B.1: the largest difference of logarithms of three points of the ball's edge."""

    def point(a):
        return np.array([np.sin(r) * np.cos(a), np.sin(r) * np.sin(a), np.cos(r)])

    def change(a):
        return -norm(sphere.log(point(0), point(a[0])) - sphere.log(point(0), point(a[1])))

    starts = [(a, 2 * np.pi - b) for a in (1.0, 2.0, 3.0) for b in (1.0, 2.0, 3.0)]
    return -min(optimize.minimize(change, a, method="Nelder-Mead").fun for a in starts)


EMPIRICAL = largest_change(np.pi / 8) / h(np.pi / 8)  # n Delta of the simulations on the sphere


@sentence
def theorem_2():
    """Changes of means over the bound of 003, theorem 2 (figures 1a, 1c and 2, section 6).

    20 random pairs of each size, and extreme ones: n - 1 records at one end of a diameter or in
    its middle, the last at both ends.
    """
    numbers = {}
    for manifold in (spd, sphere):
        rng, shares = np.random.default_rng(9), []
        for n in range(20, 501, 80):
            for _ in range(20):
                y = sample(manifold, n + 1, rng)
                moved = manifold.distance(mean(manifold, y[1:]), mean(manifold, y[:-1]))
                shares.append(moved / bound(manifold, n))
        name = manifold.__name__.split(".")[-1]
        numbers[f"{name}_mean"] = average(shares)
        numbers[f"{name}_largest"] = max(shares), np.nan
        n, ends, u = 20, [], np.eye(manifold.DIMENSION)[0] * RADIUS[manifold]
        for place in (-u, 0 * u):
            y = np.repeat(manifold.exp(CENTRE[manifold], place)[None], n, 0)
            means = []
            for last in (-u, u):
                y[-1] = manifold.exp(CENTRE[manifold], last)
                means.append(mean(manifold, y))
            ends.append(manifold.distance(*means) / bound(manifold, n))
        numbers[f"{name}_extreme"] = exact(max(ends))
    return numbers


def laplace_nodes(manifold, m, sigma):
    """Nodes and probabilities of the Laplace distribution (003, definition 3) about m."""
    u, weight = polar(manifold.DIMENSION, sigma, 30 * sigma, 40, 30)
    if manifold is sphere:
        weight = np.where(norm(u) < np.pi, weight, -np.inf)
    weight = weight + np.log(np.maximum(manifold.volume(u), 1e-300)) - norm(u) / sigma
    return manifold.exp(m, u), normalised(weight)


def half_vector(m):
    return np.stack([m[..., 0, 0], m[..., 0, 1], m[..., 1, 1]], -1)


AMBIENT_RADIUS = {spd: np.exp(1.5) - 1, sphere: 2 * np.sin(np.pi / 16)}


def ambient_scale(manifold, n):
    return 2 * AMBIENT_RADIUS[manifold] / n


@sentence
def spd_utility():
    """Error of vech by the mechanism of 003 over that of ambient noise, 3 sigma (figure 1b).

    At both scales of theorem 1: Delta/eps, as the normalising constant is one number, and twice it.
    """
    numbers = {}
    for n in SIZES:
        rng, rows = np.random.default_rng([10, n]), []
        for _ in range(30):
            m, row = mean(spd, sample(spd, n, rng)), []
            for factor in (1, 2):
                x, chance = laplace_nodes(spd, m, factor * bound(spd, n))
                row.append(norm(half_vector(x) - half_vector(m)) @ chance)
            rows.append(np.array(row) / (3 * ambient_scale(spd, n)))
        for i, name in enumerate(("one", "two")):
            numbers[f"n{n}_{name}"] = average(np.array(rows)[:, i])
    return numbers


@sentence
def spd_outside():
    """Share of ambient draws that are not positive definite (003, 5.1), over directions.

    The cone is convex: a ray leaves it once, at the least positive root of the determinant.
    """
    numbers, u = {}, directions(3, 600)
    for n in SIZES[:5]:
        rng, shares = np.random.default_rng([11, n]), []
        for _ in range(100):
            a, b, c = half_vector(mean(spd, sample(spd, n, rng)))
            square = u[:, 0] * u[:, 2] - u[:, 1] ** 2
            linear = a * u[:, 2] + c * u[:, 0] - 2 * b * u[:, 1]
            root = np.sqrt(np.maximum(linear**2 - 4 * square * (a * c - b * b), 0))
            ends = np.stack([-linear - root, -linear + root]) / (2 * square)
            real = linear**2 >= 4 * square * (a * c - b * b)
            leaves = np.where((ends > 0) & real, ends, np.inf).min(0)
            shares.append(stats.gamma.sf(leaves / ambient_scale(spd, n), 3).mean())
        numbers[f"n{n}"] = average(shares)
    return numbers


@sentence
def sphere_reduction():
    """Share of the ambient error, 3 sigma, that the mechanism of 003 saves (5.2, figure 1d).

    Chords 2 sin(rho/2) under the density sin(rho) exp(-rho/sigma); with the sensitivity of B.1 over
    n h, as theorem 2's proof has it, and with that of theorem 2.
    """
    numbers = {}
    for n in SIZES:
        scales = {"empirical": EMPIRICAL / n, "theorem": bound(sphere, n)}
        for name, sigma in scales.items():
            x, chance = laplace_nodes(sphere, POLE, sigma)
            error = norm(x - POLE) @ chance
            numbers[f"n{n}_{name}"] = exact(1 - error / (3 * ambient_scale(sphere, n)))
    return numbers


@sentence
def theorem_4():
    """003, theorem 4: squared error of projected noise over that of the subspace's own."""

    def squared(d, ambient):
        return stats.gamma.moment(2, ambient) * d / ambient

    return {
        f"d{d}_D{ambient}{name}": exact(value)
        for d, ambient in ((2, 3), (3, 9))
        for name, value in (
            ("", squared(d, ambient) / squared(d, d)),
            ("_stated", ambient / d),
        )
    }


@sentence
def ambient_budget():
    """Change of the mean over 2 r_E/n: the budget that ambient noise spends (003, A.2.2).

    SPD(2): n - 1 records at diag(exp(1.5), 1), the last there or at diag(exp(-1.5), 1).
    """
    numbers = {}
    for n in (20, 100, 500):
        y = np.repeat(np.diag([np.exp(1.5), 1.0])[None], n, 0)
        first = mean(spd, y)
        y[-1] = np.diag([np.exp(-1.5), 1.0])
        moved = norm(half_vector(mean(spd, y)) - half_vector(first))
        numbers[f"n{n}"] = exact(moved / ambient_scale(spd, n))
    return numbers


def kng_nodes(m, sigma, whole, radii=40, count=30):
    """Nodes over the ball of the data, or over the whole sphere, about m and opposite to it."""
    u, weight = polar(2, sigma, END, radii, count)
    x, weight = sphere.exp(m, u), weight + np.log(sphere.volume(u) + 1e-300)
    if not whole:
        return x, np.where(x @ POLE > np.cos(np.pi / 8), weight, -np.inf)
    halves = np.where(x @ m > 0, weight, -np.inf), np.where(x @ m >= 0, weight, -np.inf)
    return np.concatenate([x, -x]), np.concatenate(halves)


def kng_scale(n):
    """004, section 2.4.2: Delta/eps."""
    return np.pi / 4 * (2 - h(np.pi / 8)) / n


@sentence
def kng_against_laplace():
    """Mean distance to the mean by KNG over that by Laplace noise of theorem 2 (004, abstract).

    On the sphere; over the ball of the data for both, and over the whole sphere for both.
    """
    numbers = {}
    for n in SIZES:
        rng, rows = np.random.default_rng([12, n]), []
        for _ in range(6):
            y, row = sample(sphere, n, rng), []
            m = mean(sphere, y)
            for whole in (False, True):
                x, weight = kng_nodes(m, kng_scale(n), whole)
                d = sphere.distance(m, x)
                length = norm(sphere.log(x[:, None], y[None]).mean(1))
                kng = normalised(weight - length / kng_scale(n)) @ d
                row.append(kng / (normalised(weight - d / bound(sphere, n)) @ d))
            rows.append(row)
        for i, name in enumerate(("ball", "whole")):
            numbers[f"n{n}_{name}"] = average(np.array(rows)[:, i])
    return numbers


@sentence
def kng_budget():
    """Largest loss of KNG at Delta/eps, eps = 1 (004, 2.4.2), for neighbours on a diameter.

    n - 1 records at one place of the diameter, the last moved between two; constants included.
    """
    numbers, places = {}, np.linspace(-np.pi / 8, np.pi / 8, 9)
    points = np.stack([np.sin(places), 0 * places, np.cos(places)], -1)
    for n in (3, 25, 100, 500):
        for whole in (False, True):
            worst = 0.0
            for start in points[4:]:
                x, weight = kng_nodes(start, kng_scale(n), whole, 90, 90)
                logs = sphere.log(x[:, None], points[None])
                same = sphere.log(x, np.broadcast_to(start, x.shape))[:, None]
                length = norm(((n - 1) * same + logs) / n) / kng_scale(n)
                density = -length - np.log(np.exp(weight[:, None] - length).sum(0))
                worst = max(worst, np.ptp(density[np.isfinite(weight)], axis=1).max())
            numbers[f"n{n}_{'whole' if whole else 'ball'}"] = exact(worst)
    return numbers
