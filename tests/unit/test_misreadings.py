"""Usual mistakes in all records or in some, and what the holder is told of them by a check."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cohort import ROOT, SETTINGS

from geodp.data.columns import told_columns
from geodp_release.ask import checking, holder_warnings
from geodp_release.ask.settings import ReleaseSettings, read_settings

NUMBER = 200
RNG = np.random.default_rng(5)
AGES = RNG.uniform(30.0, 79.0, NUMBER)
OCTAGON = np.exp(2j * np.pi * np.arange(8) / 8) * [3.0, 1.0, 1.5, 1.0, 2.0, 1.0, 1.2, 1.0]
SHAPES = 100.0 * OCTAGON + RNG.normal(size=(NUMBER, 8, 2)) @ [2.0, 2.0j]
LANDMARKS = np.stack([SHAPES.real, SHAPES.imag], axis=-1).reshape(NUMBER, 16)
# Upper triangles of matrices about one with a large first eigenvalue.
ROOTS = np.diag([1.3, 0.5, 0.4]) + 0.1 * RNG.normal(size=(NUMBER, 3, 3))
TENSORS = (ROOTS @ ROOTS.transpose(0, 2, 1))[:, *np.triu_indices(3)]
DEGREES = RNG.normal(size=(NUMBER, 2)) * [4.0, 6.0] + [-20.0, 160.0]
LOWER = [0, 1, 3, 2, 4, 5]
SPACES = {
    "r1": (("euclidean", 1), "origin", {"footpoint_radius": 300, "shooting_vector_length": 300}),
    "r2": (("euclidean", 2), "origin", {"footpoint_radius": 300, "shooting_vector_length": 300}),
    "sphere": (("sphere", 2), "anywhere", {}),
    "spd": (("spd", 3), "identity", {"footpoint_radius": 3, "shooting_vector_length": 2}),
    "shapes": (("kendall", 8), LANDMARKS.mean(axis=0).tolist(), {}),
    "shapes anywhere": (("kendall", 8), "anywhere", {}),
    "hyperbolic": (("hyperbolic", 2), "anywhere", {}),
    "parts": (("sphere", 2), "anywhere", {}),
}


def checked(space, points, ages=AGES, names=None, **data):
    """What a check of a table says, without the plan that its settings would have."""
    manifold, centre, radii = SPACES[space]
    names = names or [f"c{index}" for index in range(np.shape(points)[1])]
    table = pd.DataFrame(points, columns=names).astype(object)
    table.insert(0, "age", list(ages))
    table.insert(0, "who", [f"s{index}" for index in range(NUMBER)])
    table.to_csv("table.csv", index=False)
    public = {
        "manifold": dict(zip(("name", "size"), manifold, strict=True)),
        # Not the range of these ages, rounded outward.
        **{"centre": centre, "covariate_range": [30, 80], "subjects": NUMBER},
    }
    data = SETTINGS["data"] | {"path": "table.csv", "columns": names} | data
    settings = SETTINGS | {"data": data, "public": public | radii}
    settings = ReleaseSettings.model_validate(settings)
    return checking.check_data(settings, SimpleNamespace(assumptions=settings.assumptions))


@pytest.fixture(autouse=True)
def check_of_a_table(folder, monkeypatch):
    # What follows from the plan has tests of its own.
    monkeypatch.setattr(holder_warnings, "off_least_squares", lambda *_: "Near.")


SBP = RNG.normal(130.0, 9.0, size=(NUMBER, 1))
RADIANS = np.radians(DEGREES)
LON_LAT = {"coordinates": "latitude_longitude"}
HYPERBOLIC = np.sinh(0.3 * RNG.normal(size=(NUMBER, 2)))
HYPERBOLIC = np.column_stack([np.sqrt(1.0 + np.sum(HYPERBOLIC**2, axis=1)), HYPERBOLIC])
MIRRORED = LANDMARKS * np.resize([1.0, -1.0], 16)
REVERSED, FROM_FIRST = (
    LANDMARKS.reshape(NUMBER, 8, 2)[:, order].reshape(NUMBER, 16)
    for order in (np.arange(8)[::-1], -np.arange(8) % 8)
)
BLOCKS = LANDMARKS.reshape(NUMBER, 8, 2).transpose(0, 2, 1).reshape(NUMBER, 16)
X_Y = [f"{axis}{index}" for axis in "xy" for index in range(1, 9)]
SHARES = RNG.dirichlet([40.0, 30.0, 30.0], size=NUMBER)
# Upper triangles of correlations of three responses that go together.
CORRELATIONS = np.where([1, 0, 0, 1, 0, 1], 1.0, RNG.uniform(0.8, 0.9, size=(NUMBER, 6)))
HALVED = np.sqrt(np.where([1, 0, 0, 1, 0, 1], 0.5, 1.0))
MISREAD = {
    "Chile": ("sphere", DEGREES / [1, 4] + [-14, -111], LON_LAT, None),
    "vectors": ("r2", DEGREES, {"names": ["lon", "lat"]}, None),
    "columns of matrices": ("r2", DEGREES, {"names": ["a12", "a11"]}, None),
    "nothing": ("r1", SBP, {}, None),
    "degrees": ("sphere", DEGREES, LON_LAT, None),
    "an upper triangle": ("spd", TENSORS, {}, None),
    "shapes": ("shapes", LANDMARKS, {}, None),
    "mirrored anywhere": ("shapes anywhere", MIRRORED, {}, None),
    "hyperbolic": ("hyperbolic", HYPERBOLIC, {}, None),
    "swapped": ("sphere", DEGREES[:, ::-1], LON_LAT, "swapped: set columns to [c1, c0]"),
    "names": ("sphere", DEGREES, LON_LAT | {"names": ["lon", "lat"]}, "columns to [lat, lon]"),
    "radians": ("sphere", RADIANS, LON_LAT, "as radians are: convert them to degrees"),
    "lower": ("spd", TENSORS[:, LOWER], {}, "set coordinates to lower_triangle"),
    "named": ("spd", TENSORS, {"names": ["xx", "xy", "yy", "xz", "yz", "zz"]}, "xx, xy, xz, yy"),
    "MRtrix": ("spd", TENSORS[:, [0, 3, 5, 1, 2, 4]], {}, "set coordinates to mrtrix"),
    "nilearn": ("spd", CORRELATIONS[:, LOWER] * HALVED[LOWER], {}, "may have to be nilearn"),
    "pyRiemann": ("spd", np.sqrt(2.0) * CORRELATIONS * HALVED, {}, "coordinates to pyriemann"),
    "unit of matrices": ("spd", 1e-3 * TENSORS, {}, "if all were multiplied by 1e3"),
    "shares": ("parts", SHARES, {}, "set coordinates to shares"),
    "time last": ("hyperbolic", np.roll(HYPERBOLIC, -1, axis=1), {}, "columns to [c2, c0, c1]"),
    "mirrored": ("shapes", MIRRORED, {}, "mirrored against public.centre"),
    "reversed": ("shapes", REVERSED, {}, "points look as if landmarks ran the other way round"),
    "from the first": ("shapes", FROM_FIRST, {}, "as if landmarks ran the other way round"),
    "blocks": ("shapes", BLOCKS, {}, "as if all x came before all y"),
    "named blocks": ("shapes", BLOCKS, {"names": X_Y}, "set columns to [x1, y1, x2, y2"),
    "months": ("r1", SBP, {"ages": 12 * AGES}, "in months and not in years: divide by 12"),
    "fractions": ("r1", SBP, {"ages": AGES / 100}, "in fractions and not in percent: multiply"),
    "logarithms": ("r1", SBP, {"ages": np.log(AGES)}, "natural logarithms: take their"),
    "vectors of another length": ("parts", 3 * np.sqrt(SHARES), {}, "divide each by its length"),
    "response": ("r1", AGES[:, None], {"ages": SBP[:, 0]}, "look whether the two columns are swap"),
}


@pytest.mark.parametrize(("space", "points", "changes", "says"), MISREAD.values(), ids=MISREAD)
def test_another_reading_is_proposed_where_it_fits_better(space, points, changes, says):
    found = checked(space, points, **changes)
    if says is None:
        assert (found.reasons, found.faults) == ([], [])
    else:
        assert says in " ".join(found.reasons)
        assert not found.passed


def test_simulated_outlines_have_no_table():
    settings = read_settings(str(ROOT / "config" / "release.example.yaml"))
    found = checking.check_data(settings, SimpleNamespace(assumptions=settings.assumptions))
    assert (found.reasons, found.faults, found.counted[-1]) == ([], [], "Near.")


def test_names_tell_of_a_point():
    assert told_columns(["a11", "a21", "a12", "a22"]).columns == ["a11", "a12", "a21", "a22"]
    assert told_columns(["id", "age", "sbp", "dbp", "x1", "y2"]) is None
    names = [f"c{i}_{j}" for i in range(1, 29) for j in range(1, 29)]
    found = told_columns(["id", *names[::-1]])
    assert (found.size, found.columns) == (28, names)
