"""Stages of a release: each is private by itself, and starts from what those before released.

* `PointsStage` chooses among public points by their clipped losses (exponential mechanism).
* `CountStage` releases how many subjects there are, `MomentsStage` how their covariates are spread.
* `NoisyStep` releases clipped gradient sums with noise, and takes a Gauss-Newton step.

Attributes of stages are public.  ``budget`` is in the unit of the release: epsilon or rho.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from geodp.errors import DataError
from geodp.release.accounting import PURE, UNITS, choice_cost
from geodp.release.simulation import EVEN, Covariates


@dataclass(frozen=True)
class Stage:
    """What stages have in common.

    Attributes
    ----------
    budget : Fraction
    unit : {"epsilon", "rho"}
    """

    budget: Fraction
    unit: str = PURE

    def __post_init__(self):
        # Sums of fractions are exact, those of floats are rounded.
        object.__setattr__(self, "budget", Fraction(self.budget))
        if self.budget <= 0:
            raise DataError(f"a stage has budget {self.budget}: give each one above zero")
        if self.unit not in UNITS:
            raise DataError(f"a stage has budget unit {self.unit!r}: give {' or '.join(UNITS)}")

    def _refuse_unless_positive(self, name):
        value = getattr(self, name)
        if not (np.isfinite(value) and value > 0.0):
            raise DataError(f"a stage has {name} {value}: give a positive number")


@dataclass(frozen=True)
class PointsStage(Stage):
    """One choice among public points.

    Attributes
    ----------
    epsilon : Fraction
        Of the exponential mechanism; what it costs is the stage's budget.
    points : int
        A power of two.
    clip : float
        Length at which residuals are clipped in the loss.
    radii : tuple of float, optional
        Radii of the pattern about the state before, of footpoints and of shooting vectors.  A first
        stage has none: its points fill the support.
    """

    epsilon: Fraction = Fraction(0)
    points: int = 0
    clip: float = 0.0
    radii: tuple[float, float] | None = None

    @classmethod
    def of(cls, epsilon, unit, points, clip, radii=None):
        return cls(choice_cost(epsilon, unit), unit, Fraction(epsilon), points, clip, radii)

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "epsilon", Fraction(self.epsilon))
        if choice_cost(self.epsilon, self.unit) != self.budget:
            raise DataError(
                f"a stage chooses with epsilon {self.epsilon}, which does not cost its budget "
                f"{self.budget}: give the one that does"
            )
        if self.points < 2 or self.points & (self.points - 1):
            raise DataError(f"a stage has {self.points} points: give a power of two")
        self._refuse_unless_positive("clip")
        if self.radii is not None:
            radii = np.asarray(self.radii)
            if radii.shape != (2,) or not np.all(np.isfinite(radii) & (radii > 0)):
                raise DataError(f"a stage has radii {self.radii}: give two positive numbers")

    def describe(self):
        """The stage in words, for a release."""
        where = "of the support"
        if self.radii is not None:
            where = f"within {self.radii[0]:.4g} and {self.radii[1]:.4g} of the state before"
        return (
            f"exact choice among {self.points} public points {where} by losses clipped at "
            f"{self.clip:.4g}, {self.unit} {float(self.budget):.4g}"
        )


@dataclass(frozen=True)
class CountStage(Stage):
    """Release of the number of subjects, where neighbours differ in it."""

    def simulated_noise(self, rng, shape):
        """Noise of the number."""
        if self.unit == PURE:
            return rng.laplace(scale=float(1 / self.budget), size=shape)
        return rng.normal(scale=float(1 / (2 * self.budget)) ** 0.5, size=shape)

    def describe(self):
        """The stage in words, for a release."""
        return f"noisy number of subjects, {self.unit} {float(self.budget):.4g}"


# Ratio of the noise scales of the sums of covariates and of their squares.
MOMENT_RATIO = 4

# Bounds of privacy loss, per scale of the noise of sums of covariates, for the replacement of one
# subject and for the addition or removal of one; see `docs/certified.md`.
LAPLACE_MOMENTS = {2: Fraction(25, 16), 1: Fraction(3, 2)}
GAUSSIAN_MOMENTS = {2: Fraction(13, 10), 1: Fraction(5, 4)}

# Beta distributions that covariates may have, besides an even spread, which gets half the weight.
SHAPES = (0.3, 0.6, 1.0, 2.0, 4.0, 8.0)
EVEN_WEIGHT = 0.5


@lru_cache(maxsize=1)
def _candidates():
    """Moments (candidates, 2) of distributions of covariates, and their prior log weights."""
    found = [Covariates.beta(a, b).moments for a in SHAPES for b in SHAPES if (a, b) != (1.0, 1.0)]
    shares = np.full(len(found) + 1, (1.0 - EVEN_WEIGHT) / len(found))
    shares[-1] = EVEN_WEIGHT
    return np.array([*found, EVEN.moments]), np.log(shares)


@dataclass(frozen=True)
class MomentsStage(Stage):
    """Release of the sums over subjects of the covariate and of its square."""

    def scale(self, changes):
        """Scale of the noise of the sum of covariates: of a Laplace, or of a normal distribution.

        That of the sum of squares is `MOMENT_RATIO` times smaller.
        """
        if self.unit == PURE:
            return float(LAPLACE_MOMENTS[changes] / self.budget)
        return float(np.sqrt(float(GAUSSIAN_MOMENTS[changes] / (2 * self.budget))))

    def simulated_noise(self, rng, releases, changes):
        """Noise (releases, 2) of both sums."""
        draw = rng.laplace if self.unit == PURE else rng.normal
        scale = self.scale(changes)
        return draw(size=(releases, 2)) * [scale, scale / MOMENT_RATIO]

    def moments(self, noisy, number, changes):
        """Mean and mean square (*batch, 2) of covariates, given their noisy values.

        They are means over a family of distributions, weighted by how well each agrees with what
        was released, so that noise alone leaves the assumption of an even spread as it is.
        """
        found, log_prior = _candidates()
        scale = self.scale(changes) / number * np.array([1.0, 1.0 / MOMENT_RATIO])
        # Clustered covariates may lie between members of the family.
        scale = np.hypot(scale, [0.02, 0.005])
        away = np.abs(noisy[..., None, :] - found) / scale
        fit = away if self.unit == PURE else 0.5 * away**2
        logs = log_prior - np.sum(fit, axis=-1)
        weights = np.exp(logs - np.max(logs, axis=-1, keepdims=True))
        weights /= np.sum(weights, axis=-1, keepdims=True)
        return weights @ found

    def describe(self):
        """The stage in words, for a release."""
        return f"noisy moments of the covariates, {self.unit} {float(self.budget):.4g}"


# Gaussian noise: variances of the sums of a and of 2 b, in units of (changes tau)^2 / (2 rho).
# Then 1 / 11/4 + 1 / 11/7 = 1, which makes the cost rho; the ratio is within 1e-3 of the best.
GAUSSIAN_VARIANCES = Fraction(11, 4), Fraction(11, 7)


@dataclass(frozen=True)
class NoisyStep(Stage):
    """One private Gauss-Newton step.

    Attributes
    ----------
    clip : float
        tau: the hull norm to which a subject's contribution is clipped.
    kept : float
        Part of a small error that is left in mean clipped contributions.
    prior : tuple of float
        Mean squared errors of a coordinate of the footpoint and of the shooting vector before the
        step, as simulated from public assumptions.
    """

    clip: float = 0.0
    kept: float = 1.0
    prior: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self):
        super().__post_init__()
        self._refuse_unless_positive("clip")
        self._refuse_unless_positive("kept")
        if np.shape(self.prior) != (2,) or not np.all(np.asarray(self.prior) > 0.0):
            raise DataError(f"a stage has prior {self.prior}: give two positive numbers")

    def describe(self):
        """The stage in words, for a release."""
        kind = "K-norm" if self.unit == PURE else "Gaussian"
        return (
            f"Gauss-Newton step by gradients clipped to {self.clip:.4g} with exact {kind} noise, "
            f"{self.unit} {float(self.budget):.4g}"
        )

    def noise_variances(self, changes, dim):
        """Variances of a coordinate of the noise of the sums of a and of b."""
        if self.unit == PURE:
            # Gamma(d) lengths in uniform directions, at both ends.
            end = (dim + 1) * (changes * self.clip / float(self.budget)) ** 2
            return 2.0 * end, 0.5 * end
        unit = (changes * self.clip) ** 2 / (2.0 * float(self.budget))
        first, second = (float(each) for each in GAUSSIAN_VARIANCES)
        return first * unit, 0.25 * second * unit

    def simulated_noise(self, rng, shape, changes):
        """Noise (releases, 2, dim) of the sums of a and b."""
        normal = rng.normal(size=shape)
        if self.unit != PURE:
            return normal * np.sqrt(self.noise_variances(changes, shape[-1]))[:, None]
        length = rng.gamma(shape[-1], changes * self.clip / float(self.budget), (*shape[:2], 1))
        ends = normal * (length / np.linalg.norm(normal, axis=-1, keepdims=True))
        return np.stack([ends[:, 0] + ends[:, 1], 0.5 * (ends[:, 0] - ends[:, 1])], axis=1)

    def change(self, means, moments, number, changes, dim, covariance=None):
        """The step for noisy means of contributions: the best linear one, a Kalman filter's.

        Parameters
        ----------
        means : ndarray, shape (*batch, 2, dim)
        moments : ndarray, shape (*batch, 2)
            Mean and mean square of the covariate.
        number : float
        changes : int
        dim : int
        covariance : ndarray, shape (*batch, 2, 2), optional
            Of a coordinate of the errors of footpoint and shooting vector, after steps before.

        Returns
        -------
        change : ndarray, shape (*batch, 2, dim)
        covariance : ndarray, shape (*batch, 2, 2)
            After the step.
        """
        mean, square = moments[..., 0], moments[..., 1]
        one = np.ones_like(mean)
        hessian = self.kept * np.stack(
            [np.stack([one, mean], axis=-1), np.stack([mean, square], axis=-1)], axis=-2
        )
        prior = np.broadcast_to(np.diag(self.prior), hessian.shape)
        if covariance is not None:
            # With other covariates than simulated errors may shrink less than they did there.
            missing = np.maximum(prior - covariance, 0.0) * np.eye(2)
            prior = covariance + missing
        noise = np.diag(self.noise_variances(changes, dim)) / number**2
        # P H (H P H + N)^-1
        spread = hessian @ prior @ hessian + noise
        gain = np.swapaxes(np.linalg.solve(spread, hessian @ prior), -1, -2)
        left = np.eye(2) - gain @ hessian
        after = left @ prior @ np.swapaxes(left, -1, -2) + gain @ noise @ np.swapaxes(gain, -1, -2)
        return gain @ means, after
