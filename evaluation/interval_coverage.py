"""How often bands and intervals of releases hold the truth, beside aims; doubts, errors and tests.

Data are simulated, as a release assumes them or unlike that.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import fdtrc, fdtri, ncfdtrinc

import script
from geodp import Assumptions, GeodesicModel, PrivacyBudget, Release, plan_release
from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream
from geodp.samplers.integer_choice import generator_bits
from geodp_release.simulation import TWO_GROUPS

# Level of bands and intervals, and of tests for a trend.
LEVEL, SIZE = 0.9, 0.05
RADII_LEFT_OUT, SUPPORT = "radii left out", ("footpoint_radius", "shooting_vector_length")


@dataclass(frozen=True)
class Simulated:
    """How data are made; with no arguments as plans assume.

    ``covariates`` makes them from a generator and a shape, from 0 to 1, and ``residuals`` from a
    generator, standard normal ones (n, dim) and first covariates (n, 1) from -1/2 to 1/2.
    """

    covariates: Callable = np.random.Generator.random
    residuals: Callable = lambda rng, normal, x: normal
    away: float | None = None  # Of the footpoint from the centre, in radii; else uniform.
    scale: float | None = None  # Of residuals, in radii; else that of the space.
    elsewhere: float = 0.0  # Share of records about a point 1.8 radii from the footpoint.
    power: float | None = None  # Of the F test for a trend; else trends of uniform length.

    def draw(self, assumptions, scale, rng):
        """A true state (1 + k, *point_shape), covariates (n, k), and points (n, *point_shape)."""
        manifold, number = assumptions.manifold, assumptions.subjects
        radius, count = assumptions.footpoint_radius, assumptions.number_of_covariates
        scale = scale if self.scale is None else self.scale * radius
        lengths = rng.random(count) * assumptions.shooting_vector_length
        if self.power is not None:
            lengths = np.full(count, trend_with_power(self.power, scale, number, manifold.dim))
        away = radius * (rng.random() if self.away is None else self.away)
        p = _beside(manifold, rng, assumptions.centre, away)
        vectors = [length * manifold.random_direction(rng, p) for length in lengths]
        x = self.covariates(rng, (number, count))
        x = np.where(np.array(assumptions.spreads) == TWO_GROUPS, x > 0.5, x) - 0.5
        normal = rng.normal(size=(number, manifold.dim))
        # In directions that are the same along the geodesic.
        frame, residuals = manifold.frame(p), scale * self.residuals(rng, normal, x[:, :1])
        steps = manifold.combinations(vectors, x)
        starts = np.broadcast_to(p, steps.shape)
        residuals = manifold.transport(starts, steps, manifold.vector(frame, residuals))
        points = manifold.exp(manifold.exp(starts, steps), residuals)
        if others := int(self.elsewhere * number):
            place = np.broadcast_to(_beside(manifold, rng, p, 1.8 * radius), points[:others].shape)
            points[:others] = manifold.exp(place, scale * manifold.random_tangent(rng, place))
        return np.stack([p, *vectors]), x, points


def _beside(manifold, rng, point, distance):
    return manifold.exp(point, distance * manifold.random_direction(rng, point))


def _normal(mean, deviation):
    return lambda rng, shape: np.clip(rng.normal(mean, deviation, shape), 0.0, 1.0)


def _two_clumps(rng, shape):
    return _normal(np.where(rng.random(shape) < 0.5, 0.2, 0.8), 0.05)(rng, shape)


def _correlated(rng, shape):
    """Covariates of which each two have 0.64 of their variance in common."""
    normal = rng.normal(size=(shape[0], 1 + shape[1]))
    return np.clip(0.5 + 0.2 * (0.8 * normal[:, :1] + 0.6 * normal[:, 1:]), 0.0, 1.0)


def _heavy_tails(rng, normal, x):
    return normal / np.sqrt(rng.chisquare(3.0, (len(normal), 1)) / 3.0)


def _one_direction(rng, normal, x):
    sizes = np.append(5.0, np.ones(normal.shape[1] - 1))
    return normal * sizes / np.sqrt(np.mean(sizes**2))


# What is not as assumed, by its name in a cell.
UNLIKE = {
    "nothing": Simulated(),
    RADII_LEFT_OUT: Simulated(),
    "Beta(2, 5) covariates": Simulated(covariates=lambda rng, shape: rng.beta(2.0, 5.0, shape)),
    "covariates in two clumps": Simulated(covariates=_two_clumps),
    "correlated covariates": Simulated(covariates=_correlated),
    "covariates 0.3 +- 0.05": Simulated(covariates=_normal(0.3, 0.05)),
    "covariates 0.1 +- 0.03": Simulated(covariates=_normal(0.1, 0.03)),
    "t(3) residuals": Simulated(residuals=_heavy_tails),
    "residuals five times as large in one direction": Simulated(residuals=_one_direction),
    "residuals twice as large at one end": Simulated(residuals=lambda _, z, x: z * (x + 1.5) / 1.5),
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
    degrees = dim, dim * (number - 2)
    shift = ncfdtrinc(*degrees, 1.0 - power, fdtri(*degrees, 1.0 - SIZE)) if power > SIZE else 0.0
    return scale * np.sqrt(12.0 * shift / number)


def trend_p_value(manifold, covariates, points):
    """Of the F test, without privacy, of no trend on one covariate (n,), in the mean's tangents."""
    mean = GeodesicModel(manifold, 0).fit(None, points).footpoint
    y = manifold.coordinates(mean, manifold.log(np.broadcast_to(mean, points.shape), points))
    y, x = y - np.mean(y, axis=0), covariates - np.mean(covariates)
    explained = np.sum((x @ y) ** 2) / (x @ x)
    dim, left = y.shape[1], len(x) - 2
    return fdtrc(dim, dim * left, explained / (np.sum(y**2) - explained) * left)


