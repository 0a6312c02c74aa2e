"""The estimator of scikit-learn: its conventions, and what it keeps of the data."""

import pickle
import re
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import geodp
from geodp.errors import DataError
from geodp_release.ask import estimator as module
from geodp_release.promise.public_inputs import ADD_OR_REMOVE, REPLACE
from geodp_release.run.subjects import ONE_EACH

# Plans of spaces of more than six dimensions take about a second.
DIM, NUMBER = 7, 1000


SMALL = {"footpoint_radius": 0.5, "shooting_vector_length": 0.5}
PUBLIC = {"manifold": geodp.Euclidean(DIM), "centre": np.zeros(DIM)}
PUBLIC |= {"footpoint_radius": 10.0, "shooting_vector_length": 10.0}
PUBLIC |= {"covariate_range": (50.0, 90.0), "residual_scale": 1.0}
PUBLIC |= {"subjects": NUMBER, "neighbours": REPLACE}
OPTIONAL = {"footpoint_radius", "shooting_vector_length", "residual_scale"}
MANDATORY = [name for name in PUBLIC if name not in OPTIONAL]


def estimator(**changed):
    return geodp.PrivateGeodesicRegression(
        **{"epsilon": "3", "unit": ONE_EACH, **PUBLIC, **changed}
    )


def records(number=NUMBER):
    rng = np.random.default_rng(0)
    ages = rng.uniform(50.0, 90.0, number)
    line = 1.0 + np.outer((ages - 70.0) / 40.0, np.arange(DIM))
    return ages[:, None], line + rng.normal(size=(number, DIM))


@pytest.fixture(scope="module")
def fitted():
    return estimator().fit(*records())


@pytest.fixture
def given(monkeypatch):
    """What a release is given, and its budget, in place of the release."""
    stop = Mock(side_effect=InterruptedError)
    monkeypatch.setattr(module, "release_geodesic", stop)
    monkeypatch.setattr(module, "planned", dummy_plan)

    def fit(X, y, subjects=None, **changed):
        with pytest.raises(InterruptedError):
            estimator(**changed).fit(X, y, subjects=subjects)
        plan, *found = stop.call_args.args
        return *found, plan.budget

    return fit


def dummy_plan(assumptions, budget, error=0.1):
    return geodp.ReleasePlan(assumptions, budget, (), error, 0.1, 1.0)


def test_predictions_and_bands(fitted):
    np.testing.assert_array_equal(fitted.footpoint_, fitted.release_.footpoint)
    np.testing.assert_array_equal(fitted.shooting_vectors_, fitted.release_.shooting_vectors)
    X = np.array([[65.0], [np.nan], [75.0]])
    predicted, band = fitted.predict(X), fitted.predict_band(X)
    np.testing.assert_array_equal(predicted[::2], fitted.release_.predict([65.0, 75.0]))
    np.testing.assert_array_equal(band[::2], fitted.release_.band([65.0, 75.0]))
    assert np.all(np.isnan([*predicted[1], band[1]]))
    assert np.all(fitted.predict_band(X[::2], level=0.5) < band[::2])
    # A row without a covariate is none of those that a band holds at together.
    X[0] = 51.0
    together = fitted.predict_band(X, together=True)[::2]
    np.testing.assert_array_equal(together, fitted.release_.band([51.0, 75.0], together=True))
    assert np.all(together > fitted.predict_band(X)[::2])
    assert np.all(np.isnan(fitted.predict_band(X[1:2])))
    with pytest.raises(ValueError, match="2 features"):
        fitted.predict(np.zeros((3, 2)))
    with pytest.raises(DataError, match="level is"):
        fitted.predict_band(X, 1.0)


def test_score_is_the_coefficient_of_determination_of_a_flat_space(fitted):
    X, y = records()
    left = np.sum((y - fitted.predict(X)) ** 2)
    expected = 1.0 - left / np.sum((y - y.mean(axis=0)) ** 2)
    assert fitted.score(X, y) == pytest.approx(expected)
    assert 0.4 < expected < 1.0
    assert fitted.score(X[:5], np.ones((5, DIM))) == 0.0
    assert fitted.score(X[:1], fitted.predict(X[:1])) == 1.0
    y[0, 0] = np.nan
    with pytest.raises(DataError, match="valid points"):
        fitted.score(X, y)


