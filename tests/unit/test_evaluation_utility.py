"""Errors of releases, beside those of the published mechanism and of no privacy."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import utility
from geodp import ReleasePlan
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
    shown, figure = utility.summarise(table)
    plt.close(figure)
    row = shown["utility"].iloc[1]
    assert row["epsilon"] == "8"
    assert row["release"].startswith(utility.script.number(cell["release"]))
    found = [row[key] for key in ("predicted", *utility.BESIDE)]
    assert found == pytest.approx([0.2, *cell[utility.BESIDE]])
