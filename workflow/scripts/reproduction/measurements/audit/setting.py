"""The sphere, its data and its public inputs, which the parts of the audit share."""

import numpy as np

from geodp.audit.published import SPHERE, SphereSetting
from geodp.audit.search import RecordDomain
from geodp.data.simulate import simulate_geodesic_data
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream

CENTRE = np.array([0.0, 0.0, 1.0])

UNIT = (0.0, 1.0)


def sphere_data(settings, seed, number):
    """Covariates (n,) and points (n, 3) in the public ball, about a geodesic through its middle."""
    rng = random_stream(seed, "audit", f"n{number}", "data")
    along = 0.5 * settings["geodesic_length"] * SPHERE.frame(CENTRE)[0]
    first, last = SPHERE.exp(CENTRE, -along), SPHERE.exp(CENTRE, along)
    made = simulate_geodesic_data(
        rng,
        GeodesicModel(SPHERE),
        1,
        number,
        settings["noise_variance"],
        first_point=first,
        last_point=last,
    )
    return made.covariates[0, :, 0], record_domain(settings).pull_inside(made.points[0])


def record_domain(settings):
    return RecordDomain(SPHERE, CENTRE, settings["ball_radius"], UNIT)


def sphere_setting(settings):
    return SphereSetting(CENTRE, settings["ball_radius"], settings["tau"])


def found_in_draws(found, stated, **described):
    """A row of the table of bounds from draws alone.

    Parameters
    ----------
    found : Attack
    stated : float
        Budget.
    described : dict
        Other columns.
    """
    return {
        **described,
        "stated": stated,
        "lower_bound": found.bound,
        "caught": bool(found.bound > stated),
        "estimate": found.estimate,
        "share": found.shares[0],
        "other_share": found.shares[1],
        "event": found.statistic,
    }
