"""Files of releases: JSON with all digits of every number.

A file holds what a `geodp.Release` holds, and so nothing else of the records.  It is not signed:
whoever can change a file can change what it says.
"""

import json
import os
import re
import tempfile
from contextlib import suppress
from dataclasses import fields
from fractions import Fraction
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Discriminator, Field, Tag

import geodp
from geodp.errors import DataError
from geodp.manifolds.registry import manifold_from_settings, manifold_settings
from geodp.models.terms import LINE
from geodp.plain import from_plain, plain
from geodp.settings.reading import check
from geodp.settings.section import Section
from geodp_release.plan.release_plan import ReleasePlan
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import PrivacyBudget
from geodp_release.promise.new_files import move_to_new, umask
from geodp_release.promise.public_inputs import LEAST_SQUARES, REPLACE
from geodp_release.run.contributions import LOSS_LATTICE
from geodp_release.run.moments import moment_matrix
from geodp_release.show.hypotheses import HYPOTHESES, STAGES, ReleaseGuarantee, check_stages
from geodp_release.stages import BeyondStage, FarStage, ProductsStage, ScaleStage, TailStage
from geodp_release.stages.residual_tables import length_grid
from geodp_release.stages.tail import DOUBLINGS

FORMAT = "geodp release 13"

# A file that is longer takes more time than reading is worth.
MOST_BYTES = 1 << 26

# Allowed difference of what a file holds from a point, a tangent vector or the support, of the
# radius: numbers are the same on every machine, what is computed from them is not.
TOLERANCE = 1e-6

REMEDY = "give a file as Release.save wrote it"

# Longer fractions take minutes to be read.
FRACTION = re.compile("[0-9]{1,400}(/[0-9]{1,400})?")

Array = list | dict


def kind(given):
    """Name of the class of a stage in a document."""
    return given.get("kind") if isinstance(given, dict) else None


# The class of a stage in place of its document, by its name.
STAGE: Any = Annotated[
    reduce(or_, (Annotated[each, Tag(each.__name__)] for each in STAGES)), Discriminator(kind)
]


# Nobody reads what keys are for, and finding docstrings in source code takes time.
QUICK = {"use_attribute_docstrings": False}


class AssumptionsDocument(Section, **QUICK):
    """Assumptions as values that JSON has."""

    manifold: dict
    centre: Array
    neighbours: str
    covariate_range: list[float] | list[list[float]]
    shooting_vector_length: float | list[float]
    transformation: str | list[str]
    covariate_spread: str | list[str]
    sources: dict[str, str]
    footpoint_radius: float
    smallest_radius: float | None
    tails: str
    residual_scale: float | None
    subjects: int
    records_per_subject: int
    # Absent where squares are minimised.
    loss: str = LEAST_SQUARES
    threshold: float | None = None
    basis: str | dict | list = Field(
        default=LINE,
        description="Functions of each column, one t_j each, of its place u from -1/2 to 1/2 over "
        "its range; absent where all are u itself, a line. spline m: u, and m - 2 bends, which "
        "with 1 and u span the natural cubic splines with m knots, at -1/2, -1/2 + 1/(m - 1), ..., "
        "1/2; bends are orthogonal to 1, to u and to each other over the range, the smoothest "
        "first (least integral of the squared second derivative), as long as 1/2 at most, and "
        "above zero at the end. polynomial d: half of the Legendre polynomials of 2 u, of degree 1 "
        "to d. periodic w: halves of the cosine and sine of 2 pi (x - middle of the range) / w. "
        "words: 1/2 for a word and -1/2 for others, for each word after the first.",
    )
    products: list[list[int]] = Field(
        default=[],
        description="Pairs of columns of which twice the products of their t_j are also some.",
    )
    names: list[str] = Field(default=[], description="Names of the columns.")


class PredictedDocument(Section, **QUICK):
    """Predicted errors of a plan."""

    error: float
    error_without_privacy: float
    error_without_data: float
    error_if_clustered: float | None


class About(Section, strict=False, **QUICK):
    """What a release is of, in words that its settings have."""

    name: str
    description: str | None
    covariates: tuple[str, ...] = Field(description="Name of each covariate.")
    responses: tuple[str, ...] = Field(description="Names of a point's numbers, if it has some.")
    units: dict[str, str] = Field(description="By the name of a covariate or a response.")


