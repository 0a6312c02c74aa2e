"""The table of predicted errors of releases."""

from types import SimpleNamespace

import numpy as np

from geodp import ReleasePlan
from reproduction import predicted_errors


def test_planned_errors_of_blocks_are_those_of_noise_and_estimate_together(monkeypatch):
    errors = np.array([[[3.0, 0.0], [0.0, 4.0]], [[0.0, 3.0], [6.0, 0.0]]])
    squares, weight = np.array([[16.0, 144.0], [16.0, 142.0]]), np.array([0.5, 1.5])
    found = SimpleNamespace(errors=errors, estimate_squares=squares, weight=weight)
    monkeypatch.setattr(predicted_errors, "simulated", lambda *_: found)
    given = dict.fromkeys(ReleasePlan.__dataclass_fields__, ())
    release = SimpleNamespace(**given, paths=[()], is_noise=False)
    row = predicted_errors._row(release)
    assert row["footpoint_error"] == 5.0
    # 16 + 144 once, and 36 + 142 three times as much.
    assert row["shooting_vector_error"] == np.sqrt(173.5)
