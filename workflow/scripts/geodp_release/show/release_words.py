"""Text of a release: a summary of what was found, and the whole as it is printed."""

import textwrap

import numpy as np

from geodp_release.show.doubts import WITHHELD, share_of_noise
from geodp_release.show.hypotheses import ASSUMED

# Largest p-value of a trend that is said to be there.
SIGNIFICANT = 0.05


def found(release, names=(), unit=None):
    """What was found besides the geodesic, with names of covariates and a unit: sentences."""
    assumptions, clauses = release.plan.assumptions, []
    names = names or (release.about.covariates if release.about else ())
    unit = assumptions.manifold.length_unit if unit is None else unit
    for index, (p_value, said) in enumerate(
        zip(release.p_values(), release.p_words(), strict=True)
    ):
        which = f" with {(names or assumptions.column_names)[index]}"
        if assumptions.number_of_columns == 1 and not (names or assumptions.names):
            which = ""
        there = "there is a trend" if p_value <= SIGNIFICANT else "no trend is clear"
        clauses.append(f"{there}{which} (p = {said})")
    scale, explained = release.residual_scale(), release.r_squared()
    if explained is not None:
        clauses.append(f"R^2, the share of the variance explained, is {explained.words()}")
    if scale is not None:
        unit = f" {unit}".rstrip()
        each = " in each direction" if assumptions.manifold.dim > 1 else ""
        clauses.append(f"residuals have a standard deviation of {scale.words(unit)}{each}")
    clauses[len(assumptions.spreads) : len(assumptions.spreads)] = _beyond(release, names)
    together = "; ".join(clauses)
    lines = [f"{together[0].upper()}{together[1:]}."] if clauses else []
    if release.threshold is not None:
        lines.append(
            f"The {assumptions.what.split()[-1]} minimises Huber's loss, not squares: "
            f"residuals longer than {f'{release.threshold:.3g} {unit.strip()}'.strip()}, "
            f"{assumptions.threshold:g} times what about half of them are shorter than, pull "
            "no more than one of that length, so that it is where most records are."
        )
    if release.far is not None:
        noise = share_of_noise(release.plan, release.number, 0.05)
        lines.append(
            f"About {release.share_far_away:.0%} of records, give or take {noise:.0%}, "
            f"lie far from the {assumptions.what.split()[-1]}."
        )
    return lines


def _beyond(release, names):
    """What tests of curves and of products found, a clause each."""
    assumptions = release.plan.assumptions
    names, terms = names or assumptions.column_names, assumptions.terms
    what = "line" if assumptions.is_flat else "geodesic"
    tests = [
        (f"the curve along {names[column]} is more than a {what}", found)
        for column in range(len(terms.bases))
        if (found := terms.beyond(column))
    ]
    tests += [
        (f"effects of {names[a]} and {names[b]} go together", terms.of(a, b))
        for a, b in terms.products
    ]
    for said, indices in tests:
        p_value = release.p_value(indices)
        there = said if p_value <= SIGNIFICANT else f"that {said} is not clear"
        yield f"{there} (p = {release.p_words([p_value])[0]})"


def text(release):
    """All of a release, as it is printed."""
    assumptions = release.plan.assumptions
    manifold = assumptions.manifold
    names = ["the covariate"] if assumptions.number_of_columns == 1 else None
    names = names or [f"covariate {j + 1}" for j in range(assumptions.number_of_columns)]
    if release.about:
        names = release.about.covariates
    at = zip(names, assumptions.middles, strict=True)
    middles = " and ".join(f"{name} is {each:g}" for name, each in at)
    middles = f", where {middles}" if middles else ""
    both = zip(names, assumptions.ranges, strict=True)
    which = [f", from {name} {low:g} to {high:g}" for name, (low, high) in both]
    if not assumptions.terms.is_plain:
        which = [f" of {name}" for name in assumptions.covariate_names]
        middles = ", where all covariates of the basis are zero"
    vectors = [
        line
        for words, vector in zip(which, release.shooting_vectors, strict=True)
        for line in (
            f"Shooting vector{words}, of length "
            f"{float(manifold.norm(release.footpoint, vector)):.6g}:",
            _numbers(vector),
        )
    ]
    what = assumptions.what[0].upper() + assumptions.what[1:]
    where = " where subjects are" if assumptions.spreads else ""
    assumed = [
        _wrapped(f"  {each.name}: {each.by_holder}")
        for each in release.guarantee.hypotheses
        if each.state == ASSUMED
    ]
    # A Huber mean says by what it is.
    by = "" if "Huber" in what else f" by {assumptions.fit}"
    return "\n".join(
        [
            *(_wrapped(line) for line in release.found()),
            _wrapped(f"{what}{by} on {manifold.name}, released with {release.guarantee.words()}."),
            *(_wrapped(f"{WITHHELD} {line}") for line in release.doubts()),
            "",
            f"Footpoint{middles}:",
            _numbers(release.footpoint),
            *vectors,
            f"Predicted error{where}: {release.error:.3g}; without privacy "
            f"{release.error_without_privacy:.3g}, without data "
            f"{release.plan.error_without_data:.3g}.",
            "",
            "Public inputs, chosen without looking at the data:",
            *(_wrapped(f"  {line}") for line in assumptions.lines()),
            "",
            "No code can check these assumptions; whoever released it answers for them:",
            *assumed,
            "",
            "Drawn by:",
            *(_wrapped(f"  {stage.describe()}") for stage in release.plan.stages),
        ]
    )


def _wrapped(text):
    """Text in lines of at most 100 characters, indented from the second on."""
    return textwrap.fill(text, 100, subsequent_indent="    ", break_long_words=False)


def _numbers(array):
    """Numbers of an array as indented lines; the middle of a long one is left out."""
    text = np.array2string(array, precision=6, suppress_small=True, threshold=36, edgeitems=2)
    return "\n".join(f"    {line}" for line in text.splitlines())
