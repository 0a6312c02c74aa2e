"""Effective sample size per traced state of every cell, for the samplers that drew it."""

TABLE = "diagnostics"
OF_MECHANISM = True


def draw(numbers, params):
    """Draw the figure; return it and the numbers that it shows."""
    from reproduction.figures.style import CURVES, SYMBOLS, new_figure

    states = numbers["trace_chains"] * numbers["trace_states"]
    # Independent draws have no chains: each is one effective draw.
    numbers["effective_draws_per_state"] = (numbers["ess_bulk"] / states).where(states > 0, 1.0)
    styles = {"default": CURVES[0], "random_walk": CURVES[1]}
    names = {"default": "default", "random_walk": "random walk"}
    parameters = list(dict.fromkeys(numbers["parameter"]))
    figure, axes = new_figure(
        1, len(parameters), width=3.3 * len(parameters), height=3.0, sharey=True
    )
    for panel, parameter in zip(axes[0], parameters, strict=True):
        divided = f"budget_{parameter}"
        budget = divided if divided in numbers else "budget"
        word = parameter.replace("_", " ")
        for sampler, style in styles.items():
            part = numbers[(numbers["parameter"] == parameter) & (numbers["sampler"] == sampler)]
            for passed in (True, False):
                some = part[part["passed"] == passed]
                panel.plot(
                    some[budget],
                    some["effective_draws_per_state"],
                    linestyle="",
                    marker=style.marker,
                    color=style.colour,
                    markerfacecolor=style.colour if passed else "white",
                    label=names[sampler] if passed else f"{names[sampler]}, not converged",
                )
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel(f"{word} budget {SYMBOLS[parameter]}")
        panel.set_title(word)
    axes[0, 0].set_ylabel("effective sample size per traced state")
    handles, labels = axes[0, -1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8)
    return figure, numbers
