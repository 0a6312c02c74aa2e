"""Notes on a figure, and its files in every format."""

import logging
import textwrap

from reproduction.jobs import replacing


def annotate(figure, notes, inches_a_letter=0.051):
    """Write lines below the axes, as wide as these, so that they go wherever the picture goes."""
    length = int(figure.get_figwidth() / inches_a_letter)
    text = "\n".join(textwrap.fill(note, length) for note in notes if note)
    figure.text(0.0, -0.02, text, fontsize=7, color="0.35", verticalalignment="top")


def save_figure(figure, outputs):
    """Write a figure in every format, to files by the formats' names."""
    # fontTools warns in every run of the dates in Matplotlib's fonts.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    # Without dates the same figure gives the same bytes.
    dates = {"pdf": {"CreationDate": None, "ModDate": None}, "svg": {"Date": None}, "png": {}}
    for file_format, metadata in dates.items():
        with replacing(outputs[file_format]) as partial:
            figure.savefig(partial, format=file_format, metadata=metadata)
