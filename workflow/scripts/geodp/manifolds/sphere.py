"""The unit sphere S^d in R^(d+1)."""

import numpy as np

from geodp.manifolds.unit_norm import UnitNormSpace, squared_length


class Sphere(UnitNormSpace):
    """S^d of radius one; points are unit vectors of shape (d + 1,), distances radians."""

    injectivity_radius = np.pi
    curvature_bounds = (1.0, 1.0)
    # Along the velocity, and across it.
    curvature_signs = (0, 1)
    rates = (0.0, 1.0)

    def __init__(self, dimension: int):
        self.name = f"sphere S^{dimension}"
        self.size = self.dim = dimension
        self.point_shape = (dimension + 1,)
        self.multiplicities = (1, dimension - 1)
        if dimension == 1:
            self.curvature_bounds = (0.0, 0.0)

    def random_point(self, rng, shape=()):
        return self.project(rng.standard_normal((*shape, self.dim + 1)))

    def split(self, point, vector, other):
        length = np.sqrt(squared_length(vector))[..., None]
        unit = vector / np.where(length > 0, length, 1.0)
        along = np.sum(unit * other, axis=-1)[..., None] * unit
        return np.stack(np.broadcast_arrays(along, other - along), axis=-2)
