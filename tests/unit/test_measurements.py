"""Jobs beside the studies, run without Snakemake on few records: all they call is there."""

from importlib import import_module
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from few_records import few_records, shipped_settings
from scipy.stats import linregress

import recompute_audit
from geodp import Assumptions, Euclidean, ReleasePlan
from geodp.audit import published
from geodp.randomness import random_stream
from geodp_release import bands
from geodp_release.bands import Estimate
from geodp_release.stages import PointsStage
from reproduction import targets
from reproduction.claims.rows import read_paper
from reproduction.claims.verdicts import judge
from reproduction.configuration import validate
from reproduction.measurements import plan
from reproduction.measurements.audit import losses, mistakes
from reproduction.measurements.audit.replay import compared
from reproduction.measurements.benchmark import summary as benchmark
from reproduction.measurements.coverage import releases as coverage
from reproduction.measurements.coverage.data import UNLIKE, trend_p_value
from reproduction.measurements.held_out import cohorts
from reproduction.measurements.held_out import releases as held_out
from reproduction.measurements.tools.comparison import SCALES_OF_PUBLISHED, with_ratios
from reproduction.measurements.utility import releases
from reproduction.pages import render_page
from reproduction.papers import PAPERS
from reproduction.places import CHECKOUT, shipped

RATS = "resources/vilmann_rats.csv"
REPORT = CHECKOUT / "workflow" / "report"
MADE_BY = {
    **{"rule": "audit", "seed": 1, "lock": "0"},
    "versions": {"python": "3", "numpy": "2", "scipy": "1"},
}


