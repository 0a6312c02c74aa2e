"""The fit of a data set without privacy: parameters, records with residuals, and curves."""

import numpy as np
import pandas as pd
from scipy.stats import t

from geodp.data.columns import has_landmarks, landmark_columns
from geodp.data.coordinates import View
from geodp.data.triangles import upper_triangle
from geodp.manifolds.euclidean import Euclidean
from geodp.models.losses import SquaredDistance
from geodp.models.regression import FittedModel
from geodp_release.show.shape_pictures import landmarks_of
from reproduction.data.table import study_terms
from reproduction.jobs import load_arrays
from reproduction.models import load_fit, study_model


def tabulate(job, length=61):
    """A row for each parameter, record and place of curves, with other covariates at their means.

    A curve over a covariate of numbers has ``length`` places.
    """
    params, model = job.params, study_model(job.params)
    data, fit = load_arrays(job.input.data[0]), load_fit(job.input.fit[0], model).take(0)
    found = FittedModel(**vars(fit), covariates=data["covariates"][0], points=data["points"][0])
    terms, x = study_terms(params.data), data.get("columns", data["covariates"])[0]
    k = x.shape[1]
    label, several = params.covariate_label, [f"x{index + 1}" for index in range(k)]
    names = [label] if k == 1 else params.data.get("covariate", several)
    own = names if terms.is_plain else terms.names(names)

    def at(columns):
        """Covariates of columns from 0 to 1."""
        return columns if terms.is_plain else terms.expand(columns - 0.5)

    words = np.broadcast_to(params.data.get("transformation", "none"), k)
    low, high = np.reshape(data["covariate_range"], (-1, 2)).T
    common = {
        **{"manifold": model.manifold.name, "data": str(data["description"]), "n": len(x)},
        "r_squared": found.r_squared,
        "root_mean_squared_residual": np.sqrt(np.mean(found.distances**2)),
        **{"seed": params.seed, "lock": params.lock},
    }
    tables = []

    def add(kind, x, points, residual=np.nan, are_points=True):
        each = zip(names, words, (low + x * (high - low)).T, strict=True)
        columns = {f"covariate_{name}": np.exp(v) if w == "log" else v for name, w, v in each}
        columns |= {"residual": residual}
        columns |= _coordinates(params.data, model.manifold, points, found.footpoint, are_points)
        tables.append(pd.DataFrame(common | {"kind": kind} | columns))

    # With a basis it is the prediction nowhere.
    nowhere = np.full((1, k), np.nan)
    add("footpoint", np.zeros((1, k)) if terms.is_plain else nowhere, found.footpoint[None])
    add("record", x, found.points, found.distances)
    for index, name in enumerate(names):
        # Of words the reference, and each.
        listed = [bool(terms.words(each)) for each in range(k)] if terms.bases else [False] * k
        count = len(terms.words(index)) if listed[index] else length
        places = np.tile(np.where(listed, 0.0, np.mean(x, axis=0)), (count, 1))
        places[:, index] = np.linspace(np.min(x[:, index]), np.max(x[:, index]), count)
        add(f"curve of {name}", places, found.predict(at(places)))
    for name, vector in zip(own, found.shooting_vectors, strict=True):
        add(f"shooting vector of {name}", nowhere, vector[None], are_points=False)
    if isinstance(model.manifold, Euclidean) and isinstance(model.loss, SquaredDistance):
        kinds = ["footpoint", *(f"shooting vector of {name}" for name in own)]
        for what, rows in uncertainties(found).items():
            for kind, row in zip(kinds, rows, strict=True):
                add(f"{what} of {kind}", nowhere, row[None], are_points=False)
    return pd.concat(tables)


def uncertainties(found, level=0.95):
    """Standard errors and limits (1 + k, dim) of least-squares coefficients in flat space.

    Of records that are independent, with residuals of one variance in each coordinate; limits are
    Student's.
    """
    design = np.insert(found.covariates, 0, 1.0, axis=1)
    freedom = len(design) - design.shape[1]
    variances = np.sum(found.residuals**2, axis=0) / freedom
    errors = np.sqrt(np.outer(np.diagonal(np.linalg.inv(design.T @ design)), variances))
    values = np.stack([found.footpoint, *found.shooting_vectors])
    half = t.ppf(0.5 + 0.5 * level, freedom) * errors
    within = f"{100 * level:g} % limit"
    return {
        "standard error": errors,
        f"lower {within}": values - half,
        f"upper {within}": values + half,
    }


def _coordinates(data, manifold, points, footpoint, are_points):
    """Columns of points (n, *point_shape), as the file has them, or of vectors at the footpoint."""
    names, form = data.get("columns") or [], data.get("coordinates")
    numbers = points.reshape((len(points), -1))
    if has_landmarks(manifold):
        turned = landmarks_of if are_points else lambda space, _, each: space.to_landmarks(each)
        numbers = np.ascontiguousarray(turned(manifold, footpoint, points)).view(float)
        names = landmark_columns(numbers.shape[1] // 2)
    elif points.ndim == 3:
        if len(names) < numbers.shape[1]:
            upper = points[:, *np.triu_indices(points.shape[1])]
            places, factors = upper_triangle(form, upper.shape[1])
            numbers = np.empty_like(upper)
            numbers[:, places] = upper / factors
    elif are_points and (manifold.factors or form not in (None, "ambient")):
        view = View(manifold, form)
        middle, *rest = view.values(np.concatenate([footpoint[None], points]))
        # Angles and longitudes in one piece about the footpoint.
        numbers, periods = np.array(rest), np.array(view.periods)
        turns = np.round((numbers - middle) / periods)
        numbers -= turns * np.where(np.isfinite(periods), periods, 0.0)
    if len(names) != numbers.shape[1]:
        names = range(1, numbers.shape[1] + 1)
    return {f"coordinate_{name}": column for name, column in zip(names, numbers.T, strict=True)}
