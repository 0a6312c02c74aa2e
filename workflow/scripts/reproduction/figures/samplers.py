"""Effective sample size per recorded state of every cell, by what drew it."""

TABLE = "diagnostics"
OF_MECHANISM = True


def draw(numbers, params):
    """Draw the figure; return it and the numbers that it shows."""
    from matplotlib.lines import Line2D

    from reproduction.figures.style import (
        CURVES,
        HOLLOW,
        SYMBOLS,
        label_few_steps,
        legend_above,
        letter_panels,
        new_figure,
    )

    states = numbers["trace_chains"] * numbers["trace_states"]
    # Independent draws have no chains: each is one effective draw.
    numbers["effective_draws_per_state"] = (numbers["ess_bulk"] / states).where(states > 0, 1.0)
    walk, exact = numbers["sampler"] == "random_walk", numbers["exact_share"] == 1.0
    kinds = {
        "independent, exact draws": (exact, CURVES[3]),
        "chains of this workflow": (~walk & ~exact, CURVES[0]),
        "the papers' random walk": (walk, CURVES[1]),
    }
    parameters = list(dict.fromkeys(numbers["parameter"]))
    figure, axes = new_figure(
        1, len(parameters), width=3.3 * len(parameters), height=3.3, sharey=True
    )
    for panel, parameter in zip(axes[0], parameters, strict=True):
        divided = f"budget_{parameter}"
        budget = divided if divided in numbers else "budget"
        word = parameter.replace("_", " ")
        for chosen, style in kinds.values():
            part = numbers[chosen & (numbers["parameter"] == parameter)]
            for passed, face in ((True, style.colour), (False, "white")):
                some = part[part["passed"] == passed]
                marks = style.keywords | {"linestyle": "", "markerfacecolor": face}
                panel.plot(some[budget], some["effective_draws_per_state"], **marks)
        panel.set(xscale="log", yscale="log")
        # Budgets may lie within a decade.
        label_few_steps(panel.xaxis)
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_xlabel(f"{'total' if word == 'all' else word} budget {SYMBOLS[parameter]}")
        panel.set_title("releases" if word == "all" else word)
    letter_panels(axes)
    axes[0, 0].set_ylabel("effective sample size\nper state of a chain")
    handles = [
        Line2D([], [], **(style.keywords | {"linestyle": ""}), label=label)
        for label, (chosen, style) in kinds.items()
        if chosen.any()
    ]
    if not numbers["passed"].all():
        handles.append(Line2D([], [], **HOLLOW, label="hollow: too few, or not mixed"))
    legend_above(figure, handles)
    return figure, numbers
