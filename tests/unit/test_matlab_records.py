"""MATLAB files of records: layouts of landmarks, kinds of labels, and files that are refused."""

import re

import numpy as np
import pytest
import scipy.io
from test_records import AGES, ELLIPSES, FIELDS, OUTLINES, PAIRS, refused, reverse, shapes

from geodp.data.landmarks import resample
from geodp.data.records import read_table
from geodp.manifolds.registry import make_manifold


def cells(*items):
    """A cell array; NumPy would make one array of items that have one shape."""
    found = np.empty(len(items), dtype=object)
    found[:] = items
    return found


def read_mat(path, variables, landmarks, **settings):
    scipy.io.savemat(path, variables, do_compression=len(variables) < 3)
    manifold = make_manifold("kendall", landmarks)
    return read_table(str(path), manifold, "age", ["landmarks"], **settings)


# Landmarks as different programs save them.  As many landmarks as records are no matter for pairs.
FIVE = resample(ELLIPSES, 5)
LAYOUTS = {
    "n x k x 2": (ELLIPSES, PAIRS),
    "k x 2 x n": (ELLIPSES, np.moveaxis(PAIRS, 0, -1)),
    "complex k x n": (ELLIPSES, ELLIPSES.T),
    "cells k x 2": (ELLIPSES, cells(*PAIRS)),
    "cells of vectors": (ELLIPSES, cells(*ELLIPSES[:, :, None])),
    "n x n x 2": (FIVE, np.stack([FIVE.real, FIVE.imag], axis=-1)),
    "n x 2 x n": (FIVE, np.stack([FIVE.T.real, FIVE.T.imag], axis=1)),
}


@pytest.mark.parametrize(("outlines", "layout"), LAYOUTS.values(), ids=LAYOUTS)
def test_layouts_of_landmarks(tmp_path, outlines, layout):
    variables = {"landmarks": layout, "age": np.array(AGES)[:, None]}
    path, number = tmp_path / "outlines.mat", outlines.shape[1]
    records = read_mat(path, variables, number, transformation="log")
    np.testing.assert_allclose(records.points, shapes(outlines), atol=1e-14)
    expected = np.log(np.array(AGES) / 50.0) / np.log(90.0 / 50.0)
    np.testing.assert_allclose(records.covariates, expected)


SUBJECTS = {
    "char matrix": np.array(FIELDS["id"]),
    "cell column": cells(*FIELDS["id"])[:, None],
    "row": [11, 12, 11, 13, 14],
    "mixed cells": cells(11, "b", 11.0, "c", "d"),
}


@pytest.mark.parametrize("subjects", SUBJECTS.values(), ids=SUBJECTS)
def test_kinds_of_subjects(tmp_path, subjects):
    variables = {"id": subjects, "sex": np.array(FIELDS["sex"], dtype=np.uint8), "age": AGES}
    # What is not kept need not be readable, and records have the numbers of the file.
    layout = cells("?", *PAIRS[1:3], reverse(ELLIPSES[3]), PAIRS[4])
    settings = {"subject": "id", "keep": {"sex": 2}, "outline": True}
    path = tmp_path / "outlines.mat"
    records = read_mat(path, variables | {"landmarks": layout}, 6, **settings)
    np.testing.assert_allclose(records.points, shapes(ELLIPSES[1:4]), atol=1e-14)
    assert records.notes[1].endswith("reversed from the first landmark on (record 4)")
    records = read_mat(path, variables | {"landmarks": PAIRS}, 6, subject="id")
    first, *others = records.subjects
    assert first in ("s1", "11")
    assert others[1] == first
    assert len(set(others)) == len(others) == 4


# n x k x 2: four records of five landmarks.
LANDMARKS = np.array([row.split(",")[4:] for row in OUTLINES[1:]], dtype=float).reshape(4, 5, 2)
COMPLEX = LANDMARKS @ [1.0, 1.0j]


VARIABLES = {"landmarks": LANDMARKS, "age": [55, 64, 71, 88.0], "who": cells("a", "", "c", "d")}
OF_SUBJECTS = {"subject": "who"}
TURNED = {"landmarks": cells(*LANDMARKS[:3], LANDMARKS[3].T)}
FEWER = {"landmarks": cells(*LANDMARKS[:3], LANDMARKS[3, :4])}
ALONE = {"landmarks": cells(*LANDMARKS[:3], np.array([[7.0]]))}
FAR = {"landmarks": np.where(np.arange(4)[:, None, None] == 2, np.inf, LANDMARKS)}
# A changed variable, settings, and what is said.
MAT = [
    ({}, {"subject": "id"}, "there is no variable id (there are: landmarks, age, who): add it"),
    ({"landmarks": COMPLEX[:, :4]}, {}, "is 4 x 4: give landmarks as n x k x 2 or k x 2 x n, or,"),
    (TURNED, {}, "record 4, variable landmarks[1]: 'a cell of 2 x 5' is not a number: correct"),
    (ALONE, {}, "record 4, variable landmarks[1]: 'a cell of 1 x 1' is not a number: correct"),
    (FEWER, {}, "record 4: it has 4 landmarks and record 1 has 5: give all records the same"),
    (FAR, {}, "record 3, variable landmarks[1]: 'inf' is not a number: correct or remove the rec"),
    ({"who": cells(*[np.ones(2)] * 4)}, OF_SUBJECTS, "variable who: the file states its type as"),
    ({}, OF_SUBJECTS, "record 2, variable who: the value is missing"),
]


@pytest.mark.parametrize(("changes", "settings", "says"), MAT)
def test_a_bad_mat_file_is_refused_in_one_sentence(tmp_path, changes, settings, says):
    path = tmp_path / "outlines.mat"
    with refused(path, says) as problem:
        read_mat(path, VARIABLES | changes, 5, outline=True, **settings)
    assert not re.search(r"\b(row|column)\b", str(problem.value))


def test_hdf5_is_refused_with_the_option_that_saves_otherwise(tmp_path):
    (path := tmp_path / "outlines.mat").write_bytes(
        b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM" + bytes(384)
    )
    with refused(path, "save it in MATLAB or Octave with the -v7 option"):
        read_table(str(path), make_manifold("kendall", 5), "age", ["landmarks"])
