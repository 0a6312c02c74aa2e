"""The documentation site: pages of the checkout and the docstrings of `geodp`, made by Sphinx.

The source folder is the checkout, so that links of pages lead to the same places as on a code host.
"""

import re
import sys
from pathlib import Path

from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT / "workflow" / "scripts"))

import geodp  # noqa: E402

project = "geodp"
version = release = geodp.__version__
author = "The geodp authors"

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc"]
include_patterns = [
    "*.md",
    "data/README.md",
    "docs/*.md",
    "resources/README.md",
    "resources/published/README.md",
]
root_doc = "docs/index"
nitpicky = True
default_role = "code"

myst_heading_anchors = 3
lexers["snakemake"], lexers["csv"] = PythonLexer(), TextLexer()

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = "geodp"
html_show_sourcelink = False
html_static_path = html_css_files = ["site.css"]
templates_path = ["."]
html_additional_pages = {"index": "redirect.html"}


def add_contents(app, name, text):
    """Make the tables of the front page the contents of the site, a heading a part."""
    if name != root_doc:
        return
    parts = re.split(r"(?m)^## (.*)\n", text[0])
    for place in range(2, len(parts), 2):
        links = re.findall(r"(?m)^\| \[(.*?)\]\((.*?)\.md\)", parts[place])
        entries = "\n".join(f"{title} <{page}>" for title, page in links)
        caption = parts[place - 1]
        parts[place - 1] = f"## {caption}\n"
        parts[place] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n\n"
    text[0] = "".join(parts)


def keep_stars(app, what, name, obj, options, lines):
    """Shapes such as (n, *point_shape) have stars that are no emphasis."""
    lines[:] = [re.sub(r"(?<=[ (])\*(?=\w+)(?!\w+\*)", r"\\*", line) for line in lines]


def setup(app):
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-docstring", keep_stars)
