"""Simulated records of linear regression, and their moments, summed over chunks of records.

Least squares, and every mechanism for it, needs no more of the records than `Moments`.  So any
number of records fits into memory.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.blas import dgemm


@dataclass(frozen=True)
class Moments:
    """Sums over the records of data sets."""

    number: np.ndarray  # (data_sets,): records, n.
    gram: np.ndarray  # (data_sets, d, d): ``X'X``.
    cross: np.ndarray  # (data_sets, d): ``X'y``.
    largest: np.ndarray  # (data_sets,): ``max |y|``.

    def scaled(self):
        """Moments of responses divided by the largest, which is then one.

        The papers divide so (Reimherr and Awan, algorithm 1).  The divisor is read off the data, so
        that no budget that is stated for what follows holds for all of it.
        """
        cross = self.cross / self.largest[:, None]
        return replace(self, cross=cross, largest=np.ones_like(self.largest))


def record_chunks(rng, coefficients, number, chunk=1 << 12):
    """Simulate records a chunk at a time (Reimherr and Awan, algorithm 1).

    The first covariate is one, the others are uniform on [-1, 1], errors are standard normal.
    Yields covariates, then responses, (d + 1, m); the memory is used again for the next chunk.
    With a dozen covariates a chunk fits into a core's cache.
    """
    d = len(coefficients)
    memory = np.empty((d + 1) * min(chunk, number))
    for start in range(0, number, chunk):
        m = min(chunk, number - start)
        part = memory[: (d + 1) * m].reshape((d + 1, m))
        part[0] = 1.0
        rng.random(out=part[1:d])
        part[1:d] *= 2.0
        part[1:d] -= 1.0
        rng.standard_normal(out=part[d])
        part[d] += coefficients @ part[:d]
        yield part


def simulate_moments(rng, coefficients, number):
    """`Moments` of one simulated data set; see `record_chunks` for its records."""
    d = len(coefficients)
    products, largest = np.zeros((d + 1, d + 1)), 0.0
    for part in record_chunks(rng, coefficients, number):
        # Twice as fast as `part @ part.T`, for which NumPy takes the symmetric product.
        products += dgemm(1.0, part.T, part.T, trans_a=True)
        largest = max(largest, float(np.max(np.abs(part[d]))))
    return Moments(
        np.array([number]), products[None, :d, :d], products[None, :d, d], np.array([largest])
    )
