"""Lines of a text that end as its header does, and nowhere else.

Programs that write a table end all rows alike.  Any other line break is in a cell, whether that is
in quotes or not: so no cell makes a row more or less.
"""

import re

BREAK = re.compile(r"\r\n|\r|\n")

# Characters that no text has: bytes that are no UTF-8 become U+DC80 to U+DCFF.
_RETURN, _FEED = "\udc0d", "\udc0a"


def end_of(line, path):
    """The line break at the end of the header of a file; where it has none a line feed."""
    found = BREAK.search(line, max(len(line) - 2, 0))
    if found is None:
        return "\n"
    if found[0] == "\r\n":
        # The line feed may be the first character of a record, where rows end in a return alone: so
        # does the last one then.
        with open(path, "rb") as file:
            file.seek(-1, 2)
            return "\r" if file.read() == b"\r" else "\r\n"
    return found[0]


def number_of_breaks(text):
    """How many line breaks of any kind a text has, as an editor counts them."""
    return len(BREAK.findall(text)) if "\n" in text or "\r" in text else 0


def marked(line, end):
    """A line, its end as a line feed, and other breaks in it as characters that end no line."""
    body = line.removesuffix(end)
    if "\r" in body or "\n" in body:
        return body.replace("\r", _RETURN).replace("\n", _FEED) + "\n"
    return f"{body}\n"


def restored(cell, end):
    """What a cell of `marked` lines held."""
    if cell.isascii() and "\n" not in cell:
        return cell
    return cell.replace("\n", end).replace(_RETURN, "\r").replace(_FEED, "\n")
