"""Terms: public expansions of columns into the covariates of ``y ~ Exp(p, sum_j b_j(x) v_j)``.

Each b_j is from -1/2 to 1/2, and a function of one record and of public numbers alone: knots,
degrees and periods are given, and nothing is learnt from data.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from geodp.data.cells import as_text, cells_of, real
from geodp.errors import DataError

LINE, SPLINE, POLYNOMIAL, PERIODIC, WORDS = "line", "spline", "polynomial", "periodic", "words"


def basis_of(given, place="basis"):
    """The checked basis of a column, as JSON has it.

    Parameters
    ----------
    given : "line", or dict of one key
        ``spline`` with a number of knots, ``polynomial`` with a degree, ``periodic`` with a period
        in the covariate's unit, or ``words`` with a list of them, the first of which is the
        reference.

    Raises
    ------
    DataError
        The basis is none of these, or a number in it is missing or out of range.
    """
    if given is None or given == LINE:
        return LINE
    found: Any = given if isinstance(given, dict) and len(given) == 1 else {None: None}
    [(kind, value)] = found.items()
    if kind == WORDS and isinstance(value, list | tuple):
        words = [as_text(word) for word in value]
        if len({*words}) < len(words) or len(words) < 2:
            raise DataError(f"{place}: words are {words}: give two different ones or more")
        for word in words:
            if not word.isprintable():
                raise DataError(f"{place}: {word!r} is no line that can be printed: correct it")
            if not word or word != word.strip():
                raise DataError(
                    f"{place}: {word!r} is blank, or has blanks at its ends, which no cell keeps: "
                    "leave them out"
                )
        return {WORDS: words}
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    is_number = is_number and -np.inf < value < np.inf
    if kind == PERIODIC and is_number and 0.0 < value < np.inf:
        return {PERIODIC: float(value)}
    if kind in (SPLINE, POLYNOMIAL) and is_number:
        what, low, high = ("knots", 3, 12) if kind == SPLINE else ("degrees", 2, 8)
        if value == int(value) and low <= value <= high:
            return {kind: int(value)}
        raise DataError(f"{place}: {kind} has {value:g} {what}: give {low} to {high}")
    raise DataError(
        f"{place} is {given!r}: give {LINE}, or one of {SPLINE}: knots, {POLYNOMIAL}: degree, "
        f"{PERIODIC}: period and {WORDS}: [words], with that number"
    )


@dataclass(frozen=True, eq=False)
class Terms:
    """An expansion of c columns into k covariates."""

    bases: Any  # Of each column; see `basis_of`.
    widths: Any  # Lengths of the columns' ranges, which periods are compared with.
    # Pairs of columns whose covariates are multiplied with each other, beside the columns' own.
    products: Any = ()

    # Told from others by their public description.
    def __eq__(self, other):
        return isinstance(other, Terms) and repr(self) == repr(other)

    def __hash__(self):
        return hash(repr(self))

    @property
    def is_plain(self):
        """Whether covariates are the columns themselves."""
        return not self.products and all(basis == LINE for basis in self.bases)

    def is_curve(self, column):
        """Whether predictions along a column are more than a geodesic or than groups."""
        return self.bases[column] != LINE and not self.words(column)

    @property
    def has_curves(self):
        """Whether they are along any column."""
        return any(map(self.is_curve, range(len(self.bases))))

    @cached_property
    def owners(self):
        """Columns of each covariate: one, or the two of a product."""
        sizes = [len(_names("", basis)) for basis in self.bases]
        found = [(column,) for column, size in enumerate(sizes) for _ in range(size)]
        for pair in self.products:
            found += [tuple(pair)] * (sizes[pair[0]] * sizes[pair[1]])
        return found

    @property
    def number(self):
        """k."""
        return len(self.owners)

    def of(self, *columns):
        """Indices of the covariates that are of these columns, all together and no other."""
        return [index for index, owner in enumerate(self.owners) if owner == columns]

    def involving(self, column):
        """Indices of the covariates in which a column is."""
        return [index for index, owner in enumerate(self.owners) if column in owner]

    def beyond(self, column):
        """Indices of a column's own covariates beyond the line; none where it has no line."""
        basis = self.bases[column]
        return self.of(column)[1:] if {*basis} & {SPLINE, POLYNOMIAL} else []

    def words(self, column):
        """Words of a column, or none."""
        basis = self.bases[column]
        return basis.get(WORDS, []) if isinstance(basis, dict) else []

    def described(self, columns):
        """The basis of each column that has one, and products, in words."""
        words = {
            SPLINE: "natural cubic spline with {} evenly spaced knots",
            POLYNOMIAL: "polynomial of degree {}",
            PERIODIC: "wave with a period of {:g}",
            WORDS: "{}, each against the first",
        }
        found = []
        for name, basis in zip(columns, self.bases, strict=True):
            for kind, value in basis.items() if basis != LINE else ():
                given = ", ".join(value) if kind == WORDS else value
                found.append(f"{name}: {words[kind].format(given)}")
        return "; ".join(found), ", ".join(f"{columns[a]} x {columns[b]}" for a, b in self.products)

    def names(self, columns):
        """Names of the covariates, from those of the columns."""
        each = [_names(name, basis) for name, basis in zip(columns, self.bases, strict=True)]
        found = [name for some in each for name in some]
        for first, second in self.products:
            found += [f"{one} x {other}" for one in each[first] for other in each[second]]
        return found

    def usable(self, values):
        """Which rows of columns (n, c) have words and phases; (n,)."""
        usable = np.ones(len(values), dtype=bool)
        for column, basis in enumerate(self.bases):
            given = values[:, column]
            if self.words(column):
                usable &= np.isin(given, np.arange(len(self.words(column))))
            elif PERIODIC in basis:
                # Numbers beyond have no digits of a phase left.
                usable &= np.abs(given) < 1e15
        return usable

    def expand(self, places):
        """Covariates (..., k) from -1/2 to 1/2, of places of columns (..., c) in their ranges.

        Places are from -1/2 to 1/2, but for those of a period, which goes on.
        """
        if self.is_plain:
            return places
        each = [
            _expanded(places[..., column], basis, width)
            for column, (basis, width) in enumerate(zip(self.bases, self.widths, strict=True))
        ]
        found = [some for parts in each for some in parts]
        for first, second in self.products:
            found += [2.0 * one * other for one in each[first] for other in each[second]]
        # Rounding may lead beyond.
        return np.clip(np.stack(found, axis=-1), -0.5, 0.5)


