"""Predicted mean squared errors of certified draws, from public assumptions alone.

No data are used, here or by any caller: a plan costs no budget.

The model of the prediction is flat space, with records about a geodesic, independent normal
residuals, and covariates spread evenly over their range.  The score is replaced by its mean over
such records.  Only the level of the loss varies, as the mean of n records does.

The mean score depends on three numbers, whatever the dimension: the lengths of the errors of
footpoint and shooting vector, and the angle between them.  So the mean squared errors of a draw are
integrals over three numbers, computed on a grid.

To these is added the mean squared error of the estimate at which the distribution is centred.
Where the gradient is the larger term of the score, this is the estimate with clipped residuals;
where the loss is, the estimate of least truncated squares.

Curvature is neglected: errors and residuals must be small compared with its radius.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.special import gammainc, gammaincinv, ndtri

from geodp.errors import DataError
from geodp.manifolds.base import Manifold
from geodp.mechanisms.certified import BLOCKS, SCORES, Scales

# Quadrature nodes of a residual's component along the error, and of its length across it: midpoints
# of intervals of equal probability.
ALONG, ACROSS = 128, 48

# Lengths of a mean residual at which means of clipped residuals are tabulated.
TABLE = 400

# Gauss-Legendre nodes of the covariate's range, and midpoints of the angle.
COVARIATES, ANGLES = 8, 12

# Grid of lengths: length of an interval on the logarithmic scale, times the root of the dimension;
# Gauss-Legendre nodes of each; and where the grid starts, as a share of the typical error.
INTERVAL, INTERVAL_NODES, SHORTEST = 2.4, 6, 0.02

# Coarser nodes of lengths and of the angle, with which scales are compared.
ROUGH_NODES, ROUGH_ANGLES = 3, 5

# A release counts as noise if its squared error is more than this share of that of a geodesic drawn
# uniformly from the support.
NOISE = 0.1

# Search grid: gradient scales, in units of the typical length of a residual; loss scales, in units
# of the gradient scale; offsets, as shares of the expected loss at the truth.  With the widest
# gradient scales the loss is always the larger term of the score.
GRADIENT_SCALES = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 5.6, 11.2)
LOSS_SCALES = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
OFFSETS = (0.0, 0.5, 0.75, 0.9, 1.0, 1.2, 1.5, 2.0)

# Gauss-Hermite nodes, in standard deviations, and weights of the mean loss of n records about its
# expectation.
STRAYS, STRAY_SHARES = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 6.0

# Of all scales whose squared error is within this of the least the widest are chosen, since the
# residual scale is a guess.
CLOSE = 0.02

# Search for a wanted error: range of the product of subjects and budget, and step of its logarithm.
LEAST_INFORMATION, MOST_INFORMATION, INFORMATION_STEP = 0.1, 1e9, 0.1

# Squared errors of footpoint and shooting vector in that of the geodesic, averaged over the
# covariate's range: the covariate, within half a unit of its middle, has variance 1/12.
_CURVE = np.array([1.0, 1.0 / 12.0])


@dataclass(frozen=True)
class Prediction:
    """Predicted mean squared errors of a draw, in squared units of length.

    Attributes
    ----------
    number, budget : float
        Number of subjects, with one record each; and the budget eps.
    scales : Scales
    footpoint, shooting_vector : float
        Errors of the drawn footpoint and shooting vector.
    curve : float
        Error of the drawn geodesic, averaged over the covariate's range.
    curve_without_privacy : float
        Error of the least-squares geodesic.
    curve_without_data : float
        Error of a geodesic drawn uniformly from the support, about its middle.
    """

    number: float
    budget: float
    scales: Scales
    footpoint: float
    shooting_vector: float
    curve: float
    curve_without_privacy: float
    curve_without_data: float

    @property
    def is_noise(self):
        """Whether the release would carry almost no information about the data."""
        return self.curve > NOISE * self.curve_without_data


@dataclass(frozen=True)
class Planner:
    """Predictor of errors under assumptions, each of them public or a guess, none from the data.

    Attributes
    ----------
    dim : int
        Dimension of the manifold.
    footpoint_radius, shooting_vector_length : float
        R_p and R_v of the support.
    residual_scale : float
        Standard deviation of a residual in each direction, in the manifold's unit of length.
    score_name : str, one of `SCORES`
    unknown : tuple of str
        Blocks with an error; those of `BLOCKS` left out are known.

    Raises
    ------
    DataError
        A number is not positive and finite.
    """

    dim: int
    footpoint_radius: float
    shooting_vector_length: float
    residual_scale: float
    score_name: str = SCORES[0]
    unknown: tuple = BLOCKS

    def __post_init__(self):
        for name in ("dim", "footpoint_radius", "shooting_vector_length", "residual_scale"):
            _refuse_unless_positive(name, getattr(self, name))
        if self.score_name not in SCORES:
            raise ValueError(f"score {self.score_name!r} is none of {', '.join(SCORES)}")

    @classmethod
    def of(
        cls,
        manifold: Manifold,
        footpoint_radius: float,
        shooting_vector_length: float,
        residual_scale: float,
    ) -> "Planner":
        """Planner for a manifold; its injectivity radius limits the footpoint radius."""
        reach = min(footpoint_radius, manifold.injectivity_radius)
        return cls(manifold.dim, float(reach), shooting_vector_length, residual_scale)

    @property
    def radii(self):
        """Radii of the support, of footpoints and of shooting vectors; (2,)."""
        return np.array([self.footpoint_radius, self.shooting_vector_length])

    def predict(self, number: float, budget: float, scales: Scales | None = None) -> "Prediction":
        """Predicted errors of an exact draw from the distribution on its whole support.

        Parameters
        ----------
        number, budget : float
        scales : Scales, optional
            By default the best of a grid.  They depend on the assumptions, the number and the
            budget alone, so they are public.

        Returns
        -------
        Prediction
        """
        _refuse_unless_positive("number", number)
        _refuse_unless_positive("budget", budget)
        return self.prediction(
            number, budget, *self._squared_errors(float(number), float(budget), scales)
        )

    def prediction(self, number, budget, scales, squares):
        """A `Prediction` from squared errors (2,) of footpoint and shooting vector."""
        without = self._without_privacy(number)
        radii = np.where(self._is_unknown, self.radii, 0.0)
        return Prediction(
            number,
            budget,
            scales,
            float(squares[0]),
            float(squares[1]),
            float(squares @ _CURVE),
            float(without @ _CURVE),
            float(radii**2 * self.dim / (self.dim + 2.0) @ _CURVE),
        )

    def needed(self, wanted, number=None, budget=None, scales=None):
        """Budget, or number of subjects, at which the geodesic has a wanted error.

        Parameters
        ----------
        wanted : float
            Root mean squared error of the geodesic, in the manifold's unit of length.
        number, budget : float, optional
            The one that is known.
        scales : Scales, optional
            As in `predict`.

        Returns
        -------
        float
            Infinite if none is enough, such as where the error without privacy is larger.
        """
        _refuse_unless_positive("wanted", wanted)
        if (number is None) == (budget is None):
            raise DataError("planner: give the number of subjects or the budget, not both")

        def excess(step):
            """Logarithm of squared error over the wanted one."""
            information = LEAST_INFORMATION * np.exp(INFORMATION_STEP * step)
            subjects = information / budget if number is None else number
            found = self.predict(subjects, information / subjects, scales)
            return np.log(found.curve / wanted**2)

        low = 0
        high = int(np.log(MOST_INFORMATION / LEAST_INFORMATION) / INFORMATION_STEP)
        if excess(high) > 0.0:
            return float("inf")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if excess(middle) <= 0.0 else (middle, high)
        above, below = excess(low), excess(high)
        step = low + np.clip(above / (above - below), 0.0, 1.0) if above != below else low
        information = LEAST_INFORMATION * np.exp(INFORMATION_STEP * step)
        return float(information / (budget if number is None else number))

    @property
    def _typical_residual(self):
        """Root mean squared length of a residual."""
        return self.residual_scale * np.sqrt(self.dim)

    @property
    def _is_unknown(self):
        """Whether each of `BLOCKS` has an error; (2,)."""
        return np.array([block in self.unknown for block in BLOCKS])

    def _without_privacy(self, number):
        """Squared errors (2,) of the least-squares estimate."""
        errors = self._typical_residual**2 / number * np.array([1.0, 12.0])
        return np.where(self._is_unknown, errors, 0.0)

    @cache  # noqa: B019 - a planner is small, and searches ask for the same again
    def _squared_errors(self, number, budget, scales):
        """Scales, and squared errors (2,) of a draw."""
        if scales is not None:
            errors = _ErrorDistribution(self, number, budget)
            gradient = errors.gradient(scales.gradient_scale)
            return scales, errors.squares(gradient, errors.loss(scales.loss_scale), scales)
        errors = _ErrorDistribution(self, number, budget, ROUGH_NODES, ROUGH_ANGLES)
        found, losses = [], {}
        # A scale that the score does not use gets one value.
        no_loss = self.score_name.startswith("gradient")
        for factor in GRADIENT_SCALES if self.score_name != "energy" else (1.0,):
            gradient_scale = float(factor * self._typical_residual)
            gradient = errors.gradient(gradient_scale)
            for loss_factor in LOSS_SCALES if not no_loss else (1.0,):
                # Rounded, so that equal products of the two lists share one loss.
                relative = round(factor * loss_factor, 6)
                loss_scale = float(relative * self._typical_residual)
                if relative not in losses:
                    losses[relative] = errors.loss(loss_scale)
                expected = self._losses(loss_scale)[0]
                for share in OFFSETS if self.score_name == "combined" else (0.0,):
                    if share * expected < 1.0:
                        tried = Scales(gradient_scale, loss_scale, float(share * expected))
                        found.append((tried, errors.squares(gradient, losses[relative], tried)))
        curves = np.array([squares @ _CURVE for _, squares in found])
        close = np.flatnonzero(curves <= (1.0 + CLOSE) * np.min(curves))
        best = max(close, key=lambda k: (found[k][0].gradient_scale, -curves[k]))
        return self._squared_errors(number, budget, found[best][0])

    # Estimates at which distributions are centred, and the level of the loss.

    @cache  # noqa: B019
    def _excess_of_clipping(self, limit):
        """Variance of the estimate with clipped residuals, over that of least squares."""
        length = self._components[1][0]
        clipped = np.minimum(length, limit)
        # Stein's lemma: the derivative of the mean is the mean product with the normal residual.
        return np.mean(clipped**2) * np.mean(length**2) / np.mean(length * clipped) ** 2

    def estimate(self, number, scales, by_loss):
        """Squared errors (2,) of the estimate at which a distribution is centred.

        Parameters
        ----------
        number : float
        scales : Scales
        by_loss : float
            Probability that the loss is the larger term of the score.
        """
        clipped = self._excess_of_clipping(scales.gradient_scale)
        truncated = self._excess_of_truncation(scales.loss_scale)
        return (by_loss * truncated + (1.0 - by_loss) * clipped) * self._without_privacy(number)

    def _excess_of_truncation(self, limit):
        """Variance of the estimate of least truncated squares, over that of least squares."""
        return 1.0 / gammainc(0.5 * self.dim + 1.0, 0.5 * (limit / self.residual_scale) ** 2)

    @cache  # noqa: B019
    def stray(self, limit):
        """Standard deviation of the loss of a record."""
        return np.std(np.minimum(self._components[1][0] / limit, 1.0) ** 2)

    # Residuals about a prediction at some distance from the true one.

    @cached_property
    def _distances(self):
        """Distances of the tables below, increasing; (TABLE,)."""
        farthest = self.footpoint_radius + 0.5 * self.shooting_vector_length
        return np.geomspace(1e-3 * min(self.residual_scale, farthest), farthest, TABLE)

    @cached_property
    def _components(self):
        along = ndtri((np.arange(ALONG) + 0.5) / ALONG)[:, None]
        across = np.zeros(1)
        if self.dim > 1:
            places = (np.arange(ACROSS) + 0.5) / ACROSS
            across = np.sqrt(2.0 * gammaincinv(0.5 * (self.dim - 1), places))
        along = self._distances[:, None, None] + self.residual_scale * along
        return along, np.hypot(along, self.residual_scale * across)

    @cache  # noqa: B019
    def _clipped_means(self, limit):
        """Mean of residuals clipped to a length, as a fraction of their mean; (TABLE,)."""
        along, length = self._components
        return np.mean(along * np.minimum(1.0, limit / length), axis=(1, 2)) / self._distances

    @cache  # noqa: B019
    def _losses(self, limit):
        """Mean of the squared length up to a limit, as a fraction of its square; (TABLE,)."""
        _, length = self._components
        return np.mean(np.minimum(length / limit, 1.0) ** 2, axis=(1, 2))


class MeanScores:
    """Means over records of the two terms of the score, for geodesics with given errors.

    Parameters
    ----------
    planner : Planner
    footpoint, vector, product : ndarray
        Squared lengths of the errors of the footpoint and of the shooting vector, and their inner
        product; their shapes broadcast.
    covariates : int
        Number of nodes of the covariate's range.
    """

    def __init__(self, planner, footpoint, vector, product, covariates):
        self._planner = planner
        self._footpoint, self._vector, self._product = footpoint, vector, product
        nodes, weights = np.polynomial.legendre.leggauss(covariates)
        self._covariates, self._shares = 0.5 * nodes, 0.5 * weights
        # The table's distances are evenly spaced on a logarithmic scale.
        low, high = np.log(planner._distances[[0, -1]])
        self._places = []
        for x in self._covariates:
            logarithm = np.log(np.maximum(self._length(1.0, x), 1e-300))
            place = np.clip((logarithm - low) * ((TABLE - 1) / (high - low)), 0.0, TABLE - 1.000001)
            below = place.astype(np.intp)
            self._places.append((below, place - below))

    def _length(self, footpoint, vector):
        """Length of a combination of the two errors."""
        total = footpoint**2 * self._footpoint + vector**2 * self._vector
        return np.sqrt(np.maximum(total + 2.0 * footpoint * vector * self._product, 0.0))

    def _moments(self, table, powers):
        """Means over covariates of their powers times a tabulated function of the distance."""
        steps = np.diff(table)
        values = [table[below] + steps[below] * part for below, part in self._places]
        return [
            sum(
                share * x**power * each
                for share, x, each in zip(self._shares, self._covariates, values, strict=True)
            )
            for power in range(powers)
        ]

    def gradient(self, scale):
        """Norm of the mean clipped gradient, divided by twice the limit ``scale``."""
        first, second, third = self._moments(self._planner._clipped_means(scale), 3)
        if self._planner.score_name == "gradient_by_blocks":
            blocks = self._length(first, second), 2.0 * self._length(second, third)
            return np.maximum(*blocks) / (2.0 * scale)
        ends = (
            self._length(0.5 * first + sign * second, 0.5 * second + sign * third)
            for sign in (1.0, -1.0)
        )
        return sum(ends) / (2.0 * scale)

    def loss(self, scale):
        """Mean loss, with residuals clipped to ``scale``."""
        return self._moments(self._planner._losses(scale), 1)[0]


class _ErrorDistribution(MeanScores):
    """Distribution of the errors at a number of subjects and a budget, on a grid of 3 numbers."""

    def __init__(self, planner, number, budget, nodes=INTERVAL_NODES, angles=ANGLES):
        dim = planner.dim
        self._number, self._information = number, number * budget
        typical = planner._typical_residual
        shortest = SHORTEST * min(typical, 4.0 * dim * typical / self._information)
        (footpoint, log_footpoint), (vector, log_vector) = (
            _lengths(dim, shortest, longest, nodes) if block in planner.unknown else _NO_ERROR
            for block, longest in zip(BLOCKS, planner.radii, strict=True)
        )
        # Half a turn is enough: covariates are spread evenly about their middle.
        cosine, log_angle = np.ones(1), np.zeros(1)
        if dim > 1 and len(planner.unknown) > 1:
            # In many dimensions most directions are nearly at a right angle.
            spread = min(1.0, 3.0 / np.sqrt(dim))
            angle = 0.5 * np.pi * (1.0 - spread * (np.arange(angles) + 0.5) / angles)
            cosine, log_angle = np.cos(angle), (dim - 2.0) * np.log(np.sin(angle))
        footpoint, vector = footpoint[:, None, None], vector[:, None]
        self._log_measure = log_footpoint[:, None, None] + log_vector[:, None] + log_angle
        super().__init__(planner, footpoint**2, vector**2, footpoint * vector * cosine, COVARIATES)

    def squares(self, gradient, loss, scales):
        """Mean squared errors of footpoint and shooting vector; (2,)."""
        planner = self._planner
        stray = planner.stray(scales.loss_scale) / np.sqrt(self._number)
        strays, shares = STRAYS, STRAY_SHARES
        if planner.score_name != "combined":
            strays, shares = np.zeros(1), np.ones(1)
        total = np.zeros(2)
        for away, share in zip(strays, shares, strict=True):
            if planner.score_name == "combined":
                level = loss + away * stray - scales.loss_offset
                by_loss = level > gradient
                score = np.where(by_loss, level, gradient)
            else:
                by_loss = np.array(planner.score_name == "energy")
                score = np.where(by_loss, loss, gradient)
            exponent = self._log_measure - 0.5 * self._information * score
            weight = np.exp(exponent - np.max(exponent))
            weight /= np.sum(weight)
            draw = [np.sum(weight * square) for square in (self._footpoint, self._vector)]
            estimate = planner.estimate(self._number, scales, np.sum(weight * by_loss))
            total += share * (draw + estimate)
        return total


# Lengths and log weights of an error that is zero.
_NO_ERROR = np.zeros(1), np.zeros(1)


def _lengths(dim, shortest, longest, interval_nodes):
    """Nodes on a logarithmic scale, and logarithms of their weights in ``r^(dim - 1) dr``."""
    shortest = min(shortest, 0.1 * longest)
    span = np.log(longest / shortest)
    count = int(np.ceil(span * np.sqrt(dim) / INTERVAL))
    nodes, weights = np.polynomial.legendre.leggauss(interval_nodes)
    places = (np.arange(count)[:, None] + 0.5 * (1.0 + nodes)) * span / count
    weights = np.broadcast_to(0.5 * weights * span / count, places.shape)
    # The first node stands for all shorter lengths.
    logarithms = np.log(shortest) + np.concatenate([[0.0], places.reshape(-1)])
    weights = np.concatenate([[1.0 / dim], weights.reshape(-1)])
    return np.exp(logarithms), np.log(weights) + dim * logarithms


def _refuse_unless_positive(name, value):
    if not (np.isfinite(value) and value > 0.0):
        raise DataError(f"planner: {name} is {value}: give a positive number")
