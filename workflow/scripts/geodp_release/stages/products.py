"""Release of second moments of contributions: how far the estimate varies with the sample."""

from dataclasses import dataclass, replace
from math import isqrt

import numpy as np

from geodp_release.run.contributions import PRODUCT_LATTICE, product_sums
from geodp_release.stages.last_step import limits_at
from geodp_release.stages.stage import Stage


@dataclass(frozen=True)
class ProductsStage(Stage):
    """Release of mean products of two parts of contributions, clipped as those to a last step.

    Attributes
    ----------
    clip : float
        Norm to which contributions are clipped, in units of the residual length released last.
    directions : bool
        Of two directions, over footpoint and shooting vectors together, or of two of these, over
        all directions together.
    """

    clip: float = 1.0
    directions: bool = False

    # It needs a length.
    is_relative = True

    def __post_init__(self):
        super().__post_init__()
        self._refuse_unless_positive("clip")

    def size(self, assumptions):
        """Rows of the matrix."""
        if self.directions:
            return assumptions.manifold.dim
        return 1 + assumptions.number_of_covariates

    def noise(self, assumptions):
        """The `Noise` of an upper triangle of sums of products, in steps of their lattice."""
        # Of positive semidefinite matrices with so large a trace; two numbers above zero differ by
        # no more than the larger.
        changes = min(assumptions.changes, self.size(assumptions))
        return self._added(PRODUCT_LATTICE**2, changes, matrix=True)

    def deviation(self, assumptions):
        """Standard deviation of an entry off the diagonal of a mean, for a clip of one."""
        size = self.size(assumptions)
        [variance] = self.noise(assumptions).variances(size * (size + 1) // 2)
        return float(np.sqrt(0.5 * float(variance))) / PRODUCT_LATTICE**2 / assumptions.subjects

    def run(self, before, assumptions, records, bits, shared=None):
        clip, longest = limits_at(self.clip * before.lengths[-1], assumptions)
        limits = clip, before.coordinates, self.directions, longest
        sums = product_sums(assumptions, records, before.state, *limits)
        noisy = self.noise(assumptions).add([sums], bits)[0]
        unit = (clip / PRODUCT_LATTICE) ** 2 / before.number
        found = tuple(float(each) * unit for each in noisy)
        return replace(before, products=(*before.products, found))

    def describe(self):
        what = "directions" if self.directions else "footpoint and shooting vectors"
        return (
            f"noisy mean products of contributions, clipped to {self.clip:.4g} released lengths, "
            f"by {what}, {self.cost}"
        )


def triangle_matrix(upper):
    """Symmetric matrices (..., m, m) of upper triangles (..., m (m + 1) / 2), row by row."""
    size = (isqrt(8 * upper.shape[-1] + 1) - 1) // 2
    matrix = np.empty((*upper.shape[:-1], size, size))
    row, column = np.triu_indices(size)
    matrix[..., row, column] = matrix[..., column, row] = upper
    return matrix
