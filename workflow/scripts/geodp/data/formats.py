"""The format of a file of records, by its name and first bytes, and its table."""

from dataclasses import replace
from pathlib import Path

import yaml

from geodp.data.array_files import ArrayTable, MatTable
from geodp.data.cells import TableReading
from geodp.data.landmark_files import MorphologikaFile, NtsFile, TpsFile
from geodp.data.messages import parts_of
from geodp.data.r_files import RTable
from geodp.data.sheets import ExcelTable, FeatherTable, OpenDocumentTable, ParquetTable
from geodp.data.statistics_files import READERS, StatisticsFile
from geodp.data.text_tables import TextTable
from geodp.errors import DataError

# By suffix; all others are text, or morphologika.
KINDS = {
    ".parquet": ParquetTable,
    ".feather": FeatherTable,
    ".xlsx": ExcelTable,
    ".ods": OpenDocumentTable,
    **dict.fromkeys(READERS, StatisticsFile),
    **dict.fromkeys((".rds", ".rdata", ".rda"), RTable),
    ".npz": ArrayTable,
    ".mat": MatTable,
    ".tps": TpsFile,
    ".nts": NtsFile,
}

# Of formats that are not read, by suffix and by first bytes.
OTHERS = yaml.safe_load(Path(__file__).with_name("other_formats.yaml").read_text())


def table_kind(path, key=""):
    """The class of the table in a file, by its name and first bytes; of a folder that of its files.

    Files of other formats are a `DataError`, as are those that cannot be opened.
    """
    suffix = Path(path).suffix.lower()
    if suffix in OTHERS["suffixes"]:
        raise DataError(f"{path} is {OTHERS['suffixes'][suffix]}")
    try:
        for part in parts_of(path):
            with open(part, "rb") as file:
                start = file.read(1024)
    except OSError as problem:
        raise DataError(
            f"{key}{path} cannot be read ({problem.strerror}): correct the path"
        ) from None
    if Path(path).is_dir():
        return ParquetTable
    if suffix in KINDS:
        return KINDS[suffix]
    for mark, what in OTHERS["marks"].items():
        if start.startswith(mark.encode("latin-1")):
            raise DataError(f"{path} is no text, but {what}")
    words = start.lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    return MorphologikaFile if words.startswith(b"[individuals]") else TextTable


def open_table(path, reading=None, key="", **others):
    """The table in a file, of which only the header is read; a `DataError` says why there is none.

    ``key`` stands in messages before a path that cannot be opened; ``others`` are attributes of a
    `TableReading`.
    """
    kind, reading = table_kind(path, key), replace(reading or TableReading(), **others)
    if reading.sheet is not None and not issubclass(kind, ExcelTable | RTable):
        raise DataError(f"{path} has no sheets: remove the key sheet")
    return kind(path, reading)
