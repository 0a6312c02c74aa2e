"""Errors of private geodesics against plain loops, and which chains are believed."""

from types import SimpleNamespace

import numpy as np
import pytest
from conftest import autoregression

from geodp import DataError, GeodesicModel
from geodp.evaluation import mean_absolute_errors, mean_prediction_distances, mean_squared_errors
from geodp.manifolds.registry import make_manifold
from reproduction.diagnostics import convergence
from reproduction.tables.evaluation import _errors
from reproduction.tables.predictions import _scaled

CHAINS, STATES = 4, 500


def test_errors_and_distances_of_predictions_are_those_of_a_loop(manifold, make_records):
    data, rng = make_records(manifold, seed=3, number=7, data_shape=(2,)), np.random.default_rng(4)
    # Three footpoints for each data set, four shooting vectors at each.
    near = np.repeat(np.expand_dims(data.footpoint, 1), 3, axis=1)
    footpoints = manifold.exp(near, 0.1 * manifold.random_direction(rng, near))
    vectors = 0.3 * manifold.random_direction(rng, np.repeat(footpoints[:, :, None], 4, axis=2))
    model, given = GeodesicModel(manifold), (data.covariates, data.points)
    private = model.parameters(footpoints, vectors)
    fitted = model.parameters(data.footpoint, data.shooting_vector)
    found = [
        mean_squared_errors(model, private, *given),
        mean_absolute_errors(model, private, *given),
        mean_prediction_distances(model, private, fitted, data.covariates),
    ]
    for k, j, i in np.ndindex(2, 3, 4):
        away, apart = [], []
        for t, point in zip(data.covariates[k], data.points[k], strict=True):
            drawn = manifold.exp(footpoints[k, j], t * vectors[k, j, i])
            fit = manifold.exp(data.footpoint[k], t * data.shooting_vector[k])
            away.append(manifold.dist(drawn, point))
            apart.append(manifold.dist(drawn, fit))
        expected = [np.mean(np.square(away)), np.mean(away), np.mean(apart)]
        assert [each[k, j, i] for each in found] == pytest.approx(expected, rel=1e-9)


def test_rows_of_errors_hold_means_and_quantiles_over_draws(make_records):
    model = GeodesicModel(make_manifold("sphere", 2))
    data, rng = make_records(model.manifold, seed=3, data_shape=(2,)), np.random.default_rng(4)
    found = model.fit(data.covariates, data.points)
    footpoints = model.manifold.random_point(rng, (2, 30))
    vectors = model.manifold.random_tangent(rng, np.repeat(footpoints[:, :, None], 4, axis=2))
    draws = dict(zip(model.blocks, (footpoints, vectors), strict=True))
    given = {"covariates": data.covariates[..., None], "points": data.points}
    squares = mean_squared_errors(model, draws, **given)
    for k, row in enumerate(_errors(model, draws, given, found, ())):
        each = squares[k]
        assert row["mean_squared_error"] == pytest.approx(np.mean(each))
        assert row["non_private_mean_squared_error"] == pytest.approx(2.0 * found.energy[k])
        assert row["tau"] == found.largest_residual[k]
        levels = [row[f"{name}_squared_error"] for name in ("low", "median", "high")]
        np.testing.assert_allclose(levels, np.quantile(each, (0.1, 0.5, 0.9)))
        by_footpoint = np.mean(each, axis=1)
        relative = np.std(by_footpoint, ddof=1) / np.sqrt(30) / np.mean(by_footpoint)
        assert row["log_error_standard_error"] == pytest.approx(relative)
        assert (row["draws"], row["footpoints"]) == (120, 30)


def independent(seed, states=STATES):
    return autoregression(CHAINS, states, 0.0, seed)


SLOW = autoregression(CHAINS, STATES, seed=5, coefficient=0.95)


@pytest.mark.parametrize(
    "values",
    [
        independent(4) + np.array([0.0, 0.0, 0.0, 1.0])[:, None],
        np.vstack([np.full(STATES, 0.5), independent(3)[1:]]),
        np.full((CHAINS, STATES), 2.0),
        independent(6, states=80),
    ],
    ids=["a chain elsewhere", "one that never moved", "all at one value", "few states"],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_chains_do_not_pass_and_one_bad_summary_is_enough(values):
    assert not convergence(log_density=values)["passed"]
    alone, judged = convergence(slow=SLOW), convergence(good=independent(10), slow=SLOW)
    assert not judged["passed"]
    assert (judged["ess_bulk"], judged["rhat"]) == (alone["ess_bulk"], alone["rhat"])


def test_limits_hold_on_both_sides():
    # The share of independent states that a memory leaves is (1 - m) / (1 + m).
    for memory, passed in ((0.0, True), (0.3, True), (0.9, False)):
        judged = convergence(a=autoregression(CHAINS, STATES, seed=7, coefficient=memory))
        share = (1.0 - memory) / (1.0 + memory)
        assert judged["ess_bulk"] == pytest.approx(CHAINS * STATES * share, rel=0.3)
        assert (judged["ess_bulk"] > 400) == judged["passed"] == passed


@pytest.mark.parametrize("value", [59.0, 81.0])
def test_predictions_outside_the_data_are_refused(value):
    params = SimpleNamespace(transformation="none", study="rats", name="shapes")
    assert _scaled(params, [60.0, 80.0], (60.0, 80.0)).tolist() == [0.0, 1.0]
    with pytest.raises(DataError, match=rf"studies\.rats\.figures\.shapes\.values: {value:g} lies"):
        _scaled(params, [70.0, value], (60.0, 80.0))
