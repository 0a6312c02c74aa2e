"""Records of subjects: nothing that one is may raise, warn, or change what becomes of others."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp import SPD, DataError, Euclidean, Hyperbolic, PrivacyBudget, ReleasePlan, Sphere
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.public_inputs import ADD_OR_REMOVE, REPLACE
from geodp_release.run import contributions
from geodp_release.run.subjects import ONE_EACH, subject_records
from geodp_release.show.release import release_geodesic
from geodp_release.stages import CountStage, NoisyStep, PointsStage

pytestmark = pytest.mark.filterwarnings("error")

RANGE = (20.0, 70.0)
SPACES = [Euclidean(2), Sphere(2), Hyperbolic(2), SPD(2), SPD(3), KendallPlanarShapes(4)]

# Which of the good records is replaced.
NUMBER, BAD = 5, 2
OTHERS = np.arange(NUMBER) != BAD


class Trap:
    """Raises whatever is asked of it."""

    def _refuse(self, *_, **__):
        raise ValueError("nothing may be asked of a record")

    __float__ = __complex__ = __int__ = __array__ = __eq__ = __hash__ = _refuse
    __len__ = __iter__ = __getitem__ = __bool__ = _refuse


class Recursive:
    """Never ends."""

    def __array__(self, *_, **__):
        return np.asarray(self)

    def __hash__(self):
        return hash(self)


class Warns:
    """Warns before it answers."""

    def __array__(self, *_, **__):
        warnings.warn("a record speaks", stacklevel=1)
        return np.array(30.0)

    def __float__(self):
        return float(np.array(self))


# What becomes of a record: of its covariate nothing, or it is clipped into the range.
INVALID = {
    "nan": np.nan, "inf": np.inf, "none": None, "missing": pd.NA, "no time": pd.NaT,
    "time": pd.Timestamp("2020-01-01"), "text": "about thirty", "bytes": b"\xff",
    "complex": 30.0 + 1j, "array": np.array([30.0, 40.0]), "list": [30.0, [40.0]], "empty": [],
    "dict": {"age": 30.0}, "trap": Trap(), "recursive": Recursive(), "huge": 10**400,
    "longdouble": np.longdouble("1e4000"), "class": float,
}  # fmt: skip
CLIPPED = {"1e308": (1e308, 0.5), "-1e308": (-1e308, -0.5), "warns": (Warns(), -0.3)}

# From a good point.
BAD_POINTS = {
    "nan": lambda y: y * np.nan,
    "largest": lambda y: np.full_like(y, 1.7e308),
    "none": lambda _: None,
    "texts": lambda y: np.full(y.shape, "x"),
    "objects": lambda y: np.full(y.shape, None),
    "longdouble": lambda y: np.full(y.shape, np.longdouble("1e4000")),
    "ragged": lambda y: [*y.tolist()[:-1], [1.0, 2.0, [3.0]]],
    "short": lambda y: y[:-1],
    "long": lambda y: np.concatenate([y, y]),
    "number": lambda _: 3.0,
    "traps": lambda y: [Trap() for _ in y],
    "recursive": lambda _: Recursive(),
    "warns": lambda _: Warns(),
}


def assumed(manifold, limit=1, neighbours=ADD_OR_REMOVE, number=NUMBER):
    centre = manifold.random_point(np.random.default_rng(0))
    return Assumptions(manifold, centre, 0.6, 1.2, RANGE, number, limit, neighbours)


def good_records(assumptions, number=NUMBER):
    """Lists of covariates and points."""
    rng, manifold = np.random.default_rng(1), assumptions.manifold
    centre = np.broadcast_to(assumptions.centre, (number, *manifold.point_shape))
    points = manifold.exp(centre, 0.2 * manifold.random_tangent(rng, centre))
    return list(rng.uniform(20.0, 70.0, number)), list(points)


def with_bad(values, bad):
    return [*values[:BAD], bad, *values[BAD + 1 :]]


def assert_rows(found, expected, rows):
    """Rows of some subjects are those of subjects of other records, bit by bit."""
    for name in vars(found).keys() - {"gradients"}:
        one, other = (getattr(each, name)[rows] for each in (found, expected))
        np.testing.assert_array_equal(one, other, err_msg=name)


def assert_unusable(found, assumptions):
    """The centre stands in the place of the bad record."""
    assert not found.valid[BAD, 0]
    np.testing.assert_array_equal(found.points[BAD, 0], assumptions.centre)


SPHERE = assumed(Sphere(2))
X, Y = good_records(SPHERE)


def grouped(covariates=X, points=Y, labels=ONE_EACH, assumptions=SPHERE):
    """Records on the sphere, good ones unless given."""
    return subject_records(assumptions, covariates, points, labels)


@pytest.fixture(scope="module", autouse=True)
def _fast():
    """Less padding: what it does not change is tested with contributions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contributions, "CHUNK", 8)
        yield


