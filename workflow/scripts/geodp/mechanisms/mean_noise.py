"""Mechanisms for the Frechet mean that add noise to coordinates: ambient, tangent or of landmarks.

See `geodp.mechanisms.means` for what all have in common.
"""

from typing import ClassVar

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.spd import SPD
from geodp.mechanisms.gaussian import gaussian_deviation, wrapped_gaussian_deviation
from geodp.mechanisms.means import MeanMechanism, ambient_radius, embed, is_nonpositive
from geodp.mechanisms.mechanism import FALSE, NONE
from geodp.samplers.riemannian_laplace import euclidean_laplace, tangent_laplace


class AmbientLaplace(MeanMechanism):
    """Euclidean Laplace noise in the ambient space (Reimherr, Bharath and Soto, section 5).

    The scale is ``2 r_E / (n budget)``.  That is the sensitivity of the arithmetic mean, and of the
    Frechet mean it is none: a record may move that farther.  Draws may lie outside of the manifold.
    """

    name = "ambient_laplace"
    proved_nonpositive = proved_positive = FALSE

    def scale(self, budget):
        """Scale of the noise."""
        return 2.0 * ambient_radius(self.manifold, self.radius) / (self.number * budget)

    def expected_distance(self, budget):
        # The length of the noise has a gamma distribution.
        return embed(self.manifold, self.mean).shape[-1] * self.scale(budget)

    def private_means(self, rng, budget):
        coordinates = embed(self.manifold, self.mean)
        noisy = coordinates + euclidean_laplace(rng, coordinates.shape, self.scale(budget))
        return self.manifold.symmetric(noisy) if isinstance(self.manifold, SPD) else noisy


class TangentLaplace(MeanMechanism):
    """The mean of the logarithms at the ball's centre, with Laplace noise there.

    Logarithms are clipped to the radius, so the mean moves by at most ``2 r / n`` for any data.
    On SPD matrices about the identity it is the log-Euclidean mean.
    """

    name = "tangent_laplace"
    anywhere = True

    def start(self):
        """Where the noise is added, and the tangent vectors there that it is added to."""
        return self.mean_of_logs(self.centre, self.radius)

    def scale(self, budget):
        """Scale of Laplace noise, deviation of Gaussian noise."""
        reach = 2.0 * self.radius / self.number
        return gaussian_deviation(reach, budget, self.delta) if self.delta else reach / budget

    def private_means(self, rng, budget):
        manifold, scale, (base, vector) = self.manifold, self.scale(budget), self.start()
        if self.delta:
            noise = scale * manifold.random_tangent(rng, base)
        else:
            noise = tangent_laplace(rng, manifold, base, scale)
        return manifold.exp(base, vector + noise)


class TangentGaussian(TangentLaplace):
    """The same mean with Gaussian noise, for a budget and a delta; see `TangentLaplace`."""

    name = "tangent_gaussian"
    delta = 1e-6


class WrappedLaplaceAtCentre(TangentLaplace):
    """Laplace noise on the mean's logarithm at the ball's centre, carried by the exponential map.

    Where no curvature is positive that logarithm moves by no more than the mean does, and the
    centre is public, so that the exponential map spends nothing: ``sigma = sensitivity / budget``
    satisfies every budget.  The farther the mean is from the centre, the more the map lengthens
    the noise.
    """

    name = "wrapped_laplace_at_centre"
    proved_positive = NONE
    anywhere = False

    @classmethod
    def check_space(cls, manifold):
        if not is_nonpositive(manifold):
            raise DataError(f"{manifold.name} has positive curvature: a wrapped draw has no budget")

    def start(self):
        base = np.broadcast_to(self.centre, self.mean.shape)
        return base, self.manifold.log(base, self.mean)


class WrappedGaussianAtCentre(WrappedLaplaceAtCentre):
    """The same with Gaussian noise, for a budget and a delta."""

    name = "wrapped_gaussian_at_centre"
    delta = TangentGaussian.delta


class WrappedLaplace(WrappedLaplaceAtCentre):
    """Laplace noise in the tangent space at the mean, carried by the exponential map.

    ``1 / sigma = budget / sensitivity - growth`` satisfies the budget, by the space's growth of
    volume; docs/papers.md has the proof.
    """

    name = "wrapped_laplace"

    def start(self):
        return self.mean, np.zeros_like(self.mean)

    def scale(self, budget):
        sensitivity, growth = self.sensitivity, self.manifold.volume_growth
        if budget <= growth * sensitivity:
            raise DataError(
                f"a budget of {budget:g} is spent on the distortion of volume alone: take a larger "
                "one, or more records"
            )
        if self.delta:
            return wrapped_gaussian_deviation(self.manifold, sensitivity, budget, self.delta)
        return 1.0 / (budget / sensitivity - growth)


