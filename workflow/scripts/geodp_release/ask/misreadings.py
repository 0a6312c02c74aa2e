"""Other readings of a table that fit better than its settings, for the holder's eyes alone.

Of each space, and of covariates, the usual mistakes are tried: columns in another order, other
units, mirrored landmarks.  All of it depends on the records.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from geodp.data.angles import ANGLES
from geodp.data.columns import has_landmarks, told_columns
from geodp.data.coordinates import are_read, in_layout
from geodp.data.large import finite_ones, in_turn, indices_where, sampled
from geodp.data.messages import SHOWN
from geodp.data.triangles import TRIANGLES, upper_triangle
from geodp.manifolds.unit_norm import UnitNormSpace
from geodp_release.ask.inspection import middle_of

# A reading fits if it makes this share of the records valid, or puts as many covariates in range.
MOST = 0.9

# Readings fit alike if they bring records nearer by the same up to such a factor.
ALIKE = 1.5

# Covariates: what they may have been given in, and how they become what is wanted.
UNITS: dict[str, Callable] = {
    "months and not in years: divide by 12": lambda x: x / 12.0,
    "years and not in months: multiply by 12": lambda x: x * 12.0,
    "days and not in years: divide by 365.25": lambda x: x / 365.25,
    "years and not in days: multiply by 365.25": lambda x: x * 365.25,
    "percent and not in fractions: divide by 100": lambda x: x / 100.0,
    "fractions and not in percent: multiply by 100": lambda x: x * 100.0,
    "thousandths of the unit: divide by 1000": lambda x: x / 1000.0,
    "thousands of the unit: multiply by 1000": lambda x: x * 1000.0,
    "natural logarithms: take their exponentials": np.exp,
    "decimal logarithms: raise 10 to them": lambda x: 10.0**x,
}


# Triangles of matrices, in words.
AS = {
    "ambient": "like an upper triangle row by row",
    "lower_triangle": "like a lower triangle row by row",
    "nilearn": "like vectors of nilearn, which divides the diagonal by sqrt(2)",
    "pyriemann": "like vectors of pyRiemann, which multiplies others than the diagonal by sqrt(2)",
    "voigt": "like Voigt's order",
    "vtk": "like VTK's order",
    "mrtrix": "like MRtrix's order",
}


def misreadings(settings, numbers, names):
    """Sentences on readings of a table that fit better, with what to change; not private.

    ``numbers`` (n, m + k) are those of coordinates and covariates, as the file has them, and
    ``names`` those of the m coordinates.
    """
    data = settings.data
    coordinates, covariates = np.split(numbers, [len(names)], axis=1)
    found = _of_covariates(settings, covariates, coordinates, names)
    if data.outline:
        return found
    space = settings.public.manifold.name
    named = _named_otherwise(data, space, names)
    return found + (named or _of_points(settings, coordinates, names))


def _named_otherwise(data, space, names):
    """On columns whose names tell of another order than they are given in."""
    told = told_columns(names)
    if told is None or told.space != space or set(told.columns) != set(names):
        return []
    if space == "spd" and len(names) == told.size**2:
        # A symmetric matrix by columns is the same as by rows.
        return []
    expected, coordinates = told.columns, told.coordinates
    if data.coordinates in TRIANGLES:
        order = np.argsort(upper_triangle(data.coordinates, len(expected))[0])
        expected, coordinates = [expected[place] for place in order], data.coordinates
    if expected == list(names) and coordinates == data.coordinates:
        return []
    return [
        f"the names of the columns {', '.join(names)} tell of another order: set columns to "
        f"[{', '.join(told.columns)}] and coordinates to {told.coordinates}"
    ]


def _of_covariates(settings, covariates, coordinates, names):
    """On covariates most of which are outside their range, and would be in it otherwise."""
    found = []
    for name, limits, column in zip(
        settings.data.covariates, settings.assumptions.ranges, covariates.T, strict=True
    ):
        given = finite_ones(column)
        # Dates have no other unit.
        if name in settings.data.dates or _inside(given, limits) > 0.5:
            continue
        with np.errstate(all="ignore"):
            tried = {words: change(given) for words, change in UNITS.items()}
        fitting = [words for words in tried if _inside(tried[words], limits) >= MOST]
        swapped = [
            other
            for other, values in zip(names, coordinates.T, strict=True)
            if _inside(finite_ones(values), limits) >= MOST
        ]
        if fitting:
            # What fills the range, where several units lie in it.
            best = max(fitting, key=lambda words: np.ptp(tried[words]))
            found.append(f"column {name}: most values look as if they were in {best}")
        elif swapped:
            found.append(
                f"column {name}: most values are outside {limits[0]:g} to {limits[1]:g}, and those "
                f"of {swapped[0]} within: look whether the two columns are swapped"
            )
    return found


def _inside(values, limits):
    """Share of values within limits; one of none."""
    return np.mean((values >= limits[0]) & (values <= limits[1])) if len(values) else 1.0


def _of_points(settings, numbers, names, tried=2000, nearer_by=2.0):
    """On points that fit better as another reading of the first numbers has them.

    Or that it brings so many times nearer to each other, or to the public centre.
    """
    data, assumptions = settings.data, settings.assumptions
    given, numbers = numbers, numbers[:0]
    for some in in_turn(given):
        there = given[some][np.all(np.isfinite(given[some]), axis=-1)]
        numbers = np.concatenate([numbers, there])[:tried]
        if len(numbers) == tried:
            break
    if not len(numbers):
        return []
    if data.coordinates == "latitude_longitude" and np.all(
        np.abs(numbers) <= [0.5 * np.pi, 2.0 * np.pi]
    ):
        return [
            f"columns {names[0]} and {names[1]}: all angles are below pi/2 and 2 pi, as radians "
            "are: convert them to degrees"
        ]
    if data.coordinates in ("degrees", "compass") and np.all(np.abs(numbers) <= 2.0 * np.pi):
        return [
            f"column {names[0]}: all angles are below 2 pi, as radians are: coordinates may have "
            "to be radians"
        ]
    if data.coordinates != "nilearn" and _are_correlations(assumptions.manifold, numbers):
        return [
            "all entries on the diagonal are 0.7071, as those of correlation matrices in vectors "
            "of nilearn are: coordinates may have to be nilearn"
        ]
    is_centred = settings.public.centre != "anywhere"
    share, *away = _fit(assumptions, numbers, data.coordinates)
    better = []
    # Swapped angles are nearer to each other in many places of the earth.
    needed = np.inf if data.coordinates == "latitude_longitude" else nearer_by
    for words, order, factor, coordinates, of_centre in _readings(
        data, assumptions.manifold, numbers.shape[1], names
    ):
        if of_centre and not is_centred:
            continue
        other, *near = _fit(assumptions, factor * numbers[:, order], coordinates)
        nearer = away[of_centre] / max(near[of_centre], 1e-300)
        is_better = other >= MOST and (share < MOST * other or nearer > needed)
        # Other factors are told from the same numbers without them by what is a matrix alone.
        plain = {"nilearn": "lower_triangle", "pyriemann": "ambient"}.get(coordinates)
        if is_better and (not plain or _fit(assumptions, numbers, plain)[0] < MOST * other):
            better.append((nearer, words))
    if better:
        least = max(better)[0] / ALIKE
        fitting = [words for nearer, words in sorted(better, reverse=True) if nearer >= least]
        return [f"most points {'look' if len(fitting) == 1 else 'may be'} {'; or '.join(fitting)}"]
    is_scaled = assumptions.manifold.in_units and assumptions.has_radii
    powers = (-3, 3, -2, 2, -6, 6, -1, 1, -4, 4, -5, 5)
    for power in powers if is_scaled and away[1] > nearer_by * assumptions.reach else ():
        *_, near = _fit(assumptions, 10.0**power * numbers, data.coordinates)
        if near <= assumptions.reach:
            return [
                "most points lie farther from public.centre than geodesics may be, and would not "
                f"if all were multiplied by 1e{power}: look whether the two are in one unit"
            ]
    return []


def _is_triangle(manifold, count):
    """Whether so many numbers are a triangle of a matrix."""
    return "lower_triangle" in manifold.coordinate_kinds and 1 < count == manifold.dim


def _are_correlations(manifold, numbers, tolerance=1e-5):
    """Whether numbers are lower triangles whose diagonals are one, divided by sqrt(2)."""
    if not _is_triangle(manifold, numbers.shape[1]):
        return False
    places, _ = upper_triangle("lower_triangle", manifold.dim)
    diagonal = places[np.equal(*np.triu_indices(manifold.size))]
    return np.all(np.abs(numbers[:, diagonal] - np.sqrt(0.5)) < tolerance)


def _fit(assumptions, numbers, coordinates):
    """Share of valid points, and median distances of these from each other and from the centre."""
    manifold = assumptions.manifold
    with np.errstate(all="ignore"):
        if coordinates == "unit":
            points = numbers / np.linalg.norm(numbers, axis=-1, keepdims=True)
        elif has_landmarks(manifold):
            points = manifold.from_landmarks(numbers[:, 0::2] + 1j * numbers[:, 1::2])
        else:
            points = manifold.from_layout(in_layout(numbers, coordinates))
            points[~are_read(numbers, coordinates)] = np.nan
        valid = manifold.are_points(points)
        points = manifold.project(points[valid])
        if not len(points):
            return 0.0, np.inf, np.inf
        spread = np.median(manifold.dist(middle_of(manifold, points), points))
        return np.mean(valid), spread, np.median(manifold.dist(assumptions.centre, points))


def _readings(data, manifold, count, names):
    """Usual other readings: words, order and factors of columns, and what these hold.

    Then whether it is the centre that they have to be nearer to.
    """
    same: Any = np.arange(count)
    order: Any

    def columns(order):
        return f"set columns to [{', '.join(names[each] for each in order)}]"

    if data.coordinates == "latitude_longitude":
        words = f"as if latitude and longitude were swapped: {columns([1, 0])}"
        yield words, [1, 0], 1.0, data.coordinates, False
    elif _is_triangle(manifold, count):
        for each in ("ambient", *TRIANGLES):
            if each != data.coordinates and each in ("ambient", *manifold.coordinate_kinds):
                yield f"{AS[each]}: set coordinates to {each}", same, 1.0, each, False
        if manifold.size != 3:
            upper = list(zip(*np.triu_indices(manifold.size), strict=True))
            entries = sorted(upper, key=lambda pair: pair[0] != pair[1])
            order = [entries.index(pair) for pair in upper]
            words = f"as if the diagonal came first: {columns(order)} and coordinates to ambient"
            yield words, order, 1.0, "ambient", False
    elif manifold.other_orders:
        for words, order_of, of_centre in manifold.other_orders:
            order = order_of(count)
            yield f"{words}: {columns(order)}", order, 1.0, "ambient", of_centre
    elif isinstance(manifold, UnitNormSpace) and not has_landmarks(manifold):
        if data.coordinates in ANGLES:
            return
        if data.coordinates != "shares" and "shares" in manifold.coordinate_kinds:
            yield "like shares of a whole: set coordinates to shares", same, 1.0, "shares", False
        words = "like vectors of another length than 1: divide each by its length"
        yield words, same, 1.0, "unit", False
    elif has_landmarks(manifold):
        order = same.reshape(2, -1).T.ravel()
        if data.columns is not None:
            yield f"as if all x came before all y: {columns(order)}", order, 1.0, "ambient", True
        words = (
            "mirrored against public.centre, so that y points down or stands before x: turn the "
            "sign of y or swap the two, in the data or in the centre"
        )
        yield words, same, np.resize([1.0, -1.0], count), "ambient", True
        words = "as if landmarks ran the other way round than those of public.centre: reverse their"
        for each in _reversed(count // 2):
            order = same.reshape(-1, 2)[each].ravel()
            yield f"{words} order in the data or in the centre", order, 1.0, "ambient", True


def _reversed(number):
    """Landmarks in their reversed order, from the last one on and from the first."""
    order = np.arange(number)
    return order[::-1], -order % number


def mistaken_shapes(manifold, points, name_of, most_landmarks=60, fewest=32, far=2.0):
    """On single shapes that are near most others once two landmarks are swapped, or mirrored.

    Of ``points`` (n, *point_shape) as `read_data` has them; ``name_of`` names one by its index.
    Those ``far`` times the median distance away are tried; more landmarks lie along curves, and two
    are seldom swapped.
    """
    if not has_landmarks(manifold) or manifold.landmarks > most_landmarks:
        return []
    some = sampled(points)
    some = some[manifold.are_points(some)]
    if len(some) < fewest or manifold.point_shape != (manifold.landmarks,):
        return []
    middle = middle_of(manifold, some)
    usual, found = np.median(manifold.dist(middle, some)), []

    def are_far(points):
        with np.errstate(all="ignore"):
            return manifold.are_points(points) & (manifold.dist(middle, points) > far * usual)

    there = indices_where(are_far, points)
    away = manifold.dist(middle, points[there])
    pairs = list(combinations(range(manifold.landmarks), 2))
    orders = np.tile(np.arange(manifold.landmarks), (len(pairs), 1))
    for order, (first, second) in zip(orders, pairs, strict=True):
        order[[first, second]] = second, first
    for index in np.argsort(-away):
        shape = manifold.to_landmarks(points[there[index]])
        turned = [np.conj(shape), *(shape[each] for each in _reversed(len(shape)))]
        tried = manifold.from_landmarks(np.concatenate([shape[orders], turned]))
        near = manifold.dist(middle, tried)
        best = np.argmin(near)
        if far * near[best] > away[index]:
            continue
        # Of shapes that are their own mirror images both look right.
        alike = near[len(pairs) :] <= ALIKE * near[best]
        what = "it were mirrored" if alike[0] else ""
        if np.any(alike[1:]):
            what += f"{' or ' if what else ''}its landmarks ran the other way round"
        if best < len(pairs):
            first, second = pairs[best]
            what = f"landmarks {first + 1} and {second + 1} were swapped"
        found.append(
            f"{name_of(there[index])}: it looks as if {what}: correct it, or remove the record"
        )
    more = len(found) - SHOWN
    return found[:SHOWN] + ([f"{more} more shapes look mistaken, too"] if more > 0 else [])
