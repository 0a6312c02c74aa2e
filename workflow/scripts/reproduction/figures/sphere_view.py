"""Orthographic view of the unit sphere."""

from dataclasses import dataclass

import numpy as np
from matplotlib.patches import Rectangle


@dataclass(frozen=True)
class SphereView:
    """Orthographic view of the unit sphere.

    Rows of ``rotation`` (3, 3) are the directions to the right, up and towards the viewer.
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
        """Page coordinates (2, n) on the near side and on the far side, NaN on the other one."""
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


def draw_scene(panels, records, fitted, drawn=()):
    """A globe and in a second panel, larger, its part with the records (n, 3) and the fit (m, 3).

    Drawn geodesics have a colour, places, and whether they are refused: these are dashed.  Draws
    may leave the part.  Returns whether some of a drawn geodesic is on the far side, where it is
    dotted.
    """
    hidden, view = False, SphereView.facing(fitted[len(fitted) // 2], along=fitted[-1] - fitted[0])
    seen = view.flat(np.concatenate([records, fitted]))
    low, high = seen.min(axis=0), seen.max(axis=0)
    half = min(1.05, 0.54 * np.max(high - low))
    corner = 0.5 * (low + high) - half
    for panel in panels:
        view.draw_globe(panel)
        front, back = view.split(records)
        panel.plot(*front, ".", color="0.45", markersize=4, zorder=2)
        panel.plot(*back, ".", color="0.8", markersize=3, zorder=1)
        for colour, points, is_refused in drawn:
            front, back = view.split(points)
            dashes = "--" if is_refused else "-"
            panel.plot(*front, color=colour, linewidth=1.3, linestyle=dashes, zorder=3)
            panel.plot(*back, color=colour, linewidth=0.9, linestyle=":", zorder=1)
            hidden |= bool(np.any(np.isfinite(back)))
        front, _ = view.split(fitted)
        panel.plot(*front, color="black", linewidth=2.4, zorder=5)
        panel.set_aspect("equal")
        panel.axis("off")
        frame = {"fill": False, "edgecolor": "0.3", "linewidth": 0.8, "zorder": 6}
        panel.add_patch(Rectangle(corner, 2.0 * half, 2.0 * half, **frame))
    (left, low), (right, high) = corner, corner + 2.0 * half
    panels[1].set(xlim=(left, right), ylim=(low, high))
    return hidden
