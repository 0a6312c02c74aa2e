"""How messages speak of a file of records and of places in it."""

from dataclasses import dataclass

# Messages and notes name this many values or rows at most.
SHOWN = 5


@dataclass(frozen=True)
class RecordFile:
    """A file of records, as messages call it.

    Attributes
    ----------
    name : str
    record_word, field_word : str
        A record is a "row" of a table or a "record" of a .mat file; what it holds is in a "column"
        or a "variable".
    """

    name: str
    record_word: str = "row"
    field_word: str = "column"

    def record(self, number):
        return f"{self.name}, {self.record_word} {number}"

    def cell(self, number, field):
        return f"{self.record(number)}, {self.field_word} {field}"

    @property
    def remedy(self):
        return f"correct or remove the {self.record_word}"


def few(values):
    """The first values as a text."""
    values = [str(value) if value != "" else "(empty)" for value in values]
    return ", ".join([*values[:SHOWN], *(["..."] if len(values) > SHOWN else [])])
