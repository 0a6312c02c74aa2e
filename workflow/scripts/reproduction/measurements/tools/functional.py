"""Linear regression of diffprivlib (the functional mechanism), as shipped and corrected.

Read in the source of version 0.6.6:

* The sensitivity of a sum of squares of a covariate is the square of the lower bound alone, which
  stands where both bounds should (its issues 104 and 105): bounds (0, 100) give zero.
* With an intercept, the private means of the covariates and that of the responses each take the
  share 1 / (k + 1) of the budget, and the moments k / (k + 1): so 1 + 1 / (k + 1) times the stated
  budget is spent.

The corrected line has right sensitivities and spends what is stated.
"""

import warnings
from unittest import mock

import numpy as np


def as_shipped(problem, budget, rng):
    """Line of one response by the class of the package."""
    from diffprivlib.models import LinearRegression

    tool = LinearRegression(
        epsilon=budget.epsilon,
        bounds_X=(problem.low, problem.high),
        bounds_y=(-problem.bound, problem.bound),
        fit_intercept=problem.has_intercept,
        random_state=int(rng.integers(2**31)),
    )
    with warnings.catch_warnings():
        # A quadratic whose noise made it indefinite has no minimum: the search overflows.
        warnings.simplefilter("ignore")
        tool.fit(problem.covariates, problem.responses[:, 0])
    return np.concatenate([[tool.intercept_ if problem.has_intercept else 0.0], tool.coef_])[
        :, None
    ]


def corrected(problem, budget, rng):
    """Line of one response, eps-private for one record replaced."""
    k = problem.covariates.shape[1]
    spent = 1.0 + 1.0 / (k + 1.0) if problem.has_intercept else 1.0
    with mock.patch(
        "diffprivlib.models.linear_regression._construct_regression_obj", noisy_quadratics
    ):
        return as_shipped(problem, type(budget)(budget.epsilon / spent, budget.delta), rng)


def noisy_quadratics(X, y, bounds_X, bounds_y, epsilon, alpha, random_state):
    """Objectives of one response from noisy moments, in place of the function of the package.

    Parameters and results are those that ``LinearRegression.fit`` passes and expects.  Each moment
    has an equal part of the budget, as there, but for the sum of squares of the responses: it does
    not move the minimum, and is not released.
    """
    from diffprivlib.mechanisms import Laplace

    k = X.shape[1]
    part = epsilon / (k + k * (k + 1) / 2)

    def released(total, products):
        # Replacing a record moves a sum by the width of what one record can add to it.
        width = float(max(products) - min(products))
        return Laplace(epsilon=part, sensitivity=width, random_state=random_state).randomise(total)

    ends = list(zip(*bounds_X, strict=True))
    response = [float(np.ravel(bound)[0]) for bound in bounds_y]
    right, normal = X.T @ np.ravel(y), X.T @ X
    for i in range(k):
        right[i] = released(float(right[i]), [a * b for a in ends[i] for b in response])
        for j in range(i, k):
            products = [a * b for a in ends[i] for b in ends[j]]
            if i == j:
                # A square is least at zero, or at the end next to it.
                products = [end**2 for end in (*ends[i], float(np.clip(0.0, *ends[i])))]
            normal[i, j] = normal[j, i] = released(float(normal[i, j]), products)

    def objective(slopes):
        pull = normal @ slopes + alpha * slopes
        return float(slopes @ pull - 2.0 * right @ slopes), 2.0 * (pull - right)

    return (objective,), (None, right[:, None], normal)
