"""What a certified release will be worth, from public inputs and an assumed residual scale alone.

The prediction is that of flat space: records lie about a geodesic with independent normal
residuals, covariates are spread evenly over their range, and the score is taken at its mean over
such records.  It then depends on three numbers only, whatever the dimension: the lengths of the
errors of footpoint and shooting vector, and the angle between them.  So the law of the errors is
an integral over three numbers, done on a grid.  The error of the estimate without privacy is
added.  Curvature is left out, which is right for errors and residuals that are small beside its
radius; and so is what few records differ from their mean by.

No data are looked at, here or by what calls this: a plan costs no budget.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaincinv, ndtri

from geodp.errors import DataError

# Midpoints of the residuals' law: of its component along the error, and of its length across it.
ALONG, ACROSS = 128, 48

# Lengths of a mean residual at which its clipped mean is tabulated.
TABLE = 400

# Nodes of the covariate's range and of the angle.
COVARIATES, ANGLES = 8, 12

# The grid of lengths: its step on a logarithmic scale is this over the root of the dimension, and
# its shortest this share of the typical error.
STEP, SHORTEST = 0.4, 0.02

# A release is noise if its squared error is more than this share of that of a geodesic drawn from
# the support without looking at the data.
NOISE = 0.1

# Gradient scales tried, in units of the typical length of a residual; loss scales in units of
# gradient scales; offsets as shares of the loss that is expected at the truth.
GRADIENT_SCALES = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
LOSS_SCALES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
OFFSETS = (0.0, 0.5, 0.75, 0.9, 1.0, 1.2)

# Numbers of subjects, or budgets, that are looked among for a wanted error.
FEWEST, MOST = 2.0, 1e9


@dataclass(frozen=True)
class Assumptions:
    """What a plan is made from; every number is public or a guess, none comes from the data.

    Attributes
    ----------
    dim : int
        Of the manifold.
    footpoint_radius, shooting_vector_length : float
        R_p and R_v of the support.
    residual_scale : float
        Standard deviation of a residual in each direction, in the manifold's unit of length.
    number : float
        Of subjects, each with one record.
    budget : float
        eps.

    Raises
    ------
    DataError
        A number that is not positive and finite.
    """

    dim: int
    footpoint_radius: float
    shooting_vector_length: float
    residual_scale: float
    number: float
    budget: float

    def __post_init__(self):
        for name, value in vars(self).items():
            if not (np.isfinite(value) and value > 0.0):
                raise DataError(f"planner: {name} is {value}: give a positive number")

    @property
    def typical_residual(self):
        """Root mean squared length of a residual."""
        return self.residual_scale * np.sqrt(self.dim)


@dataclass(frozen=True)
class Scales:
    """Scales of the score: ``tau``, ``c`` and ``f0`` of `mechanisms.certified.PublicInputs`."""

    gradient_scale: float
    loss_scale: float
    loss_offset: float


@dataclass(frozen=True)
class Prediction:
    """Mean squared errors that a release is predicted to have.

    Attributes
    ----------
    assumptions : Assumptions
    scales : Scales
    footpoint, shooting_vector : float
        Of the release.
    curve : float
        Of the released geodesic, averaged over the covariate's range.
    """

    assumptions: Assumptions
    scales: Scales
    footpoint: float
    shooting_vector: float
    curve: float

    @property
    def curve_without_privacy(self):
        """As ``curve``, of the least-squares geodesic."""
        return sum(_without_privacy(self.assumptions) * _CURVE)

    @property
    def curve_without_data(self):
        """As ``curve``, of a geodesic drawn evenly from the support, about its middle."""
        given = self.assumptions
        radii = np.array([given.footpoint_radius, given.shooting_vector_length])
        return sum(radii**2 * given.dim / (given.dim + 2.0) * _CURVE)

    @property
    def is_noise(self):
        """Whether the release says next to nothing of the data."""
        return bool(self.curve > NOISE * self.curve_without_data)


# Squared errors of footpoint and shooting vector in that of the geodesic: the covariate, within
# half a unit of its middle, has variance 1/12.
_CURVE = np.array([1.0, 1.0 / 12.0])


def _without_privacy(assumptions):
    """Squared errors of the least-squares footpoint and shooting vector."""
    each = assumptions.typical_residual**2 / assumptions.number
    return np.array([each, 12.0 * each])


@dataclass(frozen=True)
class _Residuals:
    """Normal residuals about a point at some distance from where they are taken to be about."""

    dim: int
    scale: float
    farthest: float

    @cached_property
    def distances(self):
        """Shape (TABLE,)."""
        return np.geomspace(1e-3 * min(self.scale, self.farthest), self.farthest, TABLE)

    @cached_property
    def _components(self):
        along = ndtri((np.arange(ALONG) + 0.5) / ALONG)[:, None]
        across = np.zeros(1)
        if self.dim > 1:
            places = (np.arange(ACROSS) + 0.5) / ACROSS
            across = np.sqrt(2.0 * gammaincinv(0.5 * (self.dim - 1), places))
        along = self.distances[:, None, None] + self.scale * along
        return along, np.hypot(along, self.scale * across)

    def clipped_mean(self, limit):
        """Mean of residuals clipped to a length, as a fraction of their mean; (TABLE,)."""
        along, length = self._components
        clipped = along * np.minimum(1.0, limit / length)
        return np.mean(clipped, axis=(1, 2)) / self.distances

    def loss(self, limit):
        """Mean of the squared length up to a limit, as a fraction of its square; (TABLE,)."""
        _, length = self._components
        return np.mean(np.minimum(length / limit, 1.0) ** 2, axis=(1, 2))

    def at(self, distances, table):
        """A table's values at distances from zero to the farthest."""
        return np.interp(np.log(distances), np.log(self.distances), table)


