"""The last step, which leads to least squares whatever the distribution of residuals."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from geodp.errors import DataError
from geodp_release.run.clipping_coordinates import ClippingCoordinates
from geodp_release.run.contributions import LOSS_LATTICE
from geodp_release.run.covariate_moments import products
from geodp_release.stages.stage import checked_share
from geodp_release.stages.step import NoisyStep, diagonal_in, updated
from geodp_release.stages.tail_count import excess_beyond


@dataclass(frozen=True)
class LastStep(NoisyStep):
    """A Gauss-Newton step with a long clip, that rests on no law of residuals.

    It expects errors before it to be ``unlike`` the simulated ones, or if it is not relative as
    large as the support, and clipping to leave means as they are: ``kept`` is one.  By Huber's loss
    its clip is the threshold of residuals, and ``kept`` goes by a count of those beyond it.

    Attributes
    ----------
    unlike : float
        Standard deviation, in each direction, of where steps before it lead if residuals are not
        normal, in units of the released length.
    share : Fraction
        Of residuals that are longer than the released length, by which the statement about tails in
        `geodp_release.stages.tail_count` says what clipping may take; zero if it takes nothing.
    """

    unlike: float = 0.0
    share: Fraction = Fraction(0)

    what: ClassVar[str] = "last Gauss-Newton step by gradients"

    def __post_init__(self):
        super().__post_init__()
        if not 0.0 <= self.unlike < np.inf:
            raise DataError(f"a stage has unlike {self.unlike}: give a number from zero on")
        if self.share:
            object.__setattr__(self, "share", checked_share(self.share, LOSS_LATTICE))

    def fitted(self, releases, clean=None, coordinates=None):
        found = super().fitted(releases, clean, coordinates)
        return found if releases.is_whole else replace(found, kept=1.0)

    def limits(self, assumptions):
        return limits_at(self.clip, assumptions)

    def run(self, before, assumptions, records, bits, shared=None):
        step = self if before.within is None else replace(self, kept=before.within)
        return super(LastStep, step).run(before, assumptions, records, bits, shared)

    def simulate(self, releases, rng, prepared=None):
        if releases.within is None:
            return super().simulate(releases, rng, prepared)
        # Of normal residuals as much is left as was planned: others leave what was counted.
        clean = self.prepare(releases) if prepared is None else prepared
        clean = clean * (releases.within / self.kept)
        step = replace(self, kept=releases.within)
        return super(LastStep, step).simulate(releases, rng, clean)

    def _covariance_before(self, before, unit):
        # As if nothing were known of errors from the steps before.
        return diagonal_in(before.coordinates, np.array(self.prior) + self.unlike**2)

    def _model(self, before, assumptions, unit):
        if self.is_relative:
            return super()._model(before, assumptions, unit)
        noise = self._covariance_of_means(before, assumptions)
        prior = np.diag(assumptions.support.radii**2 / assumptions.manifold.dim) / unit**2
        return prior, before.moment_matrix, noise, np.zeros_like(prior)

    def _stepped(self, releases, noisy, unit, last_level):
        prior, hessian, noise, spread = self._model(releases, releases.assumptions, unit)
        gain, covariance, _ = updated(prior, hessian, noise + spread)
        left = np.eye(len(self.prior)) - products(gain, hessian)
        # In any direction, in the coordinates of contributions.
        left = products(left, releases.coordinates.standard.T) * (self.unlike * unit)
        # One each, as releases that went other ways have others.
        left = np.broadcast_to(left, (len(noisy), *left.shape[1:]))
        excess = np.broadcast_to(np.ravel(unit) * self._excess(releases), len(noisy))
        state, covariance = releases.state + unit * products(gain, noisy), unit**2 * covariance
        found = {"covariance": covariance, "last_level": last_level, "left": left}
        return releases.stepped(state, excess=excess, **found)

    def _excess(self, releases):
        """Root mean squared mean length that is taken at a covariate, at most, in released ones."""
        if not self.share:
            return 0.0
        ratios = self.clip / releases.lengths_at_nodes
        excess = excess_beyond(float(self.share), ratios, releases.dim)
        return np.sqrt(np.sum(releases.covariates.by_release[0] * excess**2, axis=0))


def limits_at(clip, assumptions):
    """Norm to which contributions are clipped at the end, and length to which residuals are before.

    By Huber's loss a residual is shortened to the clip, and no contribution is longer than that
    makes it at the ends of ranges of covariates.
    """
    if not assumptions.is_robust:
        return clip, np.inf
    return clip * ClippingCoordinates.whole(assumptions.number_of_covariates).longest, clip
