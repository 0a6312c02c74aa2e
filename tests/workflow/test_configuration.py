"""Configurations: what is refused and in which words, defaults, and what a configuration means."""

import copy
import csv
import math
import re
from pathlib import Path

import pytest
import yaml

from geodp.errors import DataError
from reproduction.configuration import validate
from reproduction.figures.style import CURVES
from reproduction.studies import MOST_CURVES, expand

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = {
    path.stem: yaml.safe_load(path.read_text())
    for path in (ROOT / "config").glob("*.yaml")
    # Settings of stages that are no configuration of studies.
    if path.stem not in ("audit", "benchmark", "utility")
}
REMOVED = object()


@pytest.fixture(autouse=True)
def in_checkout(monkeypatch, source):
    """Paths in a configuration are seen from a checkout, without what its user put into data."""
    monkeypatch.chdir(source)


def studies_of(configuration):
    return expand(validate(configuration))


def change(configuration, place, value):
    """Set the key at a place such as ``"studies.sphere.cells.0.n"``, or remove it."""
    *before, last = [int(key) if key.isdigit() else key for key in place.split(".")]
    for key in before:
        configuration = configuration[key]
    if value is REMOVED:
        del configuration[last]
    else:
        configuration[last] = value


SPHERE = "studies.sphere"
RATS = "studies.rats"
MATRICES = "studies.spd"
CORPUS = "studies.corpus_callosum"
REDUCED = "studies.reduced"
CONVERGENCE = f"{CORPUS}.figures.figure_3_convergence"
SPD = {"name": "spd", "size": 2}
HYPERBOLIC = {"name": "hyperbolic", "size": 2}
GROUPS = [f"n{n}_noise0.001" for n in (5, 6, 7, 8, 9)]
TANGENT = {"source": "simulated", "shooting_vector_length": 0.6, "noise": "tangent"}

