"""The workflow away from its checkout: another folder, another workflow, odd paths."""

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import yaml
from beside import read

from reproduction import places
from reproduction.papers import PAPERS

SNAKEFILE = "workflow/Snakefile"
TABLE = "results/tiny/rats/tables/data.csv"

# Its own data, a prefix for results, and another memory for a rule.
PARENT = Path(__file__).with_name("parent.smk.txt").read_text()


@pytest.fixture
def folder(tmp_path):
    """An empty folder of an odd name to work in."""
    made = tmp_path / "Prüfung der Läufe"
    made.mkdir()
    return made


def made_in(folder):
    """Files that a run made in a folder."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not {".snakemake", "__pycache__"} & set(path.parts)
    }


@pytest.mark.slow
def test_all_targets_from_another_folder(source, checkout, tmp_path, folder):
    checkout = checkout.copied(source, tmp_path / "check out")
    before = made_in(checkout.root)
    settings = read("tiny")
    # One sentence that is judged by the study of rats.
    published = checkout.root / "resources/published/kulkarni_soto_claims.csv"
    published = pd.read_csv(published, dtype=str).set_index("claim")
    one = published.loc[["corpus_callosum_curvature.below"]].assign(study="rats")
    one.to_csv(folder / "own_claims.csv")
    settings["papers"][0]["claims"] = "own_claims.csv"
    (folder / "mine.yaml").write_text(yaml.safe_dump(settings))
    snakefile = checkout.root / SNAKEFILE
    checkout.run("-s", snakefile, "--configfile", "mine.yaml", folder=folder)
    files = made_in(folder)
    assert {TABLE, "results/tiny/claims/own.html", "results/tiny/rats/figures/shapes.svg"} <= files
    assert made_in(checkout.root) == before
    # Configurations, data and templates come with the project.
    others = ("all", "plan", *PAPERS, "report")
    checkout.run("-s", snakefile, "--dry-run", "--quiet", "--", *others, folder=folder)


def test_module_of_another_workflow(checkout, folder):
    (folder / "first").mkdir()
    parent = {"threshold": 3, "geodp": read("tiny")}
    data = parent["geodp"]["studies"]["rats"]["data"]
    data["path"] = str(checkout.root / data["path"])
    (folder / "parent.yaml").write_text(yaml.safe_dump(parent))
    snakefile = PARENT.format(snakefile=checkout.root / SNAKEFILE, table=TABLE)
    (folder / "Snakefile").write_text(snakefile)
    printed = checkout.run(folder=folder)
    # The target is the other workflow's, and so is what is printed.
    assert (folder / "copy.csv").is_file()
    assert not (folder / "results").exists()
    assert "Finished jobid" in printed
    assert "fit with 1234 MB" in printed
    checkout.run("--dry-run", "--quiet", "rules", "--", "geodp_all", "geodp_report", folder=folder)


@pytest.mark.slow
def test_module_by_its_address(checkout, folder):
    for words in ("init -q", "add -A", "-c user.name=a -c user.email=a commit -qm all"):
        subprocess.run(["git", *words.split()], cwd=checkout.root, check=True)
    address = f"git+file://{checkout.root}/{SNAKEFILE}@HEAD"
    (folder / "Snakefile").write_text(PARENT.format(snakefile=address, table=TABLE))
    (folder / "parent.yaml").write_text(yaml.safe_dump({"geodp": read("tiny")}))
    said = "Error: the packages of this workflow do not come with its address"
    assert said in checkout.refused(folder=folder)


def test_own_files_before_those_of_the_project(tmp_path, monkeypatch):
    project, here = tmp_path / "project", tmp_path / "here"
    for place in (project, here):
        (place / "data").mkdir(parents=True)
        (place / "data" / "both.csv").touch()
    (project / "data" / "shipped.csv").touch()
    monkeypatch.setattr(places, "CHECKOUT", project)
    monkeypatch.chdir(here)
    both, shipped = "data/both.csv", "data/shipped.csv"
    assert places.find([both]) == places.find([shipped, both]) == [both]
    assert places.find([shipped]) == [places.shipped(shipped)] == [str(project / shipped)]
    assert places.find(["data/none.csv"]) == []
    monkeypatch.chdir(project)
    assert places.find([shipped]) == [places.shipped(shipped)] == [shipped]


def test_what_is_not_there_is_named(checkout):
    checkout.configure(read("tiny"))
    printed = checkout.refused("--dry-run", "results/tiny/rats/cells/observed/default_9.npz")
    [error] = [line for line in printed.splitlines() if line.startswith("Error: ")]
    assert "no block of the default sampler in group observed 9: ask for one of 0" in error
    printed = checkout.refused("--dry-run", "results/tiny/rats/groups/mine/fit.json")
    assert "Error: study rats has no group mine: ask for one of observed" in printed
    # Nor is there anything to report of a release.
    checkout.configuration = checkout.root / "config" / "release.example.yaml"
    shutil.copy(checkout.configuration, checkout.root)
    printed = checkout.refused("--dry-run", "--", "report")
    assert "Error: there is nothing to report" in printed
