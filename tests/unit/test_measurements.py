"""Every measurement from its arguments to its page, on a few records: all it calls is there."""

from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
import yaml

from geodp_release import bands
from geodp_release.planning import ReleasePlan
from geodp_release.stages import PointsStage
from reproduction.configuration import validate
from reproduction.measurements.audit import losses, plants, sensitivity
from reproduction.measurements.benchmark import sizes
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
CHAINS = {"records": 200, "least": 10, "most": 10}
UTILITY = settings_of(
    "utility",
    {
        "utility": {
            **{"n": [20], "budgets": [8.0], "shown": [8.0], "draws": 2},
            "data_sets": {"records": 40, "least": 2, "most": 2},
            "releases": {"S^2": {"n": [20], "budgets": [8.0], "data_sets": 1, "draws": 1}},
        },
        "chains": {"pilots": CHAINS, "most_steps": 8},
        "coverage": {"releases": 3},
    },
)


@pytest.fixture
def measured(tmp_path):
    """A function that measures, and gives files of the tables."""

    def measure(module, function="measure", **arguments):
        make = getattr(import_module(f"reproduction.measurements.{module}"), function)
        tables = make(**arguments)
        name = f"{module}_{function}_{arguments.get('number')}"
        paths = [tmp_path / f"{name}_{index}.csv" for index in range(len(tables))]
        for path, table in zip(paths, tables, strict=True):
            assert len(table)
            table.to_csv(path, index=False)
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
    monkeypatch.setattr(sensitivity, "MOVED", names)
    parts = [
        measured("audit.losses", settings=AUDIT, number=number, budgets=[1.0]) for number in (2, 6)
    ]
    lost, neighbours = zip(*parts, strict=True)
    [moved] = measured("audit.sensitivity", settings=AUDIT)
    [attacks] = measured("audit.black_box", settings=AUDIT, rats=RATS)
    [tested] = measured("audit.releases", settings=AUDIT, space="sphere")
    draws, releases = measured("audit.times", settings=AUDIT)
    [block] = measured("audit.replay", settings=AUDIT, block=0)
    name = "a fingerprint in the ledger's words"
    monkeypatch.setattr(plants, "PLANTS", {name: plants.PLANTS[name]})
    [seen] = measured("audit.replay", "planted", settings=AUDIT)
    [replayed] = measured("audit.replay", "all_blocks", blocks=[block], planted=seen)
    shown = {"replay": replayed, "planted": seen, "digests": ["of both"]}
    made = summarised(
        "audit",
        settings=AUDIT,
        besides=shown,
        draw_times=draws,
        release_times=releases,
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
    common = {"settings": BENCHMARK, "spaces": ["S^2"], "rats": RATS}
    tables = [
        *measured(
            "benchmark.sampling",
            settings=BENCHMARK,
            space="S^2",
            grid=BENCHMARK["spaces"]["S^2"],
            rats=RATS,
        ),
        *measured("benchmark.fits", backend="numpy", **common),
        *measured("benchmark.sizes", **common),
    ]
    made = summarised("benchmark", tables=tables)
    assert "the random walk, two dimensions" in made["text"]


def one_stage(assumptions, budget):
    """A plan of one stage, in place of a search for the best ones."""
    stage = PointsStage.of(budget.exact, budget.unit, 64, 0.1)
    return ReleasePlan(assumptions, budget, (stage,), 0.2, 0.1, 0.5)


def test_utility(measured, monkeypatch):
    monkeypatch.setattr(releases, "plan_release", one_stage)
    tables = measured("utility.releases", settings=UTILITY, space="S^2", number=20, rats=RATS)
    made = summarised("utility", tables=tables, shown=[8.0])
    assert made["csv"]["mechanism"].nunique() == 4
    released = made["csv"].set_index("mechanism").loc["release"]
    assert (released["predicted"], released["sampler"]) == (pytest.approx(0.2), "PointsStage")
    assert released["stages"].startswith("exact choice among 64 public points of the support")
    assert "does not hold" in made["text"]


def test_coverage(measured, monkeypatch):
    monkeypatch.setattr(bands, "SIMULATED", 20)
    tables = measured("coverage.releases", settings=UTILITY, space="R^3")
    made = summarised("coverage", tables=tables)
    assert sorted(made["csv"]["level"].unique()) == [0.9, 0.95]
    assert made["csv"]["coverage"].isin([0.0, 1 / 3, 2 / 3, 1.0]).all()
    assert "| R^3 | 1 | 500 | 3 |" in made["text"]


@pytest.mark.parametrize(("space", "places"), [("S^2, mean", 1), ("SPD(2), three covariates", 5)])
def test_coverage_without_a_covariate_and_with_three(space, places, measured, monkeypatch):
    monkeypatch.setattr(bands, "SIMULATED", 20)
    tables = measured("coverage.releases", settings=UTILITY, space=space)
    found = summarised("coverage", tables=tables)["csv"]
    assert len(found) == 2 * places
    assert found["covariates"].nunique() == places
    assert (found["error"] < 0.1).all()
    assert (found["error_without_privacy"] < found["error"].max()).all()


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
