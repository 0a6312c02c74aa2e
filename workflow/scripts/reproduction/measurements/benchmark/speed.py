"""Times of the library alone: fits of scattered matrices, gradients, an import and a plan."""

import os
import subprocess
import sys

import numpy as np

from geodp.manifolds.registry import make_manifold
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from reproduction.measurements.benchmark.harness import row, tabulated, times_of
from reproduction.measurements.benchmark.spaces import SPACES, make_data
from reproduction.places import CHECKOUT

FIT, GRADIENT = "fit of scattered matrices", "gradient a record"
PROCESS = "processor time of a process"

# Variance of residuals of matrices in each direction: far from flat.
SCATTER = 0.05

RECORDS, CHAINS = 1000, 16

# Commands of Python; the first is taken off the second.
START, IMPORT = "start of Python", "import of geodp.mean, geodp.fit and geodp.SPD"
PLAN = "geodp plan config/release.example.yaml"


def measure(settings, rats, release, **_):
    """Table of times."""
    fits = [_fit(settings["seed"], *each) for each in ((8, 1000), (20, 200))]
    gradients = [_gradient(settings["seed"], name, rats) for name in ("S^2", "SPD(3)")]
    return tabulated([*fits, *gradients, *_processes(release)])


def _fit(seed, size, number):
    """Row of the time of a fit of matrices."""
    manifold = make_manifold("spd", size)
    model, rng = GeodesicModel(manifold), random_stream(seed, "benchmark", manifold.name)
    covariates = np.linspace(0.0, 1.0, number)
    footpoint = manifold.random_point(rng)
    vector = manifold.random_tangent_in_ball(rng, footpoint, 1.0)
    clean = manifold.exp(footpoint, manifold.expand(covariates) * vector)
    points = manifold.exp(clean, np.sqrt(SCATTER) * manifold.random_tangent(rng, clean))
    spent = np.median(times_of(lambda: model.fit(covariates, points), 3.0))
    place = (f"SPD({size})", number, "fit of the library")
    return row(FIT, *place, spent, "s", dimension=manifold.dim)


def _gradient(seed, name, rats):
    """Row of the time of a gradient, of many chains at once."""
    model = GeodesicModel(make_manifold(*SPACES[name].manifold))
    covariates, points = (each[0] for each in make_data(SPACES[name], RECORDS, seed, rats))
    states = {
        block: np.repeat(value[None], CHAINS, axis=0)
        for block, value in model.fit(covariates, points).parameters.items()
    }
    spent = np.median(times_of(lambda: model.energy_gradient(states, covariates, points), 1.0))
    place = (name, RECORDS, "gradient of the library")
    return row(GRADIENT, *place, 1e9 * spent / (RECORDS * CHAINS), "ns")


def _processes(release, repeats=5):
    """Rows of processor seconds of commands, start of Python included."""
    from geodp_release import cli

    commands = {
        START: ["-c", ""],
        IMPORT: ["-c", "import geodp; geodp.mean, geodp.fit, geodp.SPD"],
        PLAN: ["-m", cli.__name__, "plan", release],
    }
    scripts = str(CHECKOUT / "workflow" / "scripts")
    environment = os.environ | {"PYTHONPATH": scripts, "OMP_NUM_THREADS": "1"}
    for name, arguments in commands.items():
        spent = []
        for _ in range(repeats):
            before = os.times()
            subprocess.run(
                [sys.executable, *arguments],
                cwd=CHECKOUT,
                env=environment,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            after = os.times()
            spent.append(sum(after[2:4]) - sum(before[2:4]))
        yield row(PROCESS, None, 0, name, np.median(spent), "s", dimension=None)
