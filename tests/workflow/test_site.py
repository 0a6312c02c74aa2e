"""The documentation site: complete, and readable without a network."""

import re
from html.parser import HTMLParser

import pytest
from beside import ROOT

import geodp

SITE = ROOT / "results" / "site"

built = pytest.mark.skipif(
    not (SITE / "index.html").exists(),
    reason="results/site is not built: ./run --with docs sphinx-build -W -c docs . results/site",
)


class Loaded(HTMLParser):
    """Addresses that a browser loads with a page, which are not those of its links."""

    def __init__(self, page):
        super().__init__()
        self.addresses = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon", "preconnect"):
            self.addresses.append(given["href"])
        self.addresses += [given[name] for name in ("src", "srcset", "data") if given.get(name)]


def test_reference_has_every_public_name():
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\.\. auto\w+:: geodp\.(\w+)$", text, flags=re.MULTILINE))
    assert shown == set(geodp.__all__) - {"__version__"}


def test_glossary_has_every_column_of_tables(finished):
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    known = set(re.findall(r"`(\w+)`", text.partition("## Columns of tables")[2]))
    for name, table in finished.files("*/tables/*.csv").items():
        columns = {re.sub(r"_\d+$", "_1", column) for column in header(table)}
        assert columns
        assert columns <= known, name


def header(table):
    return table.read_text(encoding="utf-8").partition("\n")[0].split(",")


@built
def test_pages_load_nothing_from_elsewhere():
    pages = list(SITE.rglob("*.html"))
    loaded = {(page.name, address) for page in pages for address in Loaded(page).addresses}
    assert len(loaded) > len(pages)
    assert [pair for pair in loaded if re.match(r"\w+:|//", pair[1])] == []
    for style in SITE.rglob("*.css"):
        assert not re.search(r"@import|url\([\"']?(https?:)?//", style.read_text(encoding="utf-8"))
