"""Settings of a release in place of a configuration of studies: `snakemake release`."""

from geodp.release.settings import ReleaseSettings, read_settings

# Keys of releases that no configuration of studies has.
KEYS = set(ReleaseSettings.model_fields) - {"name", "data"}


def describes_release(given):
    """Whether given settings are those of a release."""
    return bool(KEYS & set(given)) and "studies" not in given


def without_studies(path):
    """A configuration without studies, named as the release that a file describes.

    Raises
    ------
    DataError
        One sentence with the file and the path of the key.
    """
    return {
        "name": read_settings(path).name,
        "seed": 0,
        "cells_per_job": 1,
        "papers": [],
        "studies": {},
    }
