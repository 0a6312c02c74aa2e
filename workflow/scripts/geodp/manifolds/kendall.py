"""Spaces of planar shapes: landmarks up to translation, scale and rotation.

All are complex projective spaces.  `KendallPlanarShapes` keeps every landmark;
`ReducedPlanarShapes` keeps what a public linear map retains of them.
"""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.sphere import ProjectiveSpace
from geodp.manifolds.unit_norm import (
    hermitian,
    in_complement,
    orthonormal_complement,
    squared_length,
)
from geodp.plain import plain


class NoReducedShapeError(DataError):
    """A landmark map takes a configuration to zero, so that there is no reduced shape.

    ``record`` is its index among the configurations, in row-major order; ``reason`` has the fault
    and the remedy, without the record.
    """

    def __init__(self, record, description):
        self.record = int(record)
        self.reason = (
            f"the landmark map ({description}) leaves nothing of it, so it has no reduced shape: "
            "correct or remove it, or choose another map"
        )
        super().__init__(f"record {self.record + 1}: {self.reason}")


class PlanarShapes(ProjectiveSpace):
    """CP^(D-1): unit vectors of C^D up to a phase, with sectional curvatures from 1 to 4.

    A point is any of its representatives: a complex vector of shape (D,), of unit norm.  Points are
    made `from_landmarks`, and have configurations `to_landmarks`.
    """

    dtype = complex
    # Along the velocity v, along i v, and across both.
    curvature_signs = (0, 1, 1)
    rates = (0.0, 2.0, 1.0)
    landmarks: int
    # A picture of landmarks takes their place.
    coordinate_names: ClassVar[list] = []

    def __init__(self, size):
        self.dim = 2 * (size - 1)
        self.point_shape = (size,)
        self.multiplicities = (1, 1, self.dim - 2)
        # In two complex dimensions the space is a sphere of curvature 4.
        self.curvature_bounds = (1.0 if size > 2 else 4.0, 4.0)

    def layouts(self):
        words = "real and imaginary part in turn (x1, y1, x2, ... if these are landmarks)"
        return {2 * self.point_shape[0]: words}

    def from_layout(self, numbers):
        return numbers[:, 0::2] + 1j * numbers[:, 1::2]

    def frame(self, point):
        basis = self._complex_basis(point)
        return np.concatenate([basis, 1j * basis], axis=-2)

    def tangent(self, point, coordinates):
        real, imaginary = np.split(coordinates, 2, axis=-1)
        return self._from_complex_basis(point, real + 1j * imaginary)

    # Orthonormal basis (..., dim / 2, D) of the tangents as a complex space, and combinations.
    _complex_basis = staticmethod(orthonormal_complement)
    _from_complex_basis = staticmethod(in_complement)

    def random_point(self, rng, shape=()):
        real, imaginary = rng.standard_normal((2, *shape, *self.point_shape))
        return self.project(real + 1j * imaginary)

    def split(self, point, vector, other):
        length = self.norm(point, vector)[..., None]
        unit = vector / np.where(length > 0, length, 1.0)
        overlap = hermitian(unit, other)[..., None]
        along, turning = overlap.real * unit, 1j * overlap.imag * unit
        return np.stack(np.broadcast_arrays(along, turning, other - along - turning), axis=-2)

    def is_rounded(self, given, point, part=0.1):
        # Landmarks have a place and a size of their own.
        return True

    @abstractmethod
    def from_landmarks(self, landmarks):
        """Shapes of complex configurations (..., k), as points."""

    @abstractmethod
    def to_landmarks(self, points):
        """Centred configurations (..., k) of unit size that have the given shapes."""

    @property
    def centres(self):
        """See `Manifold.centres`; landmarks evenly round a circle."""
        turns = np.arange(self.landmarks) / self.landmarks
        return {"anywhere": self.from_landmarks(np.exp(2j * np.pi * turns))}

    def shown(self, points):
        """See `Manifold.shown`; landmarks turned as those of the first."""
        landmarks = self.to_landmarks(self.align(points[:1], points))
        return np.stack([landmarks.real, landmarks.imag], axis=-1).reshape(len(points), -1)


