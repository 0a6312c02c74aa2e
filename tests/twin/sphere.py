"""The unit sphere S^2. Tangent vectors are coordinates in `basis`, so that they are plain pairs."""

import numpy as np

DIMENSION = 2


def basis(p):
    """Orthonormal tangent vectors e1 and e2 = p x e1, as rows."""
    e1 = np.cross(p, np.eye(3)[np.abs(p).argmin(-1)])
    e1 = e1 / np.linalg.norm(e1, axis=-1, keepdims=True)
    return np.stack([e1, np.cross(p, e1)], -2)


def ambient(p, u):
    return (u[..., None, :] @ basis(p))[..., 0, :]


def coordinates(p, w):
    return (basis(p) @ w[..., None])[..., 0]


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


def transport(p, q, u):
    """Along the shortest geodesic from p to q, which are not opposite."""
    w = ambient(p, u)
    share = (q * w).sum(-1, keepdims=True) / (1 + (p * q).sum(-1, keepdims=True))
    return coordinates(q, w - share * (p + q))


def frame(v):
    """Directions along v and across it, as rows, and across it minus J''/J of a Jacobi field."""
    u = v / np.linalg.norm(v, axis=-1, keepdims=True)
    return np.stack([u, np.stack([-u[..., 1], u[..., 0]], -1)], -2), (v**2).sum(-1)


def volume(u):
    """Density of the area in normal coordinates: sin(r)/r."""
    return np.abs(np.sinc(np.linalg.norm(u, axis=-1) / np.pi))
