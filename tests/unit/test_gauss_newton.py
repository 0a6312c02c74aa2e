"""Private Gauss-Newton steps: their sensitivity in integers, and where they lead."""

from dataclasses import replace
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.manifolds.hyperbolic import Hyperbolic
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms import gauss_newton
from geodp.mechanisms.certified import PublicInputs, map_records
from geodp.mechanisms.gauss_newton import (
    CHUNK,
    LATTICE,
    NoisyStep,
    lattice_contributions,
    lattice_sums,
    moved,
    take_steps,
)
from geodp.models.geodesic import GeodesicModel
from geodp.samplers.integer_choice import generator_bits

RANGE = (20.0, 70.0)


def public_inputs(manifold, number, **others):
    centre = manifold.random_point(np.random.default_rng(0))
    inputs = {
        "footpoint_radius": 0.6,
        "shooting_vector_length": 1.2,
        "covariate_range": RANGE,
        "gradient_scale": 0.3,
        "loss_scale": 0.4,
    }
    return PublicInputs(manifold, centre, number=number, **{**inputs, **others})


def draw_records(public, seed, spread=0.3):
    rng = np.random.default_rng(seed)
    manifold, number = public.manifold, public.number
    centre = np.broadcast_to(public.centre, (number, *manifold.point_shape))
    steps = spread * manifold.random_tangent(rng, centre) / np.sqrt(manifold.dim)
    return rng.uniform(15.0, 75.0, number), manifold.exp(centre, steps)


def contributions_of(public, covariates, points, state, clip=0.2):
    records = map_records(public, covariates, points)
    return lattice_contributions(public, *vars(records).values(), state, clip)


def within(contribution):
    """Whether Euclidean norms of two rows of integers add up to the lattice's length at most."""
    first, second = (sum(int(entry) ** 2 for entry in row) for row in contribution)
    # sqrt(first) + sqrt(second) <= LATTICE, without roots.
    rest = LATTICE**2 - first - second
    return rest >= 0 and rest**2 >= 4 * first * second


def norm_sum(rows):
    """An upper bound of the sum of the norms of rows of integers."""
    return sum(isqrt(sum(int(entry) ** 2 for entry in row)) + 1 for row in rows)


@pytest.mark.parametrize("spread", [0.01, 0.5, 5.0])
@pytest.mark.parametrize("clip", [0.01, 0.3])
def test_no_contribution_is_longer_than_the_clip(manifold, spread, clip):
    """Exactly, in integers; many are as long as it lets them."""
    public = public_inputs(manifold, 40)
    covariates, points = draw_records(public, 1, spread)
    for state in public.support.draw(np.random.default_rng(2), (3,)):
        each = contributions_of(public, covariates, points, state, clip)
        assert each.dtype == np.int64
        assert each.shape == (40, 2, manifold.dim)
        assert all(map(within, each))
        clipped = [norm_sum(rows) > 0.999 * LATTICE for rows in each]
        if (spread, clip) == (0.5, 0.01):
            assert np.mean(clipped) > 0.5


def test_contributions_are_clipped_gradients_in_two_combinations(manifold):
    public = public_inputs(manifold, 12)
    covariates, points = draw_records(public, 3)
    state = public.support.draw(np.random.default_rng(4), ())
    each = contributions_of(public, covariates, points, state, clip=1e3) * (1e3 / LATTICE)
    x = np.clip((covariates - 45.0) / 50.0, -0.5, 0.5)
    model = GeodesicModel(manifold)
    parameters = model.parameters(*state)
    for k in range(12):
        found = model.energy_gradient(parameters, x[k : k + 1], points[k : k + 1])
        frame = manifold.frame(state[0])
        a, b = (-manifold.coordinates(state[0], part, frame) for part in found.gradient.values())
        expected = [0.5 * a + b, 0.5 * a - b]
        np.testing.assert_allclose(each[k], expected, atol=1e-4 + 1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("number", [3, CHUNK, CHUNK + 30])
def test_a_replaced_record_changes_its_own_contribution_alone(manifold, number):
    """Bit by bit, whatever it is: far, no point, or no number at all."""
    public = public_inputs(manifold, number)
    covariates, points = draw_records(public, 5)
    state = public.support.draw(np.random.default_rng(6), ())
    first = contributions_by_chunk(public, covariates, points, state)
    _, far = draw_records(replace(public, number=1), 7, spread=3.0)
    for replaced in (far[0], np.full(manifold.point_shape, np.nan), 1e300 + 0 * points[0]):
        others = points.copy()
        others[1] = replaced
        again = contributions_by_chunk(public, covariates, others, state)
        same = np.arange(number) != 1
        np.testing.assert_array_equal(again[same], first[same])
        sums = [
            np.array(lattice_sums(public, map_records(public, covariates, y), state, 0.2))
            for y in (points, others)
        ]
        assert norm_sum(sums[0] - sums[1]) <= 2 * LATTICE + 2


def contributions_by_chunk(public, covariates, points, state):
    """As `lattice_sums` computes them, before they are added."""
    records = map_records(public, covariates, points)
    each = []
    for start in range(0, len(covariates), CHUNK):
        parts = (part[start : start + CHUNK] for part in vars(records).values())
        padded = map(gauss_newton._padded, parts)
        each.append(lattice_contributions(public, *padded, state, 0.2))
    return np.concatenate(each)[: len(covariates)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e308, 0.0])
