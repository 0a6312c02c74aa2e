"""Predicted points at chosen covariate values, with and without privacy."""

from reproduction.jobs import job, load_arrays, load_json, save_table

with job(snakemake):
    import numpy as np
    import pandas as pd

    from geodp.data.records import TRANSFORMATIONS
    from geodp.errors import DataError
    from geodp.mechanisms.draws import sampled_by
    from geodp.models.regression import predict
    from reproduction.inputs import load_manifold

    manifold = load_manifold(snakemake)
    settings = snakemake.params.figure
    data, found = load_arrays(snakemake.input.data), load_json(snakemake.input.fit)
    low, high = data["covariate_range"]
    transformation = TRANSFORMATIONS[snakemake.params.transformation]
    values = settings["values"]
    scaled = np.array([(transformation(value) - low) / (high - low) for value in values])
    if np.any(scaled < -1e-9) or np.any(scaled > 1 + 1e-9):
        outside = values[int(np.argmax(np.abs(scaled - 0.5)))]
        raise DataError(
            f"configuration key studies.{snakemake.params.study}.figures."
            f"{snakemake.params.name}.values: {outside:g} lies outside the data's covariates"
        )
    count = settings.get("draws", 1)
    fitted = predict(manifold, found["footpoint"][0], found["shooting_vector"][0], scaled)
    # Without privacy nothing is drawn.
    predicted = {"": (fitted[None], np.zeros((1, len(values))), {})}
    for sampler, path in zip(snakemake.params.samplers, snakemake.input.cells, strict=True):
        draws = load_arrays(path)
        private = predict(
            manifold, draws["footpoint"][0][:count], draws["shooting_vector"][0, :count, 0], scaled
        )
        predicted[sampler] = (private, manifold.dist(fitted, private), sampled_by(draws))

    def coordinates(point):
        """Columns of one predicted point: landmarks, a row each, or coordinates."""
        if settings["kind"] == "shapes":
            return {"landmark": range(1, len(point) + 1), "x": point.real, "y": point.imag}
        return {f"coordinate_{k + 1}": [value] for k, value in enumerate(point.ravel())}

    rows = []
    for sampler, (sequences, distances, drawn_by) in predicted.items():
        if settings["kind"] == "shapes":
            # A shape has no orientation: turn each private one to the non-private.
            sequences = manifold.align(
                manifold.to_landmarks(fitted), manifold.to_landmarks(sequences)
            )
        for draw, sequence in enumerate(sequences):
            for value, point, distance in zip(values, sequence, distances[draw], strict=True):
                rows.append(
                    pd.DataFrame(
                        {
                            "kind": "as published" if sampler else "without privacy",
                            "sampler": sampler,
                            **drawn_by,
                            "manifold": manifold.name,
                            "data": str(data["description"]),
                            "draw": draw + 1,
                            "cell": settings["cell"],
                            "seed": snakemake.params.seed,
                            "lock": snakemake.params.lock,
                            "covariate": value,
                            "distance": distance,
                            **coordinates(point),
                        }
                    )
                )
    save_table(snakemake.output[0], pd.concat(rows))
