"""A tangent vector carried along two ways between the same points, around two triangles."""

from itertools import pairwise

import numpy as np
import pandas as pd

from geodp.manifolds.sphere import Sphere


def tabulate(job, places=31):
    """Places along both ways of each triangle, so many a side, with the vector carried there."""
    sphere = Sphere(2)
    # A right angle at each corner, an eighth of the sphere; and the same drawn to its middle.
    whole = np.eye(3)
    middle = sphere.project(np.ones(3))
    half = sphere.exp(middle, 0.5 * sphere.log(middle, whole))
    rows, turned = [], {}
    for loop, corners in (("large", whole), ("small", half)):
        start, end, aside = corners
        vector = sphere.project_tangent(start, middle)
        vector *= 0.35 / np.linalg.norm(vector)
        ends = []
        for way, path in (("C", (start, end)), ("C'", (start, aside, end))):
            carried = vector
            for side, (here, there) in enumerate(pairwise(path), start=1):
                step = sphere.log(here, there)
                for fraction in np.linspace(0.0, 1.0, places):
                    moved = sphere.transport(here, fraction * step, carried)
                    at = sphere.exp(here, fraction * step)
                    rows.append([loop, way, side, fraction, *at, *moved])
                carried = sphere.transport(here, step, carried)
            ends.append(carried)
        # Signed, about the outward normal at the end of both ways.
        by_one, by_other = ends
        angle = np.arctan2(np.dot(np.cross(by_one, by_other), end), np.dot(by_one, by_other))
        turned[loop] = {"angle_between": abs(angle), "enclosed_area": _area(sphere, corners)}
    names = [f"{kind}_{axis}" for kind in ("point", "vector") for axis in (1, 2, 3)]
    table = pd.DataFrame(rows, columns=["loop", "way", "side", "fraction", *names])
    of_loop = pd.DataFrame.from_dict(turned, orient="index")
    table = table.join(of_loop, on="loop")
    return table.assign(manifold=sphere.name, lock=job.params.lock)


def _area(sphere, corners):
    """Area of a geodesic triangle, by which its angles exceed those of a flat one."""
    angles = []
    for k, corner in enumerate(corners):
        sides = sphere.log(corner, np.delete(corners, k, axis=0))
        cosine = np.dot(*sides) / np.prod(np.linalg.norm(sides, axis=-1))
        angles.append(np.arccos(cosine))
    return np.sum(angles) - np.pi
