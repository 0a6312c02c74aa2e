"""A linear regression with public bounds, and methods that answer it privately.

A method takes a `Problem`, a budget (epsilon, delta) and a generator to a line: an array of shape
(1 + k, 1), the intercept first.

AdaSSP (Wang 2018, Revisiting differentially private linear regression, UAI, algorithm 2) makes
three Gaussian releases, each with a third of epsilon and of delta: the smallest eigenvalue of X'X,
X'X and X'y.  The ridge adapts to the first.

IHM (Lev, Shenfeld, Srinivasan, Ligett and Wilson 2026, Near-optimal private linear regression via
iterative Hessian mixing, arXiv 2601.07545) takes Newton steps, each with a new Gaussian sketch of X
for X'X and a noisy product of X with clipped residuals.

Read in the source of `LinearRegression` of diffprivlib 0.6.6 (the functional mechanism):

* The sensitivity of a sum of squares of a covariate is the square of the lower bound alone, which
  stands where both bounds should (its issues 104 and 105): bounds (0, 100) give zero.
* With an intercept, the private means of the covariates and that of the response each take the
  share 1 / (k + 1) of the budget, and the moments k / (k + 1): so 1 + 1 / (k + 1) times the stated
  budget is spent.

The corrected line has right sensitivities and spends what is stated.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cache
from unittest import mock

import numpy as np

from geodp.linear.moment_matrix import private_slopes
from geodp.mechanisms.gaussian import gaussian_deviation

# Steps of IHM, as its authors run it.
STEPS = 3


@dataclass(frozen=True)
class Budget:
    """Privacy budget of one line; a pure method does not spend delta."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Problem:
    """Records of a regression, and what is public about any record."""

    covariates: np.ndarray  # (n, k), within ``low`` and ``high``, no longer than ``norm``.
    responses: np.ndarray  # (n, m), clipped to ``bound`` by whoever makes the problem.
    low: np.ndarray  # Public limits (k,) of each covariate.
    high: np.ndarray
    norm: float  # Public limit of the Euclidean norm of a record's covariates.
    bound: float  # Public limit of the absolute value of each response.
    has_intercept: bool  # Else lines pass through the origin.
    records: int  # Public: about how many there are, also when some are left out.

    @property
    def design(self):
        """Covariates with a leading column of ones, (n, k + 1), if there is an intercept."""
        if not self.has_intercept:
            return self.covariates
        return np.column_stack([np.ones(len(self.covariates)), self.covariates])

    @property
    def design_norm(self):
        """Public limit of the norm of a row of the design."""
        return float(np.hypot(self.norm, 1.0)) if self.has_intercept else self.norm

    def without(self, part):
        """The problem without some of its records."""
        return replace(
            self,
            covariates=np.delete(self.covariates, part, axis=0),
            responses=np.delete(self.responses, part, axis=0),
        )

    def line(self, coefficients):
        """A line from coefficients of the design, (columns of the design, m)."""
        given = np.asarray(coefficients, dtype=float).reshape(self.design.shape[1], -1)
        if self.has_intercept:
            return given
        return np.concatenate([np.zeros((1, given.shape[1])), given])


def least_squares(problem, budget=None, rng=None, ridge=0.0):
    """Line without privacy, with a multiple of the identity added to the normal matrix."""
    x = problem.design
    normal = x.T @ x + ridge * np.eye(x.shape[1])
    return problem.line(np.linalg.lstsq(normal, x.T @ problem.responses, rcond=None)[0])


def adassp(problem, budget, rng, failure=0.05):
    """Line; (eps, delta)-private for one record added or removed.

    ``failure`` is the chance that the ridge is too small for the noise, the paper's rho.
    """
    x, y = problem.design, problem.responses[:, 0]
    k = x.shape[1]
    # Standard deviations of the noise of statistics of size one, and of X'X.
    scale = 3.0 * np.sqrt(np.log(6.0 / budget.delta)) / budget.epsilon
    deviation = scale * problem.design_norm**2
    normal = x.T @ x
    smallest = rng.standard_normal() - np.sqrt(np.log(6.0 / budget.delta))
    smallest = np.linalg.eigvalsh(normal)[0] + deviation * smallest
    wanted = np.sqrt(k * np.log(2.0 * k**2 / failure)) * deviation
    ridge = max(0.0, wanted - max(smallest, 0.0))
    # One normal number for each entry on and above the diagonal.
    upper = np.triu(rng.standard_normal((k, k)))
    noise = upper + np.triu(upper, 1).T
    right = x.T @ y + scale * problem.design_norm * problem.bound * rng.standard_normal(k)
    return problem.line(np.linalg.solve(normal + deviation * noise + ridge * np.eye(k), right))


