"""Configurations: what is refused and in which words, defaults, and what a configuration means."""

import copy
import csv
import inspect
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from snakemake.utils import validate as validate_by_schema

from geodp.errors import DataError
from geodp.mechanisms.registry import named_in
from geodp.samplers.choice import plan
from geodp.settings.reading import load
from reproduction import places
from reproduction.configuration import (
    MODELS,
    ConfigurationError,
    load_settings,
    reference,
    validate,
)
from reproduction.configuration.figures import KINDS
from reproduction.configuration.reference import files, schema
from reproduction.studies import expand

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = {
    path.stem: yaml.safe_load(path.read_text())
    for path in (ROOT / "config").glob("*.yaml")
    # Settings of stages that are no configuration of studies.
    if not path.stem.startswith(
        ("audit", "benchmark", "linear", "means", "tools", "utility", "release.")
    )
}
REMOVED = object()


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
    if (before or [last])[0] in configuration["studies"]:
        before.insert(0, "studies")
    for key in before:
        configuration = configuration[key]
    if value is REMOVED:
        del configuration[last]
    else:
        configuration[last] = value


SPD = {"name": "spd", "size": 2}
GROUPS = [f"n{n}_noise0.001" for n in (5, 6, 7, 8, 9)]
PAPER = {
    "name": "Kulkarni and Soto",
    "claims": "resources/published/kulkarni_soto_claims.csv",
}
MEAN = {"covariates": 0}
PRIVATE = {"name": "release", "options": {"residual_scale": 0.1}}
POLE = [0.0, 0.0, 1.0]
# Public inputs of releases on the sphere.
PUBLIC = {"footpoint_centre": POLE, "footpoint_radius": 0.3, "shooting_vector_length": 0.6}
RELEASE = {
    "centre": POLE,
    "footpoint_radius": 0.3,
    "shooting_vector_length": 0.6,
    "totals": ["1.0"],
}
# Changes that make the Laplace mechanism of a mean of a study.
LAPLACE_MEAN = {
    "sphere.mechanism": "laplace",
    "sphere.model": MEAN,
    "sphere.data_radius": 0.3,
    "sphere.support": {"footpoint_centre": POLE},
    "sphere.random_walk": {},
    "sphere.losses": REMOVED,
}
TANGENT = {"source": "simulated", "shooting_vector_length": 0.6, "noise": "tangent"}

