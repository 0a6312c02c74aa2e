"""Style of all figures, for print, screens, greyscale and colour-blind readers.

Curves differ in lightness, marker and line style at once.
"""

import logging
import textwrap
from dataclasses import dataclass
from string import ascii_lowercase

import matplotlib as mpl

# No windows, even with a display.
mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from geodp_release.show import picture_style
from reproduction.jobs import replacing


@dataclass(frozen=True)
class Curve:
    """Style of one curve: colour, marker and line."""

    colour: str
    marker: str
    line: str | tuple

    @property
    def keywords(self):
        """Keywords of Matplotlib for a line with markers."""
        return {"color": self.colour, "marker": self.marker, "linestyle": self.line}


# From dark to light; blue, vermilion and yellow-orange are distinct for colour-blind readers.
CURVES = (
    Curve("#14315f", "o", "-"),
    Curve("#c2480c", "s", "--"),
    Curve("#e0a526", "^", "-."),
    Curve("#5aa7c7", "D", (0, (5, 1, 1, 1, 1, 1))),
)

# Letters of budgets in labels, by name.
SYMBOLS = {"footpoint": r"$\epsilon_p$", "shooting_vector": r"$\epsilon_v$", "all": r"$\epsilon$"}

# Hollow markers in a legend.
HOLLOW = {"color": "0.3", "marker": "o", "markerfacecolor": "white", "linestyle": ""}

REFUSED = "refused by geodp plan as noise"

WITHOUT_PRIVACY, RELEASED = CURVES[:2]

# Bands of releases, and of those that are refused.
BAND = {"facecolor": RELEASED.colour, "alpha": 0.25}
HATCHED = {"facecolor": "none", "edgecolor": RELEASED.colour, "hatch": "/////", "alpha": 0.5}


def mechanism_label(name):
    """Name of a mechanism in legends."""
    words = {"kng_as_published": "as published", "release": "release with a proof"}
    return words.get(name, name.replace("_", " "))


def cell_in_words(row):
    """Budgets of a row of a table, in symbols: equal ones as one equation."""
    blocks = [name for name in SYMBOLS if np.isfinite(row.get(f"budget_{name}", np.nan))]
    budgets = {SYMBOLS[name].strip("$"): row[f"budget_{name}"] for name in blocks}
    budgets = budgets or {SYMBOLS["all"].strip("$"): row["budget"]}
    if len(set(budgets.values())) == 1:
        budgets = {" = ".join(budgets): next(iter(budgets.values()))}
    return ", ".join(f"${symbol} = {amount:g}$" for symbol, amount in budgets.items())


def new_figure(rows, columns, width, height, lettered=True, **keywords):
    """Figure and array of axes in the house style, several with letters; sizes in inches."""
    # As figures of releases, but for titles with formulas; text stays text in PDF as well.
    own = {"text.parse_math": True, "savefig.dpi": 200, "savefig.bbox": "tight"}
    own |= {"lines.markersize": 5, "pdf.fonttype": 42}
    mpl.rcParams.update(picture_style.STYLE | own)
    figure, axes = plt.subplots(
        rows, columns, figsize=(width, height), squeeze=False, layout="constrained", **keywords
    )
    if axes.size > 1 and lettered:
        for letter, panel in zip(ascii_lowercase, axes.flat, strict=False):
            panel.set_title(letter, loc="left", fontweight="bold")
    return figure, axes


def line(**look):
    """Handle of a line or a marker in a legend; keywords are Matplotlib's."""
    return Line2D([], [], **look)


def patch(**look):
    """Handle of an area in a legend; keywords are Matplotlib's."""
    return Patch(linewidth=0, **look)


