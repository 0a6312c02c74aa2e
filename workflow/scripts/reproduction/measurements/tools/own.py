"""Methods written here: least squares, AdaSSP and noisy matrices of moments.

AdaSSP (Wang 2018, Revisiting differentially private linear regression, UAI, algorithm 2) makes
three Gaussian releases, each with a third of epsilon and of delta: the smallest eigenvalue of X'X,
X'X and X'y.  The ridge adapts to the first.
"""

import numpy as np

from geodp.linear.moment_matrix import private_slopes


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