# What is changed, and the message after "configuration key " and the name of a section, from its
# beginning; dots stand for a part of it.
REFUSED = [
    ({"sed": 1}, "sed is unknown: did you mean seed?"),
    ({"sphere.budget": 1}, "sphere.budget is unknown: did you mean budgets?"),
    (
        {"sphere.budgets": {"equal": {"totals": ["1", "1.00"]}}, "sphere.figures": {}},
        "sphere.budgets.equal: the cells p0.5_v0.5 and ... write each budget in one way",
    ),
    ({"rats.data.path": "resources"}, "rats.data.path: resources is a folder: name the file in it"),
    (
        {"rats.data.covariate_range": [7, 200], "rats.figures.shapes.values": [30, 300]},
        "rats.figures.shapes.values[1]: 300 lies outside the ... choose a value within it",
    ),
    (
        {"sphere.draws.footpoints": 1},
        "sphere.draws.footpoints: the mechanism kng_as_published draws ... name one of these",
    ),
    (
        {"sphere.figures.figure_1.grid": ["equal"]},
        "sphere.figures.figure_1.grid is unknown: did you mean grids?",
    ),
    ({"sphere.manifold.zzz": 1}, "sphere.manifold.zzz is unknown: known keys are name, size"),
    ({"name": REMOVED}, "name is missing: add it"),
    ({"sphere.data.source": REMOVED}, "sphere.data.source is missing: add it"),
    ({"seed": "x"}, "seed: 'x' has the wrong type: give an integer"),
    ({"sphere.cells.0.n": 5}, "sphere.cells[0].n: 5 has the wrong type: give a list"),
    ({"sphere": None}, "sphere: None has the wrong type: give a mapping from keys to values"),
    ({"seed": -1}, "seed: -1 is too small: give 0 or more"),
    ({"studies": {}}, "studies is missing or empty: add studies as in README's"),
    ({"name": "a b"}, "name: 'a b' is not allowed: it must match"),
    ({"studies.a b": {}}, "studies: 'a b' is not allowed: it must match"),
    (
        {"sphere.budgets.equal.totals.0": "0"},
        "sphere.budgets.equal.totals[0]: a budget must be above zero and is 0",
    ),
    (
        {"sphere.budgets.split.total": "abc"},
        "sphere.budgets.split.total: 'abc' is not a number: give a budget such as \"0.5\"",
    ),
    (
        {"sphere.budgets.equal.totals.0": math.nan},
        "sphere.budgets.equal.totals[0]: nan is not finite: give a finite number",
    ),
    (
        {"sphere.budgets.split.footpoint.1": "2.02"},
        "sphere.budgets.split.footpoint[1]: 2.02 leaves nothing of the total ... give less",
    ),
    (
        {"sphere.budgets.equal.totals": []},
        "sphere.budgets.equal.totals: the list is empty: give at least one entry",
    ),
    (
        {"sphere.budgets.equal.total": "2"},
        "sphere.budgets.equal: it has total and totals ... give totals alone, or total with",
    ),
    (
        {"sphere.budgets.split.total": REMOVED},
        "sphere.budgets.split: it has footpoint ... give totals alone, or total with",
    ),
    ({"sphere.cells.0.n.0": 2}, "sphere.cells[0].n[0]: 2 is too small: give 3 or more"),
    (
        {"sphere.cells.0.n": REMOVED},
        "sphere.cells[0]: simulated data need n and noise_variance: add them",
    ),
    (
        {"rats.cells.0.n": [5]},
        "rats.cells[0]: n and noise_variance belong to simulated data ... remove them",
    ),
    (
        {"sphere.cells.0.noise_variance": ["-0.1"]},
        "sphere.cells[0].noise_variance[0]: '-0.1' is not a number above zero: give a variance",
    ),
    (
        {"sphere.manifold.name": "torus"},
        "sphere.manifold.name: 'torus' is not known ... give one of euclidean, sphere,",
    ),
    (
        {"rats.manifold.size": 2},
        "rats.manifold.size: 2 is too small: planar shapes need 3 landmarks or more",
    ),
    ({"sphere.manifold": SPD, "sphere.data": TANGENT}, "sphere.data_radius is missing ... add it"),
    (
        {"sphere.manifold": SPD, "sphere.data_radius": 1.0},
        "sphere.data.noise ... set it to tangent",
    ),
    (
        {"sphere.cells.0.budgets.0": "eqal"},
        "sphere.cells[0].budgets: there is no grid eqal ... (there are: equal, split)",
    ),
    (
        {"rats.data.path": "resources/mice.csv"},
        "rats.data.path: there is no file resources/mice.csv ... put it there or correct",
    ),
    (
        {"sphere.figures.figure_9.kind": "pie"},
        "sphere.figures.figure_9.kind: 'pie' is not known ... give one of error, curves,",
    ),
    (
        {"sphere.figures.figure_1.grids": REMOVED},
        "sphere.figures.figure_1.grids is missing: add it",
    ),
    (
        {"sphere.figures.figure_9.draws": 2},
        "sphere.figures.figure_9.draws is unknown: known keys are kind",
    ),
    (
        {"sphere.figures.figure_1.groups.0": "n9_noise0.001"},
        "sphere.figures.figure_1: there is no group n9_noise0.001 ... n6_noise0.001)",
    ),
    (
        {"sphere.figures.figure_1.grids.0": "other"},
        "sphere.figures.figure_1.grids: no cells use a grid other",
    ),
    (
        {
            "sphere.cells": [
                {"n": [5], "noise_variance": ["0.001"], "budgets": ["equal", "split"]},
                {"n": [6], "noise_variance": ["0.001"], "budgets": ["equal"]},
            ]
        },
        "sphere.figures.figure_1: the group n6_noise0.001 has ... name other groups or grids",
    ),
    (
        {"sphere.cells.0.n": [5, 6, 7, 8, 9], "sphere.figures.figure_1.groups": GROUPS},
        "sphere.figures.figure_1.groups: 5 curves cannot be told apart: name 4 groups at most",
    ),
    ({"sphere.neighbours": {}}, "sphere.figures.figure_9 ... add them"),
    (
        {"sphere.figures.figure_9": {"kind": "shapes", "cell": "p0.5_v0.5", "values": [1]}},
        "sphere.figures.figure_9: shapes are drawn of planar landmarks only",
    ),
    (
        {"rats.figures.shapes": {"kind": "curves", "grids": ["equal"], "groups": ["observed"]}},
        "rats.figures.shapes: curves are drawn on the sphere of dimension 2 only",
    ),
    (
        {"rats.figures.shapes.cell": "p9_v9"},
        "rats.figures.shapes.cell: there is no cell p9_v9 (the first are: p0.3_v0.3)",
    ),
    (
        {"sphere.random_walk.cells.0.cell": "p9_v9"},
        "sphere.random_walk.cells[0]: there is no cell p9_v9 in ... n6_noise0.001)",
    ),
    (
        {"sphere.sampler.total_variation": 1},
        "sphere.sampler.total_variation: 1 is too large: give a number below 1",
    ),
    (
        {"sphere.sampler.fewest_steps": 401},
        "sphere.sampler.fewest_steps: 401 is more than ... lower it or raise most_steps",
    ),
    (
        {"sphere.support": {"footpoint_centre": "pole"}},
        "sphere.support.footpoint_centre: 'pole' has none of ... give truth or fit or a list",
    ),
    (
        {"sphere.support": {"footpoint_centre": "truth"}},
        "sphere.support.footpoint_radius is missing ... add either",
    ),
    (
        {"sphere.support": {"footpoint_radius": 0.5}},
        "sphere.support.footpoint_centre is missing ... a ball of footpoints needs a centre",
    ),
    (
        {"rats.support": {"footpoint_centre": "truth", "footpoint_radius": 0.5}},
        "rats.support.footpoint_centre: there is no truth for ... give coordinates, or fit",
    ),
    (
        {"rats.neighbours": {"n": [5]}},
        "rats.neighbours.n: pairs of neighbours are simulated ... remove it",
    ),
    (
        {"sphere.data.shooting_vector_length": REMOVED},
        "sphere.data: give either shooting_vector_length or last_point",
    ),
    (
        {"sphere.data.last_point": "random"},
        "sphere.data: give either shooting_vector_length or last_point",
    ),
    (
        {"spd.data.random_point_radius": 0},
        "spd.data.random_point_radius: 0 is too small: give a number above 0",
    ),
    (
        {"reduced.manifold.landmark_map": {}},
        "reduced.manifold.landmark_map: give one of harmonics and matrix",
    ),
    (
        {"reduced.manifold.landmark_map.harmonics": 6},
        "reduced.manifold.landmark_map.harmonics: 6 ... 12 landmarks have harmonics up to 5",
    ),
    (
        {"sphere.manifold.landmark_map": {"harmonics": 1}},
        "sphere.manifold.landmark_map: only planar landmarks can be mapped: remove it",
    ),
    (
        {"rats.data.path": ["resources/vilmann_rats.csv", "resources/README.md"]},
        "rats.data.path: there are both resources/vilmann_rats.csv and ... keep one",
    ),
    (
        {"corpus_callosum.data.stand_in": None},
        "corpus_callosum.data.path: there is no file ... put it there or correct the path",
    ),
    (
        {"corpus_callosum.data.covariate_range": [90, 50]},
        "corpus_callosum.data.covariate_range: 90 is not below 50: give the smaller value first",
    ),
    (
        {"corpus_callosum.data.keep": ["AD"]},
        "corpus_callosum.data.keep: ['AD'] has the wrong type ... give a mapping",
    ),
    (
        {"rats.manifold": {"name": "sphere", "size": 2}, "rats.data.stand_in": {}},
        "rats.data.stand_in: stand-ins are outlines of planar landmarks: remove it",
    ),
    (
        {"spd.losses": {}},
        "spd.losses: privacy losses are searched for kng_as_published ... remove it",
    ),
    (
        {"rats.figures.shapes.random_walk": True},
        "rats.figures.shapes.random_walk: the random walk does not run on ... name it under",
    ),
    (
        {
            "corpus_callosum.figures.reduced_error": {"kind": "samplers"},
            "studies.corpus_callosum_reduced": {
                "manifold": {"name": "euclidean", "size": 2},
                "data": {"source": "simulated", "last_point": "random", "noise": "tangent"},
                "budgets": {"equal": {"totals": ["1.0"]}},
                "cells": [{"n": [5], "noise_variance": ["0.1"], "budgets": ["equal"]}],
                "figures": {"error": {"kind": "error", "grids": ["equal"]}},
            },
        },
        "corpus_callosum_reduced.figures.error: with its study's name it ... rename either",
    ),
    ({"spd.manifold.size": 3}, "spd.figures.figure_8: ellipses are drawn of 2 x 2 matrices only"),
    (
        {"spd.figures.figure_8.draws": 3},
        "spd.figures.figure_8.draws: 3 is too large, since draws.footpoint is 2",
    ),
    (
        {"rats.figures.shapes.values": [0, 7]},
        "rats.figures.shapes.values: 0 has no logarithm: give positive values",
    ),
    (
        {"corpus_callosum.figures.figure_3_convergence.reduced": "redcued"},
        "corpus_callosum.figures.figure_3_convergence.reduced: there is no study redcued",
    ),
    (
        {"reduced.budgets.equal.totals": ["2.0"]},
        "corpus_callosum.figures.figure_3_convergence.reduced ... no cell p0.3_v0.3",
    ),
    (
        {"papers": [PAPER, PAPER]},
        "papers[1].name: 'Kulkarni and Soto' is the name of two papers: rename one",
    ),
    (
        {"studies": REMOVED},
        "studies is missing or empty: add studies as in README's example, or a plan",
    ),
    (
        {"sphere.data.first_point": [1, math.inf, 0]},
        "sphere.data.first_point[1]: inf is not finite: give a finite number",
    ),
    (
        {"sphere.budgets.equal.totals.0": True},
        "sphere.budgets.equal.totals[0]: True has none of its forms: give text or a number",
    ),
    (
        {"sphere.model": {"covariates": 10}},
        "sphere.model.covariates: 10 is too large: give 9 or less",
    ),
    (
        {"sphere.model": {"loss": "absolute"}},
        "sphere.model.loss.name: 'absolute' is not known ... give one of squared_distance,",
    ),
    ({"sphere.model": {"loss": "huber"}}, "sphere.model.loss.threshold is missing: add it"),
    (
        {"sphere.mechanism": "as_published"},
        "sphere.mechanism.name: 'as_published' is not known ... give one of kng_as_published,",
    ),
    (
        {"sphere.mechanism": {"name": "release", "options": {"residual_scal": 1.0}}},
        "sphere.mechanism.options.residual_scal is unknown: did you mean residual_scale?",
    ),
    ({"sphere.mechanism": "release"}, "sphere.mechanism.options is missing: add it"),
    (
        {"sphere.model": {"covariates": 2}},
        "sphere.model.covariates: 2 is more than 1, the ... set it to 0 or 1 or name another",
    ),
    (
        {"sphere.model": MEAN},
        "sphere.data_radius is missing: the sensitivity of a mean needs ... add it",
    ),
    (
        {"sphere.model": {"loss": "distance"}},
        "sphere.model.loss: kng_as_published is of least squares ... set it to",
    ),
    (
        {"sphere.mechanism": "laplace"},
        "sphere.model.covariates: 1 is more than 0, the ... set it to 0 or name another",
    ),
    (
        LAPLACE_MEAN | {"sphere.support": {"footpoint_centre": "fit"}},
        "sphere.support.footpoint_centre: laplace needs a ... give coordinates, or truth",
    ),
    (
        LAPLACE_MEAN | {"sphere.support": {"footpoint_centre": POLE, "footpoint_radius": 1.0}},
        "sphere.support.footpoint_radius: laplace draws anywhere: remove it",
    ),
    (
        LAPLACE_MEAN | {"sphere.model": {"covariates": 0, "loss": "distance"}},
        "sphere.model.loss: laplace is of least squares, not of distance ... set it to",
    ),
    (
        LAPLACE_MEAN,
        "sphere.data.shooting_vector_length: a model without covariates has ... remove it",
    ),
    (
        {**LAPLACE_MEAN, "sphere.data": {"source": "simulated", "covariates": "uniform"}},
        "sphere.data.covariates: uniform does not go with model.covariates 0: remove it",
    ),
    (
        {"sphere.data.covariates": "none"},
        "sphere.data.covariates: none does not go with ... give equally_spaced or uniform",
    ),
    (
        {"spd.mechanism": PRIVATE, "spd.model": {"covariates": 2}},
        "spd.model.covariates: release has the ... set it to 1 or 0, or name another",
    ),
    (
        {"spd.mechanism": PRIVATE, "spd.model": {"covariates": 1, "loss": "distance"}},
        "spd.model.loss: release is of least squares, not of distance ... set it to",
    ),
    (
        {"sphere.mechanism": PRIVATE, "sphere.support": PUBLIC | {"footpoint_centre": "truth"}},
        "sphere.support.footpoint_centre: release needs a public centre: give coordinates",
    ),
    (
        {
            "sphere.mechanism": PRIVATE,
            "sphere.support": PUBLIC | {"footpoint_radius": None},
            "sphere.data_radius": 1.0,
        },
        "sphere.support.footpoint_radius is missing: release needs a public limit: add it",
    ),
    (
        {"rats.mechanism": PRIVATE, "rats.support": PUBLIC},
        "rats.data.covariate_range is missing: a proved budget needs a public ... add it",
    ),
    (
        {
            "sphere.mechanism": PRIVATE,
            "sphere.support": PUBLIC,
            "sphere.random_walk": {},
            "sphere.release": RELEASE,
        },
        "sphere.release: draws of release are releases already: remove it",
    ),
    (
        LAPLACE_MEAN | {"sphere.data.shooting_vector_length": REMOVED, "sphere.release": RELEASE},
        "sphere.release: releases are of one covariate ... set model.covariates to 1",
    ),
    (
        {"sphere.release": RELEASE | {"centre": "identity"}},
        "sphere.release.centre: sphere has no centre called identity: give coordinates",
    ),
    (
        {"sphere.release": RELEASE | {"centre_moved": 0.1}},
        "sphere.release.centre_moved: a centre given by coordinates stays there: remove it",
    ),
    (
        {"sphere.release": RELEASE, "sphere.figures.figure_1.grids": ["equal", "release"]},
        "sphere.figures.figure_1.grids: no cells use a grid release: name one",
    ),
    (
        {"sphere.release": RELEASE, "sphere.figures.figure_5.grids": ["equal", "release"]},
        "sphere.figures.figure_5.grids: release does not go ... give it a figure of its own",
    ),
    (
        {"sphere.release": RELEASE, "sphere.budgets.release": {"totals": ["1.0"]}},
        "sphere.budgets.release: this is the name of the grid of the section release: rename it",
    ),
    (
        {"rats.release": RELEASE},
        "rats.release.residual_scale is missing: nothing public says how far ... add it",
    ),
    (
        {"rats.release": RELEASE | {"residual_scale": 0.1}},
        "rats.data.covariate_range is missing: a proved budget needs a public ... add it",
    ),
    (
        {"sphere.release": RELEASE | {"totals": ["-1"]}},
        "sphere.release.totals[0]: a budget must be above zero and is -1",
    ),
    (
        {
            "spd.release": RELEASE | {"centre": "identity", "draws": 2},
            "spd.figures.figure_8.cell": "all1.0",
            "spd.figures.figure_8.draws": 3,
        },
        "spd.figures.figure_8.draws: 3 is too large, since ... lower it or raise that",
    ),
    (
        {
            **LAPLACE_MEAN,
            "sphere.data": {"source": "simulated"},
            "sphere.budgets": {"equal": {"totals": ["1.0"]}},
            "sphere.cells.0.budgets": ["equal"],
            "sphere.draws": {},
            "sphere.figures": {"walks": {"kind": "convergence", "cell": "p1.0"}},
        },
        "sphere.figures.walks: the random walk draws kng_as_published, not ... remove it",
    ),
    (
        {
            "sphere.model": MEAN,
            "sphere.data": {"source": "simulated"},
            "sphere.data_radius": 0.3,
            "sphere.random_walk": {},
            "sphere.losses": REMOVED,
            "sphere.budgets": {"equal": {"totals": ["1.0"]}},
            "sphere.cells.0.budgets": ["equal"],
            "sphere.draws": {},
            "sphere.figures": {
                "curves": {"kind": "curves", "grids": ["equal"], "groups": ["n5_noise0.001"]}
            },
        },
        "sphere.figures.curves: it shows predictions along one covariate ... remove it",
    ),
    (
        {"sphere.mechanism": PRIVATE, "sphere.support": PUBLIC},
        "sphere.random_walk.cells: the random walk draws kng_as_published alone: remove it",
    ),
    (
        {"rats.model": {"covariates": 0}, "rats.data_radius": 0.3},
        "rats.model.covariates: 0 is not 1, and a table is read with one covariate: set it to 1",
    ),
    (
        {
            "sphere.mechanism": PRIVATE,
            "sphere.support": PUBLIC,
            "sphere.random_walk": {},
            "sphere.losses": REMOVED,
        },
        "sphere.budgets.split: a total cannot be divided between footpoint ... give totals",
    ),
]
# A sentence of several facts would be longer than a line of a terminal or two.
LONGEST = 260


