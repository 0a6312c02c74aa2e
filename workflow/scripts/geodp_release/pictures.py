"""Figure of a release: predictions at several covariates, each with its confidence band.

A band is the picture of a ball: wherever in it the true prediction lies, what is drawn contains it.
"""

import io
from typing import Any

import numpy as np

from geodp.data.landmarks import signed_area
from geodp.data.records import has_landmarks
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.spd import SPD
from geodp_release.doubts import WITHHELD
from geodp_release.simulation import TWO_GROUPS

LINE, BAND = "#14315f", "#a9c4e2"
NOBODY = "no subjects here"
CENTRE: dict[str, Any] = {"color": "0.5", "linewidth": 0.9, "linestyle": "--", "zorder": 2}

# Most predictions and coordinates in a figure.
PANELS, COORDINATES = 5, 6

# From so many landmarks on an outline is a curve, and its band a tube about it.
CURVED = 21

# Points of a curve.
POINTS = 121

# Step of differences in the radii of landmarks.
STEP = 1e-6

STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    # A covariate may be called anything, and signs of a formula in it are no formula.
    "text.parse_math": False,
    # Text stays text, and the same figure gives the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "geodp",
}


def picture(release, covariates, level, names):
    """The figure of predictions at covariates (m, k) as SVG, and what it shows in a sentence.

    Where there are no subjects it shows none.
    ``level`` is the probability of the bands, and ``names`` are those of the covariates.
    """
    import matplotlib as mpl

    manifold, withheld = release.plan.assumptions.manifold, bool(release.doubts())
    if len(covariates) > PANELS:
        covariates = covariates[np.linspace(0, len(covariates) - 1, PANELS).round().astype(int)]
    with mpl.rc_context(STYLE):
        if has_landmarks(manifold):
            figure, caption, promise = _shapes(release, covariates, level, names)
        elif isinstance(manifold, SPD) and manifold.size == 2:
            figure, caption, promise = _ellipses(release, covariates, level, names)
        elif not names:
            figure, caption, promise = _mean_coordinates(release, level)
        else:
            figure, caption, promise = _coordinates(release, level, names)
        _legend(figure, None if withheld else level)
        file = io.StringIO()
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
    svg = file.getvalue()
    caption += (
        f" {WITHHELD} see below."
        if withheld
        else f" {promise} with probability {100 * level:g} % or more."
    )
    return svg[svg.index("<svg") :], caption


def landmarks_of(manifold, centre, points):
    """Landmarks (m, k) of shapes (m, ...), turned as the centre is."""
    return manifold.to_landmarks(manifold.align(np.broadcast_to(centre, points.shape), points))


def landmark_radii(manifold, points, radii):
    """Radii (m, k) of discs about landmarks that hold those of every shape within balls (m,).

    To first order in the radii.
    """
    frames = manifold.frame(points)
    starts = np.broadcast_to(points[:, None], frames.shape)
    moved = manifold.to_landmarks(manifold.exp(starts, STEP * frames))
    moved = (moved - manifold.to_landmarks(points)[:, None]) / STEP
    # Of each landmark the two rows of its derivative, whose norm is how far it gets at most.
    derivatives = np.stack([moved.real, moved.imag], axis=-1).transpose(0, 2, 3, 1)
    return np.linalg.norm(derivatives, 2, axis=(-2, -1)) * np.asarray(radii)[:, None]


