"""Grids of privacy budgets, kept as decimal text so that 1.0 stays 1.0 in names and paths."""

from decimal import Decimal, InvalidOperation

from geodp.errors import DataError

LEAST_BUDGET, MOST_BUDGET = Decimal("1e-9"), Decimal("1e6")


def parse_budget(text, key):
    """A budget above zero as `Decimal`.

    Parameters
    ----------
    text : str
    key : str
        Where it stands in the configuration, for messages.
    """
    try:
        value = Decimal(str(text))
    except InvalidOperation:
        raise DataError(f"{key}: '{text}' is not a number: give a budget such as \"0.5\"") from None
    if not value.is_finite() or value <= 0:
        raise DataError(f"{key}: a budget must be above zero and is {text}")
    if not LEAST_BUDGET <= value <= MOST_BUDGET:
        raise DataError(
            f"{key}: a budget of {text} is not between {LEAST_BUDGET} and {MOST_BUDGET}, beyond "
            "which none means anything: give another"
        )
    return value


def budget_pairs(grid, key):
    """Pairs (footpoint budget, shooting-vector budget) of one configured grid, as text.

    Parameters
    ----------
    grid : dict
        Either ``{"totals": [...]}``, halved between the two, or
        ``{"total": t, "footpoint": [...]}``, the rest of ``t`` going to the shooting vector.
    key : str
        Where it stands in the configuration, for messages.
    """
    if "totals" in grid:
        halves = [
            parse_budget(total, f"{key}.totals[{index}]") / 2
            for index, total in enumerate(grid["totals"])
        ]
        return [(str(half), str(half)) for half in halves]
    total = parse_budget(grid["total"], f"{key}.total")
    pairs = []
    for index, text in enumerate(grid["footpoint"]):
        place = f"{key}.footpoint[{index}]"
        part = parse_budget(text, place)
        if part >= total:
            raise DataError(
                f"{place}: {text} leaves nothing of the total {total} for the shooting vector: "
                "give less"
            )
        pairs.append((str(part), str(total - part)))
    return pairs


def cell_name(footpoint_budget, shooting_vector_budget):
    """Name of a budget cell within its group of data sets."""
    return f"p{footpoint_budget}_v{shooting_vector_budget}"
