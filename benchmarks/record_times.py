"""Time releases with bad records beside those of good ones: what running time tells of a record.

    ./run python benchmarks/record_times.py [--repeats 31] [--all]

The records are those that the tests of `geodp.release.subjects` know.  Releases of good and of bad
records take turns; what is shown is the ratio of medians of processor time, for one bad record of
n, and for a tenth of them.  Of ratios those above 1.10 are shown, or all.
"""

import argparse
import sys
import time
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "unit"))

from bad_records import BAD_COVARIATES, BAD_POINTS

from geodp.manifolds.registry import make_manifold
from geodp.release.accounting import PURE, PrivacyBudget
from geodp.release.assumptions import Assumptions
from geodp.release.planning import ReleasePlan
from geodp.release.release import release_geodesic
from geodp.release.stages import NoisyStep, PointsStage
from geodp.release.subjects import ONE_EACH

# Number of records, of bad ones, and the ratio that the aim allows.
NUMBER, MANY, ALLOWED = 1000, 100, 1.10

SPACES = {"S^2": ("sphere", 2), "SPD(2)": ("spd", 2), "shapes of 4 landmarks": ("kendall", 4)}


def plan_of(manifold):
    """A short release: one choice among few points, and one step."""
    centre = manifold.random_point(np.random.default_rng(0))
    assumptions = Assumptions(manifold, centre, 0.6, 1.2, (20.0, 70.0), 0.3, NUMBER)
    stages = PointsStage.of(Fraction(1, 2), PURE, 256, 0.5), NoisyStep(Fraction(1, 2), clip=0.3)
    return ReleasePlan(assumptions, PrivacyBudget("1"), stages, 1.0, 1.0, 1.0)


def good_records(assumptions):
    """Lists of covariates and points."""
    rng, manifold = np.random.default_rng(1), assumptions.manifold
    centre = np.broadcast_to(assumptions.centre, (NUMBER, *manifold.point_shape))
    points = manifold.exp(centre, 0.2 * manifold.random_tangent(rng, centre))
    return list(rng.uniform(20.0, 70.0, NUMBER)), list(points)


def opposite(manifold, centre):
    """The cut locus of the centre, or a point far away."""
    radius = min(manifold.injectivity_radius, 50.0)
    return manifold.exp(centre, radius * manifold.frame(centre)[0])


def bad_data(assumptions, number):
    """Covariates and points by kind, with so many bad records."""
    covariates, points = good_records(assumptions)
    manifold, rows = assumptions.manifold, range(0, NUMBER, NUMBER // number)

    def changed(values, bad):
        values = list(values)
        for row in rows:
            values[row] = bad(values[row])
        return values

    for name, bad in BAD_COVARIATES.items():
        yield f"covariate: {name}", (changed(covariates, lambda _, bad=bad: bad), points)
    makers = BAD_POINTS | {"cut locus": lambda _: opposite(manifold, assumptions.centre)}
    for name, make in makers.items():
        yield f"point: {name}", (covariates, changed(points, make))


def seconds(plan, data):
    start = time.process_time()
    release_geodesic(plan, *data, ONE_EACH)
    return time.process_time() - start


def ratio(plan, good, bad, repeats):
    """Median time with bad records over that with good ones, in turns."""
    times = [(seconds(plan, good), seconds(plan, bad)) for _ in range(repeats)]
    return float(np.divide(*np.median(times, axis=0)[::-1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for name, made in SPACES.items():
        plan = plan_of(make_manifold(*made))
        good = good_records(plan.assumptions)
        usual = 1e3 * np.median([seconds(plan, good) for _ in range(given.repeats)])
        same = ratio(plan, good, good, given.repeats)
        print(f"{name}: {usual:.0f} ms; the same data twice {same:.3f}")
        for number in (1, MANY):
            found = {
                kind: ratio(plan, good, bad, given.repeats)
                for kind, bad in bad_data(plan.assumptions, number)
            }
            middle = np.median(list(found.values()))
            print(f"  {number} of {NUMBER} bad: {len(found)} kinds, median {middle:.3f}")
            for kind, value in sorted(found.items(), key=lambda each: -each[1]):
                if given.all or value > ALLOWED:
                    print(f"    {value:8.3f}  {kind}")


if __name__ == "__main__":
    main()
