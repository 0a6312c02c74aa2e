"""Confidence bands: how often they hold the true prediction."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from geodp.release.bands import LEVELS
from reproduction.configuration import validate
from reproduction.measurements.coverage.releases import covered, planned
from reproduction.measurements.coverage.summary import AIM

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = validate(yaml.safe_load((ROOT / "config" / "utility.yaml").read_text()), "utility")

SPACES = SETTINGS["coverage"]["spaces"]
AS_ASSUMED = [space for space in SPACES if SPACES[space]["first_group"] == 0.5]


def releases_on(space, releases):
    """Errors and radii of some releases, other ones than those of `snakemake coverage`."""
    plan = planned(SETTINGS["coverage"], space, SETTINGS["seed"])
    return covered(plan, releases, np.random.default_rng(1))


@pytest.mark.slow
@pytest.mark.parametrize("space", AS_ASSUMED)
def test_bands_hold_the_true_prediction_as_often_as_they_say(space):
    # So many that bands which always hold fail, too.
    releases = 200
    away, _, radii = releases_on(space, releases)
    shares = np.mean(away[:, None] <= radii, axis=0)
    for level, found in zip(LEVELS, shares, strict=True):
        chance = 3.5 * np.sqrt(level * (1.0 - level) / releases)
        np.testing.assert_allclose(found, level, atol=AIM / 100.0 + chance)


def test_a_narrower_band_is_caught():
    """The check above can fail: bands of 0.7 times the radius hold far less."""
    away, _, radii = releases_on("shapes", 100)
    assert np.all(np.mean(away <= 0.7 * radii[:, 0], axis=0) < 0.75)