@pytest.mark.parametrize("name", [*INVALID, *CLIPPED])
def test_a_bad_covariate_is_that_of_one_record(name):
    bad, place = CLIPPED.get(name) or (INVALID[name], 0.0)
    found = grouped(with_bad(X, bad))
    assert_rows(found, grouped(), OTHERS)
    assert found.counts[BAD] == 1
    assert found.covariates[BAD, 0, 0] == pytest.approx(place)
    assert found.valid[BAD, 0] == (name in CLIPPED)
    assert name in CLIPPED or np.all(found.points[BAD, 0] == SPHERE.centre)


# Bad points that no space has.
NO_POINTS = {"nan", "none", "texts", "ragged", "traps", "short"}


@pytest.mark.parametrize("name", BAD_POINTS)
def test_a_bad_point_is_that_of_one_record(manifold, name):
    assumptions = assumed(manifold)
    covariates, points = good_records(assumptions)
    expected = grouped(covariates, np.array(points), assumptions=assumptions)
    assert expected.valid.all()
    with np.errstate(all="ignore"):
        worst = with_bad(points, BAD_POINTS[name](points[BAD]))
    found = grouped(covariates, worst, assumptions=assumptions)
    assert_rows(found, expected, OTHERS)
    assert np.all(np.isfinite(found.points))
    if name in NO_POINTS or not found.valid[BAD, 0]:
        assert_unusable(found, assumptions)


# Arrays that NumPy gave another type because of one record, and columns with gaps.
MASKED = np.ma.array(np.array(Y), mask=False)
MASKED[BAD, 1] = np.ma.masked
ONE_BAD = {
    "masked": lambda x, y: (np.ma.array(x, mask=~OTHERS), y),
    "masked points": lambda x, y: (x, MASKED),
    "complex covariates": lambda x, y: (np.array(with_bad(x, 30 + 1j)), y),
    "complex points": lambda x, y: (x, np.array(with_bad(y, 1j * y[BAD]))),
    "long doubles": lambda x, y: (np.array(with_bad(x, np.longdouble("1e4000"))), y),
    "masked objects": lambda x, y: (np.ma.array(with_bad(x, "x"), mask=~OTHERS, dtype=object), y),
    "masked texts": lambda x, y: (np.ma.array(with_bad(x, "x"), mask=~OTHERS), y),
    # The others' digits are there.
    "texts": lambda x, y: (np.array(with_bad(x, "x")), y),
    "complex objects": lambda x, y: (x, with_bad(y, 1j * y[BAD])),
    **{
        dtype: lambda x, y, dtype=dtype: (pd.Series(with_bad(x, None), dtype=dtype), y)
        for dtype in ("Float64", "category", "object")
    },
    "arrow": lambda x, y: (pa.array(with_bad(x, None)), y),
}


@pytest.mark.parametrize("change", ONE_BAD.values(), ids=ONE_BAD)
def test_one_record_does_not_decide_by_the_type_of_an_array(change):
    found = grouped(*change(X, Y))
    assert_rows(found, grouped(), OTHERS)
    assert_unusable(found, SPHERE)


def test_dates_are_no_covariates():
    """A missing date would be an ordinary number."""
    dates = np.array(["2026-01-01", "NaT", *["2026-01-03"] * 3], "M8[D]")
    assert not grouped(dates).valid.any()


