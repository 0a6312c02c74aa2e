"""The unit sphere S^2. Tangent vectors are coordinates in `basis`, so that they are plain pairs."""

import numpy as np

DIMENSION = 2


def basis(p):
    """Orthonormal tangent vectors e1 and e2 = p x e1 (arrays of vectors in the last axis)."""
    axis = np.eye(3)[np.abs(p).argmin(-1)]
    e1 = np.cross(p, axis)
    e1 = e1 / np.linalg.norm(e1, axis=-1, keepdims=True)
    return e1, np.cross(p, e1)


def ambient(p, u):
    e1, e2 = basis(p)
    return u[..., :1] * e1 + u[..., 1:] * e2


def coordinates(p, w):
    e1, e2 = basis(p)
    return np.stack([(e1 * w).sum(-1), (e2 * w).sum(-1)], -1)


def exp(p, u):
    """003, section 5.2."""
    r = np.linalg.norm(u, axis=-1, keepdims=True)
    return np.cos(r) * p + np.sinc(r / np.pi) * ambient(p, u)


def log(p, q):
    """003, section 5.2."""
    c = (p * q).sum(-1, keepdims=True)
    w = q - c * p
    s = np.linalg.norm(w, axis=-1, keepdims=True)
    return coordinates(p, w * (np.arctan2(s, c) / np.maximum(s, 1e-300)))


def distance(p, q):
    return np.arctan2(np.linalg.norm(np.cross(p, q), axis=-1), (p * q).sum(-1))


def transport(p, q, u):
    """Along the shortest geodesic from p to q, which are not opposite."""
    w = ambient(p, u)
    share = (q * w).sum(-1, keepdims=True) / (1 + (p * q).sum(-1, keepdims=True))
    return coordinates(q, w - share * (p + q))


def residuals(p, v, x, y):
    """Log(Exp(p, x v), y) in a parallel frame along the geodesic, and Jacobi factors.

    The frame is (direction of v, p x direction); fields across the geodesic have the lengths
    cos(x|v|) and sin(x|v|)/(x|v|) (001, equations 15 and 40), those along it 1.
    """
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    u = ambient(p, direction(v))
    across = np.cross(p, u)
    t = x * length
    y_p, y_u, y_w = (np.einsum("...i,ni->...n", a, y) for a in (p, u, across))
    along = np.cos(t) * y_u - np.sin(t) * y_p
    s = np.hypot(along, y_w)
    scale = np.arctan2(s, np.cos(t) * y_p + np.sin(t) * y_u) / np.maximum(s, 1e-300)
    return np.stack([along * scale, y_w * scale], -1), np.cos(t), np.sinc(t / np.pi)


def direction(v):
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.where(length > 0, v / np.maximum(length, 1e-300), [1.0, 0.0])


def from_frame(v, g):
    """Coordinates of a vector given in the frame of `residuals`."""
    u = direction(v)
    return g[..., :1] * u + g[..., 1:] * np.stack([-u[..., 1], u[..., 0]], -1)


def volume(u):
    """Density of the area in normal coordinates: sin(r)/r."""
    return np.abs(np.sinc(np.linalg.norm(u, axis=-1) / np.pi))


def uniform(rng):
    z = rng.standard_normal(3)
    return z / np.linalg.norm(z)
