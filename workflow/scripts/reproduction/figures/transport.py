"""A tangent vector carried in parallel around a triangle on the sphere."""

TABLE = "transport"
OF_MECHANISM = False


def draw(numbers, params):
    """Draw the figure; return it and the numbers that it shows."""
    import numpy as np

    from reproduction.figures.sphere_view import SphereView
    from reproduction.figures.style import CURVES, new_figure

    points = numbers[["point_1", "point_2", "point_3"]].to_numpy()
    vectors = numbers[["vector_1", "vector_2", "vector_3"]].to_numpy()
    middle = np.mean(points, axis=0)
    view = SphereView.facing(middle, along=points[len(points) // 3] - points[0])
    figure, axes = new_figure(1, 1, width=4.2, height=4.2)
    panel = axes[0, 0]
    view.draw_globe(panel)

    def arrow(place, vector, colour, width, label=None):
        start, end = view.flat(np.stack([place, place + vector]))
        style = {"arrowstyle": "-|>", "color": colour, "linewidth": width}
        style |= {"shrinkA": 0, "shrinkB": 0}
        panel.annotate("", xy=end, xytext=start, arrowprops=style, zorder=4)
        if label:
            aside = 0.11 * (end - start) / np.linalg.norm(end - start)
            panel.text(*(end + aside), label, color=colour, ha="center", va="center")

    panel.plot(*view.flat(points).T, color="0.35", linewidth=1.2, zorder=3)
    # An arrow at every fifth place.
    for place, vector in zip(points[5:-5:5], vectors[5:-5:5], strict=True):
        arrow(place, vector, "0.6", 0.8)
    arrow(points[0], vectors[0], CURVES[0].colour, 2.0, "before")
    arrow(points[-1], vectors[-1], CURVES[1].colour, 2.0, "after")
    turned, area = numbers["angle_after_loop"].iloc[0], numbers["enclosed_area"].iloc[0]
    panel.set_title(
        f"turned by {turned:.4f} rad after the loop, which encloses an area of {area:.4f}"
    )
    panel.set_aspect("equal")
    panel.axis("off")
    return figure, numbers
