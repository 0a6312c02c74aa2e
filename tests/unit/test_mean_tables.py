"""Tables and figures of private means and of lines of wine: made, judged and drawn."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from computed_tables import CONFIGURED, drawn, made, verdicts

from geodp import DataError, GeodesicModel
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.mechanism import PROVED
from geodp.mechanisms.registry import mechanism_class, named_in
from reproduction.places import CHECKOUT
from reproduction.tables import wine
from reproduction.tables.means import in_ball, iterations

# One worker makes the tables.
pytestmark = pytest.mark.xdist_group("mean_tables")

RATS = str(CHECKOUT / "resources" / "vilmann_rats.csv")
SPD, SPHERE = make_manifold("spd", 2), make_manifold("sphere", 2)

BALLS = {
    "means_spd2": {"space": "SPD(2)", "manifold": {"name": "spd", "size": 2}, "radius": 1.5},
    "means_s2": {"space": "S^2", "manifold": {"name": "sphere", "size": 2}, "radius": np.pi / 8},
}
EVERYWHERE = ("laplace", "laplace_general", "ambient_laplace", "kng", "tangent_laplace")
MECHANISMS = {
    "means_spd2": (*EVERYWHERE, "tangent_gaussian", "wrapped_laplace", "private_steps"),
    "means_s2": (*EVERYWHERE, "laplace_as_published"),
}


@pytest.fixture
def rng():
    return np.random.default_rng(14)


@pytest.fixture(scope="module")
def tables():
    """Tables by study and name."""
    found = {}
    for study, space in BALLS.items():
        draws = dict.fromkeys(MECHANISMS[study], 1) | {"ambient_laplace": 40, "kng": 4}
        given = space | {"budget": 1.0}
        medians = given | {"n": 20, "replicates": 3, "outliers": [0.0, 0.4]}
        errors = given | {"n": [20, 25, 30, 40, 400], "replicates": 6, "mechanisms": draws}
        found[study, "errors"] = made("private_means", **errors)
        found[study, "neighbours"] = made("means_of_neighbours", n=[20, 30], pairs=3, **space)
        found[study, "losses"] = made("mean_losses", n=[25], **given)
        found[study, "medians"] = made("mean_medians", **medians)
    sphere = BALLS["means_s2"]["manifold"]
    found["means_s2", "bounds"] = made("sensitivity_bounds", manifold=sphere, radii=39)
    given = {"manifold": {"name": "kendall", "size": 8}, "budget": 1.0, "draws": 8}
    data = {"source": "table", "path": RATS, "subject": "rat"}
    for name, path, more in (("rats", RATS, {}), ("outlines", None, {"stand_in": {"n": 30}})):
        shapes = made("mean_shapes", path=path, space=name, data=data | more, **given)
        found[f"means_{name}", "errors"] = shapes
    return found


def test_the_support_of_the_gradient_mechanism_makes_its_loss(tables):
    losses = tables["means_s2", "losses"].set_index("mechanism").loc["kng"]
    expected = {"twice the ball": 0.85, "the ball": 1.22, "anywhere": 5.87}
    assert dict(zip(losses["support"], losses["loss"].round(2), strict=True)) == expected


@pytest.mark.parametrize(("paper", "sentences"), [("reimherr_bharath_soto", 8), ("soto", 4)])
def test_claims_are_judged_of_these_tables(paper, sentences, tables):
    # Small settings lack sizes that some need.
    found = verdicts(paper, tables, lambda claim: claim.needs)
    assert found.index.str.partition(".").get_level_values(0).nunique() == sentences
    assert (found != "").all()


@pytest.mark.parametrize(
    ("study", "name"),
    [(s, name) for s in (*BALLS, "means_rats") for name in CONFIGURED[s]["figures"]],
)
def test_figures_show_their_tables(study, name, tables):
    _, axes, numbers, lines, _ = drawn(study, name, tables)
    panels = {"sensitivities": 1, "laplace_means": 4, "mean_shapes": 8}
    assert len(axes) == panels.get(name, 2)
    assert all(panel.lines for panel in axes)
    if name == "kng_means":
        one = numbers[(numbers["curve"] == "kng") & (numbers["panel"] == "SPD(2)")].set_index("x")
        means = tables["means_spd2", "errors"].groupby(["mechanism", "n"])["distance"].mean()
        expected = means["kng"] / means["laplace"]
        np.testing.assert_allclose(one["y"], expected.loc[one.index])
        error = tables["means_spd2", "errors"].groupby(["mechanism", "n"])["distance"].sem()["kng"]
        np.testing.assert_allclose(one["high"] - one["y"], 2.0 * error / means["laplace"])
    if name == "laplace_means":
        assert "Not kept: Laplace in the ambient space" in lines[1]
        # A pair has a dot.
        assert (numbers["curve"] == "moved").sum() == 2 * 2 * 3
    if name == "mean_shapes":
        # The mean and six draws, closed; and the bar of the first panel.
        assert [len(panel.lines) for panel in axes] == [8, 7, 7, 7] * 2
        assert lines[-1] == "The outlines are simulated."


def test_shapes_of_a_file_take_the_place_of_simulated_ones(tables):
    observed, simulated = (tables[f"means_{name}", "errors"] for name in ("rats", "outlines"))
    # A rat is measured at several ages.
    assert set(observed["n"]) == {18}
    assert set(simulated["n"]) == {30}
    assert not observed["simulated"].any()
    assert simulated["simulated"].all()
    manifold = make_manifold("kendall", 8)
    landmarks = [observed[[f"{axis}{k}" for k in range(1, 9)]].to_numpy() for axis in "xy"]
    shapes = manifold.from_landmarks(landmarks[0] + 1j * landmarks[1])
    np.testing.assert_allclose(manifold.dist(shapes[0], shapes), observed["distance"], atol=1e-8)
    assert (observed["distance"] <= 2.0 * observed["radius"])[observed["cell"] == "laplace"].all()


OWN = {
    "manifold": {"name": "spd", "size": 2},
    "data": {"source": "table", "path": "mine.csv", "subject": "s", "columns": ["a", "b", "c"]},
    **{"centre": "identity", "radius": 1.5, "draws": 50},
}


@pytest.mark.parametrize("outside", [False, True])
def test_a_table_of_ones_own_has_what_its_space_allows(outside, tmp_path, rng):
    points = in_ball(rng, SPD, 1.5, (40,))
    points[0] *= 30.0 if outside else 1.0
    # Two records of each subject count once.
    rows = pd.DataFrame(points[:, [0, 0, 1], [0, 1, 1]], columns=[*"abc"])
    rows = rows.rename(index="s{}".format).rename_axis("s")
    pd.concat([rows, rows]).to_csv(path := tmp_path / "mine.csv")
    table = made("own_means", path=str(path), **OWN).set_index("estimate")
    estimates, draws = table[table["kind"] == "estimate"], table[table["kind"] == "draw"]
    assert set(estimates["n"]) == {40}
    refused = set(estimates.index[estimates["refused"].notna()])
    needing = {name for name in named_in("means") if not mechanism_class(name).anywhere}
    needing -= {"ambient_laplace", "laplace_as_published", "laplace_general"}
    assert refused == (needing if outside else {"landmarkwise_laplace"})
    assert estimates["guarantee"].isna()[list(refused)].all()
    assert "ambient_laplace" not in estimates.index
    if outside:
        assert "record 1 of data set 1 is not within" in estimates.loc["kng", "refused"]
    mean = GeodesicModel(SPD, 0).fit(None, points).footpoint
    names = [f"coordinate_{k}" for k in range(1, 5)]
    assert np.allclose(estimates.loc["mean", names].to_numpy(float).reshape(2, 2), mean)
    away = SPD.dist(mean, draws.loc["tangent_laplace", names].to_numpy(float).reshape(-1, 2, 2))
    assert estimates.loc["tangent_laplace", "distance"] == pytest.approx(np.mean(away))
    assert estimates.loc["tangent_laplace", "guarantee"] == PROVED


@pytest.mark.parametrize(
    ("changes", "rows", "said"),
    [
        ({"columns": ["a", "b", "c", "a"]}, "s1,1,0,1\n", r"\.data\.columns"),
        ({}, "s1,1,0,1\ns1,2,0,1\n" * 2, r"at least 3 subjects and there are 1: .*data\.subject"),
    ],
)
def test_a_table_of_ones_own_is_named_in_errors(changes, rows, said, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("s,a,b,c\n" + rows)
    with pytest.raises(DataError, match=rf"{said}") as raised:
        made("own_means", path=str(path), **OWN | {"data": OWN["data"] | changes})
    assert "configuration key studies.mine.tables.estimates" in str(raised.value)


@pytest.mark.parametrize("manifold", [SPD, SPHERE])
def test_the_algorithm_for_the_mean_counts_its_steps(manifold, rng):
    points = in_ball(rng, manifold, 0.4, (20, 30))
    model, mean = GeodesicModel(manifold, 0), GeodesicModel(manifold, 0).fit(None, points).footpoint
    alike = np.broadcast_to(points[:, :1], points.shape)
    assert not np.any(iterations(model, alike))
    # A step of a half halves the distance to the mean, about, from the first record's.
    away = manifold.dist(points[:, 0], mean)
    assert np.all(np.abs(iterations(model, points) - np.log2(away / 1e-5)) < 3)
    assert np.all(iterations(model, points, most=4) == 4)


STUDY = CONFIGURED["wine"]


def job(table="draws", files=None, **changes):
    settings = STUDY["tables"][table] | changes
    files = files or [str(CHECKOUT / path) for path in settings["files"]]
    params = SimpleNamespace(settings=settings, seed=STUDY["seed"])
    return SimpleNamespace(params=params, input=SimpleNamespace(files=files))


@pytest.mark.parametrize("name", wine.SCALES)
def test_errors_of_the_published_mechanism_by_scale(name):
    """Means against the closed form: squared lengths of noise have the mean 20 on R^4."""
    x, y, lines = wine.fitted(job(), name, 2.0)
    np.testing.assert_allclose(y.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(y.std(axis=0), 1.0)
    design = np.column_stack([np.ones(100), x])
    residuals = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    errors = np.mean((y - lines[:, :1] - x[:, None] * lines[:, 1:]) ** 2, axis=(1, 2))
    if name == "least_squares":
        # The published number is 0.873.
        assert [f"{error:.5f}" for error in errors] == ["0.87359"]
        return
    scale = 2.0 * np.linalg.norm(residuals, axis=1).max() / len(x)
    expected = np.mean(residuals**2) + 5.0 * scale**2 * (1.0 + x.var()) / np.mean(x**2)
    assert np.mean(errors) == pytest.approx(expected, abs=4.0 * np.std(errors) / np.sqrt(20_000))


def test_recorded_lines_stand_beside_and_have_their_ratios():
    found = wine.draws(job(draws=300))
    cells = found.groupby(["method", "budget"]).size().unstack()
    assert set(cells.index) == {*wine.SCALES, *STUDY["tables"]["draws"]["competitors"], "dp_sgd"}
    assert cells.loc["dp_sgd"].tolist() == [20] * 3
    by_draw = found.set_index(["method", "budget", "draw"])
    error, times = by_draw["mean_squared_error"], by_draw[f"times_{wine.PUBLISHED}"]
    least = error["least_squares", 1.0, 0]
    for draw in (0, 199):
        its = error[wine.PUBLISHED, 4.0, draw] - least
        expected = (error["diffprivlib", 4.0, draw] - least) / its
        assert times["diffprivlib", 4.0, draw] == pytest.approx(expected)


def test_lines_of_other_data_are_refused(tmp_path):
    files = job().input.files
    other = pd.read_csv(files[1]).assign(delta=1e-3)
    other.to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(DataError, match=r"^lines of diffprivlib, diffprivlib_one_call are of oth"):
        wine.draws(job(files=[files[0], str(tmp_path / "other.csv"), files[2]], draws=2))


def test_settings_have_their_mean_and_ends_and_a_middle(tmp_path):
    errors = [[1.0] * 20, [3.0] * 19 + [9.0], [2.0, *[5.0] * 19], [4.0] * 20]
    grid = pd.DataFrame(errors, columns=[str(draw) for draw in range(20)])
    grid.assign(budget=1.0, passes=[1, 2, 3, 4]).to_csv(tmp_path / "grid.csv", index=False)
    found = wine.settings_of_sgd(job("settings", files=[str(tmp_path / "grid.csv")]))
    assert found[["setting", "draws", "mean", "low", "high"]].to_numpy().tolist() == [
        *([0, 20, 1.0, 1.0, 1.0], [1, 20, 3.3, 3.0, 9.0], [2, 20, 4.85, 2.0, 5.0]),
        [3, 20, 4.0, 4.0, 4.0],
    ]
