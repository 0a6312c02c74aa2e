"""Predicted shapes at chosen covariate values, with and without privacy."""

from jobs import job, load_arrays, load_json, save_table

with job(snakemake):
    import numpy as np
    import pandas as pd
    from inputs import load_manifold

    from geodp.errors import DataError
    from geodp.records import TRANSFORMATIONS
    from geodp.regression import predict

    manifold = load_manifold(snakemake)
    settings = snakemake.params.figure
    data, found = load_arrays(snakemake.input.data), load_json(snakemake.input.fit)
    draws = load_arrays(snakemake.input.cell)
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
    footpoints = draws["footpoint"][0]
    count = settings.get("draws", 1)
    fitted = predict(manifold, found["footpoint"][0], found["shooting_vector"][0], scaled)
    private = predict(manifold, footpoints[:count], draws["shooting_vector"][0, :count, 0], scaled)
    # A shape has no orientation: turn each private one to the non-private.
    private = manifold.align(fitted, private)
    rows = []
    for kind, shapes in (("without privacy", fitted[None]), ("as published", private)):
        for draw, sequence in enumerate(shapes):
            for value, shape in zip(values, sequence, strict=True):
                rows.append(
                    pd.DataFrame(
                        {
                            "kind": kind,
                            "draw": draw + 1,
                            "cell": settings["cell"],
                            "seed": snakemake.params.seed,
                            "lock": snakemake.params.lock,
                            "covariate": value,
                            "landmark": range(1, len(shape) + 1),
                            "x": shape.real,
                            "y": shape.imag,
                        }
                    )
                )
    save_table(snakemake.output[0], pd.concat(rows))
