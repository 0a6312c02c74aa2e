"""Distance of footpoints from the estimate: along random walks, and of independent draws."""

TABLE = "convergence"
OF_MECHANISM = True


def draw(numbers, params):
    """Draw the figure; return it and the numbers that it shows."""
    from reproduction.figures.style import CURVES, new_figure

    names = list(dict.fromkeys(numbers["distribution"]))
    length_unit = params.length_unit
    unit = f" ({length_unit})" if length_unit else ""
    figure, axes = new_figure(1, 1, width=6.4, height=3.6)
    panel = axes[0, 0]
    handles = []
    last = numbers.loc[numbers["kind"] == "random_walk", "step"].max()
    for which, curve in zip(names, CURVES, strict=False):
        part = numbers[numbers["distribution"] == which]
        radius = part["footpoint_radius"].iloc[0]
        limit = f"p within {radius:.2g} {length_unit}".strip()
        walks = part[part["kind"] == "random_walk"].groupby("step")["distance"]
        drawn = part.loc[part["kind"] == "default", "distance"].quantile([0.1, 0.5, 0.9])
        name = f"{part['manifold'].iloc[0]}, {limit}" if which == "reduced" else limit
        if len(walks):
            panel.fill_between(
                walks.median().index,
                walks.quantile(0.1),
                walks.quantile(0.9),
                color=curve.colour,
                alpha=0.2,
                linewidth=0,
            )
            handles += panel.plot(
                walks.median(), color=curve.colour, linestyle=curve.line, label=f"walk, {name}"
            )
        # Independent draws are shown to the right of the last step.
        place = 1.6 * last * 1.5 ** names.index(which)
        low, middle, high = drawn
        handles.append(
            panel.errorbar(
                place,
                middle,
                yerr=[[middle - low], [high - middle]],
                color=curve.colour,
                marker=curve.marker,
                capsize=3,
                label=f"independent draws, {name}",
            )
        )
        if which != "reduced":
            panel.axhline(middle, color=curve.colour, linewidth=0.6, zorder=0)
    residual = numbers["root_mean_squared_residual"].iloc[0]
    handles.append(
        panel.axhline(
            residual,
            color="0.3",
            linestyle=":",
            linewidth=1.2,
            label="root mean squared residual of the fit",
        )
    )
    panel.set_xscale("log")
    panel.set_ylim(bottom=0.0)
    panel.set_xlabel("steps from the estimate (random walk); at the right: independent draws")
    panel.set_ylabel(f"distance from the estimate{unit}")
    figure.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=7)
    return figure, numbers
