"""Predicted errors of a release against the number of subjects, a curve a budget."""

import matplotlib as mpl

from reproduction.figures.style import new_figure, plot_markers

MARKERS = "osD^vP*X<>"

_WITHOUT_DATA = "the geodesic that stays at the centre"


def draw(table, wanted):
    """The figure of a plan.

    Parameters
    ----------
    table : pandas.DataFrame
        As ``plan.csv``.
    wanted : float or None
        An error to mark.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, axes = new_figure(1, 1, width=5.6, height=3.6)
    panel = axes[0, 0]
    budgets = sorted(table["budget"].unique())
    # Larger budgets are darker; markers differ as well.
    colours = mpl.colormaps["cividis_r"]
    for index, budget in enumerate(budgets):
        part = table[table["budget"] == budget]
        colour = colours(0.15 + 0.85 * index / max(1, len(budgets) - 1))
        marker = MARKERS[index % len(MARKERS)]
        panel.plot(part["n"], part["curve_error"], color=colour, zorder=3)
        plot_markers(panel, part["n"], part["curve_error"], part["is_noise"], colour, marker)
        # One handle that shows line and marker together.
        panel.plot([], [], color=colour, marker=marker, label=f"{budget:g}")
    without = table.drop_duplicates("n")
    panel.plot(
        without["n"],
        without["curve_error_without_privacy"],
        color="0.2",
        linestyle=":",
        label="no privacy",
    )
    levels = [
        (float(table["curve_error_without_data"].iloc[0]), "-", _WITHOUT_DATA),
        *([(wanted, "-.", "wanted")] if wanted is not None else []),
    ]
    for level, style, words in levels:
        panel.axhline(level, color="0.6", linewidth=0.8, linestyle=style)
        panel.annotate(
            words,
            (table["n"].max(), level),
            textcoords="offset points",
            xytext=(0, 3),
            horizontalalignment="right",
            fontsize=7,
            color="0.35",
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("number of subjects $n$")
    panel.set_ylabel("predicted error of the geodesic\n(root mean square, unit of length)")
    figure.legend(
        *panel.get_legend_handles_labels(),
        loc="outside right upper",
        title=r"budget $\epsilon$",
        fontsize=8,
    )
    first = table.iloc[0]
    figure.text(
        0.0,
        -0.02,
        f"{first['manifold']}, footpoint within {first['footpoint_radius']:.3g}, shooting vector "
        f"within {first['shooting_vector_length']:.3g}, residuals of {first['residual_scale']:.3g} "
        "in each direction (assumed).\nHollow: noise, a release would say next to nothing of the "
        "data.\nNo data were looked at.",
        fontsize=7,
        color="0.35",
        verticalalignment="top",
    )
    return figure
