"""How often bands and intervals of releases hold the truth, beside aims; doubts, errors and tests.

Data are simulated, as a release assumes them or unlike that.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import fdtrc, fdtri, ncfdtrinc

import script
from geodp.manifolds.registry import make_manifold
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from geodp.samplers.integer_choice import generator_bits
from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import Assumptions
from geodp_release.draw import run_plan
from geodp_release.planning import plan_release
from geodp_release.release import Release
from geodp_release.simulation import TWO_GROUPS
from geodp_release.subjects import ONE_EACH, subject_records

SUPPORT = ("footpoint_radius", "shooting_vector_length")

# Level of tests for a trend.
SIZE = 0.05


@dataclass(frozen=True)
class Simulated:
    """How data are made; with no arguments as plans assume."""

    # From a generator and a shape to covariates from 0 to 1; those in two groups are at the ends.
    covariates: Callable = np.random.Generator.random
    # From a generator, standard normal residuals (n, dim) and first covariates (n, 1) from -1/2 to
    # 1/2 to residuals.
    residuals: Callable = lambda rng, normal, x: normal
    # Distance of the true footpoint from the centre in radii of the support; uniform within it
    # unless given.
    away: float | None = None
    # Standard deviation of a residual in those radii; that of the space unless given.
    scale: float | None = None
    # Share of records about a point that is 1.8 radii from the footpoint, whatever the covariate.
    elsewhere: float = 0.0
    # Of the test without privacy at the true shooting vectors, which are zero at the size of the
    # test; of uniform length within the support unless given.
    power: float | None = None

    def draw(self, assumptions, scale, rng):
        """A true state (1 + k, *point_shape), covariates (n, k), and points (n, *point_shape)."""
        manifold, number = assumptions.manifold, assumptions.subjects
        radius, count = assumptions.footpoint_radius, assumptions.number_of_covariates
        scale = scale if self.scale is None else self.scale * radius
        lengths: Any = rng.random(count) * assumptions.shooting_vector_length
        if self.power is not None:
            lengths = np.full(count, trend_with_power(self.power, scale, number, manifold.dim))
        away = radius * (rng.random() if self.away is None else self.away)
        p = _beside(manifold, rng, assumptions.centre, away)
        vectors = [length * manifold.random_direction(rng, p) for length in lengths]
        x = self.covariates(rng, (number, count))
        x = np.where(np.array(assumptions.spreads) == TWO_GROUPS, x > 0.5, x) - 0.5
        first = x[:, :1] if count else np.zeros((number, 1))
        residuals = scale * self.residuals(rng, rng.normal(size=(number, manifold.dim)), first)
        # In directions that are the same along the geodesic.
        residuals = manifold.vector(manifold.frame(p), residuals)
        starts = np.broadcast_to(p, residuals.shape)
        steps = np.broadcast_to(manifold.combinations(vectors, x), residuals.shape)
        residuals = manifold.transport(starts, steps, residuals)
        points = manifold.exp(manifold.exp(starts, steps), residuals)
        if others := int(self.elsewhere * number):
            place = np.broadcast_to(_beside(manifold, rng, p, 1.8 * radius), points[:others].shape)
            points[:others] = manifold.exp(place, scale * manifold.random_tangent(rng, place))
        return np.stack([p, *vectors]), x, points


def _beside(manifold, rng, point, distance):
    return manifold.exp(point, distance * manifold.random_direction(rng, point))


def _normal(mean, deviation):
    """Covariates with a mean and a standard deviation, clipped to the range."""
    return lambda rng, shape: np.clip(rng.normal(mean, deviation, shape), 0.0, 1.0)


def _one_direction(rng, normal, x, ratio=5.0):
    sizes = np.ones(normal.shape[-1])
    sizes[0] = ratio
    return normal * sizes / np.sqrt(np.mean(sizes**2))


def _two_clumps(rng, shape):
    middles = np.where(rng.random(shape) < 0.5, 0.2, 0.8)
    return np.clip(rng.normal(middles, 0.05), 0.0, 1.0)


def _correlated(rng, shape, share=0.64):
    """Covariates of which each two have the ``share`` of their variance in common."""
    normal = rng.normal(size=(shape[0], 1 + shape[1]))
    normal = np.sqrt(share) * normal[:, :1] + np.sqrt(1.0 - share) * normal[:, 1:]
    return np.clip(0.5 + 0.2 * normal, 0.0, 1.0)


# What is not as assumed, by its name in the configuration.
UNLIKE = {
    "nothing": Simulated(),
    "Beta(2, 5) covariates": Simulated(covariates=lambda rng, shape: rng.beta(2.0, 5.0, shape)),
    "covariates in two clumps": Simulated(covariates=_two_clumps),
    "correlated covariates": Simulated(covariates=_correlated),
    "covariates 0.3 +- 0.05": Simulated(covariates=_normal(0.3, 0.05)),
    "covariates 0.1 +- 0.03": Simulated(covariates=_normal(0.1, 0.03)),
    "t(3) residuals": Simulated(
        residuals=lambda rng, normal, x: (
            normal / np.sqrt(rng.chisquare(3.0, (len(normal), 1)) / 3.0)
        )
    ),
    "residuals five times as large in one direction": Simulated(residuals=_one_direction),
    "residuals twice as large at one end": Simulated(
        residuals=lambda rng, normal, x: normal * (x + 1.5) / 1.5
    ),
    "footpoint at 1.2 radii": Simulated(away=1.2),
    "footpoint at 1.5 radii": Simulated(away=1.5),
    "residuals of four radii": Simulated(scale=4.0),
    "residuals of 1e-5 radii": Simulated(scale=1e-5),
    "a fifth of the records elsewhere": Simulated(elsewhere=0.2),
    "no trend": Simulated(power=SIZE),
    "a weak trend": Simulated(power=0.8),
}


def trend_with_power(power, scale, number, dim):
    """Length of a shooting vector at which `trend_p_value` has a power, for even covariates."""
    if power <= SIZE:
        return 0.0
    degrees = dim, dim * (number - 2)
    shift = ncfdtrinc(*degrees, 1.0 - power, fdtri(*degrees, 1.0 - SIZE))
    return scale * np.sqrt(12.0 * shift / number)


def trend_p_value(manifold, covariates, points):
    """Of the F test, without privacy, of no trend on one covariate (n,), in the mean's tangents."""
    mean = GeodesicModel(manifold, 0).fit(None, points).footpoint
    logs = manifold.log(np.broadcast_to(mean, points.shape), points)
    y = manifold.coordinates(mean, logs, manifold.frame(mean))
    y, x = y - np.mean(y, axis=0), covariates - np.mean(covariates)
    explained = np.sum((x @ y) ** 2) / (x @ x)
    residual = np.sum(y**2) - explained
    dim, left = y.shape[1], len(x) - 2
    return fdtrc(dim, dim * left, explained / residual * left)


