"""Predictions at chosen values of the covariate, with and without privacy."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from geodp.data.records import TRANSFORMATIONS
from geodp.errors import DataError
from geodp.mechanisms.mechanism import sampled_by
from geodp_release.show.pictures import ellipse_factors
from geodp_release.show.shape_pictures import landmark_radii
from reproduction.jobs import load_arrays, load_cells
from reproduction.models import load_fit, load_mechanism, study_model
from reproduction.tables.evaluation import budget_columns, is_refused, stated


def tabulate(job, level=0.9):
    """Coordinates or landmarks of every prediction, a row each; bands of releases at a level."""
    params, settings, tables = job.params, job.params.settings, []
    model = study_model(params)
    manifold, values, count = model.manifold, settings["values"], settings["draws"]
    [data_file], [fit] = job.input.data, job.input.fit
    data = load_arrays(data_file)
    scaled = _scaled(params, values, data["covariate_range"])
    fitted = model.predict(load_fit(fit, model).take(0).parameters, scaled)

    def add(sequences, band=None, **columns):
        """Predictions (draws, values, *point_shape), of which the first may have a band."""
        distances = manifold.dist(fitted, sequences)
        banded = [{}] * len(values)
        if band is not None:
            # Of discs about landmarks, or factors by which ellipses may grow.
            radii = np.asarray(ellipse_factors(band))
            if settings["kind"] == "shapes":
                radii = landmark_radii(manifold, sequences[0], band)
            banded = [
                {"band": width, "band_level": level, "radius": radius}
                for width, radius in zip(band, radii, strict=True)
            ]
        if settings["kind"] == "shapes":
            # Rotations do not change shapes: align each private one with the non-private.
            sequences = manifold.align(
                manifold.to_landmarks(fitted), manifold.to_landmarks(sequences)
            )
        for draw, index in np.ndindex(sequences.shape[:2]):
            row = columns | {
                **{"manifold": manifold.name, "data": str(data["description"])},
                **{"n": data["points"].shape[1], "draw": draw + 1},
                **{"seed": params.seed, "lock": params.lock},
                **{"covariate": values[index], "distance": distances[draw, index]},
                **_coordinates(settings["kind"], sequences[draw, index]),
                **(banded[index] if draw == 0 else {}),
            }
            tables.append(pd.DataFrame(row))

    add(fitted[None], kind="without privacy", sampler="")
    for (cell, sampler, budgets), path in zip(params.shown, job.input.cells, strict=True):
        draws, band = load_cells(path)[cell], None
        footpoints, vectors = (draws[block][0, :count] for block in model.blocks)
        if sampler == "release":
            # The radii of its band follow from its public inputs.
            public = SimpleNamespace(**params.released)
            mechanism = load_mechanism(model, public, params.study, data_file, fit)
            first = model.parameters(footpoints[0], vectors[0, 0])
            band = mechanism.band(budgets, first, scaled, level)
        add(
            model.predict(model.parameters(footpoints, vectors[:, 0]), scaled),
            band,
            kind="private",
            sampler=sampler,
            cell=cell,
            **budget_columns(budgets),
            refused=is_refused(draws),
            **stated(draws, "mechanism", "guarantee"),
            **sampled_by(draws, budgets),
        )
    return pd.concat(tables)


def _scaled(params, values, limits):
    """Values of the covariate, transformed and scaled to [0, 1] as in the regression."""
    low, high = limits
    transformation = TRANSFORMATIONS[params.transformation]
    scaled = np.array([(transformation(value) - low) / (high - low) for value in values])
    if np.any(scaled < -1e-9) or np.any(scaled > 1 + 1e-9):
        outside = values[int(np.argmax(np.abs(scaled - 0.5)))]
        raise DataError(
            f"configuration key studies.{params.study}.figures.{params.name}.values: {outside:g} "
            "lies outside the data's covariates"
        )
    return scaled


def _coordinates(kind, point):
    """Columns of one predicted point: landmarks, a row each, or coordinates."""
    if kind == "shapes":
        return {"landmark": range(1, len(point) + 1), "x": point.real, "y": point.imag}
    return {f"coordinate_{k + 1}": [value] for k, value in enumerate(point.ravel())}
