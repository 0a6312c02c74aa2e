"""Public inputs of a release in words."""

import numpy as np

from geodp_release.promise.public_inputs import EXPONENTIAL, LOG, NONE


def described(assumptions):
    """What each public input is, and its value in words, by its name: pairs of text.

    Without a covariate there is none of one, and a transformation only where there is one.
    """
    unit, about = assumptions.manifold.length_unit, "" if assumptions.changes == 2 else "about "
    tails = "any: none is clipped at the end"
    if assumptions.tails == EXPONENTIAL:
        tails = "at most those of an exponential distribution"
    scale = f"not assumed{'' if assumptions.is_robust else ': measured, with noise'}"
    if assumptions.residual_scale is not None:
        scale = f"{assumptions.residual_scale:g} {unit}"
    found = {
        "manifold": ("space", assumptions.manifold.name),
        "centre": ("centre of the ball of footpoints", "a point"),
        "footpoint_radius": ("radius of that ball", f"{assumptions.footpoint_radius:g} {unit}"),
        **(_described_covariates(assumptions, unit) if assumptions.number_of_covariates else {}),
        "residual_scale": ("standard deviation of a residual in each direction", scale),
        "tails": ("tails of residuals, which bands rest on", tails),
        "subjects": ("number of subjects", f"{about}{assumptions.subjects}"),
        "records_per_subject": (
            "records of a subject that count",
            f"{assumptions.records_per_subject}",
        ),
        "neighbours": ("neighbouring data sets", assumptions.neighbours),
    }
    if assumptions.is_robust:
        del found["tails"]
        found["loss"] = (
            "what is minimised",
            f"Huber's loss, linear for residuals longer than {assumptions.threshold:g} times the "
            "released median length",
        )
    if assumptions.wider > 1.0:
        what = "radius from which on the release is planned"
        found["smallest_radius"] = what, f"{assumptions.smallest_radius:g} {unit}"
    if not assumptions.terms.is_plain:
        bases, products = assumptions.terms.described(assumptions.column_names)
        found |= {"basis": ("curves and groups", bases)} if bases else {}
        found |= {"products": ("effects that go together", products)} if products else {}
    is_plain = {*assumptions.transformations} == {NONE}
    if is_plain and not assumptions.sources.get("transformation"):
        del found["transformation"]
    return {name: (what, value.strip()) for name, (what, value) in found.items()}


def _described_covariates(assumptions, unit):
    several = assumptions.number_of_columns > 1
    s, are, them = ("s", "s are", "them") if several else ("", " is", "it")
    lengths = ", ".join(f"{each:g}" for each in np.ravel(assumptions.shooting_vector_length))
    transformed = assumptions.transformations
    ranges = "; ".join(
        f"{low:g} to {high:g}{', by its logarithm' if scale == LOG else ''}"
        for (low, high), scale in zip(assumptions.ranges, transformed, strict=True)
    )
    rests = "predicted errors are for even covariates and equal groups; bands follow noisy moments"
    if assumptions.is_even:
        rests = "predicted errors and bands rest on it"
    spread = f"{', '.join(assumptions.spreads)} ({rests})"
    what = "largest change" if assumptions.is_flat else "longest geodesic"
    return {
        "shooting_vector_length": (f"{what}{s} over the range{s}", f"{lengths} {unit}"),
        "covariate_range": (f"range{s} of the covariate{s}", ranges),
        "transformation": ("transformation of the covariate", ", ".join(transformed)),
        "covariate_spread": (f"how the covariate{are} spread over {them}", spread),
    }
