"""Errors of simulated releases in one table, one figure and one page."""

from reproduction.measurements.utility.figure import draw
from reproduction.measurements.utility.releases import (
    NOT_PRIVATE,
    PUBLISHED,
    RELEASED,
    WITHOUT_DATA,
)
from reproduction.measurements.words import cell, joined, markdown, number

# What stands beside releases in their table.
BESIDE = (PUBLISHED, NOT_PRIVATE, WITHOUT_DATA)


def summarise(tables, shown, **_):
    """The table, figure and text, by their output, from tables of spaces and n.

    Parameters
    ----------
    tables : list of path
    shown : list of float
        Budgets of the figure.
    """
    table = joined(tables)
    names = list(dict.fromkeys(table["space"]))
    table = table.assign(order=table["space"].map(names.index))
    table = table.sort_values(["order", "n"], kind="stable", ignore_index=True)
    table = table.drop(columns="order")
    return {"csv": table, "figure": draw(table, shown), "text": page(table)}


def page(table):
    """The text of ``utility.md``, from ``utility.csv``."""
    lines = [
        "# What a private geodesic is worth",
        "",
        "Root mean squared distance of released geodesics from the true one, averaged over the "
        "covariate's range. Data are simulated; public inputs are the assumptions that stand "
        "in every row of `utility.csv`, and stages follow from them. The budget of releases is "
        "proved to hold (`docs/guarantee.md`). **The budget of the mechanism as published does "
        "not hold**, and it is here for comparison only.",
        "",
        "Releases:",
        "",
        *_of_releases(table),
        "",
        _of_samplers(table[table["mechanism"] == PUBLISHED]),
        "",
    ]
    return "\n".join(lines)


def _of_releases(table):
    """Lines of a table of releases, beside them the errors of all else in their cells."""
    rows = []
    for case in table[table["mechanism"] == RELEASED].to_dict("records"):
        same = table[(table["space"] == case["space"]) & (table["n"] == case["n"])]
        same = same[same["budget"].isna() | (same["budget"] == case["budget"])]
        errors = same.set_index("mechanism")["curve_error"]
        values = [case["curve_error"], case["predicted"], *errors[list(BESIDE)]]
        said = [number(value) for value in values]
        if case["is_noise"]:
            said[0] += " (noise)"
        rows.append([case["space"], f"{case['n']:,}", f"{case['budget']:g}", *said])
    head = ["space", "n", "budget", "release", "predicted", *BESIDE]
    return markdown(head, rows) if rows else ["None were drawn."]


def _of_samplers(published):
    """What is known of the draws of the mechanism as published."""
    cut = published[published["cut_short"].astype(bool)]
    worst = published.loc[published["total_variation"].idxmax()]
    sentence = (
        "Draws of the mechanism as published are last states of chains: the estimated total "
        f"variation distance is at most {worst['total_variation']:.2g} ({cell(worst)})"
    )
    if len(cut):
        sentence += (
            f", and in {len(cut)} of {len(published)} cells more than was wanted: "
            + "; ".join(cell(case) for case in cut.to_dict("records"))
        )
    return f"{sentence}."
