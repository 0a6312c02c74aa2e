"""Other studies than geodesic regression as published on simulated data, run to their end.

Other models and mechanisms, releases beside a study's own draws, other spaces, and tables.
"""

import re

import numpy as np
import pandas as pd
import pytest
from beside import read
from test_report import text_of

from geodp.manifolds.spd import SPD

pytestmark = pytest.mark.slow

NOTE = "Too little to conclude from."

# On a geodesic, but for the entries off the diagonal.
X = np.roll(np.linspace(1.0, 9.0, 60), 7)
ALONG, ASIDE = 0.6 * (X - 1.0) / 8.0, 0.01 * (-1.0) ** np.arange(60)
MATRICES = np.stack([np.exp(ALONG), ASIDE, ASIDE, np.exp(-ALONG)], axis=-1)


@pytest.fixture(scope="module")
def ran(made):
    """A checkout after the run of all, without claims; not to be modified."""
    run = made({"name": "others", "seed": 5, "note": NOTE, "studies": read("other_studies")})
    table = pd.DataFrame(MATRICES, columns=["a11", "a12", "a21", "a22"]).assign(x=X)
    table.to_csv(run.root / "matrices.csv", index=False)
    run.run()
    return run


def words_of(picture):
    """Text of a picture, which stands in a line or several."""
    return " ".join(re.sub("<[^>]*>", " ", picture.read_text()).split())


# Group, cells and their budgets, budgets by name, and guarantee of studies whose status is proved.
PROVED = {
    "laplace": (
        *("n12_noise0.01", {"p1.0": 1.0, "p4.0": 4.0}, ["footpoint"]),
        "Laplace mechanism: in exact arithmetic each draw's budget holds for one record replaced "
        "within the public ball of radius 0.6.",
    ),
    "released": (
        *("n60_noise0.001", {"all3.0": 3.0}, ["all"]),
        "Releases: each draw's budget holds for one record replaced, by proof, under "
        "the hypotheses of docs/guarantee.md.",
    ),
}


@pytest.mark.parametrize("study", PROVED)
def test_a_study_of_another_model_or_mechanism(ran, study):
    group, cells, budgets, guarantee = PROVED[study]
    data = np.load(ran.files()[f"{study}/groups/{group}/data.npz"])
    assert data["covariates"].shape == (*data["points"].shape[:2], int(study == "released"))
    errors, diagnostics = ran.table(study, "errors"), ran.table(study, "diagnostics")
    assert set(errors["draws"]) == {3}
    for table in (errors, diagnostics):
        assert set(table["guarantee"]) == {guarantee}
        assert (table["budget"] == table["cell"].map(cells)).all()
    # What a release would be without data is known of releases alone.
    assert errors["squared_error_without_data"].notna().all() == (study == "released")
    # No draw fits better than the fit.
    assert (errors["mean_squared_error"] > errors["non_private_mean_squared_error"]).all()
    assert list(diagnostics["parameter"]) == budgets * len(cells)
    assert diagnostics["passed"].all()
    # Independent draws have no chains.
    assert set(diagnostics["trace_chains"]) == {0}
    assert set(diagnostics["exact_share"]) == {1.0}
    figures = ran.files(f"{study}/figures/*.svg")
    assert len(figures) == len(read("other_studies")[study]["figures"])
    for name, path in figures.items():
        assert guarantee in words_of(path), name


def test_releases_stand_beside_the_draws_of_their_study(ran):
    errors = ran.table("sphere", "errors")
    released = errors[errors["sampler"] == "release"]
    assert set(released["mechanism"]) == {"release"}
    assert set(errors.loc[errors["sampler"] == "default", "mechanism"]) == {"kng_as_published"}
    # One data set, the first; three releases from it at each budget.
    columns = ["cell", "budget", "data_set", "draws"]
    assert released[columns].to_numpy().tolist() == [["all4.0", 4.0, 0, 3], ["all4.1", 4.1, 0, 3]]
    assert released["guarantee"].str.contains("by proof").all()
    assert (released["support"] == "distance of p to its centre <= 3, |v| <= 1").all()
    # A figure of errors has them at the budgets of each panel.
    numbers = ran.table("sphere", "error", "figures")
    shown = numbers[numbers["sampler"] == "release"]
    found = set(zip(shown["grid"], shown["budget"], strict=True))
    assert found == {("equal", 4.0), ("split", 4.1)}
    numbers = ran.table("sphere", "curves", "figures")
    private = numbers[numbers["kind"] == "private"]
    assert set(private["mechanism"]) == {"release"}
    assert PROVED["released"][-1] in words_of(ran.files()["sphere/figures/curves.svg"])


