"""The benchmark: its walk is the library's, its measures are right, its words follow numbers."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import autoregression

from geodp import GeodesicModel, Sphere
from geodp.samplers.base import State
from geodp.samplers.random_walk import RandomWalk
from reproduction.measurements.benchmark import fits as geomstats_fits
from reproduction.measurements.benchmark import harness, means, sampling, spaces, speed, summary
from reproduction.measurements.benchmark.geomstats_walk import geomstats_walk, to_geomstats
from reproduction.measurements.benchmark.summary import aims, cells, fits
from reproduction.measurements.words import number

ROOT = Path(__file__).resolve().parents[2]
RATS = ROOT / "resources" / "vilmann_rats.csv"
SCRIPTS = ROOT / "workflow" / "scripts"

# --- The walk with geomstats ---


@pytest.fixture(scope="module", params=spaces.SPACES)
def scene(request):
    """A small data set on each space, its density at a budget, and the same by geomstats."""
    space = spaces.SPACES[request.param]
    mechanism = sampling.make_mechanism(space, *spaces.make_data(space, 12, 1, RATS))
    return SimpleNamespace(
        mechanism=mechanism,
        target=mechanism.footpoint_target(5.0),
        density=sampling.geomstats_density(mechanism, 5.0),
    )


@pytest.mark.geomstats
def test_geomstats_gives_the_same_log_density(scene):
    manifold = scene.mechanism.manifold
    rng = np.random.default_rng(1)
    centre = np.repeat(scene.target.centre[:, None], 5, axis=1)
    lengths = np.array([0.0, 0.01, 0.1, 0.3, 0.45])
    vectors = manifold.random_tangent(rng, centre)
    vectors *= manifold.expand(lengths / manifold.norm(centre, vectors))
    points = manifold.exp(centre, vectors)
    expected = scene.target.log_density(points)[0]
    assert np.all(np.isfinite(expected))
    assert np.ptp(expected) > 1.0
    found = [scene.density(to_geomstats(point)) for point in points[0]]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-6)


@pytest.mark.geomstats
def test_geomstats_knows_the_support(scene):
    if not np.isfinite(scene.density.support_radius):
        pytest.skip("the support is the whole space")
    manifold = scene.mechanism.manifold
    centre = scene.mechanism.fit.footpoint[0]
    vector = manifold.random_tangent(np.random.default_rng(1), centre)
    vector /= manifold.norm(centre, vector)
    radius = scene.density.support_radius
    for length, inside in ((0.9 * radius, True), (1.1 * radius, radius > 1.0)):
        value = scene.density(to_geomstats(manifold.exp(centre, length * vector)))
        assert np.isfinite(value) == inside


@pytest.mark.geomstats
def test_geomstats_walks_where_the_random_walk_does(scene):
    manifold, target = scene.mechanism.manifold, scene.target
    kernel = RandomWalk(1.0)
    rng = np.random.default_rng(3)
    state = kernel.init(rng, target, 1)
    radius = kernel.step_scale * scene.density.scale
    other = geomstats_walk(np.random.default_rng(3), scene.density, radius, target.centre[0])
    accepted = 0
    for _ in range(25):
        state, info = kernel.step(rng, target, state)
        place, value, moved = next(other)
        assert moved == info.accepted[0, 0]
        assert manifold.dist(state.position[0, 0], place) < 1e-6
        assert abs(value - state.log_density[0, 0]) < 1e-6
        accepted += moved
    assert accepted > 0


# --- Measures ---


def test_autocorrelation_of_an_autoregression():
    fast, slow = (autoregression(8, 20000, coefficient) for coefficient in (0.2, 0.9))
    found = sampling.autocorrelation({"fast": fast, "slow": slow})
    assert not found.is_bound
    # (1 + c) / (1 - c), to what 8 * 20000 / 19 effective states tell, and the rank transform.
    assert found.time == pytest.approx(19.0, rel=0.1)
    assert sampling.autocorrelation({"fast": fast}).time == pytest.approx(1.5, rel=0.1)
    # No state is worth more than a draw.
    assert sampling.autocorrelation({"alternating": autoregression(4, 5000, -0.8)}).time == 1.0
    # Of chains that are too short it is a bound: their time is 1999, more than a chain is long.
    found = sampling.autocorrelation({"slow": autoregression(4, 400, 0.999)})
    assert found.is_bound
    assert "cut off" in found.note
    assert 1.0 <= found.time < 1999.0


def test_calls_per_second_count_what_is_timed():
    def work():
        start = time.process_time()
        while time.process_time() - start < 0.01:
            pass

    # Seconds of the processor: sleep takes none.
    rate = harness.calls_per_second(lambda: (work(), time.sleep(0.01)), 0.1)
    assert 20.0 < rate <= 100.0


@pytest.mark.parametrize("script", ["measure.py", "summarise.py"])
def test_measures_are_taken_with_one_thread(script):
    """Of linear algebra too, whatever the run asks for."""
    code = (
        "import ast, pathlib, sys; "
        "tree = ast.parse(pathlib.Path(sys.argv[1]).read_text()); "
        "tree.body = [each for each in tree.body if isinstance(each, ast.ImportFrom)]; "
        "exec(compile(tree, 'script', 'exec')); "
        "import numpy, threadpoolctl; "
        "print(*(pool['num_threads'] for pool in threadpoolctl.threadpool_info()))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, script],
        cwd=SCRIPTS,
        env=os.environ | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "PYTHONPATH": "."},
        check=True,
        capture_output=True,
        text=True,
    )
    assert set(result.stdout.split()) == {"1"}


def test_tuning_takes_the_radius_that_changes_the_density_most(monkeypatch):
    class Walk:
        """Log densities change with the radius up to 4, hardly more at 6, and never beyond."""

        def __init__(self, step_scale, start):
            self.step_scale = step_scale

        def init(self, rng, target, chains):
            return State(np.zeros((1, chains)), np.zeros((1, chains)))

        def step(self, rng, target, state):
            change = {6.0: 4.1}.get(self.step_scale, self.step_scale * (self.step_scale < 5.0))
            return State(state.position, state.log_density + change), None

    monkeypatch.setattr(sampling, "StartedWalk", Walk)
    assert sampling.tuned_walk(None, None, None).step_scale == 4.0


# --- Data ---


def test_as_many_rats_as_there_are_are_the_observed_ones():
    space = spaces.SPACES["rats"]
    covariates, points = spaces.make_data(space, spaces.RATS, 1, RATS)
    assert covariates.shape == (1, spaces.RATS)
    observed = sampling.make_mechanism(space, covariates, points)
    simulated = sampling.make_mechanism(space, *spaces.make_data(space, 2000, 1, RATS))
    assert simulated.fit.energy == pytest.approx(observed.fit.energy, rel=0.2)
    manifold = observed.manifold
    apart = manifold.dist(observed.fit.footpoint, simulated.fit.footpoint)
    assert apart < np.sqrt(2.0 * observed.fit.energy)


def test_data_depend_on_seed_and_number_alone():
    first, again, other = (
        spaces.make_data(spaces.SPACES["outlines"], 30, seed, RATS)[1] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_thinned_mechanism_keeps_the_scale():
    space = spaces.SPACES["S^2"]
    whole = sampling.make_mechanism(space, *spaces.make_data(space, 500, 1, RATS))
    short = sampling.thinned(whole, 100)
    assert short.covariates.shape == (1, 100, 1)
    assert short.sensitivity is whole.sensitivity
    assert sampling.thinned(whole, 500) is whole


# --- Fits ---


def test_verdicts_on_fits():
    data = spaces.make_data(spaces.SPACES["S^2"], 30, 1, RATS)
    covariates, points = (array[0] for array in data)
    sphere, model = Sphere(2), GeodesicModel(Sphere(2))
    found = model.fit(covariates, points)
    # The same geodesic from its place at the mean covariate, as geomstats states it.
    velocity = np.mean(covariates) * found.shooting_vector
    middle = sphere.exp(found.footpoint, velocity)
    slope = sphere.transport(found.footpoint, velocity, found.shooting_vector)
    judged = [
        geomstats_fits.judge(model, found, factor * middle, share * slope, covariates, points)
        for factor, share in ((1.0, 1.0), (1.0, 0.5), (1.0, 0.0), (2.0, 1.0))
    ]
    assert [verdict.split(" ")[0] for _, verdict in judged] == ["same", "excess", "the", "no"]
    states = model.parameters(middle, 0.5 * slope)
    centred = covariates - np.mean(covariates)
    energy = model.energy_gradient(states, centred, points, blocks=()).energy
    assert judged[1][0] == pytest.approx(energy / found.energy - 1.0)


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda: all(True for _ in range(10**8)), "stopped"),
        (lambda: 1 / 0, "fails: ZeroDivisionError: division by zero"),
        # And leaves no alarm behind.
        (lambda: 7, ""),
    ],
)
def test_attempts_end_in_time(function, problem):
    tried = harness.attempted(function, 0.05)
    assert tried.problem == problem
    assert tried.found == (None if problem else 7)
    assert tried.seconds > 0.0 or tried.problem != "stopped"
    time.sleep(0.1)


# --- Words ---


def page(table, machine):
    return summary.page(table, machine, ROOT / "workflow" / "report" / "benchmark.md.j2")


def planted(
    ours=1e5,
    walk=10.0,
    geomstats=1.0,
    is_bound=False,
    fit_times=(0.001, 0.1),
    mean=(0.2, 1e-12),
    small=0.001,
    ratio=0.5,
    geomstats_ratio=0.04,
    alone=(0.3, 30.0),
    plan=2.0,
):
    """A table of the benchmark's form with the numbers given."""
    rows = []

    def add(what, method, value, dimension, n=20, **others):
        line = dict.fromkeys(harness.COLUMNS) | {"is_bound": False, "note": ""}
        line |= {"what": what, "space": f"space {dimension}", "dimension": dimension, "n": n}
        rows.append(line | {"method": method, "value": value} | others)

    for dimension in (2, 96):
        for budget in (0.1, 1.0, 10.0):
            of = {"dimension": dimension, "budget": budget}
            for draws in (200, 2000):
                share = 0.5 if draws == 200 else 1.0
                add("effective draws", sampling.OURS, share * ours, draws=draws, **of)
            add("effective draws", sampling.WALK, walk, is_bound=is_bound, **of)
            name = sampling.GEOMSTATS_WALK
            add("effective draws", name, geomstats, is_bound=is_bound, **of)
        add("fit", geomstats_fits.OUR_FIT, fit_times[0], dimension)
        add("fit", "geomstats (a): fast and wrong", 1e-6, dimension)
        add("excess energy of a fit", "geomstats (a): fast and wrong", 0.5, dimension)
        add("fit", "geomstats (a): right", fit_times[1], dimension)
        add("excess energy of a fit", "geomstats (a): right", 1e-9, dimension)
    for what, method, value, n in (
        ("Frechet mean", means.OUR_MEAN, mean[0], 1000000),
        ("gradient at a Frechet mean", means.OUR_MEAN, mean[1], 1000000),
        ("Frechet mean", means.OUR_MEAN, small, 1000),
        ("Frechet mean", means.TO_THE_END, 10.0, 1000),
        (means.RATIO, means.TO_THE_END, geomstats_ratio, 1000000),
        (means.RATIO, means.PYRIEMANN, ratio, 1000),
        *((speed.FIT, "fit", alone[0], 1000), (speed.GRADIENT, "gradient", alone[1], 1000)),
        *((speed.PROCESS, speed.START, 0.02, 0), (speed.PROCESS, speed.IMPORT, 0.1, 0)),
        (speed.PROCESS, speed.PLAN, plan, 0),
    ):
        space = {speed.FIT: "SPD(8)", speed.PROCESS: None}.get(what, "S^2")
        add(what, method, value, 2, n=n, space=space)
    return pd.DataFrame(rows, columns=harness.COLUMNS)


