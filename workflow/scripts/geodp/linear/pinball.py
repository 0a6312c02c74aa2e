"""Quantile regression: fits, and scores of private mechanisms that are fast in a small box.

In a box of coefficients most residuals keep their sign.  Those records enter the gradient of the
pinball loss by a constant and the loss by a linear function, and only the others are looked at.
"""

from dataclasses import dataclass, field, replace

import numpy as np

# Points times records, at a time.
AT_ONCE = 1 << 15


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

    def within(self, centre, half_width):
        """The same in the box about a centre, with fewer records."""
        over = self.covariates @ centre - self.responses
        reach = np.abs(self.covariates) @ np.broadcast_to(half_width, centre.shape)
        active = np.abs(over) <= reach + self.bandwidth
        weights = np.where(over[~active] > 0.0, 1.0 - self.tau, -self.tau)
        return replace(
            self,
            covariates=self.covariates[active],
            responses=self.responses[active],
            linear=self.linear + weights @ self.covariates[~active],
            constant=self.constant - float(weights @ self.responses[~active]),
        )

    def _over(self, theta):
        """``x'theta - y`` (k, n), for some of the places after others."""
        size = max(1, AT_ONCE // max(1, len(self.responses)))
        for start in range(0, len(theta), size):
            over = theta[start : start + size] @ self.covariates.T
            over -= self.responses
            yield over

    def _above(self, first, second, shift, weigh):
        """Sums (k, g, h) over records whose ``x'theta - y + shift`` is not negative, in the plane.

        Coefficients form a grid (g,) by (h,), the second ones evenly spaced.  ``weigh`` takes
        ``x_1 theta_1 - y + shift`` (g, n) to k arrays that broadcast to it.
        """
        found, (x, slope) = [], self.covariates.T
        # Zero has a sign.
        slope, count = slope + 0.0, len(second)
        rising = slope >= 0.0
        size = max(1, AT_ONCE // max(1, len(x)))
        for start in range(0, len(first), size):
            level = np.multiply.outer(first[start : start + size], x) + (shift - self.responses)
            with np.errstate(divide="ignore", invalid="ignore"):
                crossing = (-level / slope - second[0]) / (second[1] - second[0])
            # From here on rising records count, and falling ones no longer do.
            column = np.where(rising, np.ceil(crossing), np.floor(crossing) + 1.0)
            column = np.clip(np.nan_to_num(column), 0.0, count).astype(int)
            column += (count + 1) * np.arange(len(level))[:, None]
            sums = []
            for weights in weigh(level):
                signed = np.broadcast_to(np.where(rising, weights, -weights), level.shape).ravel()
                steps = np.bincount(column.ravel(), signed, len(level) * (count + 1))
                steps = steps.reshape((-1, count + 1))[:, :-1]
                steps[:, 0] += np.sum(np.where(rising, 0.0, weights), axis=-1)
                sums.append(np.cumsum(steps, axis=-1))
            found.append(sums)
        return np.concatenate(found, axis=1)

    def _ramps(self, first, second, shift, factors):
        """Sums (k, g, h) of factors times the positive parts of ``x'theta - y + shift``."""
        slope = self.covariates[:, 1]
        sums = self._above(
            *(first, second, shift),
            lambda level: [factor * part for factor in factors for part in (slope, level)],
        )
        return sums[::2] * second + sums[1::2]

    def gradient(self, theta, second=None):
        """Gradient (m, d) at (m, d), or (g, h, 2) on a grid; see `_above`."""
        width, x = self.bandwidth, self.covariates.T
        if second is not None:
            place = theta, second
            if width:
                sums = self._ramps(*place, width, x) - self._ramps(*place, -width, x)
                sums /= 2.0 * width
            else:
                sums = self._above(*place, 0.0, lambda level: x)
            return np.moveaxis(sums, 0, -1) + self.linear - self.tau * np.sum(x, axis=-1)
        found = []
        for over in self._over(theta):
            step = np.clip(0.5 + 0.5 * over / width, 0.0, 1.0) if width else over >= 0.0
            found.append((step - self.tau) @ self.covariates)
        return np.concatenate(found) + self.linear

    def loss(self, theta, second=None):
        """Loss at (m, d), or on a grid; that of the step function, whatever the bandwidth."""
        # The loss of a record is the positive part of its residual less tau times it.
        linear = self.linear - self.tau * np.sum(self.covariates, axis=0)
        constant = self.constant + self.tau * np.sum(self.responses)
        if second is not None:
            [rises] = self._ramps(theta, second, 0.0, [1.0])
            return rises + np.add.outer(linear[0] * theta, linear[1] * second) + constant
        rises = [np.sum(np.maximum(over, 0.0, out=over), axis=-1) for over in self._over(theta)]
        return np.concatenate(rises) + theta @ linear + constant

    def fit(self):
        """Coefficients of least pinball loss, exactly, ndarray of shape (d,).

        A linear program over the records whose residual may change its sign in a box about a first
        guess (Portnoy and Koenker 1997); the box moves and grows until it holds the solution.
        """
        x, y = self.covariates, self.responses
        centre = np.linalg.lstsq(x, y, rcond=None)[0]
        width = 4.0 * float(np.std(y)) / np.sqrt(len(y))
        while True:
            part = self.within(centre, width)
            found = part._fit_in_box(centre, width)
            if np.all(np.abs(found - centre) < width * (1.0 - 1e-9)):
                return found
            centre, width = found, 2.0 * width

    def _fit_in_box(self, centre, width):
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, eye_array, hstack

        m, d = self.covariates.shape
        # Columns: coefficients, residuals above the plane, residuals below.
        cost = np.r_[
            np.broadcast_to(self.linear, d), np.full(m, self.tau), np.full(m, 1.0 - self.tau)
        ]
        matrix = hstack([csr_array(self.covariates), eye_array(m), -eye_array(m)])
        bounds = np.vstack(
            [np.column_stack([centre - width, centre + width]), np.tile([0.0, np.inf], (2 * m, 1))]
        )
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
class _RecordsScore:
    """A score that is a rate times a function of the records."""

    records: Pinball
    rate: float

    @property
    def work(self):
        """Number of records that a score looks at."""
        return len(self.records.responses)

    def within(self, centre, half_width):
        """The same in a box."""
        return replace(self, records=self.records.within(centre, half_width))


class GradientScore(_RecordsScore):
    """``rate |gradient|_inf``, minus the log density of the K-norm gradient mechanism."""

    @classmethod
    def at(cls, records, budget):
        """At a budget, for covariates within one and the sensitivity ``2 max(tau, 1 - tau)``."""
        return cls(records, budget / (4.0 * max(records.tau, 1.0 - records.tau)))

    @property
    def width(self):
        """About a dozen times the scale of the density, whose width is of order 1/n."""
        return 20.0 / (self.rate * self.work)

    def __call__(self, *theta):
        """Scores (m,) of coefficients (m, d), or (g, h) of a grid (g,) by (h,)."""
        return self.rate * np.max(np.abs(self.records.gradient(*theta)), axis=-1)


class LossScore(_RecordsScore):
    """``rate * loss``, minus the log density of the exponential mechanism."""

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

    def __call__(self, *theta):
        """Scores (m,) of coefficients (m, d), or (g, h) of a grid (g,) by (h,)."""
        return self.rate * self.records.loss(*theta)


@dataclass(frozen=True)
class MedianScore:
    """``rate |sum of unit vectors to the records|``: the mechanism for the geometric median."""

    points: np.ndarray  # (n, 2)
    rate: float  # A quarter of the budget, since the sensitivity is 2.

    @property
    def work(self):
        """Number of records that a score looks at."""
        return len(self.points)

    @property
    def width(self):
        """About a dozen times the scale of the density."""
        return 20.0 / (self.rate * self.work)

    def within(self, centre, half_width):
        """The same: no record's share is constant anywhere."""
        return self

    def __call__(self, theta, second=None):
        """Scores (m,) of places (m, 2), or (g, h) of a grid (g,) by (h,)."""
        if second is not None:
            places = np.stack(np.meshgrid(theta, second, indexing="ij"), axis=-1)
            return self(places.reshape((-1, 2))).reshape(places.shape[:2])
        found = []
        size = max(1, AT_ONCE // self.work)
        for start in range(0, len(theta), size):
            first, second = (self.points[:, k] - theta[start : start + size, [k]] for k in range(2))
            length = np.sqrt(first * first + second * second)
            # A record at the place itself has no direction.
            length[length == 0.0] = np.inf
            sums = [np.einsum("ij,ij->i", each, 1.0 / length) for each in (first, second)]
            found.append(np.hypot(*sums))
        return self.rate * np.concatenate(found)
