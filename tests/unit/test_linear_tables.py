"""Tables and figures of linear and quantile regression, and of geodesics, with few records."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from computed_tables import CONFIGURED, drawn, made, verdicts
from scipy.stats import linregress, t

import geodp
from geodp import DataError, Euclidean
from geodp.manifolds.registry import make_manifold
from geodp.manifolds.sphere import Sphere
from reproduction.configuration.study import TABLES
from reproduction.figures import lines
from reproduction.tables.geodesics import signed_angles
from reproduction.tables.regression import _coordinates, uncertainties

CELLS = [(20, 0.001, 1.0), (20, 0.001, 0.5), (20, 0.0001, 1.0), (50, 0.001, 1.0)]
GEODESICS = {
    **{"kind": "geodesics", "data_sets": 3, "pairs": 30, "shooting_vector_length": 0.6283},
    "cells": [dict(zip(("n", "noise_variance", "budget"), cell, strict=True)) for cell in CELLS],
    **{"rows": "data_sets", "footpoints": 6, "shooting_vectors": 4},
}
LOSSES = {"kind": "quantile_losses", "tau": [0.25, 0.5, 0.9], "n": 20, "budget": 1.0}
BOUNDS = {"kind": "errors_by_size"}


def sized(kind, *numbers):
    return {"kind": f"{kind}_errors", "n": [*numbers], "budget": 1.0, "replicates": 4}


STUDIES = {
    "kng_linear": {"errors": sized("linear", 100, 1000, 100_000, 1_000_000), "bounds": BOUNDS},
    "kng_quantile": {"errors": sized("quantile", 10, 1000, 3000), "bounds": BOUNDS},
    "kng_location": {"errors": sized("location", 10, 100, 200), "losses": LOSSES},
    "geodesic_vs_notebook": {
        "errors": GEODESICS,
        **{rows: GEODESICS | {"rows": rows} for rows in ("draws", "records", "neighbours")},
    },
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """All tables by study and name, each written and read."""
    found, folder = {}, tmp_path_factory.mktemp("tables")
    for study, sections in STUDIES.items():
        for name, settings in sections.items():
            reads = TABLES[settings["kind"]].reads
            paths = {read: folder / f"{study}_{read}.csv" for read in (*reads, name)}
            made(study=study, reads=paths, seed=1, **settings).to_csv(paths[name], index=False)
            found[study, name] = pd.read_csv(paths[name])
    return found


def test_errors_have_a_row_a_cell_and_data_set(tables):
    rows = {"kng_linear": 5 * 4 * 4, "kng_quantile": 5 * 3 * 4, "kng_location": 3 * 3 * 4}
    for study, number in (rows | {"geodesic_vs_notebook": 4 * 3}).items():
        table = tables[study, "errors"]
        assert len(table) == number
        assert not table.duplicated(["group", "cell", "data_set"]).any()
    for study in ("kng_linear", "kng_quantile"):
        table = tables[study, "errors"]
        alone = table["mechanism"] == "non_private"
        assert ((table["log_over_non_private"] == 0.0) == alone).all()
        assert ((table["guarantee"] == "none") == alone).all()
        # Private estimates come nearer to the others as n grows.
        noise = table[table["mechanism"] == "kng"].groupby("n")["noise"].mean()
        assert noise.is_monotonic_decreasing


@pytest.mark.parametrize("paper", ["reimherr_awan", "kulkarni_soto_first_version"])
def test_claims_are_judged(paper, tables):
    # Some are about more records than a test has.
    found = verdicts(paper, tables, lambda claim: claim.needs or "1000000" in claim.where)
    assert len(found) > 15
    assert list(found.index[found == ""]) == []


@pytest.mark.parametrize(
    ("study", "name"), [(study, name) for study in STUDIES for name in CONFIGURED[study]["figures"]]
)
def test_figures_show_their_tables(study, name, tables):
    chosen, _, numbers, _, read = drawn(study, name, tables)
    if chosen["kind"] != "lines":
        pd.testing.assert_frame_equal(numbers, read[0])
        return
    errors = tables[study, "errors"]
    if study == "geodesic_vs_notebook":
        # Of one noise and budget.
        errors = errors.query("noise_variance == 0.001 and budget == 2")
        expected = errors.groupby("n")["error_mean"].mean()
        found = numbers[numbers["curve"] == "error_mean"].set_index("x")["y"]
    else:
        y = chosen["panels"][0]["y"]
        expected = errors.groupby(["mechanism", "n"])[y].mean()
        found = numbers[numbers["y_is"] == y].groupby(["curve", "x"])["y"].first()
    pd.testing.assert_series_equal(found, expected, check_names=False, check_index_type=False)


def test_curves_of_a_figure_differ_and_each_name_is_of_one():
    names = [f"c{k}" for k in range(12)]
    table = pd.DataFrame({"x": 1.0, "y": 2.0, "m": names})
    panel = {"table": "t", "where": {}, "x": "x", "y": "y", "of": "m"}
    panel |= {"dots": [], "log": [], "from_zero": False, "xlabel": "x", "ylabel": "y"}
    settings = {"panels": [panel], "labels": dict.fromkeys(names, "")}
    figure, _ = lines.draw(table, params=SimpleNamespace(figure=settings))
    looks = {(line.get_color(), line.get_marker()) for line in figure.axes[0].lines}
    assert len(looks) == 12
    plt.close(figure)
    settings["panels"][0]["dots"] = ["d"]
    with pytest.raises(DataError, match=r"^dots of the figure name d, which is no curve"):
        lines.draw(table, params=SimpleNamespace(figure=settings))
    with pytest.raises(DataError, match=r"^labels of the figure name e, which is no curve"):
        lines.draw(table, params=SimpleNamespace(figure=settings | {"labels": {"c1": "", "e": ""}}))


@pytest.mark.parametrize("study", ["kng_linear", "kng_quantile", "geodesic_vs_notebook"])
def test_results_depend_on_no_number_of_processes(study):
    settings = STUDIES[study]["errors"]
    small = {"cells": settings["cells"][:2]} if "cells" in settings else {"n": [20, 30]}
    one, two = (made(study=study, threads=each, seed=1, **settings | small) for each in (1, 2))
    pd.testing.assert_frame_equal(one, two)


def test_draws_and_records_are_those_of_the_first_data_set(tables):
    draws, records, errors = (
        tables["geodesic_vs_notebook", name] for name in ("draws", "records", "errors")
    )
    first = errors.query("n == 20 and noise_variance == 0.001 and budget == 2").iloc[0]
    for name, column in {"footpoint": "distance", "error": "absolute_error"}.items():
        assert first[f"{name}_mean"] == pytest.approx(draws[column].mean())
        assert first[f"{name}_deviation"] == pytest.approx(draws[column].std())
    # Records beside the places of the fit next to their covariates.
    points = records.filter(regex="^coordinate_").to_numpy()
    fitted = points[20:][np.round(np.linspace(0, 60, 20)).astype(int)]
    away = np.linalg.norm(points[:20] - fitted, axis=1)
    assert np.mean(away) == pytest.approx(draws["non_private_absolute_error"].iloc[0], rel=0.05)


def test_signed_angles_turn_with_the_shooting_vector():
    manifold = Sphere(2)
    fit = {"footpoint": np.array([[0.0, 0.0, 1.0]]), "shooting_vector": np.array([[0.5, 0.0, 0.0]])}
    turned = [np.radians(angle) for angle in (0.0, 90.0, -30.0, 170.0)]
    vectors = np.array([[[0.2 * np.cos(a), 0.2 * np.sin(a), 0.0] for a in turned]])[None]
    found = signed_angles(manifold, fit, fit["footpoint"][:, None], vectors)
    np.testing.assert_allclose(found, [[[0.0, 90.0, -30.0, 170.0]]], atol=1e-12)
    # Elsewhere the fitted vector is carried there.
    footpoint = np.array([[[np.sin(0.3), 0.0, np.cos(0.3)]]])
    carried = np.array([[[[0.5 * np.cos(0.3), 0.0, -0.5 * np.sin(0.3)]]]])
    np.testing.assert_allclose(signed_angles(manifold, fit, footpoint, carried), 0.0, atol=1e-12)


def test_the_published_sensitivity_of_quantiles_is_too_small_above_the_median(tables):
    losses = tables["kng_location", "losses"].set_index("mechanism")
    # By hand: every log density moves by the budget over twice the sensitivity, and so does the
    # integral, in the other direction.
    published, proved = (losses.loc[f"private_quantile{end}"] for end in ("", "_proved"))
    expected = 1.0 / (2.0 * (1.0 - published["tau"]))
    np.testing.assert_allclose(published["loss_over_stated"], expected, rtol=1e-6)
    np.testing.assert_allclose(proved["loss_over_stated"], 1.0, rtol=1e-6)
    assert list(published["guarantee"]) == ["proved", "proved", "stated but false"]
    assert set(proved["guarantee"]) == {"proved"}


def test_standard_errors_of_logarithms(tmp_path):
    values = np.random.default_rng(15).gamma(20.0, size=4000)
    common = {"mechanism": "kng", "guarantee": "proved", "budget": 1.0, "n": 10}
    pd.DataFrame({**common, "distance": values}).to_csv(tmp_path / "errors.csv")
    found = made("errors_by_size", reads={"errors": tmp_path / "errors.csv"}).iloc[0]
    assert (found["estimate"], found["data_sets"]) == ("kng", 4000)
    expected = 1.0 / np.sqrt(20.0 * 4000)
    np.testing.assert_allclose(found["standard_error_log"], expected, rtol=0.1)
    np.testing.assert_allclose(found["standard_error_log10"], expected / np.log(10.0), rtol=0.1)


def test_standard_errors_and_limits_of_coefficients_are_those_of_scipy():
    rng = np.random.default_rng(9)
    x, noise = rng.uniform(size=30), rng.normal(size=(30, 2))
    found = uncertainties(geodp.fit(x, np.outer(x, [1.0, -2.0]) + 0.1 * noise, Euclidean(2)))
    for column, slope in enumerate((1.0, -2.0)):
        expected = linregress(x, slope * x + 0.1 * noise[:, column])
        errors = expected.intercept_stderr, expected.stderr
        np.testing.assert_allclose(found["standard error"][:, column], errors, rtol=1e-8)
        half = t.ppf(0.975, 28) * expected.stderr
        limits = [found[f"{end} 95 % limit"][1, column] for end in ("lower", "upper")]
        np.testing.assert_allclose(limits, expected.slope + np.array([-half, half]), rtol=1e-8)


def test_products_are_in_the_numbers_of_their_columns_and_angles_in_one_piece():
    circle = {"name": "sphere", "size": 1, "coordinates": "degrees"}
    space = make_manifold("product", factors=[circle, {"name": "euclidean", "size": 2}])
    numbers = np.array([[170.0, 1.0, 2.0], [190.0, 3.0, 4.0]])
    footpoint, data = space.from_layout(np.array([[179.0, 0.0, 0.0]]))[0], {"columns": [*"abc"]}
    found = _coordinates(data, space, space.from_layout(numbers), footpoint, are_points=True)
    np.testing.assert_allclose([found[f"coordinate_{each}"] for each in "abc"], numbers.T)
