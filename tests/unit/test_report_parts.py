"""The report of results that lack something, its tables, predicted errors, and its sentences."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from geodp import ReleasePlan
from geodp.errors import DataError
from reproduction import predicted_errors
from reproduction.claims.rows import sentence_of
from reproduction.claims.verdicts import FAILS, HOLDS, IN_PART
from reproduction.figures import error
from reproduction.figures.error import _numbers, draw
from reproduction.places import CHECKOUT
from reproduction.report import _about, report
from reproduction.results_page import with_block

PUBLISHED = CHECKOUT / "resources" / "published"
FIGURE = {"paper": "", "order": 0, "study": "rats", "studies": ["rats"], "caption": ""}
FIGURE |= {"number": "", "title": "Of a new kind", "kind": "new_kind", "warns": False, "notes": []}


def test_a_figure_of_a_kind_without_a_caption(tmp_path):
    (picture := tmp_path / "new.svg").write_text("<svg/>")
    (numbers := tmp_path / "new.csv").write_text("value\n1\n")
    files = {name: [] for name in ("claims", "errors", "diagnostics", "losses")}
    files |= {"svg": [str(picture)], "png": [str(picture)], "csv": [str(numbers)]}
    files |= {"template": CHECKOUT / "workflow" / "report" / "report.html.j2"}
    files |= {"statements": PUBLISHED / "statements.csv"}
    params = {"own_questions": [], "folder": "a", "times": "", "name": "small", "note": None}
    made_by = {"rule": "report", "seed": 1, "lock": "0", "versions": {"python": "3"}}

    def text(**changes):
        shown = SimpleNamespace(**params, figures=[FIGURE | changes])
        return report(SimpleNamespace(**files), shown, made_by)

    found = text()
    assert 'alt="Of a new kind">' in found
    assert "<strong>Of a new kind.</strong>" in found
    assert 'alt="Of a new kind. Simulated data">' in text(notes=["Simulated data. And more."])
    assert 'alt="Of a new kind. Bars">' in text(caption="Bars")
    assert "budgets do not hold" not in found
    assert "budgets do not hold.</strong>" in text(warns=True)


@pytest.fixture
def cell():
    """A row of a table of errors, and the figure that shows it."""
    words = ("manifold", "data", "mechanism", "guarantee", "sampler", "support", "seed", "lock")
    row = dict.fromkeys(words, "as it is") | dict.fromkeys(("draws", "footpoints"), 9)
    row |= {"group": "g", "cell": "c", "n": 5, "noise_variance": 0.1, "budget": 1.0, "data_set": 0}
    row |= {"log_error_standard_error": 0.1, "flagged": False, "mean_squared_error": 4.0}
    row |= {"low_squared_error": 2.0, "high_squared_error": 8.0}
    row |= {"refused": False, "squared_error_without_data": np.nan}
    row |= {"non_private_mean_squared_error": 1.0}
    return row, {"figure": {"grids": ["equal"], "curves": "n"}, "budgets": (), "length_unit": ""}


def test_the_band_of_one_data_set_is_over_its_draws_and_of_several_over_them(cell):
    row, params = cell
    params = SimpleNamespace(**params, grids=[("split", "g", "c"), ("equal", "g", "c")])
    [found] = _numbers(pd.DataFrame([row]), params).to_dict("records")
    assert np.exp([found["band_low"], found["band_high"]]).tolist() == pytest.approx([2.0, 8.0])
    # Of several it is over them, and the first is shown.
    errors = [4.0, 1.0, 9.0]
    rows = [row | {"data_set": k, "mean_squared_error": each} for k, each in enumerate(errors)]
    [found] = _numbers(pd.DataFrame(rows), params).to_dict("records")
    shown = [found[name] for name in ("log_error", "middle", "band_low", "band_high")]
    assert shown == pytest.approx([np.log(4.0), *np.quantile(np.log(errors), [0.5, 0.1, 0.9])])
    assert found["data_sets"] == 3


def test_marks_of_refused_releases_are_hollow_and_said(cell):
    row, params = cell
    row |= {"mechanism": "release"}
    cells = [row | {"cell": f"{k}", "budget": float(k), "refused": k < 3} for k in range(1, 5)]
    grids = [("equal", "g", each["cell"]) for each in cells]
    params = SimpleNamespace(**params, grids=grids, splits={"equal": None})
    figure, _ = draw(pd.DataFrame(cells), params)
    marks = [line for line in figure.axes[0].lines if line.get_linestyle() == "None"]
    hollow = {line.get_markerfacecolor() == "white": line.get_xdata().tolist() for line in marks}
    assert hollow == {True: [1.0, 2.0], False: [3.0, 4.0]}
    words = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert "refused by geodp plan as noise" in words


POINTS = {
    "curves": {"coordinate_2": [0.3], "coordinate_3": [1.0]},
    "ellipses": {f"coordinate_{k}": [each] for k, each in enumerate((2.0, 0.5, 0.5, 1.0), 1)},
    "shapes": {"landmark": [1, 2, 3, 4], "x": [0, 1, 1, 0], "y": [0, 0, 1, 1]},
}


def predictions(kind):
    """A table of records, of predictions without privacy, and of two releases, one refused."""
    same = {"sampler": "release", "mechanism": "release", "n": 5, "draw": 1, "group": "g"}
    same |= {"noise_variance": 0.1, "band_level": 0.9, "band": 0.2, "radius": 1.2}
    kinds = ["observed", "without privacy", "private", "private"]
    rows = {"kind": kinds, "refused": [None, None, False, True], "budget": [None, None, 4.0, 0.4]}
    table = pd.DataFrame(rows).assign(cell=["", "", "4.0", "0.4"], **same)
    for some in ({"covariate": [60.0, 65.0, 70.0, 75.0]}, POINTS[kind]):
        table = table.merge(pd.DataFrame(some), how="cross")
    return table.assign(coordinate_1=table["covariate"] / 100.0) if kind == "curves" else table


@pytest.mark.parametrize("kind", ["curves", "ellipses", "shapes"])
def test_what_is_refused_is_hatched_or_dashed_and_said(kind):
    module = import_module(f"reproduction.figures.{kind}")
    params = SimpleNamespace(covariate_label="age", budgets=("footpoint",), figure={})
    figure, _ = module.draw(predictions(kind), params)
    panels = [panel for panel in figure.axes if panel.has_data()]
    if kind == "curves":
        marks = [line.get_linestyle() for panel in panels for line in panel.lines]
        shares = [marks.count("--"), 2]
    else:
        areas = [area for panel in panels for area in (*panel.patches, *panel.collections)]
        shares = [sum(area.get_hatch() is not None for area in areas), 0.5 * len(areas)]
    assert shares[0] == shares[1] > 0
    words = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert any("refused by geodp plan as noise" in each for each in words)
    figure.canvas.draw()
    boxes = [legend.get_window_extent() for legend in figure.legends]
    assert max(box.width for box in boxes) <= figure.bbox.width


@pytest.mark.parametrize(
    ("n", "noise_variance", "curves", "expected"),
    [
        *[([20, 60], [0.1, 0.1], "none", "n"), ([20, 20], [0.1, 0.2], "none", "noise_variance")],
        *[([20, 60], [0.1, 0.2], "none", "group"), ([20, 20], [0.1, 0.2], "n", "n")],
        ([20], [0.1], "none", "none"),
    ],
)
def test_curves_of_errors_are_told_apart_by_what_differs(n, noise_variance, curves, expected):
    numbers = pd.DataFrame({"n": n, "noise_variance": noise_variance}).assign(group=range(len(n)))
    found = error._told_apart(numbers, curves)
    assert found == expected
    words = {error._own_words(row, found) for _, row in numbers.iterrows()}
    assert len(words) == (1 if curves == "n" else len(n))


@pytest.mark.parametrize("ends", [(0.01, 0.02), (0.2, 2.02), (0.5, 8.0), (0.1, 100.0)])
def test_an_axis_of_any_budgets_has_a_few_ticks(ends):
    found = error._ticks(np.ptp(ends)).tick_values(*ends)
    assert 2 <= np.sum((ends[0] <= found) & (found <= ends[1])) <= 6


def test_readings_of_a_claim_do_not_stand_beside_its_figure():
    rows = [("a", ""), ("b", "another reading")]
    found = pd.DataFrame(rows, columns=["claim", "reading"])
    found = found.assign(paper="A paper", study="rats", figure="9")
    figure = FIGURE | {"paper": "A paper", "number": "Figure 9", "csv": "figure_9.csv"}
    assert [row["claim"] for row in _about(found, [figure])["figure_9.csv"]] == ["a"]


def test_each_statement_is_listed_once_with_its_claim_or_its_reason():
    listed = pd.read_csv(PUBLISHED / "statements.csv", dtype=str, keep_default_na=False)
    kinds = "computed, by construction, not refuted, by proof, not decidable, not judged"
    assert set(listed["judged"]) <= {*kinds.split(", ")}
    assert not listed.duplicated(["paper", "place", "statement"]).any()
    is_computed = listed["judged"].isin(["computed", "not refuted"])
    assert (listed["claim"][is_computed] != "").all()
    assert ((listed["claim"] + listed["reason"])[~is_computed] != "").all()
    is_proved = listed["judged"] == "by proof"
    assert set(listed["verdict"][is_proved]) == {HOLDS, IN_PART, FAILS}
    assert set(listed["verdict"][~is_proved]) == {""}
    for paper, some in listed.groupby("paper"):
        claims = pd.read_csv(PUBLISHED / f"{paper}_claims.csv", dtype=str)["claim"]
        assert set(some["claim"]) - {""} == set(claims.map(sentence_of)), paper


def test_planned_errors_of_blocks_are_those_of_noise_and_estimate_together(monkeypatch):
    errors = np.array([[[3.0, 0.0], [0.0, 4.0]], [[0.0, 3.0], [6.0, 0.0]]])
    squares, weight = np.array([[16.0, 144.0], [16.0, 142.0]]), np.array([0.5, 1.5])
    found = SimpleNamespace(errors=errors, estimate_squares=squares, weight=weight)
    monkeypatch.setattr(predicted_errors, "simulated", lambda *_: found)
    given = dict.fromkeys(ReleasePlan.__dataclass_fields__, ())
    release = SimpleNamespace(**given, paths=[()], is_noise=False)
    row = predicted_errors._row(release)
    assert row["footpoint_error"] == 5.0
    # 16 + 144 once, and 36 + 142 three times as much.
    assert row["shooting_vector_error"] == np.sqrt(173.5)


def test_a_block_is_replaced_and_no_other_and_one_that_is_missing_is_refused():
    page = "Before.\n<!-- losses -->\n{}\n<!-- end -->\n<!-- testers -->\nkept\n<!-- end -->\n"
    text = page.format("old")
    assert with_block(text, "losses", r"new \1") == page.format(r"new \1")
    for name, block, words in (("walks", "new", "no mark"), ("losses", "\n", "nothing to write")):
        with pytest.raises(DataError, match=words):
            with_block(text, name, block)
