"""Every space from a table to its page, and what points are as numbers."""

import copy
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cohort import changed, write
from conftest import CIRCLE, SETTINGS_OF

from geodp import DataError, Ledger
from geodp.data.columns import has_landmark_columns
from geodp.data.coordinates import View, are_read, in_layout
from geodp.manifolds.registry import MANIFOLDS, make_manifold, manifold_settings, parse_point
from geodp.manifolds.rotations import ORTHOGONAL, Rotations
from geodp.manifolds.sphere import RealProjective
from geodp_release.ask import planning
from geodp_release.ask.cli import main
from geodp_release.ask.settings import read_settings
from geodp_release.show.folder import page, predictions
from geodp_release.show.rehearsal import without_data

NUMBER = 60

# By their settings, and what columns of a point hold.
PLACE = {"name": "sphere", "size": 2, "coordinates": "latitude_longitude"}
CASES = {
    **{name: ({"name": name, **kind.example}, "ambient") for name, kind in MANIFOLDS.items()},
    **{name: (given, "ambient") for name, given in SETTINGS_OF.items()},
    "places": ({"name": "sphere", "size": 2}, "latitude_longitude"),
    "hours": ({"name": "sphere", "size": 1}, "hours"),
    "axes": ({"name": "projective", "size": 2}, "latitude_longitude"),
    "orientations": ({"name": "projective", "size": 1}, "degrees"),
}
POSES = [PLACE, CIRCLE | {}, {"name": "rotations"}]
CASES["poses"] = {"name": "product", "factors": POSES}, "ambient"

# Others by the slow tests.
QUICK = ("SPD3log", "axes", "poses")
BY_NAME = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CASES]


def table_of(manifold, coordinates, seed=0):
    """Ages, and columns of points about a geodesic that leads through the centre of a name."""
    rng, centre = np.random.default_rng(seed), manifold.centres["anywhere"]
    ages = rng.uniform(50.0, 90.0, NUMBER)
    steps = ((ages - 70.0) / 40.0)[:, None] * np.eye(manifold.dim)[0]
    steps += 0.05 * rng.standard_normal(steps.shape)
    starts = np.broadcast_to(centre, (NUMBER, *centre.shape))
    points = manifold.exp(starts, manifold.vector(manifold.frame(centre), steps))
    numbers = View(manifold, coordinates).values(points)
    return ages, points, numbers


def written(name, **changes):
    """Settings of a release of a case, with its table beside them, in the working directory."""
    given, coordinates = copy.deepcopy(CASES[name])
    manifold = make_manifold(**given)
    ages, _, numbers = table_of(manifold, coordinates)
    columns = [f"c{k}" for k in range(numbers.shape[1])]
    if manifold.dtype is complex:
        columns = [f"{axis}{k + 1}" for k in range(manifold.landmarks) for axis in "xy"]
    frame = pd.DataFrame(numbers, columns=columns).assign(age=ages)
    frame.to_csv("mine.csv", index=False, float_format="%.12g")
    left_out = ("footpoint_radius", "shooting_vector_length", "residual_scale")
    public = dict.fromkeys(left_out) | {"manifold": given, "centre": "anywhere", "subjects": NUMBER}
    data = {"subject": "one record each", "columns": columns, "coordinates": coordinates}
    parts = {f"public.{key}": value for key, value in (public | changes).items()}
    parts |= {f"data.{key}": value for key, value in data.items()} | {"sources": None}
    write(changed(parts, budget={"epsilon": "200"}, folder="out", allow_noise=True))
    Ledger.create("mine.ledger", "200", "epsilon")


