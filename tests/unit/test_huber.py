"""Releases by Huber's loss: where they lead, how far bands reach, and that they say so."""

import html
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from cohort import changed
from scipy.optimize import minimize

import script
from geodp import Assumptions, DataError, Euclidean, PrivacyBudget, Release, ReleasePlan, Sphere
from geodp_release.ask.holder_warnings import off_least_squares
from geodp_release.run.subjects import ONE_EACH, subject_records
from geodp_release.show.release import release_geodesic
from geodp_release.stages import BeyondStage, LastStep, NoisyStep, ProductsStage, ScaleStage
from geodp_release.stages.simulation import FlatReleases

NUMBER = 1000


def assumed(manifold, covariates=1, **more):
    pole = np.eye(*manifold.point_shape, k=manifold.point_shape[0] - 1)[0]
    centre = pole if isinstance(manifold, Sphere) else np.zeros(manifold.point_shape)
    public = 1.0, 1.5, ((-0.5, 0.5),) * covariates, NUMBER
    return Assumptions(manifold, centre, *public, loss="huber", **more)


def plan_of(assumptions, budget):
    """A plan of steps from far away, with half of a budget for the last one."""
    each, threshold = Fraction(budget) / 24, assumptions.threshold
    prior = (0.3,) * (1 + assumptions.number_of_covariates)
    step = {"prior": prior, "is_relative": True}
    stages = (
        NoisyStep(each, clip=3.0, prior=prior),
        *(ScaleStage(each), NoisyStep(each, clip=1.5, **step)) * 4,
        ScaleStage(each),
        BeyondStage(each),
        LastStep(12 * each, clip=threshold, unlike=0.1, kept=0.8, **step),
        ProductsStage(each, clip=threshold),
    )
    return ReleasePlan(assumptions, PrivacyBudget(str(budget)), stages, 0.1, 0.1, 1.0)


def released(plan, rng):
    """A release, its covariates and points: a tenth of residuals are long, and to one side."""
    manifold, covariates = plan.assumptions.manifold, plan.assumptions.number_of_covariates
    x = rng.random((NUMBER, covariates)) - 0.5
    slopes = np.zeros((covariates, *manifold.point_shape))
    slopes[:, 0] = 0.4
    state = np.stack([plan.assumptions.centre, *slopes])
    residuals = 0.05 * rng.normal(size=(NUMBER, manifold.dim))
    residuals[:, 0] += 0.5 * (rng.random(NUMBER) < 0.1)
    ends = manifold.ends(state[0], state[1:], x)
    points = manifold.exp(ends, manifold.vector(manifold.frame(ends), residuals))
    return script.release(plan, x, points, rng), x, points


def least(release, x, points):
    """State of the least mean of Huber's loss, by an optimiser that knows no derivative."""
    manifold, threshold = release.plan.assumptions.manifold, release.threshold
    about = np.stack([release.footpoint, *release.shooting_vectors])
    frame, size = manifold.frame(about[0]), manifold.dim

    def state(moves):
        step, *turns = manifold.vector(frame, np.reshape(moves, (len(about), size)))
        end = manifold.exp(about[0], step)
        pairs = zip(about[1:], turns, strict=True)
        return end, [manifold.transport(about[0], step, v + turn) for v, turn in pairs]

    def loss(moves):
        away = manifold.dist(manifold.ends(*state(moves), x), points)
        short = np.minimum(away, threshold)
        return np.mean(short * (away - 0.5 * short)) / threshold**2

    found = minimize(loss, np.zeros(about[..., 0].size * size), method="BFGS", tol=1e-7)
    return state(found.x)


@pytest.mark.parametrize(
    ("manifold", "covariates"),
    [(Euclidean(1), 1), (Euclidean(2), 2), (Euclidean(1), 0), (Sphere(2), 1)],
    ids=str,
)
def test_without_noise_the_least_of_the_loss_is_released(manifold, covariates):
    plan = plan_of(assumed(manifold, covariates), 10**6)
    release, x, points = released(plan, np.random.default_rng(4))
    places = np.linspace(-0.5, 0.5, 3 if covariates else 1)[:, None] * np.ones(covariates)
    away = manifold.dist(release.predict(places), manifold.ends(*least(release, x, points), places))
    assert np.all(away < 0.1 * release.band(places, doubted=True))
    assert release.r_squared() is None


def test_bands_are_those_of_a_sandwich():
    assumptions = assumed(Euclidean(1))
    plan = plan_of(assumptions, 10**6)
    release, x, points = released(plan, np.random.default_rng(4))
    footpoint, [vector] = least(release, x, points)
    residuals, rows = (points - footpoint - x * vector)[:, 0], np.insert(x, 0, 1.0, axis=1)
    pulls = np.clip(residuals, -release.threshold, release.threshold)
    bread = np.linalg.inv(rows.T @ (rows * (pulls == residuals)[:, None]))
    covariance = bread @ (rows.T * pulls**2) @ rows @ bread
    at = np.array([[1.0, -0.5], [1.0, 0.0], [1.0, 0.5]])
    expected = 1.96 * np.sqrt(np.einsum("mi,ij,mj->m", at, covariance, at))
    band = release.band(at[:, 1], doubted=True)
    np.testing.assert_allclose(band, expected, rtol=0.15)
    # Least squares are elsewhere, and the holder is told of the distance to this fit.
    assert np.mean(residuals) > 5.0 * band[1]
    said = off_least_squares(plan, subject_records(assumptions, x, points, ONE_EACH))
    assert "at most 0.0" in said
    assert "away from Huber's loss" in said


