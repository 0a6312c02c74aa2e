"""Private geodesic regression as an estimator of scikit-learn."""

import secrets
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as problem:
    raise ImportError(
        "a private regression as an estimator needs scikit-learn, which is not installed: "
        "pip install scikit-learn, or '.[estimator]' in the checkout"
    ) from problem

from geodp.errors import DataError
from geodp.manifolds.manifold import Manifold
from geodp.manifolds.registry import parse_point
from geodp.models.formulas import read_formula
from geodp.models.regression import variance_explained
from geodp.models.terms import LINE, Columns
from geodp.settings.shared_sections import public_centre
from geodp_release.ask.arrays import are_named, columns_of, points_of
from geodp_release.plan.bands import LEVELS
from geodp_release.plan.sample_size import planned
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import PrivacyBudget
from geodp_release.promise.ledger import Ledger
from geodp_release.promise.public_inputs import (
    EXPONENTIAL,
    LEAST_SQUARES,
    NONE,
    TWO_GROUPS,
    UNKNOWN,
    of_all,
)
from geodp_release.run.subjects import ONE_EACH, subject_records, valid_records
from geodp_release.show.release import release_geodesic


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateRegression(RegressorMixin, BaseEstimator):
    """What regressions released under differential privacy have in common."""

    epsilon: Any = None
    rho: Any = None
    delta: Any = None
    covariate_range: Any = None
    residual_scale: Any = None
    subjects: Any = None
    neighbours: Any = None
    records_per_subject: int = 1
    transformation: Any = NONE
    covariate_spread: Any = UNKNOWN
    tails: str = EXPONENTIAL
    loss: str = LEAST_SQUARES
    threshold: Any = None
    unit: Any = None
    allow_noise: bool = False
    ledger: Any = None

    @property
    def _is_list(self):
        """Whether a response has several numbers."""
        return True

    def __sklearn_clone__(self):
        copy = super().__sklearn_clone__()
        copy._is_copy = True
        return copy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # A record that is not a number counts as one without influence.
        tags.input_tags.allow_nan = True
        tags.target_tags.single_output = not self._is_list
        tags.target_tags.multi_output = self._is_list
        tags.regressor_tags.poor_score = True
        tags.non_deterministic = True
        return tags

    def fit(self, X, y, *, subjects=None):
        """Release a geodesic, line or plane; this spends the budget, at every call.

        Parameters
        ----------
        X : array or data frame, shape (n, k)
            The covariates.
        y : array, shape (n, *point_shape), or (n, k) in a layout of the manifold
            Points, or responses; (n,) if a point is one number.
        subjects : array, shape (n,), or "one record each"
            Whose each record is.  It may be left out if `unit` was given.

        Returns
        -------
        PrivateRegression
            Itself, holding the release and nothing else of the data.

        Raises
        ------
        DataError
            A public input is missing or cannot be used, shapes do not go together, or the release
            would be noise; `geodp_release.plan.sample_size.subjects_needed` says what would do.
        """
        budget = PrivacyBudget(epsilon=self.epsilon, rho=self.rho, delta=self.delta)
        assumptions = self._assumptions()
        if self.ledger is None and getattr(self, "_is_copy", False):
            raise DataError(
                "ledger: this is the fit of a copy, as cross-validation and grid searches make "
                "many, and each would spend the budget again: give the path of a ledger that "
                "counts them (geodp ledger create PATH --allowed TOTAL)",
                argument="ledger",
            )
        whose = self._whose(subjects)
        validate_data(self, X, y, skip_check_array=True, ensure_2d=False)
        covariates = self._covariates(X, assumptions)
        points = self._points(assumptions, y)
        plan = planned(assumptions, budget)
        if plan.is_noise and not self.allow_noise:
            raise DataError(
                f"the release would be noise, with a predicted error of {plan.error:.3g}, and of "
                f"{plan.error_without_data:.3g} without data: it takes more subjects than "
                f"{assumptions.subjects}, or a larger budget; or give allow_noise=True",
                argument="allow_noise",
            )
        if self.ledger is not None:
            # What does not go together is refused before it spends.
            subject_records(assumptions, covariates, points, whose)
            Ledger.open(self.ledger).reserve(
                secrets.token_hex(16), budget.amount, type(self).__name__, unit=budget.unit
            )
        self.release_ = release_geodesic(plan, covariates, points, whose)
        self.plan_ = plan
        self._keep()
        return self

    def score(self, X, y):
        """Fraction of variance explained, 1 - sum d^2 / sum d_mean^2.

        The distances d are those of points to their predictions, and d_mean to the Frechet mean of
        the points.  It has no noise: a score of private data must not be published.

        Parameters
        ----------
        X : array or data frame, shape (m, k)
        y : array, as for `fit`

        Returns
        -------
        float
        """
        predicted, assumptions = self._at(X, self._release().predict), self.plan_.assumptions
        anywhere = np.tile(assumptions.middles, (len(predicted), 1))
        _, points = valid_records(assumptions, anywhere, self._points(assumptions, y))
        if len(points) < len(predicted) or not np.all(np.isfinite(predicted)):
            raise DataError("a score needs valid points and covariates: leave the others out")
        return variance_explained(assumptions.manifold, points, predicted)

    def _release(self):
        check_is_fitted(self, "release_")
        return self.release_

    def _at(self, X, function):
        """A function of covariates, NaN where they are."""
        assumptions = self._release().plan.assumptions
        if are_named(X, assumptions):
            table = columns_of(X, assumptions)
        else:
            table = validate_data(self, X, reset=False, dtype=float, ensure_all_finite="allow-nan")
            table = table[:, : assumptions.number_of_columns]
        there = ~np.any(np.isnan(table), axis=-1)
        found = function(table[there])
        values = np.full((len(table), *found.shape[1:]), np.nan, dtype=found.dtype)
        values[there] = found
        return values

    def _covariates(self, X, assumptions):
        self.n_features_in_ = assumptions.number_of_columns
        return columns_of(X, assumptions)

    def _refuse_missing(self, has_terms=False):
        """Refuse public inputs that are not given; terms may have all ranges."""
        key = "covariate_range"
        missing = [each for each in self._mandatory if getattr(self, each) is None]
        if has_terms:
            missing = [each for each in missing if each != key]
        elif not missing and len(self.covariate_range) == 0:
            raise DataError(
                f"{key} is empty: give a range; for a mean use geodp.release_geodesic, and for "
                "words a basis or a formula, which lists them",
                argument=key,
            )
        if missing:
            raise DataError(
                f"missing public inputs, {', '.join(missing)}: choose each without looking at the "
                "data, and give it to the estimator",
                argument=missing[0],
            )

    def _whose(self, subjects):
        # What an estimator is made with is printed and saved with it, so that it is no labels.
        is_one_each = isinstance(self.unit, str) and self.unit == ONE_EACH
        if not is_one_each and (self.unit is not None or subjects is None):
            raise DataError(
                "unit: it is not said whose each record is: give labels to fit, as subjects, or "
                f'unit="{ONE_EACH}"',
                argument="unit",
            )
        return ONE_EACH if subjects is None else subjects


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateGeodesicRegression(PrivateRegression):
    """Geodesic regression with covariates, released under differential privacy.

    Every `fit` is a release and spends the whole budget.  So does whatever fits copies, such as
    cross-validation or a grid search, which is refused without a ledger.  Noise has no seed.

    Public inputs are chosen without looking at the data; only radii have a default.  Steps before
    this one in a pipeline must not learn from the data either: a logarithm may come first, a
    scaling to unit variance may not.  A record that is no point of the manifold, or has no
    covariate, raises no error, which would tell of it: it has no influence.

    Parameters
    ----------
    epsilon : str
        Budget of pure differential privacy, as decimal text such as "1".  Give this, or rho.
    rho, delta : str
        Budget of zero-concentrated differential privacy, and the delta at which it is also stated.
    manifold, centre, ..., tails, loss, threshold
        The public inputs of `geodp.Assumptions`. The centre may also be in a layout of the
        manifold, or "anywhere".  By default the least-squares geodesic is released, and with the
        loss "huber" the robust one, which most records follow.
    basis : list or dict, optional
        Curves and groups: of each column one of `geodp.models.terms.basis_of`, such as
        ``{"spline": 4}`` or ``{"words": ["north", "south", "west"]}``; or such by the names of
        columns, and then ``covariate_range`` is by name, too, without columns of words.  A word
        that is not listed makes a record without influence.
    products : sequence of pairs of int
        Columns whose effects go together.
    formula : str, optional
        In place of both, such as ``"spline(age, 4) * sex"``, with ranges by name.  Terms that would
        learn from the data are refused.
    unit : {"one record each"}
        Says that no two records are of one subject.  Otherwise labels go to `fit`.
    allow_noise : bool
        Whether to release even if almost no information about the data would be left.
    ledger : str, optional
        Path of a ledger, which every fit spends from and which refuses those beyond its total.

    Attributes
    ----------
    release_ : Release
        What was released, with its guarantee.
    plan_ : ReleasePlan
        Stages and predicted errors, which are public.
    footpoint_ : ndarray, shape point_shape
        Prediction in the middle of the covariates' ranges.
    shooting_vectors_ : ndarray, shape (k, *point_shape)
        Tangent vectors there, each as long as the geodesic over its covariate's range.
    n_features_in_, feature_names_in_
        k, and names of the covariates (k,) if X is a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.manifolds.euclidean import Euclidean
    >>> public = {"manifold": Euclidean(7), "centre": np.zeros(7), "covariate_range": (0.0, 1.0)}
    >>> public |= {"footpoint_radius": 10.0, "shooting_vector_length": 10.0, "subjects": 1000}
    >>> public |= {"residual_scale": 1.0, "neighbours": "replace one subject"}
    >>> regression = PrivateGeodesicRegression(epsilon="1", unit="one record each", **public)
    >>> X = np.linspace(0.0, 1.0, 1000)[:, None]
    >>> regression.fit(X, X * np.ones(7)).predict([[0.0], [1.0]]).shape
    (2, 7)
    """

    formula: Any = None
    basis: Any = None
    products: Any = None
    manifold: Any = None
    centre: Any = None
    footpoint_radius: Any = None
    smallest_radius: Any = None
    shooting_vector_length: Any = None

    # Public inputs without a default.
    _mandatory = ("manifold", "centre", "covariate_range", "subjects", "neighbours")

    def predict(self, X):
        """Points of the released geodesic.

        Parameters
        ----------
        X : array or data frame, shape (m, k)

        Returns
        -------
        ndarray, shape (m, *point_shape)
            NaN where the covariate is.
        """
        return self._at(X, self._release().predict)

    def predict_band(self, X, level=LEVELS[-1], together=False):
        """Radius of the ball about each prediction that holds the true one.

        Parameters
        ----------
        X : array or data frame, shape (m, k)
        level : float
            Probability that it does, for each covariate by itself, if the assumptions are right.
        together : bool
            Or for all rows of X at once, such as many over the whole range.

        Returns
        -------
        ndarray, shape (m,)
            In the manifold's unit of length.
        """
        return self._at(X, lambda x: self._release().band(x, level, together))

    def _points(self, assumptions, y):
        return points_of(assumptions.manifold, y)

    def _keep(self):
        self.footpoint_ = self.release_.footpoint
        self.shooting_vectors_ = self.release_.shooting_vectors

    def _assumptions(self):
        # Words have no range, and columns of other terms that lack one are named below.
        self._refuse_missing(self.basis is not None or self.formula is not None)
        manifold, centre = self.manifold, self.centre
        if not isinstance(manifold, Manifold):
            raise DataError(
                f"manifold is {type(manifold).__name__!r}: give a manifold such as Sphere(2)",
                argument="manifold",
            )
        if isinstance(centre, str):
            centre = public_centre(manifold, centre)
        shape = np.shape(centre)
        if shape != manifold.point_shape and len(shape) == 1:
            centre = parse_point(manifold, centre, "centre")
        own = [each.name for each in fields(Assumptions) if hasattr(self, each.name)]
        given = {name: getattr(self, name) for name in own} | {"centre": centre}
        return Assumptions(**given | self._terms())

    def _terms(self):
        """Public inputs of columns: from a formula, or from a basis by names or one each."""
        names: Any = ()
        basis, products, ranges = self.basis, self.products, self.covariate_range
        if self.formula is not None:
            found = read_formula(self.formula)
            names, basis, products = found.names, found.bases, found.products
        elif isinstance(basis, dict) or (basis is None and isinstance(ranges, dict)):
            listed = [name for name in basis or {} if name not in (ranges or {})]
            names = (*(ranges or {}), *listed)
            basis = [(basis or {}).get(name, LINE) for name in names]
        if basis is None and not names:
            return {"basis": LINE, "products": products}
        found = Columns.of(names or range(len(basis)), basis, ranges, products)
        words = [found.terms.words(at) for at in range(len(found.ranges))]
        lists = {"covariate_spread": TWO_GROUPS, "transformation": NONE}
        return {
            "basis": found.terms.bases,
            "products": products,
            "names": tuple(map(str, names)),
            "covariate_range": tuple(map(tuple, found.ranges.tolist())),
            **{key: of_all(key, getattr(self, key), words, its) for key, its in lists.items()},
        }