def legend_above(figure, *rows):
    """Legend over the panels of a figure and no wider, from rows of handles."""
    # Inches of the widest label: a mark, and letters of 8 points.
    widest = 0.5 + 0.055 * max(len(handle.get_label()) for row in rows for handle in row)
    most = max(1, int(figure.get_figwidth() / widest))
    rows = [row[start : start + most] for row in rows for start in range(0, len(row), most)]
    columns = max(map(len, rows))
    filled = [[*row, *[line(linestyle="", label=" ")] * (columns - len(row))] for row in rows]
    # Matplotlib fills a legend column by column.
    handles = [handle for column in zip(*filled, strict=True) for handle in column]
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, fontsize=8)


def legend_of_draws(figure, numbers, fit, first, others):
    """Legend of a table of predictions: styles of the fit, of one draw and of the others."""
    draws, private = int(numbers["draw"].max()), numbers[numbers["kind"] == "private"]
    row = private.iloc[0]
    # Several cells are told apart in the figure.
    cell = [cell_in_words(row)] if private["cell"].nunique() == 1 else []
    what = ", ".join([mechanism_label(row["mechanism"]), *cell, f"n = {row['n']}"])
    drawn = [line(**fit, label="fit without privacy"), line(**first, label=f"one draw, {what}")]
    if "band" in private:
        band = f"{100 * private['band_level'].max():g} % band of it"
        drawn.append(patch(**BAND, label=band))
        if private["refused"].eq(True).any():
            drawn.append(patch(**HATCHED, label=f"band of one {REFUSED}"))
    if draws > 1:
        drawn.append(line(**others, label=f"{draws - 1} more"))
    legend_above(figure, drawn)


def label_levels(panel, levels, colours, labels):
    """Write labels at the right of horizontal lines, moved apart where they would overlap."""
    height = panel.figure.get_figheight() * 72.0
    low, high = panel.get_ylim()
    # As tall as a line of the text, in units of the axis, if the panels of a column take 2/3 of the
    # figure.
    rows = panel.get_subplotspec().get_gridspec().nrows
    least = 9.0 * (high - low) / (0.66 * height / rows)
    order = np.argsort(levels)
    places = np.array(levels, dtype=float)[order]
    # The lowest stays; those above move up as far as they must.
    for k in range(1, len(places)):
        places[k] = max(places[k], places[k - 1] + least)
    places += np.mean(np.array(levels)[order] - places)
    for k, place in zip(order, places, strict=True):
        panel.annotate(
            labels[k],
            xy=(1.0, levels[k]),
            xytext=(1.05, place),
            xycoords=("axes fraction", "data"),
            # Dark enough for small letters on white.
            color=0.62 * np.array(to_rgb(colours[k])),
            fontsize=7.5,
            verticalalignment="center",
            arrowprops={"arrowstyle": "-", "color": colours[k], "linewidth": 0.6, "shrinkB": 0},
        )


def plot_band(axes, x, y, low, high, curve, **keywords):
    """A curve with markers over a band from ``low`` to ``high``; keywords are Matplotlib's."""
    axes.fill_between(x, low, high, color=curve.colour, alpha=0.2, linewidth=0)
    axes.plot(x, y, **(curve.keywords | keywords))


def closed_outline(shape):
    """Coordinates of the landmarks of a shape, the first again at the end: shape (2, k + 1)."""
    ordered = shape.sort_values("landmark")[["x", "y"]].to_numpy()
    return np.vstack([ordered, ordered[:1]]).T


def share_legend(figure, axes, columns):
    """Legend above all panels of a figure, with each label once."""
    found = {}
    for panel in np.ravel(axes):
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    place = {"loc": "outside upper center", "ncols": columns, "fontsize": 7}
    figure.legend(found.values(), found.keys(), **place)


def label_few_steps(axis):
    """Label 1, 2 and 5 of each decade of a logarithmic axis, and nothing between."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def plot_markers(axes, x, y, hollow, colour, marker):
    """Markers over a curve, hollow where told."""
    style = {"linestyle": "", "marker": marker, "color": colour, "zorder": 4}
    for some, face in ((hollow, "white"), (~hollow, colour)):
        axes.plot(x[some], y[some], markerfacecolor=face, **style)


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
