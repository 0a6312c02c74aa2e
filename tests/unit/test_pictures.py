"""Bands in pictures, and where pictures end."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from test_release_covariates import assumed, cohort, quick

import geodp
from geodp import SPD, KendallPlanarShapes
from geodp.data.angles import ANGLES
from geodp.data.coordinates import PLACES, View, in_layout
from geodp.data.shares import percent_limits, percent_of
from geodp.manifolds.landmark_maps import fourier_harmonics
from geodp.manifolds.registry import make_manifold
from geodp_release.promise.public_inputs import UNKNOWN
from geodp_release.run.subjects import ONE_EACH
from geodp_release.show import folder
from geodp_release.show.pictures import ellipse_factors, ellipse_radii, picture
from geodp_release.show.shape_pictures import landmark_radii


@pytest.mark.parametrize("harmonics", [None, 2])
def test_landmarks_of_shapes_in_a_ball_are_in_their_discs(harmonics):
    manifold = make_manifold("kendall", 12, harmonics and fourier_harmonics(12, harmonics))
    point, radius = manifold.random_point(np.random.default_rng(3)), 0.01
    [radii] = landmark_radii(manifold, point[None], [radius])
    ends = ends_of_steps(manifold, point, radius, 20000)
    away = np.max(np.abs(manifold.to_landmarks(ends) - manifold.to_landmarks(point)), axis=0)
    # No larger than they have to be.
    assert np.all((away <= 1.01 * radii) & (away >= 0.7 * radii))


def ends_of_steps(manifold, point, radius, number):
    starts = np.broadcast_to(point, (number, *point.shape))
    directions = manifold.random_direction(np.random.default_rng(3), starts)
    return manifold.exp(starts, radius * directions)


def test_ellipses_of_matrices_in_a_ball_are_in_their_ring():
    matrix, direction, radius = np.array([[2.0, 0.3], [0.3, 0.5]]), np.array([[0.6], [0.8]]), 0.3
    ends = ends_of_steps(SPD(2), matrix, radius, 5000)
    ratios = [ellipse_radii(end, direction) for end in ends] / ellipse_radii(matrix, direction)
    factor = ellipse_factors(radius)
    assert np.max(ratios) == pytest.approx(factor, rel=0.01)
    assert np.min(ratios) == pytest.approx(1.0 / factor, rel=0.01)


def test_limits_of_shares_are_those_in_a_ball():
    sphere = geodp.Sphere(2)
    for shares, radius in (([0.2, 0.3, 0.5], 0.2), ([0.0, 0.01, 0.99], 0.3)):
        point = np.sqrt(shares)
        ends = [ends_of_steps(sphere, point, part * radius, 5000) for part in (1.0, 0.7, 0.3)]
        found = percent_of(np.concatenate([*ends, point[None]]))
        low, high = percent_limits(point[None], [radius])[:, 0]
        np.testing.assert_allclose(found.min(axis=0), low, atol=0.05)
        np.testing.assert_allclose(found.max(axis=0), high, atol=0.2)
        assert np.all((low <= found + 1e-9) & (found <= high + 1e-9))


def called(made, names, responses=(), coordinates="ambient"):
    """What settings say of the names of a release."""
    assumptions, public = made.plan.assumptions, SimpleNamespace(centre=[0.0, 0.0])
    view = View(assumptions.manifold, coordinates)
    about = {"assumptions": assumptions, "public": public, "view": view}
    about["turn"] = view.turn or (1.0, "")
    about["value_words"] = lambda _, value: f"{value:g}"
    responses = responses or view.names
    return SimpleNamespace(names=names, responses=responses, labels=list, **about)


ENDS = [(geodp.SPD(2), "ambient"), (geodp.SPD(3), "ambient"), (KendallPlanarShapes(5), "ambient")]
ENDS += [(geodp.Sphere(2), "ambient"), (geodp.Sphere(2), PLACES)]


@pytest.mark.parametrize(("manifold", "coordinates"), ENDS)
def test_bands_and_figures_end_where_subjects_do(manifold, coordinates):
    plan = quick(assumed(manifold, 1))
    made = geodp.release_geodesic(plan, *cohort(plan.assumptions), ONE_EACH)
    assert np.all(np.isfinite(made.band([10.0, 20.0])))
    plan = quick(assumed(manifold, 1, covariate_spread=UNKNOWN))
    made = replace(made, moments=np.array([-0.4, 0.1625]), plan=plan)
    x = np.array([[11.0], [20.0]])
    assert np.isfinite(made.band(x)).tolist() == [True, False]
    # Over where subjects are, and not in their midst alone.
    assert 0.0 < made.error < np.min(made.band([10.5, 11.5]))
    settings = called(made, ["weeks"], coordinates=coordinates)
    svg, caption = picture(made, settings, x, 0.95)
    assert svg.count("too few subjects here") == 1 or "subjects are too few" in caption
    assert "weeks" in svg
    assert ("longitude" in svg) == (coordinates == PLACES)
    rows = folder.predictions(made, settings, x)
    for row, there, note in zip(rows, [True, False], ["", "too few subjects here"], strict=True):
        _, *numbers, said = row.values()
        assert ({*np.isfinite(numbers)}, said) == ({there}, note)


def test_shares_are_shown_in_percent():
    assumptions = assumed(geodp.Sphere(2), 1)
    made = geodp.release_geodesic(quick(assumptions), *cohort(assumptions), ONE_EACH)
    settings = called(made, ["age"], ["food", "rent", "rest"], coordinates="shares")
    row = folder.predictions(made, settings, np.array([[np.nextafter(12.0, 0.0)]]))[0]
    assert next(iter(row.values())) == 12.0
    names = [f"{each}_{end}" for end in ("percent", "low", "high") for each in settings.responses]
    assert [*row][1:10] == names
    parts, low, high = np.reshape([row[name] for name in names], (3, 3))
    assert np.sum(parts) == pytest.approx(100.0)
    assert np.all((low < parts) & (parts < high))
    _, caption = picture(made, settings, np.array([[12.0]]), 0.95)
    assert "Predicted shares" in caption
    assert "At any one covariate, the true shares lie within their bands with" in caption


def test_angles_are_shown_near_to_the_public_centre_and_lengths_in_their_unit():
    factor = {"name": "sphere", "size": 1, "coordinates": "degrees"}
    torus = make_manifold("product", factors=[factor, factor])
    given = np.array([[-60.0, 100.0], [-40.0, 100.0], [-19.0, 100.0]])
    views = [(View(torus), given, [1]), (View(geodp.Sphere(1), "degrees"), given[:, :1], [])]
    views.append((View(geodp.Sphere(2), PLACES), np.array([[50.0, 170.0], [50.0, 200.0]]), [0]))
    for view, numbers, as_before in views:
        points = view.manifold.from_layout(in_layout(numbers, view.coordinates))
        usual, found = view.values(points), view.about(points[1:2], numbers[1].tolist())
        np.testing.assert_allclose(found.values(points), numbers)
        assert [k for k in range(len(numbers[0])) if np.allclose(usual[:, k], numbers[:, k])] == (
            as_before
        )
        drawn = found.drawn(points[1], points, np.full(len(points), 0.01))
        np.testing.assert_allclose([*drawn.values, drawn.before], [*numbers, numbers[1]])
        assert view.turn == (180.0 / np.pi, "degrees")
    assert (found.longitude(-160.0), view.longitude(200.0)) == ("200", "-160")
    two = [factor, factor | {"coordinates": "hours"}]
    assert View(make_manifold("product", factors=two)).turn is None


def test_times_of_a_day_are_in_one_piece():
    hours = ANGLES["hours"]
    x = np.array([22.5, 23.5, 0.5, 1.75])
    np.testing.assert_allclose(hours.values(hours.points(x)), x)
    assert [hours.words(each) for each in (21.66, 25.5, -0.25, 23.999)] == [
        *("21:40", "1:30", "23:45", "0:00")
    ]
    assumptions = assumed(geodp.Sphere(1), 1)
    made = geodp.release_geodesic(quick(assumptions), *cohort(assumptions), ONE_EACH)
    settings = called(made, ["age"], ["bedtime"], coordinates="hours")
    row = folder.predictions(made, settings, np.array([[12.0]]))[0]
    assert 0.0 <= row["bedtime"] < 24.0
    assert row["band_95_hours"] == pytest.approx(row["band_95"] * 12.0 / np.pi)
    svg, caption = picture(made, settings, np.array([[12.0]]), 0.95)
    assert "Predicted angle" in caption
    assert ":00" in svg or ":30" in svg
