"""What is read in blocks, kept in files or compared by hash is what it is one by one."""

import mmap
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.data import labels as labels_module
from geodp.data import large, sheets, text_tables
from geodp.data.cells import TableReading
from geodp.data.formats import open_table
from geodp.data.labels import SHORT, Labels, add_first_records
from geodp.data.messages import opened
from geodp.data.text_tables import TextTable
from geodp.errors import DataError
from geodp.manifolds.symmetric import SymmetricSpace
from geodp.models.residuals import PerRecordGeodesicResiduals
from geodp_release.ask.checking import words_of
from geodp_release.run.grouping import ONE_EACH, grouped, label_key, owners_of

# Rows of plain cells, of quotes that hold breaks and delimiters, of too few and too many cells.
ROWS = (
    "1,a,2", '"1","b","2"', '3,"two\nlines, and a comma",4', "5,c", "6,d,7,8", "", '9,"e ""f""",1',
    '"\n\n\n",g,2', "2,h\rh,3", " ,,", '4,i",5', '"6",j,"7"',
)  # fmt: skip
CELLS = (
    "1", "2.5", "", " 1 ", "1e5", "-0", "-0.0", "+1", "01", "1.", ".5", "1_0", "1,5", "nan",
    "1e999", "9" * 30, "9" * 500, "[1]", "true", '"1"', "\u0661", "0x1", "1 2", "9007199254740993",
)  # fmt: skip
LABELS = (
    "a", "a ", b"a", "", " ", None, np.nan, float("nan"), 1, 1.0, True, np.int64(1), np.float64(2),
    2, Decimal(2), ("a",), ["a"], np.str_("a"), 2**70, float(2**70), object(),
)  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("at_once", [1, 2, 3, 5])
def test_rows_of_text_are_the_same_in_blocks_of_any_size(end, at_once, tmp_path, monkeypatch):
    rng, path = np.random.default_rng(at_once), tmp_path / "table.csv"
    for _ in range(30):
        rows = ["x,name,y", *rng.choice(ROWS, size=12)]
        last = end if rng.random() < 0.5 else ""
        path.write_bytes((end.join(rows) + last).encode())
        table = TextTable(path, TableReading())
        whole = list(table.records(["x", "name", "y"]))
        with monkeypatch.context() as patched:
            patched.setattr(text_tables, "AT_ONCE", at_once)
            assert list(table.records(["x", "name", "y"])) == whole


def test_numbers_are_those_of_each_text():
    rng, reading = np.random.default_rng(1), TableReading()
    for _ in range(300):
        # Many lists are plain but for one text.
        texts = [*rng.choice(CELLS[:6], size=150), *rng.choice(CELLS, size=rng.integers(2))]
        alone = np.array([reading.value(text) for text in texts])
        assert reading.values(texts).tobytes() == alone.tobytes()
    for text in CELLS:
        assert reading.values([text, "1"])[0] == pytest.approx(reading.value(text), nan_ok=True)


@pytest.mark.parametrize(("at_once", "least"), [(large.AT_ONCE, large.LARGE), (7, 1)])
def test_subjects_are_those_of_each_label(at_once, least, monkeypatch):
    """In memory, and in files of few at a time."""
    rng = np.random.default_rng(2)
    monkeypatch.setattr(large, "AT_ONCE", at_once)
    monkeypatch.setattr(large.large_array, "__defaults__", (float, 0, least))
    for _ in range(200):
        labels = [LABELS[index] for index in rng.integers(len(LABELS), size=20)]
        seen, owners, places = {}, [], []
        for label in labels:
            key = None if isinstance(label, list) else label_key(label)
            counted = seen.setdefault(key, [len(seen), 0]) if key is not None else [-1, -1]
            owners.append(counted[0])
            places.append(counted[1])
            counted[1] += 1
        found = grouped(labels, len(labels))
        assert (found[0].tolist(), found[1].tolist(), found[2]) == (owners, places, len(seen))
    found = grouped(ONE_EACH, 20)
    assert (found[0].tolist(), found[1].tolist(), found[2]) == ([*range(20)], [0] * 20, 20)


class Odd(type):
    """A type of labels that refuses to be compared."""

    def __eq__(cls, other):
        raise RuntimeError("a type is compared")

    __hash__ = type.__hash__


class OfOddType(metaclass=Odd):
    pass


class LikeText(int):
    """A number that is the text "a", as far as it says."""

    def __hash__(self):
        return hash("a")

    def __eq__(self, other):
        return other == "a" or super().__eq__(other)


def test_labels_with_code_of_their_own_change_no_others():
    for label in (OfOddType(), LikeText(3)):
        owners, *_ = grouped(["a", label, "a", "b"], 4)
        assert owners[0] == owners[2] == 0
        assert owners[1] not in (owners[0], owners[3])


def test_what_is_computed_along_a_geodesic_is_that_of_its_places(manifold):
    """Distances, also of points on it, and gradients of all spaces that have them in one go."""
    rng = np.random.default_rng(3)
    start, times = manifold.random_point(rng), rng.uniform(-0.5, 0.5, 50)
    points = manifold.random_point(rng, (50,))
    for speed in (0.0, 1e-9, 0.7):
        velocity = speed * manifold.frame(start)[-1]
        on_it = points.copy()
        on_it[:5] = manifold.exp(start, manifold.expand(times[:5]) * velocity)
        given = start[None], velocity[None], times, on_it
        found = manifold.distances_along(*given)
        expected = SymmetricSpace.distances_along(manifold, *given)
        # Lengths of unit vectors' products have half of the digits near zero.
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-7)
        if not manifold.has_adjoints_along:
            continue
        state = {"footpoint": start, "shooting_vector": velocity}
        expected = PerRecordGeodesicResiduals.of(manifold, state, times[:, None], points)
        found, distances = manifold.adjoints_along(start, velocity, times, points)
        np.testing.assert_allclose(distances**2, expected.squared_distances, rtol=1e-12)
        frame = manifold.frame(start)
        for each, block in zip(found, state, strict=True):
            wanted = manifold.coordinates(start, expected.contributions(block), frame)
            np.testing.assert_allclose(each, wanted, atol=1e-13)


