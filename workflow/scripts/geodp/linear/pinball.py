"""Quantile regression: exact fits, and log densities of private mechanisms, fast in a small box.

In a box of coefficients most residuals keep their sign.  Those records enter the gradient of the
pinball loss by a constant and the loss by a linear function, and only the others are looked at.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np


def _in_parts(function, theta, records, at_once=1 << 15):
    """Values of a function at places (m, d), which needs so many numbers for each of them."""
    size = max(1, at_once // max(1, records))
    starts = range(0, max(1, len(theta)), size)
    return np.concatenate([function(theta[start : start + size]) for start in starts])


@dataclass(frozen=True)
class Pinball:
    """The pinball loss of records, or the gradient of its convolution with a uniform kernel.

    With ``u = x'theta - y`` a record's gradient is ``x (K(u) - tau)``; K is the step function, or
    with a bandwidth h the distribution function of the uniform distribution on [-h, h].  It lies
    between ``-tau x`` and ``(1 - tau) x`` in both cases, so that the sensitivities are the same.

    Covariates are (n, d).  ``linear`` is the gradient of the records that have been left out, and
    ``constant`` their loss at zero.
    """

    covariates: np.ndarray
    responses: np.ndarray
    tau: float
    bandwidth: float = 0.0
    linear: np.ndarray = field(default_factory=lambda: np.zeros(1))
    constant: float = 0.0

    def __len__(self):
        return len(self.responses)

    def within(self, centre, half_width):
        """The same in the box about a centre, with fewer records."""
        over = self.covariates @ centre - self.responses
        reach = np.abs(self.covariates) @ np.broadcast_to(half_width, centre.shape)
        active = np.abs(over) <= reach + self.bandwidth
        weights = (over > 0.0) - self.tau
        weights[active] = 0.0
        kept = np.flatnonzero(active)
        return replace(
            self,
            covariates=np.take(self.covariates, kept, axis=0),
            responses=self.responses[kept],
            linear=self.linear + weights @ self.covariates,
            constant=self.constant - float(weights @ self.responses),
        )

    def _sums(self, of, theta):
        """Sums over the records, by a function ``of`` of arrays ``x'theta - y``, at (m, d)."""
        return _in_parts(
            lambda part: of(part @ self.covariates.T - self.responses), theta, len(self)
        )

    def gradient(self, theta):
        """Gradient (m, d) at coefficients (m, d)."""
        width = self.bandwidth

        def of(over):
            step = np.clip(0.5 + 0.5 * over / width, 0.0, 1.0) if width else over >= 0.0
            return (step - self.tau) @ self.covariates

        return self._sums(of, theta) + self.linear

    def loss(self, theta):
        """Loss (m,) at coefficients (m, d); that of the step function, whatever the bandwidth."""
        # The loss of a record is the positive part of its residual less tau times it.
        linear = self.linear - self.tau * np.sum(self.covariates, axis=0)
        constant = self.constant + self.tau * np.sum(self.responses)
        rises = self._sums(lambda over: np.sum(np.maximum(over, 0.0), axis=-1), theta)
        return rises + theta @ linear + constant

    def fit(self):
        """Coefficients of least pinball loss, exactly, ndarray of shape (d,).

        A linear program over the records whose residual may change its sign in a box about a first
        guess (Portnoy and Koenker 1997); the box moves and grows until it holds the solution.
        """
        x, y = self.covariates, self.responses
        centre = np.linalg.lstsq(x, y, rcond=None)[0]
        width = 4.0 * float(np.std(y)) / np.sqrt(len(y))
        while True:
            found = self.within(centre, width)._fit_in_box(centre, width)
            if np.all(np.abs(found - centre) < width * (1.0 - 1e-9)):
                return found
            centre, width = found, 2.0 * width

    def _fit_in_box(self, centre, width):
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, eye_array, hstack

        m, d = self.covariates.shape
        # Columns: coefficients, residuals above the plane, residuals below.
        cost = np.r_[np.broadcast_to(self.linear, d), np.repeat([self.tau, 1.0 - self.tau], m)]
        matrix = hstack([csr_array(self.covariates), eye_array(m), -eye_array(m)])
        positive = np.tile([0.0, np.inf], (2 * m, 1))
        bounds = np.vstack([np.column_stack([centre - width, centre + width]), positive])
        found = linprog(cost, A_eq=matrix, b_eq=self.responses, bounds=bounds, method="highs")
        if not found.success:
            raise RuntimeError(f"quantile regression found no fit: {found.message}")
        return found.x[:d]


def smoothing_bandwidth(number, dim):
    """Bandwidth of convolution smoothing, ``((d + ln n) / n)^(2/5)`` for errors of deviation one.

    Source: He, Pan, Tan and Zhou (2023), who take it with a floor of 0.05.  It is public.
    """
    return max(0.05, ((dim + np.log(number)) / number) ** 0.4)


@dataclass(frozen=True)
class Score:
    """Minus the log density (m,) at places (m, d): a rate times a function of the records."""

    records: Any
    rate: float

    @property
    def work(self):
        """Number of records that a score looks at."""
        return len(self.records)

    @property
    def width(self):
        """About a dozen times the scale of a density of the gradient, which is of order 1/n."""
        return 20.0 / (self.rate * self.work)

    def within(self, centre, half_width):
        """The same in a box."""
        return replace(self, records=self.records.within(centre, half_width))


class GradientScore(Score):
    """``rate |gradient|_inf``: the K-norm gradient mechanism."""

    @classmethod
    def at(cls, records, budget):
        """At a budget, for covariates within one and the sensitivity ``2 max(tau, 1 - tau)``."""
        return cls(records, budget / (4.0 * max(records.tau, 1.0 - records.tau)))

    def __call__(self, theta):
        return self.rate * np.max(np.abs(self.records.gradient(theta)), axis=-1)


class LossScore(Score):
    """``rate * loss``: the exponential mechanism."""

    @classmethod
    def at(cls, records, budget, bound, sharp=False):
        """At a budget, for responses within one and coefficients in ``|theta|_1 <= bound``.

        The paper's sensitivity is ``2 max(tau, 1 - tau) (1 + bound)`` (supplement 8.1).  Losses are
        not negative, so that half of it is enough, which ``sharp`` takes.
        """
        sensitivity = 2.0 * max(records.tau, 1.0 - records.tau) * (1.0 + bound)
        return cls(records, budget / (2.0 * sensitivity * (0.5 if sharp else 1.0)))

    @property
    def width(self):
        """A few times the deviation of the density, which is of order 1/sqrt(n)."""
        return 4.0 / np.sqrt(self.rate * self.work)

    def __call__(self, theta):
        return self.rate * self.records.loss(theta)


class MedianScore(Score):
    """``rate |sum of unit vectors to records (n, 2)|``: the mechanism for the geometric median.

    The rate is a quarter of the budget, since the sensitivity is 2.
    """

    def within(self, centre, half_width):
        """The same: no record's share is constant anywhere."""
        return self

    def __call__(self, theta):
        def of(part):
            first, second = (self.records[:, k] - part[:, [k]] for k in range(2))
            squares = first * first + second * second
            # A record at the place itself has no direction.
            squares[squares == 0.0] = np.inf
            inverse = 1.0 / np.sqrt(squares)
            return np.hypot(*(np.einsum("ij,ij->i", each, inverse) for each in (first, second)))

        return self.rate * _in_parts(of, theta, self.work)
