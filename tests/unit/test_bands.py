"""Confidence bands: how often they hold the true prediction."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from geodp_release.bands import LEVELS
from geodp_release.planning import plan_release
from geodp_release.simulation import EVENLY, UNKNOWN
from reproduction.configuration import validate
from reproduction.measurements.coverage.releases import covered, planned
from reproduction.measurements.coverage.summary import AIM

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = validate(yaml.safe_load((ROOT / "config" / "utility.yaml").read_text()), "utility")

SPACES = SETTINGS["coverage"]["spaces"]
AS_ASSUMED = [
    space
    for space in SPACES
    if SPACES[space]["first_group"] == 0.5 and SPACES[space].get("covariates") is None
]


def releases_on(space, releases, spread=None):
    """Errors and radii of some releases, other ones than those of `snakemake coverage`."""
    plan = planned(SETTINGS["coverage"], space, SETTINGS["seed"])
    if spread is not None:
        assumptions = replace(plan.assumptions, covariate_spread=spread)
        plan = plan_release(assumptions, plan.budget, work=SETTINGS["coverage"]["work"])
    beta = SPACES[space].get("covariates")
    return covered(plan, releases, np.random.default_rng(1), beta=beta)


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


@pytest.mark.slow
def test_bands_follow_covariates_that_cluster():
    """Of an unknown spread; with covariates that are said to be even bands are far too narrow."""
    shares = {}
    for spread in (UNKNOWN, EVENLY):
        away, _, radii = releases_on("SPD(2), clustered", 60, spread)
        shares[spread] = np.mean(away <= radii[:, LEVELS.index(0.95)], axis=0)
    # Three standard errors below what `snakemake coverage` finds of 95 %.
    assert np.min(shares[UNKNOWN]) > 0.87
    assert np.mean(shares[EVENLY]) < 0.7


def test_a_narrower_band_is_seen():
    """Bands of 0.7 times the radius hold far less."""
    away, _, radii = releases_on("shapes", 100)
    assert np.all(np.mean(away <= 0.7 * radii[:, 0], axis=0) < 0.75)
