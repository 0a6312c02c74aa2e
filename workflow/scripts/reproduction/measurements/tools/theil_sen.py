"""Theil-Sen regression of OpenDP: private medians of what pairs of records predict at two places.

It takes one covariate, and a line has an intercept.
"""

import numpy as np


def fit(problem, budget, rng):
    """Line of one response on one covariate; private for one record added or removed.

    OpenDP draws from the operating system and pairs records by NumPy's global generator, which is
    seeded here; so only the pairs can be repeated.
    """
    import opendp.prelude as opendp
    from opendp.extras.sklearn.linear_model import LinearRegression

    opendp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    given = {
        "output_measure": opendp.max_divergence(),
        "x_bounds": [(float(problem.low[0]), float(problem.high[0]))],
        "y_bounds": (-problem.bound, problem.bound),
    }
    # Noise of scale one costs this much; the cost falls in proportion to the scale.
    unit = LinearRegression(**given, scale=1.0).measurement.map(1)
    tool = LinearRegression(**given, scale=unit / budget.epsilon)
    np.random.seed(rng.integers(2**32))  # noqa: NPY002
    with np.errstate(divide="ignore", invalid="ignore"):
        # Pairs with one covariate; the tool leaves them out.
        found = tool.fit(problem.covariates, problem.responses[:, 0])
    return np.array([[found.intercept_], [found.coef_[0]]])
