"""Private linear regression: exponential mechanism, objective perturbation and K-norm gradient.

For records with ``|x_j| <= 1`` and ``|y| <= 1`` and coefficients in a ball ``|theta|_1 <= B``
(Reimherr and Awan 2019, sections 4.2 and 4.3 and supplement 7).  The loss is the sum of squares
``(theta - fit)' X'X (theta - fit)`` up to a constant, so that moments suffice.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from geodp.linear import l1_ball
from geodp.linear.simulated_moments import Moments
from geodp.samplers.kernel import by_rejection


@dataclass(frozen=True)
class LeastSquares:
    """Least squares in a ball of this bound, for data sets of responses no larger than one."""

    moments: Moments
    bound: float

    @cached_property
    def fit(self):
        """Least squares (data_sets, d), which may lie outside of the ball."""
        return np.linalg.solve(self.moments.gram, self.moments.cross[..., None])[..., 0]

    def pull(self, theta):
        """``X'X (theta - fit)``, half the gradient of the sum of squares, at (data_sets, m, d)."""
        return np.einsum("kij,kmj->kmi", self.moments.gram, theta - self.fit[:, None])

    def take(self, chosen):
        """The same for some of the data sets."""
        moments = Moments(*(value[chosen] for value in vars(self.moments).values()))
        return LeastSquares(moments, self.bound)


@dataclass(frozen=True)
class Exponential:
    """Density ``exp(-rate * sum of squares)`` in the ball, of sensitivity ``(1 + B)^2``."""

    rate: float

    @classmethod
    def at(cls, budget, bound):
        """The mechanism at a budget."""
        return cls(budget / (2.0 * (1.0 + bound) ** 2))

    def score(self, problem, theta):
        """Minus the log density (data_sets, m) at (data_sets, m, d), up to a constant; from 0."""
        away = theta - problem.fit[:, None]
        return self.rate * np.sum(problem.pull(theta) * away, axis=-1)

    def free(self, rng, problem, count):
        """Draws (data_sets, count, d) of the density without the ball."""
        shape = (*problem.fit.shape, count)
        root = np.linalg.cholesky(problem.moments.gram)
        away = np.linalg.solve(np.swapaxes(root, -1, -2), rng.standard_normal(shape))
        return problem.fit[:, None] + np.swapaxes(away, -1, -2) / np.sqrt(2.0 * self.rate)


@dataclass(frozen=True)
class Gradient:
    """Density ``exp(-rate * |gradient|_inf)`` in the ball: the K-norm gradient mechanism.

    The gradient, ``2 X'X (theta - fit)``, has sensitivity ``4 (1 + B)``, which is attained.
    """

    rate: float

    @classmethod
    def at(cls, budget, bound):
        """The mechanism at a budget, with the scale of theorem 3.1."""
        return cls(budget / (8.0 * (1.0 + bound)))

    @classmethod
    def as_printed(cls, budget, bound):
        """Density (1) as printed, without the factor 2 of the gradient: half the budget is used."""
        return cls(0.5 * cls.at(budget, bound).rate)

    def score(self, problem, theta):
        """See `Exponential.score`."""
        return self.rate * np.max(np.abs(2.0 * problem.pull(theta)), axis=-1)

    def free(self, rng, problem, count):
        """Draws (data_sets, count, d) without the ball: linear images of a K-norm distribution."""
        number, d = problem.fit.shape
        noise = cube_noise(rng, (number, count, d), self.rate)
        away = np.linalg.solve(problem.moments.gram, np.swapaxes(noise, -1, -2))
        return problem.fit[:, None] + 0.5 * np.swapaxes(away, -1, -2)


def cube_noise(rng, shape, rate):
    """Draws of density ``exp(-rate |b|_inf)``: a gamma length times a uniform point of the cube.

    Source: Awan and Slavkovic 2018; the last axis of the shape is the dimension.
    """
    length = rng.gamma(shape[-1] + 1, size=(*shape[:-1], 1)) / rate
    return length * rng.uniform(-1.0, 1.0, size=shape)


def draw(rng, problem, mechanism, rounds=400, count=2048):
    """One exact draw for each data set by rejection, ndarray of shape (data_sets, d).

    Proposals are draws without the ball, accepted within it, and uniform ones in the ball, accepted
    with a probability that is the density over its bound: one of the two is quick.  A RuntimeError
    is raised where none was accepted after so many rounds of ``count`` of each kind.
    """
    d = problem.fit.shape[-1]

    def propose(waiting):
        part = problem.take(waiting)
        inner = l1_ball.uniform(rng, (len(waiting), count, d), problem.bound)
        score = mechanism.score(part, inner)
        outer = mechanism.free(rng, part, count)
        places = np.concatenate([outer, inner], axis=1)
        accepted = np.concatenate(
            [l1_ball.contains(outer, problem.bound), rng.standard_exponential(score.shape) > score],
            axis=1,
        )
        first = np.argmax(accepted, axis=-1)
        return np.any(accepted, axis=-1), places[np.arange(len(waiting)), first]

    theta, waiting = by_rejection(problem.fit.shape, propose, rounds)
    if len(waiting):
        raise RuntimeError(f"no proposal was accepted for {len(waiting)} data sets")
    return theta


def perturb_objective(rng, problem, budget):
    """Minimisers of the sum of squares plus ``gamma / 2 |theta|^2 + b' theta`` within the ball.

    Half of the budget is for b, whose density is ``exp(-budget / (8 (1 + B)) |b|_inf)``, and half
    for ``gamma = 2 d / (exp(budget / 2) - 1)`` (supplement 7.2).  Returns (data_sets, d).
    """
    gram, d = problem.moments.gram, problem.fit.shape[-1]
    noise = cube_noise(rng, problem.fit.shape, Gradient.at(budget, problem.bound).rate)
    penalty = 2.0 * d / np.expm1(0.5 * budget)
    vector = problem.moments.cross - 0.5 * noise
    return l1_ball.least_squares(gram + 0.5 * penalty * np.eye(d), vector, problem.bound)[0]
