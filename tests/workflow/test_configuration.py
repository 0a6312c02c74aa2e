"""Configurations: what is refused and in which words, defaults, and what a configuration means."""

import copy
import csv
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from beside import ROOT, read
from snakemake.utils import validate as validate_by_schema

from geodp.errors import DataError
from geodp.samplers.choice import plan
from geodp.settings.settings_files import load
from reproduction import places
from reproduction.configuration import ConfigurationError, validate
from reproduction.configuration.reference import files
from reproduction.expansion import expand
from reproduction.papers import paper_key

SHIPPED = {
    path.stem: yaml.safe_load(path.read_text())
    for path in (ROOT / "config").glob("*.yaml")
    # Settings of releases, and studies of data not kept here.
    if not path.stem.startswith(("release.", "real."))
}
REMOVED = "REMOVED"


@pytest.fixture(autouse=True)
def in_checkout(monkeypatch, source):
    """Paths in a configuration are seen from a checkout, without what its user put into data."""
    monkeypatch.chdir(source)
    monkeypatch.setattr(places, "CHECKOUT", source)


def studies_of(configuration):
    return expand(validate(configuration))


def change(configuration, place, value):
    """Set the key at a place such as ``"sphere.cells.0.n"``, or remove it."""
    *before, last = [int(key) if key.isdigit() else key for key in place.split(".")]
    if (before or [last])[0] in configuration.get("studies", ()):
        before.insert(0, "studies")
    for key in before:
        configuration = configuration[key]
    if value == REMOVED:
        del configuration[last]
    else:
        configuration[last] = value


TABLE = read("refused")
REFUSED = TABLE["refused"]
PUBLIC, PRIVATE = TABLE["constants"]["public"], TABLE["constants"]["private"]


@pytest.mark.parametrize(("changes", "sentence"), REFUSED, ids=[case[1] for case in REFUSED])
def test_bad_configuration_is_refused_in_one_sentence(small, changes, sentence):
    for place, value in copy.deepcopy(changes).items():
        change(small, place, value)
    with pytest.raises(DataError) as refusal:
        studies_of(small)
    message = str(refusal.value)
    start, _, remedy = sentence.partition(" ... ")
    assert message.startswith((f"configuration key {start}", f"configuration key studies.{start}"))
    assert remedy in message
    assert "\n" not in message
    assert not re.search(r"\. [A-Z]|\.$", message)
    # A sentence of several facts would be longer than a line of a terminal or two.
    assert len(message) < 260


NAMED = {"name": "a", "seed": 1}
EMPTY = "studies is missing or empty: add {} as in README's example, or a plan$"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, EMPTY.format("name, seed and studies")),
        ({"name": "a"}, EMPTY.format("seed and studies")),
        *((NAMED | {"studies": none}, EMPTY.format("studies")) for none in (None, {}, [])),
        (NAMED | {"studies": ["sphere"]}, "studies.* give a mapping"),
        (NAMED | {"studies": {"a": {}}, "sede": 3}, "sede is unknown: did"),
    ],
)
def test_what_is_wrong_names_where_it_was_given(given, said):
    # No file is blamed for a key of the command line.
    place = "--config" if "sede" in given else "a.yaml, b.yaml"
    with pytest.raises(ConfigurationError, match=f"^{place}: configuration key {said}"):
        validate(given, files=["a.yaml", "b.yaml"], by_command=["sede"])


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_configurations_are_valid(name):
    studies = studies_of(SHIPPED[name]).values()
    drawn = {study.name: study for study in studies if not study.computed}
    assert [*drawn] == ["sphere", "spd", "corpus_callosum", "corpus_callosum_reduced", "rats"]
    for study in drawn.values():
        inspect.signature(plan).bind(None, None, 1, **study.sampler_settings("default")["plan"])


def test_default_configuration_has_the_figures_that_claims_are_about():
    configuration = validate(SHIPPED["config"])
    studies = expand(configuration)
    shown = {}
    for study in studies.values():
        for figure in study.settings["figures"].values():
            numbers = re.findall(r"\d+", figure.get("number", ""))
            shown.setdefault(study.paper, Counter()).update(numbers)
    assert shown["kulkarni_soto"] == Counter(map(str, range(1, 11)))
    papers = [paper for paper in configuration["papers"] if not paper["own_questions"]]
    assert len(papers) == 5
    for paper in papers:
        with open(paper["claims"], encoding="utf-8", newline="") as text:
            claims = list(csv.DictReader(text))
        assert len(claims) > 8
        for claim in claims:
            assert claim["study"] in studies, claim
            numbers = re.findall(r"\d+", claim["figure"])
            assert set(numbers) <= set(shown[paper_key(paper["claims"])]), claim


