"""Releases beside a study's own draws: cells, tables, and figures with bands."""

import numpy as np
import pandas as pd
import pytest
import yaml

from geodp.manifolds.spd import SPD

pytestmark = pytest.mark.slow

STUDIES = """
sphere:
  manifold: {name: sphere, size: 2}
  data: {source: simulated, data_sets: 2, shooting_vector_length: 0.6}
  budgets:
    equal: {totals: ["1.0", "4.0"]}
    split: {total: "4.1", footpoint: ["0.1", "2.0"]}
  cells: [{n: [8], noise_variance: ["0.001", "0.01"], budgets: [equal, split]}]
  draws: {footpoint: 2, shooting_vector: 2}
  sampler: {states: 250}
  release:
    centre: [0, 0, 1]
    footpoint_radius: 3.0
    shooting_vector_length: 1.0
    totals: ["4.0", "4.1"]
    draws: 3
  figures:
    error: {kind: error, grids: [split, equal], curves: noise_variance}
    released: {kind: curves, grids: [release], groups: [n8_noise0.001]}
spd:
  manifold: {name: spd, size: 2}
  data: {source: simulated, data_sets: 2, last_point: random, noise: tangent}
  data_radius: 1.0
  budgets: {equal: {totals: ["4.0"]}}
  cells: [{n: [60], noise_variance: ["0.0001"], budgets: [equal]}]
  draws: {footpoint: 2, shooting_vector: 2}
  sampler: {states: 250}
  release:
    centre: identity
    footpoint_radius: 1.0
    shooting_vector_length: 2.0
    totals: ["4.0"]
    draws: 2
    data_sets: 2
  figures:
    published: {kind: ellipses, cell: p2.0_v2.0, values: [0.0, 1.0], draws: 2}
    released: {kind: ellipses, cell: all4.0, values: [0.0, 1.0], draws: 2}
outlines:
  manifold: {name: kendall, size: 30}
  data:
    source: table
    path: data/corpus_callosum.csv
    covariate: age
    covariate_range: [50, 90]
    outline: true
    stand_in: {n: 20, data_sets: 1}
  support: {footpoint_centre: fit, footpoint_radius: 0.48, shooting_vector_length: 0.96}
  budgets: {equal: {totals: ["4.0"]}}
  cells:
    - {budgets: [equal]}
    - {n: [200], budgets: [equal]}
  draws: {footpoint: 2, shooting_vector: 2}
  sampler: {states: 250, total_variation: 0.01}
  release:
    centre: corpus callosum
    footpoint_radius: 0.1
    shooting_vector_length: 0.2
    residual_scale: 0.006
    totals: ["1.0", "8.0"]
    draws: 2
  figures:
    released: {kind: shapes, group: stand_in_n200, cell: [all1.0, all8.0], values: [60, 80]}
"""


@pytest.fixture(scope="module")
def ran(copied, source, tmp_path_factory):
    run = copied(source, tmp_path_factory.mktemp("beside"))
    run.configure({"name": "beside", "seed": 5, "studies": yaml.safe_load(STUDIES)})
    run.run()
    return run


def read(run, study, name, folder="tables"):
    table = run.files()[f"{study}/{folder}/{name}.csv"]
    return pd.read_csv(table, dtype={"noise_variance": str, "cell": str})


def test_errors_of_releases_stand_beside_those_of_draws(ran):
    errors = read(ran, "sphere", "errors")
    released = errors[errors["sampler"] == "release"]
    assert set(released["mechanism"]) == {"release"}
    assert set(errors.loc[errors["sampler"] == "default", "mechanism"]) == {"kng_as_published"}
    assert set(zip(released["group"], released["cell"], strict=True)) == {
        (f"n8_noise{noise}", cell) for noise in ("0.001", "0.01") for cell in ("all4.0", "all4.1")
    }
    # One data set, the first; three releases from it.
    assert set(released["data_set"]) == {0}
    assert set(released["draws"]) == {3}
    assert released["guarantee"].str.contains("by proof").all()
    assert (released["support"] == "distance of p to its centre <= 3, |v| <= 1").all()
    assert released[["budget_footpoint", "budget_shooting_vector"]].isna().all(axis=None)
    assert list(released["budget"]) == [4.0, 4.1] * 2


def test_a_figure_of_errors_has_releases_at_the_budgets_of_each_panel(ran):
    numbers = read(ran, "sphere", "error", "figures")
    released = numbers[numbers["sampler"] == "release"]
    found = set(zip(released["grid"], released["group"], released["budget"], strict=True))
    groups = ("n8_noise0.001", "n8_noise0.01")
    panels = (("equal", 4.0), ("split", 4.1))
    assert found == {(grid, group, total) for grid, total in panels for group in groups}
    picture = ran.files()["sphere/figures/error.svg"].read_text()
    assert "release with a proof" in picture
    assert "as published" in picture


def test_a_figure_of_curves_shows_releases(ran):
    numbers = read(ran, "sphere", "released", "figures")
    private = numbers[numbers["kind"] == "private"]
    assert set(private["mechanism"]) == {"release"}
    assert set(private["budget"]) == {4.0, 4.1}
    points = private[["coordinate_1", "coordinate_2", "coordinate_3"]].to_numpy()
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0)


def test_the_first_of_several_releases_has_a_band(ran):
    numbers = read(ran, "spd", "released", "figures")
    assert "band" not in read(ran, "spd", "published", "figures")
    private = numbers[numbers["kind"] == "private"]
    assert list(private.groupby("draw")["band"].count()) == [2, 0]
    first = private[private["draw"] == 1]
    np.testing.assert_allclose(first["radius"], np.exp(0.5 * first["band"]))
    # With enough budget a band is narrow, and the fit lies within about one of it.
    assert first["band"].between(0.001, 0.5).all()
    coordinates = [f"coordinate_{k}" for k in range(1, 5)]
    fitted = numbers.loc[numbers["kind"] == "without privacy", coordinates].to_numpy()
    away = SPD(2).dist(
        fitted.reshape((-1, 2, 2)), first[coordinates].to_numpy().reshape((-1, 2, 2))
    )
    np.testing.assert_allclose(away, first["distance"], rtol=1e-6, atol=1e-9)
    assert np.all(away < 3.0 * first["band"])


def test_rows_of_outlines_are_budgets_and_bands_narrow_with_them(ran):
    numbers = read(ran, "outlines", "released", "figures")
    assert set(numbers["n"]) == {200}
    private = numbers[numbers["kind"] == "private"]
    widths = private.groupby("cell", sort=False)["band"].mean()
    assert list(widths.index) == ["all1.0", "all8.0"]
    assert widths.iloc[1] < 0.6 * widths.iloc[0]
    # A landmark gets no farther than its shape, whose length is one.
    assert (private["radius"] <= private["band"] * (1.0 + 1e-6)).all()
    assert (private["radius"] > 0.0).all()
    caption = ran.files()["outlines/figures/released.svg"].read_text()
    assert "stated budgets do not hold" not in caption


def test_where_there_is_a_file_figures_show_it_in_place_of_stand_ins(ran):
    """A figure of a group of stand-ins is then of the file."""
    from reproduction.configuration import validate
    from reproduction.studies import expand

    settings = yaml.safe_load(STUDIES)["outlines"]
    settings["data"] |= {"path": "resources/vilmann_rats.csv"}
    configuration = validate({"name": "beside", "seed": 5, "studies": {"outlines": settings}})
    study = expand(configuration)["outlines"]
    assert list(study.groups) == ["observed"]
    assert study.shown_group("released") == "observed"
    assert study.shown_cells("released") == [("all1.0", "release"), ("all8.0", "release")]
