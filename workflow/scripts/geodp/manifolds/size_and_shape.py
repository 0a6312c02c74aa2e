"""Sizes and shapes of planar landmarks."""

from typing import ClassVar

import numpy as np

from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.product import Product
from geodp.manifolds.unit_norm import squared_length


class SizeAndShape(Product):
    """Sizes and shapes of k planar landmarks: log centroid size beside the shape.

    Squared distances are those of shapes, in radians, and ``size_weight`` times the squared
    difference of log centroid sizes.  A point is the row of the log size and of a preshape's x1,
    y1, x2, y2, ....
    """

    keys = ("size", "size_weight")
    example: ClassVar[dict] = {"size": 4}
    smallest = 3
    responses = "planar landmarks x1, y1, x2, y2, ..., whose size counts beside their shape"

    def __init__(self, landmarks, size_weight=1.0):
        super().__init__([Euclidean(1), KendallPlanarShapes(landmarks)], [size_weight, 1.0])
        self.size = landmarks
        self.name = f"sizes (weight {size_weight:g}) and shapes of {landmarks} landmarks"

    @classmethod
    def of(cls, **settings):
        return cls(settings["size"], settings.get("size_weight", 1.0))

    @property
    def made_from(self):
        return {"size": self.size, "size_weight": self.weights[0]}

    @classmethod
    def size_of(cls, number):
        return number // 2

    def layouts(self):
        return {2 * self.size: "landmarks x1, y1, x2, y2, ..."}

    def from_layout(self, numbers):
        # Sizes that are zero or too large have no finite logarithm, and are no points.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            landmarks = numbers[:, 0::2] + 1j * numbers[:, 1::2]
            centred = landmarks - np.mean(landmarks, axis=-1, keepdims=True)
            sizes = np.log(squared_length(centred))[:, None] / 2.0
            return self.joined([sizes, self.factors[1].from_landmarks(landmarks)])

    def layout_fault(self, numbers):
        if not np.all(np.isfinite(self.from_layout(np.asarray(numbers, dtype=float)[None]))):
            return "landmarks are no finite numbers, all coincide, or are too large or too small"
        return None

    @property
    def coordinate_names(self):
        return [f"{axis}{k + 1}" for k in range(self.size) for axis in "xy"]

    def shown(self, points):
        """See `Manifold.shown`; landmarks of their size, turned as those of the first."""
        sizes, shapes = self.parts(points)
        return np.exp(sizes) * self.factors[1].shown(shapes)

    def drawn(self, centre, points, radii):
        """See `Manifold.drawn`; sizes by themselves, and landmarks of unit size."""
        names = ["log centroid size", *self.coordinate_names]
        what = "Log centroid size, and landmarks of unit size, of the prediction"
        return super().drawn(centre, points, radii)._replace(what=what, names=names)

    def _of_views(self, name, default):
        return [default] * (2 * self.size)
