"""Text of a release: a summary of what was found, and the whole as it is printed."""

import textwrap
from collections.abc import Sequence

import numpy as np

from geodp_release.show.doubts import WITHHELD, share_of_noise
from geodp_release.show.templates import render


def found(release, names: Sequence[str] = (), unit: str | None = None) -> list[str]:
    """What was found besides the geodesic, with names of covariates and a unit: sentences."""
    assumptions = release.plan.assumptions
    names = names or (release.about.covariates if release.about else ())
    is_named = names or assumptions.names or assumptions.number_of_columns > 1
    names = names or assumptions.column_names
    unit = f" {assumptions.manifold.length_unit if unit is None else unit}".rstrip()
    clauses = [*_tests(release, names, is_named)]
    scale, explained = release.residual_scale(), release.r_squared()
    if explained is not None:
        clauses.append(f"R^2, the share of the variance explained, is {explained.words()}")
    if scale is not None:
        each = " in each direction" if assumptions.manifold.dim > 1 else ""
        clauses.append(f"residuals have a standard deviation of {scale.words(unit)}{each}")
    together = "; ".join(clauses)
    lines = [f"{together[0].upper()}{together[1:]}."] if clauses else []
    what = assumptions.what.split()[-1]
    if release.threshold is not None:
        lines.append(
            f"The {what} minimises Huber's loss, not squares: "
            f"residuals longer than {release.threshold:.3g}{unit}, "
            f"{assumptions.threshold:g} times what about half of them are shorter than, pull "
            "no more than one of that length, so that it is where most records are."
        )
    if release.far is not None:
        share = np.clip(release.far / release.number, 0.0, 1.0)
        lines.append(
            f"About {share:.0%} of records, give or take "
            f"{share_of_noise(release.plan, release.number, 0.05):.0%}, lie far from the {what}."
        )
    return lines


def _tests(release, names, is_named, significant=0.05):
    """What tests of trends, curves and products found, a clause each."""
    assumptions, terms = release.plan.assumptions, release.plan.assumptions.terms
    what = "line" if assumptions.is_flat else "geodesic"
    tests = []
    for column, name in enumerate(names):
        of = f" with {name}" if is_named else ""
        indices = terms.involving(column)
        tests.append((f"there is a trend{of}", f"no trend is clear{of}", indices))
    others = [
        (f"the curve along {name} is more than a {what}", terms.beyond(column))
        for column, name in enumerate(names)
    ]
    others += [
        (f"effects of {names[a]} and {names[b]} go together", terms.of(a, b))
        for a, b in terms.products
    ]
    tests += [(said, f"that {said} is not clear", indices) for said, indices in others if indices]
    for is_so, is_unclear, indices in tests:
        p_value = release.p_value(indices)
        said = is_so if p_value <= significant else is_unclear
        yield f"{said} (p = {release.p_words([p_value])[0]})"


def text(release) -> str:
    """All of a release, as it is printed."""
    number = release.plan.assumptions.number_of_columns
    names = [f"covariate {j + 1}" for j in range(number)] if number != 1 else ["the covariate"]
    if release.about:
        names = release.about.covariates
    given = {"release": release, "names": names, "WITHHELD": WITHHELD}
    filters = {"wrapped": _wrapped, "numbers": _numbers}
    return render("release.txt.j2", None, filters, **given).removesuffix("\n")


def _wrapped(text):
    """Text in lines of at most 100 characters, indented from the second on."""
    return textwrap.fill(text, 100, subsequent_indent="    ", break_long_words=False)


def _numbers(array):
    """Numbers of an array as indented lines; the middle of a long one is left out."""
    text = np.array2string(array, precision=6, suppress_small=True, threshold=36, edgeitems=2)
    return "\n".join(f"    {line}" for line in text.splitlines())
