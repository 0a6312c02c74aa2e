"""Symmetric matrices with noise: eigenvalues shrunk by the spectrum of the noise."""

import numpy as np


def shrunk(noisy, deviation, pole, keeps_trace=False):
    """Noisy matrices (..., k, k), eigenvalues shrunk to their mean, and deviations that are left.

    If it ``keeps_trace`` those within the noise become what the others leave of it, or zero.

    The noise's spectrum has the R-transform ``V z / (1 - (pole z)^2)``, V the square of the
    deviation times the size: that of a difference of Marchenko-Pastur distributions, or of a
    semicircle.  Eigenvalues within it become the mean.  A true eigenvalue t from the mean, beyond
    the transition, is seen at ``t + R(1 / t)`` along a vector of squared cosine ``1 - R'(1 / t) /
    t^2``; those seen there become t times that, which has the least squared error.

    Source: Benaych-Georges and Nadakuditi (2011), theorems 2.1 and 2.2.
    """
    k = noisy.shape[-1]
    variance = k * deviation**2
    values, vectors = np.linalg.eigh(noisy)
    middle = np.maximum(np.mean(values, axis=-1, keepdims=True), 0.0)
    apart = values - middle

    # Where the squared cosine is zero.
    transition = pole**2 + 0.5 * (variance + np.sqrt(variance**2 + 8.0 * variance * pole**2))
    true = np.sqrt(transition) * np.geomspace(1.0, 1e4, 2000)
    ratio = (pole / true) ** 2
    seen = true + variance / true / (1.0 - ratio)
    cosine = 1.0 - variance * (1.0 + ratio) / (1.0 - ratio) ** 2 / true**2
    least = np.interp(np.abs(apart), seen, true * np.clip(cosine, 0.0, 1.0), left=0.0)
    # Far outside nothing is left to mend.
    least = np.where(np.abs(apart) > seen[-1], np.abs(apart), least)

    kept = 1.0 - (k + 1) * variance / np.maximum(np.sum(apart**2, axis=-1), 1e-300)
    moved = np.sign(apart) * least
    if keeps_trace:
        inside = least == 0.0
        count = np.maximum(np.sum(inside, axis=-1, keepdims=True), 1)
        moved = np.where(inside, -np.sum(moved, axis=-1, keepdims=True) / count, moved)
    new = np.maximum(middle + moved, 0.0)[..., None, :]
    found = (vectors * new) @ np.swapaxes(vectors, -1, -2)
    return found, deviation * np.sqrt(np.maximum(kept, 1e-3))
