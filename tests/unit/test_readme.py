"""The examples of the README and of the pages run as they stand there."""

import ast
import doctest
import json
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

from geodp.manifolds.registry import MANIFOLDS
from geodp_release.ask.settings import ReleaseSettings
from reproduction.configuration import validate
from reproduction.expansion import expand

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", page.read_text())


def examples(page):
    """Blocks of Python, each with the block of text after it: what it prints, or nothing."""
    text = page.read_text()
    return re.findall(r"(?ms)^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", text)


# They plan and release several times.
SLOW = ("releases.md", "tutorial.md")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.slow] * (page.name in SLOW))
        for page in PAGES
        if examples(page)
    ],
)
def test_examples_run(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for example, shown in examples(page):
        if "import dask" in example:
            continue  # see below
        exec(compile(example, page.name, "exec"), names)
        said = capsys.readouterr().out
        # What the example says it prints, up to remarks.
        for promised in re.findall(r"print\(.*\)  +# (pure.*)", example):
            assert f"{promised}\n" in said
        assert bool(said) == ("print(" in example or bool(shown))
        same = doctest.OutputChecker().check_output(shown, said, doctest.ELLIPSIS)
        assert same or not shown, said


@pytest.mark.dask
def test_example_of_dask_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (example,) = [text for text, _ in examples(ROOT / "docs/releases.md") if "import dask" in text]
    Path("records").mkdir()
    row = {"who": "a", "age": 30.0, "x": 0.0, "y": 0.0, "z": 1.0}
    pd.DataFrame([row] * 9).to_parquet("records/1.parquet")
    exec(compile(example, "releases.md", "exec"), names := {})
    assert names["release"].predict([45.0]).shape == (1, 3)


def test_own_study_is_a_configuration(tmp_path, monkeypatch):
    (table,), (text,) = blocks(README, "csv"), blocks(README, "yaml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text(table)
    studies = expand(validate(yaml.safe_load(text)))
    assert [(study.source, study.mechanism) for study in studies.values()] == [("table", "release")]


def test_public_inputs_of_each_space_can_be_used():
    spaces = set()
    for text in blocks(ROOT / "docs" / "releases.md", "yaml"):
        public = yaml.safe_load(text)["public"]
        assert set(public) >= {"centre", "covariate_range", "subjects"}
        spaces.add(space := public["manifold"]["name"])
        names = ["age", "sex"] if space == "euclidean" else "age"
        data = {"source": "table", "path": "a.csv", "covariate": names, "subject": "id"}
        if space == "sphere":
            data |= {"columns": ["lat", "lon"], "coordinates": "latitude_longitude"}
        others = {"name": "a", "budget": {"epsilon": "1"}, "ledger": "a.ledger", "folder": "a"}
        settings = ReleaseSettings.model_validate({"data": data, "public": public} | others)
        assert settings.assumptions.has_radii
    assert spaces == set(MANIFOLDS)


def test_the_example_of_a_release_explains_every_key():
    schema = json.loads((ROOT / "config" / "schemas" / "release.json").read_text())
    keys = {key for each in (schema, *schema["$defs"].values()) for key in each["properties"]}
    example = (ROOT / "config" / "release.example.yaml").read_text()
    assert len(keys) > 30
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}:", example)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", page.read_text())
    assert not [link for link in links if link and not (page.parent / link).exists()]


def test_sentences_begin_with_their_subject():
    """And not with what they are of, so that a reader has to wait for it.

    In pages, templates, words in YAML, and strings of the packages that are no docstrings.
    """
    read = {*PAGES, *(p for kind in ("md", "j2", "yaml") for p in ROOT.glob(f"[crw]*/**/*.{kind}"))}
    texts = [(path, path.read_text()) for path in read if "results" not in path.parts]
    for path in (ROOT / "workflow" / "scripts").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        strings = [each for each in nodes if isinstance(each, ast.Constant)]
        strings = [each for each in strings if isinstance(each.value, str)]
        texts += [(path, each.value) for each in strings if id(each) not in docstrings]
    assert len(texts) > 1000
    found = [(path.name, line) for path, text in texts for line in re.findall(r"\bOf .*", text)]
    assert found == []