def test_the_first_of_several_releases_has_a_band(ran):
    numbers = ran.table("spd", "released", "figures")
    private = numbers[numbers["kind"] == "private"]
    assert list(private.groupby("draw")["band"].count()) == [2, 0]
    first = private[private["draw"] == 1]
    np.testing.assert_allclose(first["radius"], np.exp(0.5 * first["band"]))
    # With enough budget a band is narrow, and the fit lies within about one of it.
    assert first["band"].between(0.001, 0.5).all()
    coordinates = [f"coordinate_{k}" for k in range(1, 5)]
    fitted = numbers[numbers["kind"] == "without privacy"]
    ends = (part[coordinates].to_numpy().reshape((-1, 2, 2)) for part in (fitted, first))
    away = SPD(2).dist(*ends)
    np.testing.assert_allclose(away, first["distance"], rtol=1e-6, atol=1e-9)
    assert np.all(away < 3.0 * first["band"])


def test_regression_on_two_covariates_is_that_of_least_squares(ran):
    numbers = ran.table("plane", "regression", "figures").set_index("kind")
    x, y = np.stack([np.log(X), MATRICES[:, 1]], axis=-1), MATRICES[:, [0, 3]]
    design = np.insert((x - x.min(axis=0)) / np.ptp(x, axis=0), 0, 1.0, axis=1)
    found, squares, *_ = np.linalg.lstsq(design, y)
    names = ["footpoint", "shooting vector of x", "shooting vector of a12"]
    coordinates = numbers[["coordinate_a11", "coordinate_a22"]]
    np.testing.assert_allclose(coordinates.loc[names], found, atol=1e-8)
    lengths = np.linalg.norm(y - design @ found, axis=-1)
    np.testing.assert_allclose(numbers.loc["record", "residual"], lengths, atol=1e-8)
    share = 1.0 - np.sum(squares) / np.sum((y - y.mean(axis=0)) ** 2)
    assert numbers["r_squared"].iloc[0] == pytest.approx(share)
    curve = numbers.loc["curve of x", ["covariate_x", "covariate_a12"]]
    middle = MATRICES[:, 1].mean()
    np.testing.assert_allclose(curve.iloc[[0, -1]], [[1.0, middle], [9.0, middle]], atol=1e-12)


def test_computed_tables_follow_what_they_read(ran):
    """A setting reaches the table that has it, and a module the tables of its kind."""
    tables = {"notebook": ("errors", "draws", "neighbours"), "sizes": ("errors", "bounds")}
    for study, names in tables.items():
        assert set(ran.files(f"{study}/tables/*")) == {f"{study}/tables/{n}.csv" for n in names}
        assert len(ran.files(f"{study}/figures/*")) == 4
    module = ran.root / "workflow/scripts/reproduction/tables/linear.py"
    text, given = module.read_text(), ran.configuration.read_text()
    try:
        ran.configuration.write_text(given.replace("pairs: 30\n", "pairs: 31\n"))
        assert ran.planned() == {"table": 3, "figure": 2, "report": 1}
        ran.configuration.write_text(given)
        module.write_text(f"{text}CHANGED = True\n")
        # The bounds are made of the errors.
        assert ran.planned() == {"table": 2}
    finally:
        ran.configuration.write_text(given)
        module.write_text(text)


def test_a_run_without_claims_makes_no_files_of_them(ran):
    assert [name for name in ran.files() if "claims" in name] == []
    text = text_of(ran)
    assert text.index("Results of others") < text.index(NOTE)
    # Other targets make nothing of a study of one's own.
    assert [words for words in ("companions", "No claim", "Privacy losses") if words in text] == []