def test_public_inputs_but_radii_have_no_default():
    parameters = geodp.PrivateGeodesicRegression().get_params()
    options = {name: value for name, value in parameters.items() if value is not None}
    expected = {"records_per_subject": 1, "allow_noise": False, "transformation": "none"}
    expected |= {"covariate_spread": "unknown", "tails": "exponential", "loss": "squares"}
    assert options == expected
    assert estimator()._assumptions().wider == 1.0
    assert estimator(smallest_radius=0.5)._assumptions().wider == 20.0
    with pytest.raises(DataError, match=f"missing public inputs, {', '.join(MANDATORY)}:"):
        geodp.PrivateGeodesicRegression(epsilon="1", unit=ONE_EACH).fit(*records())
    for name in MANDATORY:
        with pytest.raises(DataError, match=f"missing public inputs, {name}:") as caught:
            estimator(**{name: None}).fit(*records())
        assert caught.value.argument == name


X, Y = records()
REFUSED = [
    ({"epsilon": None}, X, Y, "one amount, of epsilon or rho"),
    ({"manifold": "sphere"}, X, Y, "manifold is 'str'"),
    ({"centre": np.zeros(DIM - 1)}, X, Y, "make no point"),
    ({"unit": None}, X, Y, "unit: it is not said"),
    ({"unit": "patient"}, X, Y, "unit: it is not"),
    # Shapes that do not go together.
    ({}, X[:, 0], Y, "Reshape your data"),
    ({}, np.zeros((NUMBER, 2)), Y, "2 columns"),
    ({}, X, np.zeros((NUMBER, DIM + 1)), r"records of shape \(8,\)"),
    ({}, X, np.zeros(NUMBER), r"records of shape \(\)"),
    ({}, X, None, "y is None"),
]


@pytest.mark.parametrize(("changed", "X", "y", "message"), REFUSED)
def test_inputs_and_records_that_cannot_be_used(changed, X, y, message, monkeypatch):
    monkeypatch.setattr(module, "planned", dummy_plan)
    with pytest.raises(ValueError, match=message) as raised:
        estimator(**changed).fit(X, y)
    assert isinstance(raised.value, DataError) or not changed


def test_budgets_and_labels_of_subjects(given):
    found = given(X, Y, epsilon=None, rho="5", delta="1e-6")
    assert found[3] == geodp.PrivacyBudget("5", "rho", "1e-6")
    labels = np.arange(NUMBER) // 2
    # Those of a fit come first.
    assert given(X, Y, labels, unit=None)[2] is given(X, Y, labels)[2] is labels
    assert given(X, Y)[2] == given(X, Y, ONE_EACH, unit=None)[2] == ONE_EACH


LINE, MATRICES, SHAPES = geodp.Euclidean(1), geodp.SPD(3), geodp.KendallPlanarShapes(4)
UPPER = np.triu_indices(3)


def layouts(space):
    """Points of a space, their layouts that are taken for them, and a centre in one of these."""
    if space is LINE:
        y = np.arange(float(NUMBER))
        return y[:, None], [y, y[:, None], y.tolist(), pd.Series(y), y.astype(object)], [0.0]
    points = space.random_point(np.random.default_rng(1), (NUMBER,))
    if space is MATRICES:
        triangles = points[:, *UPPER]
        table = pd.DataFrame(triangles)
        found = [points, points.reshape(-1, 9), triangles, table, table.astype(object)]
        return points, [*found, list(points), triangles.tolist()], np.eye(3)[UPPER]
    moved = 3.0 * np.stack([points.real, points.imag], axis=-1).reshape(NUMBER, -1) + 5.0
    return points, [points, moved, moved.tolist()], moved[0]


@pytest.mark.parametrize("space", [LINE, MATRICES, SHAPES], ids=str)
def test_layouts_of_points(given, space):
    points, found, centre = layouts(space)
    for y in found:
        covariates, taken, *_ = given(X.tolist(), y, manifold=space, centre=centre, **SMALL)
        assert covariates == X.tolist()
        np.testing.assert_allclose(taken, points, atol=1e-12)


