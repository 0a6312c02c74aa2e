"""Figure of the data of the figure `notebook`: records on the sphere, and the fit."""

import numpy as np

from reproduction.figures.sphere_view import SphereView
from reproduction.figures.style import letter_panels, new_figure


def draw(records, params):
    points, fitted = (
        records.loc[records["kind"] == kind].filter(regex="^coordinate_").to_numpy()
        for kind in ("observed", "without privacy")
    )
    figure, [panels] = new_figure(1, 2, width=6.4, height=3.4)
    view = SphereView.facing(fitted[len(fitted) // 2], along=fitted[-1] - fitted[0])
    for panel in panels:
        view.draw_scene(panel, points, fitted)
    view.zoom(panels[1], np.concatenate([points, fitted]), panels[0])
    letter_panels(panels)
    return figure, records
