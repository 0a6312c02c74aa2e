"""Style of figures of releases: colours, sizes, titles and legends."""

from typing import Any

import numpy as np

LINE, BAND = "#14315f", "#a9c4e2"
NOBODY = "too few subjects here"
CENTRE: dict[str, Any] = {"color": "0.5", "linewidth": 0.9, "linestyle": "--", "zorder": 2}
POINT: dict[str, Any] = {"linestyle": "none", "marker": "x"}

STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    # A covariate may be called anything, and signs of a formula in it are no formula.
    "text.parse_math": False,
    # Text stays text, and the same figure gives the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "geodp",
}


def new_figure(width, height):
    # As long to import as the rest of a release.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def legend(figure, level, centre, what="public centre, chosen before"):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Line2D([], [], color=LINE, label="released prediction")]
    if centre is not None:
        handles.append(Line2D([], [], **centre, label=what))
    if level is not None:
        handles.insert(1, Patch(facecolor=BAND, label=f"{100 * level:g} % band"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=8)


def titled(panels, titles, predictions):
    """Titles with the covariates; predictions are NaN where there are no subjects."""
    for panel, parts, prediction in zip(panels, titles, predictions, strict=True):
        panel.set_title("\n".join(parts if np.all(np.isfinite(prediction)) else [*parts, NOBODY]))
