"""Errors of simulated releases and of the published mechanism about a known true geodesic."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from geodp.data.stand_in import simulate_outlines
from geodp.evaluation import from_the_middle, geodesic_errors
from geodp.manifolds.base import Manifold
from geodp.mechanisms.base import PublicSettings
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from geodp.samplers import matched
from geodp.samplers.integer_choice import generator_bits
from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import Assumptions
from geodp_release.draw import run_plan
from geodp_release.planning import plan_release
from geodp_release.simulation import CURVE, EVENLY
from geodp_release.subjects import ONE_EACH, subject_records
from reproduction.manifolds import study_manifold
from reproduction.measurements.rats import observed_rats

# Ages of the simulated outlines.
AGES = (50.0, 90.0)

# Simulated covariates are fractions of their range.
COVARIATE_RANGE = (0.0, 1.0)

# Records simulated at once.
BLOCK = 20000

# Of the true footpoint from the public centre, relative to the radius of the support.
DISPLACEMENT = 0.5

RELEASED, PUBLISHED = "release", "as published"
NOT_PRIVATE, WITHOUT_DATA = "no privacy", "without data"

# Whether the budget stated holds.
HOLDS = {
    RELEASED: "proved",
    PUBLISHED: "does not hold",
    NOT_PRIVATE: "no privacy",
    WITHOUT_DATA: "nothing of the data is in it",
}


@dataclass(frozen=True)
class Space:
    """A space, its true geodesic, and what is assumed.

    The true ``footpoint`` and ``shooting_vector`` are those at the middle of the covariate's range.
    """

    name: str
    manifold: Manifold
    footpoint: np.ndarray
    shooting_vector: np.ndarray
    centre: np.ndarray
    settings: dict

    @classmethod
    def of(cls, name, settings, seed, rats):
        """The space of a name; ``rats`` is the table of the rats' landmarks."""
        manifold = study_manifold(settings["manifold"])
        rng = random_stream(seed, "utility", name)
        p, v = _true_geodesic(rng, manifold, settings["data"], rats)
        away = DISPLACEMENT * settings["support"]["footpoint_radius"]
        centre = manifold.exp(p, away * manifold.random_direction(rng, p))
        return cls(name, manifold, p, v, centre, settings)

    def expected_without_privacy(self, number):
        """Expected squared error of the least-squares geodesic of n subjects, in flat space."""
        residual = self.settings["residual_scale"] * np.sqrt(self.manifold.dim)
        return float(residual**2 / number * np.array([1.0, 12.0]) @ CURVE)

    @property
    def expected_without_data(self):
        """Expected squared error, in flat space, of a geodesic uniform in the support."""
        dim, radii = self.manifold.dim, self.assumptions(1).support.radii
        return float(radii**2 * dim / (dim + 2.0) @ CURVE)

    def assumptions(self, number):
        """What a release of n subjects assumes."""
        return Assumptions(
            self.manifold,
            self.centre,
            **self.settings["support"],
            covariate_range=COVARIATE_RANGE,
            # What `simulate` does if it is not told otherwise.
            covariate_spread=EVENLY,
            residual_scale=self.settings["residual_scale"],
            subjects=number,
        )

    def simulate(self, rng, data_sets, number):
        """Covariates (data_sets, n), from 0 to 1, and points (data_sets, n, *point_shape)."""
        manifold = self.manifold
        covariates = np.empty((data_sets, number))
        points = np.empty((data_sets, number, *manifold.point_shape), dtype=manifold.dtype)
        step = max(1, BLOCK // data_sets)
        for start in range(0, number, step):
            block = slice(start, min(start + step, number))
            if self.settings["data"]["kind"] == "outlines":
                found = simulate_outlines(
                    rng, data_sets, block.stop - start, manifold.landmarks, AGES
                )
                covariates[:, block] = (found.ages - AGES[0]) / (AGES[1] - AGES[0])
                points[:, block] = manifold.from_landmarks(found.outlines)
                continue
            covariates[:, block] = np.linspace(*COVARIATE_RANGE, number)[block]
            x = manifold.expand(covariates[:, block] - 0.5)
            clean = manifold.exp(self.footpoint, x * self.shooting_vector)
            noise = self.settings["residual_scale"] * manifold.random_tangent(rng, clean)
            points[:, block] = manifold.exp(clean, noise)
        return covariates, points

    def errors(self, footpoints, shooting_vectors):
        """Squared errors of geodesics; see `geodesic_errors`."""
        truth = self.footpoint, self.shooting_vector
        return geodesic_errors(self.manifold, (footpoints, shooting_vectors), truth)


def _true_geodesic(rng, manifold, data, rats):
    if data["kind"] == "outlines":
        found = simulate_outlines(rng, 1, 1, manifold.landmarks, AGES)
        start, end = map(manifold.from_landmarks, (found.first_outline, found.last_outline))
        return from_the_middle(manifold, start, manifold.log(start, end))
    if data["kind"] == "rats":
        records = observed_rats(manifold, rats)
        found = GeodesicModel(manifold).fit(records.covariates, records.points)
        return from_the_middle(manifold, found.footpoint, found.shooting_vector)
    p = manifold.random_point(rng)
    return p, data["length"] * manifold.random_direction(rng, p)


@dataclass(frozen=True)
class Drawn:
    """Geodesics (data_sets, draws, *point_shape) in the middle of the covariate's range.

    ``total_variation`` is the estimated distance of the draws from their distribution, and
    ``cut_short`` whether that is more than was wanted.
    """

    footpoint: np.ndarray
    shooting_vector: np.ndarray
    sampler: str = ""
    total_variation: float = 0.0
    cut_short: bool = False


@dataclass(frozen=True)
class DataSets:
    """Covariates (data_sets, n) from 0 to 1 and points of a space, and fits without privacy."""

    space: Space
    covariates: np.ndarray
    points: np.ndarray

    @cached_property
    def fit(self):
        """Fitted geodesics from the start of the covariate's range."""
        return GeodesicModel(self.space.manifold).fit(self.covariates, self.points)

    @property
    def fitted(self):
        """Fitted geodesics from the middle of the covariate's range, as draws, one a data set."""
        parts = self.fit.footpoint, self.fit.shooting_vector
        middle = from_the_middle(self.space.manifold, *parts)
        return Drawn(*(np.expand_dims(part, 1) for part in middle))


def draw_releases(rng, planned, data, data_sets, draws):
    """Geodesics as a release draws them from the first data sets, with seeded random bits."""
    bits, found = generator_bits(rng), []
    for x, y in zip(data.covariates[:data_sets], data.points[:data_sets], strict=True):
        records = subject_records(planned.assumptions, x, y, ONE_EACH)
        shared: dict = {}
        found.append([run_plan(planned, records, bits, shared).state for _ in range(draws)])
    footpoints, shooting_vectors = np.moveaxis(np.array(found), 2, 0)
    kinds = ", ".join(type(stage).__name__ for stage in planned.stages)
    return Drawn(footpoints, shooting_vectors, kinds)


def draw_published(rng, data, budget, draws, chains):
    """Geodesics from the published densities by matched chains, half of the budget for each block.

    Their support is that of releases, as seen from the start of geodesics.
    """
    limits = [chains[key] for key in ("total_variation", "fewest_steps", "most_steps")]
    space, manifold = data.space, data.space.manifold
    allowed = space.settings["support"]
    reach = allowed["footpoint_radius"] + 0.5 * allowed["shooting_vector_length"]
    public = PublicSettings(
        data_radius=reach,
        centre=space.centre,
        footpoint_radius=reach,
        shooting_vector_length=allowed["shooting_vector_length"],
    )
    model = GeodesicModel(manifold)
    mechanism = KNGAsPublished.prepare(model, data.covariates, data.points, public, data.fit)
    # Other modes have next to no mass where records are many and residuals small.
    mechanism = replace(mechanism, searched=data.covariates.shape[-1] <= 100)
    drawn = mechanism.draw(
        rng,
        dict.fromkeys(model.blocks, str(0.5 * budget)),
        dict(zip(model.blocks, (draws, 1), strict=True)),
        lambda rng, target, draws: matched.plan(rng, target, chains["pilots"], *limits),
    )
    footpoints, shooting_vectors = (drawn.parameters[block] for block in model.blocks)
    reports = drawn.reports.values()
    axis = -manifold.point_ndim - 1
    return Drawn(
        *from_the_middle(manifold, footpoints, np.squeeze(shooting_vectors, axis=axis)),
        " and ".join(dict.fromkeys(each.drawn_by for each in reports)),
        sum(each.total_variation for each in reports),
        any(each.cut_short for each in reports),
    )


def as_many(chosen, number):
    """Number of data sets of size n that fit the record budget, clipped to [least, most]."""
    return int(np.clip(chosen["records"] // number, chosen["least"], chosen["most"]))


def measure(settings, space, number, rats):
    """Table of all budgets of ``config/utility.yaml`` on one space at one n."""
    chosen, seed = settings["utility"], settings["seed"]
    space = Space.of(space, settings["spaces"][space], seed, rats)
    chains = settings["chains"]
    chains = chains | {"pilots": as_many(chains["pilots"], number)}
    names = ("utility", space.name, f"n{number}")
    count = as_many(chosen["data_sets"], number)
    data = DataSets(space, *space.simulate(random_stream(seed, *names, "data"), count, number))
    # What does not depend on a budget.
    support = space.assumptions(number).support
    blind = support.draw(random_stream(seed, *names, WITHOUT_DATA), (1, 2000))
    rows = [
        _row(space, number, NOT_PRIVATE, data.fitted),
        _row(space, number, WITHOUT_DATA, Drawn(*support.parts(blind))),
    ]
    largest = number == max(chosen["n"]) and len(chosen["n"]) > 1
    for budget in chosen["shown"] if largest else chosen["budgets"]:
        stream = (*names, f"budget{budget:g}")
        rng = random_stream(seed, *stream, PUBLISHED)
        drawn = draw_published(rng, data, budget, chosen["draws"], chains)
        rows.append(_row(space, number, PUBLISHED, drawn, budget))
        wanted = chosen["releases"].get(space.name)
        if wanted and number in wanted["n"] and budget in wanted["budgets"]:
            planned = plan_release(space.assumptions(number), PrivacyBudget(str(budget)))
            rng = random_stream(seed, *stream, RELEASED)
            drawn = draw_releases(rng, planned, data, wanted["data_sets"], wanted["draws"])
            rows.append(_row(space, number, RELEASED, drawn, budget, planned))
    return (pd.DataFrame(rows),)


def _row(space, number, mechanism, drawn, budget=np.nan, planned=None):
    """One line of the table; releases have a plan."""
    squares = space.errors(drawn.footpoint, drawn.shooting_vector)
    # By data set: draws from one share its error.
    errors = {name: np.mean(values, axis=-1) for name, values in squares.items()}
    means = {name: float(np.sqrt(np.mean(values))) for name, values in errors.items()}
    single = np.sqrt(squares["curve"])
    relative = np.nan
    if len(single) > 1:
        spread = np.std(errors["curve"], ddof=1) / np.sqrt(len(single))
        relative = 0.5 * spread / np.mean(errors["curve"])
    blind = space.expected_without_data
    # More than a tenth of the squared error of a geodesic drawn uniformly from the support.
    is_noise = np.mean(errors["curve"]) > 0.1 * blind
    # Nothing predicts the published mechanism.
    expected = planned.error**2 if planned else np.nan
    if mechanism == NOT_PRIVATE:
        expected, is_noise = space.expected_without_privacy(number), False
    elif mechanism == WITHOUT_DATA:
        expected, is_noise = blind, True
    return {
        "space": space.name,
        "manifold": space.manifold.name,
        "dimension": space.manifold.dim,
        "mechanism": mechanism,
        "budget": budget,
        "budget_holds": HOLDS[mechanism],
        "n": number,
        "curve_error": means["curve"],
        "relative_standard_error": float(relative),
        "low": float(np.quantile(single, 0.1)),
        "high": float(np.quantile(single, 0.9)),
        "footpoint_error": means["footpoint"],
        "shooting_vector_error": means["shooting_vector"],
        "predicted": np.sqrt(expected),
        "stages": "; ".join(stage.describe() for stage in planned.stages) if planned else "",
        "is_noise": bool(is_noise),
        "data_sets": single.shape[0],
        "draws": single.shape[1],
        "sampler": drawn.sampler,
        "total_variation": drawn.total_variation,
        "cut_short": drawn.cut_short,
        **space.settings["support"],
        "centre_from_truth": DISPLACEMENT * space.settings["support"]["footpoint_radius"],
        "residual_scale": space.settings["residual_scale"],
    }
