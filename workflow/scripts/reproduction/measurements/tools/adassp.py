"""AdaSSP: noisy sufficient statistics with a ridge that adapts to the data (Wang 2018).

Revisiting differentially private linear regression, UAI 2018, algorithm 2.  Three Gaussian
releases, each with a third of epsilon and of delta: the smallest eigenvalue of X'X, X'X and X'y.
"""

import numpy as np

# Chance that the ridge is too small for the noise (the paper's rho).
FAILURE = 0.05


def noise_scale(budget):
    """Standard deviation of the noise of each of the three releases, for statistics of size one."""
    return 3.0 * np.sqrt(np.log(6.0 / budget.delta)) / budget.epsilon


def ridge(rng, normal, deviation, delta):
    """The ridge for a normal matrix (k, k) that is released with noise of this deviation."""
    k = len(normal)
    smallest = np.linalg.eigvalsh(normal)[0]
    smallest += deviation * (rng.standard_normal() - np.sqrt(np.log(6.0 / delta)))
    wanted = np.sqrt(k * np.log(2.0 * k**2 / FAILURE)) * deviation
    return max(0.0, wanted - max(smallest, 0.0))


def fit(problem, budget, rng):
    """Line of one response; (eps, delta)-private for one record added or removed."""
    x, y = problem.design, problem.responses[:, 0]
    k, square, scale = x.shape[1], problem.design_norm**2, noise_scale(budget)
    normal = x.T @ x
    added = ridge(rng, normal, scale * square, budget.delta)

    # One normal number for each entry on and above the diagonal.
    upper = np.triu(rng.standard_normal((k, k)))
    noise = upper + np.triu(upper, 1).T
    right = x.T @ y + scale * problem.design_norm * problem.bound * rng.standard_normal(k)
    return problem.line(np.linalg.solve(normal + scale * square * noise + added * np.eye(k), right))
