"""A tangent vector carried in parallel along two ways between the same points on the sphere."""

import numpy as np

from reproduction.figures.sphere_view import SphereView
from reproduction.figures.style import CURVES, new_figure


def draw(numbers, params):
    places, vectors = ([f"{kind}_{axis}" for axis in (1, 2, 3)] for kind in ("point", "vector"))
    styles = {"C": CURVES[0], "C'": CURVES[1]}
    loops = list(numbers.groupby("loop", sort=False))
    figure, axes = new_figure(1, len(loops), width=3.7 * len(loops), height=4.0)
    for panel, (_, loop) in zip(axes[0], loops, strict=True):
        # The start, the corner of C', and the end of both.
        aside = loop[(loop["way"] == "C'") & (loop["fraction"] == 0.0)]
        corners = np.vstack([aside[places].to_numpy(), loop[places].iloc[[-1]].to_numpy()])
        centre = np.mean(corners, axis=0)
        view = SphereView.facing(centre, along=corners[1] - corners[0])
        view.draw_globe(panel)
        middle = view.flat(centre[None])[0]
        for way, along in loop.groupby("way", sort=False):
            points, carried = along[places].to_numpy(), along[vectors].to_numpy()
            curve, flat = styles[way], view.flat(points)
            panel.plot(*flat.T, color=curve.colour, linestyle=curve.line, linewidth=1.4, zorder=3)
            label = flat[len(flat) // 4]
            label = label + 0.1 * (label - middle) / np.linalg.norm(label - middle)
            panel.text(*label, way, color=curve.colour, ha="center", va="center")
            # An arrow at every sixth place, and a strong one at the end.
            for k in (*range(0, len(points) - 3, 6), len(points) - 1):
                last = k == len(points) - 1
                start, end = view.flat(np.stack([points[k], points[k] + carried[k]]))
                style = {"arrowstyle": "-|>", "linewidth": 2.0 if last else 0.8}
                style |= {"color": curve.colour, "alpha": 1.0 if last else 0.45}
                style |= {"shrinkA": 0, "shrinkB": 0}
                panel.annotate("", xy=end, xytext=start, arrowprops=style, zorder=4)
        angle, area = loop[["angle_between", "enclosed_area"]].iloc[0]
        panel.set_title(f"{angle:.4f} rad apart;\nthe ways enclose an area of {area:.4f}")
        panel.set_aspect("equal")
        panel.axis("off")
    return figure, numbers
