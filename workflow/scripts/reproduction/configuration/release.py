"""Settings of a release in place of a configuration of studies: `snakemake release`."""


def describes_release(given):
    """Whether given settings are those of a release."""
    if "studies" in given:
        return False
    # As long to import as a study takes to plan its jobs.
    from geodp_release.ask.settings import ReleaseSettings

    # Keys of releases that no configuration of studies has.
    return bool((set(ReleaseSettings.model_fields) - {"name", "data"}) & set(given))


def without_studies(path):
    """A configuration without studies, named as the release that a file describes."""
    from geodp_release.ask.settings import read_settings

    empty = {"note": None, "seed": 0, "cells_per_job": 1, "papers": [], "studies": {}}
    return {"name": read_settings(path).name, **empty}
