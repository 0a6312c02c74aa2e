"""What simulated releases show, in words made from their numbers."""

from reproduction.measurements.utility.releases import (
    NOT_PRIVATE,
    PUBLISHED,
    RELEASED,
    WITHOUT_DATA,
)
from reproduction.measurements.words import cell, number

# What stands beside releases in their table.
BESIDE = (PUBLISHED, NOT_PRIVATE, WITHOUT_DATA)


def paragraph(table):
    """The text of ``utility.md``.

    Parameters
    ----------
    table : pandas.DataFrame
        As ``utility.csv``.

    Returns
    -------
    str
    """
    # Put together from parts, whose rows have the same labels.
    table = table.reset_index(drop=True)
    lines = [
        "# What a private geodesic is worth",
        "",
        "Root mean squared distance of released geodesics from the true one, averaged over the "
        "covariate's range. Data are simulated; public inputs are the assumptions that stand "
        "in every row of `utility.csv`, and stages follow from them. The budget of releases is "
        "proved to hold (`docs/certified.md`). **The budget of the mechanism as published does "
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
    found = table[table["mechanism"] == RELEASED]
    if not len(found):
        return ["None were drawn."]
    lines = [
        f"| space | n | budget | release | predicted | {' | '.join(BESIDE)} |",
        f"| --- | --- | --- | --- | --- | {' | '.join('---' for _ in BESIDE)} |",
    ]
    for _, case in found.iterrows():
        same = table[(table["space"] == case["space"]) & (table["n"] == case["n"])]
        same = same[same["budget"].isna() | (same["budget"] == case["budget"])]
        errors = same.set_index("mechanism")["curve_error"]
        values = [case["curve_error"], case["predicted"], *errors[list(BESIDE)]]
        said = [number(value) for value in values]
        if case["is_noise"]:
            said[0] += " (noise)"
        place = f"{case['space']} | {case['n']:,} | {case['budget']:g}"
        lines.append(f"| {place} | {' | '.join(said)} |")
    return lines


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
            + "; ".join(cell(case) for _, case in cut.iterrows())
        )
    return f"{sentence}."