class _Errors:
    """The law of the errors under some assumptions, on a grid of the three numbers."""

    def __init__(self, assumptions):
        dim = assumptions.dim
        self.assumptions = assumptions
        typical = assumptions.typical_residual
        shortest = SHORTEST * min(typical, 4.0 * dim * typical / _information(assumptions))
        footpoint, log_footpoint = _lengths(dim, shortest, assumptions.footpoint_radius)
        vector, log_vector = _lengths(dim, shortest, assumptions.shooting_vector_length)
        # Half a turn is enough: covariates are spread evenly about their middle.
        cosine, log_angle = np.ones(1), np.zeros(1)
        if dim > 1:
            # In many dimensions most directions are nearly at a right angle.
            spread = min(1.0, 3.0 / np.sqrt(dim))
            angle = 0.5 * np.pi * (1.0 - spread * (np.arange(ANGLES) + 0.5) / ANGLES)
            cosine, log_angle = np.cos(angle), (dim - 2.0) * np.log(np.sin(angle))
        footpoint, vector = footpoint[:, None, None], vector[:, None]
        self.log_measure = log_footpoint[:, None, None] + log_vector[:, None] + log_angle
        self.squares = footpoint**2, vector**2
        self._product = footpoint * vector * cosine
        self._covariates = (np.arange(COVARIATES) + 0.5) / COVARIATES - 0.5
        self._residuals = _Residuals(
            dim,
            assumptions.residual_scale,
            assumptions.footpoint_radius + 0.5 * assumptions.shooting_vector_length,
        )

    def _length(self, footpoint, vector):
        """Length of a combination of the two errors."""
        total = footpoint**2 * self.squares[0] + vector**2 * self.squares[1]
        return np.sqrt(np.maximum(total + 2.0 * footpoint * vector * self._product, 0.0))

    @cached_property
    def _distances(self):
        return [np.maximum(self._length(1.0, x), 1e-300) for x in self._covariates]

    def gradient(self, scale):
        """Hull norm of the mean clipped gradient over twice its limit."""
        table = self._residuals.clipped_mean(scale)
        found = [self._residuals.at(each, table) for each in self._distances]
        moments = [
            sum(x**power * each for x, each in zip(self._covariates, found, strict=True))
            / COVARIATES
            for power in range(3)
        ]
        ends = [
            self._length(0.5 * moments[0] + s * moments[1], 0.5 * moments[1] + s * moments[2])
            for s in (1.0, -1.0)
        ]
        return (ends[0] + ends[1]) / (2.0 * scale)

    def loss(self, scale):
        """Mean loss."""
        table = self._residuals.loss(scale)
        return sum(self._residuals.at(each, table) for each in self._distances) / COVARIATES

    def loss_at_truth(self, scale):
        """Mean loss where there is no error."""
        return float(self._residuals.loss(scale)[0])

    def predict(self, scales, gradient, loss):
        """`Prediction` from `gradient` and `loss` at the scales."""
        given = self.assumptions
        score = np.maximum(gradient, loss - scales.loss_offset)
        exponent = self.log_measure - 0.5 * _information(given) * score
        weight = np.exp(exponent - np.max(exponent))
        squares = [np.sum(weight * each) for each in self.squares] / np.sum(weight)
        squares = squares + _without_privacy(given)
        return Prediction(given, scales, *map(float, squares), float(squares @ _CURVE))


