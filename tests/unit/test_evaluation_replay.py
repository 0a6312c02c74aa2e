"""Record and replay of whole releases on neighbouring tables, and mistakes that it has to see."""

from fractions import Fraction
from types import SimpleNamespace

import pytest

import replay
from geodp.samplers.integer_choice import system_bits
from geodp_release.run.noise import LaplaceNoise
from geodp_release.run.replay import Tape
from planted import FAULTS, first_seen, planted, tried
from scenarios import SCENARIOS

# Seen after more than a hundred pairs: the rule `planted` alone tries these.
RARE = [
    *("a window from the data", "products clipped part by part", "numbers by their text"),
    *("a formula by the number of matrices", "labels of .nts that shift"),
]
# Seen in a few pairs.
SOON = [
    *("tau from the data", "widths from the data", "clipping after the sum", "a file elsewhere"),
    *("labels without their ends", "any break ends a row", "a crash at an extreme number"),
    *("garbage refused by its records", "bad records counted on standard error"),
    *("bad records counted past Python", "a fingerprint in the ledger's words"),
]


@pytest.mark.parametrize(
    ("space", "by", "number"),
    [
        (space, by, number)
        for (space, by, _), number in zip(replay.WAYS, replay.divided(300), strict=True)
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "name", ""),
)
def test_releases_of_neighbours_differ_in_their_noise_alone(space, by, number):
    rows = replay.search(space, by, number, key=1)
    assert [(row["findings"], row["pair"]) for row in rows if row["findings"]] == []
    assert len(rows) == number
    # Neighbours are as far apart as they may be, or nearly; the first pairs are simple, and alike.
    assert number < 10 or max(row["share"] for row in rows) > 0.2


@pytest.mark.parametrize("name", SOON)
def test_a_mistake_that_is_planted_is_seen(name):
    pairs, finding = first_seen(name, key=1, turns=1)
    assert pairs
    assert finding


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FAULTS.keys() - {*SOON, *RARE, *SCENARIOS}))
def test_a_mistake_that_is_less_common_is_seen(name):
    assert first_seen(name, key=1)[0]


@pytest.mark.parametrize("name", RARE)
def test_a_rare_mistake_can_be_planted(name):
    with planted(name):
        pass


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_of_a_scenario_is_seen_where_it_is_planted_alone(name):
    assert not tried(name, is_mistaken=False)
    assert tried(name, is_mistaken=True)


@pytest.mark.slow
@pytest.mark.parametrize("space", replay.SPACES, ids=str)
def test_pages_and_pictures_are_functions_of_the_release(space):
    rows = replay.search(space, replay.BY_COMMAND, 2, key=2, whole=1)
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


def test_outputs_that_differ_and_releases_that_fail_are_findings(monkeypatch):
    """Of the same calls and times."""
    monkeypatch.setattr(replay, "call_findings", lambda *_: ([], 0))

    def run(pair, index, **_):
        return {"status": "2", "words": f"row {index}"}, 1.0

    runner = SimpleNamespace(run=run)
    _, row = replay.compared(runner, SimpleNamespace(kind="replaced"), replay.BY_FUNCTION)
    assert row["findings"] == ["words differs: 'row 0' and 'row 1'", "neither was released: 2"]
