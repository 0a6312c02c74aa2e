"""Mistakes that are planted in releases, and how many pairs of neighbours it takes to see each."""

import pandas as pd

from reproduction.measurements.audit.plants import PLANTS
from reproduction.measurements.audit.replay import PLANTED, TURNS, first_seen


def measure(settings):
    """A row for each mistake; see `reproduction.measurements.audit.replay.first_seen`."""
    rows = []
    for name in PLANTS:
        pairs, finding = first_seen(name, settings["seed"])
        rows.append(
            {
                "mistake": name,
                "is_seen": pairs is not None,
                "pairs": pairs,
                "most_pairs": TURNS * PLANTED,
                "finding": finding,
            }
        )
    return [pd.DataFrame(rows)]
