"""Distance of footpoints from the estimate: along random walks, and of independent draws."""

from reproduction.figures import style


def draw(numbers, params):
    quantiles = ["distance_low", "distance_median", "distance_high"]
    names = list(dict.fromkeys(numbers["distribution"]))
    length_unit = params.length_unit
    unit = f" ({length_unit})" if length_unit else ""
    figure, axes = style.new_figure(
        1, 2, width=6.4, height=3.6, sharey=True, gridspec_kw={"width_ratios": [4, 1]}
    )
    walked, drawn = axes[0]
    handles = []
    for place, (which, curve) in enumerate(zip(names, style.CURVES, strict=False)):
        part = numbers[numbers["distribution"] == which]
        handles.append(style.line(label=_in_words(which, part, length_unit), **curve.keywords))
        walks = part[part["kind"] == "random_walk"].sort_values("step")
        step, low, middle, high = walks[["step", *quantiles]].to_numpy().T
        style.plot_band(walked, step, middle, low, high, curve, marker="")
        low, middle, high = part.loc[part["kind"] == "default", quantiles].iloc[0]
        ends = [[middle - low], [high - middle]]
        drawn.errorbar(place, middle, yerr=ends, color=curve.colour, marker=curve.marker, capsize=3)
    dotted = {"color": "0.3", "linestyle": ":", "linewidth": 1.2}
    for panel in (walked, drawn):
        panel.axhline(numbers["root_mean_squared_residual"].iloc[0], **dotted)
    handles.append(style.line(**dotted, label="a record's distance from the fit"))
    walked.set_xscale("log")
    walked.xaxis.set_major_formatter("{x:,.0f}")
    walked.set(ylim=(0.0, None), xlabel="steps of a random walk from the estimate")
    walked.set_ylabel(f"distance from the estimate{unit}\nmedian, 10 to 90 %")
    drawn.set(xlim=(-0.7, len(names) - 0.3), xticks=[], xlabel="independent\ndraws")
    budget = numbers["budget_footpoint"].iloc[0]
    number = numbers["n"].iloc[0]
    walked.set_title(f"footpoint, {style.SYMBOLS['footpoint']} = {budget:g}, n = {number}")
    style.legend_above(figure, handles)
    return figure, numbers


def _in_words(which, part, unit):
    if which == "reduced":
        # After the comma the name of the space says to what landmarks are reduced.
        return part["manifold"].iloc[0].partition(", ")[2]
    radius = part["footpoint_radius"].iloc[0]
    if radius == float("inf"):
        return "footpoints anywhere"
    return f"within {radius:.2g} {unit}".strip() + " of the fit"
