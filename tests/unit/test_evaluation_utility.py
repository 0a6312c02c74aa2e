"""Errors of releases, beside those of the published mechanism and of no privacy."""

import matplotlib.pyplot as plt
import pytest

import utility
from geodp import ReleasePlan
from geodp_release.stages import PointsStage
from reproduction.places import CHECKOUT

RATS = str(CHECKOUT / "resources" / "vilmann_rats.csv")
SPACE = {"footpoint_radius": 0.5, "shooting_vector_length": 1.0, "residual_scale": 0.03}
SPACE |= {"released": [20]}


@pytest.mark.parametrize(("manifold", "data"), [(("sphere", 2), 0.6), (("kendall", 8), "rats")])
def test_errors_of_releases_are_beside_others(manifold, data, monkeypatch):
    def planned(known, budget):
        # The truth lies half a radius from the centre.
        truths.append(known.manifold.dist(known.centre, truths.pop()))
        stage = PointsStage.of(budget.amount, budget.unit, 64, 0.5)
        return ReleasePlan(known, budget, (stage,), 0.2, 0.1, 0.5)

    def true_geodesic(*given):
        geodesic = find(*given)
        truths.append(geodesic[0])
        return geodesic

    def drawn(self, rng, budgets, *rest):
        asked.append(set(budgets.values()))
        return draw(self, rng, budgets, *rest)

    truths, asked = [], []
    find, draw = utility.true_geodesic, utility.KNGAsPublished.draw
    monkeypatch.setattr(utility, "plan_release", planned)
    monkeypatch.setattr(utility, "true_geodesic", true_geodesic)
    monkeypatch.setattr(utility.KNGAsPublished, "draw", drawn)
    given = SPACE | {"manifold": manifold, "data": data}
    table = utility.measure("a space", given, 20, [0.5, 8.0], [8.0], 40, 2, 1, RATS)
    assert truths == [pytest.approx(0.25)]
    # Half of the budget for each parameter.
    assert asked == [{"0.25"}, {"4.0"}]
    cell = table[table["budget"].fillna(8.0) == 8.0].set_index("mechanism")["curve_error"]
    assert set(cell.index) == {"release", *utility.BESIDE}
    assert cell["without data"] > cell["as published"] > cell["no privacy"]
    tables, figure = utility.summarise(table, [8.0])
    plt.close(figure)
    [row] = tables["utility"].to_dict("records")
    assert row["predicted"] == pytest.approx(0.2)
    assert row["no privacy"] == cell["no privacy"]