def test_defaults_are_filled_in(small):
    del small["studies"]["sphere"]["draws"], small["papers"]
    given = copy.deepcopy(small)
    checked = validate(small)
    # What was given is left as it was.
    assert small == given
    assert checked["papers"] == []
    assert validate(small | {"plan": None}) == checked
    sphere = expand(checked)["sphere"]
    assert sphere.draws_of("default") == {"footpoint": 10, "shooting_vector": 10}
    assert sphere.settings["model"] == {"covariates": 1, "loss": {"name": "squared_distance"}}
    assert sphere.settings["mechanism"] == {"name": "kng_as_published", "options": {}}
    # A second filling changes nothing, and defaults are not shared between studies.
    assert validate(checked) == checked
    sphere.settings["draws"]["footpoint"] = 1
    assert validate(given)["studies"]["sphere"]["draws"] == {}


@pytest.mark.filterwarnings("error")
def test_numbers_stay_as_they_are_written(small):
    change(small, "rats.figures.shapes.values", [7, 30.5])
    change(small, "sphere.budgets.equal.totals", ["1.0", 2])
    change(small, "sphere.sampler.work", 1000)
    studies = validate(small)["studies"]
    assert repr(studies["rats"]["figures"]["shapes"]["values"]) == "[7, 30.5]"
    assert repr(studies["sphere"]["budgets"]["equal"]["totals"]) == "['1.0', 2]"
    assert repr(studies["sphere"]["sampler"]["work"]) == "1000"


@pytest.mark.parametrize(("path", "text"), files().items(), ids=files())
def test_generated_file_is_up_to_date(path, text):
    made = "run `python -m reproduction.configuration` in workflow/scripts"
    assert (ROOT / path).read_text(encoding="utf-8") == text, made


@pytest.mark.parametrize(
    "path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem
)
def test_shipped_file_has_the_schema_it_names(path):
    text = path.read_text()
    named = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)[1]
    validate_by_schema(yaml.safe_load(text), str(path.parent / named), set_default=False)


def one_group(sphere, **changes):
    """The study of the sphere with other keys, one group, and what goes with that."""
    sphere |= {"cells": [{"n": [5], "noise_variance": ["0.1"], "budgets": ["equal"]}]} | changes
    for key in ("figures", "random_walk", "losses"):
        del sphere[key]
    return studies_of({"name": "one", "seed": 1, "studies": {"sphere": sphere}})["sphere"]


CELLS = {
    "mean": (
        {
            **{"mechanism": "laplace", "model": {"covariates": 0}, "data_radius": 0.4},
            "support": {"footpoint_centre": PUBLIC["footpoint_centre"]},
            **{"draws": {"footpoint": 3}, "data": {"source": "simulated"}},
        },
        {"p1.0": {"footpoint": "1.0"}, "p0.30": {"footpoint": "0.30"}},
    ),
    "release": (
        {"mechanism": PRIVATE, "support": PUBLIC, "draws": {"all": 4}},
        {"all1.0": {"all": "1.0"}, "all0.30": {"all": "0.30"}},
    ),
}


@pytest.mark.parametrize(("changes", "cells"), CELLS.values(), ids=CELLS)
def test_cells_have_the_budgets_of_their_mechanism(small, changes, cells):
    budgets = {"equal": {"totals": ["1.0", "0.30"]}}
    found = one_group(small["studies"]["sphere"], budgets=budgets, **changes)
    assert found.cells == {"n5_noise0.1": cells}
    assert list(found.cell_blocks.values()) == [cells]
    assert found.draws_of("default") == changes["draws"]
    assert (found.settings["data"]["covariates"] == "none") == ("model" in changes)


def test_repeated_budgets_and_cells_and_those_of_two_grids_are_sampled_once(small):
    sphere = studies_of(small)["sphere"]
    shared = "p1.01_v1.01"
    assert {grid for grid, _, cell in sphere.grids if cell == shared} == {"equal", "split"}
    assert sum(map(len, sphere.cell_blocks.values())) == len(sphere.block_of) == 2 * 3 + 1
    small["studies"]["sphere"]["budgets"]["equal"]["totals"].append("1.0")
    small["studies"]["sphere"]["cells"] *= 2
    again = studies_of(small)["sphere"]
    assert again.grids == sphere.grids
    assert again.cell_blocks == sphere.cell_blocks


@pytest.mark.parametrize(("budgets", "blocks"), [(999, [10] * 99 + [9]), (2001, [20] * 100 + [1])])
def test_cells_per_job_follow_from_their_number(small, budgets, blocks):
    totals = {"equal": {"totals": [str(k + 1) for k in range(budgets)]}}
    found = one_group(small["studies"]["sphere"], budgets=totals)
    assert [len(cells) for cells in found.cell_blocks.values()] == blocks
    assert set(found.block_of.values()) == set(range(len(blocks)))


