"""Arrays that are kept in files, and labels that are compared by hash."""

import mmap

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.data import labels as labels_module
from geodp.data import large, sheets
from geodp.data.formats import open_table
from geodp.data.labels import SHORT, Labels, add_first_records
from geodp.data.messages import opened
from geodp.errors import DataError
from geodp_release.ask.checking import words_of
from geodp_release.run.grouping import grouped, owners_of


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
def test_labels_are_the_same_if_all_their_characters_are(monkeypatch, factor):
    """With a factor of zero all have one hash."""
    monkeypatch.setattr(labels_module, "FACTOR", factor)
    long = "l" * (SHORT + 1)
    kinds = ["a", "a ", "a\0", "ä", "12345678", "123456789", long, f"{long}2", "\udcc3\udca9", "é"]
    kinds += [" ", "", None, "\x85"]
    rng = np.random.default_rng(2)
    given = [kinds[index] for index in rng.integers(len(kinds), size=300)]
    labels = Labels(given)
    expected = [label if label and label.strip() else None for label in given]
    assert labels == expected
    found = np.zeros(len(given), dtype=int)
    add_first_records(labels.cells, found)
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
