"""The unit sphere S^d in R^(d+1)."""

import numpy as np

from geodp.manifolds.symmetric import SMALLEST
from geodp.manifolds.unit_norm import UnitNormSpace, hermitian, squared_length


class Sphere(UnitNormSpace):
    """S^d of radius one; points are unit vectors of shape (d + 1,), distances radians."""

    injectivity_radius = np.pi
    curvature_bounds = (1.0, 1.0)
    curvature_signs = (0, 1)

    def __init__(self, dimension: int):
        self.name = f"sphere S^{dimension}"
        self.size = self.dim = dimension
        self.point_shape = (dimension + 1,)
        self.multiplicities = (1, dimension - 1)
        if dimension == 1:
            self.curvature_bounds = (0.0, 0.0)

    def random_point(self, rng, shape=()):
        return self.project(rng.standard_normal((*shape, self.dim + 1)))

    has_adjoints_along = True

    def adjoints_along(self, start, velocity, times, points):
        """See `SymmetricSpace.has_adjoints_along`."""
        frame, speed = self.frame(start), np.sqrt(squared_length(velocity))
        unit = self.coordinates(start, velocity / np.where(speed > 0, speed, 1.0), frame)
        # Of points: along the start, along the velocity, and across both.
        before, seen = hermitian(start, points), self.coordinates(start, points, frame)
        ahead = hermitian(unit, seen)
        across = seen - ahead[:, None] * unit
        # A geodesic at rest moves a little, so that sines over its speed are times.
        speed = np.maximum(speed, SMALLEST)
        cosine, sine = np.cos(speed * times), np.sin(speed * times)
        turned = cosine * ahead - sine * before
        height = np.sqrt(turned**2 + squared_length(across))
        distances = np.arctan2(height, cosine * before + sine * ahead)
        factor = np.where(height > 0, distances / np.where(height > 0, height, 1.0), 1.0)
        along = (factor * turned)[:, None] * unit
        point = along + (factor * cosine)[:, None] * across
        vector = times[:, None] * along + (factor * sine / speed)[:, None] * across
        return (point, vector), distances
