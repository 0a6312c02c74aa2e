"""Spaces of measurements, by the names that tables give them, and their public supports."""

from typing import Annotated

from pydantic import Field

from geodp.settings.section import Positive, Section, Text
from geodp.settings.sections import ManifoldSettings


class SpaceSettings(Section):
    """A space of a measurement, to which others add what they need."""

    manifold: ManifoldSettings


def spaces_of(kind):
    """Type of a section that holds spaces by name."""
    words = "Spaces, by the name that tables give them."
    return Annotated[dict[Text, kind], Field(min_length=1, description=words)]


class BallSettings(Section):
    """A public support of geodesics."""

    footpoint_radius: Positive
    """Largest distance of the footpoint, in the middle of the covariate's range, from a public
    centre."""
    shooting_vector_length: Positive
    """Largest length of the geodesic over the covariate's range."""
