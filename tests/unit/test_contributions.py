"""What a subject contributes: its sensitivity in integers, attacked, and where steps lead.

That contributions depend on one subject alone is tested with lattices so fine that a last digit of
a double shows: `fine`.
"""

import sys
from dataclasses import replace
from math import isqrt

import numpy as np
import pytest
from conftest import SPACES
from scipy.linalg import block_diag
from scipy.stats import beta

from geodp import SPD, DataError, Euclidean, GeodesicModel, Hyperbolic, ReleasePlan, Sphere
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.registry import make_manifold
from geodp.samplers import exact_noise
from geodp_release import contributions, hypotheses
from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import ADD_OR_REMOVE, Assumptions
from geodp_release.contributions import (
    CHUNK,
    COVARIATE_LATTICE,
    LARGE_CHUNK,
    LATTICE,
    LOSS_LATTICE,
    MANY,
    MATRIX_LATTICE,
    covariate_sums,
    gradient_sums,
    length_counts,
    loss_sums,
    matrix_sums,
)
from geodp_release.coordinates import ClippingCoordinates
from geodp_release.draw import run_plan
from geodp_release.moments import matrix_moments
from geodp_release.noise import Noise
from geodp_release.simulation import Covariates
from geodp_release.stages import MatrixStage, NoisyStep, moments
from geodp_release.stages.step import moved
from geodp_release.subjects import ONE_EACH, SubjectRecords, subject_records
from geodp_release.timing import extreme_points

RANGE = (20.0, 70.0)
LIMIT = 4
CLIP = 0.2
# Beside the middle of the range.
WINDOW = ClippingCoordinates.about(Covariates.beta(2.0, 5.0).moments)

# Subjects computed at once, where padding is not what is tested.
FEW = 8

# Steps of the fine lattices, which are near those of doubles.
FINE = 1 << 50


def assumed(manifold, subjects, **others):
    inputs = {
        "centre": manifold.random_point(np.random.default_rng(0)),
        "footpoint_radius": 0.6,
        "shooting_vector_length": 1.2,
        "covariate_range": RANGE,
        "residual_scale": 0.3,
    }
    return Assumptions(manifold, subjects=subjects, **{**inputs, **others})


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


def take(records, chosen):
    """Records of some subjects."""
    parts = {name: part[chosen] for name, part in vars(records).items() if name != "gradients"}
    return SubjectRecords(**parts)


def each_gradient(assumptions, records, state, clip=CLIP):
    """Contributions (subjects, 2, dim), each computed alone."""
    found = [
        gradient_sums(assumptions, take(records, [k]), state, clip, WINDOW)
        for k in range(len(records))
    ]
    assert all(type(entry) is int for ends in found for end in ends for entry in end)
    return np.array(found, dtype=object)


def within(contribution, lattice=LATTICE):
    """Whether Euclidean norms of two rows of integers add up to a length at most, without roots."""
    first, second = (sum(int(entry) ** 2 for entry in row) for row in contribution)
    rest = lattice**2 - first - second
    return rest >= 0 and rest**2 >= 4 * first * second


def norm_sum(rows):
    """An upper bound of the sum of the norms of rows of integers."""
    return sum(isqrt(sum(int(entry) ** 2 for entry in row)) + 1 for row in rows)


def gradients_of(assumptions, records, state, clip=CLIP):
    window = WINDOW
    if assumptions.number_of_covariates > 1:
        # Covariates that go together.
        parts = np.tril(np.full((assumptions.number_of_covariates,) * 2, 0.1))
        window = ClippingCoordinates.about(matrix_moments(block_diag(1.0, parts @ parts.T)))
    return np.array(gradient_sums(assumptions, records, state, clip, window))


def matrix_of(assumptions, records, state, clip=CLIP, reach=1.0):
    """A subject's symmetric matrix, or that of all, in whole numbers."""
    vectors = MatrixStage(1, clip=clip, reach=reach)._vectors(assumptions)
    upper = matrix_sums(assumptions, records, state, clip, vectors)
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


@pytest.fixture
def fine(monkeypatch):
    """Lattices on which last digits of contributions show."""
    monkeypatch.setattr(contributions, "LATTICE", FINE)
    monkeypatch.setattr(contributions, "LOSS_LATTICE", FINE)
    monkeypatch.setattr(contributions, "MATRIX_LATTICE", FINE)