# Whatever was converted or left out is found by writing the plan again.
class PlanDocument(Section, strict=False, extra="ignore", **QUICK):
    """A plan as values that JSON has; each stage with its kind and its noise."""

    assumptions: AssumptionsDocument
    budget: PrivacyBudget
    stages: list[STAGE]  # type: ignore[valid-type]
    predicted: PredictedDocument


class ReleaseDocument(Section, **QUICK):
    """A geodesic, or a mean, that was released with differential privacy.

    Numbers of a complex array are an object of two arrays, its real and its imaginary parts.
    """

    format: str = Field(description="Version of this format.", json_schema_extra={"const": FORMAT})
    geodp: str = Field(description="Version of the package that wrote the file.")
    about: About | None = Field(description="What it is of; null if nobody said.")
    footpoint: Array = Field(description="Prediction at the covariates footpoint_at.")
    footpoint_at: list[float] = Field(
        description="Covariates in the middle of their ranges, by their logarithm where that is "
        "their transformation; none with a basis, where the footpoint is at t_j all zero."
    )
    shooting_vectors: list[Array] = Field(
        description="For each covariate a tangent vector at the footpoint, as long as the geodesic "
        "over the covariate's range: the prediction at x is Exp(footpoint, sum_j t_j v_j), with "
        "t_j from -1/2 to 1/2 over the range, or with a basis of the plan the functions of it."
    )
    number: float = Field(description="Number of subjects, public or noisy.")
    covariate_moments: list[float] = Field(
        description="Means of the t_j, then of their products t_i t_j, i <= j: assumed or noisy."
    )
    residual_lengths: list[float] = Field(
        description="Lengths that stages of the plan released, in their order."
    )
    far: float | None = Field(description="Noisy number of subjects far from the geodesic.")
    tails: list[float] = Field(description="Noisy numbers of residuals that were clipped.")
    products: list[list[float]] = Field(
        description="Upper triangles of noisy mean products of contributions."
    )
    reached: list[float] = Field(
        description="How far the last step led, in parts of the support's radii."
    )
    guarantee: dict = Field(description="The guarantee in words, and the hypotheses it rests on.")
    plan: PlanDocument
    key: str | None = Field(default=None, description="Of a draw that is kept until it is shown.")


def schema():
    """JSON Schema of the file of a release, with the version of its format."""
    made = ReleaseDocument.model_json_schema()
    for stage in STAGES:
        part = made["$defs"][stage.__name__]
        part["properties"] |= {"kind": {"const": stage.__name__}, "noise": {"type": "object"}}
        part["required"] = ["kind", "noise", "budget"]
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, **made, "title": FORMAT}


def write_release(release, path, **more):
    """Write a release to a new file, which is complete or not there at all.

    A draw that is kept has the ``key`` of its release besides.  A `DataError` says that the file is
    there already or cannot be written, or that the manifold has no name.
    """
    path = Path(path)
    if not path.name or path.is_dir():
        raise DataError(f"{str(path)!r} is a folder: give the path of a file that is not there yet")
    text = json.dumps(release_document(release) | more, indent=1, allow_nan=False) + "\n"
    partial = None
    try:
        descriptor, partial = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # As readable as other new files.
        os.chmod(partial, 0o666 & ~umask())
        move_to_new(partial, path)
    except FileExistsError:
        raise DataError(
            f"{path} is there already and a release is never overwritten: give another path"
        ) from None
    except OSError as problem:
        raise DataError(
            f"{path} cannot be written ({problem.strerror}): give a path in a folder that is there "
            "and has space"
        ) from None
    finally:
        if partial is not None:
            with suppress(OSError):
                os.unlink(partial)


