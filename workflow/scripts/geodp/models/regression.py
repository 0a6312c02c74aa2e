"""Means and geodesics in one call, of data in the layouts of other libraries.

Nothing here is private: for what may be published see `geodp.release_geodesic`.
"""

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from geodp.errors import DataError
from geodp.manifolds.kendall import coincide
from geodp.manifolds.manifold import Manifold
from geodp.manifolds.registry import layout_advice
from geodp.models.fitting import FitError
from geodp.models.formulas import read_formula
from geodp.models.geodesic import Fit, GeodesicModel
from geodp.models.losses import Loss, SquaredDistance
from geodp.models.start import is_wide
from geodp.models.terms import Columns


def mean(
    points: ArrayLike,
    manifold: Manifold,
    loss: Loss | None = None,
    weights: ArrayLike | None = None,
) -> "FittedModel":
    """Frechet mean of points; with `geodp.Distance` as loss their geometric median.

    Parameters
    ----------
    points : array, shape (n, *point_shape)
        Such as the (n, c, c) covariance matrices of pyRiemann, or points of geomstats.  Planar
        landmarks may be real, (n, k, 2), and of any place, size and rotation.
    manifold : Manifold
    loss : Loss, optional
        Least squares unless given.
    weights : array, shape (n,), optional
        Of records in the sum of losses: zero or more, such as those of a survey, or how often each
        record was seen.  Only their ratios matter.

    Returns
    -------
    FittedModel
        The mean is its ``footpoint``.

    Raises
    ------
    DataError
        The shape is not that of points, a record is not a point, or weights are not as above.
    FitError
        There are no records, or the mean is beyond double precision.

    Warns
    -----
    RuntimeWarning
        As for `fit`.  Where data are so wide descents start from several records, and the lowest
        minimum is returned.

    Examples
    --------
    >>> import numpy as np
    >>> import geodp
    >>> matrices = np.array([np.diag([1.0, 1.0]), np.diag([4.0, 9.0])])
    >>> geodp.mean(matrices, geodp.SPD(2)).footpoint.round(6)
    array([[2., 0.],
           [0., 3.]])
    """
    return _fitted(None, points, manifold, 0, loss, weights)


def fit(
    x: Any,
    points: Any,
    manifold: Manifold,
    loss: Loss | None = None,
    weights: ArrayLike | None = None,
    *,
    basis: Any = None,
    products: Any = (),
    covariate_range: Any = None,
) -> "FittedModel":
    """Geodesic regression ``y ~ Exp(p, x_1 v_1 + ... + x_k v_k)`` of points on covariates.

    Or with covariates b_1(x), ..., b_k(x) of a basis, from -1/2 to 1/2 over ranges.

    Parameters
    ----------
    x : array, shape (n, k), or (n,) for one covariate; or str
        A formula such as ``"point ~ spline(age, 4) + sex"``, of columns of the table ``points``.
    points : array; or data frame or dict of arrays with a formula
        As for `mean`.
    manifold, loss, weights
        As for `mean`.
    basis : list, optional
        Of each column of ``x``; see `geodp.models.terms.basis_of`.
    products : sequence of pairs of int
        Columns whose covariates are multiplied with each other, beside their own.
    covariate_range : sequence of pairs, or dict of them by name
        Ranges of columns without words, which a basis or a formula needs.

    Returns
    -------
    FittedModel

    Raises
    ------
    FitError
        Too few records, covariates that do not vary independently of one another, or a footpoint,
        which is the geodesic's point at ``x = 0``, too far from the data for double precision.
    CutLocusError
        A record is near the cut locus of its prediction; see `GeodesicModel.fit`.
    DataError
        As for `mean`.

    Warns
    -----
    RuntimeWarning
        The gradient did not get as small as rounding lets it, nor nearly so; or a residual is
        longer than half the injectivity radius, so that there may be another minimum.

    Examples
    --------
    >>> import numpy as np
    >>> import geodp
    >>> matrices = np.array([np.diag([1.0, 1.0]), np.diag([2.0, 3.0]), np.diag([4.0, 9.0])])
    >>> found = geodp.fit([0.0, 1.0, 2.0], matrices, geodp.SPD(2))
    >>> found.predict([3.0]).round(6)
    array([[[ 8.,  0.],
            [ 0., 27.]]])
    >>> round(found.r_squared, 6)
    1.0
    """
    design = None
    if isinstance(x, str):
        found = read_formula(x)
        if found.response is None or found.response not in points:
            raise DataError(f"formula {x!r}: name a column of points before ~")
        design = Columns.of(found.names, found.bases, covariate_range, found.products)
        x, points = design(points), points[found.response]
    elif basis is not None:
        names = [f"column {index + 1}" for index in range(len(basis))]
        design = replace(Columns.of(names, basis, covariate_range, products), names=())
        x = design(x)
    x = np.asarray(x)
    try:
        # Dates would become numbers of nanoseconds, and imaginary parts be lost.
        x = x.astype(float, casting="unsafe" if x.dtype.kind in "OSU" else "same_kind")
    except (TypeError, ValueError):
        raise DataError(
            f"x is of type {x.dtype}: give numbers, of dates (x - x[0]) / np.timedelta64(1, 'D'), "
            "or list words, by basis=[{'words': ['north', 'south']}] or in a formula"
        ) from None
    if x.ndim not in (1, 2):
        raise DataError(f"x has {x.ndim} axes: give a row of covariates for each record")
    fitted = _fitted(x, points, manifold, x.shape[1] if x.ndim == 2 else 1, loss, weights)
    return replace(fitted, design=design)


