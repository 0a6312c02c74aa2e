"""Methods by the name that the configuration gives them, and the versions of what they run on."""

import platform
from importlib.metadata import version

from reproduction.measurements.tools import (
    adassp,
    dp_sgd,
    functional,
    geodesic,
    least_squares,
    moment_matrix,
    theil_sen,
)
from reproduction.measurements.tools.problem import (
    APPROXIMATE,
    FALSE,
    NONE,
    PURE,
    Method,
    each_response,
)

REPLACE, ADD = "replace one", "add or remove one"

METHODS = {
    "least_squares": Method("least squares", least_squares.fit, NONE, ""),
    "adassp": Method("AdaSSP", each_response(adassp.fit), APPROXIMATE, ADD),
    "diffprivlib": Method(
        "diffprivlib, as shipped",
        each_response(functional.as_shipped),
        FALSE,
        REPLACE,
        ("diffprivlib", "scikit-learn"),
        # Neither of its defects acts there.
        through_origin=PURE,
    ),
    "diffprivlib_corrected": Method(
        "diffprivlib, corrected",
        each_response(functional.corrected),
        PURE,
        REPLACE,
        ("diffprivlib", "scikit-learn"),
    ),
    "theil_sen": Method(
        "OpenDP, Theil-Sen",
        each_response(theil_sen.fit),
        PURE,
        ADD,
        ("opendp", "scikit-learn"),
        one_covariate=True,
    ),
    "dp_sgd": Method("DP-SGD, Opacus", dp_sgd.fit, APPROXIMATE, ADD, ("opacus", "torch")),
    "matrix_laplace": Method("matrix Laplace", moment_matrix.laplace, PURE, ADD),
    "matrix_gaussian": Method("matrix Gaussian", moment_matrix.gaussian, APPROXIMATE, ADD),
    "geodesic_as_published": Method(
        "geodesic, as published", geodesic.as_published, FALSE, REPLACE, geodesic=True
    ),
    "geodesic_release": Method("geodesic, release", geodesic.release, PURE, REPLACE, geodesic=True),
}


def versions(method):
    """What a method runs on, with versions: its packages, or NumPy."""
    packages = method.packages or ("numpy",)
    return ", ".join(f"{package} {version(package)}" for package in packages)


def python_version():
    """Version of Python."""
    return f"Python {platform.python_version()}"
