"""Release of one private geodesic, with its guarantee.

A release holds public inputs, the draw and its guarantee.  Nothing else in it depends on the
records.  Random bits come from the operating system, without a seed.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from geodp.errors import DataError
from geodp.mechanisms.budgets import parse_budget
from geodp.mechanisms.certified import CertifiedDistribution, PublicInputs, map_records
from geodp.release.hypotheses import ReleaseGuarantee, check_hypotheses
from geodp.samplers import public_points
from geodp.samplers.integer_choice import system_bits


@dataclass(frozen=True)
class Release:
    """A private geodesic and its guarantee.

    Attributes
    ----------
    footpoint : ndarray, shape point_shape
        Point of the geodesic in the middle of the covariate's range.
    shooting_vector : ndarray, shape point_shape
        Tangent vector at the footpoint, as long as the geodesic over the whole range.
    public : PublicInputs
    guarantee : ReleaseGuarantee
    sampler : str
        Description of the sampler and its public settings.
    """

    footpoint: np.ndarray
    shooting_vector: np.ndarray
    public: PublicInputs
    guarantee: ReleaseGuarantee
    sampler: str

    def predict(self, covariates):
        """Predictions (m, *point_shape): points of the geodesic at covariates (m,)."""
        low, high = self.public.covariate_range
        manifold = self.public.manifold
        x = (np.asarray(covariates, dtype=float) - 0.5 * (low + high)) / (high - low)
        return manifold.exp(self.footpoint, manifold.expand(x) * self.shooting_vector)


def release_geodesic(public, covariates, points, epsilon, stages, subjects=None):
    """Draw one geodesic under differential privacy.

    Parameters
    ----------
    public : PublicInputs
    covariates : ndarray, shape (n,)
    points : ndarray, shape (n, *point_shape)
    epsilon : str
        The budget as decimal text, which is exact.
    stages : sequence of `public_points.Stage`
        Those of `plan_release`; their budgets add up to epsilon.
    subjects : array, shape (n,), optional
        Labels of the subjects, of which each must have one record; see `map_records`.

    Returns
    -------
    Release

    Raises
    ------
    DataError
        Inputs that cannot be used, such as several records of a subject, or a hypothesis of the
        theorem that fails.
    """
    budget = parse_budget(epsilon, "epsilon")
    public_points.check_stages(stages)
    if sum(stage.epsilon for stage in stages) != Fraction(budget):
        raise DataError("the budgets of the stages do not add up to epsilon: correct them")
    certified = CertifiedDistribution(public, map_records(public, covariates, points, subjects))
    if certified.records.covariates.ndim != 1:
        raise DataError("a release is of one data set: give covariates as one row of numbers")
    state = public_points.draw(certified, stages, system_bits)[0]
    by_stage = [stage.rescaled(certified) for stage in stages]
    guarantee = ReleaseGuarantee(budget, check_hypotheses(by_stage, state))
    if not guarantee.holds:
        raise DataError(f"nothing is released, since there is {guarantee.words()}")
    described = ", then ".join(stage.describe(public) for stage in stages)
    footpoint, shooting_vector = certified.space.parts(state)
    return Release(footpoint, shooting_vector, public, guarantee, described)