def test_bad_records_alone_make_a_release(manifold):
    plan = planned(assumed(manifold))
    _, points = good_records(plan.assumptions)
    with np.errstate(all="ignore"):
        worst = [bad(points[0]) for bad in BAD_POINTS.values()]
    assert released(plan, [30.0] * len(worst), worst, ONE_EACH)
    assert released(plan, list(INVALID.values()), points[:1] * len(INVALID), ONE_EACH)
    assert released(plan, X, points, [None] * NUMBER)
    assert released(plan, [], [], [])


# Subjects


@pytest.mark.parametrize("labels", [["a", "b", "a", "c", "a", "b", "a"], [2, 1, 2, 9, 2, 1, 2]])
@pytest.mark.parametrize("limit", [1, 2, 6])
def test_the_first_records_of_each_subject_count(labels, limit):
    """Bad ones, too; and several records of one push out none of others."""
    covariates, points = good_records(SPHERE, 7)
    records = covariates, with_bad(points, Trap())
    found, flat = grouped(*records, labels, assumed(Sphere(2), limit)), grouped(*records)
    assert found.counts.tolist() == np.minimum([4, 2, 1], limit).tolist()
    for k, rows in enumerate(([0, 2, 4, 6], [1, 5], [3])):
        kept = rows[:limit]
        np.testing.assert_array_equal(found.points[k, : len(kept)], flat.points[kept, 0])
        np.testing.assert_array_equal(found.covariates[k, : len(kept)], flat.covariates[kept, 0])
        there = [row != BAD for row in kept]
        assert found.valid[k].tolist() == there + [False] * (limit - len(kept))
        # What is left is padding.
        assert np.all(found.points[k, len(kept) :] == SPHERE.centre)


MISSING = {"masked": np.ma.masked, "list": [1], "array": np.arange(2)}
MISSING |= {name: INVALID[name] for name in ("nan", "none", "missing", "trap", "recursive")}


@pytest.mark.parametrize("label", MISSING.values(), ids=MISSING)
def test_records_without_a_label_count_for_nobody(label):
    """Else all of them would be one subject, whose first records one person of them decides."""
    rows, two = [0, 1, 3], assumed(Sphere(2), 2)
    expected = grouped([X[k] for k in rows], [Y[k] for k in rows], rows, two)
    found = grouped(labels=[0, 1, label, 3, float("nan")], assumptions=two)
    assert_rows(found, expected, slice(None))
    assert found.counts.tolist() == [1, 1, 1]


GAPS = ["Int64", "category", "string", object]
WHOLE = [2**53, 2**53 + 1, 7, None, 7]


@pytest.mark.parametrize(
    ("labels", "subjects"),
    [
        ([1, True, 1.0, np.int64(1), np.True_], 2),
        ([0, False, "0", b"0", 0.0], 4),
        (["a", "a ", " a", "A", "a"], 4),
        (["a\udcff", "a\udcfe", "a\ufffd", "a", "a\udcff"], 4),
        ([2**53, 2**53 + 1, float(2**53), (1, 2), (1, 2)], 3),
        # Each names nobody, whatever the others are.
        ([[0], [1], [2], [3], [4]], 0),
        ([np.datetime64("2020-01-01"), np.datetime64("NaT"), pd.Timestamp("2020-01-01"), 1, ""], 3),
        # Columns with gaps.
        *((pd.Series(["0", "1", None, "3", None]).astype(dtype), 3) for dtype in GAPS),
        # Whole numbers whose digits a missing one beside them must not cost.
        *((pd.Series(WHOLE, dtype=kind), 3) for kind in ("Int64", "UInt64", "int64[pyarrow]")),
        *((pa.chunked_array([WHOLE]).chunk(0), 3), (pa.chunked_array([WHOLE]), 3)),
        (pd.Series(pd.Categorical(WHOLE, categories=pd.Index(WHOLE[:3]))), 3),
    ],
)
def test_labels_that_differ_are_of_different_subjects(labels, subjects):
    assert len(grouped(labels=labels)) == subjects


