"""The section ``manifold``."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from geodp.manifolds.registry import MANIFOLDS
from reproduction.configuration.section import Count, Section, Text, absent, refused


class LandmarkMapSettings(Section):
    """A public linear map of planar landmarks, by one of its keys."""

    harmonics: Count | None = absent(
        description="Keep the Fourier harmonics of the outline up to this one."
    )
    matrix: Text | None = absent(
        description="CSV file of the matrix: a row for each kept coordinate, an entry a landmark."
    )

    @model_validator(mode="after")
    def _one_form(self):
        given = [key for key in ("harmonics", "matrix") if getattr(self, key) is not None]
        if not given:
            raise refused(": it is empty: give at least one entry, harmonics or matrix")
        if len(given) > 1:
            raise refused(": it has both harmonics and matrix: keep one")
        return self


class ManifoldSettings(Section):
    """The space of the records."""

    name: Literal[tuple(MANIFOLDS)] = Field(
        description="; ".join(
            f"`{name}`: {space.__doc__.splitlines()[0].rstrip('.')}"
            for name, space in MANIFOLDS.items()
        )
        + "."
    )
    size: Count = Field(
        description="Dimension; of spd the number of rows; of kendall the number of landmarks."
    )
    landmark_map: LandmarkMapSettings | None = Field(
        default=None,
        description="Public linear map that keeps less of planar landmarks; null for none.",
    )

    @model_validator(mode="after")
    def _fits_the_space(self):
        if self.name == "kendall" and self.size < 3:
            raise refused(
                f": {self.size} is too small: planar shapes need 3 landmarks or more", "size"
            )
        if self.landmark_map is None:
            return self
        if self.name != "kendall":
            raise refused(": only planar landmarks can be mapped: remove it", "landmark_map")
        harmonics, most = self.landmark_map.harmonics, (self.size - 1) // 2
        if harmonics is not None and harmonics > most:
            raise refused(
                f": {harmonics} is too large: {self.size} landmarks have harmonics up to {most}",
                "landmark_map.harmonics",
            )
        return self


class SpaceSettings(Section):
    """A space of a measurement, to which others add what they need."""

    manifold: ManifoldSettings = Field(description="The space.")


def spaces_of(kind):
    """Type of a section that holds spaces by name."""
    return Annotated[
        dict[Text, kind],
        Field(min_length=1, description="Spaces, by the name that tables give them."),
    ]
