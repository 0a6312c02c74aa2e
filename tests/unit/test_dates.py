"""Dates of a covariate as numbers: the time since a public date, in any format."""

import copy
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import release_tables as tables
import test_statistics_files as statistics
from cohort import SETTINGS
from hypothesis import given
from hypothesis import strategies as st
from release_tables import as_csv, as_parquet, found_faults, frame, read, refused, without

from geodp import DataError
from geodp.data.cells import TableReading
from geodp.data.dates import Dates, is_day, times_of
from geodp.data.formats import open_table
from geodp.data.r_files import CLASSES
from geodp.data.statistics_files import TEXT
from geodp.settings.settings_files import check
from geodp_release.ask.settings import ReleaseSettings

SINCE = {"dates": {"age": {"since": "2000-01-01", "unit": "days"}}}
IN_DAYS = TableReading(dates={"age": Dates("2000-01-01", "days")})
DAYS = [0.0, 1.0, -0.5, 366.25, np.nan, 7305.0, 50.0, -40000.0]
TIMES = pd.Timestamp("2000-01-01") + pd.to_timedelta(DAYS, unit="D")


@given(st.datetimes(), st.dates(), st.sampled_from([("days", 1), ("weeks", 7), ("years", 365.25)]))
def test_a_date_becomes_the_time_since_another(time, since, unit):
    passed = (time - datetime(since.year, since.month, since.day)) / timedelta(days=unit[1])
    scale = Dates(since.isoformat(), unit[0])
    for text in (str(time), time.isoformat(), f"{time}Z", str(time.replace(tzinfo=UTC))):
        assert scale.number(text) == pytest.approx(passed, abs=1e-10)
    days = (time.date() - since) / timedelta(days=unit[1])
    assert scale.number(time.date().isoformat()) == days


def test_what_is_no_date_has_no_number():
    for text in ("", "2020", "2020-02-30", "0000-01-01", "2020-W01-1", "20200131"):
        assert Dates("2000-01-01").number(text) is None
    assert [is_day(each) for each in ("2020-02-29", "2020-02-29T12:00")] == [True, False]
    # The year before the first one.
    assert Dates("0001-01-01", "days").number("0001-01-01T00+12:00") == -0.5


def as_times(table):
    """Times of a zone that no machine knows."""
    zone = pa.timestamp("ms", "No/Where")
    columns = {name: pa.array(table[name]) for name in table}
    # Of those that are missing, too.
    passed = pa.array(table["age"], pa.timestamp("ms")).cast("int64")
    pq.write_table(pa.table(columns | {"age": passed.cast(zone)}), "table.parquet")
    return "table.parquet"


def as_objects(table):
    """Cells of any types, of which some are no dates."""
    cells = [*table["age"].dt.to_pydatetime(), 43831, "x", True]
    return pd.concat([table, table[:3]]).assign(age=pd.Series(cells, dtype=object).to_numpy())


def as_texts(table):
    return as_parquet(table.assign(age=table["age"].astype(str)))


FRAMES = [tables.as_frame, as_objects]
TYPED = [as_parquet, as_times, tables.as_arrays]
TYPED += [statistics.as_feather, statistics.as_sav, statistics.as_dta]


@pytest.mark.parametrize(
    "save", [as_csv, as_texts, tables.as_excel, statistics.as_ods, *TYPED, *FRAMES]
)
def test_dates_of_any_format_are_covariates(folder, save):
    path = save(frame(age=TIMES, comment="a"))
    covariates, *_ = read(path, **SINCE)
    np.testing.assert_allclose(covariates[:8, 0], DAYS, atol=1e-8)
    assert np.all(np.isnan(covariates[8:, 0]))
    if save in TYPED:
        refused("numbers are wanted: .*; data.dates makes numbers of those of a covariate", path)
        # As labels they are what they are.
        assert len({*open_table(path).read(["a"], "age")[1]}) == 8
    if save not in FRAMES:
        with pytest.raises(DataError, match=r"column age: (the value is missing|'NaT' is no date)"):
            tables.studied(path, reading=IN_DAYS)


@pytest.mark.parametrize(("kind", "ones"), [("Date", 86400.0), ("POSIXct", 1.0)])
def test_dates_of_r_are_covariates(folder, kind, ones):
    passed = statistics.Attributed(
        (10957.0 + np.array(DAYS)) * 86400.0 / ones, {"class": np.array([kind])}
    )
    path = statistics.as_r({"age": passed, "coords": np.zeros((3, 2, 8))})
    with pytest.raises(DataError, match="age: the file states its type as a date"):
        open_table(path, landmarks=3).refuse_unfit(["age"], [])
    found, _ = open_table(path, IN_DAYS, landmarks=3).read(["age"])
    np.testing.assert_allclose(found[:, 0], DAYS, atol=1e-8)