MANY, TWO, EITHER = "96 dimensions", "two dimensions", "either walk, never fewer"

# Aims that the planted table has numbers for.
NUMBER = 15


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({}, []),
        ({"walk": 200.0}, [MANY]),
        ({"walk": 2000.0}, [MANY, TWO]),
        ({"geomstats": 1000.0}, ["written with geomstats"]),
        ({"walk": 2e5}, [MANY, TWO, EITHER]),
        ({"fit_times": (0.004, 0.1)}, ["median of"]),
        ({"fit_times": (0.2, 0.1)}, ["median of", "fit of equal energy, never fewer"]),
        ({"mean": (2.5, 1e-12)}, ["seconds of a Frechet mean of 1,000,000"]),
        ({"mean": (0.2, 1e-9)}, ["gradient at"]),
        ({"small": 0.003}, ["seconds of a Frechet mean of 1,000 "]),
        ({"ratio": 0.8}, ["over that of pyRiemann"]),
        ({"geomstats_ratio": 0.1}, ["geomstats' mean of a million"]),
        ({"alone": (0.5, 50.0)}, ["seconds of a fit", "nanoseconds"]),
        ({"plan": 4.0}, ["geodp plan"]),
    ],
)
def test_aims_are_judged(changed, missed):
    table = planted(**changed)
    found = aims(table)
    assert len(found) == NUMBER
    named = found.loc[~found["met"], "aim"]
    assert len(named) == len(missed)
    assert all(words in aim for words, aim in zip(missed, named, strict=True))
    text = page(table, {"cores": 2})
    assert (text.count("**met**"), text.count("**missed**")) == (NUMBER - len(missed), len(missed))
    assert "cores 2" in text