COVARIATE_RANGE = (-0.5, 0.5)

# Of bands.
LEVEL = 0.9

# Samples of releases, with replacement, that tell the standard error of a ratio of errors.
RESAMPLED = 400


def assumed(space, name, seed):
    """Public assumptions of the releases on a space, without a residual scale."""
    manifold = make_manifold(space["manifold"], space["size"])
    spreads = tuple(space.get("covariate_spread", ["unknown"]))
    return Assumptions(
        manifold,
        manifold.random_point(random_stream(seed, "coverage", name, "centre")),
        footpoint_radius=space["footpoint_radius"],
        shooting_vector_length=(space["shooting_vector_length"],) * len(spreads),
        covariate_range=(COVARIATE_RANGE,) * len(spreads),
        covariate_spread=spreads,
        subjects=space["n"],
    )


def places_of(covariates, number=11):
    """Covariates (places, k) of the predictions: the first spread out, others at their ends."""
    if not covariates:
        return np.zeros((1, 0))
    places = np.where(np.arange(number)[:, None] % (2 + np.arange(covariates)) == 0, -0.5, 0.5)
    places[:, 0] = np.linspace(*COVARIATE_RANGE, number)
    return places


def drawn(plan, covariates, points, rng):
    """A release of records, by seeded random bits."""
    records = subject_records(plan.assumptions, covariates, points, ONE_EACH)
    return Release.of(plan, run_plan(plan, records, generator_bits(rng)), guarantee=None)


def bands_hold(release, places, true):
    """Whether bands hold true predictions, by place; NaN where none is drawn."""
    radii = release.band(places, LEVEL)
    away = release.plan.assumptions.manifold.dist(release.predict(places), true)
    return np.where(np.isnan(radii), np.nan, away <= radii)


