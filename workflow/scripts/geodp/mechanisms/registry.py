"""Mechanisms by the name a configuration gives them."""

from importlib import import_module

# Loaded when asked for: a job needs the code of its own mechanism only.
MECHANISMS = {
    "kng_as_published": "geodp.mechanisms.kng_as_published:KNGAsPublished",
    "certified": "geodp.release.mechanism:CertifiedMechanism",
    "laplace": "geodp.mechanisms.laplace:Laplace",
}


def mechanism_class(name):
    """The class of the mechanism called ``name``."""
    module, _, attribute = MECHANISMS[name].partition(":")
    return getattr(import_module(module), attribute)
