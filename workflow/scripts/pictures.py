"""Files of a figure."""

from jobs import replacing, save_table

from geodp.plotting import FORMATS, save_figure


def save_figure_and_table(snakemake, figure, numbers):
    """Write a figure in every format, and the numbers it shows as CSV beside it."""
    for file_format in FORMATS:
        with replacing(snakemake.output[file_format]) as partial:
            save_figure(figure, partial, file_format)
    save_table(snakemake.output.csv, numbers)