def test_small_configuration_is_valid(small):
    assert list(studies_of(small)) == ["sphere", "spd", "corpus_callosum", "reduced", "rats"]


@pytest.mark.parametrize(("changes", "sentence"), REFUSED, ids=[case[1] for case in REFUSED])
def test_bad_configuration_is_refused_in_one_sentence(small, changes, sentence):
    for place, value in changes.items():
        change(small, place, value)
    with pytest.raises(DataError) as refusal:
        studies_of(small)
    message = str(refusal.value)
    start, _, remedy = sentence.partition(" ... ")
    assert message.startswith((f"configuration key {start}", f"configuration key studies.{start}"))
    assert remedy in message
    assert "\n" not in message
    assert not re.search(r"\. [A-Z]|\.$", message)
    assert len(message) < LONGEST


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        (
            "sphere.figures.figure_1.grid",
            ["equal"],
            "small.yaml: configuration key studies.sphere.figures.figure_1.grid is unknown: did",
        ),
        (
            "rats.data.path",
            "resources/mice.csv",
            "configuration key studies.rats.data.path: there is no file resources/mice.csv",
        ),
    ],
)
def test_command_line_says_the_same(checkout, small, place, value, error):
    change(small, place, value)
    checkout.configure(small)
    result = checkout.snakemake()
    assert result.returncode != 0
    errors = [line for line in result.stdout.splitlines() if line.startswith("Error:")]
    assert len(errors) == 1
    assert error in errors[0]
    assert "Traceback" not in result.stdout
    assert not (checkout.root / "results").exists()


