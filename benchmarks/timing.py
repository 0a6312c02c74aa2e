"""Time what README promises: smoke study, full reproduction, a call with nothing to do, a dry run.

    ./run python benchmarks/timing.py [--cores 2]

Each is run in a temporary copy of the tracked files, with the environment of this interpreter, and
its wall-clock seconds are printed beside the limit.  The fit of a million points is timed too.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Wall-clock limits in seconds on two cores.
LIMITS = {
    "smoke study": 60,
    "smoke study, nothing to do": 4,
    "whole reproduction": 360,
    "whole reproduction, nothing to do": 4,
    "whole reproduction, dry run": 4,
}


def copy_checkout(place):
    """Copy the files that git tracks."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, place / name)


def timed(place, *arguments):
    """Wall-clock seconds of one Snakemake call, which must succeed."""
    start = time.perf_counter()
    call = subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    if call.returncode:
        sys.exit(f"snakemake {' '.join(arguments)} failed:\n{call.stderr[-2000:]}")
    return time.perf_counter() - start


def million_point_fit():
    """Seconds to fit a million points on the sphere."""
    sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
    import numpy as np

    from geodp.data.simulate import simulate_geodesic_data
    from geodp.manifolds.sphere import Sphere
    from geodp.models.regression import fit

    data = simulate_geodesic_data(
        np.random.default_rng(0), Sphere(2), 1, 1_000_000, 0.001, np.pi / 5
    )
    start = time.perf_counter()
    found = fit(Sphere(2), data.covariates, data.points)
    if not np.all(found.converged):
        sys.exit("the fit of a million points did not converge")
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", default="2")
    cores = ["--cores", parser.parse_args().cores]
    smoke = ["--configfile", "config/smoke.yaml"]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copy_checkout(place)
        seconds = {
            "smoke study": timed(place, *cores, *smoke),
            "smoke study, nothing to do": timed(place, *cores, *smoke),
            "whole reproduction": timed(place, *cores),
            "whole reproduction, nothing to do": timed(place, *cores),
            "whole reproduction, dry run": timed(place, "-n"),
        }
    print(f"{os.cpu_count()} processors, --cores {cores[1]}")
    for name, value in seconds.items():
        verdict = "within" if value <= LIMITS[name] else "OVER"
        print(f"{name:32s} {value:7.1f} s   {verdict} the limit of {LIMITS[name]} s")
    print(f"{'fit of a million points on S^2':32s} {million_point_fit():7.1f} s")


if __name__ == "__main__":
    main()
