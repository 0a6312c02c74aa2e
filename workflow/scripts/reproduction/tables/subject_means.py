"""One point for each subject of a table, for tables of means; and coordinates as columns."""

import numpy as np

from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.models.geodesic import GeodesicModel
from reproduction.data.table import read_settings


def place(job):
    """Configuration key of a table."""
    return f"studies.{job.params.study}.tables.{job.wildcards.table}"


def read_means(job, manifold):
    """Frechet means of subjects' records (subjects, *point_shape); all records if none is named."""
    chosen = job.params.settings
    about = (chosen["manifold"], chosen["data"], f"{place(job)}.data")
    records = read_settings(job.input.table, *about)
    if not records.subjects:
        return records.points
    model, subjects = GeodesicModel(manifold, 0), np.array(records.subjects)
    own = (records.points[subjects == subject] for subject in dict.fromkeys(records.subjects))
    return np.stack([model.fit(None, points).footpoint for points in own])


def coordinates(manifold, mean, points):
    """Columns of points, by name; of shapes turned to the mean their landmarks."""
    if not isinstance(manifold, KendallPlanarShapes):
        flat = points.reshape(len(points), -1)
        return {f"coordinate_{k}": column for k, column in enumerate(flat.T, 1)}
    places = manifold.to_landmarks(manifold.align(mean, points))
    return {
        f"{axis}{k}": part
        for k, column in enumerate(places.T, 1)
        for axis, part in (("x", column.real), ("y", column.imag))
    }
