"""Pages of HTML from templates."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def render_page(template, **values):
    """Fill in a Jinja template, a file whose folder has the templates that it includes.

    Its filter ``short`` gives a number three digits, and nothing to one that is missing.
    """
    path = Path(template)
    environment = Environment(
        loader=FileSystemLoader(path.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = lambda number: "" if number != number else f"{number:.3g}"
    return environment.get_template(path.name).render(**values)