# What is changed, how the message begins after "configuration key ", and its remedy.
REFUSED = {
    "unknown key": ({"sed": 1}, "sed is unknown", "did you mean seed?"),
    "unknown key of a study": (
        {f"{SPHERE}.budget": 1},
        f"{SPHERE}.budget is unknown",
        "did you mean budgets?",
    ),
    "unknown key of the manifold": (
        {f"{SPHERE}.manifold.sise": 1},
        f"{SPHERE}.manifold.sise is unknown",
        "did you mean size?",
    ),
    "unknown key of simulated data": (
        {f"{SPHERE}.data.data_set": 1},
        f"{SPHERE}.data.data_set is unknown",
        "did you mean data_sets?",
    ),
    "unknown key of a table": (
        {f"{RATS}.data.covariates": "age"},
        f"{RATS}.data.covariates is unknown",
        "did you mean covariate?",
    ),
    "unknown key of a grid": (
        {f"{SPHERE}.budgets.equal": {"totls": ["1"]}},
        f"{SPHERE}.budgets.equal.totls is unknown",
        "did you mean totals?",
    ),
    "unknown key of cells": (
        {f"{SPHERE}.cells.0.noise_varianc": ["1"]},
        f"{SPHERE}.cells[0].noise_varianc is unknown",
        "did you mean noise_variance?",
    ),
    "unknown key of draws": (
        {f"{SPHERE}.draws.footpoint": 1},
        f"{SPHERE}.draws.footpoint is unknown",
        "did you mean footpoints?",
    ),
    "unknown key of the support": (
        {f"{SPHERE}.support": {"footpoint_center": None}},
        f"{SPHERE}.support.footpoint_center is unknown",
        "did you mean footpoint_centre?",
    ),
    "unknown key of the sampler": (
        {f"{SPHERE}.sampler.chain": 4},
        f"{SPHERE}.sampler.chain is unknown",
        "did you mean chains?",
    ),
    "unknown key of the random walk": (
        {f"{SPHERE}.random_walk.step_size": 4},
        f"{SPHERE}.random_walk.step_size is unknown",
        "did you mean step_scale?",
    ),
    "unknown key of a compared cell": (
        {f"{SPHERE}.random_walk.cells.0.cels": 4},
        f"{SPHERE}.random_walk.cells[0].cels is unknown",
        "did you mean cell?",
    ),
    "unknown key of the neighbours": (
        {f"{SPHERE}.neighbours.pair": 4},
        f"{SPHERE}.neighbours.pair is unknown",
        "did you mean pairs?",
    ),
    "unknown key of a figure": (
        {f"{SPHERE}.figures.figure_1.grid": ["equal"]},
        f"{SPHERE}.figures.figure_1.grid is unknown",
        "did you mean grids?",
    ),
    "unknown key unlike any": (
        {f"{SPHERE}.manifold.zzz": 1},
        f"{SPHERE}.manifold.zzz is unknown",
        "known keys are name, size",
    ),
    "missing key": ({"name": REMOVED}, "name is missing", "add it"),
    "missing source of simulated data": (
        {f"{SPHERE}.data.source": REMOVED},
        f"{SPHERE}.data.source is missing",
        "add it",
    ),
    "missing source of a table": (
        {f"{RATS}.data.source": REMOVED},
        f"{RATS}.data.source is missing",
        "add it",
    ),
    "text for a number": ({"seed": "x"}, "seed: 'x' has the wrong type", "give an integer"),
    "truth value for a number": (
        {f"{SPHERE}.draws.footpoints": True},
        f"{SPHERE}.draws.footpoints: True has the wrong type",
        "give an integer",
    ),
    "number for a list": (
        {f"{SPHERE}.cells.0.n": 5},
        f"{SPHERE}.cells[0].n: 5 has the wrong type",
        "give a list",
    ),
    "nothing for a study": ({SPHERE: None}, f"{SPHERE}: None has the wrong type", "give a mapping from keys to values"),
    "negative seed": ({"seed": -1}, "seed: -1 is too small", "give 0 or more"),
    "no studies": ({"studies": {}}, "studies: it is empty", "give at least one entry"),
    "name with a space": ({"name": "a b"}, "name: 'a b' is not allowed", "it must match"),
    "name of a study with a space": (
        {"studies.a b": {}},
        "studies: 'a b' is not allowed",
        "it must match",
    ),
    "budget of zero": (
        {f"{SPHERE}.budgets.equal.totals.0": "0"},
        f"{SPHERE}.budgets.equal.totals[0]: ",
        "must be above zero and is 0",
    ),
    "negative budget": (
        {f"{SPHERE}.budgets.equal.totals.1": "-1"},
        f"{SPHERE}.budgets.equal.totals[1]: ",
        "must be above zero and is -1",
    ),
    "budget that is no number": (
        {f"{SPHERE}.budgets.split.total": "abc"},
        f"{SPHERE}.budgets.split.total: 'abc' is not a number",
        'give a budget such as "0.5"',
    ),
    "budget that is not finite": (
        {f"{SPHERE}.budgets.equal.totals.0": math.nan},
        f"{SPHERE}.budgets.equal.totals[0]: nan is not finite",
        "give a finite number",
    ),
    "infinite budget as text": (
        {f"{SPHERE}.budgets.equal.totals.0": "inf"},
        f"{SPHERE}.budgets.equal.totals[0]: ",
        "must be above zero and is inf",
    ),
    "footpoint takes the total": (
        {f"{SPHERE}.budgets.split.footpoint.1": "2.02"},
        f"{SPHERE}.budgets.split.footpoint[1]: 2.02 leaves nothing of the total 2.02",
        "give less",
    ),
    "footpoint takes more than the total": (
        {f"{SPHERE}.budgets.split.footpoint.0": "3"},
        f"{SPHERE}.budgets.split.footpoint[0]: 3 leaves nothing of the total 2.02",
        "give less",
    ),
    "no budgets": (
        {f"{SPHERE}.budgets.equal.totals": []},
        f"{SPHERE}.budgets.equal.totals: the list is empty",
        "give at least one entry",
    ),
    "grid of two forms": (
        {f"{SPHERE}.budgets.equal.total": "2"},
        f"{SPHERE}.budgets.equal: ",
        "config/config.yaml explains them",
    ),
    "grid of half a form": (
        {f"{SPHERE}.budgets.split.total": REMOVED},
        f"{SPHERE}.budgets.split: ",
        "config/config.yaml explains them",
    ),
    "two records": (
        {f"{SPHERE}.cells.0.n.0": 2},
        f"{SPHERE}.cells[0].n[0]: 2 is too small",
        "give 3 or more",
    ),
    "no number of records": (
        {f"{SPHERE}.cells.0.n": REMOVED},
        f"{SPHERE}.cells[0]: simulated data need n",
        "add them",
    ),
    "number of records of a table": (
        {f"{RATS}.cells.0.n": [5]},
        f"{RATS}.cells[0]: n and noise_variance belong to simulated data",
        "remove them",
    ),
    "negative variance": (
        {f"{SPHERE}.cells.0.noise_variance": ["-0.1"]},
        f"{SPHERE}.cells[0].noise_variance[0]: '-0.1' is not a number above zero",
        "give a variance",
    ),
    "variance that is no number": (
        {f"{SPHERE}.cells.0.noise_variance": ["e"]},
        f"{SPHERE}.cells[0].noise_variance[0]: 'e' is not a number above zero",
        "give a variance",
    ),
    "variance of neighbours": (
        {f"{SPHERE}.neighbours.noise_variance": "abc"},
        f"{SPHERE}.neighbours.noise_variance: 'abc' is not a number above zero",
        "give a variance",
    ),
    "length that is not finite": (
        {f"{SPHERE}.data.shooting_vector_length": math.inf},
        f"{SPHERE}.data.shooting_vector_length: inf is not finite",
        "give a finite number",
    ),
    "unknown manifold": (
        {f"{SPHERE}.manifold.name": "torus"},
        f"{SPHERE}.manifold.name: 'torus' is not known",
        "give one of euclidean, sphere, hyperbolic, spd, kendall",
    ),
    "two landmarks": (
        {f"{RATS}.manifold.size": 2},
        f"{RATS}.manifold.size: 2 is too small",
        "need 3 landmarks or more",
    ),
    "matrices without a radius of the data": (
        {f"{SPHERE}.manifold": SPD, f"{SPHERE}.data": TANGENT},
        f"{SPHERE}.data_radius is missing",
        "add it",
    ),
    "matrices with ambient noise": (
        {f"{SPHERE}.manifold": SPD, f"{SPHERE}.data_radius": 1.0},
        f"{SPHERE}.data.noise: ",
        "set it to tangent",
    ),
    "hyperbolic space without a radius of the data": (
        {f"{SPHERE}.manifold": HYPERBOLIC, f"{SPHERE}.data": TANGENT},
        f"{SPHERE}.data_radius is missing",
        "add it",
    ),
    "hyperbolic space with ambient noise": (
        {f"{SPHERE}.manifold": HYPERBOLIC, f"{SPHERE}.data_radius": 1.0},
        f"{SPHERE}.data.noise: ",
        "set it to tangent",
    ),
    "unknown grid of cells": (
        {f"{SPHERE}.cells.0.budgets.0": "eqal"},
        f"{SPHERE}.cells[0].budgets: there is no grid eqal",
        "(there are: equal, split)",
    ),
    "missing table": (
        {f"{RATS}.data.path": "resources/mice.csv"},
        f"{RATS}.data.path: there is no file resources/mice.csv",
        "put it there or correct the path",
    ),
    "folder for a table": (
        {f"{RATS}.data.path": "resources"},
        f"{RATS}.data.path: there is no file resources",
        "put it there or correct the path",
    ),
    "unknown kind of figure": (
        {f"{SPHERE}.figures.figure_9.kind": "pie"},
        f"{SPHERE}.figures.figure_9.kind: 'pie' is not known",
        "give one of error, curves, ratios, shapes, samplers",
    ),
    "figure without a key": (
        {f"{SPHERE}.figures.figure_1.grids": REMOVED},
        f"{SPHERE}.figures.figure_1.grids is missing",
        "a figure of kind error needs it",
    ),
    "figure with a key of another kind": (
        {f"{SPHERE}.figures.figure_9.draws": 2},
        f"{SPHERE}.figures.figure_9.draws: a figure of kind ratios has no such key",
        "remove it",
    ),
    "figure of an unknown group": (
        {f"{SPHERE}.figures.figure_1.groups.0": "n9_noise0.001"},
        f"{SPHERE}.figures.figure_1: there is no group n9_noise0.001",
        "(there are: n5_noise0.001, n6_noise0.001)",
    ),
    "figure of an unknown grid": (
        {f"{SPHERE}.figures.figure_1.grids.0": "other"},
        f"{SPHERE}.figures.figure_1.grids: ",
        "no cells use a grid other",
    ),
    "figure of a group that lacks its grid": (
        {
            f"{SPHERE}.cells": [
                {"n": [5], "noise_variance": ["0.001"], "budgets": ["equal", "split"]},
                {"n": [6], "noise_variance": ["0.001"], "budgets": ["equal"]},
            ]
        },
        f"{SPHERE}.figures.figure_1: the group n6_noise0.001 has no cells in the grid split",
        "name other groups or grids",
    ),
    "figure of more groups than styles": (
        {f"{SPHERE}.cells.0.n": [5, 6, 7, 8, 9], f"{SPHERE}.figures.figure_1.groups": GROUPS},
        f"{SPHERE}.figures.figure_1.groups: 5 curves cannot be told apart",
        "name 4 groups at most",
    ),
    "figure of ratios without sizes": (
        {f"{SPHERE}.neighbours": {}},
        f"{SPHERE}.figures.figure_9: ",
        f"no sizes are given under {SPHERE}.neighbours.n",
    ),
    "shapes on the sphere": (
        {f"{SPHERE}.figures.figure_9": {"kind": "shapes", "cell": "p0.5_v0.5", "values": [1]}},
        f"{SPHERE}.figures.figure_9: ",
        "shapes are drawn of planar landmarks only",
    ),
    "curves of shapes": (
        {f"{RATS}.figures.shapes": {"kind": "curves", "grids": ["equal"], "groups": ["observed"]}},
        f"{RATS}.figures.shapes: ",
        "curves are drawn on the sphere of dimension 2 only",
    ),
    "shapes of an unknown cell": (
        {f"{RATS}.figures.shapes.cell": "p9_v9"},
        f"{RATS}.figures.shapes.cell: there is no cell p9_v9",
        "(the first are: p0.3_v0.3)",
    ),
    "comparison on an unknown cell": (
        {f"{SPHERE}.random_walk.cells.0.cell": "p9_v9"},
        f"{SPHERE}.random_walk.cells[0]: there is no cell p9_v9 in group n5_noise0.001",
        "(groups: n5_noise0.001, n6_noise0.001)",
    ),
    "few chains": (
        {f"{SPHERE}.sampler.chains": 2},
        f"{SPHERE}.sampler.chains: 2 is too small",
        "give 4 or more",
    ),
    "total variation of one": (
        {f"{SPHERE}.sampler.total_variation": 1},
        f"{SPHERE}.sampler.total_variation: 1 is too large",
        "give a number below 1",
    ),
    "fewest steps above the most": (
        {f"{SPHERE}.sampler.fewest_steps": 401},
        f"{SPHERE}.sampler.fewest_steps: 401 is more than most_steps, 400",
        "lower it or raise most_steps",
    ),
    "centre that is no point": (
        {f"{SPHERE}.support": {"footpoint_centre": "pole"}},
        f"{SPHERE}.support.footpoint_centre: 'pole' has none of the forms",
        "config/config.yaml explains them",
    ),
    "centre without a radius": (
        {f"{SPHERE}.support": {"footpoint_centre": "truth"}},
        f"{SPHERE}.support.footpoint_radius is missing",
        "or data_radius from which one follows: add either",
    ),
    "radius without a centre": (
        {f"{SPHERE}.support": {"footpoint_radius": 0.5}},
        f"{SPHERE}.support.footpoint_centre is missing",
        "a ball of footpoints needs a centre and a radius",
    ),
    "truth of a table": (
        {f"{RATS}.support": {"footpoint_centre": "truth", "footpoint_radius": 0.5}},
        f"{RATS}.support.footpoint_centre: there is no truth for observed data",
        "give coordinates, or fit",
    ),
    "neighbours of a table": (
        {f"{RATS}.neighbours": {"n": [5]}},
        f"{RATS}.neighbours.n: pairs of neighbours are simulated",
        "remove it",
    ),
    "neighbours of a stand-in": (
        {f"{CORPUS}.neighbours": {"n": [5]}},
        f"{CORPUS}.neighbours.n: pairs of neighbours are simulated",
        "remove it",
    ),
    "neither length nor last point": (
        {f"{SPHERE}.data.shooting_vector_length": REMOVED},
        f"{SPHERE}.data: give either shooting_vector_length or last_point",
        "both say where a geodesic ends",
    ),
    "both length and last point": (
        {f"{SPHERE}.data.last_point": "random"},
        f"{SPHERE}.data: give either shooting_vector_length or last_point",
        "both say where a geodesic ends",
    ),
    "last point that is no point": (
        {f"{MATRICES}.data.last_point": "north"},
        f"{MATRICES}.data.last_point: 'north' has none of the forms",
        "config/config.yaml explains them",
    ),
    "random points without a spread": (
        {f"{MATRICES}.data.random_point_radius": 0},
        f"{MATRICES}.data.random_point_radius: 0 is too small",
        "give a number above 0",
    ),
    "unknown key of a map": (
        {f"{REDUCED}.manifold.landmark_map": {"harmonic": 2}},
        f"{REDUCED}.manifold.landmark_map.harmonic is unknown",
        "did you mean harmonics?",
    ),
    "map of nothing": (
        {f"{REDUCED}.manifold.landmark_map": {}},
        f"{REDUCED}.manifold.landmark_map: it is empty",
        "give at least one entry",
    ),
    "map of two forms": (
        {f"{REDUCED}.manifold.landmark_map": {"harmonics": 2, "matrix": "map.csv"}},
        f"{REDUCED}.manifold.landmark_map: ",
        "config/config.yaml explains them",
    ),
    "map without harmonics": (
        {f"{REDUCED}.manifold.landmark_map.harmonics": 0},
        f"{REDUCED}.manifold.landmark_map.harmonics: 0 is too small",
        "give 1 or more",
    ),
    "harmonics above those of the landmarks": (
        {f"{REDUCED}.manifold.landmark_map.harmonics": 6},
        f"{REDUCED}.manifold.landmark_map.harmonics: 6 is too large",
        "12 landmarks have harmonics up to 5",
    ),
    "map whose matrix is missing": (
        {f"{REDUCED}.manifold.landmark_map": {"matrix": "map.csv"}},
        f"{REDUCED}.manifold.landmark_map.matrix: there is no file map.csv",
        "put it there or correct the path",
    ),
    "map on the sphere": (
        {f"{SPHERE}.manifold.landmark_map": {"harmonics": 1}},
        f"{SPHERE}.manifold.landmark_map: only planar landmarks can be mapped",
        "remove it",
    ),
    "two tables at once": (
        {f"{RATS}.data.path": ["resources/vilmann_rats.csv", "resources/README.md"]},
        f"{RATS}.data.path: there are both resources/vilmann_rats.csv and resources/README.md",
        "keep one",
    ),
    "neither a table nor a stand-in": (
        {f"{CORPUS}.data.stand_in": None},
        f"{CORPUS}.data.path: there is no file data/corpus_callosum.csv or "
        "data/corpus_callosum.mat",
        "put it there or correct the path",
    ),
    "no path": (
        {f"{CORPUS}.data.path": []},
        f"{CORPUS}.data.path: ",
        "give at least one entry",
    ),
    "number for a path": (
        {f"{CORPUS}.data.path": 5},
        f"{CORPUS}.data.path: 5 has none of the forms",
        "config/config.yaml explains them",
    ),
    "range of covariates upside down": (
        {f"{CORPUS}.data.covariate_range": [90, 50]},
        f"{CORPUS}.data.covariate_range: 90 is not below 50",
        "give the smaller value first",
    ),
    "range of covariates of no width": (
        {f"{RATS}.data.covariate_range": [7, 7]},
        f"{RATS}.data.covariate_range: 7 is not below 7",
        "give the smaller value first",
    ),
    "filter that is a list": (
        {f"{CORPUS}.data.keep": ["AD"]},
        f"{CORPUS}.data.keep: ['AD'] has the wrong type",
        "give a mapping from keys to values",
    ),
    "stand-in on the sphere": (
        {f"{RATS}.manifold": {"name": "sphere", "size": 2}, f"{RATS}.data.stand_in": {}},
        f"{RATS}.data.stand_in: stand-ins are outlines of planar landmarks",
        "remove it",
    ),
    "unknown key of a stand-in": (
        {f"{CORPUS}.data.stand_in.data_set": 3},
        f"{CORPUS}.data.stand_in.data_set is unknown",
        "did you mean data_sets?",
    ),
    "stand-in of two records": (
        {f"{CORPUS}.data.stand_in.n": 2},
        f"{CORPUS}.data.stand_in.n: 2 is too small",
        "give 3 or more",
    ),
    "number of records of a stand-in among the cells": (
        {f"{CORPUS}.cells.0.n": [5]},
        f"{CORPUS}.cells[0]: n and noise_variance belong to simulated data",
        "remove them",
    ),
    "comparison without a cell": (
        {f"{CORPUS}.random_walk.cells.0": {"group": "stand_in"}},
        f"{CORPUS}.random_walk.cells[0].cell is missing",
        "add it",
    ),
    "comparison on an unknown cell of the only group": (
        {f"{CORPUS}.random_walk.cells.0.cell": "p9_v9"},
        f"{CORPUS}.random_walk.cells[0]: there is no cell p9_v9 in group stand_in",
        "(groups: stand_in)",
    ),
    "comparison on an unknown group": (
        {f"{CORPUS}.random_walk.cells.0.group": "observed"},
        f"{CORPUS}.random_walk.cells[0]: there is no cell p0.3_v0.3 in group observed",
        "(groups: stand_in)",
    ),
    "walk of a cell where none runs": (
        {f"{RATS}.figures.shapes.random_walk": True},
        f"{RATS}.figures.shapes.random_walk: the random walk does not run on the cell p0.3_v0.3",
        "studies.rats.random_walk.cells",
    ),
    "figures of two studies with one name": (
        {
            f"{CORPUS}.figures.reduced_error": {"kind": "samplers"},
            "studies.corpus_callosum_reduced": {
                "manifold": {"name": "euclidean", "size": 2},
                "data": {"source": "simulated", "last_point": "random", "noise": "tangent"},
                "budgets": {"equal": {"totals": ["1.0"]}},
                "cells": [{"n": [5], "noise_variance": ["0.1"], "budgets": ["equal"]}],
                "figures": {"error": {"kind": "error", "grids": ["equal"]}},
            },
        },
        "studies.corpus_callosum_reduced.figures.error: with its study's name it reads like",
        "rename either",
    ),
    "filter by nothing": (
        {f"{CORPUS}.data.keep": {"diagnosis": []}},
        f"{CORPUS}.data.keep.diagnosis: the list is empty",
        "give at least one entry",
    ),
    "ellipses on the sphere": (
        {f"{SPHERE}.figures.figure_9": {"kind": "ellipses", "cell": "p0.5_v0.5", "values": [0]}},
        f"{SPHERE}.figures.figure_9: ",
        "ellipses are drawn of 2 x 2 matrices only",
    ),
    "ellipses of larger matrices": (
        {f"{MATRICES}.manifold.size": 3},
        f"{MATRICES}.figures.figure_8: ",
        "ellipses are drawn of 2 x 2 matrices only",
    ),
    "ellipses of an unknown cell": (
        {f"{MATRICES}.figures.figure_8.cell": "p9_v9"},
        f"{MATRICES}.figures.figure_8.cell: there is no cell p9_v9",
        "(the first are: p0.5_v0.5)",
    ),
    "ellipses without values": (
        {f"{MATRICES}.figures.figure_8.values": REMOVED},
        f"{MATRICES}.figures.figure_8.values is missing",
        "a figure of kind ellipses needs it",
    ),
    "more draws shown than drawn": (
        {f"{MATRICES}.figures.figure_8.draws": 3},
        f"{MATRICES}.figures.figure_8.draws: 3 is too large",
        "2 footpoints are drawn",
    ),
    "value without a logarithm": (
        {f"{RATS}.figures.shapes.values": [0, 7]},
        f"{RATS}.figures.shapes.values: 0 has no logarithm",
        "give positive values",
    ),
    "convergence without a cell": (
        {f"{CONVERGENCE}.cell": REMOVED},
        f"{CONVERGENCE}.cell is missing",
        "a figure of kind convergence needs it",
    ),
    "convergence in an unknown group": (
        {f"{CONVERGENCE}.group": "observed"},
        f"{CONVERGENCE}: there is no group observed",
        "(there are: stand_in)",
    ),
    "convergence in an unknown cell": (
        {f"{CONVERGENCE}.cell": "p9_v9"},
        f"{CONVERGENCE}.cell: there is no cell p9_v9",
        "(the first are: p0.3_v0.3)",
    ),
    "convergence of one walk": (
        {f"{CONVERGENCE}.chains": 1},
        f"{CONVERGENCE}.chains: 1 is too small",
        "give 2 or more",
    ),
    "convergence beside an unknown study": (
        {f"{CONVERGENCE}.reduced": "redcued"},
        f"{CONVERGENCE}.reduced: there is no study redcued",
        "(there are: sphere, spd, corpus_callosum, reduced, rats)",
    ),
    "convergence beside a study without the cell": (
        {f"{REDUCED}.budgets.equal.totals": ["2.0"]},
        f"{CONVERGENCE}.reduced: ",
        "the study reduced has no cell p0.3_v0.3",
    ),
    "transport in a cell": (
        {f"{SPHERE}.figures.figure_4.cell": "p0.5_v0.5"},
        f"{SPHERE}.figures.figure_4.cell: a figure of kind transport has no such key",
        "remove it",
    ),
    "claims that are no file": (
        {"claims": ["a.csv"]},
        "claims: ['a.csv'] has the wrong type",
        "give string, null",
    ),
    "missing file of claims": (
        {"claims": "resources/none.csv"},
        "claims: there is no file resources/none.csv",
        "put it there or correct the path",
    ),
}


