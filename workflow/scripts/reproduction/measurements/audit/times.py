"""What processor time tells of a record of a release, and of its noise."""

import pandas as pd

from geodp.manifolds.registry import make_manifold
from geodp_release.timing import release_times, sampler_times


def measure(settings):
    """Tables of the times of draws and of releases; see `geodp_release.timing`.

    Parameters
    ----------
    settings : dict
        Of config/audit.yaml: ``seed`` and ``times``.

    Returns
    -------
    list of DataFrame
    """
    chosen = settings["times"]
    releases = [
        row
        for space in chosen["spaces"]
        for row in release_times(
            make_manifold(**space), chosen["n"], chosen["repeats"], settings["seed"]
        )
    ]
    return [pd.DataFrame(sampler_times(chosen["draws"])), pd.DataFrame(releases)]