STUDIES = {
    "config": ["sphere", "spd", "corpus_callosum", "corpus_callosum_reduced", "rats"],
    "smoke": ["sphere", "spd", "corpus_callosum", "corpus_callosum_reduced", "rats"],
}


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_configurations_are_valid(name):
    assert list(studies_of(copy.deepcopy(SHIPPED[name]))) == STUDIES[name]


def test_default_configuration_has_every_figure_of_the_paper():
    names = [
        figure
        for study in studies_of(copy.deepcopy(SHIPPED["config"])).values()
        for figure in study.settings["figures"]
    ]
    numbered = sorted(int(name[7:]) for name in names if re.fullmatch(r"figure_\d+", name))
    assert numbered == list(range(1, 11))


def test_default_configuration_judges_the_claims_of_the_paper():
    configuration = copy.deepcopy(SHIPPED["config"])
    studies = studies_of(configuration)
    claims = []
    for paper in configuration["papers"]:
        with open(paper["claims"], encoding="utf-8", newline="") as text:
            claims += csv.DictReader(text)
    assert len(claims) > 30 + 4
    # Each has its study there, and the figure it is about.
    for claim in claims:
        figures = studies[claim["study"]].settings["figures"]
        about = f"figure_{claim['figure']}"
        of_others = {"corpus_callosum_reduced": "figure_3_reduced"}
        assert not claim["figure"] or of_others.get(claim["study"], about) in figures, claim


