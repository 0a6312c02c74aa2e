"""Tables of public data sets: roots of shares, the half plane of normals, sizes of landmarks."""

import numpy as np
import pandas as pd
import yaml
from datasets import SETTINGS, converted, of_landmarks

from geodp.manifolds.hyperbolic import Hyperbolic

KNOWN = yaml.safe_load(SETTINGS.read_text())


def test_budgets_are_unit_vectors_whose_squares_are_the_shares():
    shares = np.array([[0.3, 0.1, 0.1, 0.0, 0.2, 0.3], [0.5, 0.1, 0.1, 0.1, 0.1, 0.101]])
    names = ["wfood", "wfuel", "wcloth", "walc", "wtrans", "wother"]
    given = pd.DataFrame(shares, columns=names).assign(totexp=[90, 150], age=[30, 40])
    found = converted(given, KNOWN["budgets"])
    assert list(found["totexp"]) == [90, 150]
    expected = shares / shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.iloc[:, -6:] ** 2, expected, atol=1e-15)


def test_distances_of_wages_are_those_of_fisher_and_rao():
    wages = np.array([[1.0, 1.2, 1.7], [2.0, 2.4, 2.2], [1.5, 1.5, 1.5]])
    men = np.repeat([7, 3, 5], 3)
    given = pd.DataFrame({"nr": men, "lwage": wages.ravel(), "educ": men + 5})
    found = converted(given, KNOWN["wages"]).set_index("nr").loc[[7, 3, 5]]
    assert list(found["educ"]) == [12, 8, 10]
    mean, spread = wages.mean(axis=1), np.hypot(wages.std(axis=1, ddof=1), 0.05)
    manifold, points = Hyperbolic(2), found[["t", "y1", "y2"]].to_numpy()
    assert manifold.are_all_points(points)
    for one, other in ((0, 1), (1, 2)):
        apart = 0.5 * (mean[one] - mean[other]) ** 2 + (spread[one] - spread[other]) ** 2
        expected = np.arccosh(1.0 + apart / (2.0 * spread[one] * spread[other]))
        np.testing.assert_allclose(manifold.dist(points[one], points[other]), expected)


def test_landmarks_are_in_pairs_and_their_size_is_of_the_whole_figure():
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
    found = of_landmarks(np.stack([square, 3.0 * square + 5.0], axis=-1), ["a", "b"])
    assert list(found.columns[:6]) == ["group", "centroid_size", "x1", "y1", "x2", "y2"]
    np.testing.assert_allclose(found["centroid_size"], [np.sqrt(8.0), 3.0 * np.sqrt(8.0)])
    assert list(found.iloc[1, 2:6]) == [8.0, 8.0, 8.0, 2.0]
