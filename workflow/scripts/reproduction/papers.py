"""Papers that this project reruns, each a target named like its file of claims."""

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Paper:
    """A paper: what tables and pages call it, and how it is cited."""

    name: str
    authors: str
    title: str
    where: str = ""
    stage: str = ""  # Folder of its results and settings; empty for the studies of a configuration.
    # Of that stage, with their numbers in the paper, empty for our own.
    figures: dict[str, str] = field(default_factory=dict)


PAPERS = {
    "kulkarni_soto": Paper(
        "Kulkarni and Soto", "A. Kulkarni and C. Soto", "Differentially Private Geodesic Regression"
    ),
    "kulkarni_soto_first_version": Paper(
        "Kulkarni and Soto, first version",
        "A. Kulkarni and C. Soto",
        "Differentially Private Geodesic and Linear Regression",
        "the first version of the paper on geodesic regression",
        "linear",
        {"notebook_data": "1", "notebook": "2, 3 and 5", "wine": "4", "notebook_sizes": "6"},
    ),
    "reimherr_awan": Paper(
        "Reimherr and Awan",
        "M. Reimherr and J. Awan",
        "KNG: The K-Norm Gradient Mechanism",
        "NeurIPS 2019",
        "linear",
        {"kng_linear": "1", "kng_quantile": "2", "kng_location": ""},
    ),
    "reimherr_bharath_soto": Paper(
        "Reimherr, Bharath and Soto",
        "M. Reimherr, K. Bharath and C. Soto",
        "Differential Privacy over Riemannian Manifolds",
        "NeurIPS 2021",
        "means",
        {"laplace_means": "1", "sensitivities": "2"},
    ),
    "soto": Paper(
        "Soto et al.",
        "C. Soto, K. Bharath, M. Reimherr and A. Slavković",
        "Shape and Structure Preserving Differential Privacy",
        "NeurIPS 2022",
        "means",
        {"kng_means": "", "mean_shapes": "", "audit": "", "walks": "", "medians": ""},
    ),
}

# Those with settings of their own.
OTHERS = [key for key, paper in PAPERS.items() if paper.stage]


def verdicts_file(key):
    """Path of a paper's verdicts, without its suffix."""
    stage = PAPERS[key].stage
    return f"results/{stage}/{key}_claims" if stage else "results/default/claims"


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
