"""Predictions at chosen values of the covariate, with and without privacy."""

from reproduction.tables import Needs


def needs(study, figure, studies):
    """See `Needs`: one cell, by each sampler that the figure shows."""
    group, samplers = study.shown_group(figure), study.shown_samplers(figure)
    chosen = study.settings["figures"][figure]
    return Needs(
        groups=((study.name, group),),
        files=("data.npz", "fit.json", "sensitivity.npz"),
        cells=tuple((group, chosen["cell"], sampler) for sampler in samplers),
        params={
            "name": figure,
            "figure": chosen,
            "samplers": samplers,
            "budgets": study.cells[group][chosen["cell"]],
            "transformation": study.transformation,
        },
    )


def tabulate(job):
    """Coordinates or landmarks of every prediction, a row each."""
    import numpy as np
    import pandas as pd

    from geodp.mechanisms.base import sampled_by
    from reproduction.fits import load_fit
    from reproduction.jobs import load_arrays
    from reproduction.models import study_model
    from reproduction.tables.evaluation import budget_columns

    params, settings = job.params, job.params.figure
    model = study_model(params)
    manifold = model.manifold
    [data], [fit], [bound] = job.input.data, job.input.fit, job.input.sensitivity
    data, bound = load_arrays(data), load_arrays(bound)
    values = settings["values"]
    scaled = _scaled(params, values, data["covariate_range"])
    count = settings["draws"]
    fitted = model.predict(load_fit(fit, model).take(0).parameters, scaled)
    predicted = {"": (fitted[None], np.zeros((1, len(values))), {})}
    for sampler, path in zip(params.samplers, job.input.cells, strict=True):
        draws = load_arrays(path)
        footpoints, vectors = (draws[block][0, :count] for block in model.blocks)
        private = model.predict(model.parameters(footpoints, vectors[:, 0]), scaled)
        drawn_by = sampled_by(draws, params.budgets)
        predicted[sampler] = (private, manifold.dist(fitted, private), drawn_by)

    tables = []
    for sampler, (sequences, distances, drawn_by) in predicted.items():
        if settings["kind"] == "shapes":
            # Rotations do not change shapes: align each private one with the non-private.
            sequences = manifold.align(
                manifold.to_landmarks(fitted), manifold.to_landmarks(sequences)
            )
        for draw, sequence in enumerate(sequences):
            for value, point, distance in zip(values, sequence, distances[draw], strict=True):
                columns = {
                    "kind": "private" if sampler else "without privacy",
                    "sampler": sampler,
                    **drawn_by,
                    "manifold": manifold.name,
                    "data": str(data["description"]),
                    "n": data["points"].shape[1],
                    "draw": draw + 1,
                    "cell": settings["cell"],
                    **budget_columns(params.budgets),
                    "guarantee": str(bound["guarantee"]),
                    "seed": params.seed,
                    "lock": params.lock,
                    "covariate": value,
                    "distance": distance,
                    **_coordinates(settings["kind"], point),
                }
                tables.append(pd.DataFrame(columns))
    return pd.concat(tables)


def _scaled(params, values, limits):
    """Values of the covariate, transformed and scaled to [0, 1] as in the regression."""
    import numpy as np

    from geodp.data.records import TRANSFORMATIONS
    from geodp.errors import DataError

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
