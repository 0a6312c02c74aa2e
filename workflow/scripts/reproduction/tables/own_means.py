"""Mean, median and private means of a table of one's own.

What is written shows the data, too: it is no release.
"""

import numpy as np
import pandas as pd

import geodp.mechanisms.means  # noqa: F401  (what is loaded by name is code of this table, too)
from geodp.data.records import FEWEST_RECORDS
from geodp.errors import DataError
from geodp.mechanisms.base import FALSE, PublicSettings
from geodp.mechanisms.registry import mechanism_class, named_in
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Distance, SquaredDistance
from geodp.randomness import random_stream
from geodp.settings.sections import public_centre
from reproduction.manifolds import study_manifold
from reproduction.tables.subject_means import coordinates, place, read_means

# Others with a proved budget are better.
LEFT_OUT = ("laplace_as_published", "laplace_general")


def tabulate(job):
    """A row an estimate, of kind ``estimate``, and then one each of its draws, of kind ``draw``.

    Mechanisms that the space or the data do not allow have a reason in place of numbers, and those
    whose budget is known not to hold are left out.
    """
    chosen, budget = job.params.settings, job.params.settings["budget"]
    manifold, key = study_manifold(chosen["manifold"]), place(job)
    points = read_means(job, manifold)[None]
    number = points.shape[1]
    if number < FEWEST_RECORDS:
        raise DataError(
            f"{job.input.table}: a private mean needs at least {FEWEST_RECORDS} subjects and there "
            f"are {number}: name another column (configuration key {key}.data.subject)"
        )
    model, at_median = (
        GeodesicModel(manifold, 0, loss) for loss in (SquaredDistance(), Distance())
    )
    fit = model.fit(None, points)
    centre = public_centre(manifold, chosen["centre"], f"{key}.centre")
    public = PublicSettings(data_radius=chosen["radius"], centre=centre)

    def rows(kind, name, places=None, **columns):
        """One row, or one for each of some points."""
        columns |= {} if places is None else coordinates(manifold, fit.footpoint, places)
        common = {"manifold": manifold.name, "n": number, "kind": kind, "estimate": name}
        return pd.DataFrame(common | columns, range(1 if places is None else len(places)))

    estimates, draws = [rows("estimate", "mean", fit.footpoint)], []
    estimates.append(rows("estimate", "median", at_median.fit(None, points).footpoint))
    for name in named_in("means"):
        kind = mechanism_class(name)
        if name in LEFT_OUT or kind.status(manifold) == FALSE:
            continue
        rng = random_stream(job.params.seed, "means", "own", name)
        try:
            mechanism = kind.prepare(model, None, points, public, fit)
            [drawn] = mechanism.many_means(rng, budget, chosen["draws"])
            if not np.all(np.isfinite(drawn)):
                raise DataError(
                    "draws are no finite numbers: take a larger budget or more subjects"
                )
        except DataError as problem:
            estimates.append(rows("estimate", name, budget=budget, refused=str(problem)))
            continue
        told = {"budget": budget, "guarantee": kind.status(manifold)}
        away = manifold.dist(fit.footpoint, drawn)
        found = {f"q{percent}": np.quantile(away, percent / 100) for percent in (10, 50, 90)}
        estimates.append(rows("estimate", name, distance=np.mean(away), **found, **told))
        draws.append(rows("draw", name, drawn, distance=away, draw=np.arange(len(away)), **told))
    return pd.concat([*estimates, *draws], ignore_index=True)
