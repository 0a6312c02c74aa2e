"""The fit without privacy: residuals, and records and curve in coordinates or as shapes."""

import numpy as np

from reproduction.figures import style


def notes(numbers):
    """What the table says of the whole fit."""
    first = numbers.iloc[0]
    yield (
        f"n = {first['n']}, {first['manifold']}. R^2 = {first['r_squared']:.3g}; root mean squared "
        f"residual {first['root_mean_squared_residual']:.3g}."
    )


def draw(numbers, params, in_a_row=4, most=7):
    """Draw the figure, of coordinates so many at most; return it and the numbers that it shows."""
    # Of latitudes and longitudes only vectors have other coordinates.
    records = numbers[numbers["kind"] == "record"].dropna(axis=1, how="all")
    names = [name for name in records if name.startswith("covariate_")]
    coordinates = [name for name in records if name.startswith("coordinate_")]
    are_shapes = records["manifold"].iloc[0].startswith("planar shapes")
    unit = f" ({params.length_unit})" if params.length_unit else ""
    shown = [*([] if are_shapes else coordinates[:most]), "residual"]
    number = len(shown) + are_shapes
    rows, columns = -(-number // in_a_row), min(number, in_a_row)
    rows *= len(names)
    size = {"width": 2.4 * columns, "height": 2.1 * rows + 0.5}
    figure, axes = style.new_figure(rows, columns, **size, lettered=False)
    dots = {"color": "0.6", "marker": ".", "linestyle": "", "markersize": 4, "label": "records"}
    line = {"color": style.WITHOUT_PRIVACY.colour, "linewidth": 2.0, "label": "fit"}
    for name, panels in zip(names, np.reshape(axes, (len(names), -1)), strict=True):
        label = name.removeprefix("covariate_")
        curve = numbers[numbers["kind"] == f"curve of {label}"]
        for panel, column in zip(panels, shown, strict=False):
            panel.plot(records[name], records[column], **dots)
            title = f"length of residual{unit}"
            if column != "residual":
                panel.plot(curve[name], curve[column], **line)
                title = column.removeprefix("coordinate_")
            panel.set(title=title, xlabel=label)
        for panel in panels[number:]:
            panel.set_visible(False)
        if are_shapes:
            panel, x, y = panels[1], coordinates[0::2], coordinates[1::2]
            panel.plot(np.ravel(records[x]), np.ravel(records[y]), **dots | {"markersize": 2})
            for place, look in zip((0, len(curve) // 2, -1), style.CURVES, strict=False):
                shape = curve.iloc[place]
                outline = [np.append(shape[each], shape[each[0]]) for each in (x, y)]
                words = f"fit at {label} {shape[name]:.3g}"
                panel.plot(*outline, color=look.colour, linestyle=look.line, label=words)
            panel.set_aspect("equal")
            panel.axis("off")
            panel.legend(fontsize=7, loc="upper left", bbox_to_anchor=(0.0, 0.0))
    if not are_shapes:
        style.share_legend(figure, axes[0, 0], 2)
    return figure, numbers
