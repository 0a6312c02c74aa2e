"""Tables of SPSS, Stata, SAS, R, OpenDocument and Feather: types, words, missing codes, labels."""

import base64
import gzip
import io
import lzma
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
import yaml
from release_tables import LANDMARKS, assert_same, frame, read, refused, studied, without, writer

from geodp import DataError
from geodp.data.cells import TableReading
from geodp.data.formats import open_table
from geodp.manifolds.registry import make_manifold
from geodp_release.ask.cli import main
from geodp_release.ask.settings import read_settings

pyreadstat = pytest.importorskip("pyreadstat", reason="needs the extra formats")
rdata = pytest.importorskip("rdata", reason="needs the extra formats")
to_r = pytest.importorskip("rdata.conversion.to_r", reason="needs the extra formats")
pytest.importorskip("python_calamine", reason="needs the extra formats")

SAS = yaml.safe_load(Path(__file__).with_name("sas_files.yaml").read_text())

SPREADSHEET = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body>'
    '<office:spreadsheet><table:table table:name="one">{}<table:table-row '
    'table:number-rows-repeated="9999"><table:table-cell table:number-columns-repeated="99"/>'
    '</table:table-row></table:table><table:table table:name="two"/></office:spreadsheet>'
    "</office:body></office:document-content>"
)


@dataclass
class Attributed:
    """Numbers of R with attributes, such as names of an array or a class."""

    numbers: object
    attributes: dict

    def of_r(self, converter):
        return to_r.build_r_object(
            rdata.parser.RObjectType.REAL,
            value=np.ravel(np.asarray(self.numbers, dtype=float), order="F"),
            is_object="class" in self.attributes,
            attributes=converter.convert_to_r_attributes(self.attributes),
        )


def as_r(value, path="table.rds"):
    save = rdata.write_rds if path.endswith(".rds") else rdata.write_rda
    classes = {Attributed: Attributed.of_r, **to_r.DEFAULT_CLASS_MAP}
    save(path, value, constructor_dict=classes)
    return path


def of_r(table):
    """A data frame with types that rdata writes."""
    types = {"str": object, "int64": "int32"}
    return table.astype({name: types.get(str(kind), kind) for name, kind in table.dtypes.items()})


def as_rds(table):
    return as_r(of_r(table))


def as_rdata(table):
    return as_r({"of": of_r(table), "more": np.arange(3.0)}, "table.RData")


as_sav = writer(pyreadstat.write_sav, "table.sav")
as_zsav = writer(partial(pyreadstat.write_sav, compress=True), "table.zsav")
as_dta = writer(partial(pd.DataFrame.to_stata, write_index=False), "table.dta")
# With formats, words and missing codes.
as_stata = writer(pyreadstat.write_dta, "table.dta")
as_feather = writer(pd.DataFrame.to_feather, "table.feather")


