"""Private mechanisms beside one another, each at its best by public assumptions."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pandas as pd

from geodp.evaluation import mean_squared_errors
from geodp.mechanisms.certified import BLOCKS, CertifiedDistribution
from geodp.mechanisms.certified_target import certified_target
from geodp.randomness import random_stream
from geodp.release.planner import Planner
from geodp.release.simulation import CURVE, EVEN
from geodp.release.stages import NoisyStep
from reproduction.measurements.comparison.by_stages import mean_target, slope_target, zoomed_target
from reproduction.measurements.utility.releases import (
    PUBLISHED,
    DataSets,
    Drawn,
    Space,
    chains_at,
    draw_certified,
    draw_from,
    draw_published,
)

# Names of the mechanisms with one stage, by their scores.
SCORES = {
    "combined": "combined score",
    "energy": "clipped energy alone",
    "gradient": "gradient alone, hull norm",
    "gradient_by_blocks": "gradient alone, by blocks",
}
ZOOM = "two-stage zoom"
MEAN_THEN_SLOPE = "private mean, then slope"
TANGENT_SUMS = "noisy sums of logarithms at the centre"
NOT_PRIVATE = "no privacy"

# Typical residuals by which the limit of logarithms is wider than the reach of the support.
BEYOND = 2.0

# Draws here are made by chains, of which no budget is proved.
PROVED = "proved of the distribution"

# Shares of the budget for a first stage that are tried.
SHARES = (0.2, 0.35, 0.5, 0.65, 0.8)

# Radius of a zoom, in root mean squared errors that are predicted of the first stage.
REACH = 3.0

# The length of the geodesic that is assumed where a mean is to be planned, relative to R_v.
ASSUMED_LENGTH = 0.5


@dataclass(frozen=True)
class PlannedStages:
    """Stages of a mechanism, from public assumptions.

    Attributes
    ----------
    budgets : tuple of float
        They add up to the budget of the mechanism.
    scales : tuple of Scales
    radius : float
        Of the second stage's ball, where it has one.
    curve : float
        Predicted squared error of the geodesic.
    """

    budgets: tuple
    scales: tuple
    radius: float
    curve: float


def plan_one(planner, number, budget, score):
    """One stage; see `Planner.predict`."""
    found = replace(planner, score_name=score).predict(number, budget)
    return PlannedStages((budget,), (found.scales,), np.nan, found.curve)


def plan_zoom(planner, number, budget):
    """The share of the first stage with the least error that is predicted.

    A first stage that is noise leads nowhere, which the prediction of the second does not know: so
    it gets the largest share, if all of them are.
    """
    firsts = {share: planner.predict(number, share * budget) for share in SHARES}
    shares = [share for share, first in firsts.items() if not first.is_noise] or SHARES[-1:]

    def one(share):
        first = firsts[share]
        radius = REACH * np.sqrt(first.footpoint + first.shooting_vector)
        narrow = Planner(
            planner.dim,
            min(radius, planner.footpoint_radius),
            min(radius, planner.shooting_vector_length),
            planner.residual_scale,
        )
        second = narrow.predict(number, (1.0 - share) * budget)
        budgets = share * budget, (1.0 - share) * budget
        return PlannedStages(budgets, (first.scales, second.scales), float(radius), second.curve)

    return min((one(share) for share in shares), key=lambda plan: plan.curve)


def plan_mean_then_slope(planner, number, budget):
    """The same for a mean and a slope.

    To the mean the geodesic is a part of the residuals, to the slope the error of the mean is.
    """
    dim, scale = planner.dim, planner.residual_scale
    length = ASSUMED_LENGTH * planner.shooting_vector_length

    def stage(block, squared_scale):
        return replace(planner, residual_scale=float(np.sqrt(squared_scale)), unknown=(block,))

    def one(share):
        first = stage(BLOCKS[0], scale**2 + length**2 / (12.0 * dim))
        first = first.predict(number, share * budget)
        second = stage(BLOCKS[1], scale**2 + first.footpoint / dim)
        second = second.predict(number, (1.0 - share) * budget)
        budgets = share * budget, (1.0 - share) * budget
        curve = first.curve + second.curve
        return PlannedStages(budgets, (first.scales, second.scales), np.nan, curve)

    return min((one(share) for share in SHARES), key=lambda plan: plan.curve)


def plan_tangent_sums(space, number, budget):
    """Sums of logarithms at the public centre, with noise for the support's reach and a margin."""
    planner = space.planner
    reach = planner.footpoint_radius + 0.5 * planner.shooting_vector_length
    clip = reach + BEYOND * planner.residual_scale * np.sqrt(planner.dim)
    step = NoisyStep(Fraction(str(budget)), clip=float(clip))
    variances = np.array(step.noise_variances(2, planner.dim)) / number**2
    # A coordinate of the sums of logarithms, and of their products with covariates.
    noise = planner.dim * variances * np.array([1.0, EVEN.moments[1] ** -2.0])
    typical = planner.residual_scale**2 * planner.dim / number
    estimate = typical * np.array([1.0, 1.0 / EVEN.moments[1]])
    return step, PlannedStages((budget,), (), step.clip, float((noise + estimate) @ CURVE))