def test_defaults_are_filled_in(small):
    for key in ("draws", "sampler", "random_walk", "neighbours", "losses", "figures"):
        del small["studies"]["sphere"][key]
    del small["cells_per_job"]
    del small["papers"]
    given = copy.deepcopy(small)
    checked = validate(small)
    # What was given is left as it was.
    assert small == given
    assert checked["papers"] == []
    assert "plan" not in checked
    assert validate(small | {"plan": None}) == checked
    studies = expand(checked)
    sphere, rats = studies["sphere"], studies["rats"]
    assert checked["cells_per_job"] is sphere.cells_per_job is None
    settings = sphere.settings
    assert settings["draws"] == {}
    assert sphere.draws == {"footpoint": 10, "shooting_vector": 10}
    assert settings["model"] == {"covariates": 1, "loss": {"name": "squared_distance"}}
    assert settings["mechanism"] == {"name": "kng_as_published", "options": {}}
    assert sphere.mechanism == "kng_as_published"
    assert settings["data"]["covariates"] == "equally_spaced"
    assert settings["data"]["noise"] == "ambient"
    assert settings["data"]["last_point"] is None
    assert settings["manifold"]["landmark_map"] is None
    assert settings["random_walk"] == {
        "steps": 1000,
        "step_scale": 2.0,
        "warm_up": 0,
        "cells": [],
        "data_sets": 1,
    }
    assert settings["losses"] is None
    assert settings["support"] == dict.fromkeys(
        ["footpoint_centre", "footpoint_radius", "shooting_vector_length"]
    )
    # A study of a table gets none of the keys of simulated data.
    assert set(rats.settings["data"]) == {
        *("source", "path", "covariate", "covariate_range", "columns", "coordinates"),
        "transformation",
        *("subject", "keep", "outline", "landmarks", "stand_in"),
    }
    assert rats.settings["data"]["stand_in"] is None
    # Those of a stand-in are filled in where one is asked for.
    assert studies["corpus_callosum"].settings["data"]["stand_in"]["trend_length"] == 0.045
    # A second filling changes nothing, and defaults are not shared between studies.
    assert validate(checked) == checked
    settings["draws"]["footpoint"] = 1
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


