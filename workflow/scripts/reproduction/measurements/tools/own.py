"""Methods written here: least squares, AdaSSP, IHM and noisy matrices of moments.

AdaSSP (Wang 2018, Revisiting differentially private linear regression, UAI, algorithm 2) makes
three Gaussian releases, each with a third of epsilon and of delta: the smallest eigenvalue of X'X,
X'X and X'y.  The ridge adapts to the first.

IHM (Lev, Shenfeld, Srinivasan, Ligett and Wilson 2026, Near-optimal private linear regression via
iterative Hessian mixing, arXiv 2601.07545) takes Newton steps, each with a new Gaussian sketch of X
for X'X and a noisy product of X with clipped residuals.
"""

from functools import cache

import numpy as np

from geodp.linear.moment_matrix import private_slopes
from geodp.means.gaussian import gaussian_deviation

# Steps of IHM, as its authors run it.
STEPS = 3


def least_squares(problem, budget=None, rng=None, ridge=0.0):
    """Line without privacy, with a multiple of the identity added to the normal matrix."""
    x = problem.design
    normal = x.T @ x + ridge * np.eye(x.shape[1])
    return problem.line(np.linalg.lstsq(normal, x.T @ problem.responses, rcond=None)[0])


def adassp(problem, budget, rng, failure=0.05):
    """Line of one response; (eps, delta)-private for one record added or removed.

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
    """Line of one response; (eps, delta)-private for one record added or removed.

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
    """Line of all responses; pure epsilon for one record added or removed."""
    return _from_moments(problem, budget.epsilon, None, rng)


def matrix_gaussian(problem, budget, rng):
    """Line of all responses; (eps, delta)-private for one record added or removed."""
    return _from_moments(problem, budget.epsilon, budget.delta, rng)


def _from_moments(problem, epsilon, delta, rng):
    length = problem.bound * np.sqrt(problem.responses.shape[1])
    x, y = problem.design / problem.design_norm, problem.responses / length
    slopes = private_slopes(rng, x, y, problem.records, epsilon, delta)
    return problem.line(slopes * length / problem.design_norm)
