"""Data that cannot be used: the command line says so in one sentence, and leaves nothing."""

import numpy as np

MATRICES = "x,a11,a12,a21,a22\n0,1,0,0,2\n0.25,1.25,0.125,0.125,-2\n0.5,1.5,0,0,2\n1,2,0,0,2"
POINTS = "x,a,b,c\n0,1,0,0\n0.25,0.6,0.8,0\n0.5,0.8,0.6,0\n1,0,1,0"


def replaced(lines, row, column, text):
    """The table with another text in one cell; the row counts from 1, the header."""
    index = lines[0].split(",").index(column)
    cells = lines[row - 1].split(",")
    cells[index] = text
    return [*lines[: row - 1], ",".join(cells), *lines[row:]]


def study(manifold, path, covariate, columns=None, transformation="none"):
    data = {
        "source": "table",
        "path": path,
        "covariate": covariate,
        "columns": columns,
        "transformation": transformation,
    }
    return {
        "manifold": manifold,
        "data": data,
        "data_radius": 5.0,
        "budgets": {"equal": {"totals": ["1.0"]}},
        "cells": [{"budgets": ["equal"]}],
    }


def antipode():
    """Records near one point of the sphere, and one opposite to them (row 11)."""
    points = [np.array([np.cos(x / 10), np.sin(x / 10), 0.0]) for x in np.linspace(0, 1, 20)]
    points[9] = -points[9]
    rows = [
        f"{x},{a!r},{b!r},{c!r}"
        for x, (a, b, c) in zip(range(20), np.array(points).tolist(), strict=True)
    ]
    return ["x,a,b,c", *rows]


def test_command_line_names_every_mistake_and_leaves_nothing(checkout):
    """Several studies at once, each with a mistake of its own and none in the last."""
    rats = (checkout.root / "resources" / "vilmann_rats.csv").read_text().splitlines()
    rat_study = ({"name": "kendall", "size": 8}, "age_days", None, "log")
    matrix_study = ({"name": "spd", "size": 2}, "x", ["a11", "a12", "a21", "a22"])
    point_study = ({"name": "sphere", "size": 2}, "x", ["a", "b", "c"])
    tables = {
        "missing_landmark": (replaced(rats, 50, "x3", ""), *rat_study),
        "code": (replaced(replaced(rats, 17, "x8", "9999"), 17, "y8", "9999"), *rat_study),
        "not_definite": (MATRICES.split(), *matrix_study),
        "not_unit": (replaced(POINTS.split(), 3, "c", "0.5"), *point_study),
        "cut_locus": (antipode(), *point_study),
        "right": (POINTS.split(), *point_study),
    }
    sentences = {
        "missing_landmark": (
            "missing_landmark.csv, row 50, column x3: the value is missing: correct or remove the "
            "row"
        ),
        "code": (
            "code.csv, row 17: landmark 8 at (9999, 9999) carries a code for a missing value: "
            "correct or remove the row"
        ),
        "not_definite": (
            "not_definite.csv, row 3: not a point of SPD(2), since the matrix is not positive "
            "definite (smallest eigenvalue -2.005): correct or remove the row"
        ),
        "not_unit": (
            "not_unit.csv, row 3: not a point of sphere S^2, since its length is 1.11803, not 1: "
            "correct or remove the row"
        ),
        "cut_locus": "cut_locus.csv, row 11: it lies ",
    }
    studies = {}
    for name, (lines, manifold, *columns) in tables.items():
        (checkout.root / f"{name}.csv").write_text("\n".join(lines) + "\n")
        studies[name] = study(manifold, f"{name}.csv", *columns)
    checkout.configure({"name": "bad", "seed": 1, "studies": studies})
    targets = [f"results/bad/{name}/groups/observed/fit.json" for name in tables]
    result = checkout.snakemake("--keep-going", *targets)

    assert result.returncode != 0
    lines = result.stdout.splitlines()
    logs = {name: path.read_text() for name, path in checkout.files("*.log").items()}
    for name, sentence in sentences.items():
        start = f"Error in study {name}: {sentence}"
        assert any(line.startswith(start) for line in lines), name
        rule = "fit" if name == "cut_locus" else "make_data"
        log = logs[f"{name}/logs/observed/{rule}.log"]
        assert log.startswith(start)
        assert log.count("\n") == 1
        if name == "cut_locus":
            assert "near the cut locus at 3.142" in log
            assert log.endswith("correct or remove it\n")
    assert "Traceback" not in result.stdout

    made = set(checkout.files()) - set(logs)
    assert made == {
        "cut_locus/groups/observed/data.npz",
        "right/groups/observed/data.npz",
        "right/groups/observed/fit.json",
    }
    assert checkout.temporaries() == []


def test_a_sampler_that_cannot_draw_names_the_cell(checkout):
    rats = study({"name": "kendall", "size": 8}, "resources/vilmann_rats.csv", "age_days")
    rats["sampler"] = {"kind": "exact"}
    checkout.configure({"name": "bad", "seed": 1, "studies": {"rats": rats}})
    result = checkout.snakemake("results/bad/rats/cells/observed/default_0.npz")
    assert result.returncode != 0
    start = "Error in study rats: cell p0.5_v0.5 of the group observed: "
    [line] = {line for line in result.stdout.splitlines() if line.startswith(start)}
    assert "12 dimensions are too many for cells" in line
    assert line.endswith("choose the sampler automatic or matched")
    assert "Traceback" not in result.stdout
