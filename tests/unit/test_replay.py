"""Record and replay of whole releases on neighbouring tables; and mistakes that it has to see."""

from fractions import Fraction

import pytest

from geodp.samplers.integer_choice import system_bits
from geodp_release.noise import LaplaceNoise
from geodp_release.replay import Tape
from reproduction.measurements.audit.mistakes import PLANTS
from reproduction.measurements.audit.replay import SPACES, divided, first_seen, search, ways
from reproduction.measurements.audit.runs import BY_COMMAND
from reproduction.measurements.audit.scenarios import SCENARIOS, tried

PAIRS = 300


@pytest.mark.parametrize(
    ("space", "by", "number"),
    [(space, by, number) for (space, by, _), number in zip(ways(), divided(PAIRS), strict=True)],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "name", ""),
)
def test_releases_of_neighbours_differ_in_their_noise_alone(space, by, number):
    rows = search(space, by, int(number), key=1)
    assert [(row["findings"], row["pair"]) for row in rows if row["findings"]] == []
    assert len(rows) == number
    # Neighbours are as far apart as they may be, or nearly.
    assert max(row["share"] for row in rows) > 0.2


# The exact audit of stages sees it.
@pytest.mark.parametrize("name", sorted(PLANTS.keys() - {"half the sensitivity"}))
def test_a_mistake_that_is_planted_is_seen(name):
    pairs, finding = first_seen(name, key=1)
    assert pairs is not None
    assert finding


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_of_a_scenario_is_seen_where_it_is_planted_alone(name):
    assert tried(name, is_mistaken=False) == ""
    assert tried(name, is_mistaken=True)


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_pages_and_pictures_are_functions_of_the_release(space):
    rows = search(space, BY_COMMAND, 2, key=2, whole=1)
    assert [row["is_whole"] for row in rows] == [False, True]
    assert [row["findings"] for row in rows] == [[], []]


def test_what_is_recorded_is_played():
    """Outputs of a run with the same calls, whatever the noise; of other calls their own."""
    noise = LaplaceNoise((Fraction(10**9),))
    first = Tape()
    with first.running():
        one = noise.add([[1, 2]], system_bits).tolist()
    second = Tape(recorded=first.calls)
    with second.running():
        assert noise.add([[5, 6]], system_bits).tolist() == one
        assert noise.add([[5, 6]], system_bits).tolist() != one
    assert [call.inputs for call in second.calls] == [[5, 6], [5, 6]]
    other = Tape(recorded=first.calls)
    with other.running():
        assert LaplaceNoise((Fraction(10**9 + 1),)).add([[1, 2]], system_bits).tolist() != one
