"""Files of a figure."""

from reproduction.figures.style import FORMATS, save_figure
from reproduction.jobs import replacing, save_table

WARNING = "Mechanism as published: the stated budgets do not hold."


def save_figure_and_table(snakemake, figure, numbers, released=True):
    """Write a figure in every format, and the numbers it shows as CSV beside it.

    A figure of what a mechanism ``released`` carries the warning beside its axes, so that it goes
    wherever the picture goes.
    """
    warning = [WARNING, snakemake.params.note] if released else []
    figure.text(
        0.0,
        -0.02,
        "\n".join(filter(None, warning)),
        fontsize=7,
        color="0.35",
        verticalalignment="top",
    )
    save_formats(snakemake, figure)
    save_table(snakemake.output.csv, numbers)


def save_formats(snakemake, figure):
    """Write a figure in every format."""
    for file_format in FORMATS:
        with replacing(snakemake.output[file_format]) as partial:
            save_figure(figure, partial, file_format)
