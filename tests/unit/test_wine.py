"""Lines of red wine: the published mechanism in R^4, and recorded lines of other tools."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from computed_tables import CONFIGURED

from geodp import DataError
from reproduction.places import CHECKOUT
from reproduction.tables import wine

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
