"""Figure 2 of Reimherr, Bharath and Soto: bounds of the change of logarithms on the sphere."""

from reproduction.figures import style

LABELS = {
    "without_curvature": "$2r$",
    "bound": "$2r\\,(2 - h)$, the bound",
    "largest_on_grid": "largest on a grid of the edge",
}


def draw(bounds, params):
    """Draw the figure; return it and the numbers that it shows."""
    figure, [[panel]] = style.new_figure(1, 1, width=4.2, height=3.0)
    for (column, label), curve in zip(LABELS.items(), style.CURVES, strict=False):
        look = {"color": curve.colour, "linestyle": curve.line, "label": label}
        panel.plot(bounds["radius"], bounds[column], **look)
    radius = params.figure["radius"]
    panel.axvline(radius, color="0.6", linewidth=0.8)
    beside = {"textcoords": "offset points", "fontsize": 7}
    panel.annotate("radius of Figure 1", (radius, 0.0), (3, 2), **beside)
    panel.set(ylim=(0.0, None), xlabel="radius of the ball, rad")
    panel.set_ylabel("change of the logarithm of one record, rad")
    panel.legend(fontsize=7)
    return figure, bounds