# Sensitivity


def test_every_space_of_the_theorem_is_tested_here():
    """A guarantee takes R3 from these tests: of all spaces in the registry."""
    tested = {type(make_manifold(*specification)) for specification in SPACES.values()}
    assert tested >= set(hypotheses.SPACES)


@pytest.mark.parametrize("limit", [1, LIMIT])
@pytest.mark.parametrize(("spread", "clip"), [(0.01, 0.3), (0.5, 0.01), (5.0, 0.01), (5.0, 0.3)])
def test_no_subject_contributes_more_than_the_lattice(manifold, spread, clip, limit, monkeypatch):
    """Exactly, in integers; many contribute as much as it lets them."""
    monkeypatch.setattr(contributions, "CHUNK", FEW)
    assumptions = assumed(manifold, 12, records_per_subject=limit)
    records = grouped(assumptions, 1, spread)
    states = states_of(assumptions, 2)
    each = each_gradient(assumptions, records, states[0], clip)
    assert all(map(within, each))
    if (spread, clip) == (0.5, 0.01):
        single = each[records.counts == 1]
        assert np.mean([norm_sum(rows) > 0.99 * LATTICE for rows in single]) > 0.5
    alone = [take(records, [k]) for k in range(12)]
    losses = np.array([loss_sums(assumptions, one, states, clip) for one in alone])
    assert np.all(losses >= 0)
    assert np.all(losses <= LOSS_LATTICE)
    if clip == 0.01 and spread > 0.1:
        assert np.max(losses) == LOSS_LATTICE
    for reach in (1.0, 1.5):
        parts = [matrix_of(assumptions, one, states[0], clip, reach) for one in alone]
        assert all(map(is_semidefinite, parts))
        shares = np.array([np.trace(part) / MATRIX_LATTICE**2 for part in parts])
        assert np.all(shares <= 1.0)
        if (spread, clip, limit) == (0.5, 0.01, 1):
            assert np.max(shares) > 0.85


