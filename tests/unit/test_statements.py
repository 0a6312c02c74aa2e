"""The list of what the papers state: nothing that is judged is missing, nothing is unexplained."""

import csv
from collections import Counter
from pathlib import Path

import pytest

PUBLISHED = Path(__file__).resolve().parents[2] / "resources" / "published"
JUDGED = {"computed", "by construction", "not refuted", "by proof", "not decidable", "not judged"}


def rows(name):
    with open(PUBLISHED / name, encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


STATEMENTS = rows("statements.csv")


@pytest.mark.parametrize("paper", sorted({row["paper"] for row in STATEMENTS}))
def test_the_list_names_every_judged_sentence_and_no_other(paper):
    judged = {row["claim"].partition(".")[0] for row in rows(f"{paper}_claims.csv")}
    assert {row["claim"] for row in STATEMENTS if row["paper"] == paper} - {""} == judged


def test_each_statement_has_a_judgement_with_its_claim_or_its_reason():
    assert {row["judged"] for row in STATEMENTS} <= JUDGED
    computed = [row for row in STATEMENTS if row["judged"] in ("computed", "not refuted")]
    assert [row["statement"] for row in computed if not row["claim"]] == []
    others = [row for row in STATEMENTS if row not in computed]
    assert [row["statement"] for row in others if not (row["reason"] or row["claim"])] == []


def test_no_statement_stands_twice():
    counts = Counter((row["paper"], row["place"], row["statement"]) for row in STATEMENTS)
    assert [key for key, count in counts.items() if count > 1] == []