class KendallPlanarShapes(PlanarShapes):
    """Shapes of k planar landmarks, the complex projective space CP^(k-2).

    A point is any of its preshapes: a complex vector of shape (k,), centred, of unit norm.
    """

    not_finite = "a landmark is not a pair of finite numbers, or all landmarks coincide"
    norm_word = "size"
    keys = ("size", "landmark_map")
    example: ClassVar[dict] = {"size": 4}
    smallest = 3
    responses = "planar shapes, by landmarks x1, y1, x2, y2, ..."

    def __init__(self, landmarks: int):
        # Centred configurations have one complex dimension less.
        super().__init__(landmarks - 1)
        self.name = f"planar shapes of {landmarks} landmarks"
        self.size = self.landmarks = landmarks
        self.point_shape = (landmarks,)
        # Helmert's contrasts, an orthonormal basis of centred configurations: scipy.linalg has them
        # too, and takes as long to import as all manifolds together.
        counts = np.arange(1.0, landmarks)[:, None]
        contrasts = np.tri(landmarks - 1, landmarks) - np.eye(landmarks - 1, landmarks, 1) * counts
        self._helmert = contrasts / np.sqrt(counts * (counts + 1.0))

    @classmethod
    def of(cls, **settings):
        chosen = settings.get("landmark_map")
        return cls(settings["size"]) if chosen is None else ReducedPlanarShapes(chosen)

    @classmethod
    def size_of(cls, number):
        return number // 2

    def from_landmarks(self, landmarks):
        """Shapes of complex configurations (..., k), as points (..., k).

        NaN where all landmarks `coincide`, so that there is no shape.
        """
        return np.where(coincide(landmarks)[..., None], np.nan, self.project(landmarks))

    def to_landmarks(self, points):
        """Centred configurations (..., k) of unit size that have the given shapes."""
        return points

    def _complex_basis(self, point):
        return orthonormal_complement(point @ self._helmert.T) @ self._helmert

    def _from_complex_basis(self, point, coordinates):
        return in_complement(point @ self._helmert.T, coordinates) @ self._helmert

    def project(self, array):
        return super().project(_centred(array))

    def project_tangent(self, point, array):
        return super().project_tangent(point, _centred(array))

    def invalid_reason(self, array):
        if np.all(np.isfinite(array)) and abs(np.mean(array)) > self.length_tolerance:
            return "its landmarks are not centred"
        return super().invalid_reason(array)

    def are_points(self, arrays):
        off_centre = np.abs(np.mean(arrays, axis=-1))
        return super().are_points(arrays) & (off_centre <= self.length_tolerance)


class ReducedPlanarShapes(PlanarShapes):
    """Shapes of k planar landmarks after a public `LandmarkMap`: CP^(m-1).

    A configuration is centred, multiplied by the map's m x k matrix and scaled to unit norm; a
    point is the resulting complex vector of shape (m,), up to a phase.
    """

    def __init__(self, landmark_map):
        size, landmarks = landmark_map.matrix.shape
        super().__init__(size)
        self.name = f"planar shapes of {landmarks} landmarks, {landmark_map.description}"
        self.landmarks = landmarks
        self.landmark_map = landmark_map
        # Rows that sum to zero centre the configurations they multiply, and span, conjugated,
        # what the pseudo-inverse reaches: its configurations are centred too.
        self._matrix = _centred(landmark_map.matrix)
        self._inverse = np.linalg.pinv(self._matrix)
        self._largest_stretch = np.linalg.norm(self._matrix, 2)

    @property
    def made_from(self):
        chosen = self.landmark_map
        described = {"matrix": plain(chosen.matrix), "description": chosen.description}
        return {"size": self.landmarks, "landmark_map": described}

    def from_landmarks(self, landmarks):
        """Reduced shapes of complex configurations (..., k), as points (..., m).

        Raises `NoReducedShapeError` where the map takes one to zero, up to rounding.
        """
        centred = _centred(landmarks)
        image = centred @ self._matrix.T
        sizes = np.sqrt(squared_length(centred))
        # Anything smaller is rounding.
        empty = np.sqrt(squared_length(image)) <= 1e-12 * self._largest_stretch * sizes
        if np.any(empty):
            raise NoReducedShapeError(np.argmax(empty), self.landmark_map.description)
        return self.project(image)

    def to_landmarks(self, points):
        """Configurations (..., k) that have the given reduced shapes: centred, of unit size.

        Of all such configurations these have no component in the kernel of the map.
        """
        return self.project(points @ self._inverse.T)


def coincide(landmarks, rounding=1e-13):
    """Whether all landmarks of configurations (..., k) are one, up to rounding; ndarray (...)."""
    away = np.max(np.abs(landmarks - landmarks[..., :1]), axis=-1)
    return away <= rounding * np.max(np.abs(landmarks), axis=-1)


def _centred(array):
    return array - np.mean(array, axis=-1, keepdims=True)


KendallPlanarShapes.variants = (ReducedPlanarShapes,)
