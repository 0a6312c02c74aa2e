"""The certified mechanism: its sensitivity, attacked, and each hypothesis of its proof.

`docs/certified.md` numbers the hypotheses.  Scores are also computed here one record at a time,
with nothing but the verbs of a space and `jacobi_adjoint`, which `test_manifolds` holds to
numerical derivatives.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from geodp.audit.change import largest_change
from geodp.errors import DataError
from geodp.manifolds.base import BLOCKS
from geodp.manifolds.differences import DifferencedManifold
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.hyperbolic import Hyperbolic
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms import certified
from geodp.mechanisms.certified import SCORES, Certified, PublicInputs, map_records
from geodp.models import regression

RANGE = (20.0, 70.0)


class Differenced(DifferencedManifold):
    """A space of the library that keeps its curvature to itself."""

    def __init__(self, own):
        for name in ("dim", "point_shape", "dtype", "injectivity_radius", "curvature_bounds"):
            setattr(self, name, getattr(own, name))
        self.name = f"{own.name} by differences"
        for verb in ("exp", "log", "transport", "inner", "frame", "project", "project_tangent"):
            setattr(self, verb, getattr(own, verb))
        for verb in ("random_point", "invalid_reason"):
            setattr(self, verb, getattr(own, verb))


# Verbs are set on the instances.
Differenced.__abstractmethods__ = frozenset()

SPACES = [
    Euclidean(3),
    Sphere(2),
    Hyperbolic(2),
    SPD(2),
    SPD(3),
    KendallPlanarShapes(5),
    Differenced(SPD(2)),
]

ATTACKED = [space for space in SPACES if not isinstance(space, DifferencedManifold)]

# A space that is not symmetric has no bound for one of the scores.
LAWS = [
    pytest.param(space, score, id=f"{space.name}-{score}")
    for space in SPACES
    for score in SCORES
    if space in ATTACKED or score != "gradient_by_blocks"
]


@pytest.fixture(scope="module", params=SPACES, ids=lambda space: space.name)
def space(request):
    return request.param


def public_inputs(manifold, number=6, **others):
    centre = manifold.random_point(np.random.default_rng(0))
    inputs = {
        "footpoint_radius": 0.6,
        "shooting_vector_length": 1.2,
        "covariate_range": RANGE,
        "gradient_scale": 0.3,
        "loss_scale": 0.4,
        "loss_offset": 0.2,
    }
    return PublicInputs(manifold, centre, number=number, **{**inputs, **others})


def draw_records(public, seed, data_shape=(), number=None, spread=0.3):
    """Covariates, some out of range, and points about the centre."""
    rng = np.random.default_rng(seed)
    manifold = public.manifold
    shape = (*data_shape, public.number if number is None else number)
    centre = np.broadcast_to(public.centre, shape + manifold.point_shape)
    steps = spread * manifold.random_tangent(rng, centre) / np.sqrt(manifold.dim)
    return rng.uniform(15.0, 75.0, shape), manifold.exp(centre, steps)


def draw_states(public, seed, shape):
    return public.support.draw(np.random.default_rng(seed), shape)


def mechanism(public, covariates, points, score="combined", subjects=None):
    return Certified(public, map_records(public, covariates, points, subjects), score)


# The score, one record at a time


def one_by_one(public, covariates, points, subjects, state, score):
    """The score at one geodesic, of one data set, subject by subject."""
    manifold, p, v = public.manifold, state[0], state[1]
    low, high = public.covariate_range
    tau, c, n = public.gradient_scale, public.loss_scale, public.number
    losses, sums = 0.0, dict.fromkeys(BLOCKS, 0.0)
    for subject in np.unique(subjects):
        squares, contribution = [], dict.fromkeys(BLOCKS, 0.0)
        own = np.flatnonzero(subjects == subject)
        for record in own:
            x = (min(max(covariates[record], low), high) - low) / (high - low) - 0.5
            residual = manifold.log(manifold.exp(p, x * v), points[record])
            prediction = manifold.exp(p, x * v)
            length = manifold.norm(prediction, residual)
            squares.append(length**2)
            if score == "gradient_by_blocks":
                residual = residual * min(1.0, tau / length)
            for block, factor in zip(BLOCKS, (1.0, x), strict=True):
                moved = manifold.jacobi_adjoint(p, x * v, residual, block)
                contribution[block] = contribution[block] + factor * moved / len(own)
        losses += min(np.mean(squares), c**2) / c**2
        a, b = contribution.values()
        size = manifold.norm(p, 0.5 * a + b) + manifold.norm(p, 0.5 * a - b)
        shorten = 1.0 if score == "gradient_by_blocks" else min(1.0, tau / size)
        sums = {block: sums[block] + shorten * contribution[block] for block in BLOCKS}
    a, b = sums.values()
    if score == "gradient_by_blocks":
        stretch = np.cosh(0.5 * public.shooting_vector_length * np.sqrt(-lower_curvature(manifold)))
        return max(manifold.norm(p, a), 2.0 * manifold.norm(p, b)) / (2.0 * tau * stretch)
    gradient = (manifold.norm(p, 0.5 * a + b) + manifold.norm(p, 0.5 * a - b)) / (2.0 * tau)
    energy = losses if score == "energy" else losses - n * public.loss_offset
    return {"combined": max(gradient, energy), "energy": energy, "gradient": gradient}[score]


def lower_curvature(manifold):
    return min(manifold.curvature_bounds[0], 0.0)


@pytest.mark.parametrize(("space", "score"), LAWS)
@pytest.mark.parametrize("several", [False, True], ids=["one record", "several records"])
def test_scores_are_those_of_a_loop_over_records(space, score, several):
    # Some contributions and losses are clipped and some are not.
    public = public_inputs(space, number=4)
    covariates, points = draw_records(public, 1, (2,), number=9 if several else 4)
    subjects = np.array([3, 1, 0, 0, 1, 0, 2, 2, 0]) if several else np.arange(4)
    states = draw_states(public, 2, (2, 3))
    named = np.stack([subjects, subjects[::-1]]) if several else np.stack([subjects] * 2)
    found = mechanism(public, covariates, points, score, named if several else None).score(states)
    assert found.shape == (2, 3)
    for data_set, chain in np.ndindex(2, 3):
        arguments = covariates[data_set], points[data_set], named[data_set]
        expected = one_by_one(public, *arguments, states[data_set, chain], score)
        assert found[data_set, chain] == pytest.approx(expected, rel=5e-6)


@pytest.mark.parametrize(("space", "score"), LAWS)
def test_subjects_of_one_record_are_records(space, score):
    """The two ways to compute the sums."""
    public = public_inputs(space)
    one = mechanism(public, *draw_records(public, 3, (2,)), score)
    # Every record twice, the second time with next to no share in its subject.
    twice = {
        name: np.repeat(getattr(one.records, name), 2, axis=2)
        for name in ("covariates", "points", "valid", "shares")
    }
    twice["shares"][..., 1] = 1e-300
    filled = replace(one.records, **twice)
    states = draw_states(public, 4, (2, 3, 2))
    expected = one.score(states)
    assert expected.shape == (2, 3, 2)
    np.testing.assert_allclose(replace(one, records=filled).score(states), expected, rtol=2e-6)


@pytest.mark.parametrize("several", [False, True], ids=["one record", "several records"])
def test_chunks_add_up(space, several, monkeypatch):
    public = public_inputs(space, number=5)
    covariates, points = draw_records(public, 5, (2,), number=10 if several else 5)
    subjects = np.stack([np.arange(10) // 2] * 2) if several else None
    whole = mechanism(public, covariates, points, subjects=subjects)
    states = draw_states(public, 6, (2, 3))
    expected = whole.score(states)
    monkeypatch.setattr(regression, "CHUNK", 8)
    np.testing.assert_allclose(whole.score(states), expected, rtol=1e-12)


# The sensitivity, attacked


def attack(public, score, seed, make=Certified):
    """The most that replacing one subject was found to move a score, in several searches."""
    return largest_change(np.random.default_rng(seed), public, score, make)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("attacked", ATTACKED, ids=lambda space: space.name)
def test_no_record_moves_a_score_by_more_than_one(attacked, score):
    found = attack(public_inputs(attacked, number=3), score, 7)
    assert np.max(found) <= 1.0
    # It is attained, up to the slack for rounding; by blocks only at geodesics as long as the
    # support allows.
    assert np.max(found) >= (0.9 if score == "gradient_by_blocks" else 0.9999)


class Doubled(Certified):
    def score(self, states):
        return 2.0 * super().score(states)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("attacked", [Sphere(2), SPD(2)], ids=lambda space: space.name)
def test_the_attack_finds_a_score_that_is_doubled(attacked, score):
    assert np.max(attack(public_inputs(attacked, number=3), score, 7, Doubled)) > 1.1


@pytest.mark.parametrize("score", ["combined", "gradient", "gradient_by_blocks"])
@pytest.mark.parametrize("attacked", [Sphere(2), SPD(2)], ids=lambda space: space.name)
def test_the_attack_finds_contributions_that_are_not_clipped(attacked, score, monkeypatch):
    monkeypatch.setattr(certified, "clip_factors", lambda norms, limit: np.ones_like(norms))
    assert np.max(attack(public_inputs(attacked, number=3), score, 7)) > 1.1


# Each hypothesis


@pytest.mark.parametrize("several", [False, True], ids=["one record", "several records"])
def test_order_of_records_and_names_of_subjects_do_not_matter(space, several):
    """H1: a data set is a multiset of subjects."""
    public = public_inputs(space, number=4)
    covariates, points = draw_records(public, 8, number=8 if several else 4)
    subjects = np.array([*"aabbbbcd"]) if several else np.arange(4)
    states = draw_states(public, 9, (3,))
    expected = mechanism(public, covariates, points, subjects=subjects).score(states)
    order = np.random.default_rng(10).permutation(len(covariates))
    names = {name: f"subject {200 - ord(str(name)[0])}" for name in subjects}
    renamed = np.array([names[name] for name in subjects])
    other = mechanism(public, covariates[order], points[order], subjects=renamed[order])
    np.testing.assert_allclose(other.score(states), expected, rtol=1e-12)


def test_repeating_the_records_of_a_subject_changes_nothing(space):
    """H1: a subject counts once, however many records it has."""
    public = public_inputs(space, number=4)
    covariates, points = draw_records(public, 11)
    states = draw_states(public, 12, (3,))
    expected = mechanism(public, covariates, points).score(states)
    times = np.array([1, 3, 1, 2])
    repeated = mechanism(
        public,
        np.repeat(covariates, times),
        np.repeat(points, times, axis=0),
        subjects=np.repeat(np.arange(4), times),
    )
    np.testing.assert_allclose(repeated.score(states), expected, rtol=2e-6)


@pytest.mark.parametrize("subjects", [None, np.array([0, 0, 1, 2, 3, 4])])
def test_another_number_of_subjects_is_refused(subjects):
    """H1: n is public."""
    public = public_inputs(Sphere(2), number=7)
    covariates, points = draw_records(public, 13, number=6)
    with pytest.raises(DataError, match="is not the public number 7"):
        mechanism(public, covariates, points, subjects=subjects)


@pytest.mark.parametrize("label", [None, np.nan, pd.NA])
@pytest.mark.parametrize("others", [[1, 2, 3, 4, 5], list("abcde")])
def test_records_of_nobody_are_refused(label, others):
    public = public_inputs(Sphere(2), number=6)
    covariates, points = draw_records(public, 13, number=6)
    for subjects in ([*others, label], pd.Series([*others, label], dtype=object)):
        with pytest.raises(DataError, match="name whose each record is"):
            mechanism(public, covariates, points, subjects=subjects)


@pytest.mark.parametrize("low", [-0.3, 0.0, 0.1, 1.7, 20.0])
def test_covariates_at_the_ends_of_any_range_are_within_it(low):
    """H3: ends of a range that rounding puts beyond a half, and covariates beyond its ends."""
    for length in (0.1, 0.3, 1.0, 7.0, 49.9):
        public = public_inputs(Sphere(2), number=6, covariate_range=(low, low + length))
        _, points = draw_records(public, 13, number=6)
        ends = [low, low + length, low - 1e-9, low + length + 1e300, -np.inf, np.inf]
        records = certified.map_records(public, ends, points)
        np.testing.assert_array_equal(records.valid, True)
        half = np.tile([-0.5, 0.5], 3)
        np.testing.assert_allclose(records.covariates[:, 0], half, rtol=1e-13)
        assert np.all(np.abs(records.covariates) <= 0.5)


def test_records_that_are_no_numbers_are_invalid_and_not_told_of():
    """H3: what cannot be put into an array does not end the run, and leaves others as they are."""
    public = public_inputs(Sphere(2), number=6)
    covariates, points = draw_records(public, 13, number=6)
    expected = certified.map_records(public, covariates, points)
    covariates, points = covariates.astype(object), list(points)
    covariates[1] = "42 kg"
    frame = pd.DataFrame(np.array(points).astype(object))
    frame.iloc[2, 0] = "a number"
    records = certified.map_records(public, covariates, frame)
    np.testing.assert_array_equal(records.valid[:, 0], [True, False, False, True, True, True])
    points[2], points[3] = points[2][:2], "a point"
    records = certified.map_records(public, covariates, points)
    np.testing.assert_array_equal(records.valid[:, 0], [True, False, False, False, True, True])
    for name in ("covariates", "points"):
        found, whole = getattr(records, name), getattr(expected, name)
        np.testing.assert_array_equal(found[[0, 4, 5]], whole[[0, 4, 5]])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("footpoint_radius", np.inf, "positive"),
        ("shooting_vector_length", 0.0, "positive"),
        ("shooting_vector_length", 500.0, "overflow"),
        ("gradient_scale", -1.0, "positive"),
        ("loss_scale", np.nan, "positive"),
        ("loss_offset", 1.0, "from 0 to below 1"),
        ("number", 0, "at least 1"),
        ("number", 3.5, "at least 1"),
        ("covariate_range", (1.0, 1.0), "smaller first"),
        ("covariate_range", (0.0, np.inf), "finite"),
    ],
)
def test_public_inputs_are_checked(name, value, message):
    """H2, as far as numbers can tell."""
    with pytest.raises(DataError, match=f"{name} is .*{message}"):
        public_inputs(SPD(2), **{name: value})


@pytest.mark.parametrize("centre", [np.eye(3)[0], np.diag([1.0, -1.0]), np.nan * np.eye(2)])
def test_centres_are_checked(centre):
    public = public_inputs(SPD(2))
    with pytest.raises(DataError, match="centre is no point of SPD"):
        replace(public, centre=centre)


def bad_arrays(manifold):
    """Arrays that are no points, or too far away to compute with."""
    good = manifold.random_point(np.random.default_rng(1))
    arrays = [good * np.nan, good * np.inf, good * 1e200, 1e-320 * good]
    if isinstance(manifold, Euclidean):
        return arrays[:-1]
    return [*arrays, 0.0 * good, -1.1 * good]


@pytest.mark.parametrize("several", [False, True], ids=["one record", "several records"])
def test_invalid_records_contribute_no_gradient_and_the_whole_loss(space, several):
    """H3."""
    public = public_inputs(space, number=6)
    covariates, points = draw_records(public, 14)
    states = draw_states(public, 15, (4,))
    rest = replace(public, number=5)
    expected = mechanism(rest, covariates[1:], points[1:]).sums(states)
    spoiled = [(covariates[0], array) for array in bad_arrays(space)] + [(np.nan, points[0])]
    for x, y in spoiled:
        bad = np.append(x, covariates[1:]), np.concatenate([y[None], points[1:]])
        subjects = np.arange(6)
        if several:
            bad = np.append(bad[0], x), np.concatenate([bad[1], y[None]])
            subjects = np.append(subjects, 0)
        found = mechanism(public, *bad, subjects=subjects).sums(states)
        np.testing.assert_allclose(found.loss, expected.loss + 1.0, rtol=1e-12)
        for block in BLOCKS:
            np.testing.assert_allclose(getattr(found, block), getattr(expected, block), atol=1e-6)


def test_covariates_beyond_the_range_are_moved_to_its_ends(space):
    """H3."""
    public = public_inputs(space, number=3)
    _, points = draw_records(public, 16)
    states = draw_states(public, 17, (4,))
    found = mechanism(public, np.array([-np.inf, 19.0, 1e300]), points).score(states)
    expected = mechanism(public, np.array([20.0, 20.0, 70.0]), points).score(states)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("attacked", [Sphere(2), KendallPlanarShapes(5)], ids=lambda m: m.name)
def test_residuals_at_the_cut_locus_contribute_no_gradient(attacked):
    """H3: at one geodesic they do, at another not."""
    public = public_inputs(attacked, number=2)
    covariates, points = draw_records(public, 18)
    covariates[0] = 30.0
    p, v = draw_states(public, 19, (2,))[0]
    x = (covariates[0] - 45.0) / 50.0
    opposite = np.pi / attacked.norm(p, v) * v
    away = attacked.exp(p, x * v)
    unit = attacked.frame(away)[0]
    points[0] = attacked.exp(away, attacked.injectivity_radius * unit)
    states = np.stack([np.stack([p, v]), np.stack([attacked.exp(p, 0.1 * opposite), 0.0 * v])])
    sums = mechanism(public, covariates, points).sums(states)
    alone = mechanism(replace(public, number=1), covariates[1:], points[1:]).sums(states)
    np.testing.assert_allclose(sums.loss, alone.loss + 1.0, rtol=1e-9)
    change = attacked.norm(states[:, 0], sums.footpoint - alone.footpoint)
    assert change[0] <= 1e-12
    assert change[1] >= 0.1


@pytest.mark.parametrize("several", [False, True], ids=["one record", "several records"])
@pytest.mark.parametrize("size", [2, 3])
def test_records_whose_numbers_fail_at_a_geodesic_leave_the_others_alone(size, several):
    """H3: matrices so badly conditioned that their logarithms are no numbers."""
    manifold = SPD(size)
    public = public_inputs(manifold, number=6)
    covariates, points = draw_records(public, 20)
    turned = np.linalg.qr(np.random.default_rng(21).standard_normal((size, size)))[0]
    values = np.exp(np.linspace(-60.0, 60.0, size))
    for scale in (1.0, 1e-3):
        points[0] = turned @ np.diag(scale * values) @ turned.T
        points[0] = 0.5 * (points[0] + points[0].T)
        subjects = np.array([0, 1, 2, 3, 4, 5])
        data = covariates, points
        if several:
            data = np.append(covariates, 50.0), np.concatenate([points, points[:1]])
            subjects = np.append(subjects, 0)
        states = draw_states(public, 22, (5,))
        sums = mechanism(public, *data, subjects=subjects).sums(states)
        rest = mechanism(replace(public, number=5), covariates[1:], points[1:]).sums(states)
        np.testing.assert_allclose(sums.loss, rest.loss + 1.0, rtol=1e-12)
        change = [getattr(sums, block) - getattr(rest, block) for block in BLOCKS]
        norms = certified.hull_norm(manifold, states[:, 0], *change)
        assert np.all(norms <= public.gradient_scale * (1.0 + 1e-9))


@pytest.mark.parametrize("kind", ["far", "several", "invalid"])
def test_one_subject_does_not_change_how_others_are_computed(kind):
    """H4: where rounding is all there is of some components, which two formulas round differently.

    A far point needs slower formulas, and so do a second record and one that is not finite.
    """
    manifold = Hyperbolic(2)
    public = public_inputs(manifold, number=6)
    p, v = draw_states(public, 28, ())
    v = v / manifold.norm(p, v)
    x = np.linspace(-0.5, 0.5, 6)
    # Residuals along the geodesic.
    points = manifold.exp(p, (x + 0.7)[:, None] * v)
    covariates, subjects = 45.0 + 50.0 * x, np.arange(6)
    if kind == "invalid":
        points[5] = np.nan
    elif kind == "far":
        points[5] = manifold.exp(points[5], 30.0 * manifold.frame(points[5])[0])
    else:
        covariates, points = np.append(covariates, 45.0), np.append(points, points[:1], axis=0)
        subjects = np.append(subjects, 5)
    whole, rest, alone = (
        mechanism(
            replace(public, number=number),
            covariates[chosen],
            points[chosen],
            subjects=subjects[chosen],
        ).sums(np.stack([p, v])[None])
        for number, chosen in ((6, subjects >= 0), (5, subjects < 5), (1, subjects == 5))
    )
    for name in ("loss", *BLOCKS):
        expected = getattr(rest, name) + getattr(alone, name)
        np.testing.assert_allclose(getattr(whole, name), expected, rtol=0.0, atol=1e-14)


def test_every_contribution_is_within_its_bounds(space):
    """H5 and H6: of one subject by itself."""
    public = public_inputs(space, number=1, gradient_scale=0.7)
    states = draw_states(public, 23, (20,))
    reached = []
    for seed in range(5):
        for number, spread in ((1, 0.2), (1, 0.7), (3, 0.7)):
            data = draw_records(public, seed, number=number, spread=spread)
            sums = mechanism(public, *data, subjects=np.zeros(number)).sums(states)
            norms = certified.hull_norm(space, states[:, 0], sums.footpoint, sums.shooting_vector)
            reached.append(norms / public.gradient_scale)
            assert np.all((sums.loss >= 0.0) & (sums.loss <= 1.0))
    assert np.max(reached) <= 1.0 + 1e-7
    # Some are clipped and some are not.
    assert np.max(reached) >= 1.0 - 1e-4
    assert np.min(reached) < 0.9


def test_the_density_is_that_of_the_score_within_the_support(space):
    """H7: and nothing beyond."""
    public = public_inputs(space)
    law = mechanism(public, *draw_records(public, 24, (2,)))
    states = draw_states(public, 25, (2, 4))
    score = law.score(states)
    np.testing.assert_allclose(law.log_density(states, 0.8), -0.4 * score, rtol=1e-12)
    np.testing.assert_allclose(law.unrestricted(states, 0.8), -0.4 * score, rtol=1e-12)
    assert np.all((score >= 0.0) & (score <= public.number))
    bundle = law.space
    p, v = bundle.parts(states)
    longer = bundle.join(p, v * space.expand(1.21 / space.norm(p, v)))
    assert np.all(np.isneginf(law.log_density(longer, 0.8)))
    step = space.log(public.centre, p)
    step = step * space.expand(0.61 / space.norm(public.centre, step))
    centre = np.broadcast_to(public.centre, p.shape)
    farther = bundle.join(space.exp(centre, step), 0.0 * v)
    assert np.all(np.isneginf(law.log_density(farther, 0.8)))
    assert np.all(np.isneginf(law.log_density(np.nan * states, 0.8)))


def test_blocks_are_refused_without_symmetry():
    public = public_inputs(Differenced(Sphere(2)))
    with pytest.raises(DataError, match="not symmetric"):
        mechanism(public, *draw_records(public, 26), "gradient_by_blocks")


def test_data_of_another_shape_are_refused():
    public = public_inputs(Sphere(2))
    covariates, points = draw_records(public, 27)
    with pytest.raises(DataError, match="do not go together"):
        map_records(public, covariates[1:], points)
    with pytest.raises(DataError, match="name one subject a record"):
        map_records(public, covariates, points, subjects=np.arange(3))
