"""A tangent vector carried around a geodesic triangle on the sphere."""

from reproduction.tables import Needs

# Places along each side, its ends included.
PLACES = 31


def needs(study, figure, studies):
    """See `Needs`: none, since the triangle is always the same."""
    return Needs()


def tabulate(job):
    """Places along the loop, with the vector carried there."""
    from itertools import pairwise

    import numpy as np
    import pandas as pd

    from geodp.manifolds.sphere import Sphere

    # A triangle with a right angle at each corner: an eighth of the sphere.
    corners = np.eye(3)[[0, 1, 2, 0]]
    sphere = Sphere(2)
    vector = 0.35 * np.array([0.0, np.cos(np.pi / 6), np.sin(np.pi / 6)])
    rows = []
    for side, (start, end) in enumerate(pairwise(corners), start=1):
        direction = sphere.log(start, end)
        for fraction in np.linspace(0.0, 1.0, PLACES):
            step = fraction * direction
            place = sphere.exp(start, step)
            carried = sphere.transport(start, step, vector)
            rows.append([side, fraction, *place, *carried])
        vector = sphere.transport(start, direction, vector)
    first, last = np.array(rows[0][5:]), np.array(rows[-1][5:])
    # Signed, about the outward normal at the corner where the loop begins and ends.
    turned = np.arctan2(np.dot(np.cross(first, last), corners[0]), np.dot(first, last))
    names = [f"{kind}_{axis}" for kind in ("point", "vector") for axis in (1, 2, 3)]
    table = pd.DataFrame(rows, columns=["side", "fraction", *names])
    # The angles of a geodesic triangle exceed those of a flat one by the area it encloses.
    sides = [
        (sphere.log(here, there), sphere.log(here, before))
        for before, here, there in zip(corners[[2, 0, 1]], corners[:3], corners[1:], strict=True)
    ]
    cosines = [np.dot(*pair) / np.prod(np.linalg.norm(pair, axis=-1)) for pair in sides]
    area = np.sum(np.arccos(cosines)) - np.pi
    return table.assign(
        manifold=sphere.name,
        angle_after_loop=turned,
        enclosed_area=area,
        lock=job.params.lock,
    )
