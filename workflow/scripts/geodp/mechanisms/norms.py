"""Norms of the gradient, in whose exponential a density falls."""

from abc import ABC, abstractmethod

import numpy as np


class Norm(ABC):
    """A norm that is the sum of the lengths of the parts of a linear image of the gradient."""

    @abstractmethod
    def parts(self, dim):
        """Matrix (dim, dim) of the linear image, and the number of equal parts it is cut into."""


class RiemannianNorm(Norm):
    """The Riemannian norm: one part."""

    def parts(self, dim):
        return np.eye(dim), 1
