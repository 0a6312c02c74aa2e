"""SPD(2) with the affine-invariant metric (003, section 5.1).

A tangent vector v at p is the triple (a, b, sqrt(2) c) of the symmetric [[a, c], [c, b]] that
equals p^(-1/2) v p^(-1/2): the norm of the triple is that of the metric.
"""

import numpy as np

DIMENSION = 3
ROOT2 = np.sqrt(2.0)


def matrix(u):
    a, b, c = u[..., 0], u[..., 1], u[..., 2] / ROOT2
    return np.stack([np.stack([a, c], -1), np.stack([c, b], -1)], -2)


def triple(m):
    return np.stack([m[..., 0, 0], m[..., 1, 1], m[..., 0, 1] * ROOT2], -1)


def root(m):
    """Square root of a positive definite 2 x 2 matrix, in closed form."""
    s = np.sqrt(np.linalg.det(m))[..., None, None]
    return (m + s * np.eye(2)) / np.sqrt(np.trace(m, axis1=-2, axis2=-1)[..., None, None] + 2 * s)


def swap(m):
    return np.swapaxes(m, -1, -2)


def exp(p, u):
    values, vectors = np.linalg.eigh(matrix(u))
    half = root(p) @ vectors * np.exp(values / 2)[..., None, :]
    return half @ swap(half)


def log(p, q):
    g = np.linalg.inv(root(p))
    m = g @ q @ g
    return triple_log(m[..., 0, 0], m[..., 0, 1], m[..., 1, 1])


def triple_log(a, c, b):
    """The triple of the logarithm of [[a, c], [c, b]], in closed form."""
    half, d = (a + b) / 2, (a - b) / 2
    r = np.hypot(d, c)
    size = 0.5 * np.log(np.maximum(half**2 - r**2, 1e-300))
    ratio = np.minimum(r / half, 1 - 1e-15)
    t = np.where(r > 1e-9 * half, np.arctanh(ratio) / np.maximum(r, 1e-300), 1 / half)
    return np.stack([size + t * d, size - t * d, ROOT2 * t * c], -1)


def distance(p, q):
    return np.linalg.norm(log(p, q), axis=-1)


def transport(p, q, u):
    """v to E v E' with E = (q p^-1)^(1/2) = p^(1/2) (p^(-1/2) q p^(-1/2))^(1/2) p^(-1/2)."""
    g, h = root(p), np.linalg.inv(root(q))
    a = h @ g @ root(np.linalg.inv(g) @ q @ np.linalg.inv(g))
    return triple(a @ matrix(u) @ swap(a))


def residuals(p, v, x, y):
    """As `sphere.residuals`; the frame is the eigenbasis of v, in which its third field bends.

    The curvature of the third direction is -((a - b)/2)^2 for eigenvalues a and b of v.
    """
    values, vectors = np.linalg.eigh(matrix(v))
    a = swap(vectors) @ np.linalg.inv(root(p))
    z = np.einsum("...ij,njk,...lk->...nil", a, y, a, optimize=True)
    e, f = np.exp(-x * values[..., :1] / 2), np.exp(-x * values[..., 1:] / 2)
    t = x * np.abs(values[..., :1] - values[..., 1:]) / 2
    components = triple_log(z[..., 0, 0] * e * e, z[..., 0, 1] * e * f, z[..., 1, 1] * f * f)
    return components, np.cosh(t), hyperbolic_sinc(t)


def from_frame(v, g):
    vectors = np.linalg.eigh(matrix(v))[1]
    return triple(vectors @ matrix(g) @ swap(vectors))


def hyperbolic_sinc(t):
    return np.where(t > 1e-6, np.sinh(t) / np.maximum(t, 1e-300), 1.0)


def volume(u):
    """Density of the volume in normal coordinates: sinh(k)/k, k half the gap of eigenvalues."""
    return hyperbolic_sinc(np.hypot((u[..., 0] - u[..., 1]) / 2, u[..., 2] / ROOT2))


def uniform_in_ball(radius, rng):
    """A direction uniformly, and a radius as in a flat ball; 001 says "random" alone."""
    z = rng.standard_normal(3)
    return exp(np.eye(2), radius * rng.random() ** (1 / 3) * z / np.linalg.norm(z))
