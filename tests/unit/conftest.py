"""Fixtures of the unit tests: the spaces, and data on them."""

import os
import random
from functools import lru_cache
from types import SimpleNamespace

# Before NumPy reads it: on small matrices threads of BLAS that wait for a busy processor cost
# far more than the arithmetic.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from cohort import SETTINGS, write, write_cohort
from hypothesis import settings

from geodp.manifolds.landmark_maps import fourier_harmonics
from geodp.manifolds.manifold import Manifold
from geodp.manifolds.registry import MANIFOLDS, make_manifold
from geodp.samplers import integer_choice

# The same examples in every run, and no deadline: a busy machine is no mistake of the code.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("steady")

SIZES = {"R": ("euclidean", 3), "S": ("sphere", 2, 4), "H": ("hyperbolic", 1, 2, 4)}
SIZES |= {"SPD": ("spd", 2, 3), "Kendall": ("kendall", 3, 4, 8, 50)}
SPACES = {f"{each}{size}": (name, size) for each, (name, *sizes) in SIZES.items() for size in sizes}
SPACES |= {
    f"Reduced{highest}of{size}": ("kendall", size, fourier_harmonics(size, highest))
    for highest, size in ((1, 20), (4, 50))
}

# Others by their settings.
CIRCLE = {"name": "sphere", "size": 1, "coordinates": "degrees"}
SIZE, SHAPE = {"name": "euclidean", "size": 1, "weight": 0.5}, {"name": "kendall", "size": 4}
SETTINGS_OF = {
    "SPD3log": {"name": "spd", "size": 3, "metric": "log_euclidean"},
    "SPD2log": {"name": "spd", "size": 2, "metric": "log_euclidean"},
    "SO3": {"name": "rotations", "coordinates": "quaternion"},
    "Torus": {"name": "product", "factors": [CIRCLE, CIRCLE | {}]},
    "SizeAndShape": {"name": "product", "factors": [SIZE, SHAPE]},
}
# And whatever else is registered.
SETTINGS_OF |= {
    name: {"name": name, **kind.example}
    for name, kind in MANIFOLDS.items()
    if name not in {each[0] for each in SPACES.values()}
}

# One of each kind, of at most 4 dimensions: the quick tests. Others are tested by the slow ones.
QUICK_SPACES = ("R3", "S2", "H2", "SPD2", "Kendall4", "projective", "rotations", "product")


def space_of(name):
    """A space by its name here."""
    return make_manifold(*SPACES[name]) if name in SPACES else make_manifold(**SETTINGS_OF[name])


@pytest.fixture(scope="session", params=[*SPACES, *SETTINGS_OF])
def manifold(request):
    """Every space in turn."""
    return space_of(request.param)


@pytest.fixture(scope="session")
def make_records():
    """Function that draws records about random geodesics."""
    return records


def records(manifold, seed, number=20, speed=0.5, noise=0.1, data_shape=(), truth=None):
    """Covariates, points, and the geodesics they scatter about.

    The residuals have root mean squared length ``noise``; ``truth`` sets the geodesic.
    """
    rng = np.random.default_rng(seed)
    if truth is None:
        footpoint = manifold.random_point(rng, data_shape)
        vector = manifold.random_tangent(rng, footpoint)
        truth = footpoint, vector * manifold.expand(speed / manifold.norm(footpoint, vector))
    covariates = rng.uniform(size=(*data_shape, number))
    predictions = manifold.ends(truth[0], [truth[1]], covariates[..., None])
    residuals = manifold.random_tangent(rng, predictions) * (noise / np.sqrt(manifold.dim))
    found = {"covariates": covariates, "points": manifold.exp(predictions, residuals)}
    return SimpleNamespace(**found, footpoint=truth[0], shooting_vector=truth[1])


