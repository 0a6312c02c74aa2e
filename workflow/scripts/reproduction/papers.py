"""Papers that this project reruns, by the name of their file of claims, and titles of figures."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Paper:
    """A paper: what tables and pages call it, and how it is cited."""

    name: str
    authors: str
    title: str
    where: str = ""


PAPERS = {
    "kulkarni_soto": Paper(
        "Kulkarni and Soto", "A. Kulkarni and C. Soto", "Differentially Private Geodesic Regression"
    ),
    "kulkarni_soto_first_version": Paper(
        "Kulkarni and Soto, first version",
        "A. Kulkarni and C. Soto",
        "Differentially Private Geodesic and Linear Regression",
        "the first version of the paper on geodesic regression",
    ),
    "reimherr_awan": Paper(
        *("Reimherr and Awan", "M. Reimherr and J. Awan"),
        *("KNG: The K-Norm Gradient Mechanism", "NeurIPS 2019"),
    ),
    "reimherr_bharath_soto": Paper(
        *("Reimherr, Bharath and Soto", "M. Reimherr, K. Bharath and C. Soto"),
        *("Differential Privacy over Riemannian Manifolds", "NeurIPS 2021"),
    ),
    "soto": Paper(
        *("Soto et al.", "C. Soto, K. Bharath, M. Reimherr and A. Slavković"),
        *("Shape and Structure Preserving Differential Privacy", "NeurIPS 2022"),
    ),
}


def paper_key(claims):
    """What results and studies call a paper, from the path of its file of claims."""
    return Path(claims).stem.removesuffix("_claims")


def figure_title(name, numbers=""):
    """Title of a figure such as ``kng_means``: its own name, and its numbers in the paper if any.

    These are such as ``2, 3 and 5``, where the name does not have them.
    """
    own = re.fullmatch(r"figure_(\d+)(_\w+)?", name)
    numbers, name = (own[1], own[2] or "") if own else (numbers, "" if numbers else name)
    words = name.strip("_").replace("_", " ").replace("kng", "KNG")
    if not numbers:
        return words[:1].upper() + words[1:]
    several = "s" if " and " in numbers else ""
    return ", ".join(filter(None, [f"Figure{several} {numbers}", words]))
