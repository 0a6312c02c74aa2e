"""Noise of means and medians over n, and realised losses of private quantiles over tau."""

from reproduction.figures import style
from reproduction.figures.kng_linear import plot_estimates

LOSSES = {
    "private_quantile": (r"sensitivity $2(1-\tau)$, as published", style.CURVES[1]),
    "private_quantile_proved": ("sensitivity 1", style.CURVES[0]),
}


def draw(bounds, losses, params):
    """Draw the figure; return it and the numbers that it shows."""
    figure, [panels] = style.new_figure(1, 2, width=7.2, height=3.2)
    plot_estimates(panels[0], bounds)
    panels[0].set_ylabel("mean distance of private\nand non-private estimates")
    for name, (label, curve) in LOSSES.items():
        rows = losses[losses["mechanism"] == name]
        panels[1].plot(rows["tau"], rows["loss_over_stated"], label=label, **curve.keywords)
    panels[1].axhline(1.0, color="0.3", linewidth=0.8)
    panels[1].set(ylim=(0.0, None), xlabel=r"quantile $\tau$")
    panels[1].set_ylabel("realised over stated privacy loss")
    for panel in panels:
        panel.legend(fontsize=7)
    style.letter_panels(panels)
    return figure, bounds
