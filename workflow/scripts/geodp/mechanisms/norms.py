"""Norms of gradients that densities fall with."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np


class Norm(ABC):
    """A sum of lengths of parts of a linear image of the gradient."""

    @abstractmethod
    def parts(self, dim):
        """Matrix (dim, dim) whose image of a gradient is cut into parts, and their number."""


@dataclass(frozen=True)
class RiemannianNorm(Norm):
    """The Riemannian length."""

    def parts(self, dim):
        return np.eye(dim), 1


@dataclass(frozen=True)
class HullNorm(Norm):
    """``|a/2 + b| + |a/2 - b|`` of the two gradients (a, b) of a geodesic, footpoint's first.

    In flat space these are the lengths of the gradients at the geodesic's ends.
    """

    def parts(self, dim):
        return np.kron([[0.5, 1.0], [0.5, -1.0]], np.eye(dim // 2)), 2
