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
from geodp.mechanisms.registry import MECHANISMS
from geodp.samplers.choice import plan
from reproduction import places
from reproduction.configuration import (
    MODELS,
    ConfigurationError,
    load_settings,
    reference,
    refuse_repeated_keys,
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
PAPER = {
    "name": "Kulkarni and Soto",
    "claims": "resources/published/kulkarni_soto_claims.csv",
}
MEAN = {"covariates": 0}
CERTIFIED = {"name": "certified", "options": {"residual_scale": 0.1}}
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
    f"{SPHERE}.mechanism": "laplace",
    f"{SPHERE}.model": MEAN,
    f"{SPHERE}.data_radius": 0.3,
    f"{SPHERE}.support": {"footpoint_centre": POLE},
    f"{SPHERE}.random_walk": {},
    f"{SPHERE}.losses": REMOVED,
}
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
    "the same budget in two ways": (
        {f"{SPHERE}.budgets": {"equal": {"totals": ["1", "1.00"]}}, f"{SPHERE}.figures": {}},
        f"{SPHERE}.budgets.equal: the cells p0.5_v0.5 and p0.50_v0.50 have the same budgets",
        "write each budget in one way",
    ),
    "folder for a table": (
        {f"{RATS}.data.path": "resources"},
        f"{RATS}.data.path: resources is a folder",
        "name the file in it",
    ),
    "predictions outside the range": (
        {f"{RATS}.data.covariate_range": [7, 200], f"{RATS}.figures.shapes.values": [30, 300]},
        f"{RATS}.figures.shapes.values[1]: 300 lies outside the covariate's range, 7 to 200",
        "choose a value within it",
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
    "draws of no block": (
        {f"{SPHERE}.draws.footpoints": 1},
        f"{SPHERE}.draws.footpoints: the mechanism kng_as_published draws footpoint",
        "name one of these",
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
        {f"{SPHERE}.draws.footpoint": True},
        f"{SPHERE}.draws.footpoint: True has the wrong type",
        "give an integer",
    ),
    "number for a list": (
        {f"{SPHERE}.cells.0.n": 5},
        f"{SPHERE}.cells[0].n: 5 has the wrong type",
        "give a list",
    ),
    "nothing for a study": (
        {SPHERE: None},
        f"{SPHERE}: None has the wrong type",
        "give a mapping from keys to values",
    ),
    "negative seed": ({"seed": -1}, "seed: -1 is too small", "give 0 or more"),
    "no studies": ({"studies": {}}, "studies is missing or empty", "add studies as in README's"),
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
        f"{SPHERE}.budgets.equal: it has total and totals",
        "give totals alone, or total with footpoint or shooting_vector",
    ),
    "grid of half a form": (
        {f"{SPHERE}.budgets.split.total": REMOVED},
        f"{SPHERE}.budgets.split: it has footpoint",
        "give totals alone, or total with footpoint or shooting_vector",
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
        f"{SPHERE}.support.footpoint_centre: 'pole' has none of its forms",
        "give null, truth, fit, or coordinates",
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
        f"{MATRICES}.data.last_point: 'north' has none of its forms",
        "give random, or coordinates",
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
        f"{REDUCED}.manifold.landmark_map: it has both harmonics and matrix",
        "keep one",
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
        f"{CORPUS}.data.path: 5 has none of its forms",
        "give a file, or a list of files",
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
    "noise variance of a stand-in among the cells": (
        {f"{CORPUS}.cells.0.noise_variance": ["0.1"]},
        f"{CORPUS}.cells[0]: n and noise_variance belong to simulated data",
        "remove them",
    ),
    "number of records of a table among the cells": (
        {f"{RATS}.cells.0.n": [5]},
        f"{RATS}.cells[0]: n and noise_variance belong to simulated data",
        "remove them",
    ),
    "losses of another space": (
        {"studies.spd.losses": {}},
        "studies.spd.losses: privacy losses are searched for kng_as_published",
        "on the sphere of dimension 2 only: remove it",
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
        "draws.footpoint is 2",
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
        {"papers.0.claims": ["a.csv"]},
        "papers[0].claims: ['a.csv'] has the wrong type",
        "give text",
    ),
    "missing file of claims": (
        {"papers.0.claims": "resources/none.csv"},
        "papers[0].claims: there is no file resources/none.csv",
        "put it there or correct the path",
    ),
    "two papers of one name": (
        {"papers": [PAPER, PAPER]},
        "papers[1].name: 'Kulkarni and Soto' is the name of two papers",
        "rename one",
    ),
    "neither studies nor a plan": (
        {"studies": REMOVED},
        "studies is missing or empty: add studies as in README's example",
        "or a plan",
    ),
    "nothing for a section": (
        {f"{SPHERE}.draws": None},
        f"{SPHERE}.draws: None has the wrong type",
        "give a mapping from keys to values",
    ),
    "infinite coordinate": (
        {f"{SPHERE}.data.first_point": [1, math.inf, 0]},
        f"{SPHERE}.data.first_point[1]: inf is not finite",
        "give a finite number",
    ),
    "truth value for a budget": (
        {f"{SPHERE}.budgets.equal.totals.0": True},
        f"{SPHERE}.budgets.equal.totals[0]: True has none of its forms",
        'give a decimal number such as "0.5"',
    ),
    "a tenth covariate": (
        {f"{SPHERE}.model": {"covariates": 10}},
        f"{SPHERE}.model.covariates: 10 is too large",
        "give 9 or less",
    ),
    "unknown loss": (
        {f"{SPHERE}.model": {"loss": "absolute"}},
        f"{SPHERE}.model.loss.name: 'absolute' is not known",
        "give one of squared_distance, distance, huber",
    ),
    "Huber's loss without a threshold": (
        {f"{SPHERE}.model": {"loss": "huber"}},
        f"{SPHERE}.model.loss.threshold is missing",
        "add it",
    ),
    "unknown key of a loss": (
        {f"{SPHERE}.model": {"loss": {"name": "huber", "treshold": 1.0}}},
        f"{SPHERE}.model.loss.treshold is unknown",
        "did you mean threshold?",
    ),
    "unknown mechanism": (
        {f"{SPHERE}.mechanism": "as_published"},
        f"{SPHERE}.mechanism.name: 'as_published' is not known",
        "give one of kng_as_published, certified, laplace",
    ),
    "unknown option of a mechanism": (
        {f"{SPHERE}.mechanism": {"name": "certified", "options": {"residual_scal": 1.0}}},
        f"{SPHERE}.mechanism.options.residual_scal is unknown",
        "did you mean residual_scale?",
    ),
    "releases without a scale": (
        {f"{SPHERE}.mechanism": "certified"},
        f"{SPHERE}.mechanism.options is missing",
        "add it",
    ),
    "published mechanism of two covariates": (
        {f"{SPHERE}.model": {"covariates": 2}},
        f"{SPHERE}.model.covariates: 2 is more than 1, and kng_as_published is of one covariate",
        "set it to 0 or 1 or name another mechanism",
    ),
    "published mechanism of a mean without a radius of the data": (
        {f"{SPHERE}.model": MEAN},
        f"{SPHERE}.data_radius is missing: the sensitivity of a mean needs",
        "add it",
    ),
    "published mechanism of another loss": (
        {f"{SPHERE}.model": {"loss": "distance"}},
        f"{SPHERE}.model.loss: kng_as_published is of least squares, not of distance",
        "set it to squared_distance or name another mechanism",
    ),
    "Laplace mechanism of a regression": (
        {f"{SPHERE}.mechanism": "laplace"},
        f"{SPHERE}.model.covariates: 1 is not 0, and laplace is of a mean",
        "set it to 0 or name another mechanism",
    ),
    "Laplace mechanism without a radius of the data": (
        {f"{SPHERE}.mechanism": "laplace", f"{SPHERE}.model": MEAN},
        f"{SPHERE}.data_radius is missing: the sensitivity of a mean needs",
        "add it",
    ),
    "Laplace mechanism about no public centre": (
        LAPLACE_MEAN | {f"{SPHERE}.support": {"footpoint_centre": "fit"}},
        f"{SPHERE}.support.footpoint_centre: laplace needs the public centre",
        "give coordinates, or truth",
    ),
    "Laplace mechanism of a median": (
        LAPLACE_MEAN | {f"{SPHERE}.model": {"covariates": 0, "loss": "distance"}},
        f"{SPHERE}.model.loss: laplace is of means by least squares, not of distance",
        "set it to squared_distance or name another mechanism",
    ),
    "length of a mean": (
        LAPLACE_MEAN,
        f"{SPHERE}.data.shooting_vector_length: a model without covariates has points about one",
        "remove it",
    ),
    "covariates of a mean": (
        {
            **LAPLACE_MEAN,
            f"{SPHERE}.data": {"source": "simulated", "covariates": "uniform"},
        },
        f"{SPHERE}.data.covariates: uniform does not go with model.covariates 0",
        "remove it",
    ),
    "no covariates of a regression": (
        {f"{SPHERE}.data.covariates": "none"},
        f"{SPHERE}.data.covariates: none does not go with model.covariates 1",
        "give equally_spaced or uniform",
    ),
    "releases of two covariates on a curved space": (
        {f"{MATRICES}.mechanism": CERTIFIED, f"{MATRICES}.model": {"covariates": 2}},
        f"{MATRICES}.model.covariates: certified has the footpoint in the middle",
        "or name another mechanism",
    ),
    "releases of a median": (
        {
            f"{MATRICES}.mechanism": CERTIFIED,
            f"{MATRICES}.model": {"covariates": 1, "loss": "distance"},
        },
        f"{MATRICES}.model.loss: certified is for least squares",
        "or name another mechanism",
    ),
    "releases without a public centre": (
        {
            f"{SPHERE}.mechanism": CERTIFIED,
            f"{SPHERE}.support": PUBLIC | {"footpoint_centre": "truth"},
        },
        f"{SPHERE}.support.footpoint_centre: certified needs a public centre",
        "give coordinates",
    ),
    "releases without a footpoint_radius": (
        {
            f"{SPHERE}.mechanism": CERTIFIED,
            f"{SPHERE}.support": PUBLIC | {"footpoint_radius": None},
            f"{SPHERE}.data_radius": 1.0,
        },
        f"{SPHERE}.support.footpoint_radius is missing: certified needs a public limit",
        "add it",
    ),
    "releases without a range of the covariate": (
        {f"{RATS}.mechanism": CERTIFIED, f"{RATS}.support": PUBLIC},
        f"{RATS}.data.covariate_range is missing: a proved budget needs a public range",
        "add it",
    ),
    "releases beside releases": (
        {
            f"{SPHERE}.mechanism": CERTIFIED,
            f"{SPHERE}.support": PUBLIC,
            f"{SPHERE}.random_walk": {},
            f"{SPHERE}.release": RELEASE,
        },
        f"{SPHERE}.release: draws of certified are releases already",
        "remove it",
    ),
    "releases of a mean": (
        LAPLACE_MEAN
        | {f"{SPHERE}.data.shooting_vector_length": REMOVED, f"{SPHERE}.release": RELEASE},
        f"{SPHERE}.release: releases are of one covariate and least squares",
        "set model.covariates to 1 and model.loss to squared_distance",
    ),
    "releases about a centre of another space": (
        {f"{SPHERE}.release": RELEASE | {"centre": "identity"}},
        f"{SPHERE}.release.centre: sphere has no centre called identity",
        "give coordinates",
    ),
    "a centre of coordinates that is moved": (
        {f"{SPHERE}.release": RELEASE | {"centre_moved": 0.1}},
        f"{SPHERE}.release.centre_moved: a centre given by coordinates stays there",
        "remove it",
    ),
    "releases among the grids of errors": (
        {
            f"{SPHERE}.release": RELEASE,
            f"{SPHERE}.figures.figure_1.grids": ["equal", "release"],
        },
        f"{SPHERE}.figures.figure_1.grids: no cells use a grid release",
        "name one",
    ),
    "releases and draws in one figure of curves": (
        {
            f"{SPHERE}.release": RELEASE,
            f"{SPHERE}.figures.figure_5.grids": ["equal", "release"],
        },
        f"{SPHERE}.figures.figure_5.grids: release does not go with others",
        "give it a figure of its own",
    ),
    "a grid with the name of that of releases": (
        {f"{SPHERE}.release": RELEASE, f"{SPHERE}.budgets.release": {"totals": ["1.0"]}},
        f"{SPHERE}.budgets.release: this is the name of the grid of the section release",
        "rename it",
    ),
    "releases of a table without a residual scale": (
        {f"{RATS}.release": RELEASE},
        f"{RATS}.release.residual_scale is missing: nothing public says how far records",
        "add it",
    ),
    "releases of a table without a range of the covariate": (
        {f"{RATS}.release": RELEASE | {"residual_scale": 0.1}},
        f"{RATS}.data.covariate_range is missing: a proved budget needs a public range",
        "add it",
    ),
    "a budget of releases that is none": (
        {f"{SPHERE}.release": RELEASE | {"totals": ["-1"]}},
        f"{SPHERE}.release.totals[0]: a budget must be above zero and is -1",
        "",
    ),
    "more releases shown than drawn": (
        {
            f"{MATRICES}.release": RELEASE | {"centre": "identity", "draws": 2},
            f"{MATRICES}.figures.figure_8.cell": "all1.0",
            f"{MATRICES}.figures.figure_8.draws": 3,
        },
        f"{MATRICES}.figures.figure_8.draws: 3 is too large, since release.draws is 2",
        "lower it or raise that",
    ),
    "convergence of a mechanism without a random walk": (
        {
            **LAPLACE_MEAN,
            f"{SPHERE}.data": {"source": "simulated"},
            f"{SPHERE}.budgets": {"equal": {"totals": ["1.0"]}},
            f"{SPHERE}.cells.0.budgets": ["equal"],
            f"{SPHERE}.draws": {},
            f"{SPHERE}.figures": {"walks": {"kind": "convergence", "cell": "p1.0"}},
        },
        f"{SPHERE}.figures.walks: the random walk draws kng_as_published, not laplace",
        "remove it",
    ),
    "curves of a mean": (
        {
            f"{SPHERE}.model": MEAN,
            f"{SPHERE}.data": {"source": "simulated"},
            f"{SPHERE}.data_radius": 0.3,
            f"{SPHERE}.random_walk": {},
            f"{SPHERE}.losses": REMOVED,
            f"{SPHERE}.budgets": {"equal": {"totals": ["1.0"]}},
            f"{SPHERE}.cells.0.budgets": ["equal"],
            f"{SPHERE}.draws": {},
            f"{SPHERE}.figures": {
                "curves": {"kind": "curves", "grids": ["equal"], "groups": ["n5_noise0.001"]}
            },
        },
        f"{SPHERE}.figures.curves: it shows predictions along one covariate",
        "remove it",
    ),
    "releases beside the random walk": (
        {f"{SPHERE}.mechanism": CERTIFIED, f"{SPHERE}.support": PUBLIC},
        f"{SPHERE}.random_walk.cells: the random walk draws kng_as_published alone",
        "remove it",
    ),
    "table without a covariate": (
        {f"{RATS}.data.covariate": REMOVED},
        f"{RATS}.data.covariate is missing",
        "add it",
    ),
    "table of two covariates": (
        {f"{RATS}.data.covariate": ["age_days", "rat"]},
        f"{RATS}.data.covariate: ['age_days', 'rat'] has the wrong type",
        "give text",
    ),
    "table for a mean": (
        {f"{RATS}.model": {"covariates": 0}, f"{RATS}.data_radius": 0.3},
        f"{RATS}.model.covariates",
        "1",
    ),
    "split of a budget in all": (
        {
            f"{SPHERE}.mechanism": CERTIFIED,
            f"{SPHERE}.support": PUBLIC,
            f"{SPHERE}.random_walk": {},
            f"{SPHERE}.losses": REMOVED,
        },
        f"{SPHERE}.budgets.split: a total cannot be divided between footpoint and one other",
        "give totals",
    ),
}
# A sentence of several facts would be longer than a line of a terminal or two.
LONGEST = 260


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
    assert len(message) < LONGEST


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
    change(small, f"{RATS}.figures.shapes.values", [7, 30.5])
    change(small, f"{SPHERE}.budgets.equal.totals", ["1.0", 2])
    change(small, f"{SPHERE}.sampler.work", 1000)
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
            # What refers to a section with the same words has them from there.
            assert part.get("description") or "$ref" in part, (title, key)


