"""The report: what it holds, and how it looks in a browser."""

import html
import json
import os
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import pytest
import yaml

from reproduction.pages import render_page
from reproduction.papers import PAPERS
from reproduction.report import figure_shows

# Of every kind of figure, some words of its caption.
CAPTIONS = {
    "error": "Natural logarithm of the mean squared error",
    "curves": "one geodesic drawn by the mechanism for each total budget",
    "ratios": "Published sensitivity over the realised difference",
    "samplers": "Effective sample size for each recorded state",
    "shapes": "Shapes predicted at chosen values of the covariate",
    "ellipses": "Predicted 2 x 2 positive definite matrices",
    "transport": "Parallel transport on the sphere",
    "convergence": "Distance of the footpoint from the estimate",
}


def text_of(run):
    """The report without line ends, as tests look for phrases in it."""
    return " ".join(html.unescape(run.files()["report.html"].read_text(encoding="utf-8")).split())


def captions(text):
    """Captions by the file with the numbers of their figures."""
    found = re.findall(r"<figcaption>(.*?)Numbers: <code>(.*?)</code>", text)
    return {file: caption for caption, file in found}


def test_every_figure_has_its_caption(finished, small):
    shown = captions(text_of(finished))
    kinds = {
        f"results/small/{study}/figures/{figure}.csv": chosen["kind"]
        for study, settings in small["studies"].items()
        for figure, chosen in settings.get("figures", {}).items()
    }
    assert set(kinds.values()) == set(CAPTIONS)
    assert set(shown) == set(kinds)
    for file, kind in kinds.items():
        assert CAPTIONS[kind] in shown[file]
        assert ("simulated stand-in" in shown[file].lower()) == ("corpus_callosum" in file)
        # Of every kind that shows what a mechanism released.
        warned = "the stated budgets do not hold." in shown[file].lower()
        assert warned == (kind not in ("ratios", "samplers", "transport"))


SEVERAL = {"sampler": ["a", "b"], "data_sets": [3, 1], "flagged": [False, True]}
PRIVATE = {"kind": "private", "cell": ["a", "a"]}


@pytest.mark.parametrize(
    ("kind", "numbers", "said", "unsaid"),
    [
        ("error", {"sampler": ["a"], "data_sets": [3]}, "thin: the first data set", "Hollow"),
        ("error", SEVERAL, "Second row: releases", "no such words"),
        ("shapes", PRIVATE | {"sampler": ["default", "random_walk"]}, "random walks", "A row for"),
        ("shapes", PRIVATE | {"landmark": [1, 8], "band": [0.1, 0.1]}, "in their discs", "tube"),
        ("shapes", PRIVATE | {"landmark": [1, 50], "band": [0.1, 0.1]}, "in its tube", "discs"),
        ("ellipses", PRIVATE | {"band": [0.1, 0.1]}, "the whole true ellipse", "further draws"),
        ("convergence", PRIVATE | {"distribution": ["as configured", "wider"]}, "Colours", "tube"),
    ],
)
def test_captions_tell_of_what_is_there(tmp_path, kind, numbers, said, unsaid):
    table, page = tmp_path / "figure.csv", tmp_path / "page.html.j2"
    pd.DataFrame(numbers).to_csv(table)
    page.write_text('{% import "captions.html.j2" as captions %}{{ captions[kind](figure) }}')
    shutil.copy(Path(__file__).parents[2] / "workflow" / "report" / "captions.html.j2", tmp_path)
    figure = {"mechanism": "kng_as_published", "shows": figure_shows(table)}
    text = " ".join(html.unescape(render_page(page, kind=kind, figure=figure)).split())
    assert said in text
    assert unsaid not in text


def test_the_answer_is_that_of_the_verdicts(finished):
    text = text_of(finished)
    found = pd.read_csv(finished.files()["claims/kulkarni_soto.csv"], keep_default_na=False)
    sentences = found.groupby(found["claim"].str.partition(".")[0])["sentence_verdict"].first()
    counts = sentences.value_counts()
    assert f"A computation can decide {len(sentences)} sentences" in text
    said = (("holds", "hold"), ("holds in part", "hold in part"), ("does not", "do not"))
    numbers = [counts.get(verdict, 0) for verdict in ("holds", "holds in part", "does not hold")]
    words = [f"{n} {one if n == 1 else more}" for n, (one, more) in zip(numbers, said, strict=True)]
    assert f"<strong>{', '.join(words)}</strong>" in text
    section = text[text.index('id="Kulkarni-and-Soto-"') :]
    opening = section[: section.index("<h3>")]
    assert opening.count("<tr>") == 1 + (found["reading"] == "").sum()
    # Links lead to places of the page.
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(re.findall(r'id="([^"]*)"', text))


def test_whatever_is_of_a_stand_in_says_so(finished):
    """Tables and figures of the study with the stand-in, and of the one of the same outlines."""
    files = finished.files("*.csv") | finished.files("*.svg")
    said = {name for name, path in files.items() if "stand-in" in path.read_text().lower()}
    of_outlines = {name for name in files if name.startswith(("corpus_callosum/", "reduced/"))}
    assert said == of_outlines | {"claims/kulkarni_soto.csv"}
    assert len(of_outlines) == 2 * 3 + 2 + 2 + 2
    for name in of_outlines:
        if "/tables/" in name:
            assert set(pd.read_csv(files[name])["data"]) == {"simulated stand-in"}, name


