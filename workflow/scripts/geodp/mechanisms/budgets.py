"""Privacy budgets as exact decimal text: reading, division among blocks, and names of cells."""

from decimal import ROUND_DOWN, Decimal, InvalidOperation, localcontext

from geodp.errors import DataError
from geodp.models.blocks import symbol


def parse_budget(text, key, least=Decimal("1e-9"), most=Decimal("1e6"), characters=100):
    """The `Decimal` of a budget's text of so many characters at most; messages call it ``key``."""
    if len(str(text)) > characters:
        raise DataError(f"{key}: a budget has {characters} characters at most: give a shorter one")
    try:
        value = Decimal(str(text))
    except InvalidOperation:
        raise DataError(f"{key}: '{text}' is not a number: give a budget such as \"0.5\"") from None
    if not value.is_finite() or value <= 0:
        raise DataError(f"{key}: a budget must be above zero and is {text}")
    if not least <= value <= most:
        raise DataError(
            f"{key}: a budget of {text} is not between {least} and {most}, beyond which none means "
            "anything: give another"
        )
    return value


def divided_budgets(grid, names, key):
    """Budgets of the cells of one grid, decimal texts by names such as blocks.

    A grid is ``{"totals": [...]}``, each divided equally among the names of `budget_names`; or a
    ``total`` with the parts of one of two names, such as ``{"total": t, "footpoint": [...]}``,
    whose rest goes to the other name.  Messages call it ``key``.
    """
    if "totals" in grid:
        found = []
        for index, total in enumerate(grid["totals"]):
            whole = parse_budget(total, f"{key}.totals[{index}]")
            # To twelve digits, so that the sum of the parts does not exceed it.
            with localcontext(prec=12, rounding=ROUND_DOWN):
                found.append(dict.fromkeys(names, str(whole / len(names))))
        return found
    [block] = set(grid) - {"total"}
    if len(names) != 2 or block not in names:
        raise DataError(
            f"{key}: a total cannot be divided between {block} and one other budget, since the "
            f"budgets are {', '.join(names)}: give totals"
        )
    [other] = set(names) - {block}
    total = parse_budget(grid["total"], f"{key}.total")
    found = []
    for index, text in enumerate(grid[block]):
        place = f"{key}.{block}[{index}]"
        part = parse_budget(text, place)
        if part >= total:
            raise DataError(
                f"{place}: {text} leaves nothing of the total {total} for the "
                f"{other.replace('_', ' ')}: give less"
            )
        parts = {block: str(part), other: str(total - part)}
        found.append({name: parts[name] for name in names})
    return found


def cell_name(budgets):
    """Name of a cell within its group of data sets: ``p0.5_v0.5``, or ``p0.5_v1-0.2_v2-0.2``.

    ``budgets`` is a dict of decimal text by name, in the order of the blocks.
    """
    parts = []
    for name, text in budgets.items():
        letters = symbol(name)
        # A hyphen keeps the number of a vector apart from its budget.
        parts.append(f"{letters}{'-' if letters[-1].isdigit() else ''}{text}")
    return "_".join(parts)
