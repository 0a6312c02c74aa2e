"""Names and units of covariates and responses in a release, and covariates that it tabulates."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.data.coordinates import View
from geodp.models.terms import LINE
from geodp_release.promise.public_inputs import LOG
from geodp_release.show.document import About

# Covariates that are tabulated where the settings name none.
TABULATED = 5


class Wording:
    """Names, units, words and tabulated covariates of `ReleaseSettings`."""

    if TYPE_CHECKING:
        # Of the settings, whose keys these would be.
        data: Any
        public: Any
        covariate: Any
        units: Any
        predictions: Any
        assumptions: Any
        name: Any
        description: Any

    @property
    def ranges(self):
        """Ranges of all covariates: of listed words those of their places in the list."""
        ranges = self.public.ranges
        words = getattr(self.data, "words", None)
        if not words:
            return ranges
        each = iter(ranges)
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
        if self.data.source != "table":
            return {}
        return self.data.reading.categories.get(self.data.covariates[index], {})

    def is_listed(self, index):
        """Whether a covariate has listed words, whose numbers are nobody's."""
        return bool(self.codes(index)) and self.data.covariates[index] in self.data.words

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

    def covariates(self, release=None):
        """Covariates (m, k) to tabulate; of a release of several only where subjects are."""
        ranges, assumptions = self.ranges, self.assumptions
        if self.predictions is not None:
            rows = [row if isinstance(row, list) else [row] for row in self.predictions]
            rows = [[self.codes(k).get(x, x) for k, x in enumerate(row)] for row in rows]
            return np.array(rows, dtype=float).reshape((-1, len(ranges)))
        if len(ranges) == 1 and not assumptions.groups[0]:
            return assumptions.along(0, TABULATED)[:, None]
        # Each covariate's ends, all groups and five places of a curve, the others as in the first.
        rows = [first := (release or assumptions).usual]
        for index in range(len(ranges)):
            is_group = assumptions.groups[index]
            values = assumptions.along(index, 101)
            along = np.tile(first, (len(values), 1))
            along[:, index] = values
            some = along if is_group or not release else along[release.has_subjects(along)]
            if not is_group:
                number = 2 if assumptions.terms.bases[index] == LINE else TABULATED
                some = some[np.linspace(0, len(some) - 1, number).astype(int) if len(some) else []]
            rows += [row for row in some if row[index] != first[index]]
        return np.array(rows)