def read_release(path):
    """Attributes of the `Release`, by name, in a file that `write_release` wrote.

    A `DataError` says that the file cannot be read, or is not that of a release.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_BYTES)
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
    for key in {"budget", "epsilon", "share"} & set(given):
        if isinstance(given[key], str) and not FRACTION.fullmatch(given[key]):
            raise DataError(f"the {key} of a stage is no fraction above zero: {REMEDY}")
    return given


def release_document(release):
    """A release as values that JSON has."""
    return {
        "format": FORMAT,
        "geodp": geodp.__version__,
        "about": release.about and release.about.model_dump(mode="json"),
        "footpoint": plain(release.footpoint),
        "footpoint_at": release.plan.assumptions.footpoint_at,
        "shooting_vectors": [plain(each) for each in release.shooting_vectors],
        "number": float(release.number),
        "covariate_moments": [float(each) for each in release.moments],
        "residual_lengths": [float(each) for each in release.lengths],
        "far": release.far,
        "tails": list(release.tails),
        "products": [list(each) for each in release.products],
        "reached": [float(each) for each in release.reached],
        "guarantee": {
            "words": release.guarantee.words(),
            "hypotheses": [vars(each) for each in release.guarantee.hypotheses],
        },
        "plan": plan_document(release.plan),
    }


def plan_document(plan):
    """A `ReleasePlan` as values that JSON has; the same plan gives the same document."""
    given, budget = plan.assumptions, plan.budget
    special = {
        "manifold": manifold_settings(given.manifold),
        "centre": plain(given.centre),
        "sources": {str(key): str(text) for key, text in given.sources.items()},
    }
    return {
        "assumptions": {
            name: special.get(name, _as_lists(getattr(given, name)))
            for name in AssumptionsDocument.model_fields
            if (given.is_robust or name not in ("loss", "threshold"))
            and (not given.terms.is_plain or name not in ("basis", "products", "names"))
        },
        "budget": {
            "unit": budget.unit,
            "amount": str(budget.amount),
            "delta": None if budget.delta is None else str(budget.delta),
        },
        "stages": [
            {
                "kind": type(stage).__name__,
                "noise": stage.noise(given).document(),
                **{part.name: _as_lists(getattr(stage, part.name)) for part in fields(stage)},
            }
            for stage in plan.stages
        ],
        "predicted": {
            name: None if (value := getattr(plan, name)) is None else float(value)
            for name in PredictedDocument.model_fields
        },
    }


def _as_lists(value):
    """Tuples as lists and fractions as text, as JSON gives them back."""
    if isinstance(value, tuple):
        return [_as_lists(each) for each in value]
    return str(value) if isinstance(value, Fraction) else value


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
        "guarantee": ReleaseGuarantee(
            plan.budget, assumptions.neighbours, assumptions.records_per_subject, HYPOTHESES
        ),
    }


def _about(found, covariates):
    """The `About` of a document, whose words are printed."""
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
    """The `Assumptions` of a document."""
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


def _refuse_numbers(found, plan):
    """Refuse a document's subjects, lengths and parts of a state that are not of its plan."""
    assumptions, number, lengths = plan.assumptions, found.number, found.residual_lengths
    # The number of subjects is public or noisy.
    is_public = assumptions.neighbours == REPLACE
    if number != assumptions.subjects if is_public else not (number >= 1 and number == int(number)):
        raise _refused("number", "it is not that of its subjects")
    scales = sum(isinstance(stage, ScaleStage) for stage in plan.stages)
    grid = np.log(length_grid(assumptions))
    known = all(each > 0.0 and np.min(np.abs(np.log(each) - grid)) < TOLERANCE for each in lengths)
    if len(lengths) != scales or not known:
        raise _refused("residual_lengths", "they are not of the grid of its stages")
    # Far subjects are counted by parts of a lattice.
    fars = sum(isinstance(stage, FarStage) for stage in plan.stages)
    if fars != (found.far is not None) or (fars and LOSS_LATTICE * found.far % 1):
        raise _refused("far", "it is not that of its stages")
    counts = DOUBLINGS * sum(isinstance(stage, TailStage) for stage in plan.stages)
    counts += sum(isinstance(stage, BeyondStage) for stage in plan.stages)
    if len(found.tails) != counts or any(LOSS_LATTICE * each % 1 for each in found.tails):
        raise _refused("tails", "they are not those of its stages")
    stages = [stage for stage in plan.stages if isinstance(stage, ProductsStage)]
    sizes = [stage.size(assumptions) for stage in stages]
    if [len(each) for each in found.products] != [size * (size + 1) // 2 for size in sizes]:
        raise _refused("products", "they are not those of its stages")
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
