"""What one subject is does not change, by a last digit, what others contribute.

Lattices are so fine here that a last digit of a double shows: `fine`.
"""

from dataclasses import replace

import numpy as np
import pytest
import test_contributions as common
from scipy.linalg import block_diag
from test_public_inputs import rotated

from geodp import SPD, Hyperbolic, Sphere
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp_release.promise.public_inputs import ADD_OR_REMOVE
from geodp_release.run import contributions
from geodp_release.run.clipping_coordinates import ClippingCoordinates
from geodp_release.run.contributions import CHUNK, LARGE_CHUNKS, gradient_sums, loss_sums
from geodp_release.run.covariate_moments import matrix_moments
from geodp_release.run.subjects import subject_records

# Steps of the fine lattices, which are near those of doubles.
FINE = 1 << 50


@pytest.fixture
def fine(monkeypatch):
    """Lattices on which last digits of contributions show."""
    monkeypatch.setattr(contributions, "LATTICE", FINE)
    monkeypatch.setattr(contributions, "LOSS_LATTICE", FINE)
    monkeypatch.setattr(contributions, "MATRIX_LATTICE", FINE)


def gradients_of(assumptions, records, state, clip=common.CLIP):
    window = common.WINDOW
    if assumptions.number_of_covariates > 1:
        # Covariates that go together.
        parts = np.tril(np.full((assumptions.number_of_covariates,) * 2, 0.1))
        window = ClippingCoordinates.about(matrix_moments(block_diag(1.0, parts @ parts.T)))
    return np.array(gradient_sums(assumptions, records, state, clip, window))


def assert_additive(assumptions, records, states, clip, seed=8, times=4):
    """Sums of two parts of the subjects, in any order, are those of all, bit by bit."""
    rng = np.random.default_rng(seed)
    number = len(records)
    losses = loss_sums(assumptions, records, states, clip)
    gradients = gradients_of(assumptions, records, states[0], clip)
    matrix = common.matrix_of(assumptions, records, states[0], clip)
    assert np.any(losses % 1024)
    assert np.any(gradients)
    assert np.any(matrix % 1024)
    parts = [rng.permutation(number) for _ in range(times)]
    cuts = [1, number - 1, *rng.integers(1, number, size=times)][:times]
    for order, cut in zip(parts, cuts, strict=True):
        both = records.take(order[:cut]), records.take(order[cut:])
        found = [loss_sums(assumptions, each, states, clip) for each in both]
        np.testing.assert_array_equal(found[0] + found[1], losses)
        found = [gradients_of(assumptions, each, states[0], clip) for each in both]
        np.testing.assert_array_equal(found[0] + found[1], gradients)
        found = [common.matrix_of(assumptions, each, states[0], clip) for each in both]
        # On fine lattices products have their last 64 bits alone.
        assert not np.any((found[0] + found[1] - matrix) % 2**64)


@pytest.mark.usefixtures("fine")
def test_removal_and_order_leave_other_subjects_as_they_are(manifold):
    """Whatever they are: some far, no points, or no numbers at all."""
    number = CHUNK + 30
    assumptions = common.assumed(manifold, number, records_per_subject=2)
    covariates, points = common.draw_records(assumptions, 2 * number, 9)
    points[0] = common.draw_records(assumptions, 1, 7, 3.0)[1][0]
    points[1], points[2], points[3] = np.nan, 1e300, 0.0
    subjects = np.arange(2 * number) // 2
    records = subject_records(assumptions, covariates, points, subjects)
    assert_additive(assumptions, records, common.states_of(assumptions, 8), 4.0)
    several = replace(assumptions, covariate_range=(common.RANGE,) * 3)
    records = subject_records(several, np.stack([covariates] * 3, axis=-1), points, subjects)
    assert_additive(several, records, common.states_of(several, 4), 4.0)


# By public numbers of subjects.
CHUNK_SIZES = {1: 32, 33: 64, 200: 256, 257: 256, 800: 256, 900: 1024, 4000: 4096, 5000: 1024}


@pytest.mark.parametrize(
    ("space", "subjects", "size"),
    [*((Sphere(2), *each) for each in CHUNK_SIZES.items()), (SPD(20), 10**6, 256)],
    ids=str,
)
def test_what_is_public_decides_how_many_records_are_computed_at_once(space, subjects, size):
    """Not how many there are, which is private under addition and removal."""
    public = common.assumed(space, subjects, neighbours=ADD_OR_REMOVE)
    records = common.grouped(common.assumed(space, 300), 9)
    for number in (1, 40, 300):
        chunks = contributions._chunks(public, records.take(range(number)))
        assert {len(part[-1]) for part in chunks} == {size}


@pytest.mark.parametrize("size", LARGE_CHUNKS)
@pytest.mark.parametrize("space", [Sphere(2), SPD(2), SPD(3), KendallPlanarShapes(8)], ids=str)
@pytest.mark.usefixtures("fine")
def test_large_chunks_are_additive(space, size):
    few = common.assumed(space, size + 30, neighbours=ADD_OR_REMOVE)
    records, states = common.grouped(few, 9), common.states_of(few, 2)
    assert_additive(replace(few, subjects=5 * size), records, states, 4.0, times=2)


# Spaces, centres, lengths of shooting vectors and numbers of subjects at which sums of an earlier
# version depended on what other subjects were; and centres as far away as is not refused.
HARD = {
    "S20": (Sphere(20), None, 2.0 * np.pi, 30),
    "Kendall8": (KendallPlanarShapes(8), None, np.pi, 21),
    "H5": (Hyperbolic(5), None, 10.0, 21),
    "SPD2": (SPD(2), None, 10.0, 21),
    "SPD2 of axes at 9e5": (SPD(2), np.diag([1.0, 9e5]), 1.2, 30),
    "SPD2 at 9e5": (SPD(2), rotated(9e5), 1.2, 30),
    "H2 at 13": (Hyperbolic(2), np.array([np.cosh(13.0), np.sinh(13.0), 0.0]), 1.2, 30),
}


@pytest.mark.parametrize(("space", "centre", "length", "number"), HARD.values(), ids=HARD)
@pytest.mark.filterwarnings("error")
@pytest.mark.usefixtures("fine")
def test_hard_cases_are_additive_and_keep_the_sensitivity(
    space, centre, length, number, monkeypatch
):
    """With shooting vectors as long as they may be, far records, and one in many copies."""
    public = {"shooting_vector_length": length, "records_per_subject": common.LIMIT}
    public |= {"footpoint_radius": 1.0} if centre is None else {"centre": centre}
    assumptions = common.assumed(space, number, **public)
    spread = 1.5 if centre is None else 0.3
    covariates, points = common.draw_records(assumptions, number, 10, spread)
    # The first subject has all of its records.
    repeated = np.concatenate([[0] * (common.LIMIT - 1), np.arange(number)])
    records = subject_records(assumptions, covariates[repeated], points[repeated], repeated)
    states = common.states_of(assumptions, 16)
    states[:, 1] *= space.expand(length / space.norm(states[:, 0], states[:, 1]))
    assert_additive(assumptions, records, states, 8.0)
    monkeypatch.undo()
    monkeypatch.setattr(contributions, "CHUNK", common.FEW)
    for state in states:
        assert all(map(common.within, common.each_gradient(assumptions, records, state)))
