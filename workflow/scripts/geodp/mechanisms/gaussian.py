"""Standard deviations of Gaussian noise for approximate privacy, in flat space and through Exp.

A Gaussian mechanism has the smallest delta of Balle and Wang (2018, theorem 8).  That of a draw
``Exp(m, v)`` with v Gaussian, where no curvature is positive, is bounded in docs/papers.md, under
"Wrapped Gaussian".
"""

import numpy as np
from scipy.special import gammainccinv, log_ndtr, ndtr


def gaussian_delta(epsilon, ratio):
    """Smallest delta at an epsilon, of either sign, of Gaussian noise.

    ``ratio`` is the sensitivity over the deviation.  Source: Balle and Wang (2018), theorem 8.
    """
    first, second = 0.5 * ratio - epsilon / ratio, -0.5 * ratio - epsilon / ratio
    return float(ndtr(first) - np.exp(epsilon + log_ndtr(second)))


def wrapped_gaussian_delta(manifold, sensitivity, deviation, epsilon, tail):
    """Bound of the delta of wrapped noise at an epsilon, of which ``tail`` is for long noise."""
    length = np.sqrt(2.0 * gammainccinv(0.5 * manifold.dim, tail))
    angle = np.sqrt(-manifold.curvature_bounds[0]) * (deviation * length + sensitivity)
    # The series near zero, where the quotient has no digits.
    hessian = angle / np.tanh(angle) if angle > 1e-4 else 1.0 + angle**2 / 3.0
    ratio = sensitivity / deviation
    more = manifold.volume_growth * sensitivity + 0.5 * (hessian - 1.0) * ratio**2
    return tail + gaussian_delta(epsilon - more, ratio)


def _deviation(sensitivity, delta, delta_at):
    """The deviation at which a decreasing function of it is delta."""
    from scipy.optimize import brentq

    log_ratio = brentq(lambda x: delta_at(sensitivity * np.exp(x)) - delta, -5.0, 15.0)
    return sensitivity * np.exp(log_ratio)


def gaussian_deviation(sensitivity, epsilon, delta):
    """Deviation of Gaussian noise, by coordinate, that satisfies (epsilon, delta)."""
    return _deviation(sensitivity, delta, lambda s: gaussian_delta(epsilon, sensitivity / s))


def wrapped_gaussian_deviation(manifold, sensitivity, epsilon, delta):
    """The same for noise that the exponential map carries, where no curvature is positive."""
    bound = (epsilon, 0.1 * delta)
    return _deviation(
        sensitivity, delta, lambda s: wrapped_gaussian_delta(manifold, sensitivity, s, *bound)
    )