@pytest.mark.parametrize(("length", "count"), [(1.0, 1), (1.5, 1), (1.0, LIMIT), (1.5, LIMIT)])
def test_vectors_that_are_too_long_count_for_nothing(length, count):
    """Whatever made them; and sums of the longest that count fit, many at a time."""
    assumptions = assumed(Euclidean(1), MANY, records_per_subject=count)
    x, points = draw_records(assumptions, MANY * count, 1)
    records = subject_records(assumptions, x, points, np.arange(MANY * count) // count)

    def vectors(covariates, residuals):
        return np.repeat([[length, 0.0, 0.0]], len(covariates), axis=0)

    found = matrix_sums(assumptions, records, assumptions.support.origin, 1.0, vectors)
    whole = int((1.0 - contributions.MARGIN) * MATRIX_LATTICE * count**-0.5)
    assert found == [MANY * count * whole**2 if length == 1.0 else 0, 0, 0, 0, 0, 0]


def test_gradients_that_are_kept_are_those_of_state_and_coordinates():
    """Sums after those at another state, or in other coordinates, are those of fresh records."""
    assumptions, rng = assumed(Sphere(2), 20), np.random.default_rng(1)
    first = np.array(assumptions.support.origin)
    turn = 0.1 * assumptions.manifold.random_tangent(rng, first[0])
    states, records = (first, np.stack([first[0], turn])), grouped(assumptions, 2)
    for state in (states[0], states[1], states[0]):
        for window in (WINDOW, ClippingCoordinates.whole(1), WINDOW):
            kept = gradient_sums(assumptions, records, state, CLIP, window)
            assert kept == gradient_sums(assumptions, grouped(assumptions, 2), state, CLIP, window)


def test_contributions_are_means_of_clipped_gradients(manifold):
    assumptions = assumed(manifold, 6, records_per_subject=LIMIT)
    records = grouped(assumptions, 3)
    (state,) = states_of(assumptions, 1, 4)
    clip = 1e3
    each = each_gradient(assumptions, records, state, clip).astype(float) * (clip / LATTICE)
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


def test_losses_are_means_of_clipped_squares(manifold):
    assumptions = assumed(manifold, 6, records_per_subject=LIMIT)
    records = grouped(assumptions, 3)
    states = states_of(assumptions, 3)
    clip = 0.5
    found = loss_sums(assumptions, records, states, clip)
    expected = np.zeros(3)
    for k, (p, v) in enumerate(states):
        steps = manifold.expand(records.covariates[..., 0]) * v
        away = manifold.dist(manifold.exp(np.broadcast_to(p, steps.shape), steps), records.points)
        losses = np.minimum((away / clip) ** 2, 1.0) * records.valid
        expected[k] = np.sum(np.sum(losses, axis=1) / records.counts)
    assert np.all(found <= LOSS_LATTICE * expected * (1 + 1e-9))
    # Rounding takes away less than one from a record and from a mean.
    assert np.all(found > LOSS_LATTICE * expected - 2 * len(records))


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
        loss_sums(assumptions, records, states, 1.0)
        gradient_sums(assumptions, records, states[0], CLIP, WINDOW)
        matrix_of(assumptions, records, states[0])

    usual = lines_of(lambda: release(points))
    assert len(usual) > 50
    for extreme in extreme_points(manifold, assumptions.centre).values():
        others = points.copy()
        others[1] = extreme
        assert lines_of(lambda others=others: release(others)) == usual


def assert_additive(assumptions, records, states, clip, seed=8, times=4):
    """Sums of two parts of the subjects, in any order, are those of all, bit by bit."""
    rng = np.random.default_rng(seed)
    number = len(records)
    losses = loss_sums(assumptions, records, states, clip)
    gradients = gradients_of(assumptions, records, states[0], clip)
    matrix = matrix_of(assumptions, records, states[0], clip)
    assert np.any(losses % 1024)
    assert np.any(gradients)
    assert np.any(matrix % 1024)
    parts = [rng.permutation(number) for _ in range(times)]
    cuts = [1, number - 1, *rng.integers(1, number, size=times)][:times]
    for order, cut in zip(parts, cuts, strict=True):
        both = take(records, order[:cut]), take(records, order[cut:])
        found = [loss_sums(assumptions, each, states, clip) for each in both]
        np.testing.assert_array_equal(found[0] + found[1], losses)
        found = [gradients_of(assumptions, each, states[0], clip) for each in both]
        np.testing.assert_array_equal(found[0] + found[1], gradients)
        found = [matrix_of(assumptions, each, states[0], clip) for each in both]
        # On fine lattices products have their last 64 bits alone.
        assert not np.any((found[0] + found[1] - matrix) % 2**64)


@pytest.mark.usefixtures("fine")
def test_removal_and_order_leave_other_subjects_as_they_are(manifold):
    """Whatever they are: some far, no points, or no numbers at all."""
    number = CHUNK + 30
    assumptions = assumed(manifold, number, records_per_subject=2)
    covariates, points = draw_records(assumptions, 2 * number, 9)
    points[0] = draw_records(assumptions, 1, 7, 3.0)[1][0]
    points[1], points[2], points[3] = np.nan, 1e300, 0.0
    subjects = np.arange(2 * number) // 2
    records = subject_records(assumptions, covariates, points, subjects)
    assert_additive(assumptions, records, states_of(assumptions, 8), 4.0)
    several = replace(assumptions, covariate_range=(RANGE,) * 3)
    records = subject_records(several, np.stack([covariates] * 3, axis=-1), points, subjects)
    assert_additive(several, records, states_of(several, 4), 4.0)


@pytest.mark.parametrize(
    ("subjects", "size"),
    [(1, 32), (32, 32), (33, 64), (200, 256), (257, 256), (MANY - 1, CHUNK), (MANY, LARGE_CHUNK)],
)
def test_the_public_number_of_subjects_decides_how_many_are_computed_at_once(subjects, size):
    """Not how many there are, which is private under addition and removal."""
    public = assumed(Sphere(2), subjects, neighbours=ADD_OR_REMOVE)
    records = grouped(assumed(Sphere(2), 300), 9)
    for number in (1, 40, 300):
        chunks = contributions._chunks(public, take(records, range(number)))
        assert {len(part[-1]) for part in chunks} == {size}


@pytest.mark.parametrize("space", [Sphere(2), KendallPlanarShapes(8)], ids=str)
@pytest.mark.usefixtures("fine")
def test_large_chunks_are_additive(space):
    few = assumed(space, LARGE_CHUNK + 30, neighbours=ADD_OR_REMOVE)
    records, states = grouped(few, 9), states_of(few, 2)
    assert_additive(replace(few, subjects=MANY), records, states, 4.0, times=2)


# Spaces, lengths of shooting vectors and numbers of subjects at which sums of an earlier version
# depended on what other subjects were.
WEAK = {
    "S20": (Sphere(20), 2.0 * np.pi, 30),
    "Kendall8": (KendallPlanarShapes(8), np.pi, 21),
    "H5": (Hyperbolic(5), 10.0, 21),
    "SPD2": (SPD(2), 10.0, 21),
}


@pytest.mark.parametrize(("space", "length", "number"), WEAK.values(), ids=WEAK)
@pytest.mark.usefixtures("fine")
def test_old_weak_points_are_additive(space, length, number):
    """With shooting vectors as long as they may be, far records, and one in many copies."""
    public = {"shooting_vector_length": length, "footpoint_radius": 1.0}
    assumptions = assumed(space, number, records_per_subject=LIMIT, **public)
    covariates, points = draw_records(assumptions, number, 10, 1.5)
    # The first subject has all of its records.
    repeated = np.concatenate([[0] * (LIMIT - 1), np.arange(number)])
    records = subject_records(assumptions, covariates[repeated], points[repeated], repeated)
    states = states_of(assumptions, 16)
    states[:, 1] *= space.expand(length / space.norm(states[:, 0], states[:, 1]))
    assert_additive(assumptions, records, states, 8.0)


@pytest.mark.parametrize("size", [2, 3])
def test_one_record_moves_numbers_of_lengths_by_one_at_most(size):
    """Also where its distance comes out as no number, which is beyond all lengths."""
    assumptions = assumed(SPD(size), 1, footpoint_radius=2.0)
    far = np.diag([1e8, *[1e-8] * (size - 1)])
    found = []
    for point in (assumptions.centre, far):
        records = subject_records(assumptions, [40.0], point[None], ONE_EACH)
        for state in states_of(assumptions, 64):
            found.append(length_counts(assumptions, records, state, np.geomspace(1e-3, 100.0, 9)))
    found = np.array(found)
    assert np.all((found >= 0) & (found <= LOSS_LATTICE))
    assert np.all(np.diff(found, axis=1) >= 0)
    assert found[:64, -1].min() == LOSS_LATTICE


def test_no_subject_at_all():
    assumptions = assumed(Sphere(2), 1, neighbours=ADD_OR_REMOVE)
    records = take(grouped(assumptions, 9), [])
    assert covariate_sums(records) == ([0], [0])
    state = states_of(assumptions, 1)[0]
    assert gradient_sums(assumptions, records, state, 1.0, WINDOW) == [[0, 0]] * 2
    assert loss_sums(assumptions, records, states_of(assumptions, 1), 1.0).tolist() == [0]
    assert not matrix_of(assumptions, records, state).any()


@pytest.mark.parametrize("space", [Sphere(5), KendallPlanarShapes(5)], ids=str)
def test_contributions_fall_to_zero_before_the_cut_locus(space, monkeypatch):
    """Without a jump, so that rounding cannot decide whether a record counts."""
    monkeypatch.setattr(contributions, "CHUNK", FEW)
    assumptions = assumed(space, 400)
    rng = np.random.default_rng(10)
    state = assumptions.support.origin
    lengths = np.linspace(0.85, 0.9999, 400) * space.injectivity_radius
    direction = space.random_direction(rng, assumptions.centre)
    points = space.exp(assumptions.centre, space.expand(lengths) * direction)
    records = subject_records(assumptions, np.full(400, 45.0), points, ONE_EACH)
    each = each_gradient(assumptions, records, state)
    norms = np.sqrt(np.sum(each.astype(float) ** 2, axis=(1, 2)))
    assert norms[0] > 0.7 * LATTICE / np.sqrt(2.0)
    assert not each[lengths > 0.9991 * space.injectivity_radius].any()
    assert np.max(np.abs(np.diff(norms))) < 0.01 * LATTICE


# Public inputs at which numbers lose their digits


def rotated(condition):
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    matrix = turn @ np.diag([1.0, condition]) @ turn.T
    return 0.5 * (matrix + matrix.T)


FAR = {
    "SPD2 at 9e10": (SPD(2), rotated(9e10), 0.5),
    "H5 at 20": (Hyperbolic(5), np.eye(6)[0], 20.0),
    "H2 at 60": (Hyperbolic(2), np.eye(3)[0], 60.0),
    "H2 60 away": (Hyperbolic(2), np.array([np.cosh(60.0), np.sinh(60.0), 0.0]), 0.5),
    "SPD3 at 1e-160": (SPD(3), 1e-160 * np.eye(3), 1.0),
    "SPD2 at 1e120": (SPD(2), 1e120 * np.eye(2), 1.0),
}


@pytest.mark.parametrize(("space", "centre", "radius"), FAR.values(), ids=FAR)
@pytest.mark.filterwarnings("error")
def test_public_inputs_that_lose_digits_are_refused(space, centre, radius):
    """Before any record is seen."""
    with pytest.raises(DataError, match="lose their digits"):
        Assumptions(space, centre, radius, 1.0, (0.0, 1.0), 10)


@pytest.mark.parametrize("limits", [(1.0, np.nextafter(1.0, 2.0)), (1e15, 1e15 + 0.375)])
def test_ranges_narrower_than_their_digits_are_refused(limits):
    with pytest.raises(DataError, match="too narrow"):
        assumed(Euclidean(1), 5, covariate_range=limits)


KEPT = {
    "SPD2 of axes at 9e5": (SPD(2), np.diag([1.0, 9e5])),
    "SPD2 at 9e5": (SPD(2), rotated(9e5)),
    "H2 at 13": (Hyperbolic(2), np.array([np.cosh(13.0), np.sinh(13.0), 0.0])),
}


@pytest.mark.parametrize(("space", "centre"), KEPT.values(), ids=KEPT)
@pytest.mark.filterwarnings("error")
def test_far_centres_that_are_not_refused_keep_the_sensitivity(space, centre, monkeypatch):
    assumptions = assumed(space, 30, centre=centre)
    records, states = grouped(assumptions, 12), states_of(assumptions, 4)
    assert records.valid.all()
    with monkeypatch.context() as patch:
        patch.setattr(contributions, "CHUNK", FEW)
        for state in states:
            assert all(map(within, each_gradient(assumptions, records, state)))
    monkeypatch.setattr(contributions, "LATTICE", FINE)
    monkeypatch.setattr(contributions, "LOSS_LATTICE", FINE)
    assert_additive(assumptions, records, states, 4.0)


# Sums of covariates


def one_subject(covariates, number=1):
    """Records of one subject with a number of covariates each."""
    x = np.reshape(covariates, (1, -1, number))
    valid = np.ones(x.shape[:2], bool)
    return SubjectRecords(x, np.zeros(x.shape), valid, np.array([valid.size]))


def moments_of_subjects():
    """Of some with one record on a grid, and with several at random and extreme places."""
    rng = np.random.default_rng(13)
    subjects = [*np.linspace(-0.5, 0.5, 801)]
    for number in rng.integers(1, LIMIT + 1, 100):
        subjects.append(rng.choice([-0.5, -0.125, 0.0, 0.1, 0.5], number))
        subjects.append(rng.uniform(-0.5, 0.5, number))
    sums = [covariate_sums(one_subject(x)) for x in subjects]
    return np.reshape(sums, (-1, 2)) / [COVARIATE_LATTICE, COVARIATE_LATTICE**2]


RATIO = moments.MOMENT_RATIO
BOUNDS = {
    "Laplace": (moments.LAPLACE_MOMENTS, lambda change: np.abs(change) @ [1.0, RATIO]),
    "Gaussian": (moments.GAUSSIAN_MOMENTS, lambda change: change**2 @ [1.0, RATIO**2]),
}


@pytest.mark.parametrize(("bounds", "size"), BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("changes", [1, 2])
def test_constants_of_the_moments_are_bounds(bounds, size, changes):
    """Of all pairs of subjects on a grid; and less than one and a half per cent too large."""
    found = moments_of_subjects()
    differences = found if changes == 1 else (found[:, None] - found[None]).reshape(-1, 2)
    largest = np.max(size(differences))
    assert largest <= bounds[changes] * moments.FOR_ROUNDING
    assert largest > 0.985 * bounds[changes]


@pytest.mark.parametrize("number", [2, 3, 4])
def test_sums_of_several_moments_change_by_their_bound_at_most(number):
    rng, found = np.random.default_rng(1), []
    subjects = [rng.choice([-0.5, 0.5], size=(rng.integers(1, 3), number)) for _ in range(150)]
    for x in [*subjects, *rng.uniform(-0.5, 0.5, size=(50, number))]:
        first, second = map(np.array, covariate_sums(one_subject(x, number)))
        found.append([*first / COVARIATE_LATTICE, *second / COVARIATE_LATTICE**2])
    found = moments.moment_weights(number) * np.array(found)
    for changes, others in ((1, 0.0), (2, found[:, None])):
        largest = np.max(np.linalg.norm(found - others, axis=-1))
        assert largest <= moments.moments_change(number, changes)
        # Corners that are orthogonal are the worst; there are none in three dimensions.
        assert largest > (0.9 if number == 3 else 0.95) * moments.moments_change(number, changes)


def test_covariate_sums_are_additive_sums_of_means():
    """Bit by bit, whatever the order."""
    records = grouped(assumed(Sphere(2), 300, records_per_subject=LIMIT), 14)
    whole = np.array(covariate_sums(records), dtype=object)
    for total, power in zip(whole, (1, 2), strict=True):
        assert type(total[0]) is int
        means = np.sum(records.covariates[..., 0] ** power, axis=1) / records.counts
        # Each of 300 subjects is rounded by less than two steps of the lattice.
        found = total[0] / COVARIATE_LATTICE**power
        assert found == pytest.approx(means.sum(), abs=600 / COVARIATE_LATTICE)
    order = np.random.default_rng(15).permutation(300)
    parts = [covariate_sums(take(records, part)) for part in (order[:150], order[150:])]
    assert np.all(np.sum(np.array(parts, dtype=object), axis=0) == whole)


HALF = COVARIATE_LATTICE // 2


@pytest.mark.parametrize(
    ("steps", "first", "second"),
    [
        # Covariates beyond the range are clipped as integers, whatever scaling did to them.
        ([0.9 * COVARIATE_LATTICE], HALF, HALF**2),
        ([-3.0 * COVARIATE_LATTICE], -HALF, HALF**2),
        # Parts of a step are left out towards zero: those of a covariate, and those of a mean.
        ([4.7], 4, 16),
        ([-4.7], -4, 16),
        ([1, 2], 1, 2),
        ([-1, -2], -1, 2),
        ([-1, -1, -3], -1, 3),
    ],
)
def test_covariates_are_rounded_towards_zero(steps, first, second):
    x = np.array(steps) / COVARIATE_LATTICE
    assert covariate_sums(one_subject(x)) == ([first], [second])


# Bad records


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bad", [np.nan, -1e308, 0.0])
def test_bad_records_contribute_nothing_and_nobody_is_told(manifold, bad):
    assumptions = assumed(manifold, 5)
    covariates, points = draw_records(assumptions, 5, 8)
    points[2] = bad
    covariates[3] = np.nan
    records = subject_records(assumptions, covariates, points, ONE_EACH)
    states = states_of(assumptions, 2, 9)
    each = each_gradient(assumptions, records, states[0])
    assert each[:2].any(axis=(1, 2)).all()
    assert not each[3].any()
    assert loss_sums(assumptions, take(records, [3]), states, CLIP).tolist() == [LOSS_LATTICE] * 2
    matrices = [matrix_of(assumptions, take(records, [k]), states[0]) for k in range(5)]
    assert matrices[0].any()
    assert not matrices[3].any()
    with np.errstate(all="ignore"):
        invalid = manifold.invalid_reason(points[2]) is not None
    # In flat space some records are points too far away to count.
    assert not (invalid and records.valid[2])
    if not records.valid[2]:
        assert not each[2].any()
        assert not matrices[2].any()


# Steps


def test_without_noise_steps_lead_to_the_fit(manifold, monkeypatch):
    """With covariates spread evenly, whose fixed point is that of the gradient."""
    monkeypatch.setattr(exact_noise, "rounded_laplace", lambda bits, dim, scale: [0] * dim)
    number = 61
    assumptions = assumed(manifold, number, footpoint_radius=0.5, shooting_vector_length=1.0)
    rng = np.random.default_rng(11)
    p = manifold.exp(assumptions.centre, 0.1 * manifold.random_direction(rng, assumptions.centre))
    v = 0.3 * manifold.random_direction(rng, p)
    x = np.linspace(-0.5, 0.5, number)
    clean = manifold.exp(p, manifold.expand(x) * v)
    noise = 0.02 / np.sqrt(manifold.dim) * manifold.random_tangent(rng, clean)
    points = manifold.exp(clean, noise)
    records = subject_records(assumptions, 45.0 + 50.0 * x, points, ONE_EACH)
    step = NoisyStep(10000, clip=10.0)
    plan = ReleasePlan(assumptions, PrivacyBudget("1e6"), (step,) * 25, 1.0, 1.0, 1.0)
    found = run_plan(plan, records, None).state
    model = GeodesicModel(manifold)
    fit = model.fit(x + 0.5, points)
    assert fit.converged
    for at in (0.0, 0.5, 1.0):
        expected = model.predict(fit.parameters, np.array([at]))[0]
        away = manifold.dist(manifold.exp(found[0], (at - 0.5) * found[1]), expected)
        assert away < 1e-5


@pytest.mark.parametrize("reach", [10.0, 1.3])
def test_without_noise_a_matrix_leads_to_least_squares(manifold, reach, monkeypatch):
    """Of residuals about the centre, with weights, of covariates in clumps."""
    monkeypatch.setattr(Noise, "add", lambda noise, sums, bits: sums)
    assumptions = assumed(manifold, 61, covariate_range=((-0.5, 0.5),) * 2)
    rng, origin, size = np.random.default_rng(11), assumptions.support.origin, (3, manifold.dim)
    x = rng.beta(2.0, 5.0, (61, 2)) - 0.5
    true, _ = moved(assumptions, origin, 0.1 / np.sqrt(manifold.dim) * rng.normal(size=size))
    clean = manifold.ends(true[0], true[1:], x)
    points = manifold.exp(clean, 1e-3 / np.sqrt(manifold.dim) * manifold.random_tangent(rng, clean))
    records = subject_records(assumptions, x, points, ONE_EACH)
    stage = MatrixStage(10**6, clip=1.0, prior=(1.0,) * 3, reach=reach)
    plan = ReleasePlan(assumptions, PrivacyBudget("1e6"), (stage,), 1.0, 1.0, 1.0)
    found = run_plan(plan, records, None).state
    rows = np.column_stack([np.ones(61), x])
    long = np.linalg.norm(rows / stage.widths(assumptions), axis=1, keepdims=True)
    weights = 1.0 / np.maximum(long, reach)
    residuals = manifold.coordinates(origin[0], manifold.log(origin[0], points))
    expected = np.linalg.lstsq(weights * rows, weights * residuals)[0]
    np.testing.assert_allclose(found, moved(assumptions, origin, expected)[0], atol=1e-6)
    # To first order in curved space that is the fit.
    assert np.max(manifold.dist(manifold.ends(found[0], found[1:], x), clean)) < 3e-3


@pytest.mark.parametrize(("size", "radius"), [(1.0, 0.6), (1e300, 0.6), (3.0, None)])
@pytest.mark.filterwarnings("error")
def test_a_step_stays_in_the_support(manifold, size, radius):
    vectors = radius and 2.0 * radius
    assumptions = assumed(manifold, 4, footpoint_radius=radius, shooting_vector_length=vectors)
    rng = np.random.default_rng(13)
    (state,) = states_of(assumptions, 1)
    for _ in range(5):
        state, reached = moved(assumptions, state, size * rng.normal(size=(2, manifold.dim)))
        assert assumptions.support.contains(state[None])[0]
        p, vector = state
        lengths = [manifold.dist(assumptions.centre, p), manifold.norm(p, vector)]
        kept = np.minimum(reached, 1.0) * assumptions.support.radii
        np.testing.assert_allclose(lengths, kept, rtol=1e-6)
