"""Effective sample size per recorded state of every cell, by sampler."""

from reproduction.figures import style


def draw(numbers, params):
    states = numbers["trace_chains"] * numbers["trace_states"]
    # Independent draws have no chains: each is one effective draw.
    numbers["effective_draws_per_state"] = (numbers["ess_bulk"] / states).where(states > 0, 1.0)
    walk, exact = numbers["sampler"] == "random_walk", numbers["exact_share"] == 1.0
    kinds = {
        "independent, exact draws": (exact, style.CURVES[3]),
        "chains of this workflow": (~walk & ~exact, style.CURVES[0]),
        "the papers' random walk": (walk, style.CURVES[1]),
    }
    parameters = list(dict.fromkeys(numbers["parameter"]))
    figure, axes = style.new_figure(
        1, len(parameters), width=3.3 * len(parameters), height=3.3, sharey=True
    )
    for panel, parameter in zip(axes[0], parameters, strict=True):
        divided = f"budget_{parameter}"
        budget = divided if divided in numbers else "budget"
        word = parameter.replace("_", " ")
        for chosen, curve in kinds.values():
            part = numbers[chosen & (numbers["parameter"] == parameter)]
            for passed, face in ((True, curve.colour), (False, "white")):
                some = part[part["passed"] == passed]
                marks = curve.keywords | {"linestyle": "", "markerfacecolor": face}
                panel.plot(some[budget], some["effective_draws_per_state"], **marks)
        panel.set(xscale="log", yscale="log")
        # Budgets may lie within a decade.
        style.label_few_steps(panel.xaxis)
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_xlabel(f"{'total' if word == 'all' else word} budget {style.SYMBOLS[parameter]}")
        panel.set_title("releases" if word == "all" else word)
    axes[0, 0].set_ylabel("effective sample size\nper state of a chain")
    handles = [
        style.line(**(curve.keywords | {"linestyle": ""}), label=label)
        for label, (chosen, curve) in kinds.items()
        if chosen.any()
    ]
    if not numbers["passed"].all():
        handles.append(style.line(**style.HOLLOW, label="hollow: too few, or not mixed"))
    style.legend_above(figure, handles)
    return figure, numbers