class WrappedGaussian(WrappedLaplace):
    """Gaussian noise in the tangent space at the mean, carried by the exponential map.

    For a budget and a delta; `geodp.mechanisms.gaussian` has its deviation.
    """

    name = "wrapped_gaussian"
    delta = TangentGaussian.delta


class MeanBySteps(MeanMechanism):
    """Steps by clipped logarithms with the noise of a K-norm mechanism; budgets add.

    Nothing is assumed of the data.
    """

    anywhere = True

    def noisy_mean_of_logs(self, rng, at, clip, budget):
        """The same as `mean_of_logs` with noise."""
        base, mean = self.mean_of_logs(at, clip)
        scale = 2.0 * clip / (self.number * budget)
        return base, mean + tangent_laplace(rng, self.manifold, base, scale)

    def step(self, base, vector, longest):
        """Ends of steps, which are shortened if they are longer."""
        length = np.maximum(self.manifold.norm(base, vector), np.finfo(float).tiny)
        shortened = self.manifold.expand(np.minimum(1.0, longest / length)) * vector
        return self.manifold.exp(base, shortened)


class PrivateSteps(MeanBySteps):
    """Two private Gauss-Newton steps: the second from where the first has led.

    A tenth of the budget finds the neighbourhood, up to a quarter of the radius from the ball's
    centre.  From there the second step, with the rest, has hardly any bias: it clips to the
    farthest that the ball reaches.
    """

    name = "private_steps"
    first_share: ClassVar[float] = 0.1
    first_reach: ClassVar[float] = 0.25

    def private_means(self, rng, budget):
        at, radius = self.centre, self.radius
        farthest = (1.0 + self.first_reach) * radius
        for share, clip, reach in (
            (self.first_share, radius, self.first_reach * radius),
            (1.0 - self.first_share, farthest, farthest),
        ):
            base, mean = self.noisy_mean_of_logs(rng, at, clip, share * budget)
            at = self.step(base, mean, reach)
        return at


class PrivateMedian(MeanBySteps):
    """Private steps towards a median: clipped logarithms over their mean weight.

    A record farther than a tenth of the ball's radius pulls with the same strength wherever it is,
    so that the steps lead to the minimum of Huber's loss, next to the geometric median.  A step
    releases the mean of the clipped logarithms, which moves by ``2 clip / n``, and that of the
    weights, which moves by ``1 / n`` and gets a fifth of the step's budget.
    """

    name = "private_median"
    steps: ClassVar[int] = 4
    for_weights: ClassVar[float] = 0.2
    clip: ClassVar[float] = 0.1

    def private_means(self, rng, budget):
        manifold, clip, each = self.manifold, self.clip * self.radius, budget / self.steps
        at = np.broadcast_to(self.centre, self.mean.shape)
        covariates = np.zeros((*self.points.shape[:2], 0))
        [block] = self.model.blocks
        for _ in range(self.steps):
            at, step = self.noisy_mean_of_logs(rng, at, clip, (1.0 - self.for_weights) * each)
            away = self.model.residual_distances({block: at}, covariates, self.points)
            weights = np.mean(np.minimum(1.0, clip / np.maximum(away, clip)), axis=-1)
            scale = 1.0 / (self.number * self.for_weights * each)
            weights = weights + rng.laplace(scale=scale, size=weights.shape)
            # No record of the ball is farther than twice its radius.
            weights = np.clip(weights, 0.5 * self.clip, 1.0)
            at = self.step(at, step / manifold.expand(weights), self.radius)
        return at


class LandmarkwiseLaplace(MeanMechanism):
    """Laplace noise for each coordinate of each landmark (Soto et al., supplement 2.5.2).

    For planar shapes.  Records are turned to the mean as preshapes; the largest deviation of a
    coordinate, read off the data, makes its scale ``4 k r / (n budget)``.  No budget is proved: the
    scales are private, and the mean that records are turned to moves with the data.
    """

    name = "landmarkwise_laplace"
    proved_nonpositive = proved_positive = NONE

    @classmethod
    def check_space(cls, manifold):
        if not isinstance(manifold, KendallPlanarShapes):
            raise DataError(f"{manifold.name} has no landmarks: take another mechanism")

    def private_means(self, rng, budget):
        manifold, draws = self.manifold, range(1, len(self.manifold.batch_shape(self.mean)))
        mean, points = np.expand_dims(self.mean, -2), np.expand_dims(self.points, tuple(draws))
        aligned = manifold.to_landmarks(manifold.align(mean, points))
        away = aligned - manifold.to_landmarks(mean)
        factor = 4.0 * away.shape[-1] / (self.number * budget)
        noise = 0.0
        for axis, part in ((1.0, away.real), (1j, away.imag)):
            noise = noise + axis * rng.laplace(scale=factor * np.max(np.abs(part), axis=-2))
        return manifold.from_landmarks(manifold.to_landmarks(self.mean) + noise)
