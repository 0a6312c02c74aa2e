"""Predicted shapes at chosen covariate values, private over non-private."""

from jobs import job

with job(snakemake):
    import numpy as np
    import pandas as pd
    from pictures import save_figure_and_table

    from geodp.plotting import RELEASED, WITHOUT_PRIVACY, new_figure

    numbers = pd.read_csv(snakemake.input.table)
    values = list(dict.fromkeys(numbers["covariate"]))
    figure, axes = new_figure(
        1, len(values), width=1.5 * len(values) + 0.6, height=1.8, sharex=True, sharey=True
    )

    # Many landmarks make an outline by themselves.
    marked = numbers["landmark"].max() <= 20

    def closed(shape):
        ordered = shape.sort_values("landmark")[["x", "y"]].to_numpy()
        return np.vstack([ordered, ordered[:1]]).T

    for panel, value in zip(axes[0], values, strict=True):
        part = numbers[numbers["covariate"] == value]
        for draw, shape in part[part["kind"] == "as published"].groupby("draw"):
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
                label="one draw as published" if first else ("other draws" if draw == 2 else None),
            )
        panel.plot(
            *closed(part[part["kind"] == "without privacy"]),
            color=WITHOUT_PRIVACY.colour,
            marker=WITHOUT_PRIVACY.marker if marked else "",
            markersize=3.5,
            zorder=4,
            label="without privacy",
        )
        panel.set_title(f"{snakemake.params.covariate_label}: {value:g}")
        panel.set_aspect("equal")
        panel.set_xticks([])
        panel.set_yticks([])
        for side in panel.spines.values():
            side.set_visible(False)
    axes[0, 0].set_ylabel("unit centroid size")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    save_figure_and_table(snakemake, figure, numbers)
