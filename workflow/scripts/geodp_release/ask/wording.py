"""Settings of a release as `Assumptions`, and the names, units and covariates its page shows."""

from functools import cached_property

import numpy as np

from geodp.data.angles import ANGLES
from geodp.data.coordinates import PLACES, View, are_read, in_layout, limits_of
from geodp.errors import DataError
from geodp.models.terms import LINE
from geodp.settings.shared_sections import public_centre
from geodp_release.ask.release_sections import ReleaseKeys, TableSettings
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.public_inputs import LOG, NONE, TWO_GROUPS, of_all
from geodp_release.show.document import About


class Wording(ReleaseKeys):
    """Assumptions, names, units, words and tabulated covariates of `ReleaseSettings`."""

    @cached_property
    def assumptions(self):
        public = self.public
        manifold, centre = public.manifold.make(), public.centre
        coordinates = getattr(self.data, "coordinates", "ambient")
        given = {name: getattr(public, name) for name in type(public).model_fields}
        if isinstance(self.data, TableSettings) and (self.data.words or self.data.basis):
            given |= self._of_terms(self.data)
        if isinstance(self.data, TableSettings) and self.data.products:
            given |= {"products": self.data.pairs, "names": self.names}
        return Assumptions(
            **given
            | {
                "manifold": manifold,
                "centre": centre_of(manifold, centre, coordinates),
                "covariate_range": tuple(map(tuple, self.ranges)),
                "sources": self.sources,
            }
        )

    def _bases(self, data):
        each = zip(data.covariates, self.names, strict=True)
        return data.bases({column: self.units.get(name, "") for column, name in each})

    def _of_terms(self, data):
        """Public inputs of all columns, those of listed words among them."""
        lists = {"transformation": NONE, "covariate_spread": TWO_GROUPS}
        found: dict = {"basis": self._bases(data), "names": self.names}
        for name, of_words in lists.items():
            listed = [column in data.words for column in data.covariates]
            found[name] = of_all(f"public.{name}", getattr(self.public, name), listed, of_words)
        return found

    @property
    def ranges(self):
        """Ranges of all covariates: of listed words those of their places in the list."""
        if not isinstance(self.data, TableSettings):
            return self.public.ranges
        each, words = iter(self.public.ranges), self.data.words
        return [
            [0.0, len(words[name]) - 1.0] if name in words else next(each)
            for name in self.data.covariates
        ]

    @property
    def names(self):
        """What each covariate is called."""
        number = len(self.ranges)
        if isinstance(self.covariate, list):
            return self.covariate
        if number == 1 and self.covariate is not None:
            return [self.covariate]
        return self.data.covariates if self.data.source == "table" else ["age"][:number]

    @cached_property
    def view(self):
        """The numbers that points are shown as."""
        found = View(self.assumptions.manifold, getattr(self.data, "coordinates", "ambient"))
        given = self.public.centre
        if not isinstance(given, list) or len(given) != len(found.names):
            return found
        return found.about(self.assumptions.centre[None], given)

    @property
    def responses(self):
        """Names of coordinates, those of their columns if they are known; shapes have none."""
        columns, view = getattr(self.data, "columns", None) or [], self.view
        found = list(view.names)
        columns = view.manifold.named_by(columns, view.coordinates)
        return columns if len(columns) == len(found) and "".join(columns).isprintable() else found

    @property
    def turn(self):
        """Factor from lengths to those that tables and figures have, and their unit."""
        return self.view.turn or (1.0, self.length_unit)

    @property
    def about(self):
        """What the release is of, in words for its readers."""
        own = zip(self.responses, self.view.units, strict=True)
        units = {name: unit for name, unit in own if unit} | self.units
        if self.data.source == "table":
            dates = self.data.reading.dates
            both = zip(self.names, self.data.covariates, strict=True)
            units |= {name: str(dates[column]) for name, column in both if column in dates}
        return About(
            name=self.name,
            description=self.description,
            covariates=tuple(self.names),
            responses=tuple(self.responses),
            units=units,
        )

    def labels(self, names):
        units = self.about.units
        return [f"{name} ({units[name]})" if name in units else name for name in names]

    def codes(self, index):
        """The number of each word of a covariate; none where it has numbers."""
        if not isinstance(self.data, TableSettings):
            return {}
        return self.data.reading.categories.get(self.data.covariates[index], {})

    def is_listed(self, index):
        """Whether a covariate has listed words, whose numbers are nobody's."""
        return (
            isinstance(self.data, TableSettings) and self.data.covariates[index] in self.data.words
        )

    def value_words(self, index, value):
        """A value of a covariate: the word of its category, or the number."""
        codes = self.codes(index)
        return next((word for word, code in codes.items() if code == value), f"{value:g}")

    def contrasts(self):
        """What each coefficient is of: a unit of a covariate, or one category against another.

        Those of a curve mean nothing by themselves, and have no words.
        """
        found, terms = [], self.assumptions.terms
        for name, owner in zip(terms.names(self.labels(self.names)), terms.owners, strict=True):
            low, high = (self.value_words(owner[0], end) for end in self.ranges[owner[0]])
            is_step = self.ranges[owner[0]] == [0.0, 1.0] and (low, high) != ("0", "1")
            what = f"{high} against {low}" if is_step else "per unit"
            log = "log of " if self.assumptions.transformations[owner[0]] == LOG else ""
            if len(owner) > 1 or any(terms.is_curve(column) for column in owner):
                found.append("" if any(map(terms.is_curve, owner)) else f"{name}, whole ranges")
            elif words := terms.words(owner[0]):
                found.append(f"{name} against {words[0]}")
            else:
                found.append(f"{log}{name}, {what}")
        return found

    def ways(self):
        """Ends of the geodesic of each covariate, in words; none of a curve or a product."""
        found, terms = [], self.assumptions.terms
        for number, owner in enumerate(terms.owners):
            words, (low, high) = terms.words(owner[0]), self.ranges[owner[0]]
            ends = self.value_words(owner[0], low), self.value_words(owner[0], high)
            if words:
                ends = words[0], words[1 + number - terms.of(*owner)[0]]
            is_way = len(owner) == 1 and not terms.is_curve(owner[0])
            found.append(f"{self.names[owner[0]]} {ends[0]} to {ends[1]}" if is_way else "")
        return found

    @property
    def length_unit(self):
        """Unit of lengths: in flat space that of all responses, if they have one in common."""
        units = {self.units.get(name, "") for name in self.responses}
        shared = self.assumptions.is_flat and len(units) == 1
        return units.pop() if shared else self.assumptions.manifold.length_unit

    def covariates(self, release=None, places=5):
        """Covariates (m, k) to tabulate, by default at some ``places`` of a range or a curve.

        In a release of several covariates they are where subjects are.
        """
        ranges, assumptions = self.ranges, self.assumptions
        if self.predictions is not None:
            rows = [row if isinstance(row, list) else [row] for row in self.predictions]
            rows = [[self.codes(k).get(x, x) for k, x in enumerate(row)] for row in rows]
            return np.array(rows, dtype=float).reshape((-1, len(ranges)))
        if len(ranges) == 1 and not assumptions.groups[0]:
            return assumptions.along(0, places)[:, None]
        # Each covariate's ends, all groups and places of a curve, the others as in the first.
        rows = [first := (release or assumptions).usual]
        for index in range(len(ranges)):
            is_group = assumptions.groups[index]
            values = assumptions.along(index, 101)
            along = np.tile(first, (len(values), 1))
            along[:, index] = values
            some = along if is_group or not release else along[release.has_subjects(along)]
            if not is_group:
                number = 2 if assumptions.terms.bases[index] == LINE else places
                some = some[np.linspace(0, len(some) - 1, number).astype(int) if len(some) else []]
            rows += [row for row in some if row[index] != first[index]]
        return np.array(rows)


def centre_of(manifold, given, coordinates):
    """A centre by its name, or from numbers such as columns with these ``coordinates`` hold."""
    if coordinates != "ambient" and isinstance(given, list):
        given = _centre_of_columns(given, coordinates)
    return public_centre(manifold, given)


def _centre_of_columns(centre, coordinates):
    """A centre in the numbers of its space, from what columns of a point hold; or as it is."""
    numbers = np.array([centre], dtype=float)
    width = {1: coordinates in ANGLES, 2: coordinates == PLACES}
    if not (width.get(len(centre)) or coordinates == "shares"):
        return centre
    for value, (low, high) in zip(centre, limits_of(coordinates), strict=False):
        if not low <= value <= high:
            raise DataError(
                f"public.centre: {value:g} is not between {low:g} and {high:g}, as columns of "
                f"{coordinates} are: correct it"
            )
    if not are_read(numbers, coordinates)[0]:
        raise DataError("public.centre: it is no list of shares of a whole: correct it")
    return in_layout(numbers, coordinates)[0].tolist()
