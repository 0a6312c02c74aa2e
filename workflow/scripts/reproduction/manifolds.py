"""The manifold of a study, from its settings."""

from geodp.data.matrices import read_landmark_map
from geodp.manifolds.landmark_maps import fourier_harmonics
from geodp.manifolds.registry import make_manifold


def study_manifold(settings):
    """The manifold of a study's section; refuses a matrix of a landmark map that cannot be used."""
    name, size, chosen = (settings[key] for key in ("name", "size", "landmark_map"))
    if chosen is None:
        return make_manifold(name, size)
    if chosen["harmonics"] is not None:
        return make_manifold(name, size, fourier_harmonics(size, chosen["harmonics"]))
    return make_manifold(name, size, read_landmark_map(chosen["matrix"], size))
