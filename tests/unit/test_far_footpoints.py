"""The search for modes of the shooting vector's density at footpoints far from the fit."""

from dataclasses import replace

import numpy as np
from quadrature import beside_the_fit, published_mechanism

from geodp import SPD, GeodesicModel, PublicSettings, Sphere, simulate_geodesic_data
from geodp.mechanisms import kng_as_published
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.randomness import random_stream

SPHERE = Sphere(2)


def test_a_search_for_other_modes_of_matrices_finds_none():
    """The library's own, made to look by a bound of the curvature that is not sharp."""
    manifold = SPD(2)
    data = simulate_geodesic_data(
        random_stream(1, "far footpoints", "matrices"),
        GeodesicModel(manifold),
        20,
        20,
        1e-4,
        random_point_radius=0.9,
        ambient_noise=False,
    )
    model = GeodesicModel(manifold)
    found = model.fit(data.covariates, data.points)
    settings = PublicSettings(data_radius=1.0)
    matrices = KNGAsPublished.prepare(model, data.covariates, data.points, settings, found)
    start = np.repeat(np.expand_dims(found.footpoint, 1), 4, axis=1)
    step = manifold.random_tangent(np.random.default_rng(8), start)
    lengths = np.array([0.0, 0.1, 0.3, 0.5]) / manifold.norm(start, step)
    footpoints = manifold.exp(start, manifold.expand(lengths) * step)
    assert matrices.shooting_vector_target(footpoints, 1.0)[0].other_modes is None
    manifold.curvature_bounds = (-0.5, 1e-9)
    target, _ = replace(matrices, model=GeodesicModel(manifold)).shooting_vector_target(
        footpoints, 1.0
    )
    assert np.all(np.isneginf(target.other_modes.log_mass))


def test_a_search_with_some_of_many_records_finds_the_modes_of_all(monkeypatch):
    """At a footpoint half a radian off, where there is another mode."""
    many = published_mechanism(SPHERE, (0.01,), 3000)
    place = beside_the_fit(many, 0.5)[:, None]
    positions = []
    for records in (300, 3000):
        monkeypatch.setattr(kng_as_published, "SEARCHED_RECORDS", records)
        target, _ = many.shooting_vector_target(place, 0.3)
        modes = target.other_modes
        positions.append(modes.position[:, :, :1])
        assert modes.log_mass[0, 0, 0] > -2.0
        # The densities are those of all records, and have no slope there.
        assert target.log_density(positions[-1])[0, 0, 0] > -0.01
    few = target.density.thinned(300)
    assert few.covariates.shape == (1, 300, 1)
    # The mode of some records is elsewhere.
    assert few.log_density(positions[-1])[0, 0, 0] < -0.1