def places_of(covariates, number=11):
    """Covariates (places, k) of the predictions: the first spread out, others at their ends."""
    if not covariates:
        return np.zeros((1, 0))
    places = np.where(np.arange(number)[:, None] % (2 + np.arange(covariates)) == 0, -0.5, 0.5)
    places[:, 0] = np.linspace(-0.5, 0.5, number)
    return places


def drawn(plan, covariates, points, rng):
    """A release of records, by seeded random bits."""
    [released] = script.releases(plan, covariates, points, generator_bits(rng))
    return Release.of(plan, released, guarantee=None)


def bands_hold(release, places, true):
    """Whether bands hold true predictions, by place; NaN where none is drawn."""
    radii = release.band(places, LEVEL)
    away = release.plan.assumptions.manifold.dist(release.predict(places), true)
    return np.where(np.isnan(radii), np.nan, away <= radii)


def found_in(measure, release, truth, x, points, knowing):
    """What a release comes to; ``knowing`` draws one from the same data that knows more."""
    manifold, places = release.plan.assumptions.manifold, places_of(x.shape[1])
    true = manifold.ends(truth[0], truth[1:], places)
    if measure == "bands":
        return bands_hold(release, places, true)
    if measure == "intervals":
        _, low, high, _ = release.coefficients(LEVEL)
        true = release.plan.assumptions.coefficients @ truth
        return np.where(np.isnan(low), np.nan, (low <= true) & (true <= high))
    if measure == "doubts":
        return len(release.doubts()) > 0
    if measure == "rejections":
        return release.p_values() <= SIZE
    if measure == "more rejections":
        without_privacy = trend_p_value(manifold, x[:, 0], points) <= SIZE
        return float(release.p_values()[0] <= SIZE) - without_privacy
    # Mean squared errors of predictions, also of the release or the fit beside it.
    model = GeodesicModel(manifold, x.shape[1])
    fits = release, knowing() if measure == "errors" else model.fit(x, points)
    return [np.mean(manifold.dist(fit.predict(places), true) ** 2) for fit in fits]


def share(found):
    """Share of what is true, without NaN, and its standard error over independent releases."""
    value = np.nanmean(found) if np.any(~np.isnan(found)) else np.nan
    number = max(np.sum(np.any(~np.isnan(found.reshape(len(found), -1)), axis=1)), 1)
    return value, np.sqrt(value * (1.0 - value) / number)


