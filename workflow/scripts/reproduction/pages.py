"""Pages of HTML and of Markdown from templates."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def render_page(template, **values):
    """Fill in a Jinja template, a file whose folder has the templates that it includes.

    Its filter is ``short`` below.
    """
    path = Path(template)
    is_html = ".html" in path.suffixes
    environment = Environment(
        loader=FileSystemLoader(path.parent),
        autoescape=is_html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = short
    text = environment.get_template(path.name).render(**values)
    return text if is_html else text.rstrip() + "\n"


def short(number):
    """A number with three digits that count, without an exponent up to a million; empty if none."""
    return "" if number != number else f"{float(f'{number:.3g}'):g}"
