"""The unit sphere S^d in R^(d+1)."""

import numpy as np

from geodp.data.angles import ANGLES, told_angle
from geodp.manifolds.unit_norm import UnitNormSpace


class RealUnitVectors(UnitNormSpace):
    """Unit vectors of R^(d+1), of shape (d + 1,), in the metric of the sphere."""

    curvature_bounds = (1.0, 1.0)
    curvature_signs = (0, 1)

    def __init__(self, dimension: int):
        self.size = self.dim = dimension
        self.point_shape = (dimension + 1,)
        self.multiplicities = (1, dimension - 1)
        if dimension == 1:
            self.curvature_bounds = (0.0, 0.0)

    @classmethod
    def size_of(cls, number):
        return number - 1

    def random_point(self, rng, shape=()):
        return self.project(rng.standard_normal((*shape, self.dim + 1)))


class Sphere(RealUnitVectors):
    """S^d of radius one; points are unit vectors of shape (d + 1,), distances radians."""

    injectivity_radius = np.pi
    responses = "directions or places, by latitude and longitude, or as unit vectors"

    def __init__(self, dimension: int):
        super().__init__(dimension)
        self.name = f"sphere S^{dimension}"

    @classmethod
    def asked(cls, columns, number, ask):
        if number == 2:
            return {"size": 2}, "latitude_longitude"
        if number == 1:
            unit = told_angle(columns[0]) or "degrees"
            return {"size": 1}, ask("Unit of the angle", unit, tuple(ANGLES))
        question = "Are they shares of a whole, such as of a budget"
        is_shares = ask(question, "no", ("yes", "no")) == "yes"
        return {"size": number - 1}, "shares" if is_shares else "ambient"

    @property
    def coordinate_kinds(self):
        return (*{1: tuple(ANGLES), 2: ("latitude_longitude",)}.get(self.dim, ()), "shares")

    @property
    def centres(self):
        return {"anywhere": np.eye(self.dim + 1)[-1]}