# --- What is made from the models ---


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


@pytest.mark.parametrize("name", MODELS)
def test_every_key_has_a_meaning(name):
    document = schema(name)
    for title, section in {**document["$defs"], name: document}.items():
        assert section["description"], title
        for key, part in section.get("properties", {}).items():
            # What refers to a section with the same words has them from there, and what chooses
            # its section needs none.
            assert part.get("description") or "$ref" in str(part) or "const" in part, (title, key)


@pytest.mark.parametrize(
    ("key", "what"),
    [(None, "the class ErrorFigure"), ("grids", "the field grids of the class ErrorFigure")],
)
def test_what_has_no_description_is_named(monkeypatch, key, what):
    document = schema("config")
    section = document["$defs"]["ErrorFigure"]
    del (section["properties"][key] if key else section)["description"]
    monkeypatch.setattr(reference, "schema", lambda name: document)
    with pytest.raises(ConfigurationError, match=f"{what} is not described: give a class"):
        reference.page()


def test_forms_of_a_section_are_all_in_the_page():
    page = (ROOT / "docs" / "configuration.md").read_text()
    links = set(re.findall(r"\]\(#([\w-]+)\)", page))
    headings = {line[4:].replace(" ", "-") for line in page.splitlines() if line.startswith("###")}
    assert links == headings
    for kind in KINDS:
        assert kind.model_fields["kind"].annotation.__args__[0] in page


def test_mechanisms_of_a_study_are_those_of_the_library():
    named = schema("config")["$defs"]["StudySettings"]["properties"]["mechanism"]
    forms = [form["$ref"].rsplit("/", 1)[1] for form in named["anyOf"] if "$ref" in form]
    sections = schema("config")["$defs"]
    assert {sections[form]["properties"]["name"]["const"] for form in forms} == set(
        named_in("studies")
    )


# --- Settings of measurements ---


@pytest.mark.parametrize("name", ["audit", "benchmark", "linear", "means", "utility"])
def test_settings_of_a_measurement_are_refused_in_one_sentence(tmp_path, name):
    text = (ROOT / "config" / f"{name}.yaml").read_text()
    path = tmp_path / f"{name}.yaml"
    path.write_text(text)
    assert load_settings(path) == yaml.safe_load(text) | load_settings(path)
    for changed, message in (
        (f"{text}\nsed: 1\n", ": configuration key sed is unknown: did you mean seed?"),
        (re.sub("(?m)^seed: .*$", "seed: -1", text), ": configuration key seed: -1 is too small"),
        (re.sub("(?m)^seed: .*$", "seed: [", text), ", line "),
        ("", ": it has no keys: see docs/configuration.md"),
    ):
        path.write_text(changed)
        with pytest.raises(ConfigurationError) as refusal:
            load_settings(path)
        assert str(refusal.value).startswith(f"config/{name}.yaml{message}")
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "place", "value", "sentence"),
    [
        ("benchmark", "spaces", {"S^3": {}}, r"\.S\^3 is unknown: did you mean S\^2"),
        ("utility", "utility.shown", [1, 2, 3, 4, 5], ".* give 4 entries at most"),
        ("utility", "utility.shown", [1.0, 2.0], ": 2.0 is none of utility.budgets: add it"),
        ("utility", "utility.releases.rats.n", [150], ": 150 is none of utility.n: add it there"),
        ("utility", "chains.fewest_steps", 501, ": 501 is more than most_steps, 500: lower it"),
        ("utility", "utility.data_sets.least", 16, ": 16 is more than most, 15: lower it or"),
        ("linear", "kng_linear.n", [5, 5], ": 5 is listed twice: list it once"),
    ],
)
def test_settings_of_a_measurement_that_contradict_are_refused(name, place, value, sentence):
    settings = yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text())
    part = settings
    *before, last = place.split(".")
    for key in before:
        part = part[key]
    part[last] = value
    with pytest.raises(ConfigurationError, match=f"^configuration key {place}{sentence}"):
        validate(settings, name)


