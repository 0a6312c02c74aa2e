"""Texts from templates of Jinja, such as the page of a release and settings."""

from pathlib import Path


def render(name, finalize, filters=(), folder=Path(__file__).parent, /, **values):
    """The text of a template of a folder; what it shows of values goes through ``finalize``."""
    # As long to import as the rest of a release.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=".html" in name,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(filters)
    return environment.get_template(name).render(values)
