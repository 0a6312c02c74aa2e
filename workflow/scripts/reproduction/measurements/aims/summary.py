"""Verdicts on what is wanted of releases, in one table and one page."""

import numpy as np
import pandas as pd

from reproduction.measurements.words import number

# Standard errors on either side of what is measured that a verdict leaves for chance.
MARGIN = 2.0

REACHED, MISSED, UNDECIDED = "reached", "missed", "undecided"

CELL = ["space", "n", "budget", "covariates"]


def summarise(tables, earlier, aims, **_):
    """The table and the page, by their output.

    Parameters
    ----------
    tables : list of path
        Of the cells of spaces.
    earlier : path
        Errors of releases of an earlier version.
    aims : dict
        Settings.
    """
    cells = pd.concat([pd.read_csv(path) for path in tables], ignore_index=True)
    earlier = pd.read_csv(earlier)
    found = [each for each in _aims(cells, earlier, aims) if len(each)]
    table = pd.concat(found, ignore_index=True)
    table["verdict"] = [
        verdict(*each)
        for each in table[["measured", "standard_error", "wanted"]].itertuples(index=False)
    ]
    return {"csv": table, "text": page(table, cells["load"].max())}


def verdict(measured, standard_error, wanted):
    """Whether something is at most what is wanted, as far as chance lets one say.

    Parameters
    ----------
    measured, standard_error, wanted : float

    Returns
    -------
    str
    """
    if measured + MARGIN * standard_error <= wanted:
        return REACHED
    if measured - MARGIN * standard_error > wanted:
        return f"{MISSED} by {number(measured - wanted)}"
    return UNDECIDED


def _aims(cells, earlier, aims):
    """Tables of what is wanted and measured, one for each aim."""
    relative = cells["released_error"] / cells["released"]
    ratio = cells["released"] / cells["certified"]
    chance = np.hypot(relative, cells["certified_error"] / cells["certified"])
    yield _table(
        "error over that of the certified distribution",
        cells,
        cells["certified_data_sets"] > 0,
        aims["times_distribution"],
        ratio,
        ratio * chance,
    )
    before = cells.merge(
        earlier.assign(budget=[f"epsilon {each:g}" for each in earlier["epsilon"]]),
        how="left",
        on=["space", "n", "budget"],
        suffixes=("", "_before"),
    )
    ratio = cells["released"] / before["error"]
    chance = np.hypot(relative, before["standard_error"] / before["error"])
    yield _table(
        "error over that of the earlier release",
        cells,
        cells["of_utility"] & ratio.notna(),
        1.0,
        ratio,
        ratio * chance,
    )
    for aim, key in (("error", "error"), ("error beside a prototype's", "prototype")):
        wanted = cells[f"wanted_{key}"]
        yield _table(aim, cells, wanted.notna(), wanted, cells["released"], cells["released_error"])
    # Plans are for covariates that are spread evenly, and are judged for others, too.
    ratio = cells["released"] / cells["predicted"]
    yield _table(
        "deviation of the error from the plan's",
        cells,
        cells.index,
        aims["deviation"],
        np.abs(ratio - 1.0),
        ratio * relative,
    )
    wanted = cells["wanted_seconds"]
    yield _table(
        "seconds of a release",
        cells,
        wanted.notna(),
        wanted,
        cells["release_seconds"],
        cells["release_seconds_error"],
    )
    yield _table(
        "seconds of a plan", cells, cells.index, aims["plan_seconds"], cells["plan_seconds"], 0.0
    )


def _table(aim, cells, about, wanted, measured, standard_error):
    """Rows of one aim, which is about some of the cells."""
    found = cells.assign(aim=aim, wanted=wanted, measured=measured, standard_error=standard_error)
    columns = ["aim", *CELL, "wanted", "measured", "standard_error", "data_sets", "stages"]
    return found.loc[about, columns]


def page(table, load):
    """The text of ``aims.md``.

    Parameters
    ----------
    table : pandas.DataFrame
        As ``aims.csv``.
    load : float
        Largest number of programs that a processor had to run during measurements.
    """
    kind = table["verdict"].str.split().str[0]
    counts = pd.crosstab(table["aim"], kind).reindex(
        index=table["aim"].unique(), columns=[REACHED, MISSED, UNDECIDED], fill_value=0
    )
    lines = [
        "# What is wanted of releases, and what is measured",
        "",
        "| what is at most as wanted | cells | reached | missed | undecided |",
        "| --- | --- | --- | --- | --- |",
        *(
            f"| {aim} | {row.sum()} | {' | '.join(map(str, row))} |"
            for aim, row in counts.iterrows()
        ),
        "",
        "Errors are root mean squared distances from the true geodesic, averaged over the "
        "covariate's range; standard errors, in brackets, are over data sets. A verdict allows "
        f"{MARGIN:g} of them on either side and is undecided in between. Seconds are processor "
        "time of one thread; at most "
        f"{load:.1f} programs shared a processor meanwhile, which lengthens them, too.",
        "",
        "Compared with the certified distribution are cells of the utility's releases, where n "
        "epsilon is large enough; with the earlier release those of them that it was drawn in.",
    ]
    for aim, part in table.groupby("aim", sort=False):
        lines += [
            "",
            f"## {aim[0].upper()}{aim[1:]}",
            "",
            "| space | n | budget | covariates | at most | measured | verdict |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *map(_line, part.itertuples()),
        ]
    return "\n".join([*lines, ""])


def _line(row):
    chance = f" ({number(row.standard_error)})" if row.standard_error > 0.0 else ""
    return (
        f"| {row.space} | {row.n:,} | {row.budget} | {row.covariates} | {row.wanted:g} | "
        f"{row.measured:.2g}{chance} | {row.verdict} |"
    )
