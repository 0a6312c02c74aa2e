"""Private mean shapes over the mean: a row a data set, a panel a mechanism."""

import numpy as np

from reproduction.figures import style


def draw(errors, params, shown=6):
    """Draw the figure, with so many draws; return it and the numbers that it shows."""
    names = {
        "kng": "K-norm gradient,\nas published",
        "laplace": "Laplace,\nas published",
        "landmarkwise_laplace": "Laplace for\neach landmark",
        "private_steps": "two private steps,\na wider ball",
    }
    thin = {"color": style.CURVES[1].colour, "linewidth": 0.7, "alpha": 0.7, "linestyle": "--"}
    bold = {"color": style.CURVES[0].colour, "linewidth": 1.6}
    numbers = errors[errors["draw"] < shown]
    spaces = list(numbers.groupby("space", sort=False))
    size = {"width": 1.8 * len(names), "height": 1.0 + 1.2 * len(spaces)}
    # Panels of a row have one scale and one height, and so have titles above them.
    figure, axes = style.new_figure(len(spaces), len(names), **size, sharex="row", sharey="row")
    for row, (space, shapes) in zip(axes, spaces, strict=True):
        [mean] = _outlines(shapes, "mean")
        for panel, name in zip(row, names, strict=True):
            for outline in _outlines(shapes, name):
                panel.plot(*outline, **thin)
            panel.plot(*mean, **bold)
            panel.set_aspect("equal")
            panel.axis("off")
        beside = {"rotation": 90, "transform": row[0].transAxes, "ha": "right", "va": "center"}
        row[0].text(-0.05, 0.5, f"{space}, n = {shapes['n'].iloc[0]}", **beside)
        # A tenth of the centroid size of every shape.
        low = float(np.min(mean[1])) - 0.12
        row[0].plot([-0.05, 0.05], [low, low], color="0.2", linewidth=2.0)
        row[0].text(0.0, low - 0.02, "0.1 of the centroid size", fontsize=6, ha="center", va="top")
    for panel, title in zip(axes[0], names.values(), strict=True):
        panel.set_title(title, fontsize=8)
    handles = [style.line(label="mean shape", **bold)]
    handles.append(style.line(label="private mean shapes", **thin))
    figure.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=7)
    return figure, numbers


def _outlines(shapes, mechanism):
    """Closed outlines (draws, 2, landmarks + 1) of a mechanism."""
    some = shapes[shapes["mechanism"] == mechanism].dropna(axis="columns", how="all")
    places = np.stack([some.filter(regex=rf"^{axis}\d+$") for axis in "xy"], axis=1)
    return np.concatenate([places, places[..., :1]], axis=-1)


def notes(numbers):
    """Lines below the figure."""
    yield (
        "Balls are read off the data, in the last column with a wider radius and another centre: "
        "no budget holds."
    )
    for space in dict.fromkeys(numbers.loc[numbers["simulated"], "space"]):
        yield f"The {space} are simulated."