AUDIT, BENCHMARK, UTILITY, TOOLS = map(few_records, ("audit", "benchmark", "utility", "tools"))
ROUNDS = TOOLS["benchmark"], *TOOLS["benchmark"]["held_out"].values()
for part, name in zip(ROUNDS, ("engel", "ais", "crabs"), strict=True):
    part["sets"] = {name: part["sets"][name]}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that runs the jobs of a stage in order and gives the files of their tables."""
    monkeypatch.chdir(tmp_path)

    def run_jobs(stage, settings):
        settings = validate(settings, targets.SHARED.get(stage, stage))
        # A figure of linear regression reads settings of tools, too.
        known = {"tools": validate(TOOLS, "tools"), stage: settings}
        monkeypatch.setattr(targets, "settings_of", known.__getitem__)
        jobs = {name: job for name, job in targets.JOBS.items() if job.stage == stage}
        written = {}
        # One that joins the others, such as audit of audit, stands among them.
        for name in sorted(jobs, key=lambda name: name == stage):
            job = jobs[name]
            if job.needs == "opacus":
                continue
            values = [known(settings) for known in job.values.values()]
            for chosen in product(*values):
                wildcards = dict(zip(job.values, chosen, strict=True))
                written |= called(job, wildcards)
        return written

    return run_jobs


def called(job, wildcards):
    """Files that a job writes, by their names in its row."""
    module = import_module(f"reproduction.measurements.{job.module}")
    arguments = job.arguments(wildcards)
    arguments |= {name: job.files(path) for name, path in job.reads.items()}
    arguments |= {name: shipped(path) for name, path in job.ships.items()}
    arguments |= {name: job.found(name, wildcards) for name in job.finds}
    paths = {name: Path(path.format(**wildcards)) for name, path in job.outputs.items()}
    if job.script == "summarise.py":
        if job.besides:
            there = [path for path in job.besides.values() if Path(path).is_file()]
            arguments["besides"] = {**job.besides, "digests": there}
        made = module.summarise(**arguments, made_by=MADE_BY, threads=1)
        figure = made.pop("figure", None)
        assert ({"pdf", "svg", "png"} <= set(paths)) == (figure is not None)
        plt.close(figure)
        assert set(made) == set(paths) - {"pdf", "svg", "png"}
    else:
        tables = getattr(module, job.function)(**arguments)
        made = dict(zip(paths, tables, strict=True))
    for name, what in made.items():
        assert len(what)
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        if isinstance(what, str):
            paths[name].write_text(what, encoding="utf-8")
        else:
            what.to_csv(paths[name], index=False)
    return {str(paths[name].relative_to(job.place(""))): paths[name] for name in made}


def test_audit(run, monkeypatch, capsys):
    # One density of each block, and one mistake.
    names = ("as published", "shooting vector as published")
    variants = {name: published.VARIANTS[name] for name in names}
    monkeypatch.setattr(published, "VARIANTS", variants)
    monkeypatch.setattr(losses, "MOVED", names)
    name = "a fingerprint in the ledger's words"
    monkeypatch.setattr(mistakes, "PLANTS", {name: mistakes.PLANTS[name]})
    made = run("audit", AUDIT)
    found = pd.read_csv(made["audit.csv"])
    assert set(found["n"]) == {2, 6}
    assert found["pair"].is_unique
    assert (found.loc[found["mechanism"] == "as published", "verdict"] == "exceeded").all()
    tested = pd.read_csv(made["releases.csv"])
    assert {"release", "release, factor 2 left out"} < set(tested["mechanism"])
    right = tested[tested["mechanism"] == "release"]
    assert (right["bound"] <= right["stated"]).all()
    page = made["audit.html"].read_text()
    assert "The stated budget of the published mechanism does not hold" in page
    assert "Of 8 pairs of neighbouring tables, 0 had a finding." in page
    # A loss can be computed again from its neighbours.
    monkeypatch.setattr(recompute_audit, "load_settings", lambda _: validate(AUDIT, "audit"))
    row = found[found["mechanism"] == "shooting vector as published"].iloc[0]
    recompute_audit.main("results/audit", row["pair"])
    text = capsys.readouterr().out
    again = float(text.split("realised ")[1].split(",")[0])
    assert again == pytest.approx(row["realised"], rel=0.01, abs=2.0 * row["error"])
    assert f"the table has {row['verdict']}\n" in text
    with pytest.raises(SystemExit, match="has no pair 'nobody'"):
        recompute_audit.main("results/audit", "nobody")


@pytest.mark.geomstats
def test_benchmark(tmp_path, monkeypatch):
    monkeypatch.setenv("GEOMSTATS_BACKEND", "numpy")
    common = {"settings": validate(BENCHMARK, "benchmark"), "rats": CHECKOUT / RATS}
    jobs = {
        "sampling": {"space": "S^2", "grid": BENCHMARK["spaces"]["S^2"]},
        "fits": {"backend": "numpy", "spaces": ["S^2"]},
    }
    for name, arguments in jobs.items():
        module = import_module(f"reproduction.measurements.benchmark.{name}")
        [made] = module.measure(**common, **arguments)
        made.to_csv(tmp_path / name, index=False)
    made = benchmark.summarise([tmp_path / name for name in jobs], REPORT / "benchmark.md.j2")
    table = made["csv"]
    draws = table[table["what"] == "effective draws"]
    assert (draws["value"] > 0.0).all()
    # Of the larger n the least and the greatest budget only.
    cells = {(8, 1.0), (8, 2.0), (8, 4.0), (9, 1.0), (9, 4.0)}
    for _, part in draws.groupby("method"):
        assert set(zip(part["n"], part["budget"], strict=True)) == cells
    assert draws["method"].nunique() == 3
    keys = ["method", "space", "n", "budget"]
    walks = table[table["what"] == "autocorrelation time"].set_index(keys)
    assert (walks["note"].str.contains("cut off") == walks["is_bound"]).all()
    values = table.set_index(["what", *keys])["value"]
    found, steps = (values[what].loc[walks.index] for what in ("effective draws", "steps"))
    np.testing.assert_allclose(found, steps / walks["value"], rtol=1e-6)
    assert "the random walk, two dimensions" in made["text"]


def one_stage(assumptions, budget, work=None):
    """A plan of one stage, in place of a search for the best ones."""
    stage = PointsStage.of(budget.exact, budget.unit, 64, 0.1)
    return ReleasePlan(assumptions, budget, (stage,), 0.2, 0.1, 0.5)


def test_utility(run, monkeypatch):
    monkeypatch.setattr(releases, "plan_release", one_stage)
    asked = []
    prepare = releases.KNGAsPublished.draw
    monkeypatch.setattr(
        releases.KNGAsPublished,
        "draw",
        lambda self, rng, budgets, *rest: (
            asked.append(budgets) or prepare(self, rng, budgets, *rest)
        ),
    )
    made = run("utility", UTILITY)
    # Half of the budget for each parameter; of the largest n the budgets shown only.
    halves = ("0.25", "4.0", "4.0")
    assert sorted(map(tuple, map(dict.values, asked))) == [(each, each) for each in halves]
    table = pd.read_csv(made["utility.csv"])
    cell = table[(table["n"] == 20) & (table["budget"].fillna(8.0) == 8.0)].set_index("mechanism")
    assert cell["budget_holds"].to_dict() == {
        "release": "proved",
        "as published": "does not hold",
        "no privacy": "no privacy",
        "without data": "nothing of the data is in it",
    }
    released = cell.loc["release"]
    public = ["footpoint_radius", "shooting_vector_length", "residual_scale"]
    assert released[public].notna().all()
    assert (released["predicted"], released["sampler"]) == (pytest.approx(0.2), "PointsStage")
    assert released["stages"].startswith("exact choice among 64 public points of the support")
    assert cell.loc["without data", "curve_error"] > cell.loc["no privacy", "curve_error"]
    text = made["utility.md"].read_text()
    assert "does not hold" in text
    assert "nan" not in text


def test_coverage(run, few_points, monkeypatch):
    monkeypatch.setattr(bands, "SIMULATED", 64)
    made = run("coverage", UTILITY)
    table = pd.read_csv(made["coverage.csv"])
    aims = ["error"] * 2 + ["bands", "power", "size"]
    assert list(table["aim"]) == aims
    assert list(table["number_of_covariates"]) == [2] * 3 + [1] * 2
    values = table.set_index(["aim", "kind"])["value"]
    assert (values["error"] > 0.0).all()
    assert 0.5 < values["bands", "share"] <= 1.0
    page = made["coverage.md"].read_text()
    assert page.startswith("# Releases that know little of the data")
    assert f"{table['is_met'].sum()} of 5 aims are met, by 3 " in page
    # Of a part of the cells, with fewer releases.
    few = pd.read_csv(made["coverage_smoke.csv"])
    assert list(few["aim"]) == aims[:3]
    assert (few["releases"] == 2).all()


def page_of_coverage(table):
    return render_page(REPORT / "coverage.md.j2", rows=table.to_dict("records"))


def test_measures_of_coverage_are_beside_their_aims(monkeypatch):
    held = np.array([[True, False, np.nan]] * 3 + [[True, np.nan, np.nan], [np.nan] * 3])
    found = iter(held)
    monkeypatch.setattr(coverage, "plan_release", one_stage)
    monkeypatch.setattr(coverage, "drawn", lambda *_: None)
    measures = coverage.MEASURES | {"bands": (lambda *_: next(found), coverage._share)}
    monkeypatch.setattr(coverage, "MEASURES", measures)
    settings = validate(UTILITY, "utility")
    settings["coverage"] |= {"releases": len(held)}
    cell = {"space": "S^2", "unlike": "nothing", "true_over_assumed": 3.0, "aims": ["bands"]}
    cell["radii_left_out"] = False
    [table] = coverage.measure(settings, cell, "releases")
    [row] = table.to_dict("records")
    # Of four releases with a band.
    assert row["value"] == pytest.approx(4 / 7)
    assert row["standard_error"] == pytest.approx(np.sqrt(4 / 7 * 3 / 7 / 4))
    assert row["drawn"] == pytest.approx(7 / 15)
    assert not row["is_met"]
    text = page_of_coverage(table)
    assert "0 of 1 aims" in text
    assert "| residual scale 3 times the assumed | bands, share | 0.571 +- 0.247 |" in text
    assert "| at least 0.87, at most 0.95 | **no** |" in text
    ratios = coverage._ratios(np.array([[4.0, 1.0]] * 3 + [[16.0, 4.0]]), np.random.default_rng(0))
    assert ratios == {"root mean square": (2.0, 0.0), "median": (2.0, 0.0)}


def test_radii_are_left_out_beside_a_release_that_has_them(monkeypatch):
    planned = []

    def plan_of(assumptions, budget, work):
        planned.append(assumptions)
        return SimpleNamespace(assumptions=assumptions)

    def drawn(plan, x, points, rng):
        """Least squares, beside the truth: more so where radii are left out."""
        fit = coverage.GeodesicModel(plan.assumptions.manifold).fit(x, points)
        away = 3.0 if plan.assumptions.footpoint_radius > 1.0 else 2.0
        return SimpleNamespace(plan=plan, predict=lambda places: fit.predict(places) + away)

    monkeypatch.setattr(coverage, "plan_release", plan_of)
    monkeypatch.setattr(coverage, "drawn", drawn)
    [cell] = [
        cell | {"space": "R^3", "true_over_assumed": None}
        for cell in shipped_settings("utility")["coverage"]["cells"]
        if "radii_left_out" in cell
    ]
    settings = validate(UTILITY, "utility")
    [table] = coverage.measure(settings, {"unlike": "nothing"} | cell, "releases")
    assert [each.footpoint_radius for each in planned] == [1e6, 1.0]
    assert [each.residual_scale for each in planned] == [None, None]
    root = table[table["kind"] == "root mean square"].set_index("aim")
    assert root["value"]["error without radii"] == pytest.approx(1.5, rel=0.02)
    assert root["value"]["error over least squares"] > 30.0
    assert list(root["is_met"]) == [True, False]
    assert "radii left out" in page_of_coverage(table)


def test_held_out(run, monkeypatch):
    truth = cohorts.Truth(lambda x: x[:, :1], residual_scale=1.0, r_squared=0.9)
    cohort = cohorts.Cohort(
        "points on a line",
        {"name": "euclidean", "size": 1},
        ((10.0, 20.0), (2.0, 4.0)),
        *("anywhere", 4, 8.0, (True, False), lambda rng: (None, None, truth)),
    )
    monkeypatch.setattr(cohorts, "COHORTS", {"Made up": cohort})
    monkeypatch.setattr(held_out, "plan_release", one_stage)
    plans, levels = [], []

    def drawn(plan, *_):
        """The third one doubts, and has neither a band nor a trend; the first has both trends."""
        plans.append(plan)
        number = len(plans)

        def around(value):
            return lambda level: levels.append(level) or Estimate(value, value - 0.2, value, level)

        return SimpleNamespace(
            plan=plan,
            # Off by 1.5 at the first place.
            predict=lambda places: places[:, :1] + 1.5 * (places[:, :1] == 10.0),
            band=lambda places, level: np.where(
                places[:, 0] == 20.0, np.nan, np.nan if number == 3 else number
            ),
            p_values=lambda: np.array([0.05 if number < 3 else 0.06, 0.05 * number]),
            residual_scale=around(1.1),
            r_squared=around(0.8),
            doubts=lambda: ["Doubt."] * (number == 3),
        )

    monkeypatch.setattr(coverage, "drawn", drawn)
    made = run("held_out", UTILITY)
    table = pd.read_csv(made["held_out.csv"])
    given = plans[0].assumptions
    assert (given.subjects, given.residual_scale, given.footpoint_radius) == (4, None, 1e6)
    assert (str(plans[0].budget.amount), set(levels)) == ("8.0", {0.9})
    assert dict(zip(table["what"], table["value"], strict=True)) == {
        "bands": 0.75,
        "bands drawn": pytest.approx(4 / 9),
        "bands at 10, 2": 0.5,
        "bands at 15, 4": 1.0,
        "bands at 20, 4": pytest.approx(np.nan, nan_ok=True),
        "trend on covariate 1": pytest.approx(2 / 3),
        "no trend on covariate 2": pytest.approx(1 / 3),
        "residual scale": 1.0,
        "R^2": 0.0,
        "doubts": pytest.approx(1 / 3),
    }
    judged = table[table["is_met"].notna()]
    assert list(judged["is_met"]) == [False, False, False, True, False, False]
    page = made["held_out.md"].read_text()
    assert "1 of 6 criteria are met, by 3 tables" in page
    assert "| bands | 0.75 | at least 0.8 | **no** |" in page
    assert "| doubts | 0.33 | at most 0.1 | **no** |" in page
    assert "| bands drawn | 0.44 |  |  |" in page
    assert "| bands at 20, 4 | none drawn |  |  |" in page
    assert "* Made up: points on a line; n = 4, epsilon 8" in page


def test_data_of_coverage_are_unlike_what_is_assumed():
    manifold, rng = Euclidean(3), np.random.default_rng(1)
    assumptions = Assumptions(manifold, np.zeros(3), 1.0, 2.0, (-0.5, 0.5), 4000)

    def of(name):
        state, x, y = UNLIKE[name].draw(assumptions, 0.1, rng)
        return state, x, (y - state[0] - x * state[1]) / 0.1

    state, x, residuals = of("nothing")
    assert np.linalg.norm(state[0]) < 1.0
    assert np.std(x) == pytest.approx(np.sqrt(1 / 12), rel=0.05)
    assert np.std(residuals, axis=0) == pytest.approx(1.0, rel=0.05)
    assert np.mean(of("covariates 0.1 +- 0.03")[1]) == pytest.approx(-0.4, abs=0.003)
    sizes = np.std(of("residuals five times as large in one direction")[2], axis=0)
    assert sizes[0] / sizes[1:] == pytest.approx(5.0, rel=0.1)
    assert np.mean(sizes**2) == pytest.approx(1.0, rel=0.1)
    _, x, residuals = of("residuals twice as large at one end")
    ends = [np.std(residuals[some]) for some in (x[:, 0] > 0.4, x[:, 0] < -0.4)]
    assert ends[0] / ends[1] == pytest.approx(1.95 / 1.05, rel=0.1)
    assert np.linalg.norm(of("footpoint at 1.2 radii")[0][0]) == pytest.approx(1.2)
    assert np.std(of("residuals of four radii")[2]) == pytest.approx(40.0, rel=0.05)
    far = np.linalg.norm(of("a fifth of the records elsewhere")[2], axis=1) > 6.0
    assert np.mean(far) == pytest.approx(0.2, abs=0.002)
    assert np.all(of("no trend")[0][1] == 0.0)


def test_trends_have_the_power_that_is_wanted_without_privacy():
    line, plane = Euclidean(1), Euclidean(2)
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 30))
    expected = linregress(x, y).pvalue
    assert trend_p_value(line, x, y[:, None]) == pytest.approx(expected)
    assumptions = Assumptions(plane, np.zeros(2), 1.0, 2.0, (-0.5, 0.5), 40)
    for name, power in (("no trend", 0.05), ("a weak trend", 0.8)):
        drawn = [UNLIKE[name].draw(assumptions, 0.1, rng) for _ in range(800)]
        found = np.mean([trend_p_value(plane, x[:, 0], y) <= 0.05 for _, x, y in drawn])
        assert found == pytest.approx(power, abs=4.0 * np.sqrt(power * (1.0 - power) / 800))


@pytest.mark.competitors
def test_tools(run):
    made = run("tools", TOOLS)
    shares = pd.read_csv(made["shares.csv"])
    ours = {"adassp", "ihm", "matrix_laplace", "matrix_gaussian"}
    assert set(shares["method"]) == {"diffprivlib", "diffprivlib_corrected"} | ours
    assert set(shares["data_set"]) == {"engel", "ais", "crabs"}
    held_out = shares[shares["held_out"] > 0].groupby("held_out")["method"]
    assert held_out.agg(set).to_dict() == {1: ours, 2: ours}
    assert (shares["draws"] == 3).all()
    releases = pd.read_csv(made["releases.csv"])
    assert set(releases["data_set"]) == {"engel"}
    assert (releases["ratio"] < releases["aim"]).all()
    draws = pd.read_csv(made["draws.csv"])
    assert set(draws["data"]) == {"red wine"}
    assert set(draws["budget"]) == {1.0, 2.0, 4.0}
    counts = draws.groupby(["method", "budget"]).size()
    assert (counts["least_squares"] == 1).all()
    # Others are those that are recorded.
    assert (counts[["geodesic_as_published", "matrix_laplace"]] == 3).all()
    assert {"diffprivlib", "theil_sen", "dp_sgd"} <= set(draws["method"])
    page = made["tools.md"].read_text()
    assert all(f"{each} " in page for each in ("diffprivlib", "opendp", "scikit-learn", "numpy"))
    assert "nan" not in page


# Papers with settings of their own


# Errors of lines of red wine, by method.
METHODS_OF_WINE = {"least_squares": 0.8731, **dict.fromkeys(SCALES_OF_PUBLISHED, 0.9)}
METHODS_OF_WINE |= {"diffprivlib": 9.0, "diffprivlib_one_call": 5.0, "dp_sgd": 1.0}


def judged(paper, more=None):
    """Verdicts on a paper's claims from the tables that were made, by claim."""
    made = {key: file for key, file in targets.claimed(paper).items() if key not in (more or {})}
    tables = {key: pd.read_csv(file) for key, file in made.items()} | (more or {})
    file = CHECKOUT / "resources" / "published" / f"{paper}_claims.csv"
    read = read_paper(PAPERS[paper].name, file, file.name)
    found = judge([read], tables, lambda claim: random_stream(1, claim), replicates=50)
    found = found.set_index("claim")["verdict"]
    # Small settings lack sizes that some need.
    return found.drop([claim.claim for claim in read.claims if claim.needs])


