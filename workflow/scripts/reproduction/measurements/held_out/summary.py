"""Releases of all cohorts in one table and one page, beside what counts as right."""

from reproduction.measurements.held_out import cohorts
from reproduction.measurements.words import joined, limits, markdown


def summarise(tables, **_):
    """The table and the page, by their output, from tables of cohorts."""
    table = joined(tables)
    return {"csv": table, "text": page(table)}


def page(table):
    """The text of ``held_out.md``."""
    known, met = table["is_met"].dropna(), {True: "yes", False: "**no**"}
    rows = [
        [row["cohort"], row["what"], _share(row), limits(row), met.get(row["is_met"], "")]
        for _, row in table.iterrows()
    ]
    lines = [
        "# Releases of held-out cohorts, beside what counts as right",
        "",
        f"{known.sum()} of {len(known)} criteria are met, by {table['tables'].min()} tables of "
        "each cohort. Who made the cohorts had not seen this code. Releases have five public "
        "inputs: space, ranges of covariates, a centre or `anywhere`, number of subjects and "
        "budget. Values are shares: of 90 % bands, pointwise, that hold the truth where one is "
        "drawn; of tables in which a test at 5 % finds a trend, whether there is one or not; of 90 "
        "% intervals of the residual scale and of R^2 that hold the truth; and of doubts.",
        "",
        *markdown(["cohort", "measure", "value", "criterion", "met"], rows),
        "",
        *(
            f"* {name}: {given.about}; n = {given.subjects:,}, epsilon {given.epsilon:g}"
            for name, given in cohorts.COHORTS.items()
        ),
        "",
    ]
    return "\n".join(lines)


def _share(row):
    return f"{row['value']:.2f}" if row["value"] == row["value"] else "none drawn"
