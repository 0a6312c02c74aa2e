"""What simulated releases show, in words made from their numbers."""

import numpy as np
from utility import CERTIFIED, NOT_PRIVATE, PUBLISHED
from words import number

CELL = ["space", "budget", "n"]

# An error without privacy is nearly reached when a release's is this many times as large.
NEARLY = 1.5

# A deviation of a simulated error is real beyond this many of its standard errors.
STANDARD_ERRORS = 2.0


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
    certified = _beside_others(table)
    useful = certified[~certified["is_noise"].astype(bool)]
    lines = [
        "# What a private geodesic is worth",
        "",
        "Root mean squared distance of released geodesics from the true one, averaged over the "
        "covariate's range. Data are simulated; public inputs are the assumptions that stand "
        "in every row of `utility.csv`, and scales follow from them. The certified mechanism's "
        "budget is proved to hold (`docs/certified.md`); **that of the mechanism as published does "
        "not hold**, and it is here for comparison only.",
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
    """Rows of the certified mechanism, beside them the errors of the others."""
    certified = table[table["mechanism"] == CERTIFIED]
    without = table[table["mechanism"] == NOT_PRIVATE].set_index(["space", "n"])["curve_error"]
    published = table[table["mechanism"] == PUBLISHED].set_index(CELL)["curve_error"]
    return certified.assign(
        without=without.reindex(certified.set_index(["space", "n"]).index).to_numpy(),
        published=published.reindex(certified.set_index(CELL).index).to_numpy(),
    )


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
        f"each direction): a release is more than noise {'; '.join(found)}."
    )


def _first(numbers):
    return f"n = {min(numbers):,}" if len(numbers) else "no n tried"


def _against_published(useful):
    """How the two mechanisms compare where a release is no noise."""
    ratio = useful["curve_error"] / useful["published"]
    without = useful["curve_error"] / useful["without"]
    return (
        f"Where a release is more than noise ({len(useful)} cells), the certified mechanism's "
        f"error is between {number(ratio.min())} and {number(ratio.max())} times that of the one "
        f"as published, the median {number(ratio.median())} times, and between "
        f"{number(without.min())} and {number(without.max())} times that without privacy, the "
        f"median {number(without.median())} times."
    )


def _against_prediction(useful):
    """How far the planner is off."""
    deviation = useful["curve_error"] / useful["predicted"] - 1.0
    error = useful["relative_standard_error"]
    worst = deviation.abs().idxmax()
    case = useful.loc[worst]
    real = (deviation.abs() > STANDARD_ERRORS * error).sum()
    return (
        f"The planner's predictions, made without data: the largest deviation over all cells that "
        f"are not noise is {deviation[worst]:+.0%} ({_cell(case)}; the simulation's own standard "
        f"error there is {error[worst]:.0%}), the root mean square "
        f"{np.sqrt(np.mean(deviation**2)):.0%}; {real} of {len(useful)} deviate by more than "
        f"{STANDARD_ERRORS:g} standard errors."
    )


def _of_samplers(certified, published):
    """What is known of the draws."""
    parts = []
    for name, part in (("certified", certified), ("published", published)):
        cut = part[part["cut_short"].astype(bool)]
        worst = part.loc[part["total_variation"].idxmax()]
        sentence = (
            f"for the {name} mechanism the estimated total variation from the law is at most "
            f"{worst['total_variation']:.2g} ({_cell(worst)})"
        )
        if len(cut):
            sentence += (
                f", and in {len(cut)} of {len(part)} cells more than was wanted: "
                + "; ".join(_cell(case) for _, case in cut.iterrows())
            )
        parts.append(sentence)
    return f"Draws are last states of chains: {'; '.join(parts)}. A proof is of the law."


def _cell(case):
    return f"{case['space']}, n = {case['n']:,}, budget {case['budget']:g}"