def test_bad_records_contribute_nothing_and_nobody_is_told(manifold, bad):
    public = public_inputs(manifold, 5)
    covariates, points = draw_records(public, 8)
    points[2] = bad
    covariates[3] = np.nan
    state = public.support.draw(np.random.default_rng(9), ())
    each = contributions_of(public, covariates, points, state)
    assert not each[3].any()
    with np.errstate(all="ignore"):
        invalid = manifold.invalid_reason(points[2]) is not None
    if invalid:
        assert not each[2].any()


@pytest.mark.parametrize("space", [Sphere(2), Sphere(5), KendallPlanarShapes(5)], ids=str)
def test_contributions_fall_to_zero_before_the_cut_locus(space):
    """Without a jump, so that rounding cannot decide whether a record counts."""
    public = public_inputs(space, 400)
    rng = np.random.default_rng(10)
    state = public.support.origin
    lengths = np.linspace(0.85, 0.9999, 400) * space.injectivity_radius
    direction = space.random_direction(rng, public.centre)
    points = space.exp(public.centre, space.expand(lengths) * direction)
    each = contributions_of(public, np.full(400, 45.0), points, state)
    norms = np.sqrt(np.sum(each.astype(float) ** 2, axis=(1, 2)))
    assert norms[0] > 0.7 * LATTICE / np.sqrt(2.0)
    assert not each[lengths > 0.9991 * space.injectivity_radius].any()
    assert np.max(np.abs(np.diff(norms))) < 0.01 * LATTICE


def test_without_noise_steps_lead_to_the_fit(manifold, monkeypatch):
    """With covariates spread evenly, whose fixed point is that of the gradient."""
    monkeypatch.setattr(gauss_newton, "rounded_laplace", lambda bits, dim, scale: [0] * dim)
    number = 61
    public = public_inputs(manifold, number, footpoint_radius=0.5, shooting_vector_length=1.0)
    rng = np.random.default_rng(11)
    p = manifold.exp(public.centre, 0.1 * manifold.random_direction(rng, public.centre))
    v = 0.3 * manifold.random_direction(rng, p)
    x = np.linspace(-0.5, 0.5, number)
    clean = manifold.exp(p, manifold.expand(x) * v)
    noise = 0.02 / np.sqrt(manifold.dim) * manifold.random_tangent(rng, clean)
    points = manifold.exp(clean, noise)
    records = map_records(public, 45.0 + 50.0 * x, points)
    steps = [NoisyStep(Fraction(1), 10.0)] * 25
    found = take_steps(public, records, public.support.origin, steps, None)
    model = GeodesicModel(manifold)
    fit = model.fit(x + 0.5, points)
    assert fit.converged
    for at in (0.0, 0.5, 1.0):
        expected = model.predict(fit.parameters, np.array([at]))[0]
        away = manifold.dist(manifold.exp(found[0], (at - 0.5) * found[1]), expected)
        assert away < 1e-5


def test_noise_is_that_of_the_budget():
    """A flat step from the truth: root mean squared error of METHOD's formula, and no bias."""
    space, number, epsilon, clip = Sphere(2), 2000, Fraction(1, 2), 0.05
    public = public_inputs(space, number)
    points = np.broadcast_to(public.centre, (number, 3))
    records = map_records(public, np.linspace(*RANGE, number), points)
    bits = generator_bits(np.random.default_rng(12))
    steps = [NoisyStep(epsilon, clip)]
    drawn = np.array(
        [take_steps(public, records, public.support.origin, steps, bits) for _ in range(600)]
    )
    frame = space.frame(public.centre)
    moved_by = space.coordinates(public.centre, space.log(public.centre, drawn[:, 0]), frame)
    # Each end's noise is a direction and a Gamma(d) length: E |n|^2 = d (d + 1) scale^2.
    scale = 2.0 * clip / (number * float(epsilon))
    expected = 2 * 2 * 3 * scale**2
    assert np.mean(np.sum(moved_by**2, axis=1)) == pytest.approx(expected, rel=0.15)
    lengths = space.norm(drawn[:, 0], drawn[:, 1])
    assert np.mean(lengths**2) == pytest.approx(144.0 / 4.0 * expected, rel=0.15)
    assert np.all(np.abs(moved_by.mean(axis=0)) < 5.0 * np.sqrt(expected / 2 / 600))


@pytest.mark.parametrize("size", [0.0, 1.0, 1e3, 1e300])
def test_a_step_stays_in_the_support(manifold, size):
    public = public_inputs(manifold, 4)
    rng = np.random.default_rng(13)
    state = public.support.draw(rng, ())
    for _ in range(5):
        ends = size * rng.normal(size=(2, manifold.dim))
        state = moved(public, state, ends)
        assert public.support.contains(state[None])[0]


@pytest.mark.parametrize(
    ("epsilon", "clip", "says"),
    [(0, 1.0, "a step has budget 0"), (1, 0.0, "clip 0.0"), (1, np.inf, "clip inf")],
)
def test_a_step_that_makes_no_sense_is_refused(epsilon, clip, says):
    with pytest.raises(DataError, match=says):
        NoisyStep(epsilon, clip)


def test_a_space_that_is_not_symmetric_is_refused():
    public = public_inputs(Hyperbolic(2), 3)
    records = map_records(public, *draw_records(public, 14))
    public.__dict__["manifold"] = object.__new__(type("Other", (), {"name": "another"}))
    with pytest.raises(DataError, match="symmetric spaces, and another is none"):
        take_steps(public, records, None, [NoisyStep(1, 1.0)], None)
