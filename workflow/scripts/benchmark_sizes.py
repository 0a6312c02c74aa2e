"""Time and memory of fits and gradients against the number of records."""

from reproduction.jobs import job, save_table
from reproduction.measurements import one_thread  # noqa: F401

with job(snakemake):
    from pathlib import Path
    from tempfile import TemporaryDirectory

    import numpy as np
    import pandas as pd

    from reproduction.measurements.benchmark import (
        COLUMNS,
        SPACES,
        make_data,
        measure_size_apart,
        row,
    )

    settings = snakemake.params.settings
    rows = []
    for name in snakemake.params.spaces:
        for number in settings["sizes"]["n"]:
            with TemporaryDirectory(dir=Path(snakemake.output[0]).parent) as folder:
                data = make_data(SPACES[name], number, settings["seed"], snakemake.input.rats)
                for kind, array in zip(("covariates", "points"), data, strict=True):
                    np.save(Path(folder) / f"{kind}.npy", array)
                del data
                found = measure_size_apart(folder, name)
            note = f"{found['iterations']} iterations"
            if not found["converged"]:
                note += ", not converged"
            for what, key, unit, scale in (
                ("time against n", "fit_seconds", "s", 1.0),
                ("memory beyond the data", "fit_memory", "MB", 1e6),
                ("time against n", "gradient_seconds", "s", 1.0),
                ("memory beyond the data", "gradient_memory", "MB", 1e6),
            ):
                method = key.partition("_")[0]
                value = found[key] / scale
                said = note if method == "fit" else ""
                rows.append(row(what, name, number, method, value, unit, note=said))
            rows.append(row("size of the data", name, number, "", found["data"] / 1e6, "MB"))
    save_table(snakemake.output[0], pd.DataFrame(rows, columns=COLUMNS))