def autoregression(chains, states, coefficient, seed=0):
    """Stationary traces of first order, whose autocorrelation time is known."""
    values = np.random.default_rng(seed).standard_normal((chains, states))
    values[:, 1:] *= np.sqrt(1.0 - coefficient**2)
    for state in range(1, states):
        values[:, state] += coefficient * values[:, state - 1]
    return values


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, as the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def path(tmp_path):
    """The path of a ledger to be."""
    return tmp_path / "ledger"


@pytest.fixture
def ledger(path):
    """A ledger of one epsilon."""
    from geodp_release.promise.ledger import Ledger

    return Ledger.create(path, "1", "epsilon")


@pytest.fixture
def few_points(monkeypatch):
    """Plans that are made, and releases that are drawn, in little time."""
    from geodp_release.plan import sample_size as needed
    from geodp_release.plan import stage_search

    # Plans are kept between calls: these are for one test.
    monkeypatch.setattr(needed, "_kept_plan", lru_cache(needed._kept_plan.__wrapped__))
    monkeypatch.setattr(stage_search, "MOST_POINTS", 1 << 10)


@pytest.fixture
def few_designs(few_points, monkeypatch):
    """Besides, a short search for a plan."""
    from geodp_release.plan import stage_search

    for name, value in {"CHOICES": (0.16, 0.4), "WIDE_STEPS": (0.2,), "FOLLOWED": 192}.items():
        monkeypatch.setattr(stage_search, name, value)
    monkeypatch.setattr(stage_search, "STEPS", 2)


@pytest.fixture
def undrawn(monkeypatch):
    """Folders of releases without pictures, which take seconds."""
    from geodp_release.show import folder

    monkeypatch.setattr(folder, "picture", lambda *_: ("<svg/>", "Points."))


@pytest.fixture
def drawn(monkeypatch):
    """Folders with pictures, in spite of `undrawn`."""
    from geodp_release.show import folder, pictures

    monkeypatch.setattr(folder, "picture", pictures.picture)


@pytest.fixture
def holder(folder, undrawn):
    """A holder's folder with data, settings and a ledger, as the working directory."""
    write_cohort(folder, "3")
    write(SETTINGS)
    return folder


@pytest.fixture
def run(capsys):
    """A function that runs a command, by default on the settings that are there: what it shows."""
    from geodp_release.ask.cli import main

    def running(command, settings=None, *options, status=0):
        capsys.readouterr()
        if settings is not None:
            write(settings)
        assert main([command, "mine.yaml", *options]) == status
        shown = capsys.readouterr()
        assert "Traceback" not in shown.out + shown.err
        return shown

    return running


@pytest.fixture
def refused(run):
    """A function that returns the one sentence that a release ends with."""

    def refusing(settings=None, *options, status=2):
        *_, last = run("release", settings, *options, status=status).err.splitlines()
        assert last.startswith("geodp: ")
        return last.removeprefix("geodp: ")

    return refusing


@pytest.fixture
def released(holder, run):
    """The holder's folder with a release, and what making it showed."""
    return holder, run("release")


def _same_bits(name):
    """Give releases the same bits in every run: by chance, if rarely, one has doubts."""
    integer_choice.secrets = SimpleNamespace(randbits=random.Random(name).getrandbits)


def pytest_fixture_setup(fixturedef):
    _same_bits(fixturedef.argname)


def pytest_runtest_call(item):
    # Without the group that some are run in.
    _same_bits(item.nodeid.partition("@")[0])


def pytest_make_parametrize_id(val):
    """Name spaces in the names of tests, which are then the same in every process."""
    return val.name if isinstance(val, Manifold) else None


def pytest_collection_modifyitems(items):
    """Mark slow what is about a space that the quick tests leave out."""
    left_out = {*SPACES, *SETTINGS_OF} - set(QUICK_SPACES)
    for item in items:
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        for value in values:
            large = isinstance(value, Manifold) and value.dim > 4
            named = isinstance(value, str) and value in left_out
            if large or named:
                item.add_marker(pytest.mark.slow)
