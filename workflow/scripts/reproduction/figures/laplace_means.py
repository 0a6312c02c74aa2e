"""Figure 1 of Reimherr, Bharath and Soto: means of neighbours and errors, a row a space."""

from reproduction.figures import style
from reproduction.figures.mean_panels import NAMES, about_means, means_by_size, space_title

UNITS = {"SPD(2)": "unit of the affine-invariant metric"}


def draw(errors, neighbours, params):
    """Draw the figure; return it and the numbers that it shows."""
    by_size = means_by_size(errors)
    spaces = list(by_size.groupby("space", sort=False))
    figure, axes = style.new_figure(len(spaces), 2, width=7.0, height=0.6 + 2.4 * len(spaces))
    for (pairs_panel, panel), (space, rows) in zip(axes, spaces, strict=True):
        pairs = neighbours[neighbours["space"] == space]
        few = {"color": style.CURVES[3].colour, "markersize": 2}
        pairs_panel.plot(pairs["n"], pairs["moved"], ".", **few, label="a pair")
        by_n = pairs.groupby("n").agg({"moved": "mean", "bound": "first"})
        for column, label, curve in zip(
            by_n, ("average of pairs", "bound"), style.CURVES, strict=False
        ):
            look = {"color": curve.colour, "linestyle": curve.line, "label": label}
            pairs_panel.plot(by_n[column], **look)
        pairs_panel.set_ylabel(f"distance of neighbours' means\n({UNITS.get(space, 'rad')})")
        for name, curve in zip(_shown(rows), style.CURVES, strict=False):
            mine = rows[rows["mechanism"] == name]
            style.plot_errors(panel, mine, "n", curve, label=NAMES[name], markersize=3)
        panel.set_ylabel("distance of draw and mean\n(ambient space)")
        for each in (pairs_panel, panel):
            each.set(yscale="log", title=space_title(space))
    for panel, below in zip(axes[0], axes[-1], strict=True):
        below.set_xlabel("number of records n")
        panel.legend(fontsize=7)
    style.letter_panels(axes)
    return figure, by_size


def _shown(by_size):
    """Mechanisms of the paper's figure: on the manifold, and in the ambient space."""
    on_sphere = "laplace_as_published" in set(by_size["mechanism"])
    return "laplace_as_published" if on_sphere else "laplace", "ambient_laplace"


def notes(by_size):
    """Lines below the figure."""
    return about_means(
        by_size, {name for _, rows in by_size.groupby("space") for name in _shown(rows)}
    )
