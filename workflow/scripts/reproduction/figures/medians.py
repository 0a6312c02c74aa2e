"""Distance of estimates from the centre against the share of outliers, a panel a space."""

from reproduction.figures import style
from reproduction.figures.mean_panels import panels


def draw(medians, params):
    """Draw the figure; return it and the numbers that it shows."""
    figure, parts = panels(medians, 2.5, 3.0, sharey=True)
    for panel, _, of_space in parts:
        named = of_space.groupby("estimate", sort=False)
        for (name, rows), curve in zip(named, style.CURVES, strict=True):
            numbers = (100.0 * rows["outliers"], rows["over_radius"], rows["low"], rows["high"])
            style.plot_band(panel, *numbers, curve, label=name, markersize=3)
        panel.set(xlabel="outliers (%)", ylim=(0.0, None))
    parts[0][0].set_ylabel("distance from the centre,\nin radii of the ball")
    style.share_legend(figure, parts[0][0], 4)
    return figure, medians


def notes(medians):
    """Lines below the figure."""
    number, budget = medians["n"].iloc[0], medians["budget"].max()
    yield f"n = {number}, budget {budget:g}; bands: middle 80 % of data sets."
