"""What a subject contributes: its sensitivity in integers, attacked."""

import sys

import numpy as np
import pytest
from conftest import SETTINGS_OF, SPACES, space_of
from scipy.stats import beta

from geodp import SPD, Euclidean, GeodesicModel, Sphere
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.registry import MANIFOLDS
from geodp_release.ask.timing import extreme_points
from geodp_release.promise.assumptions import Assumptions
from geodp_release.run import contributions as sums
from geodp_release.run.clipping_coordinates import ClippingCoordinates
from geodp_release.run.subjects import ONE_EACH, subject_records
from geodp_release.stages import MatrixStage
from geodp_release.stages.covariates import Covariates

RANGE = (20.0, 70.0)
LIMIT = 4
CLIP = 0.2
# Beside the middle of the range.
WINDOW = ClippingCoordinates.about(Covariates.independent(("evenly",), clustered=True).moments)

# Subjects computed at once, where padding is not what is tested.
FEW = 8


def assumed(manifold, subjects, **others):
    centre = manifold.random_point(np.random.default_rng(0))
    inputs = {"centre": centre, "footpoint_radius": 0.6, "shooting_vector_length": 1.2}
    inputs |= {"covariate_range": RANGE, "residual_scale": 0.3} | others
    return Assumptions(manifold, subjects=subjects, **inputs)


def draw_records(assumptions, number, seed, spread=0.3):
    """Covariates, some beyond their range, and points about the centre."""
    rng = np.random.default_rng(seed)
    manifold = assumptions.manifold
    centre = np.broadcast_to(assumptions.centre, (number, *manifold.point_shape))
    steps = spread * manifold.random_tangent(rng, centre) / np.sqrt(manifold.dim)
    return rng.uniform(15.0, 75.0, number), manifold.exp(centre, steps)


def grouped(assumptions, seed, spread=0.3):
    """Records of all subjects; where several count, from 1 to 6 records each."""
    number, limit = assumptions.subjects, assumptions.records_per_subject
    counts = np.arange(number) % 6 + 1 if limit > 1 else np.ones(number, dtype=int)
    labels = np.random.default_rng([seed, 1]).permutation(np.repeat(np.arange(number), counts))
    return subject_records(
        assumptions, *draw_records(assumptions, len(labels), seed, spread), labels
    )


def each_gradient(assumptions, records, state, clip=CLIP):
    """Contributions (subjects, 2, dim), each computed alone."""
    found = [
        sums.gradient_sums(assumptions, records.take([k]), state, clip, WINDOW)
        for k in range(len(records))
    ]
    assert all(type(entry) is int for ends in found for end in ends for entry in end)
    return np.array(found, dtype=object)


def within(contribution, lattice=sums.LATTICE):
    """Whether Euclidean norms of two rows of integers add up to a length at most, without roots."""
    first, second = (sum(int(entry) ** 2 for entry in row) for row in contribution)
    rest = lattice**2 - first - second
    return rest >= 0 and rest**2 >= 4 * first * second


def matrix_of(assumptions, records, state, clip=CLIP, reach=1.0):
    """A subject's symmetric matrix, or that of all, in whole numbers."""
    vectors = MatrixStage(1, clip=clip, reach=reach)._vectors(assumptions)
    upper = sums.matrix_sums(assumptions, records, state, clip, vectors)
    assert all(type(entry) is int for entry in upper)
    size = len(state) + assumptions.manifold.dim
    matrix = np.zeros((size, size), dtype=object)
    matrix[np.triu_indices(size)] = matrix.T[np.triu_indices(size)] = upper
    return matrix


def is_semidefinite(matrix):
    """By elimination in whole numbers."""
    while len(matrix):
        pivot, row = matrix[0, 0], matrix[0, 1:]
        if pivot < 0 or (pivot == 0 and row.any()):
            return False
        matrix = matrix[1:, 1:] * (pivot or 1) - np.outer(row, row)
    return True


def states_of(assumptions, number, seed=2):
    return assumptions.support.draw(np.random.default_rng(seed), (number,))


def test_every_space_of_the_theorem_is_tested_here():
    """A guarantee takes R3 from these tests: of all spaces in the registry."""
    tested = {type(space_of(name)) for name in (*SPACES, *SETTINGS_OF)}
    assert tested >= {each for kind in MANIFOLDS.values() for each in (kind, *kind.variants)}


