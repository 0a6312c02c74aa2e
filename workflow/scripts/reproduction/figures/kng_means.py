"""Mechanisms for means beside one another: mean distance over that of the Laplace mechanism."""

from reproduction.figures import style
from reproduction.figures.mean_panels import NAMES, about_means, means_by_size, panels

# Beside the Laplace mechanism, and how they are drawn; others are in the figure's table.
BESIDE = dict(
    zip(
        ("ambient_laplace", "kng", "tangent_laplace", "private_steps", "wrapped_laplace"),
        (*style.CURVES, style.Curve("#7a7a7a", "v", ":")),
        strict=True,
    )
)


def draw(errors, params, every=25):
    """Draw the figure of sizes that are multiples of one; return it and the numbers it shows."""
    by_size = means_by_size(errors[errors["n"] % every == 0])
    figure, parts = panels(by_size, 3.6, 3.9)
    for panel, _, rows in parts:
        base = rows.loc[rows["mechanism"] == "laplace", "mean"].to_numpy()
        panel.axhline(1.0, color="0.3", linewidth=0.8)
        for name, curve in BESIDE.items():
            mine = rows[rows["mechanism"] == name]
            if len(mine):
                style.plot_errors(panel, mine, "n", curve, base, label=NAMES[name], markersize=3)
        panel.set(xlabel="number of records n", ylim=(0.0, None))
    parts[0][0].set_ylabel(
        "mean distance to the mean (ambient),\nover that of Laplace at its proved scale"
    )
    style.share_legend(figure, parts[0][0], 3)
    return figure, by_size


def notes(by_size):
    """Lines below the figure."""
    return about_means(by_size, BESIDE)
