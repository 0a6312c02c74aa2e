"""Figure 4 of the first version of Kulkarni and Soto: lines of four features of red wine."""

from reproduction.figures.style import CURVES, letter_panels, new_figure, plot_band, share_legend

UNITS = {"alcohol": "% by volume", "density": "g/cm\u00b3"}
UNITS |= dict.fromkeys(("fixed acidity", "residual sugar"), "g/dm\u00b3")

LABELS = {
    "least_squares": "least squares",
    "geodesic_as_published": "private, covariate from 0 to 1",
    "geodesic_as_published_standardised": "private, covariate standardised",
}


def draw(numbers, params):
    """Records and lines, a panel a response."""
    responses = list(dict.fromkeys(numbers["response"]))
    figure, axes = new_figure(2, -(-len(responses) // 2), width=7.2, height=5.6)
    for panel, response in zip(axes.ravel(), responses, strict=False):
        part = numbers[numbers["response"] == response]
        record = part[part["method"] == "record"]
        panel.plot(record["covariate"], record["line"], ".", color="0.45", label="record")
        for (name, label), curve in zip(LABELS.items(), CURVES, strict=False):
            line = part.loc[part["method"] == name, ["covariate", "line", "low", "high"]]
            plot_band(panel, *line.to_numpy().T, curve, marker="", label=label)
        panel.set(xlabel=_with_unit(part["name"].iloc[0]), ylabel=_with_unit(response))
    share_legend(figure, axes[0, 0], 4)
    letter_panels(axes)
    return figure, numbers


def _with_unit(name):
    return f"{name} ({UNITS[name]})" if name in UNITS else name


def notes(numbers):
    """A line below the figure."""
    number = (numbers["method"] == "record").sum() // numbers["response"].nunique()
    return [
        f"{number} records. Private lines are of the mechanism as published: the first of "
        f"{numbers['draws'].max():,} draws at a budget of {numbers['budget'].iloc[0]:g}, which "
        "does not hold; bands: middle 80 % of all draws at each value. The paper states no scale "
        "of the covariate. Of the tools that it draws besides, errors alone are recorded."
    ]
