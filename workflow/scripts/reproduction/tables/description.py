"""Description of a study's data, with notes from reading them."""

import numpy as np
import pandas as pd

from reproduction.jobs import load_arrays
from reproduction.models import study_manifold


def describe(job):
    """A row for each note on a group's data, and one for a group without notes."""
    params = job.params
    manifold = study_manifold(params.manifold)
    rows = []
    for group, path in zip(params.groups, job.input.data, strict=True):
        data = load_arrays(path)
        subjects = data.get("subjects", np.zeros(0))
        low, high = data["covariate_range"].T.tolist()
        common = {
            "study": job.wildcards.study,
            "group": group,
            "manifold": manifold.name,
            "data": str(data["description"]),
            "data_sets": data["covariates"].shape[0],
            "records": data["points"].shape[1],
            "subjects": len(np.unique(subjects)) if subjects.size else "",
            "transformation": params.transformation,
            "transformed_covariate_at_0": low,
            "transformed_covariate_at_1": high,
            "seed": params.seed,
            "lock": params.lock,
        }
        rows += [{**common, "note": note} for note in list(data.get("notes", [])) or [""]]
    return pd.DataFrame(rows)
