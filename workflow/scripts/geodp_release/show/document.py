"""Files of releases: JSON with all digits of every number.

A file holds what a `geodp.Release` holds, and so nothing else of the records.  It is not signed:
whoever can change a file can change what it says.
"""

import json
import os
import tempfile
from dataclasses import fields
from fractions import Fraction
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

import geodp
from geodp.errors import DataError
from geodp.manifolds.registry import manifold_settings
from geodp.models.terms import LINE
from geodp.plain import plain
from geodp.settings.section import Section
from geodp_release.promise.budget import PrivacyBudget
from geodp_release.promise.new_files import move_to_new
from geodp_release.promise.public_inputs import LEAST_SQUARES
from geodp_release.show.hypotheses import STAGES

FORMAT = "geodp release 13"

Array = list | dict


def kind(given):
    """Name of the class of a stage in a document; errors call its key as this is called."""
    return given.get("kind") if isinstance(given, dict) else None


# The class of a stage in place of its document, by its name.
STAGE: Any = Annotated[
    reduce(or_, (Annotated[each, Tag(each.__name__)] for each in STAGES)), Discriminator(kind)
]


# Nobody reads what keys are for, and finding docstrings in source code takes time.
class Document(Section, use_attribute_docstrings=False):
    """A part of a file."""


class AssumptionsDocument(Document):
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


class PredictedDocument(Document):
    """Predicted errors of a plan."""

    error: float
    error_without_privacy: float
    error_without_data: float
    error_if_clustered: float | None


class About(Document, strict=False):
    """What a release is of, in words that its settings have."""

    name: str
    description: str | None
    covariates: tuple[str, ...] = Field(description="Name of each covariate.")
    responses: tuple[str, ...] = Field(description="Names of a point's numbers, if it has some.")
    units: dict[str, str] = Field(description="Units of covariates and responses, by name.")


# Whatever was converted or left out is found by writing the plan again.
class PlanDocument(Document, strict=False, extra="ignore"):
    """A plan as values that JSON has; each stage with its kind and its noise."""

    assumptions: AssumptionsDocument
    budget: PrivacyBudget
    stages: list[STAGE]  # type: ignore[valid-type]
    predicted: PredictedDocument


class ReleaseDocument(Document):
    """A geodesic, or a mean, that was released with differential privacy.

    Numbers of a complex array are an object of two arrays, its real and its imaginary parts.
    """

    format: str = Field(description="Version of this format.", json_schema_extra={"const": FORMAT})
    geodp: str = Field(description="Version of the package that wrote the file.")
    about: About | None = Field(description="What was released, in words; null if not given.")
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
    key: str | None = Field(default=None, description="Entry of a kept draw in the ledger.")


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
    beside: Any = {"prefix": f".{path.name}.", "dir": path.parent, "ignore_cleanup_errors": True}
    try:
        with tempfile.TemporaryDirectory(**beside) as folder:
            with open(Path(folder, "partial"), "x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            move_to_new(file.name, path)
    except FileExistsError:
        raise DataError(
            f"{path} is there already and a release is never overwritten: give another path"
        ) from None
    except OSError as problem:
        raise DataError(
            f"{path} cannot be written ({problem.strerror}): give a path in a folder that is there "
            "and has space"
        ) from None


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
