"""Covariates as public inputs describe them: from columns to b_1(x), ..., b_k(x)."""

from functools import cached_property
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.models.terms import LINE, PERIODIC, Terms, basis_of
from geodp_release.promise.public_inputs import (
    EVENLY,
    LOG,
    NONE,
    TRANSFORMATIONS,
    TWO_GROUPS,
    as_tuple,
    one_each,
)


class Design:
    """What `Assumptions` say of c columns of a record, and k covariates that are made of them."""

    covariate_range: Any
    transformation: Any
    covariate_spread: Any
    shooting_vector_length: Any
    basis: Any
    products: Any
    names: Any

    def _set(self, name, value):
        object.__setattr__(self, name, value)

    def _check_each(self, name, check):
        """Check the value of each column of a public input; of one alone it is no tuple."""
        each = one_each(name, getattr(self, name), self.number_of_columns)
        each = tuple(check(name, value) for value in each)
        self._set(name, each[0] if self.number_of_columns == 1 else each)

    def _check_basis(self):
        number = self.number_of_columns
        bases = tuple(map(basis_of, one_each("basis", self.basis, number)))
        # As it was given where there is none, so that all plans without one are the same.
        given = bases[0] if number == 1 else bases
        self._set("basis", LINE if {*map(str, bases)} <= {LINE} else given)
        pairs = tuple(tuple(int(each) for each in pair) for pair in self.products or ())
        for pair in pairs:
            twice = sum({*pair} == {*other} for other in pairs) > 1
            if len({*pair}) != 2 or not {*pair} <= {*range(number)} or twice:
                raise DataError(f"products: {pair} is no pair of two columns: give each pair once")
        self._set("products", pairs)
        self._set("names", tuple(map(str, self.names or ())))
        if self.names and len(self.names) != number:
            raise DataError(f"names are {len(self.names)}, and columns {number}: give as many")

    def _check_columns(self, most=100, shortest=1e-3):
        """Check ranges and transformations, also of columns of words and of periods.

        What noise of moments has for rounding is enough for so many covariates at ``most``, see
        `docs/guarantee.md`; periods below the ``shortest``, in parts of the range, are finer than
        what a column is measured to.
        """
        for (low, high), scale in self._columns:
            if scale == LOG and not (low > 0.0 and np.log(high) > np.log(low)):
                raise DataError(
                    f"covariate_range is {low:g} to {high:g}, which has no logarithm: give "
                    "positive numbers, or no transformation"
                )
        if self.number_of_covariates > most:
            raise DataError(
                f"basis and products make {self.number_of_covariates} covariates: give {most} or "
                "fewer"
            )
        for column, ((low, high), scale) in enumerate(self._columns):
            last, period = len(self.terms.words(column)) - 1, self._periods[column]
            if last > 0 and (low, high) != (0.0, last):
                raise DataError(f"covariate_range of {last + 1} words: give 0 to {last}")
            if (last > 0 or period) and scale != NONE:
                raise DataError("transformation of words or of a period: give none")
            if period and period < shortest * (high - low):
                raise DataError(
                    f"basis: a period of {period:g} is below {shortest:g} of covariate_range, "
                    f"{low:g} to {high:g}: give a longer one, in the unit of the range"
                )

    @property
    def _columns(self):
        """The range and the transformation of each column."""
        return list(zip(self.ranges, self.transformations, strict=True))

    @property
    def _periods(self):
        """The period of each column, or zero."""
        return [0.0 if basis == LINE else basis.get(PERIODIC, 0.0) for basis in self.terms.bases]

    @cached_property
    def terms(self):
        """The `Terms` of the basis."""
        number = self.number_of_columns
        bases = (self.basis,) * number if isinstance(self.basis, str) else as_tuple(self.basis)
        widths = [float(np.ptp(TRANSFORMATIONS[scale](limits))) for limits, scale in self._columns]
        return Terms(bases, widths, self.products)

    @property
    def number_of_columns(self):
        """c: how many numbers, or words, of a record the covariates are made of."""
        return len(self.ranges)

    @property
    def number_of_covariates(self):
        """k: 0 for a mean, 1 for a geodesic, or more."""
        return self.terms.number

    @property
    def ranges(self):
        """Ranges (c, 2) of the columns."""
        return np.reshape(self.covariate_range, (-1, 2))

    @property
    def transformations(self):
        """Name of each column's transformation."""
        return as_tuple(self.transformation)

    @property
    def spreads(self):
        """How each column is spread."""
        return as_tuple(self.covariate_spread)

    @property
    def is_even(self):
        """Whether the one covariate is said to be spread evenly, which steps and bands rest on."""
        return self.spreads == (EVENLY,) and self.terms.is_plain

    @property
    def groups(self):
        """Which columns (c,) have a few values alone: two, or words."""
        found = [each == TWO_GROUPS for each in self.spreads]
        return np.array([each or bool(self.terms.words(at)) for at, each in enumerate(found)], bool)

    @property
    def lengths(self):
        """Largest lengths (k,) of shooting vectors: of a product that of the longer."""
        each = as_tuple(self.shooting_vector_length)
        return tuple(max(each[column] for column in owner) for owner in self.terms.owners)

    @property
    def column_names(self):
        """Names of the columns, or their numbers."""
        number = self.number_of_columns
        return self.names or tuple(f"covariate {each + 1}" for each in range(number))

    @property
    def covariate_names(self):
        """Names of the covariates (k,), such as ``region: south``."""
        return self.terms.names(self.column_names)

    def along(self, column, number):
        """Values (m,) of a column along its range: all that groups have, or so many."""
        low, high = self.ranges[column]
        if not self.groups[column]:
            return np.linspace(low, high, number)
        return np.linspace(low, high, max(len(self.terms.words(column)), 2))

    @property
    def middles(self):
        """The columns (c,) in the middle of their ranges; of words the reference.

        Without a basis the footpoint is there.
        """
        middles = [
            np.exp(np.mean(np.log(limits))) if scale == LOG else np.mean(limits)
            for limits, scale in self._columns
        ]
        for column, (low, _) in enumerate(self.ranges):
            if self.terms.words(column):
                middles[column] = low
        return np.array(middles)

    @property
    def footpoint_at(self):
        """Where the footpoint is, a list: the `middles`, or with a basis nowhere."""
        return self.middles.tolist() if self.terms.is_plain else []

    @property
    def usual(self):
        """Columns (c,) at which others are looked at: the first of groups, or the middle."""
        return np.where(self.groups, self.ranges[:, 0], self.middles)

    def usable(self, columns):
        """Which rows of columns (n, c) are numbers that have a place on the curve; (n,)."""
        usable = np.isfinite(columns)
        for index, scale in enumerate(self.transformations):
            if scale == LOG:
                usable[:, index] &= columns[:, index] > 0.0
        return np.all(usable, axis=-1) & self.terms.usable(columns)

    def column_places(self, columns):
        """Where columns (n, c) are in their ranges: from -1/2 to 1/2."""
        places = np.empty(columns.shape)
        for index, (limits, scale) in enumerate(self._columns):
            transformed = TRANSFORMATIONS[scale]
            low, high = transformed(limits)
            places[:, index] = (transformed(columns[:, index]) - 0.5 * (low + high)) / (high - low)
        return places

    def places(self, columns):
        """Covariates (n, k) of usable columns (n, c): from -1/2 to 1/2 over the ranges."""
        return self.terms.expand(self.column_places(columns))

    @property
    def goes_on(self):
        """Which columns (c,) go on beyond their range: those with a period."""
        return np.array(self._periods, dtype=bool)

    def scaled(self, columns):
        """Covariates of usable columns, those outside their range clipped to it."""
        inside = np.clip(columns, *self.ranges.T)
        places = self.column_places(np.where(self.goes_on, columns, inside))
        # Rounding may lead beyond.
        return self.terms.expand(np.where(self.goes_on, places, np.clip(places, -0.5, 0.5)))

    @property
    def coefficients(self):
        """Matrix (1 + k, 1 + k) from a flat state to the prediction at `usual` and to slopes."""
        return self.coefficients_at(self.usual[None])

    def coefficients_at(self, columns):
        """The same (m + k, 1 + k) with predictions at columns (m, c).

        Slopes are per unit of a column, and of other covariates over their whole length of one.
        """
        widths = np.ones(self.number_of_covariates)
        for column, basis in enumerate(self.terms.bases):
            if basis == LINE:
                widths[self.terms.of(column)] = self.terms.widths[column]
        slopes = np.diag(1.0 / np.array([1.0, *widths]))[1:]
        return np.concatenate([np.insert(self.places(columns), 0, 1.0, axis=1), slopes])