def draw_tangent_sums(rng, data, step, draws):
    """Linear regression of logarithms in the tangent space at the public centre, by noisy sums.

    With covariates within half a unit of zero a record y contributes ``y / 2 + x y`` and
    ``y / 2 - x y``, whose lengths add up to that of y, as in a `NoisyStep`.
    """
    space, manifold = data.space, data.space.manifold
    centre, number = space.centre, data.covariates.shape[-1]
    frame = manifold.frame(centre)
    logarithms = manifold.coordinates(centre, manifold.log(centre, data.points), frame)
    lengths = np.linalg.norm(logarithms, axis=-1, keepdims=True)
    logarithms = logarithms * np.minimum(1.0, step.clip / np.maximum(lengths, 1e-300))
    x = (data.covariates - 0.5)[..., None]
    sums = np.stack([np.sum(logarithms, axis=1), np.sum(x * logarithms, axis=1)], axis=1)
    shape = (len(sums) * draws, 2, manifold.dim)
    noisy = np.repeat(sums, draws, axis=0) + step.simulated_noise(rng, shape, 2)
    first, second = np.moveaxis(noisy / number / np.array([[1.0], [EVEN.moments[1]]]), 1, 0)
    first, second = (
        manifold.vector(frame, _shortened(part, radius).reshape((len(sums), draws, -1)))
        for part, radius in zip((first, second), space.planner.radii, strict=True)
    )
    footpoints = manifold.exp(centre, first)
    return Drawn(footpoints, manifold.transport(centre, first, second), "noise of the K-norm")