def test_small_configuration_is_valid(small):
    assert list(studies_of(small)) == ["sphere", "spd", "corpus_callosum", "reduced", "rats"]


@pytest.mark.parametrize(("changes", "start", "remedy"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_configuration_is_refused_in_one_sentence(small, changes, start, remedy):
    for place, value in changes.items():
        change(small, place, value)
    with pytest.raises(DataError) as refusal:
        studies_of(small)
    message = str(refusal.value)
    assert message.startswith(f"configuration key {start}")
    assert remedy in message
    assert "\n" not in message
    assert not re.search(r"\. [A-Z]|\.$", message)


def test_range_of_one_number_is_not_called_empty(small):
    change(small, f"{CORPUS}.data.covariate_range", [50])
    with pytest.raises(DataError) as refusal:
        studies_of(small)
    message = str(refusal.value)
    assert message.startswith(f"configuration key {CORPUS}.data.covariate_range: ")
    assert "empty" not in message


@pytest.mark.parametrize(
    "case",
    ["unknown key of a figure", "budget of zero", "missing table", "map whose matrix is missing"],
)
def test_command_line_says_the_same(checkout, small, case):
    changes, start, remedy = REFUSED[case]
    for place, value in changes.items():
        change(small, place, value)
    checkout.configure(small)
    result = checkout.snakemake()
    assert result.returncode != 0
    errors = [line for line in result.stdout.splitlines() if line.startswith("Error:")]
    assert len(errors) == 1
    assert errors[0].startswith(f"Error: configuration key {start}")
    assert remedy in errors[0]
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
    with open(configuration["claims"], encoding="utf-8", newline="") as text:
        claims = list(csv.DictReader(text))
    assert len(claims) > 30
    # Each has its study there, and the figure it is about.
    for claim in claims:
        figures = studies[claim["study"]].settings["figures"]
        about = f"figure_{claim['figure']}"
        of_others = {"corpus_callosum_reduced": "figure_3_reduced"}
        assert not claim["figure"] or of_others.get(claim["study"], about) in figures, claim


def test_defaults_are_filled_in(small):
    for key in ("draws", "sampler", "random_walk", "neighbours", "figures"):
        del small["studies"]["sphere"][key]
    del small["cells_per_job"]
    del small["claims"]
    studies = studies_of(small)
    sphere, rats = studies["sphere"], studies["rats"]
    assert small["claims"] is None
    assert small["cells_per_job"] == sphere.cells_per_job == 10
    settings = sphere.settings
    assert settings["draws"] == {"footpoints": 10, "shooting_vectors": 10}
    assert settings["mechanism"] == "as_published"
    assert settings["data"]["covariates"] == "equally_spaced"
    assert settings["data"]["noise"] == "ambient"
    assert settings["data"]["last_point"] is None
    assert settings["manifold"]["landmark_map"] is None
    assert settings["random_walk"] == {
        "steps": 1000,
        "step_scale": 2.0,
        "warm_up": 0,
        "cells": [],
    }
    assert settings["support"] == dict.fromkeys(
        ["footpoint_centre", "footpoint_radius", "shooting_vector_length"]
    )
    # A study of a table gets none of the keys of simulated data.
    assert set(rats.settings["data"]) == {
        *("source", "path", "covariate", "covariate_range", "columns", "transformation"),
        *("subject", "keep", "outline", "landmarks", "stand_in"),
    }
    assert rats.settings["data"]["stand_in"] is None
    # Those of a stand-in are filled in where one is asked for.
    assert studies["corpus_callosum"].settings["data"]["stand_in"]["trend_length"] == 0.045
    # A second filling changes nothing, and defaults are not shared between studies.
    before = copy.deepcopy(small)
    validate(small, SCHEMA)
    assert small == before
    settings["draws"]["footpoints"] = 1
    assert SCHEMA["$defs"]["study"]["properties"]["draws"]["default"] == {}


def keys_of(schema, place=""):
    """Every key of the schema: its place, whether it may be left out, and its default."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    for key, part in schema.get("properties", {}).items():
        yield f"{place}{key}", key in schema.get("required", []), "default" in part
        yield from keys_of(part, f"{place}{key}.")
    for branch in ("then", "else"):
        if branch in schema:
            yield from keys_of(schema[branch], place)
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            yield from keys_of(schema[inner], f"{place}*.")


def keys_in(value, place=""):
    if isinstance(value, dict):
        for key, part in value.items():
            yield f"{place}{key}"
            yield from keys_in(part, f"{place}{key}.")
            # Keys below names that a user chooses.
            yield from keys_in(part, f"{place}*.")
    elif isinstance(value, list):
        for part in value:
            yield from keys_in(part, f"{place}*.")


def test_every_key_is_explained_or_has_a_default():
    shown = set(keys_in(SHIPPED["config"]))
    known = list(keys_of(SCHEMA))
    assert len(known) > 40
    # Of the keys of figures, each kind has its own.
    figures = "studies.*.figures.*."
    silent = {
        place
        for place, _, has_default in known
        if place not in shown and not has_default and not place.startswith(figures)
    }
    # A study has one form of a map, and a plan one of scales, so the others are told in comments.
    scales = ("gradient_scale", "loss_scale", "loss_offset")
    maps = ("studies.*.manifold.landmark_map.matrix", "plan.manifold.landmark_map.matrix")
    maps += ("plan.manifold.landmark_map.harmonics",)
    told = {*maps, *(f"plan.scales.{name}" for name in scales)}
    assert silent == told
    text = (ROOT / "config" / "config.yaml").read_text()
    assert "{matrix: file.csv}" in text
    assert all(f"{name}: " in text for name in scales)
    assert {place for place, needed, _ in known if needed} <= shown | told


def test_default_sphere_study_has_the_cells_of_the_paper():
    sphere = studies_of(copy.deepcopy(SHIPPED["config"]))["sphere"]
    cells = [(group, cell) for group, named in sphere.cells.items() for cell in named]
    assert len(cells) == len(set(cells)) == 80
    assert list(sphere.groups) == [
        *("n20_noise0.001", "n50_noise0.001", "n100_noise0.001"),
        *("n50_noise0.01", "n50_noise0.1"),
    ]
    assert sphere.groups["n100_noise0.001"] == {"n": 100, "noise_variance": "0.001"}
    assert sphere.cells["n50_noise0.1"]["p0.1_v0.1"] == ("0.1", "0.1")
    assert sphere.cells["n20_noise0.001"]["p0.90_v1.12"] == ("0.90", "1.12")
    members = {(grid, group) for grid, group, _ in sphere.grids}
    assert members == {("equal", group) for group in sphere.groups} | {
        ("split", f"n{n}_noise0.001") for n in (20, 50, 100)
    }
    assert len(sphere.grids) == len(set(sphere.grids)) == 80
    assert {cell for grid, _, cell in sphere.grids if grid == "split"}.isdisjoint(
        cell for grid, _, cell in sphere.grids if grid == "equal"
    )


def test_cell_of_two_grids_is_sampled_once(small):
    sphere = studies_of(small)["sphere"]
    shared = "p1.01_v1.01"
    assert {grid for grid, _, cell in sphere.grids if cell == shared} == {"equal", "split"}
    sampled = [(entry["group"], entry["cell"], entry["sampler"]) for entry in sphere.sampled]
    assert len(sampled) == len(set(sampled)) == 2 * 3 + 1


def test_repeated_budgets_and_cells_count_once(small):
    sphere = studies_of(copy.deepcopy(small))["sphere"]
    small["studies"]["sphere"]["budgets"]["equal"]["totals"].append("1.0")
    small["studies"]["sphere"]["cells"] *= 2
    again = studies_of(small)["sphere"]
    assert again.grids == sphere.grids
    assert again.sampled == sphere.sampled


@pytest.mark.parametrize("cells_per_job", [1, 3, 100])
def test_cells_per_job_changes_the_jobs_alone(small, cells_per_job):
    def files(studies):
        return {
            (study.name, entry["group"], entry["cell"], entry["sampler"], entry["budgets"])
            for study in studies.values()
            for entry in study.sampled
        }

    before = studies_of(copy.deepcopy(small))
    small["cells_per_job"] = cells_per_job
    after = studies_of(small)
    assert files(after) == files(before)
    assert {name: study.grids for name, study in after.items()} == {
        name: study.grids for name, study in before.items()
    }
    sizes = [len(block.cells) for block in after["sphere"].blocks]
    assert max(sizes) == min(cells_per_job, 3)
    assert sum(sizes) == 7
    names = [block.name for block in after["sphere"].blocks]
    assert len(names) == len(set(names))


def test_as_many_curves_as_styles():
    assert len(CURVES) == MOST_CURVES


# --- Where data come from ---


def test_source_is_the_stand_in_only_while_there_is_no_file(small, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    del small["studies"]["rats"], small["claims"]

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
        assert {entry["group"] for entry in study.sampled} == {"observed"}
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
