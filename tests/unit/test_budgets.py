"""Budgets keep their digits, and pairs of them add up to the total exactly."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import DataError
from geodp.mechanisms.budgets import budget_pairs, cell_name, parse_budget

amounts = st.decimals("0.001", "100", places=3)


@pytest.mark.parametrize("text", ["0.02", "2.00", "1", "1e-3", 0.5, 2])
def test_budget_is_the_number_it_reads(text):
    assert parse_budget(text, "key") == Decimal(str(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "key: a budget must be above zero and is 0"),
        ("0.00", "key: a budget must be above zero and is 0.00"),
        ("-1", "key: a budget must be above zero and is -1"),
        ("nan", "key: a budget must be above zero and is nan"),
        ("inf", "key: a budget must be above zero and is inf"),
        (float("nan"), "key: a budget must be above zero and is nan"),
        ("abc", "key: 'abc' is not a number: give a budget such as \"0.5\""),
        ("", "key: '' is not a number: give a budget such as \"0.5\""),
        ("1,5", "key: '1,5' is not a number: give a budget such as \"0.5\""),
    ],
)
def test_what_is_no_budget(text, message):
    with pytest.raises(DataError) as refusal:
        parse_budget(text, "key")
    assert str(refusal.value) == message


def test_totals_are_halved():
    pairs = budget_pairs({"totals": ["0.2", "1.0", 2]}, "key")
    assert pairs == [("0.1", "0.1"), ("0.5", "0.5"), ("1", "1")]


def test_rest_of_a_total_goes_to_the_shooting_vector():
    pairs = budget_pairs({"total": "2.02", "footpoint": ["0.02", "1.12", "2.00"]}, "key")
    assert pairs == [("0.02", "2.00"), ("1.12", "0.90"), ("2.00", "0.02")]


@pytest.mark.parametrize("part", ["2.02", "2.020", "3"])
def test_nothing_may_be_left_for_the_shooting_vector(part):
    with pytest.raises(DataError, match=r"^key\.footpoint\[1\]: .* leaves nothing of the total"):
        budget_pairs({"total": "2.02", "footpoint": ["1", part]}, "key")


def test_messages_name_the_entry():
    with pytest.raises(DataError, match=r"^key\.totals\[2\]: "):
        budget_pairs({"totals": ["1", "2", "x"]}, "key")
    with pytest.raises(DataError, match=r"^key\.total: "):
        budget_pairs({"total": "0", "footpoint": ["1"]}, "key")
    with pytest.raises(DataError, match=r"^key\.footpoint\[0\]: "):
        budget_pairs({"total": "1", "footpoint": ["-1"]}, "key")


@given(total=amounts, share=st.floats(0.01, 0.99))
def test_parts_add_up_exactly(total, share):
    (half, other_half), *_ = budget_pairs({"totals": [str(total)]}, "key")
    assert Decimal(half) + Decimal(other_half) == total
    # Binary fractions of a total would not add up to it.
    part = (total * Decimal(share)).quantize(Decimal("0.0001"))
    if 0 < part < total:
        [(first, second)] = budget_pairs({"total": str(total), "footpoint": [str(part)]}, "key")
        assert Decimal(first) == part
        assert Decimal(first) + Decimal(second) == total
        assert Decimal(second) > 0


def test_names_keep_the_digits():
    assert cell_name("0.5", "0.5") == "p0.5_v0.5"
    assert cell_name("0.90", "1.12") == "p0.90_v1.12"