def sentences(verdicts):
    return verdicts.index.str.partition(".").get_level_values(0).nunique()


def test_linear(run):
    made = run("linear", few_records("linear"))
    for study, rows in (
        ("kng_linear", 5 * 5 * 5),
        ("kng_quantile", 5 * 3 * 5),
        ("kng_location", 3 * 3 * 4),
        ("geodesic_vs_notebook", 4 * 3),
    ):
        table = pd.read_csv(made[f"{study}/errors.csv"])
        assert len(table) == rows
        assert not table.duplicated(["group", "cell", "data_set"]).any()
    linear = pd.read_csv(made["kng_linear/errors.csv"])
    assert np.all(np.isfinite(linear["distance"]) & (linear["distance"] > 0.0))
    assert np.all(linear.loc[linear["mechanism"] == "kng", "exact"] == 1)
    assert sentences(found := judged("reimherr_awan")) == 16
    assert (found != "").all()
    rows = [("draws", name, b, d) for name in METHODS_OF_WINE for b in (1, 2, 4) for d in (0, 1)]
    rows += [("settings", "dp_sgd", b, d) for b in (1, 2, 4) for d in (0, 1)]
    lines = pd.DataFrame(rows, columns=["table", "method", "budget", "draw"])
    lines = lines.assign(data="red wine", n=100, group="wine", cell=lines["method"])
    lines = lines.assign(setting=lines["draw"], low=0.9, high=1.1)
    lines["mean_squared_error"] = lines["method"].map(METHODS_OF_WINE) + lines["draw"]
    lines = lines[(lines["method"] != "least_squares") | (lines["draw"] == 0)]
    parts = dict(list(lines.groupby("table")))
    parts["draws"] = with_ratios(parts["draws"].drop(columns=["setting", "low", "high"]))
    wine = judged(
        "kulkarni_soto_first_version", {("tools", name): part for name, part in parts.items()}
    )
    assert sentences(wine) == 16
    assert (
        wine["wine_least_squares"] == wine["wine_factor.nearer"] == wine["wine_opacus"] == "holds"
    )
    assert wine["wine_factor.number"] == "does not hold"
    assert (wine != "").all()


