"""Pages of HTML from templates."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def render_page(template, **values):
    """Fill in a Jinja template, a file whose folder has the templates that it includes.

    Its filter ``short`` is the function below.
    """
    path = Path(template)
    environment = Environment(
        loader=FileSystemLoader(path.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = short
    return environment.get_template(path.name).render(**values)


def short(number):
    """A number with three digits that count, without an exponent up to a million; empty if none."""
    return "" if number != number else f"{float(f'{number:.3g}'):g}"