@pytest.mark.parametrize(
    ("letter", "a_year", "first"),
    [
        ("w", 52, "2001-12-24"),
        ("m", 12, "2001-12-01"),
        ("q", 4, "2001-10-01"),
        ("h", 2, "2001-07-01"),
    ],
)
def test_periods_of_stata_are_their_first_days(folder, letter, a_year, first):
    """Numbers of Stata's own, as functions of other writers take days at the end of a year."""
    ages = [42 * a_year - 1, -1, 0, np.nan, 1e300, 0, 0, 0]
    path = statistics.as_stata(frame(age=ages), variable_format={"age": f"%t{letter}"})
    covariates, *_ = read(path, **SINCE)
    begins = pd.to_datetime([first, first.replace("2001", "1959"), "1960-01-01"])
    np.testing.assert_array_equal(covariates[:3, 0], (begins - pd.Timestamp("2000-01-01")).days)
    assert without((covariates, covariates))[0] == [3, 4]


def test_years_of_stata_are_numbers(folder):
    ages = [1999.0, 2001.0, *[2000.0] * 6]
    path = statistics.as_stata(frame(age=ages), variable_format={"age": "%ty"})
    assert read(path)[0][:, 0].tolist() == ages


def test_texts_that_r_calls_dates_are_texts():
    found = CLASSES["Date"](np.array(["2000-01-02"]), {})
    assert (found.kind, list(found.values)) == (TEXT, ["2000-01-02"])


def test_days_of_spss_and_numbers_that_are_no_days(folder):
    days = [0.0, 86400.0, 1e300, -np.inf, np.nan, 13166064000.0, *np.zeros(2)]
    path = statistics.as_sav(frame(age=days), variable_format={"age": "ADATE10"})
    covariates, _, _ = read(path, **SINCE)
    assert without((covariates, covariates))[0] == [2, 3, 4]
    assert covariates[[0, 5], 0].tolist() == [-13166064000.0 / 86400.0, 0.0]
    assert np.isnat(times_of(1e15, 1.0, "1960-01-01"))
    # A time of the day alone has no date.
    path = statistics.as_sav(frame(age=days), variable_format={"age": "TIME8"})
    refused("its type as a date or a time, and dates are wanted", path, **SINCE)
    refused("as (int|float)64, and dates are wanted", as_parquet(frame()), **SINCE)


def test_what_is_no_date_is_named(folder):
    path = as_csv(frame(age=["2020-01-31", "31.1.2020", "x", "", *["2020-02-01"] * 4]))
    assert without(read(path, **SINCE))[0] == [1, 2, 3]
    said = "\n".join(found_faults(path, **SINCE))
    assert "row 3, column age: '31.1.2020' is no date as 2020-01-31 is one" in said
    assert "row 4, column age: 'x' is no date" in said
    assert "is a date and not a number (data.dates" in found_faults(path)[0]
    with pytest.raises(ValueError, match="it is the column of no covariate"):
        tables.settings_of(path, dates={"a": {"since": "2000-01-01"}})
    with pytest.raises(ValueError, match="its words have numbers by categories"):
        tables.settings_of(path, categories={"age": {"x": 1}}, **SINCE)


def test_ranges_and_predictions_may_be_dates():
    given = copy.deepcopy(SETTINGS)
    since = {"dates": {"visit": {"since": date(2000, 1, 1)}}}
    given["data"] |= {"covariate": ["visit", "dose"]} | since
    given["covariate"] = ["time", "dose"]
    given["public"]["covariate_range"] = [["2000-01-01", date(2020, 1, 1)], [0, 10]]
    given["predictions"] = [["2010-01-01", 5], [20, 5]]
    before = copy.deepcopy(given)
    found = check(ReleaseSettings, given)
    assert given == before
    assert found.public.ranges == [[0.0, 20.0], [0.0, 10.0]]
    np.testing.assert_allclose(found.predictions, [[10.0, 5], [20, 5]], atol=2e-3)
    assert found.labels(found.names) == ["time (years since 2000-01-01)", "dose"]
    # What is wrong elsewhere is said of that, and not of the dates.
    with pytest.raises(DataError, match=r"predictions\[1\]: it has 1 values, and there are 2"):
        check(ReleaseSettings, given | {"predictions": [["2010-01-01", 5], ["2010-01-01"]]})
    given["data"] |= {"covariate": "visit"}
    given["public"]["covariate_range"] = ["2000-01-01", "2020-01-01"]
    given |= {"predictions": ["2010-01-01"], "covariate": "time"}
    assert check(ReleaseSettings, given).public.ranges == [[0.0, 20.0]]
    # A date that is none of a covariate with dates, and one that is none.
    for part in ({"dates": {}}, {"dates": {"visit": {"since": "2000-02-30"}}}):
        with pytest.raises(DataError):
            check(ReleaseSettings, given | {"data": given["data"] | part})
