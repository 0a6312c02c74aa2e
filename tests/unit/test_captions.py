"""The report of results that lack something."""

from types import SimpleNamespace

import pytest

from reproduction.papers import figure_title
from reproduction.places import CHECKOUT
from reproduction.report import report

MADE_BY = {"rule": "report", "seed": 1, "lock": "0", "versions": {"python": "3"}}
FIGURE = {
    "paper": "",
    "order": 0,
    "study": "rats",
    "of_study": True,
    "number": "",
    "title": "Of a new kind",
    "kind": "new_kind",
    "mechanism": "",
    "notes": [],
}


def text(files=None, **params):
    """Text of a report, of nothing but what is given."""
    names = ("claims", "errors", "diagnostics", "losses", "svg", "png", "csv")
    tables = {name: [] for name in names}
    template = CHECKOUT / "workflow" / "report" / "report.html.j2"
    nothing = {"own_questions": [], "figures": [], "besides": [], "folder": "results/small"}
    nothing |= {"audit": {"digests": [], "command": ""}, "name": "small", "note": None}
    nothing |= {"again": "", "times": ""}
    return report(
        SimpleNamespace(template=template, **tables | (files or {})),
        SimpleNamespace(**nothing | params),
        MADE_BY,
    )


def test_a_figure_of_a_kind_without_a_caption(tmp_path):
    (picture := tmp_path / "new.svg").write_text("<svg/>")
    files = {"svg": [str(picture)], "png": [str(picture)]}
    found = text(files, figures=[FIGURE])
    assert 'alt="Of a new kind">' in found
    assert "<strong>Of a new kind.</strong>" in found
    noted = text(files, figures=[FIGURE | {"notes": ["Simulated data. And more."]}])
    assert 'alt="Of a new kind. Simulated data">' in noted


def test_an_empty_page_of_another_target(tmp_path):
    (page := tmp_path / "coverage.md").touch()
    made = {"title": "Coverage", "command": "snakemake coverage", "page": str(page)}
    assert f"All of it: <code>{page}</code>" in text(besides=[made | {"digests": ["0"]}])


@pytest.mark.parametrize(
    ("name", "numbers", "expected"),
    [
        ("figure_3", "", "Figure 3"),
        ("figure_3_release", "", "Figure 3, release"),
        ("kng_linear", "1", "Figure 1"),
        ("notebook", "2, 3 and 5", "Figures 2, 3 and 5"),
        ("walk_convergence", "", "Walk convergence"),
        ("kng_means", "", "KNG means"),
    ],
)
def test_titles_of_figures(name, numbers, expected):
    assert figure_title(name, numbers) == expected