@pytest.mark.parametrize(
    ("key", "what"),
    [(None, "the class RatiosFigure"), ("kind", "the field kind of the class RatiosFigure")],
)
def test_what_has_no_description_is_named(monkeypatch, key, what):
    document = schema("config")
    section = document["$defs"]["RatiosFigure"]
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
    assert {sections[form]["properties"]["name"]["const"] for form in forms} == set(MECHANISMS)


# --- Settings of measurements ---


@pytest.mark.parametrize("name", ["audit", "benchmark", "linear", "means", "utility"])
def test_settings_of_a_measurement_are_refused_in_one_sentence(tmp_path, name):
    text = (ROOT / "config" / f"{name}.yaml").read_text()
    path = tmp_path / f"{name}.yaml"
    path.write_text(text)
    assert load_settings(path) == yaml.safe_load(text) | load_settings(path)
    for changed, message in (
        (f"{text}\nsed: 1\n", "configuration key sed is unknown: did you mean seed?"),
        (re.sub("(?m)^seed: .*$", "seed: -1", text), "configuration key seed: -1 is too small"),
        (re.sub("(?m)^seed: .*$", "seed: [", text), " line "),
        ("", "configuration key (top): None has the wrong type"),
    ):
        path.write_text(changed)
        with pytest.raises(ConfigurationError) as refusal:
            load_settings(path)
        assert str(refusal.value).startswith(f"config/{name}.yaml:")
        assert message in str(refusal.value)
        assert "\n" not in str(refusal.value)


