"""Property testers of whole releases: what they know the answer of, and mistakes they must find."""

import numpy as np
import pytest

from geodp.audit.testers import TESTERS, property_test
from geodp.samplers.integer_choice import generator_bits
from geodp_release.draw import run_plan
from geodp_release.subjects import ONE_EACH, subject_records
from reproduction.measurements.audit import releases
from reproduction.measurements.audit.releases import cases, released_columns

# Mistakes have to be found in fewer draws than those that find none where there is none.
STATED, DRAWS, FEW = 2.0, 4000, 2000
NAMES = ["first", "second", "third"]


def laplace_pair(shift, seed, number=20_000):
    """Laplace noise of scale one on a number that moves by a shift, beside what tells nothing."""
    rng = np.random.default_rng(seed)
    columns = [rng.laplace(size=(number, 3)) for _ in range(2)]
    columns[0][:, 1] += shift
    return columns


@pytest.mark.parametrize("learn", TESTERS.values(), ids=TESTERS)
def test_the_budget_of_laplace_noise_is_bounded_closely(learn):
    assert 1.6 < property_test(laplace_pair(2.0, 1), NAMES, learn).bound <= 2.0


@pytest.mark.parametrize("learn", TESTERS.values(), ids=TESTERS)
def test_what_two_columns_tell_together_is_found(learn):
    """Each alone has the same distribution: their signs agree, or do not."""
    rng = np.random.default_rng(2)
    one, other = (rng.normal(size=(20_000, 3)) for _ in range(2))
    one[:, 2] = np.sign(one[:, 0]) * np.abs(one[:, 2])
    assert property_test((one, other), NAMES, learn).bound > 0.6


@pytest.mark.parametrize("learn", TESTERS.values(), ids=TESTERS)
def test_bounds_exceed_a_budget_as_seldom_as_their_confidence_says(learn):
    """Nothing differs: of 40 bounds at 0.9 above zero some 4, and 14 next to never."""
    above = [
        property_test(laplace_pair(0.0, [3, k], 800), NAMES, learn, 0.9).bound > 0.0
        for k in range(40)
    ]
    assert np.sum(above) < 14


@pytest.mark.parametrize("space", releases.SPACES)
def test_what_is_tested_are_releases(space):
    """Sums that are kept change nothing: the same bits give the same numbers."""
    for case in cases(space, STATED)[:4]:
        streams = [np.random.default_rng(k) for k in (1, 2)]
        names, columns = released_columns(case, streams, 4)
        assumptions = case.plan.assumptions
        for k, data in enumerate(case.data):
            records = subject_records(assumptions, *data, ONE_EACH)
            bits = generator_bits(np.random.default_rng(k + 1))
            found = [run_plan(case.plan, records, bits) for _ in range(4)]
            place = names.index("footpoint 1")
            away = assumptions.manifold.log(assumptions.centre, found[-1].state[0])
            frame = assumptions.manifold.frame(assumptions.centre)
            first = assumptions.manifold.coordinates(assumptions.centre, away, frame)[0]
            assert columns[k][-1, place] == pytest.approx(first, rel=1e-12)
            if "number" in names:
                numbers = [each.number for each in found]
                assert columns[k][:, names.index("number")].tolist() == numbers


@pytest.mark.slow
def test_releases_keep_their_budget_and_mistakes_are_refuted():
    for k, case in enumerate(cases("sphere", STATED)):
        streams = [np.random.default_rng([4, k, which]) for which in (0, 1)]
        is_right = case.name == "release"
        names, columns = released_columns(case, streams, DRAWS if is_right else FEW)
        for learn in TESTERS.values():
            found = property_test(columns, names, learn, 0.99).bound
            assert (found <= STATED) == is_right, (case.name, case.stages, found)
