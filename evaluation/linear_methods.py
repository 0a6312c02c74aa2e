"""Private linear regression through the origin, by methods that others published.

A method takes a `Problem`, a budget (epsilon, delta) and a generator to slopes, an array (k, 1).

AdaSSP (Wang 2018, Revisiting differentially private linear regression, UAI, algorithm 2) makes
three Gaussian releases, each with a third of epsilon and of delta: the smallest eigenvalue of X'X,
X'X and X'y.  The ridge adapts to the first.

IHM (Lev, Shenfeld, Srinivasan, Ligett and Wilson 2026, Near-optimal private linear regression via
iterative Hessian mixing, arXiv 2601.07545) takes Newton steps, each with a new Gaussian sketch of X
for X'X and a noisy product of X with clipped residuals.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from geodp.mechanisms.gaussian import gaussian_deviation
from linear_matrix import private_slopes

# Steps of IHM, as its authors run it.
STEPS = 3


class Budget(NamedTuple):
    """Privacy budget of one line; a pure method does not spend delta."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Problem:
    """Records of a regression; none has covariates longer than 1, or a response beyond 1."""

    covariates: np.ndarray  # (n, k)
    responses: np.ndarray  # (n, 1)
    records: int  # Public: about how many there are, also when some are left out.

    def without(self, part):
        """The problem without some of its records."""
        x, y = (np.delete(each, part, axis=0) for each in (self.covariates, self.responses))
        return replace(self, covariates=x, responses=y)


def ridge_regression(problem, ridge=1.0):
    """Slopes without privacy, with a multiple of the identity added to the normal matrix."""
    x = problem.covariates
    normal = x.T @ x + ridge * np.eye(x.shape[1])
    return np.linalg.lstsq(normal, x.T @ problem.responses, rcond=None)[0]


def adassp(problem, budget, rng, failure=0.05):
    """Slopes; (eps, delta)-private for one record added or removed.

    ``failure`` is the chance that the ridge is too small for the noise, the paper's rho.
    """
    x, y = problem.covariates, problem.responses[:, 0]
    k = x.shape[1]
    # Standard deviation of the noise of each statistic.
    scale = 3.0 * np.sqrt(np.log(6.0 / budget.delta)) / budget.epsilon
    normal = x.T @ x
    smallest = rng.standard_normal() - np.sqrt(np.log(6.0 / budget.delta))
    smallest = np.linalg.eigvalsh(normal)[0] + scale * smallest
    wanted = np.sqrt(k * np.log(2.0 * k**2 / failure)) * scale
    ridge = max(0.0, wanted - max(smallest, 0.0))
    # One normal number for each entry on and above the diagonal.
    upper = np.triu(rng.standard_normal((k, k)))
    noise = upper + np.triu(upper, 1).T
    right = x.T @ y + scale * rng.standard_normal(k)
    return np.linalg.solve(normal + scale * noise + ridge * np.eye(k), right)[:, None]


def ihm(problem, budget, rng):
    """Slopes; (eps, delta)-private for one record added or removed.

    Products with residuals have half of epsilon and a quarter of delta.
    """
    x, y = problem.covariates, problem.responses[:, 0]
    k = x.shape[1]
    # Of a sketch, as its authors take them; the chance of failure is a tenth of delta.
    rows = int(6 * max(k, np.log(40.0 * STEPS / budget.delta)))
    mixed = _mixed(rows, 0.5 * budget.epsilon, 0.25 * budget.delta)
    # The noise of sketches is less by the smallest eigenvalue, rather too small.
    below = np.sqrt(2.0 * np.log(40.0 / budget.delta)) - rng.standard_normal()
    smallest = np.linalg.eigvalsh(x.T @ x)[0] - mixed / np.sqrt(rows) * below
    # Rows of a sketch of X with noise have this covariance, so that X itself is not multiplied.
    root = np.linalg.cholesky(x.T @ x + max(mixed - max(smallest, 0.0), 1e-12) * np.eye(k))
    deviation = np.sqrt(STEPS) * gaussian_deviation(1.0, 0.5 * budget.epsilon, 0.25 * budget.delta)
    slopes = np.zeros(k)
    for _ in range(STEPS):
        sketch = rng.standard_normal((rows, k)) @ root.T
        right = x.T @ np.clip(y - x @ slopes, -1.0, 1.0) + deviation * rng.standard_normal(k)
        slopes += np.linalg.solve(sketch.T @ sketch / rows, right)
    return slopes[:, None]


@cache
def _mixed(rows, epsilon, delta):
    """Smallest eigenvalue that X'X with noise has in all sketches, whose divergences add up.

    Delta is that of the sketches, of the eigenvalue that is released, and of its being too large.
    """

    def left(level):
        mixed, more = 1.0 + np.exp(level), np.exp(level) * np.geomspace(1e-6, 1.0 - 1e-6, 4000)
        # Of Renyi's divergence of the order 1 + more, with all digits.
        sketches = more * (level - np.log(mixed)) + level - np.log(np.exp(level) - more)
        whole = more * np.log(more / (1.0 + more)) - np.log(delta * (1.0 + more))
        eigenvalue = np.sqrt(2.0 * np.log(1.25 / delta) * rows) / mixed
        return epsilon - eigenvalue - np.min((0.5 * STEPS * rows * sketches + whole) / more)

    return 1.0 + float(np.exp(brentq(left, -10.0, 40.0)))


def matrix(problem, budget, rng, is_pure):
    """Slopes; for one record added or removed private with (eps, delta), or with eps alone."""
    given = problem.covariates, problem.responses, problem.records
    return private_slopes(rng, *given, budget.epsilon, None if is_pure else budget.delta)


def diffprivlib(problem, budget, rng):
    """Slopes; eps-private for one record replaced."""
    ones = np.ones(problem.covariates.shape[1])
    given = problem.covariates, problem.responses, (-ones, ones), 1.0
    return functional_mechanism(*given, budget.epsilon, rng, has_intercept=False)


def functional_mechanism(x, y, limits, bound, epsilon, rng, has_intercept):
    """Coefficients (k, m) of diffprivlib's `LinearRegression`, after the intercepts (m,), if any.

    Responses (n, m), of absolute values up to ``bound``, share the budget; ``limits`` are the least
    and largest of each covariate.
    """
    from diffprivlib.models import LinearRegression

    tool = LinearRegression(
        epsilon=epsilon,
        bounds_X=limits,
        bounds_y=(-bound, bound),
        fit_intercept=has_intercept,
        random_state=int(rng.integers(2**31)),
    )
    with warnings.catch_warnings():
        # A quadratic whose noise made it indefinite has no minimum: the search overflows.
        warnings.simplefilter("ignore")
        tool.fit(x, y)
    return np.vstack([tool.intercept_, tool.coef_.T]) if has_intercept else tool.coef_.T


# Title and function of each method.
METHODS = {
    "matrix_laplace": ("matrix Laplace", partial(matrix, is_pure=True)),
    "matrix_gaussian": ("matrix Gaussian", partial(matrix, is_pure=False)),
    "ihm": ("IHM", ihm),
    "adassp": ("AdaSSP", adassp),
    "diffprivlib": ("diffprivlib", diffprivlib),
}
