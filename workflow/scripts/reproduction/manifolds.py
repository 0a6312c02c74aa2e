"""The manifold of a study, from its settings."""

from pathlib import Path

from geodp.data.tables import parse_matrix
from geodp.errors import DataError
from geodp.manifolds.landmark_maps import LandmarkMap, fourier_harmonics
from geodp.manifolds.registry import make_manifold


def study_manifold(settings):
    """Make the manifold of a study.

    Parameters
    ----------
    settings : dict
        The section ``manifold`` of the study.

    Returns
    -------
    Manifold

    Raises
    ------
    DataError
        The matrix of a landmark map cannot be used.
    """
    name, size, chosen = (settings[key] for key in ("name", "size", "landmark_map"))
    if chosen is None:
        return make_manifold(name, size)
    if chosen["harmonics"] is not None:
        return make_manifold(name, size, fourier_harmonics(size, chosen["harmonics"]))
    with open(chosen["matrix"], encoding="utf-8-sig") as text:
        matrix = parse_matrix(text, chosen["matrix"])
    if matrix.shape[1] != size:
        raise DataError(
            f"{chosen['matrix']}: its rows have {matrix.shape[1]} entries and manifold.size is "
            f"{size}: give an entry for each landmark"
        )
    described = f"linear map of {Path(chosen['matrix']).name}"
    return make_manifold(name, size, LandmarkMap(matrix, described, chosen["matrix"]))
