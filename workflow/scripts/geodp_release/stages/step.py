"""Private Gauss-Newton steps, by clipped gradients with noise."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from geodp.errors import DataError
from geodp_release.promise.budget import PURE
from geodp_release.run.clipping_coordinates import ClippingCoordinates, noise_of
from geodp_release.run.contributions import LATTICE, gradient_sums
from geodp_release.run.covariate_moments import inverses, moment_matrix, products
from geodp_release.stages import residual_tables
from geodp_release.stages.counts import excess_beyond
from geodp_release.stages.curvature import Predictions, looked_at, straightened
from geodp_release.stages.stage import Stage, checked_share


@dataclass(frozen=True)
class NoisyStep(Stage):
    """One private Gauss-Newton step."""

    # tau: the norm to which a subject's contribution is clipped, in `ClippingCoordinates`.
    clip: float = 0.0
    kept: float = 1.0  # Part of a small error that is left in mean clipped contributions.
    # Mean squared errors of a coordinate of the parts of a state before the step, in
    # `ClippingCoordinates`, as simulated from public assumptions.
    prior: tuple[float, ...] = (1.0, 1.0)
    # Whether clip and prior are in units of the residual length that was released last.
    is_relative: bool = False

    # What is clipped, and its noise where the budget is pure.
    by: ClassVar[str] = "Gauss-Newton step by gradients"
    pure_noise: ClassVar[str] = "K-norm"
    what = "{0.by} clipped to {0.clip:.4g}{0._lengths} with exact {0._kind} noise"
    positive: ClassVar[tuple[str, ...]] = ("clip", "kept")

    def __post_init__(self):
        super().__post_init__()
        if np.ndim(self.prior) != 1 or not np.all(np.asarray(self.prior) > 0.0):
            raise DataError(f"a stage has prior {self.prior}: give positive numbers")

    def noise(self, assumptions):
        """The `Noise` of sums of contributions, in `ClippingCoordinates`."""
        covariates, change = assumptions.number_of_covariates, assumptions.changes * LATTICE
        return noise_of(covariates, self.unit, change, self.budget)

    def noise_in_floats(self, assumptions):
        """The same in units of contributions, for simulations."""
        covariates = assumptions.number_of_covariates
        change = assumptions.changes * self.limits(assumptions)[0]
        return noise_of(covariates, self.unit, change, float(self.budget))

    def limits(self, assumptions):
        """Norm to which contributions are clipped, and length to which residuals are before."""
        return self.clip, np.inf

    def noisy_means(self, assumptions, records, before, bits):
        """Means (1 + k, dim) of clipped gradients by block, with exact noise."""
        coordinates, (clip, longest) = before.coordinates, self.limits(assumptions)
        sums = gradient_sums(assumptions, records, before.state, clip, coordinates, longest)
        noisy = coordinates.noisy(sums, bits, self.noise(assumptions))
        return noisy * (clip / LATTICE / before.number)

    def run(self, before, assumptions, records, bits, shared=None):
        unit = before.lengths[-1] if self.is_relative else 1.0
        absolute = replace(self, clip=self.clip * unit)
        means = absolute.noisy_means(assumptions, records, before, bits)
        means = before.coordinates.back @ means / unit
        change, covariance = self.change(means, before, assumptions, unit)
        covariates = looked_at(assumptions, before.moments)
        if covariates is not None:
            manifold, point = assumptions.manifold, before.state[0]
            seen = Predictions.of(manifold, before.state, covariates)
            parts = seen.parts(manifold.tangent(point, means))
            parts = self.curved_change(seen.squares, parts, before, assumptions, unit)
            change = manifold.coordinates(point, seen.joined(parts))
        state, reached = straightened(assumptions, before.state, unit * change, before.moments)
        return replace(before, state=state, reached=reached, covariance=covariance)

    def _units(self, releases):
        """The unit (releases, 1, 1) of the step in each release."""
        return releases.length[:, None, None] if self.is_relative else np.ones((1, 1, 1))

    def _level(self, releases):
        """The level, or that of each release, at which contributions are clipped."""
        clip = self.clip * releases.length if self.is_relative else self.clip
        return residual_tables.level_of(clip, releases.typical)

    def prepare(self, releases):
        """Means of clipped contributions, without noise: `simulate` may be given them."""
        middle = residual_tables.level_of(stretch(releases), 1.0)
        return clean_means(releases, self._level(releases), releases.shifts_at_nodes, middle)

    def simulate(self, releases, rng, prepared=None):
        clean = self.prepare(releases) if prepared is None else prepared
        assumptions, coordinates = releases.assumptions, releases.coordinates
        noise = coordinates.simulated(rng, self.noise_in_floats(assumptions), clean.shape)
        unit = self._units(releases)
        noise = products(coordinates.back, noise) / releases.number
        noisy = (clean / unit + noise) * releases.counted
        return self._stepped(releases, noisy, unit, self._level(releases))

    def _stepped(self, releases, noisy, unit, last_level):
        """Simulated releases after the step for noisy means."""
        change, covariance = self.change(noisy, releases, releases.assumptions, unit)
        state = releases.state + unit * change
        return releases.stepped(state, covariance=covariance, last_level=last_level)

    def fitted(self, releases, clean=None, coordinates=None):
        """With the prior in given `ClippingCoordinates`, or in those of these releases."""
        clean = self.prepare(releases) if clean is None else clean
        coordinates = coordinates or releases.coordinates
        errors, weight = releases.errors, releases.weight / np.sum(releases.weight)
        if self.is_relative:
            # By the size of residuals and not by the released length, which may be far too short.
            squares = np.sum(errors**2, axis=-1) @ releases.weights
            weight = weight / (releases.typical**2 + squares)
        kept = np.einsum("n,nbd,nbd,b->", weight, errors, clean, 1.0 / releases.weights)
        kept = kept / np.einsum("n,nbd,nbd->", weight, errors, errors)
        errors = products(coordinates.back.T, errors)
        squares = np.einsum("n,nbd,nbd->b", weight, errors, errors)
        prior = np.maximum(squares / releases.dim, 1e-300)
        return replace(self, kept=float(max(kept, 1e-6)), prior=tuple(prior.tolist()))

    def change(self, means, before, assumptions, unit=1.0):
        """The step for noisy means of contributions: the best linear one, a Kalman filter's.

        Parameters
        ----------
        means : ndarray, shape (*batch, 1 + k, dim)
            In units of ``unit``.
        before : Released or FlatReleases
        assumptions : Assumptions
        unit : float or ndarray, shape (*batch, 1, 1)

        Returns
        -------
        change : ndarray, shape (*batch, 1 + k, dim)
            In units of ``unit``.
        covariance : ndarray, shape (*batch, 1 + k, 1 + k)
            Of a coordinate of the errors of footpoint and shooting vectors after the step.
        """
        prior, hessian, noise, spread = self._model(before, assumptions, unit)
        gain, after, _ = updated(prior, hessian, noise + spread)
        return products(gain, means), unit**2 * after

    def curved_change(self, squares, means, before, assumptions, unit=1.0):
        """The step of `change`, but for Hessians of independent parts, as `Predictions` has them.

        Means are parts as well.  A step that is made for flat space and bent would take noise along
        covariates that hardly differ, which its gain leaves out, to where the curved Hessian is
        small.
        """
        prior, hessian, noise, spread = self._model(before, assumptions, unit)
        (sizes, axes), (scales, turn) = map(np.linalg.eigh, (prior, noise + spread))
        # In units of both, so that it has singular values however little noise there is.
        root = axes * np.sqrt(np.maximum(sizes, 0.0))
        inverse = turn / np.sqrt(np.maximum(scales, 1e-15 * scales[-1]))
        if squares.shape[-1] > len(root):
            # Of all coordinates.
            same = np.eye(squares.shape[-1] // len(root))
            root, inverse = (np.kron(each, same) for each in (root, inverse))
        # The first entry is the part of small errors that is left: covariates begin with one.
        left, values, right = np.linalg.svd(inverse.T @ (hessian[0, 0] * squares) @ root)
        found = np.swapaxes(left, -1, -2) @ (inverse.T @ means)
        found *= (values / (values**2 + 1.0))[..., None]
        return root @ (np.swapaxes(right, -1, -2) @ found)

    def _model(self, before, assumptions, unit):
        """Covariance of errors before the step, Hessian, and what noise and its own errors add."""
        prior = self._covariance_before(before, unit)
        hessian = self.kept * before.moment_matrix
        spread = np.zeros_like(prior)
        if before.uncertainty is not None:
            # Noise of the Hessian, of which an error that is large makes much.
            spread = self.kept**2 * _spread_by_moments(before.uncertainty, prior)
        return prior, hessian, self._covariance_of_means(before, assumptions), spread

    def _covariance_before(self, before, unit):
        """Covariance of a coordinate of errors before the step, in units of it."""
        if before.covariance is None:
            return diagonal_in(before.coordinates, np.array(self.prior))
        known, back = before.covariance / unit**2, before.coordinates.back
        # With other covariates than simulated errors may shrink less than they did there.
        missing = self.prior - np.einsum("ji,...jk,ki->...i", back, known, back)
        return known + diagonal_in(before.coordinates, np.maximum(missing, 0.0))

    def _covariance_of_means(self, before, assumptions):
        """Of a coordinate of the noise of `noisy_means` (1 + k, 1 + k), in units of the step."""
        coordinates = before.coordinates
        noise = coordinates.variances(self.noise_in_floats(assumptions), assumptions.manifold.dim)
        back = coordinates.back
        return products(back * noise / before.number**2, back.T)

    def check(self, blocks):
        if len(self.prior) != blocks:
            raise DataError(
                f"plan: a stage has {len(self.prior)} numbers for the {blocks} parts of a state: "
                "give one for each"
            )

    @property
    def _lengths(self):
        return " released lengths" if self.is_relative else ""

    @property
    def _kind(self):
        return self.pure_noise if self.unit == PURE else "Gaussian"


@dataclass(frozen=True)
class LastStep(NoisyStep):
    """A Gauss-Newton step with a long clip, that rests on no law of residuals.

    It expects errors before it to be ``unlike`` the simulated ones, or if it is not relative as
    large as the support, and clipping to leave means as they are: ``kept`` is one.  By Huber's loss
    its clip is the threshold of residuals, and ``kept`` goes by a count of those beyond it.
    """

    # Standard deviation, in each direction, of where steps before it lead if residuals are not
    # normal, in units of the released length.
    unlike: float = 0.0
    # Of residuals that are longer than the released length, by which the statement about tails in
    # `geodp_release.stages.counts` says what clipping may take; zero if it takes nothing.
    share: Fraction = Fraction(0)

    by = "last Gauss-Newton step by gradients"

    def __post_init__(self):
        super().__post_init__()
        if not 0.0 <= self.unlike < np.inf:
            raise DataError(f"a stage has unlike {self.unlike}: give a number from zero on")
        if self.share:
            object.__setattr__(self, "share", checked_share(self.share))

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


def diagonal_in(coordinates, variances):
    """Covariance (..., 1 + k, 1 + k) of errors with variances in `ClippingCoordinates`."""
    standard = coordinates.standard
    return products(standard.T * variances[..., None, :], standard)


def updated(prior, hessian, noise):
    """Gain, covariance of errors after a step, and inverse covariance of means before it."""
    # P H (H P H + N)^-1
    inverse = inverses(products(hessian, prior, hessian) + noise)
    gain = products(prior, hessian, inverse)
    left = np.eye(gain.shape[-1]) - products(gain, hessian)
    after = products(left, prior, np.swapaxes(left, -1, -2))
    return gain, after + products(gain, noise, np.swapaxes(gain, -1, -2)), inverse


def _spread_by_moments(deviations, covariance):
    """Mean of D P D (*batch, 1 + k, 1 + k) over errors D of the moment matrix, given P."""
    squares = moment_matrix(deviations**2)
    squares[0, 0] = 0.0
    # Entry by entry, as each error is of one entry and of that across the diagonal.
    found = np.asfortranarray(squares * covariance)
    each = np.arange(len(squares))
    found[..., each, each] = np.diagonal(covariance, axis1=-2, axis2=-1) @ squares
    return found


def clean_means(releases, level, shifts, middle):
    """Means (releases, 1 + k, dim) of clipped contributions to each part of a state.

    They are clipped at a level for all releases, or at one each, and their residuals so many levels
    lower: at nodes by ``shifts``, and in the middle of the range by ``middle``.
    """
    errors, places = releases.at_nodes
    weights, values = releases.covariates.by_release
    kept = residual_tables.clipped_residuals(releases.dim)[0]
    rows = residual_tables.in_tables(level - shifts)
    means = (weights * residual_tables.looked_up_in(kept, rows, places))[..., None] * errors
    total = np.zeros_like(releases.state)
    total[:, 0] = np.sum(means, axis=0)
    for block in range(1, total.shape[1]):
        total[:, block] = np.sum(values[:, block - 1, :, None] * means, axis=0)
    # What the sample's moments add, with residuals of the usual scale, clipped as in the middle of
    # the range.
    squared = np.sum(releases.errors[:, 0] ** 2, axis=-1) / releases.typical**2
    rows = residual_tables.in_tables(level - middle)
    factor = residual_tables.looked_up_in(kept, rows, residual_tables.places_in_tables(squared))
    away = products(releases.matrix_of_deviations, releases.errors)
    return total + factor[:, None, None] * away


def stretch(releases):
    """Typical norm of the contribution of a residual of length one, or one for each release."""
    weights, lengths = releases.covariates.by_release[0], releases.lengths_at_nodes
    found = np.sqrt(np.sum(weights * lengths**2, axis=0))
    return found if len(found) > 1 else float(found[0])
