"""What pages of the documentation say of results: tables of the audit, and their places."""

import pandas as pd
import pytest

from geodp.errors import DataError
from reproduction.results_page import audit_losses, audit_testers, with_block

TEXT = (
    "Before.\n<!-- losses -->\nold\n<!-- end -->\nBetween.\n<!-- testers -->\nkept\n<!-- end -->\n"
)


def test_a_block_is_replaced_and_no_other():
    assert with_block(TEXT, "losses", r"new \1") == TEXT.replace("old", r"new \1")


@pytest.mark.parametrize(
    ("name", "block", "words"),
    [("walks", "new", "no mark <!-- walks -->"), ("losses", "\n", "nothing to write")],
)
def test_a_missing_mark_or_an_empty_block_is_refused_in_a_sentence(name, block, words):
    with pytest.raises(DataError, match=words) as refused:
        with_block(TEXT, name, block)
    assert "\n" not in str(refused.value)


def test_losses_are_those_of_the_middle_budget_and_of_few_records(tmp_path):
    columns = ["mechanism", "n", "stated", "realised", "verdict"]
    rows = [
        ("a", n, stated, 10 * n + stated, "exceeded") for n in (2, 20, 50) for stated in (1, 2, 4)
    ]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "audit.csv", index=False)
    lines = audit_losses(tmp_path / "audit.csv").splitlines()
    assert lines[0] == "| density | n | stated | realised loss | verdict |"
    assert lines[2:] == ["| a | 20 | 2 | 202 | exceeded |", "| a | 2 | 2 | 22 | exceeded |"]


def test_of_two_testers_the_larger_bound_counts(tmp_path):
    columns = ["mechanism", "stages", "space", "tester", "bound"]
    rows = [
        ("release", "one step", space, tester, bound)
        for space, bounds in {"S^2": (0.5, 1.5), "SPD(2)": (0.75, 0.25)}.items()
        for tester, bound in zip(("first", "second"), bounds, strict=True)
    ]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "releases.csv", index=False)
    lines = audit_testers(tmp_path / "releases.csv").splitlines()
    assert lines[0].startswith("| releases | stages | on S^2, epsilon is above | on SPD(2)")
    assert lines[2:] == ["| release | one step | 1.5 | 0.75 |"]