def test_more_curves_than_styles_are_refused():
    settings = yaml.safe_load((ROOT / "config" / "utility.yaml").read_text())
    settings["utility"]["shown"] = [1, 2, 3, 4, 5]
    with pytest.raises(ConfigurationError, match=r"utility\.shown: .* give 4 entries at most"):
        validate(settings, "utility")


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (["chains", "fewest_steps"], 501, "chains.fewest_steps: 501 is more than most_steps, 500"),
        (
            ["utility", "data_sets", "least"],
            16,
            "utility.data_sets.least: 16 is more than most, 15: lower it or raise most",
        ),
        (["utility", "shown"], [1.0, 2.0], "utility.shown: 2.0 is none of utility.budgets: add it"),
        (
            ["utility", "releases", "rats", "n"],
            [100, 150],
            "utility.releases.rats.n: 150 is none of utility.n: add it there or remove it",
        ),
    ],
)
def test_settings_of_releases_that_contradict_are_refused(place, value, sentence):
    settings = copy.deepcopy(yaml.safe_load((ROOT / "config" / "utility.yaml").read_text()))
    part = settings
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    with pytest.raises(ConfigurationError) as refusal:
        validate(settings, "utility")
    assert str(refusal.value).startswith(f"configuration key {sentence}")


def test_unknown_space_of_the_benchmark_is_refused(tmp_path):
    settings = yaml.safe_load((ROOT / "config" / "benchmark.yaml").read_text())
    settings["spaces"]["S^3"] = settings["spaces"]["S^2"]
    with pytest.raises(ConfigurationError, match=r"configuration key spaces: 'S\^3' is not known"):
        validate(settings, "benchmark")


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


def test_certified_mechanism_has_a_budget_in_all(small):
    sphere = small["studies"]["sphere"]
    sphere |= {"mechanism": CERTIFIED, "support": PUBLIC, "draws": {"all": 4}}
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
    with pytest.raises(ConfigurationError, match=r"twice\.yaml, line 6: the key seed stands in"):
        refuse_repeated_keys(path, path.name)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem
)
def test_no_shipped_configuration_has_a_key_twice(path):
    refuse_repeated_keys(path, path.name)


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
