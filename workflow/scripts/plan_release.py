"""Predicted errors of a certified release over numbers of subjects and budgets."""

from jobs import job, replacing, save_table

with job(snakemake):
    import numpy as np
    import pandas as pd
    from inputs import study_manifold
    from plan_figure import draw

    from geodp.mechanisms.certified import Scales
    from geodp.planner import Planner
    from geodp.plotting import FORMATS, save_figure

    given = snakemake.params.plan
    manifold = study_manifold(given["manifold"])
    planner = Planner(manifold.dim, **given["support"], residual_scale=given["residual_scale"])
    scales = given["scales"] and Scales(**given["scales"])
    assumed = {
        "manifold": manifold.name,
        "dim": manifold.dim,
        **given["support"],
        "residual_scale": given["residual_scale"],
    }

    def predictions():
        for number in sorted(given["n"]):
            for budget in sorted(given["budgets"]):
                found = planner.predict(number, budget, scales)
                yield {
                    **assumed,
                    "n": number,
                    "budget": budget,
                    **vars(found.scales),
                    "footpoint_error": found.footpoint**0.5,
                    "shooting_vector_error": found.shooting_vector**0.5,
                    "curve_error": found.curve**0.5,
                    "curve_error_without_privacy": found.curve_without_privacy**0.5,
                    "curve_error_without_data": found.curve_without_data**0.5,
                    "is_noise": found.is_noise,
                }

    def needs():
        wanted = given["wanted"]
        columns = {"wanted_curve_error": wanted, **assumed}
        if wanted is None:
            return
        for budget in sorted(given["budgets"]):
            number = np.ceil(planner.needed(wanted, budget=budget, scales=scales))
            yield {**columns, "budget": budget, "n": number, "found": "n"}
        for number in sorted(given["n"]):
            budget = planner.needed(wanted, number=number, scales=scales)
            yield {**columns, "budget": budget, "n": number, "found": "budget"}

    table = pd.DataFrame(predictions())
    columns = ["wanted_curve_error", *assumed, "budget", "n", "found"]
    save_table(snakemake.output.table, table)
    save_table(snakemake.output.needed, pd.DataFrame(needs(), columns=columns))
    figure = draw(table, given["wanted"])
    for file_format in FORMATS:
        with replacing(snakemake.output[file_format]) as partial:
            save_figure(figure, partial, file_format)
