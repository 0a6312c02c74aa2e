"""Private linear regression as an estimator of scikit-learn."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.euclidean import Euclidean
from geodp_release.ask.estimator import PrivateRegression, points_of
from geodp_release.plan.bands import LEVELS, Estimate
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.public_inputs import LOG, LONGEST, UNKNOWN


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearRegression(PrivateRegression):
    """Linear regression of one response or several, released under differential privacy.

    Every `fit` is a release and spends the whole budget, and what `PrivateGeodesicRegression` says
    of copies, ledgers, pipelines and records that are no numbers holds here.

    Parameters
    ----------
    epsilon, ..., ledger
        As of `PrivateGeodesicRegression`; a residual scale for all responses, or one each.
    response_range : (low, high) or "unknown", of one response; or a list with one for each
        Public range of mean responses: they are in it in the middle of the covariates' ranges, and
        change by no more than its width over the range of a covariate.  Each of several responses
        is released in units of its range, so that one noise suits all.  "unknown" allows for
        means within a million units of y from zero, and measures their scale privately.

    Attributes
    ----------
    coef_, intercept_ : ndarray, shapes (k,) and (); of a list of ranges (m, k) and (m,)
        Slopes for each unit of covariates, and the prediction where these are zero, which is often
        far from all subjects; of logarithms where that is the transformation.
    p_values_ : ndarray, shape (k,)
        Of the hypothesis that no response depends on a covariate; the first look takes seconds.
    r_squared_, residual_scale_ : Estimate
        Share of variance explained, and standard deviation of residuals, with intervals; of several
        responses (m,), as if all scattered alike in units of their ranges.
    release_, response_units_, plan_, n_features_in_, feature_names_in_
        As of `PrivateGeodesicRegression`; units (m,) of responses in the release.

    Examples
    --------
    >>> import numpy as np
    >>> public = {"covariate_range": (40.0, 80.0), "response_range": (90.0, 180.0)}
    >>> public |= {"subjects": 1000, "neighbours": "replace one subject"}
    >>> regression = PrivateLinearRegression(epsilon="1", unit="one record each", **public)
    >>> X = np.linspace(40.0, 80.0, 1000)[:, None]
    >>> y = 90.0 + 0.5 * X[:, 0] + np.random.default_rng().normal(0.0, 10.0, 1000)
    >>> regression.fit(X, y).coef_.shape, regression.intervals(level=0.95).shape
    ((1,), (2, 2))
    """

    response_range: Any = None

    # Public inputs without a default.
    _mandatory = ("covariate_range", "response_range", "subjects", "neighbours")

    def predict(self, X):
        """Predicted mean responses (n,); of a list of ranges (n, m); NaN where a covariate is."""
        return self._shaped(self._at(X, self._release().predict) * self.response_units_)

    def predict_interval(self, X, level=LEVELS[-1]):
        """Intervals of mean responses, low and high (n, 2), or (n, m, 2).

        NaN where covariates are, where there are no subjects, and if the release has doubts.
        """
        found = self._at(X, lambda x: self._limits(x, level)[: len(x)])
        there = self._at(X, self._release().has_subjects)
        found[~np.isin(there, 1.0)] = np.nan
        return self._shaped(found, axis=1)

    def intervals(self, level=LEVELS[-1]):
        """Intervals of intercept and coefficients, low and high (1 + k, 2), or (m, 1 + k, 2).

        NaN if the release has doubts.
        """
        return self._shaped(np.swapaxes(self._limits(self._zeros, level), 0, 1), axis=0)

    def score(self, X=None, y=None):
        """R^2 of given data, not private, as the other estimator's; of none that of `r_squared_`.

        A score of private data must not be published.  The other is private and costs nothing.
        """
        if X is not None or y is not None:
            return super().score(X, y)
        if self.r_squared_ is None:
            raise DataError("the release has no R^2, as by Huber's loss: give X and y")
        return self.r_squared_.value

    p_values_ = property(lambda self: self._release().p_values())
    r_squared_ = property(lambda self: self._release().r_squared())

    @property
    def residual_scale_(self):
        if (found := self._release().residual_scale()) is None:
            return None
        *each, level = found
        scaled = (self._shaped((value * self.response_units_).tolist()) for value in each)
        scaled = (np.array(value) if self._is_list else float(value) for value in scaled)
        return Estimate._make([*scaled, level])

    @property
    def _zeros(self):
        scales = self._release().plan.assumptions.transformations
        return np.array([[each == LOG for each in scales]], dtype=float)

    def _limits(self, covariates, level):
        _, low, high, _ = self._release().coefficients(level, covariates)
        return np.stack([low, high], axis=-1) * self.response_units_[:, None]

    def _shaped(self, values, axis=-1):
        """Values as they are, or of the one response where no list of ranges was given."""
        return values if self._is_list else np.take(values, 0, axis)

    @property
    def _is_list(self):
        """By what is public alone, since a record may decide which shape an array has."""
        given = self.response_range
        return isinstance(given, list | tuple | np.ndarray) and all(
            isinstance(each, str) or np.ndim(each) == 1 for each in given
        )

    def _keep(self):
        _, self.response_units_ = self._responses()
        state = [self.release_.footpoint, *self.release_.shooting_vectors]
        found = self.plan_.assumptions.coefficients_at(self._zeros) @ state
        found = (found * self.response_units_).T
        found = found if self._is_list else found[0]
        self.intercept_, self.coef_ = found[..., 0], found[..., 1:]

    def _points(self, assumptions, y):
        with np.errstate(all="ignore"):
            return points_of(assumptions.manifold, y) / self._responses()[1]

    def _responses(self):
        """Ranges (m, 2) of responses, NaN if unknown, and their units (m,) in a release."""
        given = self.response_range if self._is_list else [self.response_range]
        wide = [(-LONGEST, LONGEST) if f"{each}" == UNKNOWN else each for each in given]
        try:
            ranges = np.array(wide, dtype=float).reshape((-1, 2))
        except (TypeError, ValueError):
            ranges = np.zeros((1, 2))
        known = np.abs(ranges) < LONGEST
        if len(np.unique(known)) != 1 or not np.all(ranges[:, 0] < ranges[:, 1]):
            raise DataError(
                f"response_range: give (low, high), finite and the smaller first, or {UNKNOWN!r}, "
                "or a list with one for each response",
                argument="response_range",
            )
        ranges = np.where(known, ranges, np.nan)
        widths = np.nan_to_num(np.ptp(ranges, axis=1), nan=1.0)
        return ranges, widths if len(widths) > 1 else np.ones(1)

    def _assumptions(self):
        self._refuse_missing()
        ranges, units = self._responses()
        given: Any = {each.name: getattr(self, each.name, None) for each in fields(Assumptions)}
        given |= {"manifold": Euclidean(len(units)), "sources": {}}
        given["centre"] = np.nan_to_num(np.mean(ranges, axis=1) / units)
        # Half a range from the middle, and all of it over the range of a covariate.
        width = float(np.linalg.norm(np.ptp(ranges, axis=1) / units))
        if width > 0.0:
            given |= {"footpoint_radius": 0.5 * width, "shooting_vector_length": width}
        if self.residual_scale is not None:
            scales = np.ravel(self.residual_scale)
            if len(scales) not in (1, len(units)) or not np.all(scales > 0.0):
                raise DataError(
                    "residual_scale: give a positive number, or one for each response",
                    argument="residual_scale",
                )
            given["residual_scale"] = float(np.sqrt(np.mean((scales / units) ** 2)))
        return Assumptions(**given)