def come_to(measure, found, rng, resampled=400):
    """By its kind, what all releases come to, and its standard error; of ratios the bootstrap's."""
    if measure == "more rejections":
        return {"difference": (np.mean(found), np.std(found) / np.sqrt(len(found)))}
    if not measure.startswith("errors"):
        return {"share": share(found)}
    again, kinds = found[rng.integers(len(found), size=(resampled, len(found)))], {}
    for kind, average in (("root mean square", np.mean), ("median", np.median)):
        value, others = (np.sqrt(np.divide(*average(each, axis=-2).T)) for each in (found, again))
        kinds[kind] = value, np.std(others)
    return kinds


def measure(cell, space, aims, releases, work, seed):
    """Table of a cell, a row for each of its aims: what its releases come to, and the limits."""
    name, unlike, chosen = cell["space"], cell["unlike"], cell["aims"].split("; ")
    ratio, left_out = cell["true_over_assumed"], unlike == RADII_LEFT_OUT
    manifold, scale = make_manifold(*space["manifold"]), space["residual_scale"]
    spreads = tuple(space.get("covariate_spread", ["unknown"]))
    centre = manifold.random_point(random_stream(seed, "coverage", name, "centre"))
    public = *(space[key] for key in SUPPORT), ((-0.5, 0.5),) * len(spreads), space["n"]
    known = Assumptions(manifold, centre, *public, covariate_spread=spreads)
    planned = partial(plan_release, budget=PrivacyBudget(str(space["budget"])), work=work)
    told = dict.fromkeys(SUPPORT) if left_out else {}
    told |= {"residual_scale": scale / float(ratio) if ratio else None}
    plan, found = planned(replace(known, **told)), {aims[aim]["measure"]: [] for aim in chosen}
    # The release beside it has the radii that are left out, or else the residual scale.
    knows = replace(known, residual_scale=None if left_out else scale)
    knowing = planned(knows) if "errors" in found else None
    how = "nothing" if left_out else unlike, ratio or "None", f"{left_out}"
    rng = random_stream(seed, "coverage", name, *how)
    for _ in range(releases):
        data = UNLIKE[unlike].draw(known, scale, rng)
        release, again = drawn(plan, *data[1:], rng), partial(drawn, knowing, *data[1:], rng)
        for each, values in found.items():
            values.append(found_in(each, release, *data, again))
    about = {"space": name, "n": space["n"], "epsilon": space["budget"], "covariates": len(spreads)}
    about["not as assumed"] = f"residual scale {ratio} times the assumed" if ratio else unlike
    rows = []
    for aim in chosen:
        values = np.array(found[aims[aim]["measure"]], dtype=float)
        for kind, (value, error) in come_to(aims[aim]["measure"], values, rng).items():
            row = {"what": f"{aim}, {kind}", "value": value, "standard_error": error}
            rows.append(about | row | {"least": np.nan, "most": np.nan} | aims[aim])
    return pd.DataFrame(rows)


def judged(row):
    """A row's value, what it should be, and whether it is, in words; no value is not right."""
    value, least, most = row["value"], row["least"], row["most"]
    limits = [f"at least {least:g}"] * (least == least) + [f"at most {most:g}"] * (most == most)
    met = "**no**" if value != value or value < least or value > most else "yes"
    words = f"{value:.3f} ± {row['standard_error']:.3f}" if value == value else "none drawn"
    return {"value": words, "aim": ", ".join(limits), "met": met if limits else ""}


def summarise(table, mark="coverage"):
    """The table of the page, columns before ``value`` and what is judged; and the figure."""
    about = table.loc[:, :"what"].rename(columns={"what": "measure"})
    shown = about.join(pd.DataFrame(map(judged, table.to_dict("records"))))
    labels = about.fillna("").astype(str).agg(", ".join, axis=1).str.replace(", , ", ", ")
    columns = (table[name] for name in ("value", "standard_error", "least", "most"))
    axis = {"xlabel": "share, or ratio of errors", "title": "Releases, two standard errors"}
    return {mark: shown}, script.dots(labels, *columns, **axis)


if __name__ == "__main__":
    script.run(snakemake, measure, summarise)