def beside(value, limits):
    """The limits, and whether a value is neither below nor above; a missing one says neither."""
    least, most = (limits.get(key, np.nan) for key in ("least", "most"))
    is_met = not (np.isnan(value) or value < least or value > most)
    return {"least": least, "most": most, "is_met": is_met}


def _true(manifold, truth):
    """Places of predictions, and the true ones there."""
    places = places_of(len(truth) - 1)
    return places, manifold.ends(truth[0], truth[1:], places)


def _squares(truth, manifold, *fits):
    """Mean squared errors of predictions."""
    places, true = _true(manifold, truth)
    return [np.mean(manifold.dist(fit.predict(places), true) ** 2) for fit in fits]


# What is measured of a release, the data with their truth, and a release that knows more.


def _errors(release, truth, x, points, knowing):
    """Mean squared errors (2,) of predictions, also of the release that knows more."""
    return _squares(truth, release.plan.assumptions.manifold, release, knowing())


def _errors_without_privacy(release, truth, x, points, knowing):
    """Mean squared errors (2,) of predictions, also of the geodesic of least squares."""
    manifold = release.plan.assumptions.manifold
    return _squares(truth, manifold, release, GeodesicModel(manifold, x.shape[1]).fit(x, points))


def _bands(release, truth, x, points, knowing):
    """Whether bands hold, by place; NaN where none is drawn."""
    return bands_hold(release, *_true(release.plan.assumptions.manifold, truth))


def _intervals(release, truth, x, points, knowing):
    """Whether intervals hold coefficients of a plane; NaN where none is given."""
    true = release.plan.assumptions.coefficients @ truth
    _, low, high, _ = release.coefficients(LEVEL)
    return np.where(np.isnan(low), np.nan, (low <= true) & (true <= high))


def _more_rejections(release, truth, x, points, knowing):
    """Whether the private test finds a trend, less whether the F test does."""
    manifold = release.plan.assumptions.manifold
    without_privacy = trend_p_value(manifold, x[:, 0], points) <= SIZE
    return float(release.p_values()[0] <= SIZE) - without_privacy


# What all releases come to: by what it is, a value and its standard error.


def share(found):
    """Share of what is true, without NaN; the error is that of independent releases."""
    value = np.nanmean(found) if np.any(~np.isnan(found)) else np.nan
    rows = np.reshape(found, (len(found), -1))
    number = max(np.sum(np.any(~np.isnan(rows), axis=1)), 1)
    return value, np.sqrt(value * (1.0 - value) / number)


def _share(found, rng):
    return {"share": share(found)}


def _mean(found, rng):
    return {"difference": (np.mean(found), np.std(found) / np.sqrt(len(found)))}


def _ratios(found, rng):
    again = found[rng.integers(len(found), size=(RESAMPLED, len(found)))]
    averages = {"root mean square": np.mean, "median": np.median}
    return {
        name: (_ratio(average, found), np.std(_ratio(average, again)))
        for name, average in averages.items()
    }


def _ratio(average, squares):
    first, second = np.moveaxis(average(squares, axis=-2), -1, 0)
    return np.sqrt(first / second)


MEASURES = {
    "errors": (_errors, _ratios),
    "errors over least squares": (_errors_without_privacy, _ratios),
    "bands": (_bands, _share),
    "intervals": (_intervals, _share),
    "doubts": (lambda release, *_: len(release.doubts()) > 0, _share),
    "rejections": (lambda release, *_: release.p_values() <= SIZE, _share),
    "more rejections": (_more_rejections, _mean),
}


