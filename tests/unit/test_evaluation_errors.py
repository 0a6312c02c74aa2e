"""Errors of releases beside the published mechanism and no privacy; means beside heat diffusion."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import means
import utility
from geodp import ReleasePlan, Sphere, mean
from geodp.data.columns import landmark_columns
from geodp.data.records import read_table
from geodp.randomness import random_stream
from geodp_release.stages import PointsStage
from reproduction.places import CHECKOUT

RATS = str(CHECKOUT / "resources" / "vilmann_rats.csv")
SPACE = {"footpoint_radius": 0.5, "shooting_vector_length": 1.0, "residual_scale": 0.03}


@pytest.mark.parametrize("data", [0.6, "rats"])
def test_errors_of_releases_are_beside_others(data, monkeypatch):
    def planned(known, budget):
        rng = random_stream(1, "utility", "a space")
        truth, _ = utility.true_geodesic(rng, known.manifold, data, RATS)
        assert known.manifold.dist(known.centre, truth) == pytest.approx(0.25)
        if data == "rats":
            # Halfway by the logarithm of age, from 7 to 150 days.
            rats = read_table(RATS, known.manifold, "age_days", landmark_columns(8), subject="rat")
            nearest = np.argsort(known.manifold.dist(truth, rats.points))[:20]
            assert np.mean(rats.covariates[nearest]) < 0.3
        stage = PointsStage.of(budget.amount, budget.unit, 64, 0.5)
        return ReleasePlan(known, budget, (stage,), 0.2, 0.1, 0.5)

    def drawn(self, rng, budgets, *rest):
        asked.append(set(budgets.values()))
        return draw(self, rng, budgets, *rest)

    asked, draw = [], utility.KNGAsPublished.draw
    monkeypatch.setattr(utility, "plan_release", planned)
    monkeypatch.setattr(utility.KNGAsPublished, "draw", drawn)
    given = SPACE | {"manifold": ("kendall", 8) if data == "rats" else ("sphere", 2)}
    table = utility.measure("a space", given | {"data": data}, 20, [0.5, 8.0], 40, 2, 1, RATS)
    # Half of the budget for each parameter.
    assert asked == [{"0.25"}, {"4.0"}]
    cell = table[table["budget"].fillna(8.0) == 8.0].set_index("mechanism")["error"]
    assert cell["without data"] > 0.4 > 0.1 > cell["as published"] > cell["no privacy"]


def test_heat_is_that_of_the_sphere():
    """Degree one of its kernel falls by exp(-2 t); for short times it is Gaussian."""
    sphere, pole = Sphere(2), np.broadcast_to(np.eye(3)[2], (20_000, 3))
    # The divergence is that of exp(2 t) = 1 + 0.6^2 / (2 0.4).
    found = means.diffuse(np.random.default_rng(3), sphere, pole, 0.6, 0.4)
    assert np.mean(found, axis=0) == pytest.approx([0.0, 0.0, 1.0 / 1.45], abs=0.015)
    # Of variance Delta^2 / (2 rho) in each direction.
    found = means.diffuse(np.random.default_rng(3), sphere, pole, 0.001, 0.5)
    assert np.std(found[:, :2], axis=0) == pytest.approx([0.001, 0.001], rel=0.02)


def test_releases_are_beside_heat_diffusion(monkeypatch):
    """Releases without an error are better; data are in the ball about their mean."""
    seen = []

    def drawn(plan, x, points, rng):
        seen.append(points)
        return SimpleNamespace(footpoint=mean(points, Sphere(2)).footpoint)

    monkeypatch.setattr(means, "plan_release", lambda *given, work: None)
    monkeypatch.setattr(means.script, "release", drawn)
    cells = (0.3, 0.15, 200, 0.05), (0.3, 0.15, 100_000, 0.05)
    table = pd.concat([means.measure(cell, 5, 1024, 1) for cell in cells])
    assert max(np.max(Sphere(2).dist(np.eye(3)[2], points)) for points in seen) <= 0.3
    assert np.all(table["no privacy"] < 0.5 / np.sqrt(table["n"]))
    assert np.all(table["ratio of noise"] < 1e-6)
    shown = means.summarise(table, 0.9)[0]["means"]
    assert shown["met"].tolist() == ["yes", "out of reach"]
