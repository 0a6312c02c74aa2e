"""Every measurement from its arguments to its page, on a few records: all it calls is there."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from geodp_release import bands
from geodp_release.planning import ReleasePlan
from geodp_release.stages import PointsStage
from reproduction.configuration import ConfigurationError, validate
from reproduction.measurements.audit import losses, mistakes
from reproduction.measurements.benchmark import sizes
from reproduction.measurements.coverage import releases as coverage
from reproduction.measurements.coverage import summary
from reproduction.measurements.utility import releases

ROOT = Path(__file__).resolve().parents[2]
RATS = ROOT / "resources" / "vilmann_rats.csv"
MADE_BY = {
    **{"rule": "audit", "seed": 1, "lock": "0"},
    "versions": {"python": "3", "numpy": "2", "scipy": "1"},
}


def settings_of(stage, changes):
    """The shipped settings with some parts cut down."""
    settings = yaml.safe_load((ROOT / "config" / f"{stage}.yaml").read_text())
    for part, values in changes.items():
        settings[part] = settings[part] | values if isinstance(values, dict) else values
    return validate(settings, stage)


AUDIT = settings_of(
    "audit",
    {
        "sphere": {
            **{"n": [6], "budgets": [1.0]},
            "search": {"candidates": 8, "rounds": 1, "work": 100},
        },
        "black_box": {"published_draws": 20, "joint_draws": 40, "power": 4},
        "releases": {"draws": 40},
        "times": {"draws": 300, "n": 8, "repeats": 3, "spaces": [{"name": "sphere", "size": 2}]},
        "replay": {"blocks": 1, "pairs": 20},
    },
)
BENCHMARK = settings_of(
    "benchmark",
    {
        "draws": [5],
        **{"spaces": {"S^2": {"n": [8], "budgets": [1.0]}}, "sizes": {"n": [10]}},
        "fits": {"n": [8]},
        "seconds": dict.fromkeys(("default_sampler", "chain", "rate"), 0) | {"fit": 0.05},
    },
)
UTILITY = settings_of(
    "utility",
    {
        "utility": {
            **{"n": [20], "budgets": [8.0], "shown": [8.0], "draws": 2},
            "data_sets": {"records": 40, "least": 2, "most": 2},
            "releases": {"S^2": {"n": [20], "budgets": [8.0], "data_sets": 1, "draws": 1}},
        },
        "chains": {"pilots": {"records": 200, "least": 10, "most": 10}, "most_steps": 8},
        "coverage": {"releases": 3},
    },
)


@pytest.fixture
def measured(tmp_path):
    """A function that measures, and gives files of the tables."""

    def measure(module, function="measure", **arguments):
        make = getattr(import_module(f"reproduction.measurements.{module}"), function)
        paths = []
        for index, table in enumerate(make(**arguments)):
            assert len(table)
            name = f"{module}_{function}_{arguments.get('number')}_{index}.csv"
            paths.append(tmp_path / name)
            table.to_csv(paths[-1], index=False)
        return paths

    return measure


def summarised(stage, **arguments):
    """What a summary makes: tables, a figure and text."""
    module = import_module(f"reproduction.measurements.{stage}.summary")
    made = module.summarise(**arguments, made_by=MADE_BY)
    assert isinstance(made["csv"], pd.DataFrame)
    return made


def test_audit(measured, monkeypatch):
    # One density of each block.
    names = ("as published", "shooting vector as published")
    monkeypatch.setattr(losses, "VARIANTS", {name: losses.VARIANTS[name] for name in names})
    monkeypatch.setattr(losses, "MOVED", names)
    parts = [
        measured("audit.losses", settings=AUDIT, number=number, budgets=[1.0]) for number in (2, 6)
    ]
    lost, neighbours = zip(*parts, strict=True)
    [moved] = measured("audit.losses", "sensitivities", settings=AUDIT)
    [attacks] = measured("audit.black_box", settings=AUDIT, rats=RATS)
    [tested] = measured("audit.releases", settings=AUDIT, space="sphere")
    draws, times = measured("audit.releases", "times", settings=AUDIT)
    [block] = measured("audit.replay", settings=AUDIT, block=0)
    name = "a fingerprint in the ledger's words"
    monkeypatch.setattr(mistakes, "PLANTS", {name: mistakes.PLANTS[name]})
    [seen] = measured("audit.replay", "planted", settings=AUDIT)
    [replayed] = measured("audit.replay", "all_blocks", blocks=[block], planted=seen)
    made = summarised(
        "audit",
        settings=AUDIT,
        besides={"replay": replayed, "planted": seen, "digests": ["of both"]},
        draw_times=draws,
        release_times=times,
        losses=lost,
        neighbours=neighbours,
        sensitivity=moved,
        black_box=[attacks, tested],
        template=ROOT / "workflow" / "report" / "audit.html.j2",
    )
    assert set(made["csv"]["n"]) == {2, 6}
    assert "release, factor 2 left out" in set(made["black_box"]["mechanism"])
    assert "The stated budget of the published mechanism does not hold" in made["page"]
    assert "Of 20 pairs of neighbouring tables, 0 had a finding." in made["page"]


@pytest.mark.geomstats
# Where nothing beyond the data was needed.
@pytest.mark.filterwarnings("ignore:Data has no positive values")
def test_benchmark(measured, monkeypatch):
    # In this process: how much memory it takes does not matter here.
    monkeypatch.setattr(sizes, "measure_size_apart", sizes.measure_size)
    monkeypatch.setenv("GEOMSTATS_BACKEND", "numpy")
    common = {"settings": BENCHMARK, "rats": RATS}
    grid = BENCHMARK["spaces"]["S^2"]
    tables = [
        *measured("benchmark.sampling", space="S^2", grid=grid, **common),
        *measured("benchmark.fits", backend="numpy", spaces=["S^2"], **common),
        *measured("benchmark.sizes", spaces=["S^2"], **common),
    ]
    made = summarised("benchmark", tables=tables)
    assert "the random walk, two dimensions" in made["text"]


def one_stage(assumptions, budget):
    """A plan of one stage, in place of a search for the best ones."""
    stage = PointsStage.of(budget.exact, budget.unit, 64, 0.1)
    return ReleasePlan(assumptions, budget, (stage,), 0.2, 0.1, 0.5)


def test_utility(measured, monkeypatch):
    monkeypatch.setattr(releases, "plan_release", one_stage)
    published = []
    prepare = releases.KNGAsPublished.draw
    monkeypatch.setattr(
        releases.KNGAsPublished,
        "draw",
        lambda self, rng, budgets, *rest: (
            published.append(budgets) or prepare(self, rng, budgets, *rest)
        ),
    )
    tables = measured("utility.releases", settings=UTILITY, space="S^2", number=20, rats=RATS)
    # Half of the budget for each parameter.
    assert published == [{"footpoint": "4.0", "shooting_vector": "4.0"}]
    made = summarised("utility", tables=tables, shown=[8.0])
    table = made["csv"].set_index("mechanism")
    assert table["budget_holds"].to_dict() == {
        "release": "proved",
        "as published": "does not hold",
        "no privacy": "no privacy",
        "without data": "nothing of the data is in it",
    }
    released = table.loc["release"]
    public = ["footpoint_radius", "shooting_vector_length", "residual_scale"]
    assert released[public].notna().all()
    assert (released["predicted"], released["sampler"]) == (pytest.approx(0.2), "PointsStage")
    assert released["stages"].startswith("exact choice among 64 public points of the support")
    assert table.loc["without data", "curve_error"] > table.loc["no privacy", "curve_error"]
    assert "does not hold" in made["text"]


@pytest.mark.parametrize(
    ("space", "places"), [("R^3", 5), ("S^2, mean", 1), ("SPD(2), three covariates", 5)]
)
def test_coverage(space, places, measured, monkeypatch):
    monkeypatch.setattr(bands, "SIMULATED", 20)
    made = summarised(
        "coverage", tables=measured("coverage.releases", settings=UTILITY, space=space)
    )
    found = made["csv"]
    assert sorted(found["level"].unique()) == [0.9, 0.95]
    assert found["coverage"].isin([0.0, 1 / 3, 2 / 3, 1.0]).all()
    assert len(found) == 2 * places
    assert found["covariates"].nunique() == places
    assert (found["error"] < 0.2).all()
    assert (found["error_without_privacy"] < found["error"].max()).all()
    assert f"| {space} | {found['number_of_covariates'][0]} |" in made["text"]


def test_coverage_is_counted_at_its_own_place_and_level(monkeypatch):
    away = np.array([[0.1, 0.5, 0.2, 0.4, 0.3]] * 2)
    # Wide enough at the first place for 90 %, and at the others for 95 % alone.
    radii = np.stack([[0.2, 0.4, 0.1, 0.3, 0.2], [0.2, 0.6, 0.3, 0.5, 0.4]])[None].repeat(2, axis=0)
    monkeypatch.setattr(coverage, "covered", lambda *_: (away, away, radii))
    monkeypatch.setattr(
        coverage, "plan_release", lambda assumed, budget, work: one_stage(assumed, budget)
    )
    [table] = coverage.measure(UTILITY, "R^3")
    assert table.groupby("level")["coverage"].apply(list).to_list() == [[1, 0, 0, 0, 0], [1] * 5]


def test_coverage_says_whether_it_is_as_wanted():
    row = {"space": "S^2", "n": 9, "budget": 1.0, "place": 1, "releases": 1000}
    row |= {"number_of_covariates": 1, "error": 1.0, "error_without_privacy": 1.0}
    row |= {"predicted_error": 1.0, "as_assumed": True}
    table = pd.DataFrame([row | {"level": level, "coverage": level} for level in (0.9, 0.95)])
    # Where groups are not as assumed nothing is wanted.
    table = pd.concat([table, table.assign(coverage=0.5, space="R^2", as_assumed=False)])
    table = table.reset_index(drop=True)
    assert "which is within 1.5 points" in summary.page(table)
    table["coverage"] -= [0.016, 0.0, 0.0, 0.0]
    assert "-1.6 points (S^2, 90 % at place 1), **which is not** within 1.5" in summary.page(table)
    page = summary.page(table[~table["as_assumed"]])
    assert "No space has groups of the sizes that are assumed." in page
    assert "largest miss is" not in page


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (["utility", "budget"], [1.0], "utility.budget is unknown: did you mean budgets?"),
        (["chains", "pilots", "least"], 0, "chains.pilots.least: 0 is too small: give 1 or more"),
        (["spaces", "S^2", "data"], {"kind": "geodesic"}, "spaces.S^2.data.length is missing: add"),
        (["spaces", "S^2", "manifold", "name"], "torus", "spaces.S^2.manifold.name: 'torus' is"),
        (["utility", "n"], [20.5], "utility.n[0]: 20.5 has the wrong type: give an integer"),
        (
            ["utility", "releases", "rat"],
            {"n": [20], "budgets": [10.0], "data_sets": 2, "draws": 2},
            "utility.releases.rat is unknown: known keys are S^2,",
        ),
    ],
)
def test_wrong_settings_are_refused_in_a_sentence(place, value, sentence):
    settings = yaml.safe_load((ROOT / "config" / "utility.yaml").read_text())
    part = settings
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    with pytest.raises(ConfigurationError) as problem:
        validate(settings, "utility")
    assert str(problem.value).startswith(f"configuration key {sentence}")