def test_source_is_the_stand_in_only_while_there_is_no_file(small, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    del small["studies"]["rats"], small["papers"]

    def corpus():
        return studies_of(small)["corpus_callosum"]

    study = corpus()
    assert (study.source, study.table, list(study.groups)) == ("stand_in", None, ["stand_in"])
    assert "simulated stand-in" in study.note.lower()
    small["studies"]["corpus_callosum"]["note"] = "Seen from the left."
    assert re.search("simulated stand-in.*Seen from the left", corpus().note, re.I | re.S)
    for name in small["studies"]["corpus_callosum"]["data"]["path"]:
        (tmp_path / name).write_text("")
        study = corpus()
        assert (study.source, study.table, list(study.groups)) == ("table", name, ["observed"])
        assert study.note == "Seen from the left."
        assert studies_of(small)["reduced"].source == "table"
        # The comparison names no group, and goes where the data are.
        assert {group for group, _, _ in study.cell_blocks} == {"observed"}
        (tmp_path / name).unlink()
    assert corpus().source == "stand_in"


def test_matrix_of_a_map_is_known_by_what_it_holds(small, monkeypatch, tmp_path):
    (tmp_path / "resources").mkdir()
    for name in ("vilmann_rats.csv", "published"):
        (tmp_path / "resources" / name).symlink_to(Path.cwd() / "resources" / name)
    monkeypatch.chdir(tmp_path)
    small["studies"]["reduced"]["manifold"]["landmark_map"] = {"matrix": "map.csv"}
    seen = []
    for text in ("1,0", "0,1", "1,0"):
        Path("map.csv").write_text(text)
        seen.append(studies_of(small)["reduced"].settings["manifold"])
    assert seen[0] == seen[2] != seen[1]


def test_keys_are_the_text_that_they_are_and_are_merged(tmp_path):
    path = tmp_path / "keys.yaml"
    path.write_text("{FALSE: 0, no: 1, 1: 2, ~: 3, 1_000: 4, a: {<<: {x: 1}, x: 2}}")
    found = load(path)
    assert found == {"FALSE": 0, "no": 1, "1": 2, "~": 3, "1_000": 4, "a": {"x": 2}}


def test_stand_ins_of_other_sizes_are_left_out_where_there_is_a_file(small, tmp_path, monkeypatch):
    corpus = small["studies"]["corpus_callosum"]
    corpus["figures"], corpus["random_walk"] = {}, {}
    corpus["cells"].append({"n": [7, 9], "budgets": ["equal"]})
    small = {"name": "small", "seed": 1, "studies": {"corpus_callosum": corpus}}
    monkeypatch.chdir(tmp_path)
    groups = studies_of(small)["corpus_callosum"].groups
    assert list(groups) == ["stand_in", "stand_in_n7", "stand_in_n9"]
    assert groups["stand_in_n9"]["n"] == 9
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "corpus_callosum.csv").write_text("subject,age\n")
    assert list(studies_of(small)["corpus_callosum"].groups) == ["observed"]
    corpus["cells"] = corpus["cells"][1:]
    with pytest.raises(DataError, match=r"cells: all entries give n.*: add an entry without n"):
        studies_of(small)


def test_releases_of_simulated_data_are_told_how_far_records_scatter(small):
    small["studies"]["sphere"]["release"] = copy.deepcopy(TABLE["constants"]["released"])
    sphere = studies_of(small)["sphere"]
    found = sphere.sampled_mechanism("release", "n5_noise0.001")
    assert found["mechanism"]["name"] == "release"
    # The standard deviation of the noise, whose variance is 0.001.
    assert found["mechanism"]["options"]["residual_scale"] == pytest.approx(0.0316228, rel=1e-5)
    assert found["support"]["footpoint_radius"] == 0.3


def test_mechanisms_that_draw_besides_have_the_same_cells(small):
    sphere = small["studies"]["sphere"] | {"model": {"covariates": 0}, "data_radius": 0.3}
    sphere["data"] = {"source": "simulated", "data_sets": 3}
    sphere |= {"mechanism": "laplace", "also": ["kng_as_published"], "draws": {}}
    sphere |= {"support": {"footpoint_centre": "truth"}, "budgets": {"equal": {"totals": ["1.0"]}}}
    study = one_group(sphere)
    [(_, cells), (key, same)] = study.cell_blocks.items()
    assert cells == same == {"p1.0": {"footpoint": "1.0"}}
    group, sampler, _ = key
    assert sampler == "kng_as_published"
    drawn = study.sampled_mechanism(sampler, group)
    assert drawn == study.mechanism_settings | {"mechanism": study.also[sampler]}
    assert study.sampling_module(sampler) != study.sampling_module("default")
    assert study.sampler_settings(sampler) == study.sampler_settings("default")
