"""Losses of a record: functions of the distance between its point and its prediction."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class Loss(ABC):
    """Loss of a record as a function of its distance d to the prediction."""

    name: str  # In configurations.
    # Distance from which the loss is linear, so that no record pulls at a fit more strongly than
    # one at this distance; infinite for least squares.
    linear_from: Any = np.inf

    @abstractmethod
    def values(self, squared_distances):
        """Losses, from squared distances of any shape."""

    @abstractmethod
    def weights(self, squared_distances):
        """Weights of residuals in the gradient: loss'(d) / d, or ``None`` where all are one."""


@dataclass(frozen=True)
class SquaredDistance(Loss):
    """``d^2 / 2``, least squares (Kulkarni and Soto, eq. 3)."""

    name = "squared_distance"

    def values(self, squared_distances):
        return 0.5 * squared_distances

    def weights(self, squared_distances):
        return None


@dataclass(frozen=True)
class Huber(Loss):
    """``d^2 / 2`` up to a threshold c, and ``c d - c^2 / 2`` beyond (Huber 1964).

    Attributes
    ----------
    threshold : float
        c, in the manifold's unit of length.  About 1.5 times the usual residual is customary.
    """

    threshold: float = field(
        metadata={"description": "Where the loss becomes linear, in the manifold's unit of length."}
    )
    name = "huber"

    def __post_init__(self):
        if not self.threshold > 0.0:
            raise ValueError(
                f"the threshold of Huber's loss is {self.threshold:g}: give a positive length"
            )

    @property
    def linear_from(self):
        return self.threshold

    def values(self, squared_distances):
        distances = np.sqrt(squared_distances)
        clipped = np.minimum(distances, self.threshold)
        return clipped * (distances - 0.5 * clipped)

    def weights(self, squared_distances):
        distances = np.sqrt(squared_distances)
        clipped = np.minimum(distances, self.threshold)
        ones = np.ones_like(distances)
        return np.divide(clipped, distances, out=ones, where=distances > 0.0)


@dataclass(frozen=True)
class Distance(Loss):
    """``d`` itself; with no covariate its minimum is the geometric median.

    At distance zero, where the loss has no derivative, a record does not enter the gradient.
    """

    name = "distance"
    linear_from = 0.0

    def values(self, squared_distances):
        return np.sqrt(squared_distances)

    def weights(self, squared_distances):
        distances = np.sqrt(squared_distances)
        return np.divide(1.0, distances, out=np.zeros_like(distances), where=distances > 0.0)


# By the name a configuration gives them; their fields, positive numbers, are keys there.
LOSSES = {loss.name: loss for loss in (SquaredDistance, Distance, Huber)}