def _fitted(x, points, manifold, number_of_covariates, loss, weights):
    if not isinstance(manifold, Manifold):
        raise DataError(
            f"manifold is {type(manifold).__name__!r}: give a manifold such as geodp.SPD(3)"
        )
    y = points_of(manifold, points)
    if x is not None and len(x) != len(y):
        raise DataError(f"x has {len(x)} records and there are {len(y)} points: give as many")
    model = GeodesicModel(manifold, number_of_covariates, loss or SquaredDistance())
    weights = None if weights is None else _weights_of(weights, len(y))
    model, counted = _counted(model, weights)
    # What comes of it is said below.
    with np.errstate(all="ignore"):
        try:
            found = model.fit(None if x is None else x[counted], y[counted])
        except np.linalg.LinAlgError:
            found = None
    if found is None or not np.isfinite(found.energy):
        if x is None:
            raise FitError("the mean is beyond double precision: rescale the points")
        raise FitError(
            "the geodesic's point at x = 0 is too far from the data: subtract a value near the "
            "middle of x"
        )
    if not found.is_reached:
        gradient = f"{found.gradient_norm:.1g} of the data's scale"
        message = f"the fit did not converge: its gradient is {gradient}"
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    if is_wide(manifold, found.largest_residual):
        message = (
            f"a residual is {found.largest_residual:.3g} long, more than half the injectivity "
            f"radius {manifold.injectivity_radius:.3g}: another minimum may be as low"
        )
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    whole = vars(found) | {"model": replace(model, weights=weights)}
    return FittedModel(**whole, covariates=model.aligned(x, y), points=y)


def _counted(model, weights):
    """A model of the records whose weights are above zero, and which they are."""
    if weights is None:
        return model, slice(None)
    counted = weights > 0.0
    return replace(model, weights=weights[counted] / np.mean(weights[counted])), counted


def _weights_of(given, number):
    """Weights (n,), checked."""
    weights = np.asarray(given, dtype=float)
    if weights.shape != (number,):
        raise DataError(f"weights have shape {weights.shape}: give one for each of {number} points")
    if not (np.all(np.isfinite(weights) & (weights >= 0.0)) and np.any(weights)):
        raise DataError("weights: give finite numbers of zero or more, not all of them zero")
    return weights


def points_of(manifold: Manifold, array: ArrayLike) -> np.ndarray:
    """Points (n, *point_shape) of an array in that shape or in a layout of the manifold.

    A `DataError` says that the shape is another, or that a record is no point.
    """
    given: np.ndarray = np.asarray(array)
    points: np.ndarray
    is_complex = manifold.dtype is complex
    if np.iscomplexobj(given) and not is_complex:
        raise DataError(f"points are complex, and those of {manifold.name} are real: give these")
    if given.ndim and given.shape[1:] == manifold.point_shape:
        points = given.astype(manifold.dtype, copy=False)
    else:
        # Real and imaginary parts may be an axis of their own.
        pairs = is_complex and given.ndim == 3 and given.shape[2] == 2
        numbers = given.reshape((len(given), 2 * given.shape[1])) if pairs else given
        numbers = numbers[:, None] if given.ndim == 1 else numbers
        if numbers.ndim != 2 or numbers.shape[1] not in manifold.layouts():
            wanted = ", ".join(["n", *map(str, manifold.point_shape)])
            raise DataError(
                f"points have shape {given.shape}, and ({wanted}) or a row of numbers for each is "
                f"wanted: {layout_advice(manifold)}"
            )
        points = manifold.from_layout(numbers.astype(float))
    if is_complex:
        wrong = coincide(points)
        if np.any(wrong):
            raise DataError(
                f"record {np.argmax(wrong) + 1}: all its landmarks coincide, so there is no shape: "
                "correct or remove it"
            )
        # Landmarks have a place and a size, which shapes do not.
        with np.errstate(invalid="ignore"):
            points = manifold.project(points)
    if not manifold.are_all_points(points):
        # By rounding alone a matrix may be asymmetric.
        axes = tuple(range(1, points.ndim))
        with np.errstate(over="ignore", invalid="ignore"):
            moved = manifold.project(points)
            size = np.max(np.abs(points), axis=axes, keepdims=True)
            near = np.all(np.abs(moved - points) <= 1e-9 * size, axis=axes)
        points = np.where(manifold.expand(near), moved, points)
        valid = manifold.are_points(points)
        if not np.all(valid):
            record = int(np.argmin(valid))
            reason = manifold.invalid_reason(points[record])
            raise DataError(f"record {record + 1}: {reason}: correct or remove it")
    return points


