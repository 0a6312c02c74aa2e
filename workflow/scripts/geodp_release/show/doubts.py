"""Doubts about a release: signs that a public input should be another next time.

A criterion compares what was released with simulated releases, which are public, so that where all
is right it is met by chance alone.
"""

from dataclasses import replace

import numpy as np

from geodp_release.plan.agreeing import agreeing_releases, moments_stage, rests_on_spread
from geodp_release.plan.bands import with_looks
from geodp_release.run.contributions import LOSS_LATTICE
from geodp_release.stages import FarStage, TailStage
from geodp_release.stages.counts import share_beyond

# Words that come before each reason why bands are withheld.
WITHHELD = "No band is drawn:"


def doubts(release, simulated, typical, far, rare=0.01, certain=0.95, rarely_far=0.005):
    """Doubts about a `Release`, one sentence each, that say what to change next time.

    ``simulated`` releases that agree with it have lengths (n, 1 + k) that the parts of states
    reached, in units of the support's radii, ``typical`` root mean squared residuals (n,) and noisy
    numbers (n,) of records ``far`` away, or None.  A doubt about parts of a state is false with a
    probability that is ``rare``, and one about records far away with that of ``rarely_far``; a
    residual scale is off the planned range if that is so ``certain``.
    """
    assumptions = release.plan.assumptions
    rare /= 1 + simulated.shape[1]
    # Noise may lead out what is inside, but few of these.  A choice among points leads nowhere.
    edges = release.reached > np.maximum(np.quantile(simulated, 1.0 - rare, axis=0), 1.0)
    # A ball that is the whole space has no edge.
    edges[0] &= assumptions.footpoint_radius < assumptions.manifold.injectivity_radius
    found = []
    if edges[0]:
        found.append(
            "The footpoint lies at the edge of its ball: give another centre or a larger "
            "footpoint_radius next time."
        )
    for index in np.flatnonzero(edges[1:]):
        which = f" of covariate {index + 1}" if len(edges) > 2 else ""
        found.append(
            f"The shooting vector{which} is as long as it may be: give a larger "
            "shooting_vector_length next time."
        )
    if rests_on_spread(release.plan) and moments_stage(release.plan, release.moments):
        found.append(
            "The covariate is not spread evenly over its range: leave covariate_spread at unknown, "
            "which measures it, next time."
        )
    if release.lengths:
        # Where no scale is assumed, which is what a support is for.
        plan = replace(release.plan, assumptions=replace(assumptions, residual_scale=None))
        planned = plan.assumptions.typical_length(1024)
        # Early lengths may have been too short for the last one to be believed.
        is_longest = release.lengths[-1] > 2.0 * np.max(planned)
        for is_off, how, radius in (
            ((typical > np.max(planned)) | is_longest, "longer", "another centre or a larger"),
            (typical < np.min(planned), "shorter", "a smaller"),
        ):
            if np.mean(is_off) <= certain:
                continue
            # A look of a small budget may itself err as far.
            if how == "longer" and rare < np.mean(
                agreeing_releases(plan)[0].length >= release.lengths[-1]
            ):
                continue
            which = "smallest" if how == "shorter" and assumptions.wider > 1.0 else "footpoint"
            found.append(
                f"Residuals are {how} than the plan is for: give {radius} {which}_radius next time."
            )
    # A last length that is far too short, which is rare, leaves most records far from it.  Huber's
    # loss is for data with some.
    most = (0.4 if assumptions.is_robust else 0.1) * release.number
    if far is not None and release.far > max(most, np.quantile(far, 1.0 - rarely_far)):
        found.append(
            "Many records lie far from the geodesic that most lie near: look for groups of "
            "subjects that need separate releases, or give a larger footpoint_radius next time."
        )
    if long_tails(release):
        found.append(
            "More residuals are very long than an exponential distribution has: give tails: any "
            "next time, so that the last step clips none of them."
        )
    return found


def long_tails(release, rare=0.005):
    """Whether more contributions are as long as noisy counts say than the statement allows.

    Where it holds with a probability that is ``rare``.
    """
    stage, _, share = next(with_looks(release.plan, TailStage), (None, 0, 0.0))
    if stage is None:
        return False
    assumptions = release.plan.assumptions
    found, _ = release.agreeing
    ratios = stage.limit * 2.0 ** np.arange(len(release.tails))
    lengths = found.covariates.lengths(found.coordinates)[..., None]
    weights = found.covariates.by_release[0][..., None]
    beyond = np.sum(weights * share_beyond(share, ratios / lengths, found.dim), axis=0)
    # Of the doublings beyond each, and what chance adds in the sample.
    allowed = release.number * np.max(beyond, axis=0)
    allowed += 3.0 * np.sqrt(allowed) + stage.limits(assumptions, rare)
    return bool(np.any(np.array(release.tails) > allowed))


def share_of_noise(plan, number, tail):
    """What noise of the share far away of a number exceeds with the probability of a ``tail``."""
    [stage] = (stage for stage in plan.stages if isinstance(stage, FarStage))
    noise = stage.noise().draw(np.random.default_rng(0), (4096, 1, 1)) / LOSS_LATTICE
    return float(np.quantile(noise, 1.0 - tail)) / number
