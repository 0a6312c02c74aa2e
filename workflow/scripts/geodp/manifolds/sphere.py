"""The unit sphere S^d in R^(d+1), and projective spaces: unit vectors up to a phase.

Real ones are axes.
"""

import numpy as np

from geodp.data.angles import ANGLES, told_angle
from geodp.manifolds.unit_norm import UnitNormSpace, hermitian


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


class ProjectiveSpace(UnitNormSpace):
    """Unit vectors up to a phase: a sign if they are real.  Tangent vectors are horizontal lifts.

    A point is any of its representatives, and a tangent vector is at the one that is given.
    Distances are radians, at most pi/2, which is the injectivity radius.
    """

    injectivity_radius = np.pi / 2
    is_quotient = True

    def align(self, point, other):
        """Representative of ``other`` nearest to ``point``."""
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


class RealProjective(RealUnitVectors, ProjectiveSpace):
    """RP^d, the axes of R^(d+1): a unit vector x and -x are one point, distances radians.

    The sphere covers it twice and locally isometrically, so that its curvature is 1.  Two axes are
    at most pi/2 apart; shorter geodesics are the shortest between their ends, and the only ones.
    """

    responses = "axes: directions without a sense, by latitude and longitude, or as unit vectors"

    def __init__(self, dimension: int):
        super().__init__(dimension)
        self.name = f"projective space RP^{dimension}"

    @classmethod
    def asked(cls, columns, number, ask):
        if number == 2:
            return {"size": 2}, "latitude_longitude"
        if number == 1:
            return {"size": 1}, ask("Unit of the angle", "degrees", ("degrees", "radians"))
        return super().asked(columns, number, ask)

    @property
    def made_from(self):
        return {"size": self.size}

    @property
    def coordinate_kinds(self):
        kinds = {1: tuple(name for name in ANGLES if ANGLES[name].unit in ("degrees", "radians"))}
        return kinds.get(self.dim, ("latitude_longitude",) if self.dim == 2 else ())

    def _seen(self, point, other):
        """See `UnitNormSpace`; the nearer representative, so that nearby points lose no digits."""
        sign = np.where(hermitian(point, other) < 0.0, -1.0, 1.0)
        tangent, sine, cosine, _ = super()._seen(point, sign[..., None] * other)
        return tangent, sine, cosine, 1.0

    def in_one_piece(self, points, place=None):
        """Representatives (n, d + 1) each next to the one before.

        Of the first the number at a place is positive, by default the longest one, whose sign
        noise about zero does not change.
        """
        points = np.array(points)
        given = points[0][np.argmax(np.abs(points[0])) if place is None else place]
        signs = np.where(np.sum(points[1:] * points[:-1], axis=-1) < 0.0, -1.0, 1.0)
        return points * np.cumprod([np.copysign(1.0, given), *signs])[:, None]

    def shown(self, points):
        return self.in_one_piece(points)