def variance_explained(
    manifold: Manifold,
    points: np.ndarray,
    predicted: np.ndarray,
    weights: np.ndarray | None = None,
) -> float:
    """``1 - sum d^2 / sum d_mean^2``, with distances to predictions and to the Frechet mean."""
    model, counted = _counted(GeodesicModel(manifold, 0), weights)
    centre = model.fit(None, points[counted]).footpoint
    parts = np.ones(1) if weights is None else weights
    left, whole = (np.sum(parts * manifold.dist(points, each) ** 2) for each in (predicted, centre))
    if whole == 0.0:
        # As in scikit-learn.
        return 1.0 if left == 0.0 else 0.0
    return float(1.0 - left / whole)


@dataclass(frozen=True)
class FittedModel(Fit):
    """A fitted mean or geodesic with its data.

    Attributes
    ----------
    covariates : ndarray, shape (n, k)
    points : ndarray, shape (n, *point_shape)
    design : Columns, optional
        What makes covariates of the columns of a table, where a basis or a formula was given.
    """

    covariates: np.ndarray = field(repr=False)
    points: np.ndarray = field(repr=False)
    design: Columns | None = field(default=None, repr=False)

    def predict(self, covariates: Any) -> np.ndarray:
        """Points (m, *point_shape); with a basis of columns (m, c), or of a table with names."""
        return super().predict(covariates if self.design is None else self.design(covariates))

    @property
    def covariate_names(self) -> list[str]:
        """Names of the covariates that a basis made, such as ``region: south``."""
        names = self.design.names if self.design else ()
        return self.design.terms.names(names) if self.design and names else []

    @property
    def shooting_vectors(self) -> np.ndarray:
        """Shooting vectors, shape (k, *point_shape)."""
        _, *vectors = self.parameters.values()
        return np.reshape(vectors, (len(vectors), *self.model.manifold.point_shape))

    @cached_property
    def fitted(self) -> np.ndarray:
        """Predictions at the data's covariates, shape (n, *point_shape)."""
        return super().predict(self.covariates)

    @cached_property
    def residuals(self) -> np.ndarray:
        """Tangent vectors ``Log(fitted_i, y_i)`` at ``fitted``, shape (n, *point_shape)."""
        return self.model.manifold.log(self.fitted, self.points)

    @cached_property
    def distances(self) -> np.ndarray:
        """Lengths of the residuals, shape (n,), in the manifold's unit of length."""
        return self.model.residual_distances(self.parameters, self.covariates, self.points)

    @cached_property
    def r_squared(self) -> float:
        """Share of the variance about the Frechet mean that the covariates explain."""
        model = self.model
        return variance_explained(model.manifold, self.points, self.fitted, model.weights)

    def plot(self):
        """Draw the fit: for each covariate how far records and fit are along its shooting vector.

        Each record is drawn at ``x_j |v_j|`` plus the part along ``v_j`` of its residual, carried
        to the footpoint; the line is the fit.  Of a mean a histogram of distances to it is drawn.

        Returns
        -------
        ndarray of matplotlib Axes
        """
        import matplotlib.pyplot as plt

        manifold = self.model.manifold
        number = max(1, len(self.shooting_vectors))
        _, axes = plt.subplots(
            1, number, figsize=(4.2 * number, 3.4), layout="constrained", squeeze=False
        )
        axes = axes[0]
        unit = f" ({manifold.length_unit})" if manifold.length_unit else ""
        if not len(self.shooting_vectors):
            axes[0].hist(self.distances, bins="auto", color="0.7", edgecolor="0.3")
            axes[0].set(xlabel=f"distance to the mean{unit}", ylabel="records")
            return axes
        start = np.broadcast_to(self.footpoint, self.points.shape)
        carried = manifold.transport_to(self.fitted, start, self.residuals)
        for index, (vector, place) in enumerate(zip(self.shooting_vectors, axes, strict=True)):
            x = self.covariates[:, index]
            speed = float(manifold.norm(self.footpoint, vector))
            along = manifold.inner(self.footpoint, carried, vector) / (speed or 1.0)
            ends = np.array([np.min(x), np.max(x)])
            place.plot(x, x * speed + along, "o", ms=3, color="0.45", alpha=0.6, label="records")
            place.plot(ends, ends * speed, color="black", label="fit")
            which = f" {index + 1}" if number > 1 else ""
            place.set(xlabel=f"covariate{which}", ylabel=f"way along shooting vector{which}{unit}")
        axes[0].legend(frameon=False)
        return axes
