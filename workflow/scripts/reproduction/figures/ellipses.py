"""Predicted 2 x 2 matrices as ellipses, private beside non-private."""

TABLE = "predictions"
OF_MECHANISM = True


def draw(numbers, params):
    """Draw the figure; return it and the numbers that it shows."""
    import numpy as np

    from reproduction.figures.style import RELEASED, WITHOUT_PRIVACY, mechanism_label, new_figure

    values = list(dict.fromkeys(numbers["covariate"]))
    one = f"one draw, {mechanism_label(params.mechanism)}"
    entries = [f"coordinate_{k}" for k in range(1, 5)]
    turns = np.linspace(0.0, 2.0 * np.pi, 121)
    circle = np.stack([np.cos(turns), np.sin(turns)])

    def outline(row):
        """The ellipse whose half axes are the roots of the eigenvalues."""
        values, vectors = np.linalg.eigh(row[entries].to_numpy(dtype=float).reshape(2, 2))
        return (vectors * np.sqrt(values)) @ circle

    figure, axes = new_figure(
        1, len(values), width=1.35 * len(values) + 0.6, height=2.2, sharex=True, sharey=True
    )
    for panel, value in zip(axes[0], values, strict=True):
        part = numbers[numbers["covariate"] == value]
        for _, row in part[part["kind"] == "private"].iterrows():
            first = row["draw"] == 1
            panel.plot(
                *outline(row),
                color=RELEASED.colour,
                linestyle="--" if first else "-",
                # Above the other, which at these budgets they all but cover.
                linewidth=1.3 if first else 0.6,
                alpha=1.0 if first else 0.5,
                zorder=5 if first else 4,
                label=one if first else ("other draws" if row["draw"] == 2 else None),
            )
        panel.plot(
            *outline(part[part["kind"] == "without privacy"].iloc[0]),
            color=WITHOUT_PRIVACY.colour,
            linewidth=2.6,
            alpha=0.75,
            zorder=3,
            label="without privacy",
        )
        panel.set_title(f"{params.covariate_label} = {value:g}")
        panel.set_aspect("equal")
    axes[0, 0].set_ylabel("second axis")
    axes[0, len(values) // 2].set_xlabel("first axis (half axes: roots of the eigenvalues)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    return figure, numbers
