"""The comparison: distances of draws in stages, and the default, from tables made by hand."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from geodp.manifolds.sphere import Sphere
from geodp.manifolds.tangent_bundle import TangentBundle
from geodp.mechanisms import certified
from geodp.mechanisms.certified import CertifiedDistribution
from reproduction.measurements.comparison import mechanisms
from reproduction.measurements.comparison.mechanisms import PROVED, SCORES
from reproduction.measurements.comparison.report import decide, losses, page

# Logarithms of mean squared errors in three cells. The careful one is best nowhere and never far
# from it; the bold one is best twice, and on average, and far behind once.
ERRORS = {
    "careful": (-4.9, -5.9, -2.8),
    "bold": (-5.0, -6.0, -2.4),
    "single": (-3.0, -4.0, -3.0),
}
CELLS = (("S^2", 50, 1.0), ("S^2", 100, 1.0), ("rats", 50, 1.0))
BETTER = {"as published": "does not hold", "no privacy": "no privacy"}


def made(errors=None):
    """A table, in which what has no proof is better than all that has."""
    errors = ERRORS if errors is None else errors
    known = {name: (values, PROVED) for name, values in errors.items()}
    known |= {name: ((-9.0, -9.0, -9.0), holds) for name, holds in BETTER.items()}
    return pd.DataFrame(
        [
            {
                **dict(zip(("space", "n", "budget"), cell, strict=True)),
                "dimension": 2,
                "mechanism": name,
                "budget_holds": holds,
                "log_mean_squared_error": value,
                "standard_error": 0.1,
                "total_variation": 0.001,
                "cut_short": False,
                "draws": 3,
                "effective_draws": 30.0,
            }
            for name, (values, holds) in known.items()
            for cell, value in zip(CELLS, values, strict=True)
        ]
    )


def test_the_default_is_that_which_never_loses_much():
    assert decide(made()) == "careful"
    found = losses(made())
    assert found.index.tolist() == ["careful", "bold", "single"]
    assert found["largest"].tolist() == pytest.approx([0.2, 0.6, 2.0])
    assert found["mean"].tolist() == pytest.approx([0.4 / 3.0, 0.2, 4.0 / 3.0])


def test_the_worst_cell_decides():
    """The bold one's only bad cell made good."""
    assert decide(made(ERRORS | {"bold": (-5.0, -6.0, -2.9)})) == "bold"


def test_of_equal_worst_cells_the_mean_decides():
    errors = {"careful": (-4.5, -5.5, -3.0), "bold": (-5.0, -6.0, -2.5)}
    assert decide(made(errors)) == "bold"
    assert decide(made(dict(reversed(errors.items())))) == "bold"


def test_what_has_no_proof_is_no_default_and_no_standard():
    table = made()
    proved = table[table["budget_holds"] == PROVED]
    assert not set(BETTER) & set(losses(table).index)
    pd.testing.assert_frame_equal(losses(table), losses(proved))


def test_the_default_of_the_law_has_a_name_in_the_comparison():
    assert set(SCORES) == set(certified.SCORES)
    assert len(set(SCORES.values())) == len(SCORES)
    assert CertifiedDistribution.score_name in SCORES


def test_the_page_says_whether_the_default_is_the_one_decided_for():
    default = SCORES[CertifiedDistribution.score_name]
    assert f"**which is {default} now**" in page(made())
    renamed = {default if name == "careful" else name: row for name, row in ERRORS.items()}
    assert f"smallest worst-case regret: {default}, which it is." in page(made(renamed))


@dataclass(frozen=True)
class Planned:
    """What is known of how a stage was drawn."""

    total_variation: float
    drawn_by: str = "matched"
    cut_short: bool = False


def test_distances_of_two_stages_add_up_once(monkeypatch):
    """Stages at 0.10 and, from the worse of two draws, 0.01 make 0.11."""
    distances = iter([0.10, 0.004, 0.01])

    def drawn(rng, target, draws, chains):
        return np.zeros((1, draws, 2, 3)), Planned(next(distances))

    manifold = Sphere(2)
    distribution = SimpleNamespace(space=TangentBundle(manifold))
    monkeypatch.setattr(mechanisms, "_certified", lambda *_: distribution)
    monkeypatch.setattr(mechanisms, "certified_target", lambda *_: None)
    monkeypatch.setattr(mechanisms, "zoomed_target", lambda *_: None)
    monkeypatch.setattr(mechanisms, "draw_from", drawn)
    plan = mechanisms.PlannedStages((0.5, 0.5), (None, None), 0.1, 1.0)
    found = mechanisms.draw_zoom(None, SimpleNamespace(start=None), plan, 2, None)
    assert found.total_variation == pytest.approx(0.11)
    assert found.footpoint.shape == (1, 2, 3)
