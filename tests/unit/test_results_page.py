"""What pages of the documentation say of results has its place."""

import pytest

from geodp.errors import DataError
from reproduction.results_page import with_block

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
