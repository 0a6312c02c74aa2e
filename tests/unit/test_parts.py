"""A table in several parts: the same records and sums as of one; on a cluster, the same release."""

import os
import random
import signal
from decimal import Decimal
from functools import partial
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from release_tables import as_parts, frame, refused

from geodp import Assumptions, DataError, PrivacyBudget, Sphere, plan_release, release_geodesic
from geodp.data.cells import TableReading
from geodp.data.sheets import ParquetTable
from geodp.manifolds.registry import make_manifold
from geodp.samplers import integer_choice
from geodp_release.promise.public_inputs import ADD_OR_REMOVE, REPLACE
from geodp_release.run.clipping_coordinates import ClippingCoordinates
from geodp_release.run.contributions import covariate_sums, gradient_sums, loss_sums
from geodp_release.run.grouping import ONE_EACH
from geodp_release.run.partitions import _part, parted_records
from geodp_release.run.subjects import subject_records


def same_bits(monkeypatch):
    """Give the next release the bits that the one before had."""
    bits = SimpleNamespace(randbits=random.Random(3).getrandbits)
    monkeypatch.setattr(integer_choice, "secrets", bits)


def test_a_folder_has_the_fingerprint_of_all_its_files(folder, ledger):
    path = as_parts(frame())
    first = ledger.fingerprint(path)
    frame().to_parquet("parts/3.parquet")
    assert ledger.fingerprint(path) != first


@pytest.mark.parametrize(
    "kinds",
    [["float64", "int32", "int64"], ["float32", "float64", "int8"], ["int32", "uint8", "int16"]],
)
def test_numbers_of_parts_have_a_type_for_all(folder, kinds):
    """As pandas writes whole numbers, which are floating where one is missing."""
    for number, kind in enumerate(kinds):
        ages = pd.Series([20 + number, np.nan if "float" in kind else 70], dtype=kind)
        pd.DataFrame({"age": ages, "who": ages}).to_parquet(f"{number}.parquet")
    table = ParquetTable(str(folder), TableReading())
    numbers, labels = table.read(["age"], "who")
    whole = pd.concat(pd.read_parquet(f"{number}.parquet") for number in range(3))
    np.testing.assert_array_equal(np.ravel(numbers), whole["age"])
    table.refuse_unfit(["age"], [])
    if "float64" not in kinds:
        table.refuse_unfit([], ["who"])
        assert list(labels) == whole["who"].tolist()
        return
    # Labels that lost digits in one file alone would be taken for those of others.
    with pytest.raises(DataError, match=r"who: .* type as double and (float|int32) and int"):
        table.refuse_unfit([], ["who"])
    # A missing word of others is no reason to refuse.
    words = {"age": {"20": 0.0, "70": 1.0}}
    table = ParquetTable(str(folder), TableReading(categories=words))
    table.refuse_unfit(["age"], [])
    assert np.nansum(table.read(["age"])[0] == 1.0) == whole["age"].eq(70).sum()


# By their values, as Arrow finds them.
@pytest.mark.parametrize(
    "parts", [[[Decimal("1.5")], [Decimal("99.5")]], [[1, 2], [2**63]], [[True], [3]]], ids=str
)
def test_types_that_follow_from_values_are_no_reason_to_refuse_numbers(folder, parts):
    for number, values in enumerate(parts):
        pd.DataFrame({"age": values}).to_parquet(f"{number}.parquet")
    table = ParquetTable(str(folder), TableReading())
    table.refuse_unfit(["age"], [])
    assert np.ravel(table.read(["age"])[0]).tolist() == [*map(float, chain(*parts))]


@pytest.mark.parametrize("word", ["900000000000207008", "9007199254740993", "1e16"])
@pytest.mark.parametrize("others", [[7, 7], [7.0, np.nan]])
def test_listed_words_with_digits_to_lose_are_no_numbers(folder, word, others):
    """Whether or not another record makes floating-point numbers of them."""
    for number, values in enumerate([[int(float(word))] * 2, others]):
        pd.DataFrame({"code": values}).to_parquet(f"{number}.parquet")
    table = ParquetTable(str(folder), TableReading(categories={"code": {word: 0.0, "7": 1.0}}))
    with pytest.raises(DataError, match="words are wanted: save it as text"):
        table.refuse_unfit(["code"], [])


def test_what_is_no_folder_of_parts_is_refused(folder):
    path = as_parts(frame())
    Path("parts/p17.csv").touch()
    assert "p17" not in refused("not one of Parquet files alone", path)
    Path("parts/p17.csv").unlink()
    frame(age="1").to_parquet("parts/3.parquet")
    refused("columns of different names or types", path)
    frame().drop(columns="comment").to_parquet("parts/3.parquet")
    refused("columns of different names or types", path)
    Path("parts/3.parquet").write_bytes(b"PAR1")
    refused("parts: it cannot be read as a Parquet file", path)


# Of so many subjects.
assumed = partial(Assumptions, Sphere(2), [0, 0, 1], 0.6, 1.2, (20, 70))

WHO = [3, "3", 3.0, b"3", True, None, np.nan, " ", (1, "a"), Decimal(3), "é", 2.5, -7, (1, "a")]


def records_of(number, seed=2):
    """Covariates, points on the sphere and labels of every kind."""
    rng = np.random.default_rng(seed)
    points = Sphere(2).exp(
        np.array([0.0, 0.0, 1.0]), 0.3 * rng.normal(size=(number, 3)) * [1, 1, 0]
    )
    labels = [WHO[each] for each in rng.integers(len(WHO), size=number)]
    table = pd.DataFrame(points, columns=["x", "y", "z"]).assign(age=rng.uniform(20, 70, number))
    return table.assign(who=pd.Series(labels, dtype=object))


