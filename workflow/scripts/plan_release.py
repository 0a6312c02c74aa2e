"""Predicted errors of a certified release over numbers of subjects and budgets."""

from reproduction.jobs import job, save_table
from reproduction.measurements import one_thread  # noqa: F401

with job(snakemake):
    from itertools import product

    import numpy as np
    import pandas as pd
    from joblib import Parallel, delayed

    from geodp.mechanisms.certified import Scales
    from geodp.release.planner import Planner
    from geodp.release.stages import plan_release
    from reproduction.figures.files import save_figure
    from reproduction.manifolds import study_manifold
    from reproduction.measurements.plan_figure import draw

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
        """Where the error comes down to the one wanted, and how that is beside what is needed."""
        errors = part["curve_error"].cummin().to_numpy()
        values = part[key].to_numpy()
        if errors[-1] > wanted:
            return values[-1], "more than"
        if errors[0] <= wanted:
            return values[0], "at most"
        # Between the cells that there are.
        found = np.exp(np.interp(-np.log(wanted), -np.log(errors), np.log(values)))
        return found, "about"

    def needs(table):
        for budget, part in table.groupby("budget"):
            found, how = first_within(part, "n")
            law = planner.needed(wanted, budget=budget, scales=scales)
            # Of a whole number no more than rounding is cut off.
            number, law = (np.ceil(each * (1.0 - 1e-9)) for each in (found, law))
            yield {"budget": budget, "n": number, "found": "n", "needed": how, "of_law": law}
        for number, part in table.groupby("n"):
            found, how = first_within(part, "budget")
            law = planner.needed(wanted, number=number, scales=scales)
            yield {"budget": found, "n": number, "found": "budget", "needed": how, "of_law": law}

    cells = list(product(sorted(given["n"]), sorted(given["budgets"])))
    plans = Parallel(snakemake.threads)(
        delayed(plan_release)(planner, number, budget, scales) for number, budget in cells
    )
    table = pd.DataFrame(row(planned) for planned in plans)
    needed = pd.DataFrame(
        [] if wanted is None else list(needs(table)),
        columns=["budget", "n", "found", "needed", "of_law"],
    )
    for place, (name, value) in enumerate({"wanted_curve_error": wanted, **assumed}.items()):
        needed.insert(place, name, value)
    save_table(snakemake.output.table, table)
    save_table(snakemake.output.needed, needed)
    figure = draw(table, wanted)
    save_figure(figure, snakemake.output)
