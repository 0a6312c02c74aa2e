"""Norms of the gradient, in whose exponential a density falls."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np


class Norm(ABC):
    """A norm that is the sum of the lengths of the parts of a linear image of the gradient."""

    @abstractmethod
    def parts(self, dim):
        """Matrix (dim, dim) of the linear image, and the number of equal parts it is cut into."""


@dataclass(frozen=True)
class RiemannianNorm(Norm):
    """The Riemannian norm: one part."""

    def parts(self, dim):
        return np.eye(dim), 1


@dataclass(frozen=True)
class HullNorm(Norm):
    """``|a/2 + b| + |a/2 - b|`` for the gradient a in the footpoint and b in the shooting vector.

    In flat space these are the lengths of the gradients at the geodesic's ends.
    """

    def parts(self, dim):
        return np.kron([[0.5, 1.0], [0.5, -1.0]], np.eye(dim // 2)), 2