@dataclass(frozen=True)
class Columns:
    """Columns of a table and the `Terms` of them, for fits without privacy."""

    terms: Terms
    ranges: np.ndarray  # (c, 2)
    names: tuple = ()  # Of the columns, where a table has names.

    @classmethod
    def of(cls, names, bases, ranges, products=()):
        """Of bases as given, and ranges by name, or one each of the columns without words."""
        bases = [basis_of(each) for each in bases]
        listed = [isinstance(each, dict) and each.get(WORDS) for each in bases]
        if not isinstance(ranges, dict):
            each = iter(np.reshape(() if ranges is None else ranges, (-1, 2)))
            ranges = {
                name: next(each, None)
                for name, words in zip(names, listed, strict=True)
                if not words
            }
        found = np.empty((len(bases), 2))
        for index, (name, words) in enumerate(zip(names, listed, strict=True)):
            given = (0.0, len(words) - 1.0) if words else ranges.get(name)
            if given is None or not -np.inf < given[0] < given[1] < np.inf:
                raise DataError(
                    f"covariate_range of {name} is {given}: give its least and greatest value, "
                    "which knots and degrees are for"
                )
            found[index] = given
        return cls(Terms(bases, np.ptp(found, axis=1).tolist(), products), found, tuple(names))

    def __call__(self, table):
        """Covariates (n, k) of a table with these columns, by name or in their order.

        A `DataError` says which record has none.
        """
        columns = column_numbers(table, self.terms, self.names)
        goes_on = np.array([PERIODIC in basis for basis in self.terms.bases])
        low, high = self.ranges.T
        usable = np.all(goes_on | ((low <= columns) & (columns <= high)), axis=1)
        usable &= np.all(np.isfinite(columns), axis=1) & self.terms.usable(columns)
        if not np.all(usable):
            raise DataError(
                f"record {np.argmin(usable) + 1}: a covariate is missing, none of its words, or "
                "outside covariate_range: leave it out, or change that"
            )
        return self.terms.expand((columns - 0.5 * (low + high)) / (high - low))


