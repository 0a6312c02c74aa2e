"""Files of releases: JSON with all digits of every number.

A file holds what a `geodp.release.release.Release` holds, and so nothing else of the records.  It
is not signed: whoever can change a file can change what it says.
"""

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

import geodp
from geodp.errors import DataError
from geodp.manifolds.registry import manifold_from_settings, manifold_settings
from geodp.mechanisms.budgets import parse_budget
from geodp.mechanisms.certified import PublicInputs
from geodp.plain import from_plain, plain
from geodp.release.hypotheses import (
    ASSUMED,
    FAILS,
    HOLDS,
    HYPOTHESES,
    Hypothesis,
    ReleaseGuarantee,
)

FORMAT = "geodp release 1"

# Public inputs that are positive numbers or fractions.
NUMBERS = (
    "footpoint_radius",
    "shooting_vector_length",
    "gradient_scale",
    "loss_scale",
    "loss_offset",
)

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
        text = Path(path).read_text(encoding="utf-8")
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
    public, guarantee = release.public, release.guarantee
    return {
        "format": FORMAT,
        "geodp": geodp.__version__,
        "footpoint": plain(release.footpoint),
        "shooting_vector": plain(release.shooting_vector),
        "public": {
            "manifold": manifold_settings(public.manifold),
            "centre": plain(public.centre),
            "covariate_range": [float(each) for each in public.covariate_range],
            "number": int(public.number),
            **{name: float(getattr(public, name)) for name in NUMBERS},
        },
        "guarantee": {
            "words": guarantee.words(),
            "epsilon": str(guarantee.epsilon),
            "hypotheses": [vars(each) for each in guarantee.hypotheses],
        },
        "sampler": release.sampler,
    }


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
    public = _public(_part(document, "public", dict))
    given = _part(document, "guarantee", dict)
    hypotheses = tuple(_hypothesis(each) for each in _part(given, "hypotheses", list))
    # Those that code checks hold in a release.
    expected = [replace(each, state=HOLDS) if each.state == FAILS else each for each in HYPOTHESES]
    if list(hypotheses) != expected:
        raise NotARelease("its hypotheses are not those of the theorem")
    guarantee = ReleaseGuarantee(parse_budget(_part(given, "epsilon", str), "epsilon"), hypotheses)
    manifold = public.manifold
    footpoint = _array(document, "footpoint", manifold)
    shooting_vector = _array(document, "shooting_vector", manifold)
    reason = manifold.invalid_reason(footpoint)
    if reason is not None:
        raise NotARelease(f"its footpoint is no point of {manifold.name}")
    off = shooting_vector - manifold.project_tangent(footpoint, shooting_vector)
    if np.max(np.abs(off)) > TOLERANCE * (1.0 + np.max(np.abs(shooting_vector))):
        raise NotARelease("its shooting vector is not tangent at the footpoint")
    wider = replace(
        public,
        footpoint_radius=public.footpoint_radius * (1.0 + TOLERANCE),
        shooting_vector_length=public.shooting_vector_length * (1.0 + TOLERANCE),
    ).support
    if not wider.contains(wider.space.join(footpoint, shooting_vector)):
        raise NotARelease("its geodesic is outside the support of its public inputs")
    return {
        "footpoint": footpoint,
        "shooting_vector": shooting_vector,
        "public": public,
        "guarantee": guarantee,
        "sampler": _part(document, "sampler", str),
    }


def _public(given):
    """`PublicInputs` of their part of a document."""
    manifold = manifold_from_settings(_part(given, "manifold", dict))
    limits = _part(given, "covariate_range", list)
    if len(limits) != 2:
        raise NotARelease("its covariate_range is not two numbers")
    centre = _array(given, "centre", manifold)
    public = PublicInputs(
        manifold=manifold,
        centre=centre,
        covariate_range=tuple(_number(each, "covariate_range") for each in limits),
        number=_part(given, "number", int),
        **{name: _number(given.get(name), name) for name in NUMBERS},
    )
    # Projecting a point of the manifold again may change its last digits.
    object.__setattr__(public, "centre", centre)
    return public


def _hypothesis(given):
    if not isinstance(given, dict) or set(given) != set(vars(HYPOTHESES[0])):
        raise NotARelease("a hypothesis does not have name, statement and state")
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
