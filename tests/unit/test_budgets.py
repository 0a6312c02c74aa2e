"""Budgets keep their digits, and their parts add up to the total."""

from decimal import Decimal

import pytest
from cohort import REFUSALS
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import DataError
from geodp.mechanisms.budgets import cell_name, divided_budgets, parse_budget
from geodp.mechanisms.registry import budget_names
from geodp.models.blocks import block_names

REGRESSION = ("footpoint", "shooting_vector")
amounts = st.decimals("0.001", "100", places=3)


def test_a_budget_is_the_number_it_reads():
    for text in ("0.02", "2.00", "1", "1e-3", 0.5, 2):
        assert parse_budget(text, "key") == Decimal(str(text))
    for text in ("0.00", "-1", "nan", "inf", float("nan")):
        with pytest.raises(DataError, match=f"^key: a budget must be above zero and is {text}$"):
            parse_budget(text, "key")
    for text in ("abc", "1,5"):
        with pytest.raises(DataError, match=f"^key: '{text}' is not a number: give a budget such"):
            parse_budget(text, "key")


def test_totals_are_divided_equally():
    grid = {"totals": ["0.2", "1.0", 2]}
    found = divided_budgets(grid, REGRESSION, "key")
    assert found == [dict.fromkeys(REGRESSION, text) for text in ("0.1", "0.5", "1")]
    assert divided_budgets(grid, ("all",), "key") == [{"all": text} for text in ("0.2", "1.0", "2")]
    [third, *_] = divided_budgets(grid, block_names(2), "key")
    assert third == dict.fromkeys(
        ("footpoint", "shooting_vector_1", "shooting_vector_2"), "0.0666666666666"
    )


@pytest.mark.parametrize(("grid", "names", "says"), REFUSALS["grids"])
def test_what_cannot_be_divided_is_refused_by_its_entry(grid, names, says):
    with pytest.raises(DataError, match=says):
        divided_budgets(grid, names, "key")


@given(amounts, st.floats(0.01, 0.99), st.integers(1, 6), st.sampled_from(REGRESSION))
def test_parts_add_up(total, share, blocks, block):
    [budgets] = divided_budgets({"totals": [str(total)]}, block_names(blocks - 1), "key")
    spent = sum(Decimal(text) for text in budgets.values())
    assert total * (1 - Decimal("1e-10")) < spent <= total
    assert len(set(budgets.values())) == 1
    # Binary fractions of a total would not add up to it.
    part = (total * Decimal(share)).quantize(Decimal("0.0001"))
    if 0 < part < total:
        [split] = divided_budgets({"total": str(total), block: [str(part)]}, REGRESSION, "key")
        assert (tuple(split), split[block]) == (REGRESSION, str(part))
        assert sum(map(Decimal, split.values())) == total


@pytest.mark.parametrize(
    ("budgets", "name"),
    [
        ({"footpoint": "0.5", "shooting_vector": "0.5"}, "p0.5_v0.5"),
        ({"footpoint": "0.90", "shooting_vector": "1.12"}, "p0.90_v1.12"),
        ({"footpoint": "1.0"}, "p1.0"),
        ({"all": "1.0"}, "all1.0"),
        (dict.fromkeys(block_names(2), "0.5"), "p0.5_v1-0.5_v2-0.5"),
    ],
)
def test_names_keep_the_digits(budgets, name):
    assert cell_name(budgets) == name


def test_budgets_of_the_mechanisms():
    assert budget_names("kng_as_published", 1) == REGRESSION
    assert budget_names("release", 3) == ("all",)
    assert budget_names("laplace", 0) == ("footpoint",)
    with pytest.raises(DataError, match="is not one of kng_as_published, release, laplace"):
        budget_names("as_published", 1)