@pytest.mark.parametrize("labels", [[0, 1, 2, None, ""], [0, 1, 2, 3, 4, 5, 6], [None] * 5])
def test_where_subjects_are_replaced_so_many_count_as_are_public(labels):
    """No label decides whether there is a release, or how many subjects it is of."""
    covariates, points = good_records(SPHERE, len(labels))
    found = grouped(covariates, points, labels, assumed(Sphere(2), neighbours=REPLACE))
    named = min(NUMBER, sum(label not in (None, "") for label in labels))
    assert found.counts.tolist() == [1] * named + [0] * (NUMBER - named)
    assert not found.valid[named:].any()
    assert_rows(found, grouped(covariates, points, labels), slice(named))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda x, y, s: (x[:-1], y, s), "as many points as covariates"),
        (lambda x, y, s: (x, y, s[:-1]), "name one subject a record"),
        (lambda x, y, s: (x, y, 3), "name one subject a record"),
        (lambda x, y, s: (x, y, "each"), 'or "one record each"'),
        (lambda x, y, s: (3.0, y, s), "no sequences"),
        (lambda x, y, s: (x, np.array(y)[:, :2], s), "give one of this shape"),
        (lambda x, y, s: (x[:-1], y[:-1], ONE_EACH), "not the public number 5"),
        (lambda x, y, s: (x, y, np.array([s, s]).T), "several values a record"),
        (lambda x, y, s: (x, y, pd.DataFrame({"who": s})), "several values a record"),
    ],
)
def test_what_does_not_go_together_is_refused(change, says):
    with pytest.raises(DataError, match=says):
        subject_records(assumed(Sphere(2), neighbours=REPLACE), *change(X, Y, list(range(NUMBER))))


def planned(assumptions):
    """A plan by hand, which takes little time."""
    eighth = Fraction(1, 8)
    counted = (CountStage(eighth),) if assumptions.neighbours == ADD_OR_REMOVE else ()
    stages = PointsStage.of(eighth, "epsilon", 16, 0.5), NoisyStep(eighth, clip=0.3)
    return ReleasePlan(assumptions, PrivacyBudget("1"), (*counted, *stages), 1.0, 1.0, 1.0)


def released(plan, covariates, points, labels):
    """Whether a release is what it always is."""
    found = release_geodesic(plan, covariates, points, labels)
    state = np.stack([found.footpoint, found.shooting_vector])
    assert plan.assumptions.support.contains(state[None])[0]
    return found.guarantee.holds


WILD = [0.0, -0.0, 1.0, -1.0, 5e-324, 1e-308, 1e-160, 1e-9, 7.0, 1e9, 1e75, 1e149, 1e154, 1e308]
WILD = [*WILD, -1e154, -1e308, np.inf, -np.inf, np.nan, 1.0 + 1e-7, 1e50, 1e100]
numbers = st.sampled_from(WILD) | st.floats()


def wild_points(manifold):
    """Arrays of the right shape, and near points, of which some count."""
    size = int(np.prod(manifold.point_shape))
    entries = st.builds(complex, numbers, numbers) if manifold.dtype is complex else numbers

    def shaped(values):
        return np.array(values, dtype=manifold.dtype).reshape(manifold.point_shape)

    def projected(array):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return manifold.project(array @ array.T if isinstance(manifold, SPD) else array)

    arrays = st.lists(entries, min_size=size, max_size=size).map(shaped)
    return arrays | arrays.map(projected)


@pytest.mark.parametrize("space", SPACES, ids=str)
@given(data=st.data())
def test_no_number_makes_a_release_raise_or_warn(space, data):
    assumptions = assumed(space, 2, data.draw(st.sampled_from([REPLACE, ADD_OR_REMOVE])))
    covariates, points = good_records(assumptions)
    labels = list(range(NUMBER))
    expected = grouped(covariates, points, labels, assumptions)
    covariates = with_bad(covariates, data.draw(numbers))
    points = with_bad(points, data.draw(wild_points(space)))
    assert_rows(grouped(covariates, points, labels, assumptions), expected, OTHERS)
    assert released(planned(assumptions), covariates, points, labels)


def test_integers_with_gaps_are_numbers():
    expected, masked = grouped([30, 40, np.nan, 60, 25]), np.ma.array([30, 40, 0, 60, 25])
    masked[BAD] = np.ma.masked
    for each in (masked, pd.array([30, 40, None, 60, 25], "Int64")):
        assert_rows(grouped(each), expected, slice(None))