# Arrays in files, and labels by hash


def test_what_is_kept_in_a_file_is_what_was_added():
    rng = np.random.default_rng(1)
    blocks = [rng.standard_normal((number, 2)) for number in (3, 0, 50, 7)]
    for limit in (1, 400, 1 << 20):
        rows = large.Rows((2,), large=limit)
        for block in blocks:
            rows.add(block)
        found = rows.array()
        large.settle(found[1:])
        np.testing.assert_array_equal(found, np.concatenate(blocks))
    array = large.large_array((100, 3), value=0.5, large=1)
    array[7] = 2.0
    large.settle(array)
    assert np.sum(array) == 0.5 * 99 * 3 + 6.0


def test_extremes_are_the_first_of_blocks(monkeypatch):
    rng = np.random.default_rng(3)
    monkeypatch.setattr(large, "AT_ONCE", 4)
    for shape in ((1, 2), (11, 3), (2, 9, 1), (9, 0)):
        numbers = rng.integers(5, size=shape)
        least, largest = large.extremes(numbers)
        np.testing.assert_array_equal(least, np.argmin(numbers, axis=-2))
        np.testing.assert_array_equal(largest, np.argmax(numbers, axis=-2))


def test_of_numbers_most_of_which_are_missing_some_are_chosen(monkeypatch):
    monkeypatch.setattr(large.sampled, "__defaults__", (10, 3))
    numbers = np.full(1000, np.nan)
    numbers[7] = 999.0
    assert large.finite_ones(numbers).tolist() == [999.0]
    numbers[::2] = 1.0
    assert large.finite_ones(numbers).tolist() == [1.0] * 10


def test_a_full_disk_is_a_lack_of_memory(monkeypatch):
    def fails(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(large.tempfile, "TemporaryFile", fails)
    with pytest.raises(MemoryError, match="No space"):
        large.large_array((10,), large=1)
    with pytest.raises(DataError) as told, opened(__file__, "text", "none", "none"):
        large.large_array((10,), large=1)
    assert "has no room for the records (No space" in words_of(told.value)


@pytest.mark.parametrize("factor", [labels_module.FACTOR, np.uint64(0)])
@pytest.mark.parametrize("compared", [1 << 18, 16])
def test_labels_are_the_same_if_all_their_characters_are(monkeypatch, factor, compared):
    """With a factor of zero all have one hash; where few are compared at once in files by hash."""
    monkeypatch.setattr(labels_module, "FACTOR", factor)
    monkeypatch.setattr(labels_module, "PART", compared)
    monkeypatch.setattr(labels_module._add_of_part, "__defaults__", (compared,))
    monkeypatch.setattr(large, "AT_ONCE", compared)
    long = "l" * (SHORT + 1)
    kinds = ["a", "a ", "a\0", "ä", "12345678", "123456789", long, f"{long}2", "\udcc3\udca9", "é"]
    kinds += [" ", "", None, "\x85"]
    rng = np.random.default_rng(2)
    given = [kinds[index] for index in rng.integers(len(kinds), size=300)]
    labels = Labels(given)
    expected = [label if label and label.strip() else None for label in given]
    assert labels == expected
    found = np.zeros(len(given), dtype=int)
    add_first_records(labels.cells, found, compared=compared)
    first = [expected.index(label) + 1 for label in expected]
    short = [
        bool(label) and label not in ("a\0", long, f"{long}2", "\udcc3\udca9") for label in expected
    ]
    assert found.tolist() == np.where(short, first, 0).tolist()


def test_a_long_label_changes_no_other_of_its_batch():
    """Of labels that are added as Parquet has them."""
    labels, long = Labels(), "l" * (SHORT + 1)
    for batch in (["a", "b"], ["b", long, "a"]):
        offsets = np.cumsum([0, *map(len, batch)])
        labels.add_ascii(np.frombuffer("".join(batch).encode(), dtype=np.uint8), offsets)
    assert labels == ["a", "b", "b", long, "a"]
    owners, seen = owners_of(labels)
    assert (owners.tolist(), seen) == ([0, 1, 1, 2, 0], 3)


def test_labels_in_a_file_take_more_batches(folder, monkeypatch):
    monkeypatch.setattr(large, "LARGE", 64)
    monkeypatch.setattr(large.Rows.__init__, "__defaults__", (float, 64))
    names = [f"p{index % 70:02d}" for index in range(200)]
    table = pa.table({"x": np.zeros(200), "who": names})
    pq.write_table(table, "table.parquet")
    monkeypatch.setattr(sheets, "IN_TURN", 50)
    _, labels = open_table("table.parquet").read(["x"], "who")
    assert labels == names


def test_arrays_of_others_are_never_taken_out_of_memory():
    """Of a private mapping what was written would be lost; and masked labels are nobody's."""
    given = np.frombuffer(mmap.mmap(-1, 1 << 16), dtype=float)
    given[:] = 1.0
    large.settle(given)
    assert np.all(given == 1.0)
    masked = np.ma.array(np.array([1, 2, 1, 9]), mask=[0, 0, 0, 1])
    owners, _, seen = grouped(masked, 4)
    assert (owners.tolist(), seen) == ([0, 1, 0, -1], 2)
