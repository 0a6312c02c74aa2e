"""Curves, groups and products from a table to a page, in estimators, fits of studies and init."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from cohort import COLUMNS, changed, write
from test_interview import CLINIC, wrote

import geodp
import script
from geodp_release.ask import planning
from geodp_release.ask.cli import _rendered
from geodp_release.ask.settings import read_settings
from geodp_release.run.subjects import ONE_EACH
from geodp_release.show.pictures import picture
from reproduction.configuration import validate
from reproduction.data.table import make

pytestmark = pytest.mark.usefixtures("folder", "undrawn")

WORDS = ["north", "south", "west"]
TERMS = {
    "data.covariate": ["age", "region", "sex"],
    "data.categories": {"region": WORDS, "sex": {"F": 0, "M": 1}},
    "data.basis": {"age": {"spline": 3}},
    "data.products": ["age:sex"],
    "covariate": ["age", "region", "sex"],
    "units": {"age": "years"},
    "public.covariate_range": [[50, 90], [0, 1]],
    "public.covariate_spread": ["unknown", "two groups"],
    "public.subjects": 3000,
    "budget.epsilon": "6",
}


def write_table(number=3000):
    """A table of points on curves that differ by region and sex, and its ledger."""
    rng = np.random.default_rng(5)
    age, region = rng.uniform(50.0, 90.0, number), rng.choice(WORDS, number)
    sex = rng.choice(["F", "M"], number)
    places = (age - 70.0) / 40.0
    points = 0.1 * rng.normal(size=(number, len(COLUMNS)))
    points[:, 0] += 0.3 * np.cos(5.0 * places) + 0.2 * places * (sex == "M")
    points[:, 1] += 0.2 * (region == "south") - 0.1 * (region == "west")
    frame = pd.DataFrame({"who": np.arange(number), "age": age, "region": region, "sex": sex})
    frame[COLUMNS] = points
    frame.to_csv("mine.csv", index=False)
    geodp.Ledger.create("mine.ledger", "20", "epsilon")
    return frame


def test_a_curve_with_groups_becomes_a_page(run, few_designs, monkeypatch):
    # The page without data is that of other tests.
    monkeypatch.setattr(planning, "rehearse", lambda *_: None)
    write_table()
    run("release", changed(TERMS))
    page = Path("out/trial/index.html").read_text()
    for words in (
        "region: south against north",
        "the curve along age is more than a line (p = 0.00",
        "effects of age and sex go together (p = 0.00",
    ):
        assert words in page, words
    assert "bend" not in page
    document = json.loads(Path("out/trial/release.json").read_text())["plan"]["assumptions"]
    assert document["names"] == ["age", "region", "sex"]
    assert document["basis"] == [{"spline": 3}, {"words": WORDS}, "line"]
    found = geodp.Release.load("out/trial/release.json")
    assert found.plan.assumptions.covariate_names[2:5] == ["region: south", "region: west", "sex"]
    assert "Shooting vector of age, bend 1 x sex, of length" in str(found)
    table = pd.read_csv("out/trial/predictions.csv")
    assert set(table["covariate_region"]) == {*WORDS}
    # Bands are for b(x): they hold the means of the table's law at tabulated places.
    x = table.iloc[:, :3].assign(covariate_region=[WORDS.index(each) for each in table.iloc[:, 1]])
    places = (x.iloc[:, 0] - 70.0) / 40.0
    truth = np.zeros((len(x), len(COLUMNS)))
    truth[:, 0] = 0.3 * np.cos(5.0 * places) + 0.2 * places * x.iloc[:, 2]
    truth[:, 1] = np.array([0.0, 0.2, -0.1])[x.iloc[:, 1]]
    away = np.linalg.norm(found.predict(x) - truth, axis=1)
    assert np.mean(away <= found.band(x)) > 0.8
    # A figure has the curve in the other group, too.
    settings = read_settings("mine.yaml")
    svg, caption = picture(found, settings, settings.covariates(found), 0.95)
    assert re.search(r"with the others at age [\d.]+, region north, sex [FM]\.", caption)
    assert svg.count("<path") > 50


def test_plans_say_widths_of_the_coefficients_that_mean_something_by_themselves():
    write_table(3)
    write(changed(TERMS))
    settings = read_settings("mine.yaml")
    found = settings.assumptions
    values = {"errors": [1.0, 3.0, 2.0], "radii": np.ones(99), "slopes": np.arange(99.0)}
    values |= {"settings": settings, "plan": SimpleNamespace(assumptions=found)}
    shown = "\n".join(_rendered("usual.txt.j2", **values))
    south, west = (index + 1 for index in found.terms.of(1))
    assert (
        f"half-widths of {south} for region: south against north; {west} for region: west" in shown
    )
    assert "age (years), per unit" not in shown
    assert "region west" in shown
    assert "region 0" not in shown


def test_settings_say_periods_dates_and_words_in_numbers():
    write(changed(TERMS | {"data.basis": {"age": {"periodic": "year"}}, "data.products": []}))
    assumptions = read_settings("mine.yaml").assumptions
    assert assumptions.basis == ({"periodic": 1.0}, {"words": WORDS}, "line")
    assert assumptions.ranges.tolist() == [[50.0, 90.0], [0.0, 2.0], [0.0, 1.0]]
    two = {"data.categories": {"region": ["a", "b"], "sex": {"F": 0, "M": 1}}}
    write(changed(TERMS | two | {"predictions": [[60, "b", "M"], [70, "a", 0]]}))
    settings = read_settings("mine.yaml")
    assert settings.assumptions.spreads == ("unknown", "two groups", "two groups")
    assert settings.covariates().tolist() == [[60.0, 1.0, 1.0], [70.0, 0.0, 0.0]]


def released(basis, subjects, epsilon, lengths, count, seed):
    """Plan on S^2, and of each release itself, columns of records, points and true predictions.

    Residuals have a standard deviation of 0.1.
    """
    rng, manifold = np.random.default_rng(seed), geodp.Sphere(2)
    ranges = [(0.0, 2.0) if "words" in each else (0.0, 10.0) for each in basis]
    public = {"footpoint_radius": 0.5, "shooting_vector_length": 1.0, "subjects": subjects}
    public |= {"centre": np.array([0.0, 0.0, 1.0]), "basis": basis, "covariate_range": ranges}
    assumptions = geodp.Assumptions(manifold, **public)
    plan = geodp.plan_release(assumptions, geodp.PrivacyBudget(epsilon))
    found = []
    for _ in range(count):
        start = manifold.frame(assumptions.centre)
        p = manifold.exp(assumptions.centre, manifold.vector(start, rng.uniform(-0.3, 0.3, 2)))
        vectors = [length * manifold.random_direction(rng, p) for length in lengths]
        x = np.stack([rng.uniform(*each, subjects) for each in ranges], axis=-1)
        groups = assumptions.groups
        x[:, groups] = rng.integers(0, 3, (subjects, np.sum(groups)))
        clean = manifold.ends(p, vectors, assumptions.scaled(x))
        noise = manifold.vector(manifold.frame(clean), 0.1 * rng.normal(size=(subjects, 2)))
        points = manifold.exp(clean, noise)
        found.append((script.release(plan, x, points, rng), x, points, clean))
    return plan, found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("basis", "lengths", "subjects", "epsilon", "ratio"),
    [
        ([{"spline": 4}], (0.7, 0.4, 0.3), 1000, "4", 1.5),
        ([{"spline": 4}], (0.7, 0.4, 0.3), 4000, "1", 2.1),
        ([{"words": WORDS}, "line"], (0.4, 0.3, 0.7), 1000, "4", 1.8),
    ],
)
def test_releases_with_terms_are_as_good_as_planned(basis, lengths, subjects, epsilon, ratio):
    """And bands hold, which are wider than they need be."""
    plan, found = released(basis, subjects, epsilon, lengths, 40, 1)
    squares, held, ratios, manifold = [], [], [], plan.assumptions.manifold
    for each, x, points, clean in found:
        fit = geodp.GeodesicModel(manifold, len(lengths)).fit(plan.assumptions.scaled(x), points)
        x, clean = x[:200], clean[:200]
        least = fit.predict(plan.assumptions.scaled(x))
        away, others = (manifold.dist(clean, some) for some in (each.predict(x), least))
        squares.append(np.mean(away**2))
        ratios.append(np.sqrt(squares[-1] / np.mean(others**2)))
        held.append(np.mean(away <= each.band(x, doubted=True)))
    error, predicted = np.sqrt(np.mean(squares)), plan.error_at(0.1)
    assert error == pytest.approx(predicted, rel=0.2)
    assert np.mean(held) > 0.94
    assert np.median(ratios) < ratio


@pytest.mark.slow
def test_the_test_of_more_than_a_geodesic_has_its_size():
    """At 2,000 subjects and epsilon 2, of 300 releases, within three deviations."""
    _, found = released([{"spline": 4}], 2000, "2", (0.7, 0.0, 0.0), 300, 3)
    values = np.array([each.p_value([1, 2]) for each, *_ in found])
    assert 0.012 < np.mean(values <= 0.05) < 0.088


PUBLIC = {"manifold": geodp.Euclidean(8), "centre": np.zeros(8), "residual_scale": 0.1}
PUBLIC |= {"footpoint_radius": 1.0, "shooting_vector_length": 1.0, "subjects": 3000}
PUBLIC |= {"neighbours": "replace one subject", "unit": ONE_EACH, "epsilon": "100"}
OF_AGE = {"covariate_range": {"age": (50, 90)}}


@pytest.mark.competitors
def test_estimators_take_formulas():
    text = "spline(age, 4) + words(region, 'north', 'south', 'west')"
    text += " + " + text.replace(" + ", ":")
    made = geodp.PrivateGeodesicRegression(**PUBLIC, **OF_AGE, formula=text)._assumptions()
    names = ["region: south", "region: west", "age x region: south"]
    assert made.covariate_names[3:6] == names


def test_estimators_take_words(few_designs):
    frame = write_table()
    by_name = OF_AGE | {"basis": {"age": {"spline": 4}, "region": {"words": WORDS}}}
    listed = {"basis": [{"spline": 4}, {"words": WORDS}], "covariate_range": [(50, 90)]}
    new = pd.DataFrame({"region": ["south", "East"], "age": [70.0, 70.0]})
    array = new[["age", "region"]].to_numpy()
    rows = frame[["age", "region"]].to_numpy()
    for given, X, at in ((by_name, frame, new), (listed, rows.tolist(), array)):
        made = geodp.PrivateGeodesicRegression(**PUBLIC, **given)
        predicted = made.fit(X, frame[COLUMNS].to_numpy()).predict(at)
        np.testing.assert_allclose(predicted[0, :2], [0.3, 0.2], atol=0.1)
        assert np.all(np.isnan(predicted[1]))


def test_init_keeps_the_order_of_words(monkeypatch):
    answers = [*CLINIC[:9], "west, north, south", *CLINIC[11:]]
    found = wrote("clinic.csv", "id,age,sex,sbp\n", answers, monkeypatch)
    assert found.data.words == {"sex": ["west", "north", "south"]}
    assert found.public.covariate_range == [[50.0, 90.0]]
    assert found.assumptions.covariate_names == ["age", "sex: north", "sex: south"]


def test_studies_fit_curves():
    write_table(200)
    study = {
        "manifold": {"name": "euclidean", "size": 8},
        "model": {"covariates": 5},
        "data": {
            **{"source": "table", "path": "mine.csv", "covariate": ["age", "region"]},
            **{"columns": COLUMNS, "categories": {"region": WORDS}},
            **{"basis": {"age": {"spline": 4}}, "covariate_range": [[50, 90]]},
        },
        "figures": {"curve": {"kind": "regression"}},
    }
    given = {"name": "a", "seed": 1, "studies": {"curve": study}}
    settings = validate(yaml.safe_load(json.dumps(given)))["studies"]["curve"]
    params = SimpleNamespace(manifold=settings["manifold"], settings=settings["data"])
    wildcards, table = SimpleNamespace(study="curve"), SimpleNamespace(table="mine.csv")
    job = SimpleNamespace(wildcards=wildcards, input=table, params=params)
    found = make(job)
    assert found["covariates"].shape == (1, 200, 5)
    assert found["columns"].shape == (1, 200, 2)
    assert np.max(np.abs(found["covariates"])) <= 0.5
    study["model"]["covariates"] = 2
    with pytest.raises(geodp.DataError, match="of which its basis makes 5: set it to 5"):
        validate(yaml.safe_load(json.dumps(given)))
