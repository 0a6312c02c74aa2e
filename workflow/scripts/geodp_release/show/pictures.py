"""Figure of a release: predictions at several covariates, each with its confidence band.

A band is the picture of a ball: wherever in it the true prediction lies, what is drawn contains it.
"""

import io
from typing import Any

import numpy as np

from geodp.data.columns import has_landmarks
from geodp.data.coordinates import degrees_of, unit_vectors
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.spd import SPD
from geodp_release.show.doubts import WITHHELD
from geodp_release.show.picture_style import (
    BAND,
    CENTRE,
    LINE,
    NOBODY,
    POINT,
    STYLE,
    legend,
    new_figure,
    titled,
)
from geodp_release.show.shape_pictures import (
    _draw_change,
    picture_of_shapes,
    ring_between,
    two_rows,
)

# Most predictions, and covariates, in a figure.
PANELS, COVARIATES = 5, 9

# Points of a curve; and of one in many dimensions, where each takes a second.
POINTS = 121
FEW_POINTS = 13


def picture(release, settings, covariates, level):
    """The figure of predictions at covariates (m, k) as SVG, and what it shows in a sentence.

    Where there are no subjects it shows none.
    ``level`` is the probability of the bands; `ReleaseSettings` say what is called how.
    """
    import matplotlib as mpl

    assumptions = release.plan.assumptions
    manifold, withheld = assumptions.manifold, bool(release.doubts())
    at_each = "At any one covariate, the" if settings.names else "The"
    centre: dict[str, Any] | None = CENTRE
    if len(covariates) > PANELS:
        covariates = covariates[np.linspace(0, len(covariates) - 1, PANELS).round().astype(int)]
    titles = [
        [f"{name} {settings.value_words(k, row[k])}" for k, name in enumerate(settings.names)]
        for row in covariates
    ]
    with mpl.rc_context(STYLE):
        if has_landmarks(manifold):
            figure, caption, promise = picture_of_shapes(release, covariates, level, titles)
        elif isinstance(manifold, SPD) and manifold.size == 2:
            figure, caption, promise = _ellipses(release, covariates, level, titles)
        elif settings.view.is_geographic and not settings.view.is_axis:
            figure, caption, promise = _map(release, settings, level)
            # One that was not chosen may be anywhere.
            centre = CENTRE | POINT if settings.public.centre != "anywhere" else None
        else:
            figure, caption, promise = _coordinates(release, settings, level)
            if settings.view.is_shares:
                promise = "true shares lie within their bands"
            centre = CENTRE if assumptions.has_radii or not assumptions.is_flat else None
        chosen = settings.public.centre != "anywhere"
        what = ["middle of the space, for comparison", "public centre, chosen before"][chosen]
        legend(figure, None if withheld else level, centre, what)
        file = io.StringIO()
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    svg = file.getvalue()
    caption += (
        f" {WITHHELD} see below."
        if withheld
        else f" {at_each} {promise} with probability {100 * level:g} % or more"
        f"{'; at all covariates at once it is less' if settings.names else ''}."
    )
    return svg[svg.index("<svg") :], caption


