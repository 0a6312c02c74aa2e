"""Names of files, rows and columns in messages; opening of files, and errors where that fails."""

import os
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from geodp.errors import DataError

# Most values or rows that a message names.
SHOWN = 5


@dataclass(frozen=True)
class RecordFile:
    """Names of a file of records and its parts, for messages.

    Words are "row" and "column" of a table, or "record" and "variable" of a .mat file.
    """

    name: str
    record_word: str = "row"
    field_word: str = "column"
    # Of two tables that are joined: the path of the second, and the columns of the first.
    joined: tuple | None = None

    def record(self, number):
        """Name of a record."""
        return f"{self.name}, {self.record_word} {number}"

    def cell(self, number, field):
        """Name of a column or variable of a record, and of the file that it is joined from."""
        name = f"{self.record(number)}, {self.field_word} {field}"
        if self.joined is None or field in self.joined[1]:
            return name
        return f"{name} (joined from {self.joined[0]})"

    @property
    def remedy(self):
        """Advice at the end of a message."""
        return f"correct or remove the {self.record_word}"

    def refuse_first(self, are_wrong, numbers, fault, field=None):
        """Refuse the first of records that are wrong; ``fault`` makes words of its index."""
        if any(are_wrong):
            first = list(are_wrong).index(True)
            raise self.refusal(numbers[first], fault(first), field)

    def refusal(self, number, fault, field=None):
        """Error for a record, or a field of it, with the advice to correct or remove it."""
        place = self.record(number) if field is None else self.cell(number, field)
        return DataError(f"{place}: {fault}: {self.remedy}")


def landmarks_error(path):
    """The error for a file of landmarks where points are no planar shapes."""
    return DataError(
        f"{path} holds landmarks: set the space to kendall, for planar shapes of them, or for "
        "sizes beside shapes save them, times their scale, as columns x1, y1, ... of a CSV file"
    )


def parts_of(path):
    """Paths of the files of a table: its own, or those in a folder of Parquet files, by name.

    A `DataError` says that there are others in the folder, whose names may tell of records.
    """
    folder = Path(path)
    if not folder.is_dir():
        return [path]
    # Programs put others beside the parts, such as _SUCCESS.
    found = sorted(each for each in os.listdir(folder) if not each.startswith((".", "_")))
    if not found or not all(each.lower().endswith(".parquet") for each in found):
        raise DataError(
            f"{path} is a folder, and not one of Parquet files alone: name one whose files end in "
            ".parquet, or a file"
        )
    return [str(folder / each) for each in found]


@contextmanager
def opened(path, what, library, extra, part=None):
    """A file of bytes for an optional library, which is imported inside, and what it may raise.

    Or a ``part`` of those of a folder. A `DataError` says what to install, or that the file cannot
    be read as ``what``.
    """
    # Whatever is wrong with the place of the file has its own words, and warnings quote cells.
    with open(part or path, "rb") as handle, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield handle
        except ImportError:
            raise DataError(
                f"{path}: {what} needs {library}: install geodp[{extra}], or save the table as CSV"
            ) from None
        except Exception:  # of many kinds, and their words may quote data
            raise DataError(f"{path}: it cannot be read as {what}: save it anew") from None


def text_of(path, most=100_000_000):
    """Text of a file of so many characters at most."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(most + 1)
    except OSError as problem:
        raise DataError(
            f"{path} cannot be read ({problem.strerror}): correct its path, seen from {Path.cwd()}"
        ) from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text: save it as UTF-8") from None
    if len(text) > most:
        raise DataError(f"{path} has more than {most} characters: give a smaller file")
    return text


def few(values):
    """The first few values as text."""
    values = [str(value) if value != "" else "(empty)" for value in values]
    return ", ".join([*values[:SHOWN], *(["..."] if len(values) > SHOWN else [])])
