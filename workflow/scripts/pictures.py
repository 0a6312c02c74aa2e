"""Files of a figure."""

from jobs import replacing, save_table

from geodp.plotting import FORMATS, save_figure

WARNING = "Mechanism as published: the stated budgets do not hold."


def save_figure_and_table(snakemake, figure, numbers):
    """Write a figure in every format, and the numbers it shows as CSV beside it."""
    # Beside the axes, so that the warning goes wherever the picture goes.
    figure.text(
        0.0,
        -0.02,
        "\n".join(filter(None, [WARNING, snakemake.params.note])),
        fontsize=7,
        color="0.35",
        verticalalignment="top",
    )
    for file_format in FORMATS:
        with replacing(snakemake.output[file_format]) as partial:
            save_figure(figure, partial, file_format)
    save_table(snakemake.output.csv, numbers)