def _ellipses(release, covariates, level, titles):
    matrices = release.predict(covariates)
    matrices[~release.has_subjects(covariates)] = np.nan
    factors = ellipse_factors(release.band(covariates, level))
    angles = np.linspace(0.0, 2.0 * np.pi, POINTS)
    directions = np.stack([np.cos(angles), np.sin(angles)])
    figure, upper, lower = two_rows(len(covariates), 1.0)
    before = ellipse_radii(release.plan.assumptions.centre, directions)
    for panel, change, matrix, factor in zip(upper, lower, matrices, factors, strict=True):
        found = ellipse_radii(matrix, directions)
        ellipse = found * directions
        ring = ring_between(factor * ellipse, ellipse / factor)
        panel.fill(*ring, color=BAND, linewidth=0.0, zorder=1)
        panel.plot(*(before * directions), **CENTRE)
        panel.plot(*ellipse, color=LINE, zorder=3)
        panel.set_aspect("equal")
        three = (found, found / factor, found * factor)
        percent = [100.0 * (radii / before - 1.0) for radii in three]
        _draw_change(change, np.rad2deg(angles), *percent)
        change.set_xticks([0.0, 180.0, 360.0])
    titled(upper, titles, matrices)
    lower[0].set_ylabel("radius against the\ncentre's (%)")
    lower[len(lower) // 2].set_xlabel("direction from the first axis (degrees)")
    return (
        figure,
        "Predicted matrices as ellipses, whose half axes are the roots of the eigenvalues. Below: "
        "radii of the ellipses in every direction, against those of the public centre.",
        "whole true ellipse lies within the ring",
    )


def ellipse_factors(radii):
    """Factors by which ellipses of matrices in balls about a matrix are wider than its own."""
    # Within the ball, quadratic forms of the inverse change by a factor exp(+-radius) at most.
    return np.exp(0.5 * np.asarray(radii))


def ellipse_radii(matrix, directions):
    """Distances (m,) of an ellipse from its centre; its half axes are roots of the eigenvalues."""
    return 1.0 / np.sqrt(np.sum(directions * np.linalg.solve(matrix, directions), axis=0))


def _map(release, settings, level, in_a_row=3):
    """A map for each covariate: the curve of predictions, and the balls about it."""
    names, is_chosen = settings.names[:COVARIATES], settings.public.centre != "anywhere"
    views = _views(release, settings)
    columns = min(len(views), in_a_row)
    lines = -(-len(views) // columns)
    figure = new_figure(4.4 * columns + 0.4, 3.9 * lines)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for panel in panels[len(views) :]:
        panel.set_visible(False)
    for panel, (index, label, rows) in zip(panels, views, strict=False):
        # Of products there are several along a covariate.
        is_curve = bool(names) and release.plan.assumptions.terms.is_curve(index)
        panel.set_title(label if is_curve or len(views) > len(names) else None)
        is_group = not names or release.plan.assumptions.groups[index]
        there = release.has_subjects(rows)
        if not np.any(there):
            panel.set_title(NOBODY)
            continue
        found = release.predict(rows), release.band(rows, level), there
        line = _draw_map(panel, release.plan.assumptions.centre, is_chosen, is_group, *found)
        panel.set(xlabel="longitude (degrees)", ylabel="latitude (degrees)")
        panel.xaxis.set_major_formatter(lambda value, _: settings.view.longitude(value))
        ends, inner = np.flatnonzero(there), ()
        if names and not is_group:
            # Along a curve also between.
            number = PANELS if is_curve else 2
            ends = ends[np.linspace(0, len(ends) - 1, number).astype(int)]
            inner = ends[1:-1]
            panel.plot(*line[inner].T, color=LINE, **POINT | {"marker": "o"})
        for end in ends if names else ():
            at, width = rows[end, index], np.ptp(release.plan.assumptions.ranges[index])
            if is_curve:
                # Of many, in few digits: the title has the name.
                value = f"{np.round(at, -int(np.floor(np.log10(width / 100)))):g}"
            else:
                value = f"{names[index]} {settings.value_words(index, at)}"
            # Into the map, or beside the curve, and away from its middle.
            middle = np.nanmean(line, axis=0)
            is_left = line[end][0] < middle[0]
            x = (-7 if is_left else 7) if end in inner else 0
            place: dict[str, Any] = {"xytext": (x, -15 if line[end][1] < middle[1] else 9)}
            place["ha"] = "left" if is_left == (end not in inner) else "right"
            panel.annotate(value, line[end], textcoords="offset points", fontsize=8, **place)
        if lines == 1:
            tall = panel.get_aspect() * panel.get_data_ratio()
            figure.set_figheight(4.0 * min(tall, 1.3) + 0.8)
    several = f"curve{'s' if len(views) > len(names) else ''} along {' and '.join(names)}"
    what = several if names else "mean"
    note = "" if np.all(there) else " It ends where subjects are too few, by noisy moments."
    return (
        figure,
        f"Map of the released {what}{_others(release, settings)}.{note}",
        "true point lies within a ball about the released one, and the shaded region is all these "
        "balls: it does so",
    )


def _draw_map(panel, centre, is_chosen, is_group, points, radii, there, lowest=0.4):
    """Draw points (m, 3), balls about them and a centre; longitudes and latitudes (m, 2)."""
    reach = np.degrees(np.nan_to_num(radii))
    places = degrees_of(np.concatenate([points, centre[None]]))[:, ::-1]
    places[:, 0] = np.unwrap(places[:, 0], period=360.0)
    line, place = places[:-1], places[-1:]
    # How far a ball reaches along parallels, at most, but about a pole.
    nearest = np.minimum(np.abs(line[:, 1]) + reach, 85.0)
    sides = (reach / np.cos(np.radians(nearest)))[:, None]
    corners = np.concatenate([(line - sides)[there], (line + sides)[there]])
    if is_chosen:
        panel.plot(*place.T, **CENTRE | POINT)
        corners = np.concatenate([corners, place])
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    edge = 0.08 * (high - low) + 0.1
    parallels = np.cos(np.radians(0.5 * (low + high)[1]))
    edge[1] = max(edge[1], 0.5 * (lowest * parallels * (high - low)[0] - (high - low)[1]))
    low, high = np.maximum(low - edge, [-np.inf, -90.0]), np.minimum(high + edge, [np.inf, 90.0])
    grid = np.stack(np.meshgrid(*np.linspace(low, high, 2 * POINTS).T), axis=-1)
    beyond = np.arccos(np.clip(unit_vectors(grid[..., ::-1]) @ points[there].T, -1.0, 1.0))
    within = np.min(beyond - np.radians(reach)[there], axis=-1)
    panel.contourf(*np.moveaxis(grid, -1, 0), within, [-np.pi, 0.0], colors=[BAND])
    line[~there] = np.nan
    panel.plot(*line.T, color=LINE, **POINT | {"marker": "o"} if is_group else {})
    panel.grid(color="0.88", linewidth=0.6)
    panel.set_aspect(1.0 / max(np.cos(np.radians(0.5 * (low + high)[1])), 0.25))
    return line


def _coordinates(release, settings, level, most=9):
    """Panels of each covariate, the others at `Release.usual`: a row of responses, or one panel."""
    views = _views(release, settings)
    names, several = [name for _, name, _ in views], len(views) > 1
    found = [_along(release, level, index, rows, settings) for index, _, rows in views]
    *_, what, names_of = found[0]
    number = found[0][1].shape[-1]
    responses = names_of or settings.labels(settings.responses)
    shown = min(number, 3 if several else most)
    is_row = several and shown > 1
    columns = shown if is_row else min(shown * len(names), 3)
    rows = len(names) if is_row else -(-shown * len(names) // columns)
    figure = new_figure(2.4 * columns + 0.4, 1.9 * rows + 0.5)
    share = {"sharex": "row" if is_row else not several, "sharey": "col" if is_row else several}
    panels = figure.subplots(rows, columns, squeeze=False, **share)
    for row, (name, along) in enumerate(zip(names, found, strict=True)):
        covariates, values, low, high, before, *_ = along
        column = views[row][0]
        is_group = not settings.names or release.plan.assumptions.groups[column]
        some = panels[row] if is_row else panels.ravel()[row * several :]
        for index, panel in enumerate(some):
            panel.set_visible(index < shown)
            if index >= shown:
                continue
            line = values[:, index]
            panel.axhline(before[index], **CENTRE)
            if is_group:
                width = 0.4 / len(covariates) * (np.ptp(covariates) or 1.0)
                panel.bar(covariates, (high - low)[:, index], width, low[:, index], color=BAND)
                panel.hlines(line, covariates - 0.3 * width, covariates + 0.3 * width, color=LINE)
                ticks = covariates if settings.names else []
                panel.set_xticks(ticks, [settings.value_words(column, each) for each in ticks])
                panel.margins(x=0.05 if settings.names else 2.0)
            else:
                limits = low[:, index], high[:, index]
                panel.fill_between(covariates, *limits, color=BAND, linewidth=0)
                panel.plot(covariates, line, color=LINE)
                panel.set_xlim(covariates[0], covariates[-1])
            if row == 0:
                panel.set_title(responses[index])
            if settings.view.angle:
                panel.yaxis.set_major_formatter(lambda value, _: settings.view.words(value))
            if several or index + columns >= shown:
                panel.set_xlabel(name)
                # Also where the last row has no panel below.
                panel.tick_params(labelbottom=True)
    first = f", the first {shown} of {number}," if shown < number else ""
    against = " against the covariate" if settings.names else ", the mean"
    if several:
        against = f" against each covariate{_others(release, settings)}"
    ends = any(np.any(np.isnan(values)) for _, values, *_ in found)
    few = (
        bool(settings.names) and _number_of_points(release.plan.assumptions.manifold) == FEW_POINTS
    )
    joined = f" Predictions are computed at {FEW_POINTS} covariates and joined by lines."
    return (
        figure,
        f"{what}{first}{against}.{joined if few else ''}"
        f"{' Lines end where subjects are too few.' if ends else ''}",
        "true value lies within its band" if number == 1 else "true values lie within their bands",
    )


def _number_of_points(manifold):
    many_dimensions = 200
    return POINTS if manifold.dim <= many_dimensions else FEW_POINTS


def _others(release, settings):
    """At which covariates others are, as `_views` has them, in words; nothing if there are none."""
    names, usual = settings.names, release.usual
    if len(names) < 2:
        return ""
    at = [f"{name} {settings.value_words(k, usual[k])}" for k, name in enumerate(names)]
    shown = f"; the first {COVARIATES} of {len(names)} covariates are shown"
    return f", with the others at {', '.join(at)}{shown if len(names) > COVARIATES else ''}"


def _views(release, settings):
    """What is drawn along: index of a covariate, its label, and covariates (m, c) along its range.

    For the first covariates, with others at `Release.usual`; where effects go together also in
    each further group.
    """
    assumptions, names = release.plan.assumptions, settings.labels(settings.names)
    number = _number_of_points(assumptions.manifold)
    if not names:
        return [(0, "", np.zeros((1, 0)))]
    found = []
    for index, name in enumerate(names[:COVARIATES]):
        values = assumptions.along(index, number)
        rows = np.tile(release.usual, (len(values), 1))
        rows[:, index] = values
        found.append((index, name, rows))
        pairs = [pair for pair in assumptions.terms.products if index in pair]
        for other in {*sum(pairs, ())} - {index}:
            for value in assumptions.along(other, 2)[1:] if assumptions.groups[other] else ():
                moved = rows.copy()
                moved[:, other] = value
                word = settings.value_words(other, value)
                found.append((index, f"{name}, {settings.names[other]} {word}", moved))
    return found


def _along(release, level, index, rows, settings):
    """Covariates along a range, and what is drawn there: the fields of a `Drawn`."""
    assumptions = release.plan.assumptions
    manifold, centre = assumptions.manifold, assumptions.centre
    points, radii = release.predict(rows), release.band(rows, level)
    found = settings.view.drawn(centre, points, radii)
    values, low, high, before, what, names = found
    if isinstance(manifold, Euclidean):
        # A centre that is no guess, such as zero, is not worth the room.
        before = before if assumptions.has_radii else np.full(len(before), np.nan)
        what = "The prediction" if manifold.dim == 1 else "Predictions"
    values = np.where(release.has_subjects(rows)[:, None], values, np.nan)
    along = rows[:, index] if rows.size else np.zeros(1)
    return along, values, low, high, before, what, names
