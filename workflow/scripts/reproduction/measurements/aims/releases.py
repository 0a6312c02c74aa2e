"""Releases in the cells of which something is wanted: their errors, their plans and their times.

Each data set of a cell has a true geodesic and a public centre of its own, so that means are over
where the truth may lie.  The certified distribution is drawn for the first of the data sets.
"""

import os
import time
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from geodp.mechanisms.certified import CertifiedDistribution
from geodp.randomness import random_stream
from geodp.release.accounting import PURE, PrivacyBudget
from geodp.release.draw import run_plan
from geodp.release.planning import plan_release
from geodp.release.settings import BudgetSettings
from geodp.release.stages import PointsStage
from geodp.release.subjects import ONE_EACH, subject_records
from geodp.samplers.integer_choice import generator_bits
from reproduction.measurements.utility.releases import (
    CERTIFIED,
    RELEASED,
    DataSets,
    Space,
    as_many,
    chains_at,
    draw_certified,
)


@dataclass(frozen=True)
class Cell:
    """A number of subjects, a budget and a distribution of covariates, and what is wanted there.

    Attributes
    ----------
    number : int
    budget : PrivacyBudget
    beta : tuple of float, optional
        Parameters of the covariates' Beta distribution.
    of_utility : bool
        Whether it is one of the cells of ``utility.releases``.
    wanted : dict
        Any of ``error``, ``prototype`` and ``seconds``.
    """

    number: int
    budget: PrivacyBudget
    beta: tuple | None
    of_utility: bool
    wanted: dict

    @property
    def name(self):
        """Names of its random streams."""
        beta = "_".join(map(str, self.beta)) if self.beta else "even"
        return f"n{self.number}", f"{self.budget.unit}{float(self.budget.amount):g}", beta


def cells_of(settings, space, number):
    """Cells of a space and n: those of ``utility.releases``, and those with wishes of their own.

    Parameters
    ----------
    settings : dict
        Of ``config/utility.yaml``.
    space : str
    number : int
        n.

    Returns
    -------
    list of Cell
    """
    found = {}
    grid = settings["utility"]["releases"].get(space, {"n": []})
    for amount in grid["budgets"] if number in grid["n"] else ():
        cell = Cell(number, PrivacyBudget(str(amount)), None, True, {})
        found[cell.name] = cell
    for given in settings["aims"]["cells"].get(space, []):
        if given["n"] != number:
            continue
        beta = tuple(given["covariates"]) if "covariates" in given else None
        wanted = {key: given[key] for key in ("error", "prototype", "seconds") if key in given}
        cell = Cell(number, BudgetSettings(**given["budget"]).make(), beta, False, {})
        known = found.get(cell.name, cell)
        found[cell.name] = replace(known, wanted=known.wanted | wanted)
    return list(found.values())


def measure(settings, space, number, rats):
    """Table of the cells of a space and n.

    Parameters
    ----------
    settings : dict
        Of ``config/utility.yaml``.
    space : str
    number : int
    rats : path
        Table of the rats' landmarks.
    """
    cells = cells_of(settings, space, number)
    return (pd.DataFrame([_row(settings, space, cell, rats) for cell in cells]),)


def _row(settings, name, cell, rats):
    """One line of the table."""
    aims, seed = settings["aims"], settings["seed"]
    first = Space.of(name, settings["spaces"][name], seed, rats)
    dim, number = first.manifold.dim, cell.number
    began = time.process_time()
    # Stages do not depend on the centre.
    planned = plan_release(first.assumptions(number), cell.budget)
    plan_seconds = time.process_time() - began
    count, draws = as_many(aims["data_sets"], number), 1
    if any(isinstance(stage, PointsStage) for stage in planned.stages):
        # Which points are scored once for all draws.
        count, draws = min(count, aims["with_points"]), aims["draws"]
    epsilon = float(cell.budget.amount) if cell.budget.unit == PURE else np.nan
    compared = cell.of_utility and number * epsilon >= aims["per_dimension"] * 2 * dim
    errors, seconds, exact = [], [], []
    for index in range(count):
        space = Space.of(name, settings["spaces"][name], seed + index, rats)
        streams = ("aims", name, *cell.name, f"data_set{index}")
        rng = random_stream(seed, *streams, "data")
        covariates, points = space.simulate(rng, 1, number, cell.beta)
        plan = replace(planned, assumptions=space.assumptions(number))
        bits = generator_bits(random_stream(seed, *streams, RELEASED))
        began, shared = time.process_time(), {}
        records = subject_records(plan.assumptions, covariates[0], points[0], ONE_EACH)
        found = [run_plan(plan, records, bits, shared).state]
        seconds.append(time.process_time() - began)
        found += [run_plan(plan, records, bits, shared).state for _ in range(draws - 1)]
        errors.append(np.mean(space.errors(*np.moveaxis(np.array(found), 1, 0))["curve"]))
        if compared and index < aims["with_points"]:
            data = DataSets(space, covariates, points, space.model.fit(covariates, points))
            scales = space.planner.predict(number, epsilon).scales
            distribution = CertifiedDistribution(space.public(number, scales), data.records)
            rng = random_stream(seed, *streams, CERTIFIED)
            chains = chains_at(settings, number)
            drawn = draw_certified(rng, distribution, epsilon, 1, chains, data.start)
            exact.append(float(drawn.mean(lambda p, v, of=space: of.errors(p, v)["curve"])[0]))
    return {
        "space": name,
        "n": number,
        "budget": f"{cell.budget.unit} {float(cell.budget.amount):g}",
        "covariates": f"Beta({cell.beta[0]:g}, {cell.beta[1]:g})" if cell.beta else "even",
        "dimension": dim,
        "of_utility": cell.of_utility,
        **dict(zip(("released", "released_error"), root_mean(errors), strict=True)),
        "data_sets": len(errors),
        **dict(zip(("certified", "certified_error"), root_mean(exact), strict=True)),
        "certified_data_sets": len(exact),
        "predicted": planned.error,
        "stages": "; ".join(stage.describe() for stage in planned.stages),
        "release_seconds": float(np.mean(seconds)),
        "release_seconds_error": float(np.std(seconds, ddof=1) / np.sqrt(len(seconds))),
        "plan_seconds": plan_seconds,
        "load": os.getloadavg()[0] / os.cpu_count(),
        **{f"wanted_{key}": cell.wanted.get(key) for key in ("error", "prototype", "seconds")},
    }


def root_mean(squares):
    """Root mean square of errors, and its standard error over data sets; not a number of none."""
    if not squares:
        return np.nan, np.nan
    root = np.sqrt(np.mean(squares))
    return float(root), float(0.5 * np.std(squares, ddof=1) / np.sqrt(len(squares)) / root)
