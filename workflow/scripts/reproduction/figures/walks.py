"""Mean distance of draws over the scale: walks and exact draws, with two standard errors."""

from geodp.means.walks import FIRST_ORDER
from reproduction.figures import style
from reproduction.figures.mean_panels import HOLLOW, panels


def draw(walks, params):
    """Draw the figure; return it and the numbers that it shows."""
    figure, parts = panels(walks, 3.4, 3.2)
    for panel, _, of_space in parts:
        named = of_space.groupby("sampler", sort=False)
        for (name, rows), curve in zip(named, style.CURVES, strict=True):
            # Hollow marks where there is no distribution that walks come to.
            hollow = HOLLOW if rows["loss_of"].iloc[0] == FIRST_ORDER else {}
            rows = rows.rename(columns={"mean_over_scale": "mean"})
            style.plot_errors(panel, rows, "scale", curve, label=name, **hollow)
        panel.set_xscale("log")
        style.label_few_steps(panel.xaxis)
        panel.set(xlabel="scale of the distribution\n(unit of length)", ylim=(0.0, None))
        panel.legend(fontsize=7)
    parts[0][0].set_ylabel("mean distance of draws,\nover the scale")
    return figure, walks


def notes(walks):
    """Lines below the figure."""
    steps = walks.groupby("space", sort=False)["steps"].max()
    said = ", ".join(f"{number:,} on {space}" for space, number in steps.items())
    yield f"Bands: two standard errors. Steps of a walk before its first draw: {said}."
    for name in dict.fromkeys(walks.loc[walks["loss_of"] == FIRST_ORDER, "sampler"]):
        yield f"Hollow: {name} have no limiting distribution, and go on outwards."
