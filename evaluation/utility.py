"""Errors of simulated releases and of the published mechanism about a known true geodesic.

Data scatter about the geodesic.  The public centre is half a footpoint radius away from it, so that
nobody seems to have known it, and stages are planned from public assumptions alone.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

import script
from geodp.data.stand_in import simulate_outlines
from geodp.data.tables import landmark_columns, read_table
from geodp.evaluation import from_the_middle, geodesic_errors
from geodp.manifolds.landmark_maps import fourier_harmonics
from geodp.manifolds.registry import make_manifold
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

AGES = (50.0, 90.0)  # Of the simulated outlines.
BLOCK = 20000  # Records simulated at once.

RELEASED, PUBLISHED = "release", "as published"
NOT_PRIVATE, WITHOUT_DATA = "no privacy", "without data"
BESIDE = (PUBLISHED, NOT_PRIVATE, WITHOUT_DATA)

# Of chains of the published mechanism: pilots that evaluate so many records, at least and at most
# so many; total variation distance wanted; fewest and most steps.
PILOTS, CHAINS = (100000, 24, 64), (0.01, 4, 500)


@dataclass(frozen=True)
class Space:
    """A space, its true geodesic from the middle of the covariate's range, and what is public."""

    name: str
    given: tuple  # See evaluation/Snakefile.
    seed: int
    rats: str  # Path of the rats' landmarks.

    @cached_property
    def manifold(self):
        name, size, *_ = self.given
        harmonics = fourier_harmonics(size, 4) if self.data.get("of") == "outlines" else None
        return make_manifold(name, size, *([] if harmonics is None else [harmonics]))

    @property
    def data(self):
        return self.given[5]

    @cached_property
    def truth(self):
        """True footpoint and shooting vector, and the public centre."""
        rng, manifold = random_stream(self.seed, "utility", self.name), self.manifold
        if self.data.get("of") == "outlines":
            found = simulate_outlines(rng, 1, 1, manifold.landmarks, AGES)
            start, end = map(manifold.from_landmarks, (found.first_outline, found.last_outline))
            p, v = from_the_middle(manifold, start, manifold.log(start, end))
        elif self.data.get("of") == "rats":
            columns, how = landmark_columns(manifold.landmarks), {"transformation": "log"}
            records = read_table(self.rats, manifold, "age_days", columns, subject="rat", **how)
            found = GeodesicModel(manifold).fit(records.covariates, records.points)
            p, v = from_the_middle(manifold, found.footpoint, found.shooting_vector)
        else:
            p = manifold.random_point(rng)
            v = self.data["length"] * manifold.random_direction(rng, p)
        away = 0.5 * self.given[2]
        return p, v, manifold.exp(p, away * manifold.random_direction(rng, p))

    def assumptions(self, number):
        """What a release of n subjects assumes."""
        _, _, radius, length, scale, *_ = self.given
        support = {"footpoint_radius": radius, "shooting_vector_length": length}
        spread = {"covariate_range": (0.0, 1.0), "covariate_spread": EVENLY}
        known = support | spread | {"residual_scale": scale, "subjects": number}
        return Assumptions(self.manifold, self.truth[2], **known)

    def simulate(self, rng, data_sets, number):
        """Covariates (data_sets, n), from 0 to 1, and points (data_sets, n, *point_shape)."""
        manifold, (p, v, _) = self.manifold, self.truth
        covariates = np.empty((data_sets, number))
        points = np.empty((data_sets, number, *manifold.point_shape), dtype=manifold.dtype)
        step = max(1, BLOCK // data_sets)
        for start in range(0, number, step):
            block = slice(start, min(start + step, number))
            if self.data.get("of") == "outlines":
                size = data_sets, block.stop - start, manifold.landmarks
                found = simulate_outlines(rng, *size, AGES)
                covariates[:, block] = (found.ages - AGES[0]) / (AGES[1] - AGES[0])
                points[:, block] = manifold.from_landmarks(found.outlines)
                continue
            covariates[:, block] = np.linspace(0.0, 1.0, number)[block]
            clean = manifold.exp(p, manifold.expand(covariates[:, block] - 0.5) * v)
            noise = self.given[4] * manifold.random_tangent(rng, clean)
            points[:, block] = manifold.exp(clean, noise)
        return covariates, points


def draw_releases(rng, plan, covariates, points, draws):
    """Geodesics as a release draws them, with seeded random bits, and nothing of a sampler."""
    bits, found = generator_bits(rng), []
    for x, y in zip(covariates, points, strict=True):
        records = subject_records(plan.assumptions, x, y, ONE_EACH)
        shared: dict = {}
        found.append([run_plan(plan, records, bits, shared).state for _ in range(draws)])
    return (*np.moveaxis(np.array(found), 2, 0), 0.0)


def draw_published(rng, space, data, fit, budget, draws):
    """Geodesics of the published densities by matched chains, half of the budget for each block.

    Their support is that of releases, as seen from the start of geodesics; last the estimated total
    variation distance.
    """
    manifold, (_, _, radius, length, *_) = space.manifold, space.given
    reach, number = radius + 0.5 * length, data[0].shape[-1]
    support = {"footpoint_radius": reach, "shooting_vector_length": length}
    public = PublicSettings(data_radius=reach, centre=space.truth[2], **support)
    model = GeodesicModel(manifold)
    mechanism = KNGAsPublished.prepare(model, *data, public, fit)
    # Other modes have next to no mass where records are many and residuals small.
    mechanism = replace(mechanism, searched=number <= 100)
    records, least, most = PILOTS
    pilots = int(np.clip(records // number, least, most))
    drawn = mechanism.draw(
        rng,
        dict.fromkeys(model.blocks, str(0.5 * budget)),
        dict(zip(model.blocks, (draws, 1), strict=True)),
        lambda rng, target, draws: matched.plan(rng, target, pilots, *CHAINS),
    )
    footpoints, vectors = (drawn.parameters[block] for block in model.blocks)
    vectors = np.squeeze(vectors, axis=-manifold.point_ndim - 1)
    distance = sum(each.total_variation for each in drawn.reports.values())
    return (*from_the_middle(manifold, footpoints, vectors), distance)


def measure(space, given, number, budgets, records, draws, seed, rats):
    """Table of all budgets on one space at one n."""
    space = Space(space, given, seed, rats)
    manifold, names = space.manifold, ("utility", space.name, f"n{number}")
    count = int(np.clip(records // number, 2, 15))
    data = space.simulate(random_stream(seed, *names, "data"), count, number)
    fit = GeodesicModel(manifold).fit(*data)
    middle = from_the_middle(manifold, fit.footpoint, fit.shooting_vector)
    support = space.assumptions(number).support
    blind = support.draw(random_stream(seed, *names, WITHOUT_DATA), (1, 2000))
    dim, scale = manifold.dim, given[4]
    # In flat space.
    without_privacy = scale**2 * dim / number * np.array([1.0, 12.0]) @ CURVE
    without_data = support.radii**2 * dim / (dim + 2.0) @ CURVE
    rows = []

    def add(mechanism, drawn, budget=np.nan, expected=np.nan):
        squares = geodesic_errors(manifold, drawn[:2], space.truth[:2])["curve"]
        by_data_set = np.mean(squares, axis=-1)
        row = {"space": space.name, "dimension": dim, "mechanism": mechanism, "budget": budget}
        row |= {"n": number, "curve_error": np.sqrt(np.mean(by_data_set))}
        row |= {"low": np.quantile(np.sqrt(squares), 0.1)}
        row |= {"high": np.quantile(np.sqrt(squares), 0.9), "predicted": np.sqrt(expected)}
        # More than a tenth of the squared error of a geodesic drawn uniformly from the support.
        is_noise = mechanism != NOT_PRIVATE and np.mean(by_data_set) > 0.1 * without_data
        row |= {"is_noise": is_noise, "data_sets": squares.shape[0], "draws": squares.shape[1]}
        rows.append(row | {"total_variation": drawn[2] if len(drawn) > 2 else 0.0})

    add(NOT_PRIVATE, [np.expand_dims(each, 1) for each in middle], expected=without_privacy)
    add(WITHOUT_DATA, support.parts(blind), expected=without_data)
    for budget in budgets:
        stream = (*names, f"budget{budget:g}")
        rng = random_stream(seed, *stream, PUBLISHED)
        add(PUBLISHED, draw_published(rng, space, data, fit, budget, draws), budget)
        if number in given[6]["n"] and budget in given[6]["budgets"]:
            plan = plan_release(space.assumptions(number), PrivacyBudget(str(budget)))
            few = [each[:6] for each in data]
            drawn = draw_releases(random_stream(seed, *stream, RELEASED), plan, *few, draws=2)
            add(RELEASED, drawn, budget, plan.error**2)
    return pd.DataFrame(rows)


def summarise(table, shown):
    """The table of the page, releases beside others; and the figure."""
    table = table.sort_values("n", kind="stable")
    rows = []
    for space in dict.fromkeys(table["space"]):
        part = table[table["space"] == space]
        for case in part[part["mechanism"] == RELEASED].itertuples():
            same = part[
                (part["n"] == case.n) & (part["budget"].isna() | (part["budget"] == case.budget))
            ]
            row = {"space": space, "n": f"{case.n:,}", "epsilon": f"{case.budget:g}"}
            noise = " (noise)" if case.is_noise else ""
            row |= {"release": script.number(case.curve_error) + noise, "predicted": case.predicted}
            rows.append(row | same.set_index("mechanism")["curve_error"][list(BESIDE)].to_dict())
    return {"utility": pd.DataFrame(rows)}, draw(table, shown)


def draw(table, shown):
    """Error against the number of subjects, a panel a space."""
    spaces = list(dict.fromkeys(table["space"]))
    figure, axes = script.new_figure(2, -(-len(spaces) // 2), width=7.0, height=6.1, sharex=True)
    curves = dict(zip(sorted(shown, reverse=True), script.CURVES, strict=False))
    looks = {
        NOT_PRIVATE: {"color": "0.1", "linewidth": 0.8, "label": "least squares, not private"},
        WITHOUT_DATA: {"color": "0.1", "linestyle": (0, (1, 4)), "label": "without the data"},
        PUBLISHED: {
            "color": "0.55",
            "linestyle": ":",
            "label": "as published: its budget does not hold",
        },
    }
    for panel, space in zip(axes.flat, spaces, strict=False):
        part = table[table["space"] == space]
        by_mechanism = dict(iter(part.groupby("mechanism")))
        for budget, curve in curves.items():
            published = by_mechanism[PUBLISHED]
            published = published[published["budget"] == budget]
            panel.plot(published["n"], published["curve_error"], **looks[PUBLISHED])
            released = part[(part["mechanism"] == RELEASED) & (part["budget"] == budget)]
            noise = released["is_noise"].astype(bool)
            panel.plot(released["n"], released["curve_error"], color=curve["color"], linewidth=0.6)
            for some, look in ((~noise, {"marker": "x"}), (noise, {"marker": "o", "mfc": "white"})):
                line = released[some]
                look |= {"color": curve["color"], "linestyle": "", "markeredgewidth": 1.5}
                panel.plot(line["n"], line["curve_error"], **look)
        line = by_mechanism[NOT_PRIVATE]
        panel.plot(line["n"], line["curve_error"], **looks[NOT_PRIVATE])
        blind = np.sqrt(np.mean(by_mechanism[WITHOUT_DATA]["curve_error"] ** 2))
        panel.axhline(blind, **looks[WITHOUT_DATA])
        title = f"${space}$" if "^" in space else space
        panel.set(
            xscale="log", yscale="log", title=f"{title}, {part['dimension'].iloc[0]} dimensions"
        )
    for panel in axes[:, 0]:
        panel.set_ylabel("error of the geodesic\n(root mean square, unit of length)")
    for panel in axes[-1]:
        panel.set_xlabel("number of subjects $n$")
    released = set(table.loc[table["mechanism"] == RELEASED, "budget"])
    handles = [
        Line2D([], [], color=curve["color"], marker="x", label=rf"release, $\epsilon$ = {budget:g}")
        for budget, curve in curves.items()
        if budget in released
    ]
    handles.append(
        Line2D([], [], color="0.3", marker="o", mfc="white", linestyle="", label="ring: noise")
    )
    handles += [Line2D([], [], **look) for look in looks.values()]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=7.5)
    return figure


if __name__ == "__main__":
    script.run(snakemake, measure, summarise)
