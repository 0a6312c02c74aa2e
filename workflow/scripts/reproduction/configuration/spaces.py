"""What sections of several studies share: public supports and centres."""

from geodp.settings.section import Number, Positive, Section, refused
from geodp.settings.sections import CENTRES, CentreName

PublicCentre = CentreName | list[Number]


class BallSettings(Section):
    """A public support of geodesics."""

    footpoint_radius: Positive
    """Largest distance of the footpoint, in the middle of the covariate's range, from a public
    centre."""
    shooting_vector_length: Positive
    """Largest length of the geodesic over the covariate's range."""


def check_centre(centre, space, key):
    """Refuse a named centre that a space does not have; whether the centre has a name."""
    spaces = CENTRES.get(centre) if isinstance(centre, str) else None
    if spaces and space not in spaces:
        raise refused(f": {space} has no centre called {centre}: give coordinates", key)
    return bool(spaces)
