"""Time and memory of fits and gradients against the number of records."""

import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from geodp.manifolds.registry import make_manifold
from geodp.models.blocks import FOOTPOINT
from geodp.models.geodesic import GeodesicModel
from reproduction.measurements.benchmark.harness import row, tabulated
from reproduction.measurements.benchmark.spaces import SPACES, make_data


def measure(settings, spaces, rats):
    """Table of times and memory of fits and gradients, each n in a process of its own."""
    rows = []
    for name in spaces:
        for number in settings["sizes"]["n"]:
            # Beside the results, as there may be a gigabyte.
            with TemporaryDirectory(dir=".") as folder:
                data = make_data(SPACES[name], number, settings["seed"], rats)
                for kind, array in zip(("covariates", "points"), data, strict=True):
                    np.save(Path(folder) / f"{kind}.npy", array)
                del data
                found = measure_size_apart(folder, name)
            note = f"{found['iterations']} iterations"
            if not found["converged"]:
                note += ", not converged"
            for method, said in (("fit", note), ("gradient", "")):
                place = (name, number, method)
                seconds, memory = found[f"{method}_seconds"], found[f"{method}_memory"]
                rows += [
                    row("time against n", *place, seconds, "s", note=said),
                    row("memory beyond the data", *place, memory / 1e6, "MB", note=said),
                ]
    return tabulated(rows)


def measure_size(folder, name, chains=4):
    """Seconds and memory of a fit and of gradients at once on the data of a folder.

    Peaks are those of the process so far, so that this is the first thing a process should do.
    """
    model = GeodesicModel(make_manifold(*SPACES[name].manifold))
    covariates, points = (
        np.load(Path(folder) / f"{each}.npy") for each in ("covariates", "points")
    )
    before = _memory("VmRSS")
    start = time.perf_counter()
    found = model.fit(covariates, points)
    fitting = time.perf_counter() - start
    axis = -model.manifold.point_ndim - 1
    states = {
        block: np.repeat(np.expand_dims(array, axis), chains, axis=axis)
        for block, array in found.parameters.items()
    }
    peak_of_fit = _memory("VmHWM")
    start = time.perf_counter()
    model.energy_gradient(states, covariates, points, [FOOTPOINT])
    return {
        "fit_seconds": fitting,
        "gradient_seconds": (time.perf_counter() - start) / chains,
        "fit_memory": max(peak_of_fit - before, 0),
        "gradient_memory": max(_memory("VmHWM") - before, 0),
        "converged": bool(np.all(found.converged)),
        "iterations": int(found.iterations),
    }


def measure_size_apart(folder, name):
    """`measure_size` in a process of its own."""
    code = (
        f"import json, sys; from {__name__} import measure_size; "
        "print(json.dumps(measure_size(*sys.argv[1:])))"
    )
    paths = [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
    call = subprocess.run(
        [sys.executable, "-c", code, str(folder), name],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(call.stdout.splitlines()[-1])


def _memory(key):
    """Bytes now, ``VmRSS``, or at most so far, ``VmHWM``; without Linux's file always at most."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(re.search(rf"^{key}:\s*(\d+)", status.read_text(), re.M)[1])
    # On Linux this would be inherited from the process that started this one.
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