def _shortened(vectors, radius):
    """Vectors (*batch, dim) no longer than a radius."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors * np.minimum(1.0, radius / np.maximum(lengths, 1e-300))


def _certified(data, scales, score="combined"):
    public = data.space.public(data.covariates.shape[-1], scales)
    return CertifiedDistribution(public, data.records, score)


def draw_zoom(rng, data, planned, draws, chains):
    """Draws from the certified distribution, and for each another one in a ball about it."""
    start = data.start
    distribution = _certified(data, planned.scales[0])
    target = certified_target(distribution, planned.budgets[0], start)
    first, first_plan = draw_from(rng, target, draws, chains)
    distribution = _certified(data, planned.scales[1])
    axis = -distribution.space.point_ndim - 1
    second, plans = [], [first_plan]
    for index in range(draws):
        around = np.take(first, index, axis=axis)
        target = zoomed_target(distribution, planned.budgets[1], around, planned.radius, start)
        states, second_plan = draw_from(rng, target, 1, chains)
        second.append(states)
        plans.append(second_plan)
    return _drawn(distribution.space.parts(np.concatenate(second, axis=axis)), plans)


def draw_mean_then_slope(rng, data, planned, draws, chains):
    """Draws of a footpoint, and at each one of a shooting vector."""
    distribution = _certified(data, planned.scales[0])
    first, first_plan = draw_from(rng, mean_target(distribution, planned.budgets[0]), draws, chains)
    distribution = _certified(data, planned.scales[1])
    target, frame = slope_target(distribution, first, planned.budgets[1])
    second, second_plan = draw_from(rng, target, 1, chains)
    vectors = data.space.manifold.vector(frame, second[..., 0, :])
    return _drawn((first, vectors), [first_plan, second_plan])


def _drawn(geodesics, plans):
    """Draws after several stages, whose distances from their distributions add up."""
    return Drawn(
        *geodesics,
        " and ".join(dict.fromkeys(plan.drawn_by for plan in plans)),
        plans[0].total_variation + max(plan.total_variation for plan in plans[1:]),
        any(plan.cut_short for plan in plans),
    )


def measure(settings, space, number, budget, rats):
    """Table of all mechanisms on one space at one n and budget, on the same data sets.

    Parameters
    ----------
    settings : dict
        Of ``config/utility.yaml``.
    space : str
    number : int
        n.
    budget : float
    rats : path
        Table of the rats' landmarks.
    """
    chosen, seed = settings["comparison"], settings["seed"]
    space = Space.of(space, settings["spaces"][space], seed, rats)
    chains = chains_at(settings, number)
    draws = chosen["draws"]
    names = ("comparison", space.name, f"n{number}")
    rng = random_stream(seed, *names, "data")
    data = DataSets.simulated(space, rng, chosen["data_sets"], number)
    rows = []

    def add(mechanism, holds, drawn, planned=None):
        def error(p, v):
            parameters = space.model.parameters(p, np.expand_dims(v, 2))
            centred = data.covariates - 0.5
            return mean_squared_errors(space.model, parameters, centred, data.points)[..., 0]

        def away(p, v):
            return space.errors(p, v)["curve"]

        rows.append(
            {
                "space": space.name,
                "dimension": space.manifold.dim,
                "n": number,
                "budget": budget,
                "mechanism": mechanism,
                "budget_holds": holds,
                **_logarithm(drawn.mean(error)),
                "curve_error": float(np.sqrt(np.mean(drawn.mean(away)))),
                **_described(planned),
                "data_sets": drawn.footpoint.shape[0],
                "draws": drawn.footpoint.shape[1],
                "effective_draws": drawn.effective_draws,
                "sampler": drawn.sampler,
                "total_variation": drawn.total_variation,
                "cut_short": drawn.cut_short,
            }
        )

    def stream(mechanism):
        return random_stream(seed, *names, f"budget{budget:g}", mechanism)

    add(NOT_PRIVATE, "no privacy", data.fitted)
    for score, mechanism in SCORES.items():
        planned = plan_one(space.planner, number, budget, score)
        distribution = _certified(data, planned.scales[0], score)
        drawn = draw_certified(stream(mechanism), distribution, budget, draws, chains, data.start)
        add(mechanism, PROVED, drawn, planned)
    planned = plan_zoom(space.planner, number, budget)
    drawn = draw_zoom(stream(ZOOM), data, planned, draws, chains)
    add(ZOOM, PROVED, drawn, planned)
    planned = plan_mean_then_slope(space.planner, number, budget)
    drawn = draw_mean_then_slope(stream(MEAN_THEN_SLOPE), data, planned, draws, chains)
    add(MEAN_THEN_SLOPE, PROVED, drawn, planned)
    step, planned = plan_tangent_sums(space, number, budget)
    drawn = draw_tangent_sums(stream(TANGENT_SUMS), data, step, draws)
    add(TANGENT_SUMS, PROVED, drawn, planned)
    drawn = draw_published(stream(PUBLISHED), data, budget, draws, chains)
    add(PUBLISHED, "does not hold", drawn)
    return (pd.DataFrame(rows),)


def _logarithm(errors):
    """Logarithm of a mean over data sets, and its standard error."""
    mean = np.mean(errors)
    spread = np.std(errors, ddof=1) / np.sqrt(len(errors))
    return {"log_mean_squared_error": float(np.log(mean)), "standard_error": float(spread / mean)}


def _described(planned):
    """A plan as columns; of several stages one after the other."""

    def joined(values):
        return " ".join(f"{value:.4g}" for value in values)

    if planned is None:
        return dict.fromkeys(
            ["budgets", "gradient_scale", "loss_scale", "loss_offset", "radius", "predicted"]
        )
    return {
        "budgets": joined(planned.budgets),
        **{
            name: joined(getattr(scales, name) for scales in planned.scales)
            for name in ("gradient_scale", "loss_scale", "loss_offset")
        },
        "radius": planned.radius,
        "predicted": float(np.sqrt(planned.curve)),
    }
