"""Rotations of three-dimensional space."""

from typing import ClassVar

import numpy as np

from geodp.manifolds.manifold import Manifold
from geodp.manifolds.product import Product
from geodp.manifolds.sphere import RealProjective

# Largest difference of an entry of ``R^T R`` from that of the identity, of a matrix that is a
# rotation but for rounding.
ORTHOGONAL = 1e-4

FORMS = MATRIX, QUATERNION = "matrix", "quaternion"


class Rotations(Product):
    """SO(3), the rotations of space; their distance is the angle between them, in radians.

    That is 1/sqrt(2) times Frobenius' length of a path of matrices.  A point is a unit
    quaternion (w, x, y, z), q and -q the same rotation. Two quaternions are half the angle of
    their rotations apart: the space is RP^3 with the metric times 4, which makes curvature 1/4
    (locally that of S^3 of radius 2) and the injectivity radius pi.

    Parameters
    ----------
    coordinates : {"matrix", "quaternion"}
        What columns of a point hold: a matrix row by row, or a quaternion, w first.  A matrix is
        one whose ``R^T R`` is the identity within `ORTHOGONAL` in each entry, with a positive
        determinant; the nearest rotation is taken.
    """

    keys = ("coordinates",)
    example: ClassVar[dict] = {"coordinates": MATRIX}
    responses = "rotations, as matrices row by row or as quaternions, w first"

    def __init__(self, coordinates=MATRIX):
        super().__init__([RealProjective(3)], [4.0])
        self.factors[0].norm_word = "length as a quaternion"
        self.name = "rotations SO(3)"
        self.is_matrix = coordinates == MATRIX
        if not self.is_matrix:
            self.other_orders = (
                ("as if w came last", lambda count: np.roll(range(count), 1), True),
            )

    @classmethod
    def of(cls, **settings):
        return cls(**settings)

    @classmethod
    def asked(cls, columns, number, ask):
        return {"coordinates": QUATERNION if number == 4 else MATRIX}, "ambient"

    @property
    def made_from(self):
        return {"coordinates": MATRIX if self.is_matrix else QUATERNION}

    def from_matrices(self, matrices):
        """Points (n, 4) of the rotations nearest to matrices (n, 3, 3); NaN where there is none."""
        from scipy.spatial.transform import Rotation  # slow to load

        usable = (self._fault(matrices) == 0)[:, None]
        safe = np.where(usable[..., None], matrices, np.eye(3))
        return np.where(usable, Rotation.from_matrix(safe).as_quat(scalar_first=True), np.nan)

    def _fault(self, matrices):
        """0 of rotations, 1 of what is not orthogonal, 2 of mirrors; (...)."""
        products = np.sum(matrices[..., :, :, None] * matrices[..., :, None, :], axis=-3)
        away = np.max(np.abs(products - np.eye(3)), axis=(-2, -1))
        first, second, third = np.moveaxis(matrices, -2, 0)
        sense = np.sum(np.cross(first, second) * third, axis=-1)
        is_orthogonal = away <= ORTHOGONAL
        return np.where(is_orthogonal, np.where(sense > 0.0, 0, 2), 1)

    def to_matrices(self, points):
        """Matrices (n, 3, 3) of points (n, 4)."""
        from scipy.spatial.transform import Rotation

        return Rotation.from_quat(points, scalar_first=True).as_matrix()

    def layouts(self):
        if self.is_matrix:
            return {9: "the rotation matrix row by row"}
        return {4: "the unit quaternion, w first"}

    def from_layout(self, numbers):
        return self.from_matrices(numbers.reshape((-1, 3, 3))) if self.is_matrix else numbers

    def layout_fault(self, numbers):
        if not self.is_matrix:
            return None
        words = None, "the matrix is not orthogonal", "the matrix is a mirror image of a rotation"
        return words[int(self._fault(np.reshape(numbers, (3, 3))))]

    def invalid_reason(self, array):
        """See `Manifold.invalid_reason`; points are quaternions, whatever the columns hold."""
        return self.factors[0].invalid_reason(array)

    @property
    def centres(self):
        return dict.fromkeys(("identity", "anywhere"), np.eye(4)[0])

    @property
    def coordinate_names(self):
        if self.is_matrix:
            return [f"entry {i},{j}" for i in (1, 2, 3) for j in (1, 2, 3)]
        return ["w", "x", "y", "z"]

    def shown(self, points):
        if self.is_matrix:
            return self.to_matrices(points).reshape((-1, 9))
        return self.factors[0].in_one_piece(points, place=0)

    # Figures show them as other spaces' points: an entry of a matrix moves by no more than the
    # operator norm of the difference, which is 2 sin(angle / 2), and one of a quaternion by half
    # the angle.
    drawn, periods, units = Manifold.drawn, Manifold.periods, Manifold.units
