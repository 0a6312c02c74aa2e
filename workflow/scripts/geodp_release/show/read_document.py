"""Files of releases, read again: what disagrees with the plan or the guarantee is refused."""

import json
import re

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.registry import manifold_from_settings
from geodp.plain import from_plain
from geodp.settings.settings_files import check
from geodp_release.plan.release_plan import ReleasePlan
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.public_inputs import REPLACE
from geodp_release.run.contributions import LOSS_LATTICE
from geodp_release.run.covariate_moments import moment_matrix
from geodp_release.show.document import FORMAT, ReleaseDocument, plan_document
from geodp_release.show.hypotheses import HYPOTHESES, ReleaseGuarantee, check_stages
from geodp_release.stages import STAGES, BeyondStage, FarStage, ProductsStage, ScaleStage, TailStage
from geodp_release.stages.counts import DOUBLINGS
from geodp_release.stages.residual_tables import length_grid

# Allowed difference of what a file holds from a point, a tangent vector or the support, of the
# radius: numbers are the same on every machine, what is computed from them is not.
TOLERANCE = 1e-6

REMEDY = "give a file as Release.save wrote it"


def read_release(path, most=1 << 26):
    """Attributes of the `Release`, by name, in a file that `write_release` wrote.

    A `DataError` says that the file cannot be read, or is not that of a release; one of more than
    ``most`` characters takes more time than reading is worth.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(most)
        given = json.loads(text, object_hook=_refuse_long, parse_constant=_refuse_constant)
        if not isinstance(given, dict) or given.get("format") != FORMAT:
            raise DataError(f'its format is not "{FORMAT}": {REMEDY}')
        return _release(check(ReleaseDocument, given), given)
    except OSError as problem:
        raise DataError(
            f"{path} cannot be read ({problem.strerror}): give the path of a file that "
            "Release.save wrote"
        ) from None
    except DataError as problem:
        raise DataError(f"{path} is not a release: {problem}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path} is not a release: it is not JSON text: {REMEDY}") from None


def _refuse_constant(word):
    raise ValueError(word)


def _refuse_long(given):
    # Longer fractions take minutes to be read.
    known = "[0-9]{1,400}(/[0-9]{1,400})?"
    for key in {"budget", "epsilon", "share"} & set(given):
        if isinstance(given[key], str) and not re.fullmatch(known, given[key]):
            raise DataError(f"the {key} of a stage is no fraction above zero: {REMEDY}")
    return given


def _release(found, given):
    """Attributes of the release in a checked document, which was given as a dict."""
    document, assumptions = found.plan, _assumptions(found.plan.assumptions)
    predicted = document.predicted.model_dump()
    plan = ReleasePlan(assumptions, document.budget, tuple(document.stages), **predicted)
    if found.guarantee.get("hypotheses") != [vars(each) for each in HYPOTHESES]:
        raise _refused("guarantee.hypotheses", "they are not those of the theorem")
    if not all(check_stages(plan).values()):
        raise _refused("plan.stages", "they are not those of its guarantee")
    _refuse_others(plan_document(plan), given["plan"], "plan")
    footpoint = _array(found.footpoint, "footpoint", assumptions.manifold)
    vectors = _vectors(found, footpoint, assumptions)
    _refuse_numbers(found, plan)
    if found.footpoint_at != assumptions.footpoint_at:
        raise _refused("footpoint_at", "it is not the middle of the ranges")
    return {
        "about": _about(found.about, assumptions.number_of_columns),
        "footpoint": footpoint,
        "shooting_vectors": vectors,
        "number": found.number,
        "lengths": tuple(found.residual_lengths),
        "far": found.far,
        "tails": tuple(found.tails),
        "products": tuple(tuple(each) for each in found.products),
        "reached": np.array(found.reached),
        "moments": _moments(found.covariate_moments, assumptions.number_of_covariates),
        "plan": plan,
        "guarantee": ReleaseGuarantee.of(plan),
    }


def _about(found, covariates):
    if found is None:
        return None
    words = [found.name, found.description or "", *found.covariates, *found.responses]
    words += [*found.units, *found.units.values()]
    if len(found.covariates) != covariates or not all(each.isprintable() for each in words):
        raise _refused("about", "it is not a name for each covariate, and lines of printable text")
    return found


def _refused(key, words):
    return DataError(f"key {key}: {words}: {REMEDY}")


def _refuse_others(expected, given, place):
    """Refuse values that would be written otherwise, such as noise that is not a stage's."""
    if isinstance(expected, dict) and isinstance(given, dict) and expected.keys() == given.keys():
        for key, value in expected.items():
            _refuse_others(value, given[key], f"{place}.{key}")
    elif isinstance(expected, list) and isinstance(given, list) and len(expected) == len(given):
        for index, pair in enumerate(zip(expected, given, strict=True)):
            _refuse_others(*pair, f"{place}[{index}]")
    elif expected != given or isinstance(given, bool) != isinstance(expected, bool):
        raise _refused(place, "it does not agree with the rest of the file")


