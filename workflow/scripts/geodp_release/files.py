"""Files of releases: JSON with all digits of every number.

A file holds what a `geodp_release.release.Release` holds, and so nothing else of the records.  It
is not signed: whoever can change a file can change what it says.
"""

import json
import os
import re
import tempfile
from contextlib import suppress
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import numpy as np

import geodp
from geodp.errors import DataError
from geodp.manifolds.registry import manifold_from_settings, manifold_settings
from geodp.plain import from_plain, plain
from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import REPLACE, Assumptions
from geodp_release.hypotheses import (
    ASSUMED,
    HOLDS,
    HYPOTHESES,
    STAGES,
    Hypothesis,
    ReleaseGuarantee,
    check_stages,
)
from geodp_release.moments import moment_matrix
from geodp_release.planning import ReleasePlan

FORMAT = "geodp release 5"

# Attributes of assumptions and of a plan: numbers, and values of one covariate or of each.
RADII = ("footpoint_radius", "residual_scale")
BY_COVARIATE = (
    "covariate_range",
    "shooting_vector_length",
    "transformation",
    "covariate_spread",
)
COUNTS = ("subjects", "records_per_subject")
ERRORS = ("error", "error_without_privacy", "error_without_data")

# Stages by the name that a file gives them.
KINDS = {kind.__name__: kind for kind in STAGES}

# Longest file, and longest fraction in it: longer ones take more time than reading is worth.
MOST_BYTES, FRACTION = 1 << 26, re.compile(r"[0-9]{1,400}(/[0-9]{1,400})?")

# Allowed difference of what a file holds from a point, a tangent vector or the support, of the
# radius: numbers are the same on every machine, what is computed from them is not.
TOLERANCE = 1e-6


class NotARelease(DataError):
    """A document is not that of a release; the message is the reason."""


def write_release(release, path):
    """Write a release to a new file, which is complete or not there at all.

    Parameters
    ----------
    release : Release
    path : str or Path

    Raises
    ------
    DataError
        The file is there already or cannot be written, or the manifold has no name.
    """
    path = Path(path)
    if not path.name or path.is_dir():
        raise DataError(f"{str(path)!r} is a folder: give the path of a file that is not there yet")
    text = json.dumps(_document(release), indent=1, allow_nan=False) + "\n"
    partial = None
    try:
        descriptor, partial = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # As readable as other new files.
        os.chmod(partial, 0o666 & ~_umask())
        _move_to_new(partial, path)
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
        # Of this call alone, unless it was moved.
        if partial is not None:
            with suppress(OSError):
                os.unlink(partial)


def _umask():
    """Permissions that new files are denied; reading them sets them."""
    found = os.umask(0o077)
    os.umask(found)
    return found


