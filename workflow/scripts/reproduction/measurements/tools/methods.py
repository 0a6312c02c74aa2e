"""Methods by the name that the configuration gives them, and the versions of what they run on."""

from dataclasses import replace
from importlib.metadata import version

from reproduction.measurements.tools import geodesic, own, packages
from reproduction.measurements.tools.problem import (
    APPROXIMATE,
    FALSE,
    NONE,
    PURE,
    Method,
    each_response,
)

REPLACE, ADD = "replace one", "add or remove one"
DIFFPRIVLIB = ("diffprivlib", "scikit-learn")

METHODS = {
    "least_squares": Method("least squares", own.least_squares, NONE, "", clipped=False),
    "adassp": Method("AdaSSP", each_response(own.adassp), APPROXIMATE, ADD),
    "ihm": Method("IHM", each_response(own.ihm), APPROXIMATE, ADD),
    "diffprivlib": Method(
        "diffprivlib, as shipped",
        each_response(packages.diffprivlib),
        FALSE,
        REPLACE,
        DIFFPRIVLIB,
        # Neither of its defects acts there.
        through_origin=PURE,
    ),
    "diffprivlib_corrected": Method(
        "diffprivlib, corrected",
        each_response(packages.diffprivlib_corrected),
        PURE,
        REPLACE,
        DIFFPRIVLIB,
    ),
    "theil_sen": Method(
        "OpenDP, Theil-Sen",
        each_response(packages.theil_sen),
        PURE,
        ADD,
        ("opendp", "scikit-learn"),
        one_covariate=True,
    ),
    "dp_sgd": Method(
        "DP-SGD, Opacus", packages.dp_sgd, APPROXIMATE, ADD, ("opacus", "torch"), draws_all=True
    ),
    "matrix_laplace": Method("matrix Laplace", own.matrix_laplace, PURE, ADD),
    "matrix_gaussian": Method("matrix Gaussian", own.matrix_gaussian, APPROXIMATE, ADD),
    "geodesic_as_published": Method(
        "geodesic, as published",
        geodesic.as_published,
        FALSE,
        REPLACE,
        draws_all=True,
        clipped=False,
    ),
    "geodesic_release": Method(
        "geodesic, release", geodesic.release, PURE, REPLACE, draws_all=True
    ),
}

# What the first version of the paper does not state: one call for all responses, and a scale.
METHODS["diffprivlib_one_call"] = replace(
    METHODS["diffprivlib"], title="diffprivlib, as shipped, one call", fit=packages.diffprivlib
)
for scale in ("standardised", "as measured"):
    METHODS[f"geodesic_as_published_{scale.split()[-1]}"] = replace(
        METHODS["geodesic_as_published"], title=f"geodesic, covariate {scale}", covariate=scale
    )


def versions(method):
    """What a method runs on, with versions: its packages, or NumPy."""
    return ", ".join(f"{package} {version(package)}" for package in method.packages or ("numpy",))