def _assumptions(found):
    given = found.model_dump()
    given["manifold"] = manifold_from_settings(given["manifold"])
    given["centre"] = _array(given["centre"], "plan.assumptions.centre", given["manifold"])
    assumptions = Assumptions(**given)
    # Projecting a point of the manifold again may change its last digits.
    object.__setattr__(assumptions, "centre", given["centre"])
    return assumptions


def _vectors(found, footpoint, assumptions):
    """The shooting vectors of a document, whose geodesic is within the support."""
    manifold, wider = assumptions.manifold, 1.0 + TOLERANCE
    if manifold.invalid_reason(footpoint) is not None:
        raise _refused("footpoint", f"it is no point of {manifold.name}")
    if manifold.dist(assumptions.centre, footpoint) > wider * assumptions.footpoint_radius:
        raise _refused("footpoint", "it is outside the support of the public inputs")
    if len(found.shooting_vectors) != assumptions.number_of_covariates:
        raise _refused("shooting_vectors", "there is not one for each covariate")
    vectors = np.empty((len(found.shooting_vectors), *manifold.point_shape), manifold.dtype)
    longest = assumptions.lengths
    for index, each in enumerate(found.shooting_vectors):
        place = f"shooting_vectors[{index}]"
        vectors[index] = vector = _array(each, place, manifold)
        off = vector - manifold.project_tangent(footpoint, vector)
        if np.max(np.abs(off)) > TOLERANCE * (1.0 + np.max(np.abs(vector))):
            raise _refused(place, "it is not tangent at the footpoint")
        if manifold.norm(footpoint, vector) > wider * longest[index]:
            raise _refused(place, "it is outside the support of the public inputs")
    return vectors


def numbers_of(stages, assumptions):
    """How many lengths, shares far away and tails stages release, and sizes of products."""
    counts = {kind: sum(isinstance(stage, kind) for stage in stages) for kind in STAGES}
    sizes = [each.size(assumptions) for each in stages if isinstance(each, ProductsStage)]
    tails = DOUBLINGS * counts[TailStage] + counts[BeyondStage]
    return counts[ScaleStage], counts[FarStage], tails, sizes


def _refuse_numbers(found, plan):
    """Refuse a document's subjects, lengths and parts of a state that are not of its plan."""
    assumptions, number, lengths = plan.assumptions, found.number, found.residual_lengths
    looks, far, tails, sizes = numbers_of(plan.stages, assumptions)
    # The number of subjects is public or noisy.
    is_public = assumptions.neighbours == REPLACE
    if number != assumptions.subjects if is_public else not (number >= 1 and number % 1 == 0):
        raise _refused("number", "it is not that of its subjects")
    grid = np.log(length_grid(assumptions))
    known = all(each > 0.0 and np.min(np.abs(np.log(each) - grid)) < TOLERANCE for each in lengths)
    if len(lengths) != looks or not known:
        raise _refused("residual_lengths", "they are not of the grid of its stages")
    # Subjects are counted by parts of a lattice.
    for key, is_right in {
        "far": far == (found.far is not None)
        and (found.far is None or LOSS_LATTICE * found.far % 1 == 0),
        "tails": len(found.tails) == tails and all(LOSS_LATTICE * x % 1 == 0 for x in found.tails),
        "products": [*map(len, found.products)] == [size * (size + 1) // 2 for size in sizes],
    }.items():
        if not is_right:
            raise _refused(key, "it is not that of its stages")
    parts = 1 + assumptions.number_of_covariates
    if len(found.reached) != parts or min(found.reached) < 0.0:
        raise _refused("reached", "it is not a length for each part of a state")


def _moments(given, covariates):
    """Means of covariates from -1/2 to 1/2 and of their products."""
    moments = np.array(given)
    if moments.shape == (covariates * (covariates + 3) // 2,):
        matrix = moment_matrix(moments)
        least = np.where(np.eye(1 + covariates, dtype=bool), 0.0, -np.inf)
        most = np.outer([1.0, *[0.5] * covariates], [1.0, *[0.5] * covariates])
        if np.all(np.abs(matrix) <= (1.0 + TOLERANCE) * most) and np.all(matrix >= least):
            return moments
    raise _refused("covariate_moments", "they are not means and mean products of its covariates")


def _array(value, key, manifold):
    """An array of the shape and kind of a manifold's points."""
    try:
        array = np.asarray(from_plain(value))
        fits = array.dtype.kind == np.dtype(manifold.dtype).kind
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits or array.shape != manifold.point_shape or not np.all(np.isfinite(array)):
        raise _refused(key, f"it is not an array of shape {manifold.point_shape}")
    return array