def test_a_missed_aim_says_by_how_much_and_where():
    table = planted(walk=200.0)
    [missed] = aims(table).query("not met").to_dict("records")
    assert (missed["reached"], missed["where"]) == (500.0, "space 96, n = 20, budget 1")
    assert "| at least 1,000 | 500 | space 96, n = 20, budget 1 | 500 | **missed** |" in (
        page(table, {})
    )


def test_budgets_below_one_do_not_count_in_many_dimensions():
    table = planted()
    small = (table["budget"] < 1.0) & (table["dimension"] == 96)
    table.loc[small & (table["method"] == sampling.WALK), "value"] = 5e3
    found = aims(table).set_index("aim")
    assert found.filter(like=MANY, axis="index")["met"].all()
    assert found.filter(like=EITHER, axis="index")["reached"].item() == pytest.approx(20.0)


def test_bounds_are_called_bounds():
    text = page(planted(walk=200.0, is_bound=True), {})
    assert "| at least 500 |" in text
    assert "6 of 6 cells" in text
    assert "| 500 | space 96" in page(planted(walk=200.0), {})
    # The largest number of draws is taken.
    assert cells(planted())["draws"].tolist() == [2000] * 6


def test_fits_of_higher_energy_do_not_count():
    found = fits(planted(fit_times=(0.001, 0.2)))
    assert (found["geomstats"] / found["ours"]).to_numpy() == pytest.approx(200.0)
    assert not found["is_bound"].any()
    assert "reached the energy of the fit" not in page(planted(), {})
    # Without one of equal energy there is a bound, if any was stopped.
    table = planted()
    many = table["dimension"] == 96
    table.loc[many & (table["what"] == "excess energy of a fit"), "value"] = 0.5
    assert list(fits(table).dropna()["space"]) == ["space 2"]
    assert "by the time limit: space 96, n = 20. The ratios" in page(table, {})
    stopped = many & (table["method"] == "geomstats (a): right") & (table["what"] == "fit")
    table.loc[stopped, "is_bound"] = True
    assert fits(table)["is_bound"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("value", "text"),
    [(12345.0, "12,000"), (104.0, "100"), (9.96, "10.0"), (1.23, "1.2"), (0.0456, "0.046")],
)
def test_numbers_have_two_digits(value, text):
    assert number(value) == text
