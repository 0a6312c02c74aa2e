"""The manifold of a study, from its settings."""

from geodp.settings.sections import ManifoldSettings


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
    return ManifoldSettings.model_validate(settings).make()