def as_ods(table):
    def cell(value):
        if isinstance(value, str):
            kind = 'office:value-type="string"'
            return f"<table:table-cell {kind}><text:p>{escape(value)}</text:p></table:table-cell>"
        kind = f'office:value-type="float" office:value="{value}"'
        if hasattr(value, "isoformat"):
            kind = f'office:value-type="date" office:date-value="{value.isoformat()}"'
        return f"<table:table-cell {kind if value == value else ''}/>"

    rows = ([cell(each) for each in row] for row in [table.columns, *table.to_numpy(object)])
    text = "".join(f"<table:table-row>{''.join(row)}</table:table-row>" for row in rows)
    with ZipFile("table.ods", "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("META-INF/manifest.xml", '<m:manifest xmlns:m="urn:manifest"/>')
        file.writestr("content.xml", SPREADSHEET.format(text))
    return "table.ods"


WRITERS = [as_sav, as_zsav, as_dta, as_rds, as_rdata, as_feather, as_ods]


@pytest.mark.parametrize("whose", ["text", "whole numbers"])
@pytest.mark.parametrize("save", WRITERS)
def test_formats_hold_the_same_records_for_releases_and_studies(folder, save, whose):
    who = [f"é {row}" for row in range(8)] if whose == "text" else [*range(10**6, 10**6 + 8)]
    table = frame(who=who, age=[0.5, np.nan, *range(2, 8)], comment="a")
    table.to_csv("table.csv", index=False)
    expected, path = read("table.csv"), save(table)
    _, points, subjects = found = read(path)
    assert_same(found[:2], expected[:2])
    assert [str(each) for each in subjects] == expected[2]
    assert without(found) == [[1], []]
    kept = {"who": [str(each) for each in subjects if each != subjects[1]]}
    records = studied(path, keep=kept)
    np.testing.assert_allclose(records.points, np.delete(points, 1, axis=0))
    refused("there is no column b1", path, columns=["a", "b1"])
    types = {"table.ods": None, "table.feather": "large_string"}
    if said := types.get(path, "text"):
        refused(f"comment: the file states its type as {said}", path, columns=["a", "comment"])


WHO = list("pqrstu")
WORDS = {1: "männlich", 2: "weiblich"}


def coded_sav():
    sex, age = [1.0, 2.0, 9.0, 8.0, 3.0, np.nan], [5.0, 6.0, -99.0, 7.0, 8.0, 9.0]
    missing = {"sex": [{"lo": 8, "hi": 1e9}], "age": [-99]}
    words = {"sex": WORDS | {9: "refused"}, "age": {8: "8 or more"}}
    table = pd.DataFrame({"who": WHO, "sex": sex, "age": age})
    return as_sav(table, missing_ranges=missing, variable_value_labels=words)


def coded_dta():
    table = {"who": WHO, "sex": [1, 2, "a", "z", 3, "b"], "age": [5, 6, "c", 7, 8, 9]}
    words = {"sex": WORDS | {"a": "refused"}, "age": {8: "8 or more"}}
    missing = {"sex": ["a", "b", "z"], "age": ["c"]}
    table = pd.DataFrame(table, dtype=object)
    return as_stata(table, missing_user_values=missing, variable_value_labels=words)


def coded_rds():
    """As the package haven reads a file of SPSS with its missing codes."""
    kind = ["haven_labelled_spss", "haven_labelled", "vctrs_vctr", "double"]
    names = {"names": np.array(["männlich", "weiblich", "refused"])}
    sex = {"labels": Attributed([1, 2, 9], names), "na_range": np.array([8.0, np.inf])}
    older = Attributed([8], {"names": np.array(["8 or more"])})
    age = {"labels": older, "na_values": np.array([-99.0])}
    numbers = [1, 2, 9, 8, 3, np.nan], [5, 6, -99, 7, 8, 9]
    columns = {"who": np.array(WHO, dtype=object)}
    for name, each, attributes in zip(("sex", "age"), numbers, (sex, age), strict=True):
        columns[name] = Attributed(each, attributes | {"class": np.array(kind)})
    return as_r(columns | {"coords": np.zeros((4, 2, 6))})


@pytest.mark.parametrize("save", [coded_sav, coded_dta, coded_rds])
def test_missing_codes_are_missing_and_values_are_numbers_or_words(folder, save):
    """One value with a word, such as the age from 8 on, makes no words of the others."""
    path = save()
    numbers, who = open_table(path, landmarks=4).read(["sex", "age"], "who")
    np.testing.assert_array_equal(numbers[:, 0], [1, 2, np.nan, np.nan, 3, np.nan])
    np.testing.assert_array_equal(numbers[:, 1], [5, 6, np.nan, 7, 8, 9])
    assert who == WHO
    reading = TableReading(categories={"sex": {"weiblich": 0, "männlich": 1, "3": 2}})
    words, _ = open_table(path, reading, landmarks=4).read(["sex", "age"])
    np.testing.assert_array_equal(words[:, 0], [1, 0, np.nan, np.nan, 2, np.nan])
    np.testing.assert_array_equal(words[:, 1], numbers[:, 1])


@pytest.mark.parametrize("wanted", [["männlich", "weiblich"], [1, "2.0"]])
def test_studies_keep_records_by_words_or_by_codes(folder, wanted):
    sex = np.array([1.0, 2.0, 3.0] * 3)
    table = pd.DataFrame({"age": np.arange(9.0), "sex": sex, "a": np.arange(9.0) ** 2, "b": 1.0})
    path = as_sav(table, variable_value_labels={"sex": WORDS})
    found = studied(path, keep={"sex": wanted})
    assert found.rows == [1, 2, 4, 5, 7, 8]


def test_files_of_sas(folder):
    for name, text in SAS.items():
        Path(f"{name}.sas7bdat").write_bytes(lzma.decompress(base64.b64decode(text)))
    numbers, genders = open_table("hadley.sas7bdat").read(["q3", "id"], "gender")
    np.testing.assert_array_equal(numbers[:, 0], [5, 4, 4, np.nan, 2, 5, 4, 5])
    assert genders == ["f", "f", "f", None, "m", "m", "m", "m"]
    numbers, labels = open_table("hadley.sas7bdat").read(["q1"], "id")
    assert labels == [str(each) for each in range(1, 9)]
    # Its codes are .A, .H and .Z.
    numbers, _ = open_table("tagged-na.sas7bdat").read(["x"])
    assert np.flatnonzero(np.isnan(numbers[:, 0])).tolist() == [5, 6, 7]
    choices = {"columns": ["id", "gender"], "covariate": "q1", "subject": "q2"}
    refused("gender: the file states its type as text, and numbers", "hadley.sas7bdat", **choices)


@pytest.mark.parametrize("save", [as_sav, as_dta, as_rds])
def test_a_text_of_another_encoding_changes_no_other_record(folder, save):
    """Of the programs that read these files some refuse them all."""
    path = save(frame(who=[*(f"é{row}" for row in range(7)), "cccc"]))
    expected = read(path)
    content = Path(path).read_bytes()
    content = gzip.decompress(content) if path.endswith("rds") else content
    assert content.count(b"cccc") == 1
    Path(path).write_bytes(content.replace(b"cccc", b"c\xff\xfec"))
    covariates, points, subjects = read(path)
    assert_same((covariates, points, subjects[:7]), (*expected[:2], expected[2][:7]))
    assert subjects[7] == "cÿþc"


def test_sheets_of_open_document(folder):
    path = as_ods(frame())
    refused("the sheet is empty", path, sheet="two")
    refused("it has no sheet three .there are: one, two", path, sheet="three")
    assert_same(read(path, sheet="one"), read(path))


@pytest.mark.parametrize(
    ("save", "kind", "first"), [(as_sav, float, 53), (as_dta, float, 53), (as_dta, "float32", 24)]
)
def test_labels_of_floating_point_that_lost_digits_are_refused(folder, save, kind, first):
    assert read(save(frame(who=np.arange(2**first - 8, 2**first).astype(kind))))[2][7] is not None
    refused("who: labels are floating-point", save(frame(who=np.full(8, 2.0**first).astype(kind))))


def test_whole_numbers_of_64_bits_in_r(folder):
    whole = np.array([2**60 + 1, 2**60 + 2, np.iinfo(np.int64).min])
    longs = Attributed(whole.view(float), {"class": "integer64"})
    table = open_table(as_r({"who": longs, "coords": np.zeros((3, 2, 3))}), landmarks=3)
    assert not table.has_lost("who")
    numbers, labels = table.read(["who"], "who")
    assert labels == [str(2**60 + 1), str(2**60 + 2), None]
    np.testing.assert_array_equal(numbers[:, 0], [2.0**60, 2.0**60, np.nan])


# An array p x k x n of R, with names of specimens.
POINTS, IDS = np.random.default_rng(2).normal(size=(3, 2, 8)), [f"s{row}" for row in range(8)]
NAMES = [None, np.array(["X", "Y"]), np.array(IDS)]
ARRAY = Attributed(POINTS, {"dim": np.array([3, 2, 8], "int32"), "dimnames": NAMES})


def test_landmarks_of_r_are_shapes(folder):
    shapes = make_manifold("kendall", 3).from_landmarks((POINTS[:, 0] + 1j * POINTS[:, 1]).T)
    path = as_r(ARRAY)
    covariates, points, subjects = read(path, **LANDMARKS)
    assert_same((points, subjects), (shapes, IDS))
    sizes = [np.linalg.norm(each - each.mean(0)) for each in np.moveaxis(POINTS, 2, 0)]
    assert covariates[:, 0] == pytest.approx(sizes)
    choices = {"columns": ["x1", "y1"], "covariate": "x2", "subject": "ID"}
    refused("table.rds holds landmarks: set the space to kendall", path, **choices)
    # The data frame of geomorph, a list; what it has once is no column.
    sex = pd.Categorical(["F", "M", None, *"FMFMF"])
    of = {"shape": ARRAY, "Sex": sex, "age": np.arange(8.0), "tree": ["a"], "iter": np.arange(2.0)}
    path = as_r({"gdf": of, "plane": np.zeros((3, 3, 8))}, "table.RData")
    covariates, points, subjects = read(path, **LANDMARKS | {"covariate": "age", "subject": "Sex"})
    assert_same((points, covariates[:, 0]), (shapes, range(8)))
    assert subjects == ["F", "M", None, *"FMFMF"]
    assert open_table(path, landmarks=3).names[-4:] == ["centroid_size", "ID", "Sex", "age"]


def test_files_of_r_with_several_tables_or_none(folder):
    path = as_r({"old": of_r(frame()), "new": of_r(frame(a=1.0))}, "table.RData")
    refused("; it has several tables, and the key sheet names one: (old, new|new, old)", path)
    assert np.all(read(path, sheet="new")[1][:, 0] == 1.0)
    refused("it has no table newer .there are: .*: correct the key sheet", path, sheet="newer")
    for value in (np.zeros((3, 3, 8)), {"a": np.arange(3.0)}, np.arange(3.0), None):
        refused("table.rds: it has no table: save a data frame, an array p x 2 x n", as_r(value))


@pytest.mark.parametrize("save", WRITERS)
def test_damaged_files_and_libraries_that_are_not_there(folder, save, monkeypatch):
    path = save(frame(comment="a"))
    content = Path(path).read_bytes()
    for part in (b"", b"rubbish" * 99, content[: len(content) // 2]):
        Path(path).write_bytes(part)
        with pytest.raises(DataError, match=f"{path}: it cannot be read as an? .*: save it anew$"):
            read(path)
    Path(path).write_bytes(content)
    for library in ("pyreadstat", "rdata", "python_calamine", "pyarrow"):
        monkeypatch.setitem(sys.modules, library, None)
    refused(r"needs (pyreadstat|rdata|python-calamine|pyarrow): install geodp\[", path)
    # By their first bytes, under another name.
    Path("table.csv").write_bytes(content)
    refused("rename it to end in|unpack it|save it as CSV|is not UTF-8", "table.csv")


def test_a_sheet_of_a_file_of_r_is_asked_for(folder, monkeypatch):
    specimens = {"coords": ARRAY, "age": np.arange(8.0)}
    path = as_r({"b": specimens, "a": of_r(frame())}, "t.RData")
    answers = ["b", "", "age", "ID", "", "0, 9", *[""] * 4, "300", *[""] * 4]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(answers) + "\n"))
    assert main(["init", path]) == 0
    data = read_settings("t.yaml").data
    assert (data.sheet, data.columns[:2], data.subject) == ("b", ["x1", "y1"], "ID")
