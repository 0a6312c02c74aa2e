"""Releases of all cohorts in one table and one page, beside what counts as right."""

from reproduction.measurements.held_out import cohorts
from reproduction.measurements.words import joined, limits, markdown


def summarise(tables, **_):
    """The table and the page, by their output, from tables of cohorts."""
    table = joined(tables)
    return {"csv": table, "text": page(table)}


def page(table):
    """The text of ``held_out.md``."""
    known = table["is_met"].dropna()
    met = {True: "yes", False: "**no**"}
    rows = [
        [row["cohort"], row["what"], f"{row['value']:.2f}", limits(row), met.get(row["is_met"], "")]
        for _, row in table.iterrows()
    ]
    lines = [
        "# Releases of held-out cohorts, beside what counts as right",
        "",
        f"{known.sum()} of {len(known)} criteria are met, by {table['tables'].min()} tables of "
        "each cohort. Who made the cohorts had not seen this code. Releases have five public "
        "inputs: space, ranges of covariates, a centre or `anywhere`, number of subjects and "
        "budget. Values are shares of tables. Bands and intervals are those of 90 %; bands are "
        "pointwise, and count where one is drawn. A trend is found where its p-value is 0.05 or "
        "less.",
        "",
        *markdown(["cohort", "measure", "value", "criterion", "met"], rows),
        "",
        *(_about(name) for name in table["cohort"].unique()),
        "",
    ]
    return "\n".join(lines)


def _about(name):
    """A cohort and its public inputs in words."""
    given = cohorts.COHORTS[name]
    space, size = given.manifold["name"], given.manifold["size"]
    centre = "a footpoint anywhere" if given.centre == "anywhere" else f"centre {given.centre}"
    ranges = ", ".join(f"{low:g} to {high:g}" for low, high in given.covariate_range)
    return (
        f"* {name}: {given.about}; {space}({size}), {centre}, covariates {ranges}, "
        f"n = {given.subjects:,}, epsilon {given.epsilon:g}"
    )