@pytest.mark.parametrize("limit", [1, LIMIT])
@pytest.mark.parametrize(("spread", "clip"), [(0.01, 0.3), (0.5, 0.01), (5.0, 0.01), (5.0, 0.3)])
def test_no_subject_contributes_more_than_the_lattice(manifold, spread, clip, limit, monkeypatch):
    """Exactly, in integers; many contribute as much as it lets them."""
    monkeypatch.setattr(sums, "CHUNK", FEW)
    assumptions = assumed(manifold, 12, records_per_subject=limit)
    records = grouped(assumptions, 1, spread)
    states = states_of(assumptions, 2)
    each = each_gradient(assumptions, records, states[0], clip)
    assert all(map(within, each))
    if (spread, clip) == (0.5, 0.01):
        norms = np.linalg.norm(each[records.counts == 1].astype(float), axis=-1).sum(axis=-1)
        assert np.mean(norms > 0.99 * sums.LATTICE) > 0.5
    alone = [records.take([k]) for k in range(12)]
    losses = np.array([sums.loss_sums(assumptions, one, states, clip) for one in alone])
    assert np.all(losses >= 0)
    assert np.all(losses <= sums.LOSS_LATTICE)
    if clip == 0.01 and spread > 0.1:
        assert np.max(losses) == sums.LOSS_LATTICE
    for reach in (1.0, 1.5):
        parts = [matrix_of(assumptions, one, states[0], clip, reach) for one in alone]
        assert all(map(is_semidefinite, parts))
        shares = np.array([np.trace(part) / sums.MATRIX_LATTICE**2 for part in parts])
        assert np.all(shares <= 1.0)
        if (spread, clip, limit) == (0.5, 0.01, 1):
            assert np.max(shares) > 0.85


@pytest.mark.parametrize(("length", "count"), [(1.0, 1), (1.5, 1), (1.0, LIMIT), (1.5, LIMIT)])
def test_vectors_that_are_too_long_count_for_nothing(length, count):
    """Whatever made them; and sums of the longest that count fit, many at a time."""
    many = 4 * sums.LARGE_CHUNKS[0]
    assumptions = assumed(Euclidean(1), many, records_per_subject=count)
    x, points = draw_records(assumptions, many * count, 1)
    records = subject_records(assumptions, x, points, np.arange(many * count) // count)

    def vectors(covariates, residuals):
        return np.repeat([[length, 0.0, 0.0]], len(covariates), axis=0)

    found = sums.matrix_sums(assumptions, records, assumptions.support.origin, 1.0, vectors)
    whole = int((1.0 - sums.MARGIN) * sums.MATRIX_LATTICE * count**-0.5)
    assert found == [many * count * whole**2 if length == 1.0 else 0, 0, 0, 0, 0, 0]


def test_gradients_that_are_too_long_count_for_nothing():
    """Where their lengths are not what the clip is told."""
    parts, told = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.2, 0.0], [0.0, 0.1]]]), np.zeros(2)
    given = (parts, told, told), np.ones(2, bool), 0.5, WINDOW
    found = sums.lattice_gradients(Sphere(2), *given)
    assert found.any(axis=(1, 2)).tolist() == [False, True]


def test_gradients_that_are_kept_are_those_of_state_and_coordinates():
    """Sums after those at another state, or in other coordinates, are those of fresh records."""
    assumptions, rng = assumed(Sphere(2), 20), np.random.default_rng(1)
    first = np.array(assumptions.support.origin)
    turn = 0.1 * assumptions.manifold.random_tangent(rng, first[0])
    states, records = (first, np.stack([first[0], turn])), grouped(assumptions, 2)
    for state in (states[0], states[1], states[0]):
        for window in (WINDOW, ClippingCoordinates.whole(1), WINDOW):
            kept = sums.gradient_sums(assumptions, records, state, CLIP, window)
            assert kept == sums.gradient_sums(
                assumptions, grouped(assumptions, 2), state, CLIP, window
            )


def test_contributions_are_means_of_clipped_gradients(manifold):
    assumptions = assumed(manifold, 6, records_per_subject=LIMIT)
    records = grouped(assumptions, 3)
    (state,) = states_of(assumptions, 1, 4)
    clip = 1e3
    each = each_gradient(assumptions, records, state, clip).astype(float) * (clip / sums.LATTICE)
    model = GeodesicModel(manifold)
    parameters = model.parameters(*state)
    frame = manifold.frame(state[0])
    for k, count in enumerate(records.counts):
        used = slice(0, count)
        # The gradient of a mean over a subject's records.
        found = model.energy_gradient(
            parameters, records.covariates[k, used], records.points[k, used]
        )
        a, b = (-manifold.coordinates(state[0], part, frame) for part in found.gradient.values())
        # About the window of a Beta(2, 5), and in units of its length.
        b = (b - (beta(2.0, 5.0).mean() - 0.5) * a) / (2.0 * 1.75 * beta(2.0, 5.0).std())
        expected = [0.5 * a + b, 0.5 * a - b]
        np.testing.assert_allclose(each[k], expected, atol=1e-4 + 1e-5 * np.abs(expected).max())


