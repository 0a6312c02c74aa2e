"""Deviations of Gaussian noise for approximate privacy, in flat space and through Exp.

A Gaussian mechanism of sensitivity D and deviation s has the smallest delta of Balle and Wang
(2018, theorem 8); `gaussian_delta` is that.

`wrapped_gaussian_delta` bounds the delta of a draw ``p = Exp(m, v)``, v Gaussian, where no
curvature is positive.  Its density at p is ``exp(-d(m, p)^2 / (2 s^2)) / J``, up to a constant that
does not depend on m.  Let m move by D in a unit direction u.  Then

* ``d^2 / 2`` moves by ``-D <v, u>`` and at most ``D^2 / 2`` times the largest eigenvalue of its
  Hessian on the way, which is at most ``a coth a`` with ``a = sqrt(-kappa) (|v| + D)``;
* ``log J`` moves by at most ``D`` times the growth of volume (see `WrappedLaplace`).

So the privacy loss is that of a Gaussian mechanism and, where v is no longer than a length L, at
most ``D growth + (D / s)^2 (a coth a - 1) / 2`` more, a taken at L.  A longer v has the chance of a
chi variable's tail, which is added to delta.
"""

import numpy as np
from scipy.special import gammainccinv, log_ndtr, ndtr

from geodp.errors import DataError


def gaussian_delta(epsilon, ratio):
    """Smallest delta at an epsilon, of either sign, of Gaussian noise.

    ``ratio`` is the sensitivity over the deviation.  Source: Balle and Wang (2018), theorem 8.
    """
    first, second = 0.5 * ratio - epsilon / ratio, -0.5 * ratio - epsilon / ratio
    return float(ndtr(first) - np.exp(epsilon + log_ndtr(second)))


def wrapped_gaussian_delta(manifold, sensitivity, deviation, epsilon, tail):
    """Bound of delta at an epsilon, of which ``tail`` is for longer noise; see the module."""
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


def check_wrapped_budget(manifold, sensitivity, epsilon):
    """Refuse a budget that is no more than what the distortion of volume spends."""
    if epsilon <= manifold.volume_growth * sensitivity:
        raise DataError(
            f"a budget of {epsilon:g} is spent on the distortion of volume alone: take a larger "
            "one, or more records"
        )


def wrapped_gaussian_deviation(manifold, sensitivity, epsilon, delta):
    """The same for noise that the exponential map carries, where no curvature is positive."""
    check_wrapped_budget(manifold, sensitivity, epsilon)
    bound = (epsilon, 0.1 * delta)
    return _deviation(
        sensitivity, delta, lambda s: wrapped_gaussian_delta(manifold, sensitivity, s, *bound)
    )
