"""A sweep of ten thousand cells is planned in seconds."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from sweep_times import sweep

# Seconds of the processor, which other processes hardly change.
LIMIT = 20.0


def test_plan_of_ten_thousand_cells_takes_seconds(checkout):
    checkout.configure(sweep(groups=100, cells=100))
    before = os.times()
    planned = checkout.planned()
    after = os.times()
    spent = after.children_user + after.children_system
    assert spent - before.children_user - before.children_system < LIMIT
    # Each job takes cells enough to be worth its start.
    assert planned == {
        **{"make_data": 100, "fit": 100, "bound_sensitivity": 100},
        **{"sample": 200, "describe_data": 1, "evaluate": 1, "report": 1},
    }
