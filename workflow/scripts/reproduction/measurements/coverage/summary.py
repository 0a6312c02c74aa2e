"""Measures of all cells in one table and one page, beside their aims."""

from reproduction.measurements.words import joined, limits, markdown


def summarise(tables, **_):
    """The table and the page, by their output, from tables of cells."""
    table = joined(tables)
    return {"csv": table, "text": page(table)}


def page(table):
    """The text of ``coverage.md``."""
    rows = [
        [
            *(row["space"], f"{row['n']:,}", f"{row['budget']:g}", row["number_of_covariates"]),
            _unlike(row),
            f"{row['aim']}, {row['kind']}",
            f"{row['value']:.3f} +- {row['standard_error']:.3f}",
            limits(row),
            "yes" if row["is_met"] else "**no**",
        ]
        for _, row in table.iterrows()
    ]
    head = ["space", "n", "epsilon", "covariates", "not as assumed", "measure", "value"]
    lines = [
        "# Releases that know little of the data, beside their aims",
        "",
        f"{table['is_met'].sum()} of {len(table)} aims are met, by {table['releases'].min():,} "
        "simulated releases or more of each cell. Values have their standard errors. Errors are "
        "over those of releases from the same data that are told the residual scale, or the radii "
        "where these are left out, or over those of least squares without privacy. Bands are "
        "those of 90 %, pointwise, and count where one is drawn. Doubts are the share of "
        "releases that say one. Size and power are of the test for a trend at 5 %, power less "
        "that of an F test without privacy.",
        "",
        *markdown([*head, "aim", "met"], rows),
        "",
    ]
    return "\n".join(lines)


def _unlike(row):
    """What is not as assumed, with the residual scale."""
    ratio = row["true_over_assumed"]
    scale = f"residual scale {ratio:g} times the assumed" if ratio == ratio else ""
    other = "" if row["unlike"] == "nothing" else row["unlike"]
    radii = "radii left out" if row["radii_left_out"] else ""
    return ", ".join(filter(None, (scale, other, radii))) or "nothing"
