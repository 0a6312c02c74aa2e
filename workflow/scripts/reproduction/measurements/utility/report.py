"""What simulated releases show, in words made from their numbers."""

import numpy as np

from reproduction.measurements.utility.releases import (
    CERTIFIED,
    NOT_PRIVATE,
    PUBLISHED,
    RELEASED,
    WITHOUT_DATA,
)
from reproduction.measurements.words import cell, number

CELL = ["space", "budget", "n"]

# What stands beside releases in their table.
BESIDE = (CERTIFIED, PUBLISHED, NOT_PRIVATE, WITHOUT_DATA)

# An error without privacy is nearly reached when a release's is this many times as large.
NEARLY = 1.5


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
    certified = _beside_others(table)
    useful = certified[~certified["is_noise"].astype(bool)]
    lines = [
        "# What a private geodesic is worth",
        "",
        "Root mean squared distance of released geodesics from the true one, averaged over the "
        "covariate's range. Data are simulated; public inputs are the assumptions that stand "
        "in every row of `utility.csv`, and scales and stages follow from them. The budget of the "
        "certified distribution is proved to hold (`docs/certified_distribution.md`), and so is "
        "that of releases, which are drawn exactly, in stages. The distribution itself is drawn "
        "here by chains, of which no budget is proved. **The budget of the mechanism as published "
        "does not hold**, and it is here for comparison only.",
        "",
        "Releases:",
        "",
        *_of_releases(table),
        "",
        "The certified distribution, if it could be drawn from exactly:",
        "",
        *(_of_space(*each) for each in certified.groupby("space", sort=False)),
        "",
        _against_published(useful),
        "",
        _against_prediction(useful),
        "",
        _of_samplers(certified, table[table["mechanism"] == PUBLISHED]),
        "",
    ]
    return "\n".join(lines)


def _beside_others(table):
    """Rows of the certified distribution, beside them the errors of the others."""
    certified = table[table["mechanism"] == CERTIFIED]
    fitted = table[table["mechanism"] == NOT_PRIVATE].set_index(["space", "n"])
    published = table[table["mechanism"] == PUBLISHED].set_index(CELL)["curve_error"]
    numbers, cells = (certified.set_index(keys).index for keys in (["space", "n"], CELL))
    return certified.assign(
        without=fitted["curve_error"].reindex(numbers).to_numpy(),
        without_predicted=fitted["predicted"].reindex(numbers).to_numpy(),
        published=published.reindex(cells).to_numpy(),
    ).reset_index(drop=True)


def _of_space(name, part):
    """One item of a list: from which n a release says something, and is nearly as good."""
    found = []
    for budget, some in part.groupby("budget"):
        useful = some[~some["is_noise"].astype(bool)]["n"]
        nearly = some[some["curve_error"] <= NEARLY * some["without"]]["n"]
        found.append(
            f"at budget {budget:g} from {_first(useful)}"
            + (f", nearly as good as without privacy from {_first(nearly)}" if len(nearly) else "")
        )
    first = part.iloc[0]
    return (
        f"* {name} ({first['dimension']} dimensions, residuals of {first['residual_scale']:.3g} in "
        f"each direction): a draw is more than noise {'; '.join(found)}."
    )


def _first(numbers):
    return f"n = {min(numbers):,}" if len(numbers) else "no n tried"


def _against_published(useful):
    """How the two mechanisms compare where a draw is no noise."""
    ratio = useful["curve_error"] / useful["published"]
    without = useful["curve_error"] / useful["without"]
    return (
        f"Where a draw is more than noise ({len(useful)} cells), the certified distribution's "
        f"error is between {number(ratio.min())} and {number(ratio.max())} times that of "
        f"the one as published, the median {number(ratio.median())} times, and between "
        f"{number(without.min())} and {number(without.max())} times that without privacy, the "
        f"median {number(without.median())} times."
    )


def _against_prediction(useful):
    """How far the planner is off."""
    deviation = useful["curve_error"] / useful["predicted"] - 1.0
    # What the same data sets' least-squares fits happened to be off by is no fault of a prediction.
    chance = useful["without"] ** 2 - useful["without_predicted"] ** 2
    freed = np.sqrt(np.maximum(useful["curve_error"] ** 2 - chance, 0.0))
    rid = freed / useful["predicted"] - 1.0
    return (
        f"The planner's predictions, made without data: the largest deviation over all cells that "
        f"are not noise is {_largest(useful, deviation)}, the root mean square "
        f"{np.sqrt(np.mean(deviation**2)):.0%}. Most of this is the chance of few data sets, which "
        f"least squares share: with the least-squares error of the same data sets replaced by its "
        f"expectation the largest is {_largest(useful, rid)}, the root mean square "
        f"{np.sqrt(np.mean(rid**2)):.0%}."
    )


def _largest(cases, deviation):
    """The largest of some deviations, and where."""
    worst = deviation.abs().idxmax()
    return f"{deviation[worst]:+.0%} ({cell(cases.loc[worst])})"


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


def _of_samplers(certified, published):
    """What is known of the draws."""
    parts = []
    for name, part in (
        ("certified distribution", certified),
        ("mechanism as published", published),
    ):
        cut = part[part["cut_short"].astype(bool)]
        worst = part.loc[part["total_variation"].idxmax()]
        sentence = (
            f"for the {name} the estimated total variation distance is at most "
            f"{worst['total_variation']:.2g} ({cell(worst)})"
        )
        if len(cut):
            sentence += (
                f", and in {len(cut)} of {len(part)} cells more than was wanted: "
                + "; ".join(cell(case) for _, case in cut.iterrows())
            )
        parts.append(sentence)
    return (
        f"Draws, of which bands are made, are last states of chains: {'; '.join(parts)}. Errors of "
        "the certified distribution are means over weighted proposals of the same sampler, "
        "which see what few draws miss."
    )
