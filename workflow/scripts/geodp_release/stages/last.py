"""The last step, which leads to least squares whatever law residuals have."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from geodp.errors import DataError
from geodp_release.moments import moment_matrix, products
from geodp_release.stages.step import NoisyStep, updated


@dataclass(frozen=True)
class LastStep(NoisyStep):
    """A Gauss-Newton step with a long clip, that rests on no law of residuals.

    It expects errors before it to be ``unlike`` the simulated ones, or if it is not relative as
    large as the support, and clipping to leave means as they are: ``kept`` is one.

    Attributes
    ----------
    unlike : float
        Standard deviation, in each direction, of where steps before it lead if residuals are not
        normal, in units of the released length.
    beyond : float
        Mean length of what clipping takes from residuals, at most, in units of the clip, by the
        statement about tails in `geodp_release.stages.tail`.
    """

    unlike: float = 0.0
    beyond: float = 0.0

    what: ClassVar[str] = "last Gauss-Newton step by gradients"

    def __post_init__(self):
        super().__post_init__()
        for name in ("unlike", "beyond"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise DataError(
                    f"a stage has {name} {getattr(self, name)}: give a number from zero on"
                )

    def fitted(self, releases, clean=None, coordinates=None):
        return replace(super().fitted(releases, clean, coordinates), kept=1.0)

    def _model(self, before, assumptions, unit):
        noise = self._covariance_of_means(before, assumptions)
        if not self.is_relative:
            prior = np.diag(assumptions.support.radii**2 / assumptions.manifold.dim) / unit**2
            return prior, moment_matrix(before.moments), noise, np.zeros_like(prior)
        # As if nothing were known of errors from the steps before.
        wide = replace(self, prior=tuple(each + self.unlike**2 for each in self.prior))
        return NoisyStep._model(wide, replace(before, covariance=None), assumptions, unit)

    def _stepped(self, releases, noisy, unit, last_level):
        prior, hessian, noise, spread = self._model(releases, releases.assumptions, unit)
        gain, *_ = updated(prior, hessian, noise + spread)
        left = np.eye(len(self.prior)) - products(gain, hessian)
        # In any direction, in the coordinates of contributions.
        left = products(left, releases.coordinates.standard.T) * (self.unlike * unit)
        # One each, as releases that went other ways have others.
        left = np.broadcast_to(left, (len(noisy), *left.shape[1:]))
        excess = np.broadcast_to(self.beyond * self.clip * np.ravel(unit), len(noisy))
        found = super()._stepped(releases, noisy, unit, last_level)
        return replace(found, left=left, excess=excess)
