"""Regression on manifolds under differential privacy.

Names are loaded when they are first used.
"""

from importlib import import_module

__version__ = "0.2.0"

_MODULES = {
    "geodp.data.simulate": ("simulate_geodesic_data",),
    "geodp.errors": ("DataError",),
    "geodp.manifolds.adapter": ("GeomstatsManifold",),
    "geodp.manifolds.euclidean": ("Euclidean",),
    "geodp.manifolds.hyperbolic": ("Hyperbolic",),
    "geodp.manifolds.kendall": ("KendallPlanarShapes",),
    "geodp.manifolds.spd": ("SPD",),
    "geodp.manifolds.sphere": ("Sphere",),
    "geodp.mechanisms.base": ("Guarantee", "Mechanism", "PublicSettings"),
    "geodp.mechanisms.certified": ("PublicInputs",),
    "geodp.models.fitting": ("Fit",),
    "geodp.models.geodesic": ("GeodesicModel",),
    "geodp.models.losses": ("Distance", "Huber", "SquaredDistance"),
    "geodp.release.inspection": ("Inspection", "inspect_inputs"),
    "geodp.release.planner": ("Planner",),
    "geodp.release.release": ("Release", "release_geodesic"),
    "geodp.release.stages": ("plan_release",),
}
_OWNERS = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted([*_OWNERS, "__version__"])


def __getattr__(name):
    if name not in _OWNERS:
        raise AttributeError(f"module 'geodp' has no attribute {name!r}")
    return getattr(import_module(_OWNERS[name]), name)


def __dir__():
    return __all__
