"""One point for each subject of a table."""

import numpy as np

from geodp.models.geodesic import GeodesicModel


def subject_means(manifold, records):
    """Frechet means of subjects' records (subjects, *point_shape); all records if none is named."""
    if not records.subjects:
        return records.points
    model, subjects = GeodesicModel(manifold, 0), np.array(records.subjects)
    return np.stack(
        [
            model.fit(None, records.points[subjects == subject]).footpoint
            for subject in dict.fromkeys(records.subjects)
        ]
    )
