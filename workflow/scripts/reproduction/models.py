"""The model of a study, from its settings."""

from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import LOSSES
from reproduction.manifolds import study_manifold


def study_model(params):
    """Make the `GeodesicModel` of a job, from its parameters ``manifold`` and ``model``."""
    loss = dict(params.model["loss"])
    return GeodesicModel(
        study_manifold(params.manifold),
        params.model["covariates"],
        LOSSES[loss.pop("name")](**loss),
    )