@pytest.mark.parametrize("ranges", [None, (), {}])
def test_columns_of_words_need_no_range(given, ranges):
    words = ["north", "south"] * (NUMBER // 2)
    covariates, *_ = given(words, Y, basis=[{"words": words[:2]}], covariate_range=ranges)
    assert covariates.ravel().tolist() == [0.0, 1.0] * (NUMBER // 2)
    with pytest.raises(DataError, match="covariate_range of age is None"):
        estimator(basis={"age": {"spline": 4}}, covariate_range=ranges).fit(X, Y)


@pytest.mark.parametrize("bad", [None, "no number", [1.0], 1j, {}, np.nan, [[1.0] * DIM]])
def test_a_bad_record_changes_no_other(given, bad):
    """Nor does it raise: an error would tell of it."""
    rows, points = X.tolist(), Y.tolist()
    rows[0], points[5] = bad, bad
    covariates, found, *_ = given(rows, points)
    assert covariates == rows
    np.testing.assert_array_equal(np.delete(found, 5, axis=0), np.delete(Y, 5, axis=0))
    assert np.all(np.isnan(found[5]))


def test_noise_is_refused(few_designs):
    few = {"subjects": 100, "epsilon": "1"}
    with pytest.raises(DataError, match="would be noise, with a predicted error of") as caught:
        estimator(**few).fit(*records(100))
    assert "it takes more subjects than 100" in str(caught.value)
    found = estimator(**few, allow_noise=True).fit(*records(100))
    assert found.plan_.is_noise
    assert f"error of {found.plan_.error:.3g}" in str(caught.value)


def test_no_record_is_kept(fitted):
    numbers = np.concatenate([X.ravel(), Y.ravel()])
    saved, shown = pickle.dumps(fitted), fitted._repr_html_() + repr(fitted) + str(vars(fitted))
    eights = {saved[start : start + 8] for start in range(len(saved))}
    assert fitted.footpoint_[0].tobytes() in eights
    for kind in ("<f8", ">f8"):
        assert eights.isdisjoint(number.tobytes() for number in numbers.astype(kind))
    digits = {text[:10] for text in re.findall(r"\d+\.\d{6,}", shown)}
    assert digits
    assert digits.isdisjoint(repr(abs(float(number)))[:10] for number in numbers)
    np.testing.assert_array_equal(pickle.loads(saved).predict(X), fitted.predict(X))


# Checks of scikit-learn are made for data of several columns: this takes the first.
def first_column(self, X, number, covariates=module.PrivateRegression._covariates):
    table = getattr(X, "to_numpy", lambda: X)()
    if np.ndim(X) == 2 and not hasattr(X, "tocsr"):
        table = np.asarray(table)[:, :1]
    found = covariates(self, table, number)
    self.n_features_in_ = np.shape(X)[1]
    return found


SILENT = "an error would tell of a record: one without numbers counts as without influence"
EXPECTED = {
    "check_complex_data": SILENT,
    "check_dtype_object": SILENT,
    "check_supervised_y_no_nan": SILENT,
    "check_estimators_empty_data_messages": "an error would tell that there are no records, where "
    "data sets that differ by one subject look alike",
}
POINTS = {"check_regressor_multioutput": "its points have five numbers, and the manifold's one"}
NOISY = {"check_regressor_data_not_an_array", "check_regressors_int", "check_fit_idempotent"}
# Data sets of all sizes are checked; the number that is assumed is large, for a quick plan.
ANY = {"epsilon": "1", "covariate_range": (-3.0, 3.0), "residual_scale": 100.0}
ANY |= {"subjects": 10**6, "neighbours": ADD_OR_REMOVE, "unit": ONE_EACH}
LENGTHS = {"footpoint_radius": 1000.0, "shooting_vector_length": 1000.0}
CHECKED = [
    geodp.PrivateGeodesicRegression(manifold=geodp.Euclidean(1), centre=[0.0], **LENGTHS, **ANY),
    geodp.PrivateLinearRegression(response_range=(-1000.0, 1000.0), **ANY),
]


@parametrize_with_checks(
    CHECKED, expected_failed_checks=lambda each: EXPECTED | (POINTS if each is CHECKED[0] else {})
)
@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn(estimator, check, tmp_path, monkeypatch):
    is_line = isinstance(estimator, geodp.PrivateLinearRegression)
    if check.func.__name__ in NOISY | ({"check_supervised_y_2d"} if is_line else set()):
        pytest.skip("each fit is a release with noise of its own, which no seed repeats")
    monkeypatch.setattr(module.PrivateRegression, "_covariates", first_column)
    estimator.ledger = str(tmp_path / "a.ledger")
    geodp.Ledger.create(estimator.ledger, "1000", "epsilon")
    check(estimator)


def test_fits_of_copies_need_a_ledger_that_counts_them(tmp_path):
    with pytest.raises(DataError, match="each would spend the budget again: give the path of a"):
        cross_val_score(estimator(), X, Y, error_score="raise")
    path = str(tmp_path / "a.ledger")
    ledger = geodp.Ledger.create(path, "6", "epsilon")
    whole = estimator(ledger=path)
    clone(whole).fit(X, Y)
    whole.fit(X, Y)
    assert ledger.left == 0
    with pytest.raises(DataError, match="of which 6 is spent, and the release asks for 3"):
        clone(whole).fit(X, Y)
