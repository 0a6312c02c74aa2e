"""Pages of HTML and of Markdown from templates."""

from pathlib import Path

from geodp_release.show.templates import render


def render_page(template, **values):
    """Fill in a Jinja template, a file whose folder has the templates that it includes.

    Its filter is ``short`` below.
    """
    path = Path(template)
    text = render(path.name, None, {"short": short}, path.parent, **values)
    return text if ".html" in path.suffixes else text.rstrip() + "\n"


def short(number):
    """A number with three digits that count, without an exponent up to a million; empty if none."""
    return "" if number != number else f"{float(f'{number:.3g}'):g}"
