"""One private geodesic from records: drawn, and released with what is guaranteed of it.

What is released holds public inputs, the draw and its guarantee, and nothing else that was worked
out from the records.  Random numbers come from the operating system; there is no seed to give.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from geodp.errors import DataError
from geodp.mechanisms.budgets import parse_budget
from geodp.mechanisms.certified import Certified, PublicInputs, map_records
from geodp.mechanisms.certified_target import certified_target
from geodp.release.hypotheses import Guarantee, check_hypotheses
from geodp.samplers import matched, public_points
from geodp.samplers.base import run
from geodp.samplers.integer_choice import system_bits

SAMPLERS = ("finite_points", "matched")

# Steps of a chain, and the distance to the law that they are to reach; both public.  Of mass that
# pilot proposals would miss as often as once in twenty times they can say nothing, so that no
# smaller distance can be asked for.
STEPS = 4096
PILOT_PROPOSALS = 20000
LEAST_TOTAL_VARIATION = 3.0 / PILOT_PROPOSALS
TOTAL_VARIATION = 2e-4

# Digits of what is released, relative to the support, where it is no public point.
OUTPUT_BITS = 32


@dataclass(frozen=True)
class Release:
    """A private geodesic.

    Attributes
    ----------
    footpoint : ndarray, shape point_shape
        Where the geodesic is in the middle of the covariate's range.
    shooting_vector : ndarray, shape point_shape
        Tangent there; its length is that of the geodesic over the whole range.
    public : PublicInputs
    guarantee : Guarantee
    sampler : str
        How it was drawn, with public settings in words.
    """

    footpoint: np.ndarray
    shooting_vector: np.ndarray
    public: PublicInputs
    guarantee: Guarantee
    sampler: str

    def predict(self, covariates):
        """Points (m, *point_shape) of the geodesic at covariates (m,)."""
        low, high = self.public.covariate_range
        manifold = self.public.manifold
        x = (np.asarray(covariates, dtype=float) - 0.5 * (low + high)) / (high - low)
        return manifold.exp(self.footpoint, manifold.expand(x) * self.shooting_vector)


def release(
    public,
    covariates,
    points,
    epsilon,
    subjects=None,
    sampler="finite_points",
    stages=None,
    steps=STEPS,
    total_variation=TOTAL_VARIATION,
):
    """Draw one geodesic under differential privacy.

    Parameters
    ----------
    public : PublicInputs
    covariates : ndarray, shape (records,)
    points : ndarray, shape (records, *point_shape)
    epsilon : str
        The budget, as text, so that it is what it looks like.
    subjects : array, shape (records,), optional
        Whose each record is; see `map_records`.
    sampler : str, one of `SAMPLERS`
        ``finite_points`` draws exactly from the law on public points, and the guarantee is pure;
        ``matched`` draws about from the law, with an error that is estimated.
    stages : sequence of `public_points.Stage`, optional
        Of ``finite_points``, which needs them: those of `release_planner.plan_release`.  Their
        budgets add up to epsilon.
    steps : int
        Of ``matched``.
    total_variation : float
        Goal of ``matched``, public, and no smaller than what can be estimated.

    Returns
    -------
    Release

    Raises
    ------
    DataError
        Inputs that cannot be used; or the error of ``matched`` was not estimated to reach the
        goal.  The latter is an event that depends on the data and is not covered by the guarantee.
    """
    budget = parse_budget(epsilon, "epsilon")
    epsilon = Fraction(budget)
    law = Certified(public, map_records(public, covariates, points, subjects))
    if law.records.covariates.ndim != 2:
        raise DataError("a release is of one data set: give covariates as one row of numbers")
    if sampler == "finite_points":
        if not stages:
            raise DataError(
                "no stages are given: plan them with plan_release, from what is assumed of the "
                "records"
            )
        public_points.check_stages(stages)
        if sum(stage.epsilon for stage in stages) != epsilon:
            raise DataError("the budgets of the stages do not add up to epsilon: correct them")
        state = public_points.draw(law, stages, system_bits)[0]
        error, distance = "none", 0.0
        laws = [stage.law(law) for stage in stages]
        described = ", then ".join(stage.describe(public) for stage in stages)
    elif sampler == "matched":
        state = _by_chain(law, epsilon, steps, total_variation)
        error, distance, laws = "estimated", total_variation, [law]
        described = f"independence Metropolis, {steps} steps"
    else:
        raise DataError(f"sampler {sampler!r} is none of {', '.join(SAMPLERS)}: choose one")
    places = np.stack([state, public.support.origin])
    guarantee = Guarantee(
        budget, error, distance, check_hypotheses(laws, places, exact=error == "none")
    )
    if not guarantee.holds:
        raise DataError(f"nothing is released, since there is {guarantee.words()}")
    return Release(*law.space.parts(state), public, guarantee, described)


def _by_chain(law, epsilon, steps, total_variation):
    """The last state of a chain of fixed length, with few enough digits not to tell its path."""
    if not total_variation >= LEAST_TOTAL_VARIATION:
        raise DataError(
            f"a distance of {total_variation:g} to the law is less than can be estimated: give "
            f"{LEAST_TOTAL_VARIATION:g} or more"
        )
    rng = np.random.default_rng()
    target = certified_target(law, float(epsilon))
    plan = matched.fixed_plan(rng, target, PILOT_PROPOSALS, steps)
    if not plan.total_variation <= total_variation:
        raise DataError(
            f"{steps} steps were not estimated to come within {total_variation:g} of the law: give "
            "more steps, a wider goal, or other public inputs"
        )
    state = run(rng, plan.sampler, target, 1, steps)[0].position[0]
    return rounded(law.public.support, state)


def rounded(support, state):
    """A state from few digits: its coordinates about the origin, rounded towards zero."""
    space, origin = support.space, support.origin
    frame = space.frame(origin)
    place = space.coordinates(origin, space.log(origin, state), frame)
    step = np.ldexp(np.repeat(support.radii, space.base.dim), -OUTPUT_BITS)
    return space.exp(origin, space.vector(frame, step * np.trunc(place / step)))