@pytest.mark.parametrize("name", BY_NAME)
def test_every_space_leads_from_a_table_to_its_page(name, folder, few_designs, capsys, monkeypatch):
    written(name)
    for command in ("plan", "check", "release"):
        assert main([command, "mine.yaml"]) == 0, capsys.readouterr()
        # The same once more.
        monkeypatch.setattr(planning, "rehearse", lambda *_: None)
    said = capsys.readouterr().out
    page, table = Path("out/index.html").read_text(), pd.read_csv("out/predictions.csv")
    settings = read_settings("mine.yaml")
    names = settings.responses or ["x1", "y1"]
    assert "<svg" in page
    assert np.isfinite(table.drop(columns="note").to_numpy(float)).any()
    assert set(names) <= {*table.columns}
    # Nothing that a template was not given, and no number that is none.
    words = re.sub(r"<svg.*?</svg>|<style.*?</style>", "", page, flags=re.DOTALL)
    assert re.findall(r"\b(?:nan|NaN|None|inf|Undefined)\b", f"{said} {words}") == []
    # Who answers for what: of a space of the library code does for R3.
    assert "a space of one's own" not in page
    is_flat = not settings.assumptions.manifold.is_curved
    assert not (is_flat and "curved space" in page)


@pytest.mark.parametrize("name", CASES)
def test_points_are_the_numbers_that_they_are_shown_as(name):
    given, coordinates = CASES[name]
    manifold = make_manifold(**given)
    _, points, numbers = table_of(manifold, coordinates)
    assert np.all(are_read(numbers, coordinates))
    found = manifold.from_layout(in_layout(numbers, coordinates))
    if manifold.dtype is complex:
        found = manifold.from_landmarks(found)
    np.testing.assert_allclose(manifold.dist(points, found), 0.0, atol=1e-7)
    again = make_manifold(**manifold_settings(manifold))
    assert (again.name, again.curvature_bounds) == (manifold.name, manifold.curvature_bounds)
    # One by one, whatever the others are.
    for k in (0, 7):
        alone = manifold.from_layout(in_layout(numbers[k : k + 1], coordinates))
        whole = manifold.from_layout(in_layout(numbers, coordinates))
        assert alone.tobytes() == np.ascontiguousarray(whole[k : k + 1]).tobytes()


@pytest.mark.parametrize("name", CASES)
def test_what_a_figure_shows_of_points_in_balls_is_within_its_limits(name):
    given, coordinates = CASES[name]
    manifold = make_manifold(**given)
    _, points, _ = table_of(manifold, coordinates)
    view, rng, radius = View(manifold, coordinates), np.random.default_rng(2), 0.3
    some, centre = points[:5], manifold.centres["anywhere"]
    for point in some:
        ball = np.broadcast_to(point, (2000, *point.shape))
        inside = manifold.exp(ball, radius * manifold.random_direction(rng, ball))
        drawn = view.drawn(centre, np.concatenate([point[None], inside]), np.full(2001, radius))
        # As seen from the middle of a ball, which numbers that come round are near.
        mine = view.drawn(centre, point[None], np.array([radius]))
        turns = np.array([each if np.isfinite(each) else 1e9 for each in view.periods])
        turns = turns if len(turns) == drawn.values.shape[1] else 1e9
        away = drawn.values[1:] - mine.values[0]
        away -= turns * np.round(away / turns)
        low, high = mine.low[0] - mine.values[0], mine.high[0] - mine.values[0]
        assert np.all((low - 1e-9 <= away) & (away <= high + 1e-9))


RADIANS = CIRCLE | {"coordinates": "radians"}


@pytest.mark.parametrize(
    ("given", "coordinates", "centre"),
    [
        ({"name": "product", "factors": [RADIANS, RADIANS | {}]}, "ambient", [172.0, -57.0]),
        ({"name": "sphere", "size": 1}, "radians", [172.0]),
        ({"name": "sphere", "size": 2}, "latitude_longitude", [10.0, 500.0]),
    ],
)
def test_a_centre_outside_the_limits_of_its_columns_is_refused(
    given, coordinates, centre, folder, monkeypatch
):
    monkeypatch.setitem(CASES, "round", (given, coordinates))
    written("round", centre=centre)
    with pytest.raises(DataError, match=r"centre: .*(between|within) -(6.2832|180)"):
        _ = read_settings("mine.yaml").assumptions


