"""Pages of HTML from templates."""

from jinja2 import Environment, StrictUndefined


def render_page(template, **values):
    """Fill in a Jinja template, a text; its filter ``short`` gives a number three digits."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["short"] = lambda number: f"{number:.3g}"
    return environment.from_string(template).render(**values)
