"""Predicted shapes at chosen covariate values, private over non-private."""

TABLE = "predictions"
OF_MECHANISM = True


def draw(numbers, params):
    """Draw the figure; return it and the numbers that it shows."""
    import numpy as np

    from reproduction.figures.style import RELEASED, WITHOUT_PRIVACY, mechanism_label, new_figure

    values = list(dict.fromkeys(numbers["covariate"]))
    one = f"one draw, {mechanism_label(params.mechanism)}"
    samplers = list(dict.fromkeys(numbers["sampler"].dropna()))
    figure, axes = new_figure(
        len(samplers),
        len(values),
        width=1.5 * len(values) + 0.6,
        height=0.6 + 1.2 * len(samplers),
        sharex=True,
        sharey=True,
    )
    # Many landmarks make an outline by themselves.
    marked = numbers["landmark"].max() <= 20

    def closed(shape):
        ordered = shape.sort_values("landmark")[["x", "y"]].to_numpy()
        return np.vstack([ordered, ordered[:1]]).T

    for row, column in np.ndindex(axes.shape):
        panel, value = axes[row, column], values[column]
        part = numbers[numbers["covariate"] == value]
        for draw, shape in part[part["sampler"] == samplers[row]].groupby("draw"):
            first = draw == 1
            panel.plot(
                *closed(shape),
                color=RELEASED.colour,
                linestyle="--" if first and marked else "-",
                linewidth=1.5 if first else 0.6,
                alpha=1.0 if first else 0.35,
                marker=RELEASED.marker if first and marked else "",
                markersize=3.5,
                zorder=3 if first else 1,
                label=one if first else ("other draws" if draw == 2 else None),
            )
        panel.plot(
            *closed(part[part["kind"] == "without privacy"]),
            color=WITHOUT_PRIVACY.colour,
            marker=WITHOUT_PRIVACY.marker if marked else "",
            markersize=3.5,
            zorder=4,
            label="without privacy",
        )
        if row == 0:
            panel.set_title(f"{params.covariate_label}: {value:g}")
        panel.set_aspect("equal")
        panel.set_xticks([])
        panel.set_yticks([])
        for side in panel.spines.values():
            side.set_visible(False)
    names = {"default": "drawn from\nthe density", "random_walk": "short walk\nfrom the fit"}
    for row, sampler in enumerate(samplers):
        axes[row, 0].set_ylabel(names[sampler] if len(samplers) > 1 else "unit centroid size")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    return figure, numbers
