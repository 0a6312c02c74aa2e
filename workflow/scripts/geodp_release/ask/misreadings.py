"""Other readings of a table that fit better than its settings, for the holder's eyes alone.

Of each space, and of covariates, the usual mistakes are tried: columns in another order, other
units, mirrored landmarks.
"""

import numpy as np

from geodp.data.angles import ANGLES
from geodp.data.columns import has_landmarks, told_columns
from geodp.data.coordinates import are_read, in_layout
from geodp.data.large import finite_ones, in_turn
from geodp.data.triangles import TRIANGLES, upper_triangle
from geodp.manifolds.unit_norm import UnitNormSpace
from geodp_release.ask.inspection import middle_of


def misreadings(settings, numbers, names, most=0.9):
    """Sentences on readings of a table that fit better, with what to change; not private.

    ``numbers`` (n, m + k) are those of coordinates and covariates, as the file has them, and
    ``names`` those of the m coordinates.  A reading fits if ``most`` of the records are valid by
    it, or their covariates in range.
    """
    coordinates, covariates = np.split(numbers, [len(names)], axis=1)
    found = _of_covariates(settings, covariates, coordinates, names, most)
    if settings.data.outline:
        return found
    named = _named_otherwise(settings.data, settings.public.manifold.name, names)
    return found + (named or _of_points(settings, coordinates, names, most))


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


def _of_covariates(settings, covariates, coordinates, names, most):
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
            tried = dict(_in_other_units(given))
        fitting = [words for words in tried if _inside(tried[words], limits) >= most]
        swapped = [
            other
            for other, values in zip(names, coordinates.T, strict=True)
            if _inside(finite_ones(values), limits) >= most
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


def _in_other_units(numbers):
    """What a covariate may have been given in, and its numbers if it was."""
    for factor, small, large in (
        (12.0, "months", "years"),
        (365.25, "days", "years"),
        (100.0, "percent", "fractions"),
        (1000.0, "thousandths", "whole units"),
    ):
        yield f"{small} and not in {large}: divide by {factor:g}", numbers / factor
        yield f"{large} and not in {small}: multiply by {factor:g}", numbers * factor
    yield "natural logarithms: take their exponentials", np.exp(numbers)
    yield "decimal logarithms: raise 10 to them", 10.0**numbers


def _inside(values, limits):
    """Share of values within limits; one of none."""
    return np.mean((values >= limits[0]) & (values <= limits[1])) if len(values) else 1.0


def _of_points(settings, given, names, most, tried=2000, nearer_by=2.0, alike=1.5):
    """On points that fit better as another reading of the first numbers has them.

    Or that it brings ``nearer_by`` times nearer to each other, or to the public centre; readings
    fit alike that bring them nearer by the same up to a factor.
    """
    data, assumptions = settings.data, settings.assumptions
    manifold, numbers = assumptions.manifold, given[:0]
    for some in in_turn(given):
        there = given[some][np.all(np.isfinite(given[some]), axis=-1)]
        numbers = np.concatenate([numbers, there])[:tried]
        if len(numbers) == tried:
            break
    if not len(numbers):
        return []
    is_place = data.coordinates == "latitude_longitude"
    limits = np.pi * np.array([0.5, 2.0] if is_place else [2.0])
    if data.coordinates in ("latitude_longitude", "degrees", "compass") and np.all(
        np.abs(numbers) <= limits
    ):
        return [
            f"columns {' and '.join(names)}: all angles are below 2 pi, as radians are: convert "
            "them to degrees"
        ]
    if data.coordinates != "nilearn" and _are_correlations(manifold, numbers):
        return [
            "all entries on the diagonal are 0.7071, as those of correlation matrices in vectors "
            "of nilearn are: coordinates may have to be nilearn"
        ]
    is_centred = settings.public.centre != "anywhere"
    share, *away = _fit(assumptions, numbers, data.coordinates)
    better = []
    # Swapped angles are nearer to each other in many places of the earth.
    needed = np.inf if is_place else nearer_by
    for words, others, coordinates, of_centre in _readings(data, manifold, numbers, names):
        if of_centre and not is_centred:
            continue
        valid, *near = _fit(assumptions, others, coordinates)
        nearer = away[of_centre] / max(near[of_centre], 1e-300)
        is_better = valid >= most and (share < most * valid or nearer > needed)
        # Other factors are told from the same numbers without them by what is a matrix alone.
        plain = {"nilearn": "lower_triangle", "pyriemann": "ambient"}.get(coordinates)
        if is_better and (not plain or _fit(assumptions, numbers, plain)[0] < most * valid):
            better.append((nearer, words))
    if better:
        least = max(better)[0] / alike
        best = sorted(better, reverse=True)
        fitting = [*dict.fromkeys(words for nearer, words in best if nearer >= least)]
        return [f"most points {'look' if len(fitting) == 1 else 'may be'} {'; or '.join(fitting)}"]
    is_scaled = manifold.in_units and assumptions.has_radii
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
        if has_landmarks(manifold):
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


def _readings(data, manifold, numbers, names):
    """Usual other readings: words, numbers in that order, and what these hold.

    Then whether it is the centre that they have to be nearer to.
    """
    count = numbers.shape[1]

    def reordered(words, order, of_centre=False, coordinates="ambient"):
        advice = f"set columns to [{', '.join(names[each] for each in order)}]"
        return f"{words}: {advice}", numbers[:, order], coordinates, of_centre

    if data.coordinates == "latitude_longitude":
        words = "as if latitude and longitude were swapped"
        yield reordered(words, [1, 0], coordinates=data.coordinates)
    elif _is_triangle(manifold, count):
        for each in ("ambient", *TRIANGLES):
            if each != data.coordinates and each in ("ambient", *manifold.coordinate_kinds):
                yield f"like triangles of others: set coordinates to {each}", numbers, each, False
    elif manifold.other_orders:
        for words, order_of, of_centre in manifold.other_orders:
            yield reordered(words, order_of(count), of_centre)
    elif has_landmarks(manifold):
        pairs = np.arange(count).reshape(-1, 2)
        if data.columns is not None:
            order = np.arange(count).reshape(2, -1).T.ravel()
            yield reordered("as if all x came before all y", order, True)
        words = (
            "mirrored against public.centre, so that y points down or stands before x: turn the "
            "sign of y or swap the two, in the data or in the centre"
        )
        yield words, numbers * np.resize([1.0, -1.0], count), "ambient", True
        words = (
            "as if landmarks ran the other way round than those of public.centre: reverse their "
            "order in the data or in the centre"
        )
        # From the last one on, and from the first.
        for order in (pairs[::-1], np.roll(pairs[::-1], 1, axis=0)):
            yield words, numbers[:, order.ravel()], "ambient", True
    elif isinstance(manifold, UnitNormSpace) and data.coordinates not in ANGLES:
        if data.coordinates != "shares" and "shares" in manifold.coordinate_kinds:
            yield "like shares of a whole: set coordinates to shares", numbers, "shares", False
        with np.errstate(all="ignore"):
            directions = numbers / np.linalg.norm(numbers, axis=-1, keepdims=True)
        words = "like vectors of another length than 1: divide each by its length"
        yield words, directions, "ambient", False