def test_numbers_that_come_round_are_said_in_tables(folder, few_designs, monkeypatch):
    factors = [CIRCLE | {}, PLACE | {}]
    monkeypatch.setitem(CASES, "round", ({"name": "product", "factors": factors}, "ambient"))
    written("round", centre=[0.0, 10.0, 180.0], footpoint_radius=1.0, shooting_vector_length=2.0)
    settings = read_settings("mine.yaml")
    release = without_data(planning.plan_of(settings, is_drawn=False))
    # Along both angles that come round.
    manifold, p = settings.assumptions.manifold, release.footpoint
    vector = manifold.vector(manifold.frame(p), np.array([1.0, 1.0, 1.0]))
    release = replace(release, shooting_vectors=vector[None])
    rows = predictions(release, settings, settings.covariates(release))
    said = " ".join(row["note"] for row in rows)
    assert "c0 came round by 360" in said
    shown = page(release, settings, rows)
    for each in rows:
        assert each["note"] in shown
    assert " From " in shown
    assert ".From" not in shown


@pytest.mark.parametrize("away", [0.0, 4e-5, 6e-5, np.nan])
def test_a_matrix_is_a_rotation_within_a_public_tolerance_by_itself(away):
    space, rng = make_manifold("rotations"), np.random.default_rng(3)
    matrices = space.to_matrices(space.random_point(rng, (5,)))
    matrices[2] *= 1.0 + away
    found = space.from_layout(matrices.reshape(5, 9))
    is_rotation = away < ORTHOGONAL / 2.0
    assert space.are_points(found).tolist() == [True, True, is_rotation, True, True]
    assert (space.layout_fault(matrices[2].ravel()) is None) == is_rotation
    assert "mirror" in space.layout_fault(-matrices[0].ravel())


def test_signs_of_axes_and_of_quaternions_are_not_those_of_noise_about_zero():
    axes, quaternions = RealProjective(2), Rotations("quaternion")
    for noise in (1e-9, -1e-9):
        rows = np.array([[-0.8, 0.6, noise], [0.8, -0.6, noise]])
        np.testing.assert_array_equal(np.sign(axes.shown(rows)[:, 0]), 1.0)
        rows = np.array([[-0.6, 0.8, 0.0, noise], [0.6, -0.8, 0.0, noise]])
        np.testing.assert_array_equal(np.sign(quaternions.shown(rows)[:, 0]), 1.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("factor", [0.0, 1e160, 1e-170, np.nan])
def test_landmarks_without_a_finite_log_size_are_no_point_and_do_not_warn(factor):
    space, square = make_manifold("size_and_shape", size=4), np.array([0.0, 0, 1, 0, 1, 1, 0, 1])
    bad, good = space.from_layout(np.array([factor * square, square]))
    with np.errstate(all="ignore"):
        assert space.are_points(np.array([bad, good])).tolist() == [False, True]
    with pytest.raises(DataError, match="landmarks are no finite numbers, all coincide, or are"):
        parse_point(space, factor * square, "centre")


FACTORS = [{"name": "euclidean", "size": 1}, {"name": "sphere", "size": 2}]


@pytest.mark.parametrize(
    ("name", "given", "near", "far"),
    [
        ("sphere", {"size": 2}, [0.0, 0.6, 0.81], [0.0, 3.0, 4.0]),
        ("hyperbolic", {"size": 2}, [1.7, 1.0, 1.0], [1.0, 1.0, 1.0]),
        # However large another entry or factor is.
        ("spd", {"size": 2}, [1e4, 90.0, 90.1, 3.0], [1e4, 90.0, -90.0, 3.0]),
        ("product", {"factors": FACTORS}, [1e3, 0.6, 0.8, 0.0], [1e3, 3.0, 4.0, 0.0]),
    ],
)
def test_a_public_point_may_be_rounded_and_not_far_from_any(name, given, near, far):
    space = make_manifold(name, **given)
    assert space.invalid_reason(parse_point(space, near, "centre")) is None
    with pytest.raises(DataError, match=r"centre: not a point of .*, since"):
        parse_point(space, far, "centre")


def test_columns_of_landmarks_has_landmark_columns():
    found = {
        name: has_landmark_columns(make_manifold(name, size=4)) for name in ("kendall", "sphere")
    }
    assert found == {"kendall": True, "sphere": False}
    assert has_landmark_columns(make_manifold("size_and_shape", size=4))
    assert not has_landmark_columns(make_manifold("euclidean", size=2))
