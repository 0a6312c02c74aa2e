"""Lines of all responses at once from one noisy matrix of moments, of this project."""

import numpy as np

from geodp.linear.moment_matrix import private_slopes


def laplace(problem, budget, rng):
    """Line of all responses; pure epsilon for one record added or removed."""
    return _line(problem, budget.epsilon, None, rng)


def gaussian(problem, budget, rng):
    """Line of all responses; (eps, delta)-private for one record added or removed."""
    return _line(problem, budget.epsilon, budget.delta, rng)


def _line(problem, epsilon, delta, rng):
    length = problem.bound * np.sqrt(problem.responses.shape[1])
    x, y = problem.design / problem.design_norm, problem.responses / length
    slopes = private_slopes(rng, x, y, problem.records, epsilon, delta)
    return problem.line(slopes * length / problem.design_norm)
