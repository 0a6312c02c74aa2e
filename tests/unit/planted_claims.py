"""Tables of claims as a run writes them, and verdicts on them."""

import io
from itertools import product

import numpy as np
import pandas as pd

from geodp.randomness import random_stream
from reproduction.claims.rows import read_claims
from reproduction.claims.verdicts import FAILS, HOLDS, IN_PART, judge
from reproduction.places import CHECKOUT

FILES = sorted((CHECKOUT / "resources" / "published").glob("*_claims.csv"))
ROWS = {path.stem: pd.read_csv(path, dtype=str, keep_default_na=False) for path in FILES}
CLAIMS = ROWS["kulkarni_soto_claims"]
# Each row as a sentence of its own, to be judged alone.
ALONE = CLAIMS.assign(part="", reading="", statement="It is so.")
ALONE["claim"] = ALONE["claim"].str.replace(".", "-")

TOTALS = [round(0.2 * step, 1) for step in range(1, 11)]
FOOTPOINT = [0.02, 0.24, 0.46, 0.68, 0.90, 1.12, 1.34, 1.56, 1.78, 2.00]
# The second budget of a split carries the rounding of a subtraction.
CELLS = [(t / 2, t / 2, f"p{t / 2:.1f}_v{t / 2:.1f}") for t in TOTALS]
CELLS += [(p, 2.02 - p, f"p{p:.2f}_v{2.02 - p:.2f}") for p in FOOTPOINT]
OUTLINES = [("stand_in", 88, np.nan)]
OUTLINES += [(f"stand_in_n{n}", n, np.nan) for n in (409, 647)]
SPHERE = [(20, 0.001), (50, 0.001), (100, 0.001), (50, 0.01), (50, 0.1)]
GROUPS = {
    "sphere": [(f"n{n}_noise{noise}", n, noise) for n, noise in SPHERE],
    "spd": [(f"n{n}_noise0.0001", n, 0.0001) for n in (20, 50, 100)],
    "corpus_callosum": OUTLINES,
    "corpus_callosum_reduced": OUTLINES,
}
DATA_SETS = 21
SIZES = {"mean_squared_error": 1e-2, "non_private_mean_squared_error": 1e-3}
SIZES |= {"median_squared_error": 5e-3, "mean_prediction_distance": 0.03}
SIZES |= {"mean_footpoint_distance": 0.1, "mean_shooting_vector_distance": 0.2}
ORIGIN = {"seed": 1, "lock": "abc"}


def errors_table(study, data_sets=DATA_SETS):
    """Errors as `evaluate` writes them, all alike but for the noise between data sets."""
    names = ["group", "n", "noise_variance", "budget_footpoint", "budget_shooting_vector", "cell"]
    rows = [
        (*group, *cell, sampler, data_set)
        for group, cell in product(GROUPS[study], CELLS)
        for sampler, count in (("default", data_sets), ("random_walk", 1))
        for data_set in range(count)
    ]
    table = pd.DataFrame(rows, columns=[*names, "sampler", "data_set"])
    # Data sets differ, by the same factor in all cells of a group, and in the size of the rest.
    factor = np.exp(0.08 * np.cos(table["data_set"]))
    return table.assign(
        data="simulated stand-in" if study.startswith("corpus") else "simulated",
        **{"mechanism": "kng_as_published", "footpoints": 10, "footpoint_proposals": 1234.0},
        **{"log_error_standard_error": 0.001, "tau": 0.1, **ORIGIN},
        flagged=table["sampler"] == "random_walk",
        **{name: size * factor for name, size in SIZES.items()},
        least_curvature=-0.4 if study == "spd" else 1.0,
        greatest_curvature=-0.1 if study == "spd" else 4.0,
    )


def by_budget(verdict=HOLDS, study="sphere"):
    """Tables with errors that fall as equal budgets grow: all, in part, or none."""
    table = errors_table(study)
    level = 10.0 * table["budget_footpoint"]
    if verdict == IN_PART:
        # The upper five of ten levels are turned round, which is 10 of 45 pairs.
        level = level.where(level < 5.5, 15.5 - level)
    sign = 1.0 if verdict == FAILS else -1.0
    table["mean_squared_error"] *= np.exp(0.1 * sign * level)
    return {(study, "errors"): table}


def neighbours_table(study, pairs=20):
    spread = 1.2 + 0.01 * np.tile(np.arange(pairs), 3)
    columns = {"n": np.repeat([20, 50, 100], pairs), "noise_variance": GROUPS[study][0][2]}
    kinds = ("", "_smallest_ball", "_printed")
    columns |= {f"ratio_{b}{k}": spread for b in ("footpoint", "shooting_vector") for k in kinds}
    return pd.DataFrame(columns).assign(**ORIGIN)


def losses_table(study):
    sources = ("both data sets", "each data set", "public bound")
    steps = product(("footpoint", "shooting vector"), sources)
    table = pd.DataFrame(steps, columns=["step", "tau_from"])
    return table.assign(n=20, mechanism="kng_as_published", loss_over_stated=0.5, **ORIGIN)


def convergence_table(study, difference=lambda steps: min(1.0, (steps / 20.0) ** -1.5)):
    """Walks whose difference from the draws depends on the number of steps."""
    steps = np.unique(np.geomspace(1, 10000, 30).astype(int))
    rows = [("random_walk", step, difference(np.float64(step))) for step in steps]
    table = pd.DataFrame([*rows, ("default", 3, np.nan)], columns=["kind", "step", "difference"])
    table = table.assign(distribution="as configured", states=8000, n=50, budget_footpoint=0.5)
    return table.assign(mechanism="kng_as_published", **ORIGIN)


MAKE = {"errors": errors_table, "neighbours": neighbours_table}
MAKE |= {"losses": losses_table, "convergence": convergence_table}


def one(name):
    found = ALONE[ALONE["claim"] == name.replace(".", "-")]
    assert len(found) == 1
    return found


def tables_of(name):
    """The tables that a claim looks at."""
    claim = one(name).iloc[0]
    tables = {(claim["study"], claim["table"]): MAKE[claim["table"]](claim["study"])}
    if claim["against"]:
        tables[claim["against"], "errors"] = errors_table(claim["against"])
    return tables


def claims_of(rows):
    return read_claims(io.StringIO(rows.to_csv(index=False)), "claims.csv")


def judged(rows, tables, stream=None, paper="a paper", replicates=50):
    stream = stream or (lambda claim: random_stream(7, "claims", claim))
    return judge(paper, claims_of(rows), tables, stream, replicates=replicates)


def verdict_on(name, tables):
    return judged(one(name) if isinstance(name, str) else name, tables).iloc[0]