def measure(cell, space, aims, releases, work, seed):
    """Table of a cell, a row for each of its aims: what its releases come to, and the limits."""
    cell = {"unlike": "nothing", "true_over_assumed": None, "radii_left_out": False} | cell
    names = [f"{cell[key]}" for key in ("space", "unlike", "true_over_assumed", "radii_left_out")]
    scale, ratio = space["residual_scale"], cell["true_over_assumed"]
    found: dict = {aim["measure"]: [] for aim in aims.values()}
    assumptions = assumed(space, cell["space"], seed)

    def planned(scale, **known):
        known = replace(assumptions, residual_scale=scale, **known)
        return plan_release(known, PrivacyBudget(str(space["budget"])), work=work)

    left_out = SUPPORT if cell["radii_left_out"] else ()
    plan = planned(None if ratio is None else scale / ratio, **dict.fromkeys(left_out))
    knowing = planned(None if left_out else scale) if "errors" in found else None
    rng = random_stream(seed, "coverage", *names)
    for _ in range(releases):
        data = UNLIKE[cell["unlike"]].draw(assumptions, scale, rng)
        release = drawn(plan, *data[1:], rng)
        for name, each in found.items():
            each.append(MEASURES[name][0](release, *data, partial(drawn, knowing, *data[1:], rng)))
    about = {
        "space": cell["space"],
        "n": space["n"],
        "budget": space["budget"],
        "number_of_covariates": assumptions.number_of_covariates,
        "unlike": cell["unlike"],
        "true_over_assumed": np.nan if ratio is None else ratio,
        "radii_left_out": cell["radii_left_out"],
    }
    rows = []
    for name, aim in aims.items():
        each = np.array(found[aim["measure"]], dtype=float)
        for kind, (value, error) in MEASURES[aim["measure"]][1](each, rng).items():
            row = {"aim": name, "kind": kind, "value": value, "standard_error": error}
            row |= {"drawn": np.mean(~np.isnan(each)), **beside(value, aim), "releases": releases}
            rows.append(about | row)
    return pd.DataFrame(rows)


def limits(row):
    """The least and the most that a value should be, in words."""
    words = (("at least", row.least), ("at most", row.most))
    return ", ".join(f"{word} {limit:g}" for word, limit in words if limit == limit)


def _not_as_assumed(row):
    ratio = row.true_over_assumed
    words = [
        f"residual scale {ratio:g} times the assumed" if ratio == ratio else "",
        "" if row.unlike == "nothing" else row.unlike,
        "radii left out" if row.radii_left_out else "",
    ]
    return ", ".join(filter(None, words)) or "nothing"


def summarise(table):
    """The table of the page, and the figure."""
    shown = pd.DataFrame(
        {
            "space": row.space,
            "n": f"{row.n:,}",
            "epsilon": f"{row.budget:g}",
            "covariates": row.number_of_covariates,
            "not as assumed": _not_as_assumed(row),
            "measure": f"{row.aim}, {row.kind}",
            "value": f"{row.value:.3f} ± {row.standard_error:.3f}",
            "aim": limits(row),
            "met": "yes" if row.is_met else "**no**",
        }
        for row in table.itertuples()
    )
    return {"coverage": shown}, draw(table, shown)


def draw(table, shown):
    """Values of all aims, with two standard errors and limits: shares, and ratios of errors."""
    is_ratio = table["kind"].isin(("root mean square", "median"))
    parts = {"share": table[~is_ratio], "ratio of errors": table[is_ratio]}
    parts = {label: part for label, part in parts.items() if len(part)}
    size = {"width": 4.5 * len(parts), "height": 1.0 + 0.17 * max(map(len, parts.values()))}
    figure, [panels] = script.new_figure(1, len(parts), **size)
    for panel, (label, part) in zip(panels, parts.items(), strict=True):
        places = np.arange(len(part))[::-1]
        value, error, is_met = part[["value", "standard_error", "is_met"]].to_numpy().T
        for met, face in ((True, script.CURVES[0]["color"]), (False, "white")):
            some = is_met == met
            panel.errorbar(
                value[some].astype(float),
                places[some],
                xerr=2.0 * error[some].astype(float),
                fmt="o",
                markersize=4,
                color=script.CURVES[0]["color"],
                markerfacecolor=face,
                label="aim met" if met else "aim missed",
            )
        for limit, mark in (("least", ">"), ("most", "<")):
            look = {"color": script.CURVES[1]["color"], "linestyle": "", "marker": mark}
            panel.plot(
                part[limit].to_numpy(), places, **look, markersize=5, label=f"aim: at {limit}"
            )
        rows = shown.loc[part.index, ["space", "not as assumed", "measure"]]
        words = (
            rows["space"]
            + ", "
            + rows["measure"].str.partition(",")[0]
            + ": "
            + rows["not as assumed"]
        )
        panel.set_yticks(places, words.str.replace(": nothing", ""), fontsize=6)
        panel.set_xlabel(f"{label}, with two standard errors")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8)
    return figure


if __name__ == "__main__":
    script.run(snakemake, measure, summarise)