def test_bands_hold_with_noise():
    manifold, rng, places = Sphere(2), np.random.default_rng(5), [[-0.5], [0.0]]
    plan, held = plan_of(assumed(manifold), 4), []
    for _ in range(10):
        release, x, points = released(plan, rng)
        fit = manifold.ends(*least(release, x, points), np.array(places))
        band = release.band(places, doubted=True)
        held.append(manifold.dist(release.predict(places), fit) < band)
    assert np.all(np.sum(held, axis=0) >= 9)


def test_a_plan_is_of_the_loss_of_its_assumptions():
    plan = plan_of(assumed(Euclidean(1)), 1)
    with pytest.raises(DataError, match="not for the loss"):
        replace(plan, stages=plan.stages[:3])
    with pytest.raises(DataError, match="not for the loss"):
        replace(plan, assumptions=replace(plan.assumptions, loss="squares", threshold=None))
    for wrong in ({"loss": "squares", "threshold": 2.0}, {"threshold": 0.5}, {"loss": "median"}):
        with pytest.raises(DataError, match=r"^(threshold|loss) is"):
            replace(plan.assumptions, **wrong)


def test_a_file_has_the_loss(tmp_path):
    plan = plan_of(assumed(Euclidean(1), threshold=3.0), 4)
    release, x, points = released(plan, np.random.default_rng(6))
    release = release_geodesic(plan, x, points, ONE_EACH)
    release.save(tmp_path / "release.json")
    found = Release.load(tmp_path / "release.json")
    assert (found.plan.assumptions.loss, found.threshold) == ("huber", release.threshold)
    assert found.threshold == 3.0 * release.lengths[-1]
    assert found.agreeing[0].within == found.within[0] < 1.0
    np.testing.assert_array_equal(found.band([0.0]), release.band([0.0]))
    text = (tmp_path / "release.json").read_text().replace('"huber"', '"squares"')
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(DataError, match="threshold is 3"):
        Release.load(tmp_path / "other.json")


def test_settings_release_it_and_all_that_is_shown_says_so(holder, run, few_designs):
    given = changed({"public.loss": "huber", "budget.epsilon": "3"})
    shown = [run(command, given).out for command in ("plan", "check", "release")]
    assert "".join(shown).count("Huber's loss") >= 2
    page = html.unescape(Path("out/trial/index.html").read_text())
    release = Release.load("out/trial/release.json")
    for words in ("by Huber's loss", "The band is for what Huber's loss would find"):
        assert words in page
    assert "R^2" not in page
    assert "The line minimises Huber's loss, not squares" in str(release)


def test_what_is_kept_counts_directions_across_long_residuals():
    """In eight dimensions, of residuals a third of which are six times as wide."""
    rng, dim, n = np.random.default_rng(3), 8, 200_000
    residuals = rng.normal(size=(n, dim)) * np.where(rng.random((n, 1)) < 0.3, 6.0, 1.0)
    lengths = np.linalg.norm(residuals, axis=1)
    limit = 2.0 * np.median(lengths)
    # The mean derivative of shortened residuals, averaged over directions.
    ratios = np.minimum(limit / lengths, 1.0)
    true = np.mean(np.where(ratios < 1.0, (1.0 - 1.0 / dim) * ratios, 1.0))
    assumptions = replace(assumed(Euclidean(dim), 0), subjects=n)
    counted = (float(np.sum(lengths > limit)),)
    kept, deviation = BeyondStage(1).within(assumptions, counted, n)
    assert np.mean(lengths <= limit) < true - deviation
    assert abs(kept - true) < deviation < 0.1


def test_noise_is_simulated_with_what_was_counted():
    assumptions = replace(assumed(Euclidean(1)), residual_scale=0.05)
    start = FlatReleases.start(assumptions, 512, np.random.default_rng(7), size=0.02)
    start = replace(start, length=np.full(512, 0.035), is_whole=True)
    [*_, last, _] = plan_of(assumptions, 10).stages
    last = last.fitted(start)
    errors, alike = [], replace(start, truth=np.zeros_like(start.truth))
    for within in (None, 0.5 * last.kept):
        found = (replace(each, within=within) for each in (start, alike))
        # What steps leave of errors is the same, as they go by what means keep.
        errors.append(
            [np.std(last.simulate(each, np.random.default_rng(8)).errors) for each in found]
        )
    (one, noise), (other, twice) = errors
    assert twice == pytest.approx(2.0 * noise, rel=0.02)
    assert other**2 - twice**2 == pytest.approx(one**2 - noise**2, rel=0.05)