def test_archive_of_snakemake_has_figures_tables_and_pages(finished_copy):
    finished_copy.run("--report", "report.zip")
    names = [Path(name).name for name in ZipFile(finished_copy.root / "report.zip").namelist()]
    assert names.count("errors.csv") == len(finished_copy.files("errors.csv"))
    pictures = [path.name for path in finished_copy.files("*.svg").values()]
    assert sorted(name for name in names if name.endswith(".svg")) == sorted(pictures)
    assert {"report.html", "kulkarni_soto.html"} <= set(names)


def test_papers_are_targets_that_make_their_own_figures_alone(checkout):
    shutil.copy(checkout.root / "config" / "config.yaml", checkout.configuration)
    studies = yaml.safe_load(checkout.configuration.read_text())["studies"]
    # Of one paper, and of all others at once.
    for papers in (["kulkarni_soto"], [*PAPERS][1:]):
        planned = checkout.planned("--", *papers)
        own = [study for study in studies.values() if study.get("paper") in papers]
        assert planned["figure"] == sum(len(study.get("figures", ())) for study in own) > 0
        assert planned["evaluate_claims"] == len(papers)
        assert ("sample" in planned) == (papers == ["kulkarni_soto"])


NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
in_a_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium: install the package chromium"
)

# Measured by the page itself when it has been loaded, and told to the page of the frame.
MEASURE = """<script>
const complaints = [];
addEventListener("error", event => complaints.push(event.message || event.target.src), true);
addEventListener("load", () => parent.postMessage(JSON.stringify({
    complaints,
    requested: performance.getEntriesByType("resource").map(each => each.name),
    pictures: [...document.images].map(image => ({
        complete: image.complete, wide: image.naturalWidth, alternative: image.alt,
        shown: image.width / Math.min(image.naturalWidth, 700)})),
    width: document.documentElement.scrollWidth,
    ends: [...document.querySelectorAll(".answer td")]
        .map(cell => cell.getBoundingClientRect().right),
    levels: [...document.querySelectorAll("h1,h2,h3,h4")].map(each => Number(each.tagName[1]))
}), "*"));
</script>"""
FRAME = """<iframe src="page.html" width="{width}" height="800" style="border: 0"></iframe>
<script>addEventListener("message", event => {{document.body.textContent = event.data}})</script>"""


def seen(page, width, folder):
    """What a headless browser sees of a page in a frame so many pixels wide; see `MEASURE`."""
    text = page.read_text(encoding="utf-8")
    (folder / "page.html").write_text(text.replace(">", f">{MEASURE}", 1), encoding="utf-8")
    (folder / "frame.html").write_text(FRAME.format(width=width))
    # As root Chromium starts without its sandbox only.
    options = ["--headless", *(["--no-sandbox"] if os.geteuid() == 0 else []), "--disable-gpu"]
    options += [f"--user-data-dir={folder / 'profile'}", "--window-size=1400,900"]
    options += ["--virtual-time-budget=20000", "--dump-dom"]
    call = [CHROMIUM, *options, (folder / "frame.html").as_uri()]
    shown = subprocess.run(call, capture_output=True, text=True, check=True, timeout=300).stdout
    return json.loads(html.unescape(re.search(r"(?s)<body>(.*)</body>", shown)[1]))


@in_a_browser
@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("page", ["report.html", "claims/kulkarni_soto.html"])
def test_page_in_a_browser(finished, page, width, tmp_path):
    path = finished.files()[page]
    assert 'name="viewport"' in path.read_text()
    found = seen(path, width, tmp_path)
    pictures = found["pictures"]
    assert len(pictures) == (len(captions(text_of(finished))) if page == "report.html" else 0)
    for picture in pictures:
        assert picture["complete"]
        assert picture["wide"] > 0
        assert len(picture["alternative"]) > 10
        # A phone scrolls figures that it can read.
        assert picture["shown"] > 0.9
    assert (found["complaints"], found["requested"]) == ([], [])
    assert found["width"] <= width
    # No number of the first table is cut off.
    assert max(found["ends"], default=0) <= width
    levels = found["levels"]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@in_a_browser
def test_what_is_wrong_with_a_page_is_seen(tmp_path):
    """The checks above can fail."""
    (page := tmp_path / "wrong.html").write_text(
        '<!DOCTYPE html><img src="data:image/png;base64,AAAA"><script src="http://localhost:9/a.js">'
        '</script><script>nothing()</script><div style="width: 900px">wide</div>'
    )
    found = seen(page, 375, tmp_path)
    assert found["pictures"][0]["wide"] == 0
    assert "http://localhost:9/a.js" in found["complaints"]
    assert any("nothing is not defined" in complaint for complaint in found["complaints"])
    assert found["width"] >= 900
