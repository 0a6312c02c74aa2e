"""The estimator of lines and planes."""

import numpy as np
import pandas as pd
import pytest
from test_estimator import NUMBER

from geodp import Euclidean, PrivateLinearRegression
from geodp.errors import DataError
from geodp.mechanisms.mechanism import PublicSettings
from geodp.models.blocks import ALL
from geodp.models.geodesic import GeodesicModel
from geodp_release.ask.as_mechanism import ReleaseMechanism
from geodp_release.promise.public_inputs import REPLACE
from geodp_release.run.subjects import ONE_EACH

TABLE = pd.DataFrame(np.random.default_rng(2).uniform(0.0, 10.0, (NUMBER, 2)), columns=["a", "b"])
SIZES, TRUTH = np.array([10.0, 0.2]), np.array([[100.0, 5.0, -2.0], [1.0, 0.01, 0.02]])
RESPONSES = TRUTH[:, 0] + TABLE @ TRUTH[:, 1:].T
RESPONSES += SIZES * np.random.default_rng(3).normal(size=(NUMBER, 2))
RANGES = [(50.0, 200.0), (0.0, 3.0)]
PLANES = [("unknown", RESPONSES[0]), (RANGES[0], RESPONSES[0]), (RANGES, RESPONSES)]


def plane(response_range, y, epsilon="5", **others):
    public = {"covariate_range": [(0.0, 10.0)] * 2, "subjects": NUMBER, "neighbours": REPLACE}
    public |= {"response_range": response_range, "unit": ONE_EACH}
    return PrivateLinearRegression(epsilon=epsilon, **public | others).fit(TABLE, y)


@pytest.mark.parametrize(("public", "y"), PLANES)
def test_lines_and_planes(public, y, few_designs):
    found, near = plane(public, y), TABLE[:3]
    truth, size = (TRUTH, SIZES) if y.ndim > 1 else (TRUTH[0], SIZES[0])
    values = np.insert(found.coef_, 0, found.intercept_, axis=-1)
    lines = np.insert(near, 0, 1.0, axis=1)
    for true, value, limits in (
        (truth, values, found.intervals()),
        (lines @ truth.T, found.predict(near), found.predict_interval(near)),
    ):
        assert limits.shape == (*true.shape, 2)
        np.testing.assert_allclose(np.mean(limits, axis=-1), value)
        # Five times the distance at which one in twenty is outside.
        assert np.all(np.abs(value - true) < 2.5 * np.ptp(limits, axis=-1))
    np.testing.assert_allclose(found.predict(near), lines @ values.T)
    np.testing.assert_allclose(found.residual_scale_.value, size, rtol=0.5)
    assert np.max(found.p_values_) < 0.05
    assert found.score() == found.r_squared_.value == pytest.approx(found.score(TABLE, y), abs=0.3)


def test_half_a_range_is_the_radius_and_a_whole_one_the_length():
    public = {"covariate_range": (0.0, 1.0), "subjects": NUMBER, "neighbours": REPLACE}
    found = PrivateLinearRegression(response_range=(50.0, 200.0), **public)._assumptions()
    expected = [[125.0], 75.0, 150.0]
    assert [found.centre.tolist(), found.footpoint_radius, *found.lengths] == expected


BAD_RANGES = [(2.0, 1.0), "anything", 1.0, (np.nan, 1.0), (0.0, np.inf), []]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("response_range", each) for each in [*BAD_RANGES, [(0.0, 1.0), "unknown"]]),
        *(("residual_scale", each) for each in (-1.0, [0.1, 0.2, 0.3], 0.0)),
    ],
)
def test_public_inputs_of_responses_that_cannot_be_used(name, value):
    with pytest.raises(DataError, match=f"{name}: give"):
        plane(**{"response_range": RANGES, "y": RESPONSES, name: value})


def test_no_record_decides_how_many_responses_there_are(few_designs):
    ragged = np.empty(NUMBER, dtype=object)
    ragged[:] = [[each] for each in RESPONSES[0]]
    ragged[0], whole = [1.0, 2.0], np.array(RESPONSES[[0]], dtype=object)
    shapes = [plane(RANGES[0], y, residual_scale=10.0).coef_.shape for y in (ragged, whole)]
    assert shapes == [(2,), (2,)]


def test_draws_of_a_study_are_of_covariates_from_zero_on(few_designs):
    x = np.linspace(40.0, 80.0, NUMBER)[None]
    y = 2.0 + 0.1 * x + 0.1 * np.random.default_rng(4).normal(size=x.shape)
    limits = {"footpoint_radius": 5.0, "shooting_vector_length": 8.0, "covariate_range": (40, 80)}
    public = PublicSettings(centre=np.array([8.0]), options={"residual_scale": 0.1}, **limits)
    model = GeodesicModel(Euclidean(1), 1)
    mechanism = ReleaseMechanism.prepare(model, x, y[..., None], public, None)
    found = mechanism.draw(np.random.default_rng(0), {ALL: "50"}, {ALL: 1})
    values = [np.ravel(each).item() for each in found.parameters.values()]
    np.testing.assert_allclose(values, [2.0, 0.1], rtol=0.1)
