"""Effective draws per second on one space: the default sampler and both random walks."""

from reproduction.jobs import job, save_table
from reproduction.measurements import one_thread  # noqa: F401

with job(snakemake):
    import pandas as pd

    from reproduction.measurements.benchmark import COLUMNS, SPACES, measure_sampling

    settings, grid = snakemake.params.settings, snakemake.params.grid
    space = SPACES[snakemake.params.space]
    numbers, budgets = grid["n"], grid["budgets"]
    # Once to load all that is used.
    hasty = settings | {"seconds": dict.fromkeys(settings["seconds"], 0.0)}
    measure_sampling(space, numbers[0], budgets[0], hasty, snakemake.input.rats)
    if "chain" in grid:
        settings = settings | {"seconds": settings["seconds"] | {"chain": grid["chain"]}}
    rows = []
    for number in numbers:
        # Where a cell takes long the ends of the budgets must do.
        largest = number == max(numbers) and len(numbers) > 1
        for budget in [budgets[0], budgets[-1]] if largest else budgets:
            rows += measure_sampling(space, number, budget, settings, snakemake.input.rats)
    save_table(snakemake.output[0], pd.DataFrame(rows, columns=COLUMNS))