# --- What a configuration means ---


def test_mean_has_a_footpoint_alone(small):
    sphere = small["studies"]["sphere"]
    sphere |= {"mechanism": "laplace", "model": {"covariates": 0}, "data_radius": 0.4}
    sphere["support"] = {"footpoint_centre": POLE}
    sphere["draws"] = {"footpoint": 3}
    sphere["data"] = {"source": "simulated"}
    sphere["budgets"] = {"equal": {"totals": ["1.0", "0.30"]}}
    sphere["cells"] = [{"n": [5], "noise_variance": ["0.1"], "budgets": ["equal"]}]
    del sphere["figures"], sphere["random_walk"], sphere["losses"]
    found = studies_of({"name": "mean", "seed": 1, "studies": {"sphere": sphere}})["sphere"]
    assert found.cells == {
        "n5_noise0.1": {"p1.0": {"footpoint": "1.0"}, "p0.30": {"footpoint": "0.30"}}
    }
    assert found.settings["data"]["covariates"] == "none"
    assert found.draws == {"footpoint": 3}


def test_release_mechanism_has_a_budget_in_all(small):
    sphere = small["studies"]["sphere"]
    sphere |= {"mechanism": PRIVATE, "support": PUBLIC, "draws": {"all": 4}}
    sphere["budgets"] = {"equal": {"totals": ["0.6"]}}
    sphere["cells"] = [{"n": [5], "noise_variance": ["0.1"], "budgets": ["equal"]}]
    del sphere["figures"], sphere["random_walk"], sphere["losses"]
    found = studies_of({"name": "all", "seed": 1, "studies": {"sphere": sphere}})["sphere"]
    assert found.cells == {"n5_noise0.1": {"all0.6": {"all": "0.6"}}}
    assert found.draws == {"all": 4}
    assert list(found.cell_blocks.values()) == [{"all0.6": {"all": "0.6"}}]


def test_curves_are_told_their_cells(small):
    [shown] = studies_of(small)["sphere"].curve_groups("figure_5")
    assert shown == {
        "group": "n5_noise0.001",
        "n": 5,
        "noise_variance": "0.001",
        "cells": {
            "p0.5_v0.5": {"footpoint": "0.5", "shooting_vector": "0.5"},
            "p1.01_v1.01": {"footpoint": "1.01", "shooting_vector": "1.01"},
        },
    }


def test_default_sphere_study_has_the_cells_of_the_paper():
    sphere = studies_of(copy.deepcopy(SHIPPED["config"]))["sphere"]
    cells = [(group, cell) for group, named in sphere.cells.items() for cell in named]
    # Of ten equal and ten unequal budgets at three n, ten equal ones at two noises more; and
    # releases at six in all.
    released = [pair for pair in cells if sphere.sampler_of(*pair) == "release"]
    assert len(released) == 5 * 6
    assert len(cells) - len(released) == 80
    assert len(cells) == len(set(cells))
    assert list(sphere.groups) == [
        *("n20_noise0.001", "n50_noise0.001", "n100_noise0.001"),
        *("n50_noise0.01", "n50_noise0.1"),
    ]
    assert sphere.groups["n100_noise0.001"] == {"n": 100, "noise_variance": "0.001"}
    assert sphere.cells["n50_noise0.1"]["p0.1_v0.1"] == {
        "footpoint": "0.1",
        "shooting_vector": "0.1",
    }
    assert sphere.cells["n20_noise0.001"]["p0.90_v1.12"] == {
        "footpoint": "0.90",
        "shooting_vector": "1.12",
    }
    grids = [entry for entry in sphere.grids if entry[0] != "release"]
    members = {(grid, group) for grid, group, _ in grids}
    assert members == {("equal", group) for group in sphere.groups} | {
        ("split", f"n{n}_noise0.001") for n in (20, 50, 100)
    }
    assert len(grids) == len(set(grids)) == 80
    assert {cell for grid, _, cell in sphere.grids if grid == "split"}.isdisjoint(
        cell for grid, _, cell in sphere.grids if grid == "equal"
    )


def test_cell_of_two_grids_is_sampled_once(small):
    sphere = studies_of(small)["sphere"]
    shared = "p1.01_v1.01"
    assert {grid for grid, _, cell in sphere.grids if cell == shared} == {"equal", "split"}
    assert sum(map(len, sphere.cell_blocks.values())) == len(sphere.block_of) == 2 * 3 + 1


