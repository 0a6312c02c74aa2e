"""Pages for reviewers and of the site: every command, file, figure, claim and name is there."""

import re
import shlex
from argparse import ArgumentParser
from pathlib import Path

import pytest
from beside import ROOT

import geodp
from reproduction.papers import PAPERS
from reproduction.results_page import WORDS, page, sentences

EVALUATION = "evaluation/Snakefile"
PAGES = [ROOT / "README.md", ROOT / "ARTIFACT-APPENDIX.md"]
PAGES += [ROOT / "docs" / f"{each}.md" for each in ("artifact", "papers", "evaluation", "tutorial")]


CALL = ArgumentParser(allow_abbrev=False)
for options in (["--with"], ["--configfile", "-s"], ["--cores"]):
    CALL.add_argument(*options, default="")


def targets(line):
    """Environment, configuration or other Snakefile, and targets of calls in a line."""
    for call in re.findall(r"\./run [^`#]*", line):
        if " snakemake " in call and "--report" not in call:
            given, words = CALL.parse_known_args(shlex.split(call)[1:])
            names = [word for word in words if not word.startswith("-") and word != "snakemake"]
            yield vars(given)["with"], given.configfile, names


def asked():
    """Targets and files in the pages, by environment and configuration."""
    found = {}
    for line in "\n".join(path.read_text(encoding="utf-8") for path in PAGES).splitlines():
        called = list(targets(line))
        for environment, configuration, names in called:
            found.setdefault((environment, configuration), set()).update(names)
        files = re.findall(r"`(results/[\w/.-]+\.\w+)`", line)
        if line.startswith("Figures in"):
            folder, *names = re.findall(r"`(.*?)`", line)
            files += [f"{folder}/{name}" for name in names]
        if called and called[0][0]:
            continue  # A file of a target that needs packages of another environment.
        for file in files:
            made_by = {"smoke": "config/smoke.yaml", "evaluation": EVALUATION}
            found.setdefault(("", made_by.get(file.split("/")[1], "")), set()).add(file)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("configuration", ["", "config/smoke.yaml"])
def test_the_workflow_makes_what_the_pages_name(checkout, configuration):
    names = asked()["", configuration]
    assert names
    options = ["--configfile", configuration] if configuration else []
    dry = (*options, "--dry-run", "--quiet", "all", "--")
    checkout.run(*dry, *sorted(names), folder=checkout.root)


@pytest.mark.slow
def test_targets_and_results_of_the_evaluation_are_there(checkout):
    call = ("-s", EVALUATION, "--list")
    known = set(checkout.run(*call, folder=checkout.root).split())
    named = set().union(*(names for (_, file), names in asked().items() if file == EVALUATION))
    assert {"audit", "benchmark", "tools", "bands"} <= named
    results = {Path(name).stem for name in named if name.startswith("results/")} - {"NAME"}
    assert {name for name in named if "/" not in name} | results <= known


def test_results_by_paper_are_those_of_the_claims():
    """Counts of verdicts are of all sentences, and listed ones are sentences of the claims."""
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    text = text.split("<!-- results -->\n")[1].split("<!-- end -->")[0]
    anew = "make it anew: ./run snakemake --cores 8 pages"
    for paper, section in zip(PAPERS, text.split("### ")[1:], strict=True):
        words = "|".join(WORDS.values())
        counts = [int(number) for number in re.findall(rf"(\d+) (?:{words})(?=[,.])", section)]
        assert sum(counts) in (0, len(sentences(paper))), anew
        listed = re.findall(r"(?m)^\* \*\*(?:.*?):\*\* (.*)$", section)
        assert set(listed) <= set(sentences(paper).values()), anew


def test_verdicts_of_a_page_are_counted():
    verdicts = dict(zip(sentences("soto"), ("does not hold", "", "holds", "holds"), strict=True))
    said = "4 sentences: 2 hold, 1 do not hold, 1 are not evaluated."
    assert said in page({"soto": verdicts})


def test_reference_has_every_public_name():
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\.\. auto\w+:: geodp\.(\w+)$", text, flags=re.MULTILINE))
    assert shown == set(geodp.__all__) - {"__version__"}


def test_glossary_has_every_column_of_tables(finished):
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    known = set(re.findall(r"`(\w+)`", text.partition("## Columns of tables")[2]))
    for name, table in finished.files("*/tables/*.csv").items():
        header = table.read_text(encoding="utf-8").partition("\n")[0]
        columns = {re.sub(r"_\d+$", "_1", column) for column in header.split(",")}
        assert columns <= known, name
