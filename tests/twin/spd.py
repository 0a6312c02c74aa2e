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


def swap(m):
    return np.swapaxes(m, -1, -2)


def of_eigenvalues(function, m):
    values, vectors = np.linalg.eigh(m)
    return vectors * function(values)[..., None, :] @ swap(vectors)


def roots(p):
    """p^(1/2) in closed form, and p^(-1/2)."""
    s = np.sqrt(np.linalg.det(p))[..., None, None]
    half = (p + s * np.eye(2)) / np.sqrt(np.trace(p, axis1=-2, axis2=-1)[..., None, None] + 2 * s)
    return half, np.linalg.inv(half)


def exp(p, u):
    half, _ = roots(p)
    return half @ of_eigenvalues(np.exp, matrix(u)) @ half


def log(p, q):
    _, inverse = roots(p)
    return triple(of_eigenvalues(np.log, inverse @ q @ inverse))


def transport(p, q, u):
    """v to E v E' with E = (q p^-1)^(1/2) = p^(1/2) (p^(-1/2) q p^(-1/2))^(1/2) p^(-1/2)."""
    half, inverse = roots(p)
    a = roots(q)[1] @ half @ roots(inverse @ q @ inverse)[0]
    return triple(a @ matrix(u) @ swap(a))


def frame(v):
    """As `sphere.frame`: the eigenbasis of v, in which its third field bends.

    The curvature of the third direction is -((a - b)/2)^2 for eigenvalues a and b of v.
    """
    values, vectors = np.linalg.eigh(matrix(v))
    basis = triple(vectors[..., None, :, :] @ matrix(np.eye(3)) @ swap(vectors)[..., None, :, :])
    return basis, -(((values[..., 0] - values[..., 1]) / 2) ** 2)


def volume(u):
    """Density of the volume in normal coordinates: sinh(k)/k, k half the gap of eigenvalues."""
    k = np.hypot((u[..., 0] - u[..., 1]) / 2, u[..., 2] / ROOT2)
    return np.sinc(1j * k / np.pi).real