def _figure(width, height):
    # As long to import as the rest of a release.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _legend(figure, level):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=LINE, label="released prediction"),
        Line2D([], [], **CENTRE, label="public centre, chosen before"),
    ]
    if level is not None:
        handles.insert(1, Patch(facecolor=BAND, label=f"{100 * level:g} % band"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=8)


def _shapes(release, covariates, level, names):
    assumptions = release.plan.assumptions
    manifold, centre = assumptions.manifold, assumptions.centre
    points = manifold.align(
        np.broadcast_to(centre, (len(covariates), *centre.shape)), release.predict(covariates)
    )
    there = release.has_subjects(covariates)[:, None]
    shapes = np.where(there, manifold.to_landmarks(points), np.nan)
    radii = landmark_radii(manifold, points, release.band(covariates, level))
    before = manifold.to_landmarks(centre)
    if manifold.landmarks >= CURVED:
        figure = _outlines(covariates, before, shapes, radii, names)
        what = "whole true outline lies within the band"
        below = (
            " Below: how far outlines lie outside the public centre's, in percent of their size, "
            "along the outline from its first landmark on."
        )
    else:
        from matplotlib.patches import Circle

        figure = _figure(1.75 * len(covariates) + 0.4, 1.75 * _height(before) + 0.7)
        panels = figure.subplots(1, len(covariates), squeeze=False, sharex=True, sharey=True)[0]
        for panel, shape, radius in zip(panels, shapes, radii, strict=True):
            for place, size in zip(shape, radius, strict=True):
                disc = Circle((place.real, place.imag), size, color=BAND, linewidth=0.0, zorder=1)
                if np.isfinite(size):
                    panel.add_patch(disc)
            _draw_shape(panel, before, shape, marker="o", markersize=1.8, linewidth=0.8)
        what, below = "landmarks of the true shape all lie within their discs", ""
        _title(panels, covariates, names, shapes)
    at_each = "At each covariate, the" if names else "The"
    return figure, f"Predicted shapes, of unit size and turned alike.{below}", f"{at_each} {what}"


def _outlines(covariates, before, shapes, radii, names):
    figure, upper, lower = _two_rows(len(covariates), _height(before))
    normal = outward_normals(before)
    along = np.linspace(0.0, 1.0, len(before) + 1)
    for outline, change, shape, radius in zip(upper, lower, shapes, radii, strict=True):
        sides = [
            closed_curve(shape + side * radius * outward_normals(shape)) for side in (1.0, -1.0)
        ]
        outline.fill(*ring_between(*sides), color=BAND, linewidth=0.0, zorder=1)
        _draw_shape(outline, before, shape)
        away = _wrapped(100.0 * ((shape - before) * np.conj(normal)).real)
        band = _wrapped(100.0 * radius)
        _draw_change(change, along, away, away - band, away + band)
        change.set_xticks([0.0, 0.5, 1.0])
    _title(upper, covariates, names, shapes)
    lower[0].set_ylabel("outside the centre\n(% of size)")
    lower[len(lower) // 2].set_xlabel("position along the outline")
    return figure


def _two_rows(number, height):
    """A figure with panels of so many pictures of a height, in units of their width, and below."""
    width = 1.9
    heights = [width * height + 0.3, 1.5]
    figure = _figure(width * number + 0.6, sum(heights) + 0.7)
    upper, lower = figure.subplots(
        2, number, squeeze=False, sharex="row", sharey="row", height_ratios=heights
    )
    return figure, upper, lower


def ring_between(outer, inner):
    """The closed polygon between two closed curves."""
    return np.concatenate([outer, np.array(inner)[:, ::-1]], axis=1)


def _draw_change(panel, x, line, low, high):
    panel.fill_between(x, low, high, color=BAND, linewidth=0.0)
    panel.axhline(0.0, **CENTRE)
    panel.plot(x, line, color=LINE)


def _draw_shape(panel, before, shape, **marks):
    panel.plot(*closed_curve(before), **CENTRE)
    panel.plot(*closed_curve(shape), **{"color": LINE, "zorder": 3} | marks)
    panel.set_aspect("equal")
    panel.set_axis_off()


def _title(panels, covariates, names, predictions):
    """Titles with the covariates; predictions are NaN where there are no subjects."""
    for panel, row, prediction in zip(panels, covariates, predictions, strict=True):
        parts = [f"{name} {value:g}" for name, value in zip(names, row, strict=True)]
        panel.set_title("\n".join(parts if np.all(np.isfinite(prediction)) else [*parts, NOBODY]))


def _height(shape):
    """Height of a shape in units of its width."""
    return float(np.ptp(shape.imag) / max(np.ptp(shape.real), 1e-9))


def outward_normals(outline):
    """Unit vectors that point outward at the landmarks of a closed outline."""
    tangents = np.roll(outline, -1) - np.roll(outline, 1)
    inside = np.sign(signed_area(outline))
    return -1j * inside * tangents / np.maximum(np.abs(tangents), 1e-300)


def _wrapped(values):
    """Values along a closed outline, the first once more at the end."""
    return np.append(values, values[:1])


def closed_curve(shape):
    around = _wrapped(shape)
    return around.real, around.imag


def _ellipses(release, covariates, level, names):
    matrices = release.predict(covariates)
    matrices[~release.has_subjects(covariates)] = np.nan
    factors = ellipse_factors(release.band(covariates, level))
    angles = np.linspace(0.0, 2.0 * np.pi, POINTS)
    directions = np.stack([np.cos(angles), np.sin(angles)])
    figure, upper, lower = _two_rows(len(covariates), 1.0)
    before = ellipse_radii(release.plan.assumptions.centre, directions)
    for panel, change, matrix, factor in zip(upper, lower, matrices, factors, strict=True):
        found = ellipse_radii(matrix, directions)
        ellipse = found * directions
        ring = ring_between(factor * ellipse, ellipse / factor)
        panel.fill(*ring, color=BAND, linewidth=0.0, zorder=1)
        panel.plot(*(before * directions), **CENTRE)
        panel.plot(*ellipse, color=LINE, zorder=3)
        panel.set_aspect("equal")
        percent = [
            100.0 * (each / before - 1.0) for each in (found, found / factor, found * factor)
        ]
        _draw_change(change, np.rad2deg(angles), *percent)
        change.set_xticks([0.0, 180.0, 360.0])
    _title(upper, covariates, names, matrices)
    lower[0].set_ylabel("radius against the\ncentre's (%)")
    lower[len(lower) // 2].set_xlabel("direction from the first axis (degrees)")
    at_each = "At each covariate, the" if names else "The"
    return (
        figure,
        "Predicted matrices as ellipses, whose half axes are the roots of the eigenvalues. Below: "
        "radii of the ellipses in every direction, against those of the public centre.",
        f"{at_each} whole true ellipse lies within the ring",
    )


def ellipse_factors(radii):
    """Factors by which ellipses of matrices in balls about a matrix are wider than its own."""
    # Within the ball, quadratic forms of the inverse change by a factor exp(+-radius) at most.
    return np.exp(0.5 * np.asarray(radii))


def ellipse_radii(matrix, directions):
    """Distances (m,) of an ellipse from its centre; its half axes are roots of the eigenvalues."""
    return 1.0 / np.sqrt(np.sum(directions * np.linalg.solve(matrix, directions), axis=0))


def _coordinates(release, level, names):
    """A row of panels for each covariate, the others in their middle; of one as many as need be."""
    several = len(names) > 1
    found = [_along(release, level, index) for index in range(len(names))]
    *_, what = found[0]
    number = found[0][1].shape[-1]
    shown = min(number, 3 if several else COORDINATES)
    columns = min(shown, 3)
    rows = len(names) if several else -(-shown // columns)
    figure = _figure(2.4 * columns + 0.4, 1.9 * rows + 0.5)
    share = {"sharex": "row", "sharey": "col"} if several else {"sharex": True}
    panels = figure.subplots(rows, columns, squeeze=False, **share)
    for row, (name, along) in enumerate(zip(names, found, strict=True)):
        covariates, values, radius, before, _ = along
        some = panels[row] if several else panels.ravel()
        for index, panel in enumerate(some):
            panel.set_visible(index < shown)
            if index >= shown:
                continue
            line = values[:, index]
            panel.axhline(before[index], **CENTRE)
            if len(covariates) == 2:
                width = 0.2 * np.ptp(covariates)
                panel.bar(covariates, 2.0 * radius, width, line - radius, color=BAND)
                panel.hlines(line, covariates - 0.3 * width, covariates + 0.3 * width, color=LINE)
                panel.set_xticks(covariates)
            else:
                panel.fill_between(
                    covariates, line - radius, line + radius, color=BAND, linewidth=0
                )
                panel.plot(covariates, line, color=LINE)
                panel.set_xlim(covariates[0], covariates[-1])
            if row == 0:
                panel.set_title(f"coordinate {index + 1}")
            if several or index + columns >= shown:
                panel.set_xlabel(name)
    first = f", the first {shown} of {number}" if shown < number else ""
    against = (
        "each covariate, with the others in their middle or first group"
        if several
        else "the covariate"
    )
    ends = any(np.any(np.isnan(values)) for _, values, *_ in found)
    return (
        figure,
        f"{what}{first}, against {against}."
        f"{' Lines end where there are no subjects.' if ends else ''}",
        "At each covariate, the true coordinates all lie within the bands",
    )


def _along(release, level, index):
    """Covariates along a range, coordinates of predictions there, their bands, and the centre's.

    Of two groups these are its ends.
    """
    assumptions = release.plan.assumptions
    low, high = assumptions.ranges[index]
    is_group = assumptions.spreads[index] == TWO_GROUPS
    rows = np.tile(assumptions.usual, (2 if is_group else POINTS, 1))
    rows[:, index] = np.linspace(low, high, len(rows))
    values, before, what = _coordinates_of(assumptions, release.predict(rows))
    values[~release.has_subjects(rows)] = np.nan
    return rows[:, index], values, release.band(rows, level), before, what


def _coordinates_of(assumptions, points):
    """Coordinates of points (m, coordinates), those of the centre, and what they are."""
    manifold, centre = assumptions.manifold, assumptions.centre
    # Neither chords, nor logarithms where curvature is negative, are longer than distances.
    if manifold.curvature_bounds[0] >= 0.0 or isinstance(manifold, Euclidean):
        return points.reshape(len(points), -1), centre.ravel(), "Coordinates of the prediction"
    values = manifold.coordinates(centre, manifold.log(centre, points))
    what = "Coordinates of the prediction's logarithm at the public centre"
    return values, np.zeros(values.shape[-1]), what


def _mean_coordinates(release, level):
    """Coordinates of a mean, side by side."""
    values, before, what = _coordinates_of(release.plan.assumptions, release.predict())
    places = np.arange(1, values.shape[-1] + 1)
    radius = float(release.band(level=level)[0])
    figure = _figure(min(2.0 + 0.35 * len(places), 8.0), 2.6)
    panel = figure.subplots()
    panel.bar(places, 2.0 * radius, bottom=values[0] - radius, width=0.5, color=BAND)
    panel.hlines(before, places - 0.35, places + 0.35, **CENTRE)
    panel.hlines(values[0], places - 0.25, places + 0.25, color=LINE)
    panel.set_xlabel("coordinate")
    panel.locator_params(axis="x", integer=True)
    return (
        figure,
        f"{what.replace('prediction', 'mean')}.",
        "The true coordinates all lie within the bars",
    )
