"""Samplers by the name a configuration gives them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A sampler that a configuration may name.

    Attributes
    ----------
    description : str
    module : str, optional
        Whose ``plan(target, points)`` plans it, loaded when asked for; `geodp.samplers.choice`
        plans the others itself.
    """

    description: str
    module: str | None = None


KINDS = {
    "automatic": Kind(
        "independent draws by rejection where an envelope is certified, else `matched`"
    ),
    "exact": Kind("refuse where no envelope is certified"),
    "matched": Kind("a chain of matched proposals"),
    "finite_points": Kind(
        "draws among public points of a bounded support, to 4 dimensions",
        "geodp.samplers.finite_points",
    ),
}


def module_of(kind):
    """Modules that a kind of sampler loads by name, as a tuple."""
    module = KINDS[kind].module
    return () if module is None else (module,)
