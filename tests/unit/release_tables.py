"""Tables of a release, their writers and what is read of them: for tests of their formats."""

import copy
import csv
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cohort import SETTINGS

from geodp import DataError, PrivacyBudget, ReleasePlan
from geodp.data.records import read_table
from geodp.manifolds.registry import make_manifold
from geodp_release.ask.checking import check_data
from geodp_release.ask.faults import faults
from geodp_release.ask.release_records import read_data, refuse_missing
from geodp_release.ask.settings import ReleaseSettings

NAMES = ["a", "b"]
HEADER = ["who", "age", *NAMES, "comment"]
TABLE = [[f"p{row}", row, row / 8, 1 - row / 8, ""] for row in range(8)]


def settings_of(path, space=("euclidean", 2), centre="origin", **data):
    """Settings of a release from a file, or from a data frame."""
    settings, is_frame = copy.deepcopy(SETTINGS), isinstance(path, pd.DataFrame)
    path, given = ("the data frame", path) if is_frame else (str(path), None)
    settings["data"] |= {"path": path, "columns": NAMES} | data
    manifold = dict(zip(("name", "size"), space, strict=True))
    public = {"manifold": manifold, "centre": centre, "covariate_range": [0, 10], "subjects": 8}
    settings["public"] |= public | {"footpoint_radius": 0.5, "shooting_vector_length": 0.5}
    settings = ReleaseSettings.model_validate(settings)
    if is_frame:
        settings.data.set_frame(given)
    return settings


def written(rows=TABLE, header=HEADER):
    """A file of rows as the csv module writes them."""
    with open("table.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return "table.csv"


def read(path="table.csv", **choices):
    """What is read of a file that is not refused before."""
    settings = settings_of(path, **choices)
    refuse_missing(settings)
    return read_data(settings)


def studied(path="table.csv", **choices):
    """What a study reads of a file."""
    return read_table(path, make_manifold("euclidean", 2), "age", NAMES, **choices)


def refused(says, path="table.csv", is_shown=False, **choices):
    """What is said of a file that is refused before its records are read."""
    with pytest.raises(DataError, match=says) as raised:
        refuse_missing(settings_of(path, **choices), is_shown)
    return str(raised.value)


def checked(path, **choices):
    settings = settings_of(path, **choices)
    plan = ReleasePlan(settings.assumptions, PrivacyBudget("2"), (), 1.0, 1.0, 1.0)
    return check_data(settings, plan)


def without(found):
    """Which of the records have no covariate, and which no point."""
    return [np.flatnonzero(np.isnan(part).any(axis=1)).tolist() for part in found[:2]]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def found_faults(path="table.csv", **choices):
    settings = settings_of(path, **choices)
    return faults(settings, read_data(settings))


def frame(**changes):
    return pd.DataFrame(TABLE, columns=HEADER).assign(**changes)


def writer(save, path):
    """A function that saves a data frame in a file, whose path it returns, by another one."""

    def saving(frame, **choices):
        save(frame, path, **choices)
        return path

    saving.__name__ = f"as_{path.rpartition('.')[2]}"
    return saving


as_csv = writer(partial(pd.DataFrame.to_csv, index=False), "table.csv")
as_parquet = writer(partial(pd.DataFrame.to_parquet, index=False), "table.parquet")
# Below an empty row, which counts for nothing.
as_excel = writer(partial(pd.DataFrame.to_excel, index=False, startrow=1), "table.xlsx")


def as_parts(frame):
    """A folder of Parquet files; of one without a value the column has a type of its own."""
    Path("parts").mkdir(exist_ok=True)
    Path("parts/_SUCCESS").touch()
    for name, rows in {"1": slice(1), "10": slice(1, 2), "2": slice(2, None)}.items():
        part = frame[rows].astype(object)
        part.where(part.notna(), None).to_parquet(f"parts/{name}.parquet", index=False)
    return "parts"


def as_arrays(frame):
    columns = {name: frame[name].to_numpy() for name in frame}
    texts = {name: each.astype(str) for name, each in columns.items() if each.dtype.kind in "OTU"}
    np.savez("table.npz", **(columns | texts))
    return "table.npz"


def as_frame(frame):
    return frame


SHAPES = np.random.default_rng(3).normal(size=(4, 3, 2)).round(3) + 5.0
IDS = ["a", "b", "c", "d"]


def lines_of(shape):
    return "".join(f"{x:g} {y:g}\n" for x, y in shape)


def as_tps(shapes):
    parts = [
        f"LM={len(shape)}\n{lines_of(shape)}IMAGE={name}.png\nID={name}\nSCALE=2\n"
        for name, shape in zip(IDS, shapes, strict=True)
    ]
    curve = "CURVES=1\nPOINTS=2\n9 9\n8 8\n"
    Path("s.tps").write_text("".join([parts[0], curve, *parts[1:]]))
    return "s.tps"


def as_nts(shapes):
    text = '"skulls\n1 4L 6 1 -9 DIM=2\n' + " ".join(IDS) + "\n"
    rows = (" ".join(f"{each:g}" for each in shape.ravel()) + "\n" for shape in shapes)
    Path("s.nts").write_text(text + "".join(rows))
    return "s.nts"


def as_morphologika(shapes):
    points = "".join(f"'{name}\n{lines_of(shape)}" for name, shape in zip(IDS, shapes, strict=True))
    names = "".join(f"{name}\n" for name in IDS)
    Path("s.txt").write_text(
        "[Individuals]\n4\n[landmarks]\n3\n[dimensions]\n2\n[wireframe]\n1 2\n[polygons]\n1 2 3\n"
        f"[names]\n{names}[labels]\nage\n[labelvalues]\n1\n2\n3\n4\n[rawpoints]\n{points}"
    )
    return "s.txt"


LANDMARKS = {"space": ("kendall", 3), "centre": "anywhere", "columns": None, "subject": "ID"}
LANDMARKS |= {"covariate": "centroid_size"}
