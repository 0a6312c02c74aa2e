"""Ratios of published to realised sensitivity, as box plots."""

from matplotlib.ticker import LogLocator, NullLocator

from reproduction.figures.style import CURVES, new_figure


def draw(numbers, params):
    titles = {
        "ratio_footpoint": r"footpoint, $r_p = \Delta_p / |\nabla_p E - \nabla_p E'|$",
        "ratio_shooting_vector": r"shooting vector, $r_v = \Delta_v / |\nabla_v E - \nabla_v E'|$",
    }
    columns = {column: title for column, title in titles.items() if column in numbers}
    figure, axes = new_figure(1, len(columns), width=3.4 * len(columns), height=3.0, sharey=True)
    sizes = sorted(numbers["n"].unique())
    for panel, (column, title) in zip(axes[0], columns.items(), strict=True):
        values = [numbers.loc[numbers["n"] == n, column] for n in sizes]
        looks = {"medianprops": {"color": CURVES[1].colour, "linewidth": 1.8}}
        looks |= {"flierprops": {"marker": "o", "markersize": 3.5, "markerfacecolor": "none"}}
        panel.boxplot(values, tick_labels=[str(n) for n in sizes], widths=0.5, **looks)
        panel.axhline(1.0, color="0.3", linestyle=":", linewidth=1.2)
        panel.set(title=title, xlabel="records n")
        # Ratios spread over orders of magnitude when a neighbour hardly moves the gradient.
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.yaxis.set_minor_locator(NullLocator())
        panel.yaxis.set_major_formatter("{x:g}")
    axes[0, 0].set_ylabel("published / realised sensitivity")
    return figure, numbers
