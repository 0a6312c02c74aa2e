"""Orthographic view of the unit sphere."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SphereView:
    """Orthographic view of the unit sphere.

    Attributes
    ----------
    rotation : ndarray, shape (3, 3)
        Its rows are the directions to the right, up and towards the viewer.
    """

    rotation: np.ndarray

    @classmethod
    def facing(cls, point, along):
        """View with ``point`` in the middle and ``along`` to the right."""
        toward = point / np.linalg.norm(point)
        right = along - np.dot(along, toward) * toward
        right /= np.linalg.norm(right)
        return cls(np.stack([right, np.cross(toward, right), toward]))

    def flat(self, points):
        """Positions on the page, shape (n, 2)."""
        return (points @ self.rotation.T)[:, :2]

    def split(self, points):
        """Page coordinates of points on the near side and of points on the far side.

        Returns
        -------
        tuple of ndarray, shape (2, n)
            With NaN where a point is on the other side.
        """
        turned = points @ self.rotation.T
        near = np.where(turned[:, 2:] >= 0, turned[:, :2], np.nan)
        far = np.where(turned[:, 2:] < 0, turned[:, :2], np.nan)
        return near.T, far.T

    def draw_globe(self, axes):
        """Outline, and a graticule every 30 degrees on the near side."""
        angle = np.linspace(0.0, 2.0 * np.pi, 181)
        axes.plot(np.cos(angle), np.sin(angle), color="0.6", linewidth=0.8, zorder=0)
        faint = {"color": "0.9", "linewidth": 0.6, "zorder": 0}
        across, lines = np.linspace(-np.pi / 2, np.pi / 2, 91), np.deg2rad([-60, -30, 0, 30, 60])
        for latitude in lines:
            level = np.full(91, np.sin(latitude))
            axes.plot(np.cos(latitude) * np.sin(across), level, **faint)
        for longitude in lines:
            axes.plot(np.cos(across) * np.sin(longitude), np.sin(across), **faint)
