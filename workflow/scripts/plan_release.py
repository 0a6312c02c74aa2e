"""Predicted errors of a certified release over numbers of subjects and budgets."""

from jobs import job, replacing, save_table

with job(snakemake):
    from concurrent.futures import ProcessPoolExecutor
    from itertools import product, repeat

    import numpy as np
    import pandas as pd
    from inputs import study_manifold
    from plan_figure import draw

    from geodp.mechanisms.certified import Scales
    from geodp.planner import Planner
    from geodp.plotting import FORMATS, save_figure
    from geodp.release_planner import plan_release

    given = snakemake.params.plan
    manifold = study_manifold(given["manifold"])
    planner = Planner.of(manifold, **given["support"], residual_scale=given["residual_scale"])
    scales = given["scales"] and Scales(**given["scales"])
    wanted = given["wanted"]
    assumed = {
        "manifold": manifold.name,
        "dim": manifold.dim,
        **given["support"],
        "residual_scale": given["residual_scale"],
    }

    def row(planned):
        found = planned.prediction
        law = planner.predict(found.number, found.budget, scales)
        return {
            **assumed,
            "n": found.number,
            "budget": found.budget,
            **vars(planned.scales),
            "stages": len(planned.stages),
            "footpoint_error": found.footpoint**0.5,
            "shooting_vector_error": found.shooting_vector**0.5,
            "curve_error": found.curve**0.5,
            "curve_error_of_law": law.curve**0.5,
            "curve_error_without_privacy": found.curve_without_privacy**0.5,
            "curve_error_without_data": found.curve_without_data**0.5,
            "is_noise": found.is_noise,
        }

    def first_within(part, key):
        """Where the error comes down to the one wanted, between the cells that there are."""
        errors = np.log(part["curve_error"].cummin().to_numpy())
        if errors[-1] > np.log(wanted):
            return np.inf
        return np.exp(np.interp(-np.log(wanted), -errors, np.log(part[key].to_numpy())))

    def needs(table):
        for budget, part in table.groupby("budget"):
            number = np.ceil(first_within(part, "n"))
            law = np.ceil(planner.needed(wanted, budget=budget, scales=scales))
            yield {"budget": budget, "n": number, "found": "n", "found_of_law": law}
        for number, part in table.groupby("n"):
            budget = first_within(part, "budget")
            law = planner.needed(wanted, number=number, scales=scales)
            yield {"budget": budget, "n": number, "found": "budget", "found_of_law": law}

    cells = list(product(sorted(given["n"]), sorted(given["budgets"])))
    with ProcessPoolExecutor(snakemake.threads) as pool:
        plans = pool.map(plan_release, repeat(planner), *zip(*cells, strict=True), repeat(scales))
        table = pd.DataFrame(row(planned) for planned in plans)
    needed = pd.DataFrame(
        [] if wanted is None else list(needs(table)),
        columns=["budget", "n", "found", "found_of_law"],
    )
    for place, (name, value) in enumerate({"wanted_curve_error": wanted, **assumed}.items()):
        needed.insert(place, name, value)
    save_table(snakemake.output.table, table)
    save_table(snakemake.output.needed, needed)
    figure = draw(table, wanted)
    for file_format in FORMATS:
        with replacing(snakemake.output[file_format]) as partial:
            save_figure(figure, partial, file_format)
