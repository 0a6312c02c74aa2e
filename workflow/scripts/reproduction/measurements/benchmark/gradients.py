"""Gradients per second, beside how fast memory gives the same arrays."""

import numpy as np
import pandas as pd

from geodp.manifolds.registry import make_manifold
from geodp.models.blocks import FOOTPOINT
from geodp.models.geodesic import GeodesicModel
from reproduction.measurements.benchmark.spaces import (
    COLUMNS,
    RECORDS_OF_LONG_CHAINS,
    SPACES,
    copies,
    make_data,
    row,
    shortest_time,
)


def measure(settings, spaces, rats):
    """Table of gradients per second on the named spaces."""
    rows = [line for name in spaces for line in measure_space(SPACES[name], settings, rats)]
    return (pd.DataFrame(rows, columns=COLUMNS),)


def measure_space(space, settings, rats):
    """Rows: gradients a second, and how fast the same arrays can be read from memory."""
    manifold = make_manifold(*space.manifold)
    model = GeodesicModel(manifold)
    chosen, seconds = settings["gradients"], settings["seconds"]["gradient"]
    # A covariate, and a point whose numbers may have two parts.
    record = 8 + int(np.prod(manifold.point_shape)) * np.dtype(manifold.dtype).itemsize
    number = int(1e6 * chosen["megabytes"] / record)
    covariates, points = make_data(space, number, settings["seed"], rats)
    some = np.linspace(0, number - 1, RECORDS_OF_LONG_CHAINS).astype(int)
    found = model.fit(covariates[:, some], points[:, some])
    arrays = [covariates.reshape(-1), points.reshape(-1).view(float)]
    # A product of an array with itself reads it once and writes nothing.
    reading = shortest_time(lambda: [np.dot(array, array) for array in arrays], seconds)
    rate = (covariates.nbytes + points.nbytes) / reading / 1e9
    rows = [row("memory bandwidth", space.name, number, "reading alone", rate, "GB/s")]
    for count in chosen["chains"]:
        states = copies(model, found, count)
        spent = shortest_time(
            lambda states=states: model.energy_gradient(states, covariates, points, [FOOTPOINT]),
            seconds,
            fewest=1,
        )
        method = f"{count} at a time"
        share = count * reading / spent
        note = "data counted once a gradient, over what reading alone reaches"
        rows += [
            row("gradients", space.name, number, method, count / spent, "1/s"),
            row("gradients against bandwidth", space.name, number, method, share, "1", note=note),
        ]
    return rows
