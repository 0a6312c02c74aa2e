"""Figure of the data of the figure `notebook`: records on the sphere, and the fit."""

from reproduction.figures.sphere_view import draw_scene
from reproduction.figures.style import new_figure


def draw(records, params):
    points, fitted = (
        records.loc[records["kind"] == kind].filter(regex="^coordinate_").to_numpy()
        for kind in ("observed", "without privacy")
    )
    figure, [panels] = new_figure(1, 2, width=6.4, height=3.4)
    draw_scene(panels, points, fitted)
    return figure, records