def lines_of(call):
    """Lines of the library that a call goes through, in their order."""
    lines = []

    def trace(frame, event, _):
        if "geodp" not in frame.f_code.co_filename:
            return None
        if event == "line":
            lines.append((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


def test_no_record_decides_which_lines_are_computed(manifold):
    """So that running time tells of none: sums go through the same lines whatever it is."""
    number = 5
    assumptions = assumed(manifold, number)
    covariates, points = draw_records(assumptions, number, 5)
    states = assumptions.support.origin[None]

    def release(points):
        records = subject_records(assumptions, covariates, points, ONE_EACH)
        sums.loss_sums(assumptions, records, states, 1.0)
        sums.gradient_sums(assumptions, records, states[0], CLIP, WINDOW)
        matrix_of(assumptions, records, states[0])

    # What is kept between calls is there.
    release(points)
    usual = lines_of(lambda: release(points))
    assert len(usual) > 50
    for extreme in extreme_points(manifold, assumptions.centre).values():
        others = points.copy()
        others[1] = extreme
        assert lines_of(lambda others=others: release(others)) == usual


@pytest.mark.parametrize("size", [2, 3])
def test_one_record_moves_numbers_of_lengths_by_one_at_most(size):
    """Also where its distance comes out as no number, which is beyond all lengths."""
    assumptions = assumed(SPD(size), 1, footpoint_radius=2.0)
    far = np.diag([1e8, *[1e-8] * (size - 1)])
    found = []
    for point in (assumptions.centre, far):
        records = subject_records(assumptions, [40.0], point[None], ONE_EACH)
        for state in states_of(assumptions, 64):
            found.append(
                sums.length_counts(assumptions, records, state, np.geomspace(1e-3, 100.0, 9))
            )
    found = np.array(found)
    assert np.all((found >= 0) & (found <= sums.LOSS_LATTICE))
    assert np.all(np.diff(found, axis=1) >= 0)
    assert found[:64, -1].min() == sums.LOSS_LATTICE


@pytest.mark.parametrize("space", [Sphere(5), KendallPlanarShapes(5)], ids=str)
def test_contributions_fall_to_zero_before_the_cut_locus(space, monkeypatch):
    """Without a jump, so that rounding cannot decide whether a record counts."""
    monkeypatch.setattr(sums, "CHUNK", FEW)
    assumptions = assumed(space, 400)
    rng = np.random.default_rng(10)
    state = assumptions.support.origin
    lengths = np.linspace(0.85, 0.9999, 400) * space.injectivity_radius
    direction = space.random_direction(rng, assumptions.centre)
    points = space.exp(assumptions.centre, space.expand(lengths) * direction)
    records = subject_records(assumptions, np.full(400, 45.0), points, ONE_EACH)
    each = each_gradient(assumptions, records, state)
    norms = np.sqrt(np.sum(each.astype(float) ** 2, axis=(1, 2)))
    assert norms[0] > 0.7 * sums.LATTICE / np.sqrt(2.0)
    assert not each[lengths > 0.9991 * space.injectivity_radius].any()
    assert np.max(np.abs(np.diff(norms))) < 0.01 * sums.LATTICE


@pytest.mark.filterwarnings("error")
def test_bad_records_contribute_nothing_and_nobody_is_told(manifold):
    """Whatever else is bad `subject_records` marks as it does these, by tests of its own."""
    assumptions = assumed(manifold, 5)
    covariates, points = draw_records(assumptions, 5, 8)
    points[2] = covariates[3] = np.nan
    records = subject_records(assumptions, covariates, points, ONE_EACH)
    states = states_of(assumptions, 2, 9)
    each = each_gradient(assumptions, records, states[0])
    assert each.any(axis=(1, 2)).tolist() == [True, True, False, False, True]
    for k in range(5):
        one, is_good = records.take([k]), k not in (2, 3)
        assert matrix_of(assumptions, one, states[0]).any() == is_good
        losses = sums.loss_sums(assumptions, one, states, CLIP).tolist()
        assert is_good or losses == [sums.LOSS_LATTICE] * 2


@pytest.mark.parametrize(
    ("space", "centre", "points"),
    [
        # Of another length, either way.
        (Sphere(2), [0.0, 0.6, 0.8], [[0.0, 0.6, 0.8], [0.0, 0.3, 0.4], [0.0, 1.2, 1.6]]),
        # Farther away than digits reach.
        (Euclidean(2), [0.0, 0.0], [[1e90, 0.0], [1e110, 0.0], [0.0, -1e200]]),
    ],
    ids=str,
)
def test_points_of_another_length_or_too_far_away_contribute_nothing(space, centre, points):
    assumptions = assumed(space, 3, centre=np.array(centre))
    records = subject_records(assumptions, [45.0] * 3, np.array(points), ONE_EACH)
    assert np.ravel(records.valid).tolist() == [True, False, False]