# Parts that no run of theirs shows


def test_outputs_that_differ_are_findings(monkeypatch):
    """Of the same calls and times."""
    monkeypatch.setattr("reproduction.measurements.audit.replay.call_findings", lambda *_: ([], 0))
    runner = SimpleNamespace(
        run=lambda pair, index, **_: ({"status": "2", "words": f"row {index}"}, 1.0)
    )
    findings, *_ = compared(runner, SimpleNamespace(kind="replaced"), "by command")
    assert findings == ["words differs: 'row 0' and 'row 1'", "neither was released: 2"]


def test_planned_errors_of_blocks_are_those_of_noise_and_estimate_together(monkeypatch):
    errors = np.array([[[3.0, 0.0], [0.0, 4.0]], [[0.0, 3.0], [6.0, 0.0]]])
    found = SimpleNamespace(
        errors=errors,
        estimate_squares=np.array([[16.0, 144.0], [16.0, 142.0]]),
        weight=np.array([0.5, 1.5]),
    )
    monkeypatch.setattr(plan, "simulated", lambda *_: found)
    given = dict.fromkeys(ReleasePlan.__dataclass_fields__, ())
    release = SimpleNamespace(**given, paths=[()], is_noise=False)
    row = plan._row(release)
    assert row["footpoint_error"] == 5.0
    # 16 + 144 once, and 36 + 142 three times as much.
    assert row["shooting_vector_error"] == np.sqrt(173.5)
