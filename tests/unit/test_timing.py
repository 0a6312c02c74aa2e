"""Times of draws and of releases, measured: that they are, and that draws' do not follow values."""

import time
from fractions import Fraction

import numpy as np
import pytest

from geodp.audit import timing
from geodp.manifolds.sphere import Sphere


def test_times_of_draws_do_not_follow_their_values():
    """Before they did, with 0.57 for the Laplace and 0.24 for the Gaussian sampler."""
    rows = timing.sampler_times(2000)
    assert len(rows) == 9
    assert max(abs(row["correlation"]) for row in rows) < 0.15


def test_a_time_that_follows_the_value_is_found(monkeypatch):
    rng = np.random.default_rng(1)

    def draw(_):
        value = int(rng.integers(20))
        end = time.perf_counter_ns() + 10_000 * value
        while time.perf_counter_ns() < end:
            pass
        return value

    monkeypatch.setattr(timing, "DRAWS", {"slow": draw})
    (row,) = timing.sampler_times(300, [Fraction(1)])
    assert row["correlation"] > 0.5


@pytest.mark.filterwarnings("error")
def test_an_antipode_takes_no_longer():
    """Before on this sphere it took 3 times as long."""
    rows = {row["record"]: row for row in timing.release_times(Sphere(200), 100, 5)}
    assert {"same", "cut locus", "times nan"} < set(rows)
    assert rows["minus the centre"]["ratio"] < 1.3
