"""Tables of public data sets: roots of shares, the half plane of normals, sizes of landmarks."""

import numpy as np
import pandas as pd
import yaml

from datasets import SETTINGS, converted, of_landmarks
from geodp.manifolds.hyperbolic import Hyperbolic

KNOWN = yaml.safe_load(SETTINGS.read_text())


def test_squares_of_budgets_are_the_shares_of_their_sum():
    shares = np.array([[0.3, 0.1, 0.1, 0.0, 0.2, 0.3], [0.5, 0.1, 0.1, 0.1, 0.1, 0.101]])
    given = pd.DataFrame(shares, columns=["wfood", "wfuel", "wcloth", "walc", "wtrans", "wother"])
    found = converted(given.assign(totexp=[90, 150], age=[30, 40]), KNOWN["budgets"])
    expected = shares / shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.iloc[:, -6:] ** 2, expected, atol=1e-15)


def test_distances_of_wages_are_those_of_fisher_and_rao():
    wages = np.array([[1.0, 1.2, 1.7], [2.0, 2.4, 2.2], [1.5, 1.5, 1.5]])
    given = pd.DataFrame({"nr": np.repeat([3, 5, 7], 3), "lwage": wages.ravel(), "educ": 12})
    points = converted(given, KNOWN["wages"])[["t", "y1", "y2"]].to_numpy()
    means, spreads = wages.mean(axis=1), np.hypot(wages.std(axis=1, ddof=1), 0.05)
    apart = 0.5 * np.diff(means) ** 2 + np.diff(spreads) ** 2
    expected = np.arccosh(1.0 + apart / (2.0 * spreads[1:] * spreads[:-1]))
    np.testing.assert_allclose(Hyperbolic(2).dist(points[1:], points[:-1]), expected)


def test_covariances_are_those_of_logs_within_a_man():
    rng = np.random.default_rng(1)
    logs = rng.normal(size=(2, 8, 2))
    wage, hours = np.moveaxis(logs.reshape((-1, 2)), 1, 0)
    given = {"nr": np.repeat([3, 5], 8), "lwage": wage, "hours": np.exp(hours), "educ": 12}
    found = converted(pd.DataFrame(given), KNOWN["volatility"])[["wages", "both", "hours"]]
    errors = 0.05**2 * np.eye(2)
    expected = [(np.cov(each.T) + errors)[np.triu_indices(2)] for each in logs]
    np.testing.assert_allclose(found, expected)


def test_landmarks_are_in_pairs_and_their_size_is_of_the_whole_figure():
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
    found = of_landmarks(np.stack([square, 3.0 * square + 5.0], axis=-1), ["a", "b"])
    np.testing.assert_allclose(found["centroid_size"], [np.sqrt(8.0), 3.0 * np.sqrt(8.0)])
    assert list(found.loc[1, ["x1", "y1", "x2", "y2"]]) == [8.0, 8.0, 8.0, 2.0]
