"""Statistics of a release beside its predictions: tests of coefficients, residuals, and R^2.

They follow from what was released and cost no budget of their own.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from geodp_release.plan import agreeing, bands


class Statistics:
    """What `geodp.Release` says of its coefficients and residuals."""

    plan: Any
    shooting_vectors: Any
    number: Any
    lengths: Any
    _simulated: Any
    _scatter: Any
    _coordinates: Any
    _agreeing: Any

    def residual_scale(self, level: float = bands.LEVELS[0]) -> bands.Estimate | None:
        """Root mean square of a residual in each direction; ``None`` if it is not measured.

        By Huber's loss it is not, as released squares are those of shortened residuals.
        """
        if (squares := self._residual_squares) is None:
            return None
        return bands.Estimate.of(np.sqrt(squares / self.plan.assumptions.manifold.dim), level)

    def r_squared(self, level: float = bands.LEVELS[0]) -> bands.Estimate | None:
        """Share of the variance that the covariates explain; ``None`` if it cannot be said.

        That is without a covariate, for Huber's loss, or where no stage measures residuals.  The
        variance explained is that of predictions, in flat space, less what noise adds to it; the
        rest is the mean square of residuals.
        """
        if (squares := self._residual_squares) is None or not len(self.shooting_vectors):
            return None
        _, errors, *_, moments = self._simulated
        explained = bands.explained_variances(
            self._coordinates[1:], errors[:, 1:], moments, self.number
        )
        return bands.Estimate.of(explained / (explained + squares), level)

    @property
    def _residual_squares(self):
        """Mean squares (n,) of residuals that agree with this release; ``None`` if not measured."""
        if not self.lengths or self.plan.assumptions.is_robust:
            return None
        # Second moments are of means of subjects' records, if they have several.
        if self._scatter is None or self.plan.assumptions.records_per_subject > 1:
            return self._simulated[0] ** 2
        return self._scatter.residual_squares(self._simulated[0], self.number)

    def p_values(self) -> np.ndarray:
        """Of the hypothesis that predictions do not depend on a column of covariates; (c,).

        By how often shooting vectors of simulated releases whose true ones are zero are as long, as
        if clipping took as much from long residuals at all covariates.
        """
        terms = self.plan.assumptions.terms
        return np.array([self.p_value(terms.involving(each)) for each in range(len(terms.bases))])

    def p_value(self, covariates: Sequence[int]) -> float:
        """Of the hypothesis that the coefficients of some covariates, by index, are all zero.

        It costs no budget but that of the release.  Of several coefficients the statistic is their
        length in units of the covariance of simulated errors.
        """
        key = tuple(covariates)
        if key not in self._found_p_values:
            self._found_p_values[key] = self._p_value([1 + each for each in key])
        return self._found_p_values[key]

    def p_words(self, values: ArrayLike | None = None) -> list[str]:
        """Each of `p_values` in words: one that no simulated release reaches is a limit."""
        least = 1.0 / (1.0 + len(self._simulated[1]))
        values = self.p_values() if values is None else np.asarray(values)
        return [f"{p:.2g}{' or less' if p <= least else ''}" for p in values]

    @cached_property
    def _found_p_values(self):
        return {}

    def _p_value(self, numbers):
        scales = agreeing.agreeing_scales(self._simulated[0])
        simulated, rng = self._agreeing(numbers, scales)
        # What clipping takes makes no trend where residuals do not depend on the covariate.
        errors = bands.sampled_errors(simulated, rng, scatter=self._scatter)[:, numbers]
        root = np.linalg.cholesky(np.mean(errors @ np.swapaxes(errors, 1, 2), axis=0))
        lengths, length = (
            np.linalg.norm(np.linalg.solve(root, some), axis=(-2, -1))
            for some in (errors, self._coordinates[numbers])
        )
        return float((1.0 + np.sum(lengths >= length)) / (1.0 + len(lengths)))