def column_numbers(table, terms, names=()):
    """Numbers (n, c) of columns, each cell by itself: of words their places, NaN for no number."""
    count = len(terms.bases)
    if hasattr(table, "keys"):
        missing = [name for name in names if name not in table]
        if missing or not names:
            raise DataError(f"the table has no column {', '.join(missing)}: name its columns")
        each = [table[name] for name in names]
    else:
        array = np.asarray(table, dtype=object if any(map(terms.words, range(count))) else None)
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2 or array.shape[1] != count:
            raise DataError(f"covariates have shape {array.shape}: give rows of {count}")
        each = list(array.T)
    return np.stack([_numbers(some, terms.words(at)) for at, some in enumerate(each)], axis=-1)


def _numbers(values, words):
    if not words:
        with np.errstate(all="ignore"):
            return np.asarray(values, dtype=float)
    return np.array([word_code(value, words) for value in cells_of(values)], dtype=float)


def word_code(value, words):
    """Place of a word among words, of the text that files have for a value; NaN for any other.

    Of a number it is the same whichever type others gave its column.
    """
    try:
        number = real(value)
        # Floating-point numbers have not all digits of whole ones beyond.
        if isinstance(number, int | float) and not abs(number) < 2.0**53:
            return np.nan
        return float(words.index(as_text(value).strip()))
    except Exception:  # a value that is none of the words has no place
        return np.nan


def _names(name, basis):
    if basis == LINE:
        return [name]
    [(kind, value)] = basis.items()
    if kind == WORDS:
        return [f"{name}: {word}" for word in value[1:]]
    if kind == PERIODIC:
        return [f"{name}, cosine", f"{name}, sine"]
    what = "bend" if kind == SPLINE else "degree"
    rest = range(1, value - 1) if kind == SPLINE else range(2, value + 1)
    return [name, *(f"{name}, {what} {each}" for each in rest)]


def _expanded(places, basis, width):
    """Covariates of one column, a list of arrays."""
    if basis == LINE:
        return [places]
    [(kind, value)] = basis.items()
    if kind == SPLINE:
        bends = natural_bends(value)(places)
        return [places, *np.moveaxis(bends, -1, 0)]
    if kind == POLYNOMIAL:
        # Legendre polynomials, by their recurrence: orthogonal on the range, and no longer than 1.
        before, last, found = np.ones_like(places), 2.0 * places, [places]
        for degree in range(2, value + 1):
            step = ((2 * degree - 1) * 2.0 * places * last - (degree - 1) * before) / degree
            before, last = last, step
            found.append(0.5 * last)
        return found
    if kind == PERIODIC:
        phase = 2.0 * np.pi * ((places * (width / value)) % 1.0)
        return [0.5 * np.cos(phase), 0.5 * np.sin(phase)]
    codes = np.rint((places + 0.5) * (len(value) - 1))
    return [np.where(codes == code, 0.5, -0.5) for code in range(1, len(value))]


@lru_cache
def natural_bends(knots):
    """Bends beside the line: a `PPoly` of places from -1/2 to 1/2 with ``knots - 2`` values.

    Natural cubic splines with evenly spaced knots, the first and the last at the ends of the range:
    they contain the line, and leave it less at the ends than cubic polynomials do, whose leverage
    there, and so the noise of a step, is larger (15 for four parameters, here 11).  Of these the
    basis of Demmler and Reinsch: orthogonal to 1, to the line and to each other over the range,
    each as smooth as can be, and scaled to 1/2.  So covariates that are spread evenly have
    uncorrelated coefficients, and none is longer than its part in the prediction needs.
    """
    # Slow to load, and needed by few.
    from scipy.interpolate import CubicSpline, PPoly
    from scipy.linalg import eigh

    at = np.linspace(-0.5, 0.5, knots)
    each = CubicSpline(at, np.eye(knots), bc_type="natural")
    nodes, weights = np.polynomial.legendre.leggauss(4)
    half = 0.5 / (knots - 1)
    places = (0.5 * (at[1:] + at[:-1])[:, None] + half * nodes).ravel()
    weights = np.tile(half * weights, knots - 1)[:, None]
    values, bends = each(places), each(places, 2)
    _, vectors = eigh(bends.T @ (weights * bends), values.T @ (weights * values))
    vectors = vectors[:, 2:]
    found = each(np.linspace(-0.5, 0.5, 2001)) @ vectors
    vectors = vectors * np.sign(found[-1]) / (2.0 * np.max(np.abs(found), axis=0))
    return PPoly(each.c @ vectors, at)
