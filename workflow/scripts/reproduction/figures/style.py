"""Style of all figures, for print, screens, greyscale and colour-blind readers.

Curves differ in lightness, marker and line style at once.
"""

from dataclasses import dataclass

FORMATS = ("pdf", "svg", "png")

STYLE = {
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "savefig.bbox": "tight",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    # Text stays text, and the same figure gives the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "geodp",
    "pdf.fonttype": 42,
}


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

RELEASED = CURVES[1]
WITHOUT_PRIVACY = CURVES[0]


def mechanism_label(name):
    """Name of a mechanism in legends."""
    return "as published" if name == "kng_as_published" else name.replace("_", " ")


def total_budget_label(names):
    """Label of an axis with budgets that are divided equally among names."""
    if len(names) < 2:
        return r"budget $\epsilon$"
    equal = " = ".join(SYMBOLS[name].strip("$") for name in names)
    return rf"total budget $\epsilon$ (${equal} = \epsilon/{len(names)}$)"


def new_figure(rows, columns, width, height, **keywords):
    """Figure and array of axes in the house style; sizes in inches."""
    import matplotlib as mpl

    # No windows, even with a display.
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update(STYLE)
    return plt.subplots(
        rows, columns, figsize=(width, height), squeeze=False, layout="constrained", **keywords
    )


def plot_markers(axes, x, y, hollow, colour, marker):
    """Markers over a curve, hollow where told."""
    for some, face in ((hollow, "white"), (~hollow, colour)):
        axes.plot(
            x[some],
            y[some],
            linestyle="",
            marker=marker,
            color=colour,
            markerfacecolor=face,
            zorder=4,
        )


def plot_curve(axes, x, y, curve, label, flagged, low, high):
    """A curve with markers, hollow where ``flagged``, over a band from ``low`` to ``high``."""
    axes.fill_between(x, low, high, color=curve.colour, alpha=0.2, linewidth=0)
    axes.plot(x, y, color=curve.colour, linestyle=curve.line, zorder=3)
    for position, height, hollow in zip(x, y, flagged, strict=True):
        axes.plot(
            position,
            height,
            color=curve.colour,
            marker=curve.marker,
            markerfacecolor="white" if hollow else curve.colour,
            zorder=4,
        )
    # One handle that shows line and marker together.
    return axes.plot([], [], label=label, **curve.keywords)[0]
