"""A linear regression with public bounds, and the methods that answer it privately.

A method takes a `Problem`, a `Budget` and a generator to lines: arrays of shape (1 + k, m), the
intercepts first.  Most tools make one line of one response a call; `each_response` gives each
response an equal share of the budget.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

PURE, APPROXIMATE, FALSE, NONE = "eps", "(eps, delta)", "stated but false", "not private"


@dataclass(frozen=True)
class Budget:
    """Privacy budget of one line; a pure method does not spend delta."""

    epsilon: float
    delta: float

    def share(self, parts):
        """The budget of one of several equal parts."""
        return Budget(self.epsilon / parts, self.delta / parts)


@dataclass(frozen=True)
class Problem:
    """Records of a regression, and what is public about any record."""

    covariates: np.ndarray  # (n, k), within ``low`` and ``high``, no longer than ``norm``.
    responses: np.ndarray  # (n, m), clipped to ``bound`` by whoever makes the problem.
    low: np.ndarray  # Public limits (k,) of each covariate.
    high: np.ndarray
    norm: float  # Public limit of the Euclidean norm of a record's covariates.
    bound: float  # Public limit of the absolute value of each response.
    has_intercept: bool  # Else lines pass through the origin.
    records: int  # Public: about how many there are, also when some are left out.

    @property
    def design(self):
        """Covariates with a leading column of ones, (n, k + 1), if there is an intercept."""
        if not self.has_intercept:
            return self.covariates
        return np.column_stack([np.ones(len(self.covariates)), self.covariates])

    @property
    def design_norm(self):
        """Public limit of the norm of a row of the design."""
        return float(np.hypot(self.norm, 1.0)) if self.has_intercept else self.norm

    def without(self, part):
        """The problem without some of its records."""
        return replace(
            self,
            covariates=np.delete(self.covariates, part, axis=0),
            responses=np.delete(self.responses, part, axis=0),
        )

    def line(self, coefficients):
        """A line from coefficients of the design, (columns of the design, m)."""
        given = np.asarray(coefficients, dtype=float).reshape(self.design.shape[1], -1)
        if self.has_intercept:
            return given
        return np.concatenate([np.zeros((1, given.shape[1])), given])


@dataclass(frozen=True)
class Method:
    """A way to fit a line: from a problem, a budget and a generator to a line (1 + k, m)."""

    title: str
    fit: Callable
    guarantee: str
    neighbours: str  # Data sets that the guarantee is about; empty without privacy.
    packages: tuple[str, ...] = ()  # That do the work, apart from NumPy.
    one_covariate: bool = False
    # Whether it takes a number of draws and settings, to lines (draws, 1 + k, m).
    draws_all: bool = False
    clipped: bool = True  # Whether responses are clipped to a public bound before it sees them.
    covariate: str = "from 0 to 1"  # Its scale, of methods without public limits.
    through_origin: str = ""  # The guarantee for lines through the origin, if that is another.

    def lines(self, problem, budget, rng, draws, settings=None):
        """Independent lines (draws, 1 + k, m); ``settings`` are of methods that draw all."""
        if self.draws_all:
            return self.fit(problem, budget, rng, draws, settings)
        return np.array([self.fit(problem, budget, rng) for _ in range(draws)])


def each_response(fit):
    """A method for several responses from one for one: each has an equal share of the budget."""

    def fitted(problem, budget, rng):
        number = problem.responses.shape[1]
        lines = [
            fit(replace(problem, responses=problem.responses[:, [j]]), budget.share(number), rng)
            for j in range(number)
        ]
        return np.concatenate(lines, axis=1)

    return fitted


def predictions(line, covariates):
    """Points (n, m) of a line at covariates (n, k)."""
    return line[0] + covariates @ line[1:]


def folds(rng, n, number):
    """Parts of n records, as equal as can be, by chance: arrays of indices."""
    return np.array_split(rng.permutation(n), number)
