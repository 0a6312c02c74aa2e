"""Means of a column of errors over data sets, with standard errors, by estimate and size."""

import numpy as np
import pandas as pd


def tabulate(job):
    """A row an estimate and size.

    Standard errors of logarithms are those of a mean over the mean; with base 10 they are in the
    units of the figure's axis.
    """
    errors = pd.read_csv(job.input.errors)
    grouped = errors.groupby(["mechanism", "guarantee", "budget", "n"], sort=False)
    found = grouped[job.params.settings["column"]].agg(
        mean="mean", standard_error="sem", data_sets="size"
    )
    found["standard_error_log"] = found["standard_error"] / found["mean"]
    found["standard_error_log10"] = found["standard_error_log"] / np.log(10.0)
    # An error without privacy is no mechanism's.
    return found.reset_index().rename(columns={"mechanism": "estimate"})
