"""Values of the covariate that figures show, held to the range of the table before a run.

Where the configuration gives the range, `reproduction.studies` checks them.  Otherwise the table
has to be read, which every job would repeat if it were a part of reading the configuration.
"""

import math

from geodp.data.records import TRANSFORMATIONS
from geodp.errors import DataError
from reproduction.configuration import ConfigurationError
from reproduction.data.table import read

# From the transformed covariate back to that of the table.
INVERSES = {"none": float, "log": math.exp}

# Of the transformed range: values that are the least or the greatest up to rounding are within it.
TOLERANCE = 1e-9


def check_ranges(studies):
    """Refuse figures of values outside a range that only the table tells.

    Parameters
    ----------
    studies : dict of Study

    Raises
    ------
    ConfigurationError
        One sentence with the key, the range, the file and the remedy.
    """
    for study in studies.values():
        shown = {
            f"studies.{study.name}.figures.{name}.values[{index}]": value
            for name, figure in study.settings["figures"].items()
            for index, value in enumerate(figure.get("values", []))
        }
        known = study.settings["data"].get("covariate_range") is not None
        if study.source != "table" or known or not shown:
            continue
        try:
            records = read(study.table, study.settings["manifold"], study.settings["data"])
        except DataError:
            # The job that reads the table tells what is wrong with it.
            continue
        low, high = records.covariate_range
        slack = TOLERANCE * (high - low)
        for key, value in shown.items():
            if not low - slack <= TRANSFORMATIONS[study.transformation](value) <= high + slack:
                first, last = map(INVERSES[study.transformation], (low, high))
                raise ConfigurationError(
                    f"configuration key {key}: {value:g} lies outside the covariate's range in "
                    f"{study.table}, {first:g} to {last:g}: choose a value within it"
                )
