"""Losses that draws prove, and those computed, over the stated budget: a panel a space."""

import numpy as np

from geodp.means.walks import FIRST_ORDER
from reproduction.figures import style
from reproduction.figures.mean_panels import HOLLOW, NAMES, panels, space_title

# End of the axis, in stated budgets.
FARTHEST = 2.2


def draw(testers, params):
    """Draw the figure; return it and the numbers that it shows."""
    best = testers.sort_values("bound").groupby(["space", "mechanism"], sort=False).tail(1)
    most = best.groupby("space").size().max()
    figure, parts = panels(testers, 4.1, 0.9 + 0.24 * most)
    for panel, space, rows in parts:
        names = list(dict.fromkeys(rows["mechanism"]))[::-1]
        rows = best[best["space"] == space].set_index("mechanism").loc[names]
        places, known = np.arange(len(rows)), rows["known_over_stated"].to_numpy()
        panel.axvline(1.0, color="0.3", linewidth=0.8)
        look = {"height": 0.55, "color": style.CURVES[3].colour}
        proved = "proved by draws (99 % confidence)"
        panel.barh(places, rows["bound_over_stated"], **look, label=proved)
        near = (rows["loss_of"] == FIRST_ORDER).to_numpy()
        for which, label, look in (
            (~near, "computed or known", {}),
            (near, "computed, first order near the mean", HOLLOW),
        ):
            look = {"color": style.CURVES[1].colour, "markersize": 4, "label": label, **look}
            panel.plot(known[which], places[which], "D", **look)
        panel.set_xlim(0.0, FARTHEST)
        for place, bound, loss in zip(places, rows["bound_over_stated"], known, strict=True):
            words = [f"{bound:.2g} by draws"] if bound > FARTHEST else []
            words += ["computed: infinite"] if np.isinf(loss) else []
            # Over the line of the budget, in the colour of a bar that is as long as the axis.
            behind = style.CURVES[3].colour if bound > FARTHEST else "white"
            patch = {"facecolor": behind, "edgecolor": "none", "pad": 0.5} if words else None
            look = {"ha": "right", "va": "center", "fontsize": 7, "bbox": patch}
            panel.text(FARTHEST, place, ", ".join(words) + " ", **look)
        panel.set_yticks(places, [NAMES.get(name, f"walk, {name}") for name in names], fontsize=7)
        panel.set_title(f"{space_title(space)}, n = {rows['n'].iloc[0]}")
        panel.set_xlabel("privacy loss, over the stated budget")
    style.share_legend(figure, parts[0][0], 3)
    return figure, testers


def notes(testers):
    """Lines below the figure."""
    draws = testers.groupby("mechanism")["draws"].first()
    yield (
        f"Of draws from each of two neighbouring data sets: {draws.max():,}, and {draws.min():,} "
        f"of walks, after {testers['steps'].max()} steps. A bar is a lower bound of the loss."
    )
