"""The examples of the README and of the pages run as they stand there."""

import re
from pathlib import Path

import pytest
import yaml

from reproduction.configuration import validate
from reproduction.studies import expand

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", page.read_text())


EXAMPLES = [(page.name, text) for page in PAGES for text in blocks(page, "python")]


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_example_runs(name, example, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(example, name, "exec"), {})
    said = capsys.readouterr().out
    # What the example says it prints, up to remarks.
    for promised in re.findall(r"print\(.*\)  +# (pure.*)", example):
        assert f"{promised}\n" in said
    assert said


def test_own_study_is_a_configuration(tmp_path, monkeypatch):
    (table,), (text,) = blocks(README, "csv"), blocks(README, "yaml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text(table)
    studies = expand(validate(yaml.safe_load(text)))
    assert [(study.source, study.mechanism) for study in studies.values()] == [
        ("table", "certified")
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", page.read_text())
    assert not [link for link in links if link and not (page.parent / link).exists()]


def test_nothing_is_left_to_fill_in():
    assert not re.findall(r"(?m)^[A-Z_]{5,}$|\bTIME_[A-Z]+\b", README.read_text())
