"""Kendall's space of planar shapes: landmarks up to translation, scale and rotation."""

import numpy as np
from scipy.linalg import helmert

from geodp.manifolds.unit_norm import (
    UnitNormSpace,
    hermitian,
    orthonormal_complement,
    squared_length,
)


class KendallPlanarShapes(UnitNormSpace):
    """Shapes of k planar landmarks, the complex projective space CP^(k-2).

    A point is any of its preshapes: a complex vector of shape (k,), centred, of unit norm.
    Tangent vectors are horizontal lifts at that preshape.  Distances are radians, at most pi/2.
    """

    dtype = complex
    injectivity_radius = np.pi / 2
    # Along the velocity v, along i v, and across both.
    curvature_signs = (0, 1, 1)

    def __init__(self, landmarks):
        self.name = f"planar shapes of {landmarks} landmarks"
        self.landmarks = landmarks
        self.dim = 2 * (landmarks - 2)
        self.point_shape = (landmarks,)
        self.multiplicities = (1, 1, self.dim - 2)
        # With three landmarks the space is a sphere of curvature 4.
        self.curvature_bounds = (1.0 if landmarks > 3 else 4.0, 4.0)
        self._helmert = helmert(landmarks)

    def align(self, point, other):
        _, phase = self.align_overlap(hermitian(point, other))
        return phase[..., None] * other

    def align_overlap(self, overlap):
        size = np.abs(overlap)
        return size, np.where(size > 0, np.conj(overlap), 1.0) / np.where(size > 0, size, 1.0)

    def transport_to(self, point, other, vector):
        carried = self.transport(point, self.log(point, other), vector)
        # It now stands at the representative of ``other`` aligned to ``point``: turn it back.
        _, phase = self.align_overlap(hermitian(point, other))
        return np.conj(phase)[..., None] * carried

    def frame(self, point):
        basis = orthonormal_complement(point @ self._helmert.T) @ self._helmert
        return np.concatenate([basis, 1j * basis], axis=-2)

    def project(self, array):
        centred = array - np.mean(array, axis=-1, keepdims=True)
        return centred / np.sqrt(squared_length(centred))[..., None]

    def project_tangent(self, point, array):
        centred = array - np.mean(array, axis=-1, keepdims=True)
        return centred - hermitian(point, centred)[..., None] * point

    def random_point(self, rng, shape=()):
        real, imaginary = rng.standard_normal((2, *shape, self.landmarks))
        return self.project(real + 1j * imaginary)

    def invalid_reason(self, array):
        if not np.all(np.isfinite(array)):
            return "a landmark is not a pair of finite numbers"
        if abs(np.mean(array)) > 1e-6:
            return "its landmarks are not centred"
        length = float(np.sqrt(squared_length(array)))
        if abs(length - 1.0) > 1e-6:
            return f"its size is {length:.6g}, not 1"
        return None

    def frequencies(self, point, vector):
        length = np.sqrt(squared_length(vector))
        return np.stack([np.zeros_like(length), 2.0 * length, length], axis=-1)

    def split(self, point, vector, other):
        length = np.sqrt(squared_length(vector))[..., None]
        unit = vector / np.where(length > 0, length, 1.0)
        overlap = hermitian(unit, other)[..., None]
        along, turning = overlap.real * unit, 1j * overlap.imag * unit
        return np.stack(np.broadcast_arrays(along, turning, other - along - turning), axis=-2)
