"""Predicted errors of a private release over numbers of subjects and budgets, and their figure."""

from itertools import product

import matplotlib as mpl
import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from geodp_release.plan.release_plan import SEED, simulated
from geodp_release.plan.stage_search import plan_release
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import PrivacyBudget
from geodp_release.promise.public_inputs import EVENLY
from reproduction.figures.style import annotate, new_figure, plot_markers
from reproduction.models import study_manifold


def predicted(plan, threads=1):
    """Two tables and a figure of the key ``plan`` of a configuration.

    The first has a row for each number of subjects and budget; the second the subjects or budget
    needed for the wanted error, and no rows where none is wanted.
    """
    manifold = study_manifold(plan["manifold"])
    public = {**plan["support"], "residual_scale": plan["residual_scale"]}
    assumed = {"manifold": manifold.name, "dim": manifold.dim, **public}
    # A plan depends on the dimension of the space, not on the place.
    centre = manifold.random_point(np.random.default_rng(SEED))
    cells = list(product(sorted(plan["n"]), sorted(plan["budgets"])))
    common = {"covariate_range": (0.0, 1.0), "covariate_spread": EVENLY, **public}
    found = Parallel(threads)(
        delayed(plan_release)(
            Assumptions(manifold, centre, **common, subjects=number), PrivacyBudget(str(budget))
        )
        for number, budget in cells
    )
    table = pd.DataFrame(
        assumed | {"n": number, "budget": budget} | _row(each)
        for (number, budget), each in zip(cells, found, strict=True)
    )
    wanted = plan["wanted"]
    about = {"wanted_curve_error": wanted, **assumed}
    rows = [] if wanted is None else [about | row for row in _needs(table, wanted)]
    needed = pd.DataFrame(rows, columns=[*about, "budget", "n", "found", "needed"])
    return table, needed, draw(table, wanted)


def _row(release):
    """Errors of a release by its plan, those of its blocks in the plan's own simulation."""
    found = simulated(release)
    squares = np.sum(found.errors**2, axis=-1) + found.estimate_squares
    footpoint, shooting_vector = np.sqrt(np.average(squares, axis=0, weights=found.weight)).tolist()
    return {
        "stages": max(map(len, release.paths)),
        "footpoint_error": footpoint,
        "shooting_vector_error": shooting_vector,
        "curve_error": release.error,
        "curve_error_without_privacy": release.error_without_privacy,
        "curve_error_without_data": release.error_without_data,
        "is_noise": release.is_noise,
    }


def _needs(table, wanted):
    """Rows of the subjects that each budget needs, and of the budget that each number needs."""
    for given, key in (("budget", "n"), ("n", "budget")):
        for value, part in table.groupby(given):
            errors, values = part["curve_error"].cummin().to_numpy(), part[key].to_numpy()
            # Between the cells that there are.
            found = np.exp(np.interp(-np.log(wanted), -np.log(errors), np.log(values)))
            how = "about"
            if errors[-1] > wanted:
                found, how = values[-1], "more than"
            elif errors[0] <= wanted:
                found, how = values[0], "at most"
            # No more than rounding is cut off a whole number.
            found = np.ceil(found * (1.0 - 1e-9)) if key == "n" else found
            yield {given: value, key: found, "found": key, "needed": how}


def draw(table, wanted):
    """Figure of a plan's table: error against subjects, a curve a budget; an error to mark."""
    figure, [[panel]] = new_figure(1, 1, width=5.6, height=3.6)
    budgets = sorted(table["budget"].unique())
    # Larger budgets are darker.
    colours = mpl.colormaps["cividis_r"](np.linspace(0.15, 1.0, len(budgets)))
    for budget, colour in zip(budgets, colours, strict=True):
        part = table[table["budget"] == budget]
        panel.plot(part["n"], part["curve_error"], color=colour, zorder=3, label=f"{budget:g}")
        plot_markers(panel, part["n"], part["curve_error"], part["is_noise"], colour, "o")
    part, first = table.drop_duplicates("n"), table.iloc[0]
    panel.plot(part["n"], part["curve_error_without_privacy"], "k:", label="no privacy")
    panel.axhline(first["curve_error_without_data"], color="0.6", label="centre alone")
    if wanted is not None:
        panel.axhline(wanted, color="0.6", linestyle="-.", label="wanted")
    panel.set(xscale="log", yscale="log", xlabel="number of subjects $n$")
    panel.set_ylabel("predicted error of the geodesic\n(root mean square, unit of length)")
    figure.legend(loc="outside right upper", title=r"budget $\epsilon$", fontsize=8)
    assumed = (
        f"{first['manifold']}, footpoint within {first['footpoint_radius']:.3g}, shooting "
        f"vector within {first['shooting_vector_length']:.3g}, residuals of "
        f"{first['residual_scale']:.3g} in each direction (assumed)."
    )
    hollow = "Hollow: noise, a release would say next to nothing of the data."
    annotate(figure, [assumed, hollow, "No data were looked at."])
    return figure