@pytest.fixture
def dd(monkeypatch):
    """The data frames of Dask, which leave objects as they are."""
    import dask.dataframe

    monkeypatch.setitem(dask.config.config, "dataframe", {"convert-string": False})
    monkeypatch.setitem(dask.config.config, "scheduler", "threads")
    return dask.dataframe


def columns_of(table):
    return table[["age"]], table[["x", "y", "z"]], table["who"]


@pytest.mark.dask
@pytest.mark.parametrize("neighbours", [ADD_OR_REMOVE, REPLACE])
@pytest.mark.parametrize("subjects", [5, 9, 20])
def test_sums_over_partitions_are_those_of_the_whole(dd, neighbours, subjects):
    """Of the first subjects, where more have records than the public number."""
    table = records_of(90)
    assumptions = assumed(subjects, 2, neighbours, residual_scale=0.3)
    whole = subject_records(assumptions, *columns_of(table))
    parts = [table[start : start + 13] for start in range(0, 90, 13)]
    cut = dd.from_map(lambda at: parts[at], range(len(parts)), meta=table[:0])
    found = parted_records(assumptions, *columns_of(cut))
    state, coordinates = np.array([[0, 0, 1.0], [0.1, 0, 0]]), ClippingCoordinates.whole(1)
    one, other = (
        [
            gradient_sums(assumptions, each, state, 0.2, coordinates),
            covariate_sums(each),
            loss_sums(assumptions, each, state[None], 0.4).tolist(),
            len(each),
        ]
        for each in (found, whole)
    )
    assert one == other
    if neighbours == ADD_OR_REMOVE:
        assert len(parted_records(assumptions, *columns_of(cut)[:2], ONE_EACH)) == 90


@pytest.mark.dask
@pytest.mark.parametrize("kind", [ValueError, DataError])
def test_what_a_partition_raises_is_not_told(kind):
    import dask.dataframe as dd

    def opened(at):
        raise kind("patient 17 has no age")

    table, assumptions = records_of(30), assumed(9)
    x, y, who = columns_of(dd.from_map(opened, [0, 1], meta=table[:0]))
    with pytest.raises(DataError, match="a partition cannot be computed") as told:
        parted_records(assumptions, x, y, who)
    assert told.value.__context__ is None
    for others in ((table[["age"]], who), (x, None)):
        with pytest.raises(DataError, match="do not go together"):
            parted_records(assumptions, others[0], y, others[1])
    dated = dd.from_map(opened, [0, 1], meta=table[:0].astype({"age": "datetime64[ns]"}))
    with pytest.raises(DataError, match="column age of a data frame is of type datetime64"):
        parted_records(assumptions, *columns_of(dated))


@pytest.mark.dask
@pytest.mark.parametrize("ages", [["40", "old"], pd.to_datetime(["2020-01-01", None])])
def test_no_type_of_a_partition_is_refused(dd, ages):
    """As it may follow from one record, such as a word among numbers."""
    table = records_of(30)
    parts = [table[:2].assign(age=pd.Series(ages).convert_dtypes()), table[2:]]
    cut = dd.from_map(lambda at: parts[at], [0, 1], meta=table[:0])
    table["age"] = pd.Series([*ages, *table["age"][2:]], dtype=object)
    assumptions = assumed(9)
    found = parted_records(assumptions, *columns_of(cut))
    assert covariate_sums(found) == covariate_sums(subject_records(assumptions, *columns_of(table)))


@pytest.mark.dask
def test_a_column_of_matrices_is_one_of_points(dd):
    table = records_of(9).assign(point=[each * np.eye(2) for each in range(1, 10)])
    cut = dd.from_map(lambda at: table[at : at + 3], [0, 3, 6], meta=table[:0])
    assumptions = Assumptions(make_manifold("spd", 2), np.eye(2), 0.6, 1.2, (20, 70), 9)
    found = parted_records(assumptions, cut["age"], cut["point"], ONE_EACH)
    assert found.sum(lambda part: np.sum(part.valid)) == 9


def test_labels_that_no_other_process_knows_again_name_nobody():
    """One would keep a cluster waiting, and records of a subject would be of several."""
    labels = [memoryview(b"3"), (1, np.nan), object(), "3", b"3", 3, (1, "a")]
    assert [_part(each, 4) >= 0 for each in labels] == [False] * 3 + [True] * 4


@pytest.mark.dask
def test_a_cluster_that_loses_a_worker_releases_what_one_machine_does(folder, monkeypatch):
    """As sums that it has to compute anew are the same; and nothing of it is said."""
    import dask.dataframe as dd
    from dask.distributed import Client, LocalCluster

    table = records_of(400)
    table["who"] = np.random.default_rng(5).integers(0, 150, 400).astype(str)
    Path("parts").mkdir()
    for place in range(4):
        table[place * 100 : place * 100 + 100].to_parquet(f"parts/{place}.parquet", index=False)
    plan = plan_release(assumed(150, 2), PrivacyBudget("1"), work=2**16)
    same_bits(monkeypatch)
    release_geodesic(plan, *columns_of(table)).save("one.json")
    same_bits(monkeypatch)
    bits, ended = integer_choice.secrets.randbits, []
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):

        def randbits(count):
            if not ended:
                ended.append(next(iter(client.run(os.getpid).values())))
                os.kill(ended[0], signal.SIGKILL)
            return bits(count)

        monkeypatch.setattr(integer_choice.secrets, "randbits", randbits)
        release_geodesic(plan, *columns_of(dd.read_parquet("parts"))).save("many.json")
        assert ended[0] not in client.run(os.getpid).values()
    assert Path("many.json").read_bytes() == Path("one.json").read_bytes()