def _move_to_new(partial, path):
    """Move a file to a path that is not taken."""
    try:
        os.link(partial, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links, or an error that the next line meets again.
        if os.path.lexists(path):
            raise FileExistsError from None
        os.replace(partial, path)


def read_release(path):
    """Read a file that `write_release` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict
        Attributes of the `Release`, by name.

    Raises
    ------
    DataError
        The file cannot be read, or is not that of a release.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_BYTES)
    except OSError as problem:
        raise DataError(
            f"{path} cannot be read ({problem.strerror}): give the path of a file that "
            "Release.save wrote"
        ) from None
    except UnicodeDecodeError:
        text = ""
    try:
        return _release(_parsed(text))
    except NotARelease as problem:
        raise DataError(
            f"{path} is not a release, since {problem}: give a file as Release.save wrote it"
        ) from None
    except DataError as problem:
        # Of the manifold or the public inputs.
        raise DataError(f"{path} is not a release: {problem}") from None


def _document(release):
    """A release as values that JSON has."""
    return {
        "format": FORMAT,
        "geodp": geodp.__version__,
        "footpoint": plain(release.footpoint),
        "shooting_vectors": [plain(each) for each in release.shooting_vectors],
        "number": float(release.number),
        "covariate_moments": [float(each) for each in release.moments],
        "guarantee": {
            "words": release.guarantee.words(),
            "hypotheses": [vars(each) for each in release.guarantee.hypotheses],
        },
        "plan": plan_document(release.plan),
    }


def plan_document(plan):
    """A plan as values that JSON has; the same plan gives the same document.

    Parameters
    ----------
    plan : ReleasePlan

    Returns
    -------
    dict
    """
    given, budget = plan.assumptions, plan.budget
    return {
        "assumptions": {
            "manifold": manifold_settings(given.manifold),
            "centre": plain(given.centre),
            "neighbours": given.neighbours,
            **{name: _as_lists(getattr(given, name)) for name in BY_COVARIATE},
            "sources": {str(key): str(text) for key, text in given.sources.items()},
            **{name: getattr(given, name) for name in (*RADII, *COUNTS)},
        },
        "budget": {
            "unit": budget.unit,
            "amount": str(budget.amount),
            "delta": None if budget.delta is None else str(budget.delta),
        },
        "stages": [_stage_document(stage, given) for stage in plan.stages],
        "predicted": {name: float(getattr(plan, name)) for name in ERRORS},
    }


def _as_lists(value):
    """Tuples as lists, as JSON gives them back."""
    return [_as_lists(each) for each in value] if isinstance(value, tuple) else value


def _as_tuples(value, name, depth):
    """Numbers or texts of lists in lists, as tuples in tuples."""
    if type(value) is list and depth:
        return tuple(_as_tuples(each, name, depth - 1) for each in value)
    if type(value) is str and name in ("transformation", "covariate_spread"):
        return value
    return _number(value, name)


def _stage_document(stage, assumptions):
    # The noise is a function of the rest, and stands there so that no budget can be changed alone.
    described: dict = {
        "kind": type(stage).__name__,
        "noise": stage.noise(assumptions).document(),
    }
    for part in fields(stage):
        value = getattr(stage, part.name)
        if isinstance(value, Fraction):
            value = str(value)
        described[part.name] = list(value) if isinstance(value, tuple) else value
    return described


def _parsed(text):
    """The document of a text."""
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise NotARelease("it is not JSON text") from None
    written = document.get("format") if isinstance(document, dict) else None
    if written != FORMAT:
        raise NotARelease(f'its format is not "{FORMAT}"')
    return document


def _refuse_constant(word):
    raise ValueError(word)


def _release(document):
    """Attributes of the release in a document."""
    plan = _plan(_part(document, "plan", dict))
    given = _part(document, "guarantee", dict)
    hypotheses = tuple(_hypothesis(each) for each in _part(given, "hypotheses", list))
    if hypotheses != HYPOTHESES:
        raise NotARelease("its hypotheses are not those of the theorem")
    if not all(check_stages(plan).values()):
        raise NotARelease("its stages are not those of its guarantee")
    assumptions = plan.assumptions
    for stage, described in zip(plan.stages, document["plan"]["stages"], strict=True):
        if described["noise"] != stage.noise(assumptions).document():
            raise NotARelease("the noise of a stage is not that of its budget")
    guarantee = ReleaseGuarantee(
        plan.budget, assumptions.neighbours, assumptions.records_per_subject, hypotheses
    )
    manifold = assumptions.manifold
    footpoint = _array(document, "footpoint", manifold)
    vectors = np.array(
        [
            _array({"shooting vector": each}, "shooting vector", manifold)
            for each in _part(document, "shooting_vectors", list)
        ],
        dtype=manifold.dtype,
    ).reshape((-1, *manifold.point_shape))
    if len(vectors) != assumptions.number_of_covariates:
        raise NotARelease("it has not one shooting vector for each covariate")
    reason = manifold.invalid_reason(footpoint)
    if reason is not None:
        raise NotARelease(f"its footpoint is no point of {manifold.name}")
    for vector in vectors:
        off = vector - manifold.project_tangent(footpoint, vector)
        if np.max(np.abs(off)) > TOLERANCE * (1.0 + np.max(np.abs(vector))):
            raise NotARelease("a shooting vector is not tangent at the footpoint")
    if not _is_inside(assumptions, footpoint, vectors):
        raise NotARelease("its geodesic is outside the support of its public inputs")
    return {
        "footpoint": footpoint,
        "shooting_vectors": vectors,
        "number": _subjects(document, assumptions),
        "moments": _moments(document, assumptions.number_of_covariates),
        "plan": plan,
        "guarantee": guarantee,
    }


def _subjects(document, assumptions):
    """The number of subjects, the public one or a noisy one."""
    number = _number(document.get("number"), "number")
    is_public = assumptions.neighbours == REPLACE
    if number != assumptions.subjects if is_public else not (number >= 1 and number == int(number)):
        raise NotARelease("its number is not that of its subjects")
    return number


def _moments(document, covariates):
    """Means of covariates from -1/2 to 1/2 and of their products."""
    given = _part(document, "covariate_moments", list)
    moments = np.array([_number(each, "covariate_moments") for each in given])
    if moments.shape == (covariates * (covariates + 3) // 2,):
        matrix = moment_matrix(moments)
        least = np.where(np.eye(1 + covariates, dtype=bool), 0.0, -np.inf)
        most = np.outer([1.0, *[0.5] * covariates], [1.0, *[0.5] * covariates])
        if np.all(np.abs(matrix) <= most) and np.all(matrix >= least):
            return moments
    raise NotARelease("its covariate_moments are not means and mean products of its covariates")


def _is_inside(assumptions, footpoint, vectors):
    manifold = assumptions.manifold
    away = float(manifold.dist(assumptions.centre, footpoint))
    lengths = np.array([float(manifold.norm(footpoint, vector)) for vector in vectors])
    wider = 1.0 + TOLERANCE
    return away <= wider * assumptions.footpoint_radius and bool(
        np.all(lengths <= wider * np.ravel(assumptions.shooting_vector_length))
    )


def _plan(given):
    """The `ReleasePlan` of a document."""
    predicted, budget = _part(given, "predicted", dict), _part(given, "budget", dict)
    return ReleasePlan(
        assumptions=_assumptions(_part(given, "assumptions", dict)),
        budget=PrivacyBudget(
            _part(budget, "amount", str), _part(budget, "unit", str), budget.get("delta")
        ),
        stages=tuple(_stage(each) for each in _part(given, "stages", list)),
        **{name: _number(predicted.get(name), name) for name in ERRORS},
    )


def _stage(given):
    kind = KINDS.get(str(given.get("kind"))) if isinstance(given, dict) else None
    if kind is None or set(given) != {"kind", "noise", *(part.name for part in fields(kind))}:
        raise NotARelease("a stage is none of the theorem's")
    values = {name: value for name, value in given.items() if name not in ("kind", "noise")}
    try:
        for name, value in values.items():
            if name in ("budget", "epsilon"):
                if not FRACTION.fullmatch(value):
                    raise NotARelease(f"the {name} of a stage is no fraction above zero")
                values[name] = Fraction(value)
            elif isinstance(value, list):
                values[name] = tuple(float(each) for each in value)
        return kind(**values)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as problem:
        if isinstance(problem, DataError):
            raise
        raise NotARelease("a value of a stage is of another kind") from None


def _assumptions(given):
    """`Assumptions` of their part of a document."""
    manifold = manifold_from_settings(_part(given, "manifold", dict))
    centre = _array(given, "centre", manifold)
    found = Assumptions(
        manifold=manifold,
        centre=centre,
        neighbours=_part(given, "neighbours", str),
        **{name: _as_tuples(given.get(name), name, 2) for name in BY_COVARIATE},
        sources=_part(given, "sources", dict),
        **{name: _number(given.get(name), name) for name in RADII},
        **{name: _part(given, name, int) for name in COUNTS},
    )
    for name in BY_COVARIATE:
        if _as_lists(getattr(found, name)) != given.get(name):
            raise NotARelease(f"its {name} is not as releases write it")
    # Projecting a point of the manifold again may change its last digits.
    object.__setattr__(found, "centre", centre)
    return found


def _hypothesis(given):
    if not isinstance(given, dict) or set(given) != set(vars(HYPOTHESES[0])):
        raise NotARelease(f"a hypothesis does not have {', '.join(vars(HYPOTHESES[0]))}")
    found = Hypothesis(**{key: _part(given, key, str) for key in given})
    if found.state not in (HOLDS, ASSUMED):
        raise NotARelease(f"its hypothesis {found.name} neither holds nor is assumed")
    return found


def _part(document, key, kind):
    """A value of a document that is of a kind, and no number in place of ``True``."""
    value = document.get(key)
    if type(value) is not kind:
        raise NotARelease(f"its {key} is missing or of another kind")
    return value


def _number(value, key):
    """A number as a float."""
    if type(value) not in (int, float):
        raise NotARelease(f"its {key} is missing or no number")
    try:
        return float(value)
    except OverflowError:
        raise NotARelease(f"its {key} is too large") from None


def _array(document, key, manifold):
    """An array of the shape and kind of a manifold's points."""
    try:
        array = np.asarray(from_plain(document.get(key)))
        fits = array.dtype.kind == np.dtype(manifold.dtype).kind
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits or array.shape != manifold.point_shape or not np.all(np.isfinite(array)):
        raise NotARelease(f"its {key} is not an array of shape {manifold.point_shape}")
    return array