def ihm(problem, budget, rng):
    """Line; (eps, delta)-private for one record added or removed.

    Products with residuals have half of epsilon and a quarter of delta.
    """
    x, y = problem.design / problem.design_norm, problem.responses[:, 0] / problem.bound
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
    return problem.line(slopes * problem.bound / problem.design_norm)


@cache
def _mixed(rows, epsilon, delta):
    """Smallest eigenvalue that X'X with noise has in all sketches, whose divergences add up.

    Delta is that of the sketches, of the eigenvalue that is released, and of its being too large.
    """
    from scipy.optimize import brentq

    def left(level):
        mixed, more = 1.0 + np.exp(level), np.exp(level) * np.geomspace(1e-6, 1.0 - 1e-6, 4000)
        # Of Renyi's divergence of the order 1 + more, with all digits.
        sketches = more * (level - np.log(mixed)) + level - np.log(np.exp(level) - more)
        whole = more * np.log(more / (1.0 + more)) - np.log(delta * (1.0 + more))
        eigenvalue = np.sqrt(2.0 * np.log(1.25 / delta) * rows) / mixed
        return epsilon - eigenvalue - np.min((0.5 * STEPS * rows * sketches + whole) / more)

    return 1.0 + float(np.exp(brentq(left, -10.0, 40.0)))


def matrix_laplace(problem, budget, rng):
    """Line; pure epsilon for one record added or removed."""
    return _from_moments(problem, budget.epsilon, None, rng)


def matrix_gaussian(problem, budget, rng):
    """Line; (eps, delta)-private for one record added or removed."""
    return _from_moments(problem, budget.epsilon, budget.delta, rng)


def _from_moments(problem, epsilon, delta, rng):
    length = problem.bound * np.sqrt(problem.responses.shape[1])
    x, y = problem.design / problem.design_norm, problem.responses / length
    slopes = private_slopes(rng, x, y, problem.records, epsilon, delta)
    return problem.line(slopes * length / problem.design_norm)


def diffprivlib(problem, budget, rng):
    """Line of all responses by one call of the class of the package, which shares the budget."""
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
        tool.fit(problem.covariates, problem.responses)
    intercept = [tool.intercept_] if problem.has_intercept else []
    return problem.line(np.vstack([*intercept, tool.coef_.T]))


def diffprivlib_corrected(problem, budget, rng):
    """Line of one response, eps-private for one record replaced."""
    k = problem.covariates.shape[1]
    spent = 1.0 + 1.0 / (k + 1.0) if problem.has_intercept else 1.0
    place = "diffprivlib.models.linear_regression._construct_regression_obj"
    with mock.patch(place, noisy_quadratics):
        return diffprivlib(problem, Budget(budget.epsilon / spent, budget.delta), rng)


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


def predictions(line, covariates):
    """Points (n, m) of a line at covariates (n, k)."""
    return line[0] + covariates @ line[1:]


PURE, APPROXIMATE = "eps", "(eps, delta)"
REPLACE, ADD = "replace one", "add or remove one"

# Title, function, guarantee and neighbours.  Through the origin neither defect of diffprivlib acts.
METHODS = {
    "matrix_laplace": ("matrix Laplace", matrix_laplace, PURE, ADD),
    "matrix_gaussian": ("matrix Gaussian", matrix_gaussian, APPROXIMATE, ADD),
    "ihm": ("IHM", ihm, APPROXIMATE, ADD),
    "adassp": ("AdaSSP", adassp, APPROXIMATE, ADD),
    "diffprivlib": ("diffprivlib, as shipped", diffprivlib, PURE, REPLACE),
    "diffprivlib_corrected": ("diffprivlib, corrected", diffprivlib_corrected, PURE, REPLACE),
}
