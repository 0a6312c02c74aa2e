"""A private Gauss-Newton step, by clipped gradients with noise."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from geodp.errors import DataError
from geodp_release.promise.budget import PURE
from geodp_release.run.clipping_coordinates import noise_of
from geodp_release.run.contributions import LATTICE, gradient_sums
from geodp_release.run.covariate_moments import inverses, moment_matrix, products
from geodp_release.stages import residual_tables
from geodp_release.stages.curvature import Predictions, looked_at
from geodp_release.stages.stage import Stage


@dataclass(frozen=True)
class NoisyStep(Stage):
    """One private Gauss-Newton step.

    Attributes
    ----------
    clip : float
        tau: the norm to which a subject's contribution is clipped, in `ClippingCoordinates`.
    kept : float
        Part of a small error that is left in mean clipped contributions.
    prior : tuple of float
        Mean squared errors of a coordinate of the parts of a state before the step, in
        `ClippingCoordinates`, as simulated from public assumptions.
    is_relative : bool
        Whether ``clip`` and ``prior`` are in units of the residual length that was released last.
    """

    clip: float = 0.0
    kept: float = 1.0
    prior: tuple[float, ...] = (1.0, 1.0)
    is_relative: bool = False

    # In words: what is clipped, and its noise where the budget is pure.
    what: ClassVar[str] = "Gauss-Newton step by gradients"
    pure_noise: ClassVar[str] = "K-norm"

    def __post_init__(self):
        super().__post_init__()
        self._refuse_unless_positive("clip")
        self._refuse_unless_positive("kept")
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

    def describe(self):
        kind = self.pure_noise if self.unit == PURE else "Gaussian"
        return (
            f"{self.what} clipped to {self.clip:.4g}"
            f"{' released lengths' if self.is_relative else ''} with exact {kind} noise, "
            f"{self.cost}"
        )


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


def moved(assumptions, state, change):
    """The state (1 + k, *point_shape) after a step, brought back to the support.

    And what it reached (1 + k,), as `Released` has it.  ``change`` has coordinates (1 + k, dim).
    """
    tangent = assumptions.manifold.tangent(state[0], change)
    return _moved(assumptions, state, tangent, _radii(assumptions))


def _moved(assumptions, state, change, radii):
    """State and what it reached, as of `moved`, for tangent vectors (1 + k, *point_shape)."""
    manifold = assumptions.manifold
    p, *vectors = state
    # No farther than across the support, so that nothing overflows.
    step, *turns = _shortened(manifold, p, change, 2.0 * radii)
    end = manifold.exp(p, step)
    vectors = [
        manifold.transport(p, step, v + turn) for v, turn in zip(vectors, turns, strict=True)
    ]
    distance = float(manifold.dist(assumptions.centre, end))
    if distance > assumptions.footpoint_radius:
        away = manifold.log(assumptions.centre, end)
        # Of the logarithm itself, which loses digits far away.
        length = float(manifold.norm(assumptions.centre, away))
        shorter = (1.0 - 1e-12) * assumptions.footpoint_radius / length
        inside = manifold.exp(assumptions.centre, shorter * away)
        vectors = [manifold.transport_to(end, inside, v) for v in vectors]
        end = inside
    # Measured where they are shortened, as transports from far away lose digits.
    reached = np.array([distance, *(float(manifold.norm(end, v)) for v in vectors)]) / radii
    shorter = (1.0 - 1e-12) / np.maximum(reached[1:], 1.0 - 1e-12)
    vectors = [v * each for v, each in zip(vectors, shorter, strict=True)]
    return np.stack([end, *vectors]), reached


def straightened(assumptions, state, change, moments, rounds=5, tolerance=1e-9):
    """As `moved`, but to the geodesic nearest to predictions that are moved, by `Predictions`.

    Where covariates have these moments.  A change of a geodesic is no line far from where it is
    made: predictions go along geodesics of their own.
    """
    manifold, covariates = assumptions.manifold, looked_at(assumptions, moments)
    change, radii = manifold.tangent(state[0], change), _radii(assumptions)
    found, reached = _moved(assumptions, state, change, radii)
    if covariates is None:
        return found, reached
    p, seen = state[0], Predictions.of(manifold, state, covariates)
    change = _shortened(manifold, p, change, 2.0 * radii)
    # No farther than predictions are from the centre, so that nothing overflows.
    predictions = seen.moved(_shortened(manifold, p, seen.moves(change), assumptions.reach))
    least = tolerance * np.linalg.norm(manifold.norm(p, change))
    for _ in range(rounds):
        seen = Predictions.of(manifold, found, covariates)
        gradient = seen.gradient(seen.residuals(predictions))
        more = seen.joined(np.linalg.solve(seen.squares, gradient))
        if not np.all(np.isfinite(more)):
            break
        length = np.linalg.norm(manifold.norm(found[0], more))
        found, reached = _moved(assumptions, found, more, radii)
        if length < least:
            break
    return found, reached


def _radii(assumptions):
    """Radii (1 + k,) of the support."""
    return np.append(assumptions.footpoint_radius, assumptions.lengths)


def _shortened(manifold, point, vectors, limits):
    """Tangent vectors, no longer than limits; their lengths may be too large to square."""
    axes = tuple(range(1, vectors.ndim))
    largest = np.maximum(np.max(np.abs(vectors), axis=axes, keepdims=True), 1e-300)
    lengths = largest * manifold.expand(manifold.norm(point, vectors / largest))
    limits = manifold.expand(limits)
    return np.where(lengths > limits, vectors * (limits / lengths), vectors)


# Simulation of clipped contributions


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