def _information(assumptions):
    """``n eps``."""
    return assumptions.number * assumptions.budget


def _lengths(dim, shortest, longest):
    """Nodes on a logarithmic scale, and logarithms of their weights in ``r^(dim - 1) dr``."""
    shortest = min(shortest, 0.1 * longest)
    count = int(np.ceil(np.log(longest / shortest) * np.sqrt(dim) / STEP)) + 1
    values = np.geomspace(shortest, longest, count)
    weight = np.full(count, np.log(values[1] / values[0]))
    weight[[0, -1]] *= 0.5
    # All that is shorter than the first.
    weight[0] += 1.0 / dim
    return values, np.log(weight) + dim * np.log(values)


def predict(assumptions, scales):
    """Predicted errors of a release with given scales.

    Parameters
    ----------
    assumptions : Assumptions
    scales : Scales

    Returns
    -------
    Prediction
    """
    errors = _Errors(assumptions)
    return errors.predict(
        scales, errors.gradient(scales.gradient_scale), errors.loss(scales.loss_scale)
    )


def best(assumptions):
    """Prediction at the best scales of a grid, which are functions of the assumptions alone.

    Parameters
    ----------
    assumptions : Assumptions

    Returns
    -------
    Prediction
    """
    errors = _Errors(assumptions)
    found = []
    losses = {}
    for factor in GRADIENT_SCALES:
        gradient_scale = float(factor * assumptions.typical_residual)
        gradient = errors.gradient(gradient_scale)
        for loss_scale in gradient_scale * np.array(LOSS_SCALES):
            key = round(float(loss_scale / assumptions.typical_residual), 6)
            if key not in losses:
                losses[key] = errors.loss(loss_scale)
            expected = errors.loss_at_truth(loss_scale)
            for share in OFFSETS:
                if share * expected < 1.0:
                    scales = Scales(gradient_scale, float(loss_scale), share * expected)
                    found.append(errors.predict(scales, gradient, losses[key]))
    return min(found, key=lambda prediction: prediction.curve)


def needed(assumptions, wanted, what):
    """Subjects or budget at which the root mean squared error of the geodesic is as wanted.

    Parameters
    ----------
    assumptions : Assumptions
        Of which one number is looked for.
    wanted : float
        In the manifold's unit of length.
    what : {"number", "budget"}

    Returns
    -------
    float
        Infinite if no such number is enough, as a budget is not where the error without privacy
        is larger.
    """

    def excess(logarithm):
        return np.log(best(replace(assumptions, **{what: np.exp(logarithm)})).curve / wanted**2)

    low, high = np.log(FEWEST / (1.0 if what == "number" else MOST)), np.log(MOST)
    if excess(high) > 0.0:
        return float("inf")
    if excess(low) <= 0.0:
        return float(np.exp(low))
    return float(np.exp(brentq(excess, low, high, xtol=1e-3)))
