"""Times of draws and of releases: a time that follows the value is found.

That a draw takes the same bits whatever its value is tested without a clock, in
test_exact_noise.py."""

import time
from fractions import Fraction

import numpy as np
import pytest

from geodp.manifolds.sphere import Sphere
from geodp_release.ask import timing


def test_a_time_that_follows_the_value_is_found():
    rng = np.random.default_rng(1)

    def draw(_):
        value = int(rng.integers(20))
        end = time.perf_counter_ns() + 10_000 * value
        while time.perf_counter_ns() < end:
            pass
        return value

    (row,) = timing.sampler_times(300, [Fraction(1)], {"slow": draw})
    assert row["correlation"] > 0.5


@pytest.mark.filterwarnings("error")
def test_an_antipode_takes_no_longer():
    """Before on this sphere it took 3 times as long."""
    rows = {row["record"]: row for row in timing.release_times(Sphere(200), 100, 5)}
    assert {"same", "cut locus", "times nan"} < set(rows)
    assert rows["minus the centre"]["ratio"] < 1.3
