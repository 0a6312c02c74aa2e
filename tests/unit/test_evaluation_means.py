"""Private means beside noise by heat diffusion."""

from types import SimpleNamespace

import numpy as np
import pytest

import means
from geodp import Sphere, mean


def test_heat_is_that_of_the_sphere():
    """Degree one of its kernel falls by exp(-2 t); for short times it is Gaussian."""
    sphere, pole = Sphere(2), np.broadcast_to(np.eye(3)[2], (20_000, 3))
    # The divergence is that of exp(2 t) = 1 + 0.6^2 / (2 0.4).
    found = means.diffuse(np.random.default_rng(3), sphere, pole, 0.6, 0.4)
    assert np.mean(found, axis=0) == pytest.approx([0.0, 0.0, 1.0 / 1.45], abs=0.015)
    # Of variance Delta^2 / (2 rho) in each direction.
    found = means.diffuse(np.random.default_rng(3), sphere, pole, 0.001, 0.5)
    assert np.std(found[:, :2], axis=0) == pytest.approx([0.001, 0.001], rel=0.02)


def test_releases_are_beside_heat_diffusion(monkeypatch):
    """Releases without an error are better; data are in the ball about their mean."""
    seen = []

    def drawn(plan, x, points, rng):
        seen.append(points)
        return SimpleNamespace(footpoint=mean(points, Sphere(2)).footpoint)

    monkeypatch.setattr(means, "plan_release", lambda *given, work: None)
    monkeypatch.setattr(means.script, "release", drawn)
    table = means.measure([(0.3, 0.15, 200, 0.05), (0.3, 0.15, 100_000, 0.05)], 0.9, 5, 1024, 1)
    assert max(np.max(Sphere(2).dist(np.eye(3)[2], points)) for points in seen) <= 0.3
    assert np.all(table["no privacy"] < 0.5 / np.sqrt(table["n"]))
    assert np.all(table["ratio of noise"] < 1e-6)
    shown = means.summarise(table)[0]["means"]
    assert shown["met"].tolist() == ["yes", "out of reach"]