def test_repeated_budgets_and_cells_count_once(small):
    sphere = studies_of(copy.deepcopy(small))["sphere"]
    small["studies"]["sphere"]["budgets"]["equal"]["totals"].append("1.0")
    small["studies"]["sphere"]["cells"] *= 2
    again = studies_of(small)["sphere"]
    assert again.grids == sphere.grids
    assert again.cell_blocks == sphere.cell_blocks


@pytest.mark.parametrize("cells_per_job", [1, 3, 100])
def test_cells_per_job_changes_the_jobs_alone(small, cells_per_job):
    def files(studies):
        return {
            (study.name, group, sampler, cell, *budgets.items())
            for study in studies.values()
            for (group, sampler, _), cells in study.cell_blocks.items()
            for cell, budgets in cells.items()
        }

    before = studies_of(copy.deepcopy(small))
    small["cells_per_job"] = cells_per_job
    after = studies_of(small)
    assert files(after) == files(before)
    assert {name: study.grids for name, study in after.items()} == {
        name: study.grids for name, study in before.items()
    }
    sizes = [len(cells) for cells in after["sphere"].cell_blocks.values()]
    assert max(sizes) == min(cells_per_job, 3)
    assert sum(sizes) == 7


@pytest.mark.parametrize(("budgets", "blocks"), [(999, [10] * 99 + [9]), (2001, [20] * 100 + [1])])
def test_cells_per_job_follow_from_their_number(small, budgets, blocks):
    sphere = small["studies"]["sphere"]
    sphere["budgets"] = {"equal": {"totals": [str(k + 1) for k in range(budgets)]}}
    sphere["cells"] = [{"n": [5], "noise_variance": ["0.1"], "budgets": ["equal"]}]
    del sphere["figures"], sphere["random_walk"], sphere["losses"]
    found = studies_of({"name": "many", "seed": 1, "studies": {"sphere": sphere}})["sphere"]
    assert [len(cells) for cells in found.cell_blocks.values()] == blocks
    assert set(found.block_of.values()) == set(range(len(blocks)))


# --- Where data come from ---


def test_source_is_the_stand_in_only_while_there_is_no_file(small, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    del small["studies"]["rats"], small["papers"]

    def corpus():
        return studies_of(copy.deepcopy(small))["corpus_callosum"]

    study = corpus()
    assert (study.source, study.table, list(study.groups)) == ("stand_in", None, ["stand_in"])
    assert "simulated stand-in" in study.note.lower()
    for name in small["studies"]["corpus_callosum"]["data"]["path"]:
        (tmp_path / name).write_text("")
        study = corpus()
        assert (study.source, study.table, list(study.groups)) == ("table", name, ["observed"])
        assert study.note == ""
        # The comparison names no group, and goes where the data are.
        assert {group for group, _, _ in study.cell_blocks} == {"observed"}
        (tmp_path / name).unlink()
    assert corpus().source == "stand_in"


def test_note_of_a_study_stands_beside_that_of_the_stand_in(small):
    small["studies"]["corpus_callosum"]["note"] = "Seen from the left."
    note = studies_of(small)["corpus_callosum"].note
    assert note.endswith("Seen from the left.")
    assert "simulated stand-in" in note.lower()


def test_single_path_may_have_a_stand_in_too(small):
    small["studies"]["corpus_callosum"]["data"]["path"] = "data/corpus_callosum.csv"
    assert studies_of(small)["corpus_callosum"].source == "stand_in"


def test_matrix_of_a_map_is_known_by_what_it_holds(small, monkeypatch, tmp_path):
    (tmp_path / "resources").mkdir()
    for name in ("vilmann_rats.csv", "published"):
        (tmp_path / "resources" / name).symlink_to(Path.cwd() / "resources" / name)
    monkeypatch.chdir(tmp_path)
    small["studies"]["reduced"]["manifold"]["landmark_map"] = {"matrix": "map.csv"}
    seen = []
    for text in ("1,0", "0,1", "1,0"):
        Path("map.csv").write_text(text)
        studies = studies_of(copy.deepcopy(small))
        seen.append(studies["reduced"].settings["manifold"])
    assert seen[0] == seen[2] != seen[1]


def test_command_that_runs_nothing_needs_no_number_of_cores(checkout):
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "snakemake",
            "--configfile",
            checkout.configuration.name,
            "--summary",
        ],
        cwd=checkout.root,
        env=checkout.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", SHIPPED)
def test_samplers_take_the_settings_of_a_study(name):
    for study in studies_of(SHIPPED[name]).values():
        inspect.signature(plan).bind(None, None, 1, **study.sampler_settings("default")["plan"])


def test_a_key_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "twice.yaml"
    path.write_text("name: a\nstudies:\n  sphere: {seed: 1}\n  rats:\n    seed: 1\n    seed: 2\n")
    with pytest.raises(DataError, match=r"twice\.yaml, line 6: the key seed stands in line 5"):
        load(path)
    # What is merged may be replaced, wherever that mapping is used again.
    path.write_text("a: {b: &b {<<: {x: 1}, x: 2}}\nc: {<<: *b, x: 3}\nd: {<<: [*b, *b]}\n")
    assert load(path) == {"a": {"b": {"x": 2}}, "c": {"x": 3}, "d": {"x": 2}}


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
