"""Two stages of noisy matrices: moments, from which a step follows; and products, for bands.

Those of contributions say how far the estimate varies with the sample.
"""

from dataclasses import dataclass, replace
from math import isqrt

import numpy as np

from geodp.linear.moment_matrix import shrunk
from geodp_release.promise.budget import PURE
from geodp_release.run.contributions import (
    MATRIX_LATTICE,
    PRODUCT_LATTICE,
    matrix_sums,
    product_sums,
)
from geodp_release.run.covariate_moments import matrix_moments, moment_matrix, products
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.curvature import straightened
from geodp_release.stages.moments import MeasuresMoments
from geodp_release.stages.residual_tables import LEVELS, level_of
from geodp_release.stages.stage import Stage
from geodp_release.stages.step import NoisyStep, clean_means, limits_at, updated

# Length of a clipped residual beside that of coordinates of covariates.
WEIGHT = 0.8


@dataclass(frozen=True)
class MatrixStage(MeasuresMoments, NoisyStep):
    """Release of the sum of z z' over records, with moments and a Gauss-Newton step from it.

    A record's z has 1 and its covariates, over the root mean squares that are expected of them, and
    its clipped residual, about the centre or in flat space about any state.  Records whose
    coordinates are longer than ``reach`` weigh less.
    """

    reach: float = 1.0  # Length of coordinates of covariates to which records are shortened.

    by = "step by one matrix of moments of covariates and of residuals"
    pure_noise = "matrix Laplace"
    positive = ("clip", "kept", "reach")

    @staticmethod
    def widths(assumptions):
        """Expected root mean squares (1 + k,) of 1 and of covariates."""
        spread = Covariates.assumed(assumptions).matrix
        return np.sqrt(np.diagonal(spread))

    @classmethod
    def planned_reach(cls, assumptions):
        """Reach that few records exceed if covariates are independent: two deviations."""
        covariates = Covariates.assumed(assumptions)
        squares = np.sum((covariates.nodes / cls.widths(assumptions)[1:]) ** 2, axis=1)
        mean = covariates.weights @ squares
        wide = mean + 2.0 * np.sqrt(covariates.weights @ (squares - mean) ** 2)
        most = np.sum(0.25 / cls.widths(assumptions)[1:] ** 2)
        return float(np.sqrt(1.0 + min(wide, most)))

    def noise(self, assumptions):
        """The `Noise` of the upper triangle of the matrix, in steps of its lattice."""
        return self._added(MATRIX_LATTICE**2, assumptions.changes, matrix=True)

    def _size(self, assumptions):
        """Rows of the matrix: 1, covariates, and coordinates of the residual."""
        return assumptions.number_of_covariates + 1 + assumptions.manifold.dim

    def _deviation(self, assumptions):
        """Standard deviation of an entry off the diagonal, in units of a record's largest trace."""
        if self.unit == PURE:
            size = self._size(assumptions)
            return assumptions.changes / float(self.budget) * np.sqrt(0.5 * (size + 1))
        return np.sqrt(0.25 * assumptions.changes / float(self.budget))

    @property
    def _trace(self):
        """Largest trace of what a record adds, in coordinates of covariates."""
        return self.reach**2 * (1.0 + WEIGHT**2)

    @property
    def _of_residuals(self):
        """Unit of sums of residuals times coordinates, in those of the step."""
        return self._trace * self.clip / (WEIGHT * self.reach)

    def deviations(self, assumptions):
        """Standard deviations of the noise of the sums of covariates and of products."""
        widths = self.widths(assumptions)
        each = self._trace * self._deviation(assumptions) * np.outer(widths, widths)
        return matrix_moments(each * np.sqrt(1.0 + np.eye(len(widths))))

    def _covariance_of_means(self, before, assumptions):
        deviation = self._of_residuals * self._deviation(assumptions) / before.number
        return np.diag((deviation * self.widths(assumptions)) ** 2)

    def change(self, means, before, assumptions, unit=1.0):
        """The step of `NoisyStep.change`, averaged over sizes by how probable means make each.

        So a geodesic that is shorter than expected is not lost in noise.
        """
        # In parts of those that are expected, as probable before the stage.
        sizes = 0.5 ** np.arange(6)
        prior, hessian, noise, spread = self._model(before, assumptions, unit)
        logs, steps, covariances = [], [], []
        for size in sizes:
            gain, after, inverse = updated(size**2 * prior, hessian, noise + size**2 * spread)
            squares = np.einsum("...id,...ij,...jd->...", means, inverse, means)
            logs.append(0.5 * (means.shape[-1] * np.linalg.slogdet(inverse)[1] - squares))
            steps.append(products(gain, means))
            covariances.append(after)
        weights = np.exp(logs - np.max(logs, axis=0))
        weights = (weights / np.sum(weights, axis=0))[..., None, None]
        step = np.sum(weights * steps, axis=0)
        away = np.array(steps) - step
        away = products(away, np.swapaxes(away, -1, -2)) / means.shape[-1]
        return step, unit**2 * np.sum(weights * (covariances + away), axis=0)

    def _parts(self, upper, assumptions):
        """Matrices of covariates and sums of residuals, from an upper triangle (..., entries).

        In units of the largest trace it is given in.
        """
        matrix = triangle_matrix(upper)
        widths = self.widths(assumptions)
        number = len(widths)
        of_covariates = matrix[..., :number, :number] * self._trace * np.outer(widths, widths)
        return of_covariates, matrix[..., :number, number:] * self._of_residuals * widths[:, None]

    def _measured(self, matrix, sums, numbers, assumptions, deviation=0.1, limits=(0.25, 4 / 3)):
        """Moments of covariates, and mean residuals times covariates (..., 1 + k, dim).

        From matrices and sums with noise, and numbers of subjects (...,).  The mean weight of
        records has a prior standard ``deviation`` and ``limits``.
        """
        noise = np.sqrt(2.0) * self._trace * self._deviation(assumptions) / numbers
        # Records that weigh less, or cannot be used, make all sums smaller.
        trust = deviation**2 / (deviation**2 + noise**2)
        share = 1.0 + trust * (matrix[..., 0, 0] / numbers - 1.0)
        total = (numbers * np.clip(share, *limits))[..., None, None]
        found = matrix / total
        if assumptions.spreads:
            widths = self.widths(assumptions)[1:]
            unit, each = np.outer(widths, widths), np.mean(noise) / np.sqrt(2.0)
            pole = 0.0
            if self.unit == PURE:
                pole = each * len(widths) / np.sqrt(2.0 * (self._size(assumptions) + 1))
            each = shrunk(found[..., 1:, 1:] / unit, each, pole, keeps_trace=True)[0]
            found[..., 1:, 1:] = unit * each
        moments = self.moments(matrix_moments(found), numbers[..., None], assumptions)
        return moments, sums / total

    def _vectors(self, assumptions):
        """Function of covariates (n, k) and residuals, of length one at most, to z in its unit."""
        widths = self.widths(assumptions)

        def vectors(covariates, residuals):
            ones = np.ones((len(covariates), 1))
            along = np.concatenate([ones, covariates / widths[1:]], axis=-1)
            along /= np.maximum(np.sqrt(np.sum(along**2, axis=-1)), self.reach)[:, None]
            # Shortened together, so that they go on agreeing.
            shorter = along[:, :1] * self.reach
            both = np.concatenate([along, WEIGHT * shorter * residuals], axis=-1)
            return both / np.sqrt(1.0 + WEIGHT**2)

        return vectors

    def run(self, before, assumptions, records, bits, shared=None):
        unit = before.lengths[-1] if self.is_relative else 1.0
        sums = matrix_sums(
            assumptions, records, before.state, self.clip * unit, self._vectors(assumptions)
        )
        noisy = self.noise(assumptions).add([sums], bits)[0]
        noisy = np.array([float(each) for each in noisy]) / MATRIX_LATTICE**2
        matrix, sums = self._parts(noisy, assumptions)
        moments, means = self._measured(matrix, sums, np.array(before.number), assumptions)
        found = replace(before, moments=moments, uncertainty=self.uncertainty(assumptions))
        change, covariance = self.change(means, found, assumptions, unit)
        state, reached = straightened(assumptions, before.state, unit * change, moments)
        return replace(found, state=state, reached=reached, covariance=covariance)

    def prepare(self, releases):
        shifts = level_of(releases.scales_at_nodes, 1.0)
        return clean_means(releases, self._level(releases), shifts, 0)

    def simulate(self, releases, rng, prepared=None):
        clean = self.prepare(releases) if prepared is None else prepared
        assumptions, unit = releases.assumptions, self._units(releases)
        size = clean.shape[1] + releases.dim
        shape = len(clean), 1, size * (size + 1) // 2
        noise = self.noise(assumptions).draw(rng, shape)[:, 0] / float(MATRIX_LATTICE) ** 2
        matrix, sums = self._parts(noise, assumptions)
        sums = sums + releases.number * clean / unit
        if releases.uncertainty is not None:
            # Moments are given, as they were released.
            return self._stepped(releases, sums / releases.number, unit, LEVELS)
        true = releases.covariates.moments + releases.deviations
        matrix = matrix + releases.number * moment_matrix(true)
        numbers = releases.number / np.broadcast_to(np.ravel(releases.counted), len(clean))
        moments, means = self._measured(matrix, sums, numbers, assumptions)
        uncertainty = self.uncertainty(assumptions)
        found = replace(releases, moments=moments, uncertainty=uncertainty)
        return self._stepped(found, means, unit, LEVELS)


@dataclass(frozen=True)
class ProductsStage(Stage):
    """Release of mean products of two parts of contributions, clipped as those to a last step.

    Of two directions, over footpoint and shooting vectors together, or of two of these, over all
    directions together.
    """

    # Norm to which contributions are clipped, in units of the residual length released last.
    clip: float = 1.0
    directions: bool = False

    what = (
        "noisy mean products of contributions, clipped to {0.clip:.4g} released lengths, by {0._of}"
    )
    positive = ("clip",)
    is_relative = True

    @property
    def _of(self):
        return "directions" if self.directions else "footpoint and shooting vectors"

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


def triangle_matrix(upper):
    """Symmetric matrices (..., m, m) of upper triangles (..., m (m + 1) / 2), row by row."""
    size = (isqrt(8 * upper.shape[-1] + 1) - 1) // 2
    matrix = np.empty((*upper.shape[:-1], size, size))
    row, column = np.triu_indices(size)
    matrix[..., row, column] = matrix[..., column, row] = upper
    return matrix
