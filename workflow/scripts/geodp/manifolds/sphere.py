"""The unit sphere S^d in R^(d+1)."""

import numpy as np

from geodp.manifolds.unit_norm import UnitNormSpace


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
