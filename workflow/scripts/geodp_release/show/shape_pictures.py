"""Figures of shapes: landmarks with rings, or outlines with tubes, and how they change."""

import numpy as np

from geodp.data.landmarks import crossing_edges, signed_area
from geodp_release.show.picture_style import BAND, CENTRE, LINE, new_figure, titled


def landmarks_of(manifold, centre, points):
    """Landmarks (m, k) of shapes (m, ...), turned as the centre is."""
    return manifold.to_landmarks(manifold.align(np.broadcast_to(centre, points.shape), points))


def landmark_radii(manifold, points, radii, step=1e-6):
    """Radii (m, k) of discs about landmarks that hold those of every shape within balls (m,).

    To first order in the radii, by differences.
    """
    frames = manifold.frame(points)
    starts = np.broadcast_to(points[:, None], frames.shape)
    moved = manifold.to_landmarks(manifold.exp(starts, step * frames))
    moved = (moved - manifold.to_landmarks(points)[:, None]) / step
    # Of each landmark the two rows of its derivative, whose norm is how far it gets at most.
    derivatives = np.stack([moved.real, moved.imag], axis=-1).transpose(0, 2, 3, 1)
    return np.linalg.norm(derivatives, 2, axis=(-2, -1)) * np.asarray(radii)[:, None]


def picture_of_shapes(release, covariates, level, titles, curved=21):
    """A figure, sentences on it, and what its band holds; ``curved`` landmarks are an outline."""
    assumptions = release.plan.assumptions
    manifold, centre = assumptions.manifold, assumptions.centre
    points = manifold.align(
        np.broadcast_to(centre, (len(covariates), *centre.shape)), release.predict(covariates)
    )
    there = release.has_subjects(covariates)[:, None]
    shapes = np.where(there, manifold.to_landmarks(points), np.nan)
    radii = landmark_radii(manifold, points, release.band(covariates, level))
    before = manifold.to_landmarks(centre)
    if manifold.landmarks >= curved:
        figure = _outlines(before, shapes, radii, titles)
        what = "whole true outline lies within the band"
        below = (
            " Below: how far outlines lie outside the public centre's, in percent of their size, "
            "along the outline from its first landmark on."
        )
    else:
        figure, factor = _landmarks(before, shapes, radii, titles)
        what = "landmarks of the true shape all lie within their discs"
        how = f"magnified {factor} times" if factor > 1 else "as they are"
        below = f" Below: moves away from the public centre, {how}."
    above = "Predicted shapes, of unit size and turned alike; the bar is a part of that size."
    return figure, f"{above}{below}", what


def _landmarks(before, shapes, radii, titles, factors=(2, 3, 5, 10, 20, 50, 100)):
    """A figure of shapes with discs about their landmarks, and by what factor moves are magnified.

    So that the longest is a quarter of the shape's size.
    """
    from matplotlib.patches import Circle

    longest = np.max(np.abs(shapes - before), initial=0.0, where=np.isfinite(shapes))
    factor = max([1, *(each for each in factors if each * longest < 0.25 * np.ptp(before.real))])
    figure, upper, lower = two_rows(len(titles), _height(before), is_same=True)
    for panels, times in ((upper, 1), (lower, factor)):
        moved = before + times * (shapes - before)
        for panel, shape, radius in zip(panels, moved, radii, strict=True):
            for place, size in zip(shape, times * radius, strict=True):
                disc = Circle((place.real, place.imag), size, color=BAND, linewidth=0.0, zorder=1)
                if np.isfinite(size):
                    panel.add_patch(disc)
            _draw_shape(panel, before, shape, marker="o", markersize=1.8, linewidth=0.8)
    scale_bar(upper[0], before)
    scale_bar(lower[0], before, factor)
    titled(upper, titles, shapes)
    return figure, factor


def _outlines(before, shapes, radii, titles):
    figure, upper, lower = two_rows(len(titles), _height(before))
    normal = outward_normals(before)
    along = np.linspace(0.0, 1.0, len(before) + 1)
    for outline, change, shape, radius in zip(upper, lower, shapes, radii, strict=True):
        width = radius * outward_normals(shape)
        ring = ring_between(closed_curve(shape + width), closed_curve(shape - width))
        outline.fill(*ring, color=BAND, linewidth=0.0, zorder=1)
        _draw_shape(outline, before, shape)
        away = _wrapped(100.0 * ((shape - before) * np.conj(normal)).real)
        band = _wrapped(100.0 * radius)
        _draw_change(change, along, away, away - band, away + band)
        change.set_xticks([0.0, 0.5, 1.0])
    scale_bar(upper[0], before)
    titled(upper, titles, shapes)
    lower[0].set_ylabel("outside the centre\n(% of size)")
    lower[len(lower) // 2].set_xlabel("position along the outline")
    return figure


def two_rows(number, height, is_same=False):
    """A figure with panels of so many pictures of a height, in units of their width, and below.

    Those below have the height of a curve, or ``is_same`` as the pictures.
    """
    width = 1.9
    heights = [width * height + 0.3, width * height if is_same else 1.5]
    figure = new_figure(width * number + 0.6, sum(heights) + 0.7)
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


def scale_bar(panel, shape, times=1, parts=(0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.0)):
    """A bar of a part of the size below a shape; moves are so many times as long."""
    part = next(each for each in parts if each < 0.4 * np.ptp(shape.real))
    ends = np.min(shape.real) + np.array([0.0, part])
    # Below the panel, whatever else it shows.
    place = {"transform": panel.get_xaxis_transform(), "clip_on": False}
    panel.plot(ends, [-0.06, -0.06], color="black", linewidth=1.2, **place)
    words = f" {part / times:.2g} of size"
    panel.text(ends[1], -0.06, words, fontsize=7, verticalalignment="center", **place)


def _draw_shape(panel, before, shape, **marks):
    unjoined = {"linestyle": "none", "marker": "o", "markersize": 2.5}
    for each, style in ((before, CENTRE), (shape, {"color": LINE, "zorder": 3} | marks)):
        # Landmarks that are not in the order of an outline are not joined.
        is_joined = not np.all(np.isfinite(each)) or crossing_edges(each) is None
        panel.plot(*closed_curve(each), **style if is_joined else style | unjoined)
    panel.set_aspect("equal")
    panel.set_axis_off()


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
