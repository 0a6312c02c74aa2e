"""The command `geodp`: a release from its settings to its folder, once, and nothing private."""

import json
import os
import re
from pathlib import Path

import cohort
import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml
from test_curves import TERMS

from geodp import DataError, Release, ReleasePlan
from geodp_release.ask import planning
from geodp_release.ask.cli import main
from geodp_release.ask.settings import read_settings
from geodp_release.plan import sample_size as needed
from geodp_release.stages import LastStep


def test_a_plan_needs_no_data_and_no_ledger(holder, run, few_designs):
    Path("mine.csv").unlink()
    Path("mine.ledger").unlink()
    shown = run("plan")
    for words in ("The predicted error is", "The ledger mine.ledger is not there"):
        assert words in shown.out
    assert shown.out.endswith("No data were read and nothing was spent.\n")
    assert shown.err == ""
    assert os.listdir() == ["mine.yaml"]


@pytest.fixture
def at_once(few_points, monkeypatch):
    """Plans without stages and without a search, whose errors follow a formula."""

    def plan(assumptions, budget):
        error = 100.0 / (assumptions.subjects * float(budget.epsilon))
        return ReleasePlan(assumptions, budget, (), error, 0.1, 1.0, error_if_clustered=error)

    monkeypatch.setattr(needed, "plan_release", plan)


def test_plans_of_other_numbers_and_budgets_are_a_table(holder, run, at_once):
    said, _, heads, *rows, _ = run("plan", None, "--table").out.splitlines()
    assert said == "Plans of other subjects and budgets may take minutes, without reading data."
    assert re.sub(" +", " ", heads) == "subjects epsilon 1 epsilon 2 epsilon 4"
    assert [row.split() for row in rows] == [
        ["200", "0.5", "(noise)", "0.25", "0.125"],
        *([f"{n}", f"{100 / n:.3g}", f"{50 / n:.3g}", f"{25 / n:.3g}"] for n in (400, 800, 1600)),
    ]


def test_noise_is_refused_with_the_number_that_would_do(holder, run, refused, at_once, monkeypatch):
    monkeypatch.setattr(planning, "subjects_needed", lambda *_: 240)
    sentence = refused(settings := cohort.changed({"budget": {"epsilon": "0.01"}}))
    assert sentence.startswith("The release would be noise, since its predicted error is")
    assert "240 subjects would do with this budget" in sentence
    assert sentence.endswith("Nothing was spent")
    assert cohort.spent() == "0"
    # A plan says the same by its status.
    run("plan", status=1)
    run("plan", settings | {"allow_noise": True})


def test_a_release_is_a_folder_with_a_release_a_page_and_a_table(holder, drawn, run):
    """Nothing of the data is in it: neither as written nor to as many digits as a page shows."""
    shown = run("release", cohort.SETTINGS | {"units": {"age": "years", "c0": "mm"}})
    out = holder / "out" / "trial"
    assert sorted(os.listdir(out)) == cohort.FOLDER
    assert os.listdir(out.parent) == ["trial"]
    assert "Released: out/trial/index.html (2 epsilon of mine.ledger)" in shown.out
    assert shown.err == ""
    release, ages = Release.load(out / "release.json"), [50.0, 60.0, 70.0, 80.0, 90.0]
    written = [json.loads((out / name).read_text()) for name in cohort.FOLDER[2:]]
    jsonschema.validate(*written)
    assert release.about.covariates == ("age",)
    assert written[0]["about"]["units"] == {"age": "years", "c0": "mm"}
    assert written[0]["footpoint_at"] == [70.0]
    assert "Footpoint, where age is 70:" in str(release)
    table, there = pd.read_csv(out / "predictions.csv", dtype=str), release.has_subjects(ages)
    assert list(table.pop("note").isna()) == list(there)
    table = table.astype(float)
    assert list(table["covariate"]) == ages
    found = table[cohort.COLUMNS].to_numpy()
    np.testing.assert_array_equal(found[there], release.predict(ages)[there])
    assert np.all(np.isnan(found[~there]))
    np.testing.assert_array_equal(table["band_90"], release.band(ages, 0.9))
    np.testing.assert_array_equal(table["band_95"], release.band(ages, 0.95))
    page = (out / "index.html").read_text()
    cells = re.findall('<td class="number">(.*?)</td>', page)
    fitted = release.coefficients()
    slope = [f"{each[1, 0]:#.4g}" for each in (fitted.value, fitted.low, fitted.high)]
    assert cells[3:6] == [slope[0], " to ".join(slope[1:]), *release.p_words()]
    bands = [f"{table[name][2]:.3g}" for name in ("band_90", "band_95")]
    row = [">70<", f">{found[2, 0]:.5g}<", *(f">{each}<" for each in bands)]
    assert re.search(".*?".join(map(re.escape, row)), page, re.DOTALL)
    for words in (
        release.guarantee.words(),
        # exp(2), rounded up.
        "make no outcome more than 7.39 times as probable.",
        "age (years)",
        *(f"<td>R{number}</td>" for number in range(1, 8)),
    ):
        assert words in page
    is_clipped = any(isinstance(each, LastStep) and each.share for each in release.plan.stages)
    assert ("thin out as those of an exponential" in page) == is_clipped
    # It needs no other file, and no network.
    assert not re.search(r'src=|url\((?!#)|<link|<script|href="http', page)
    rows = Path("mine.csv").read_text().splitlines()[1:]
    cells = {cell for row in rows for cell in row.split(",")}
    texts = [path.read_text() for path in Path("out/trial").iterdir()]
    numbers = re.findall(r"patient\d+|-?\d+\.\d+", "\n".join([*texts, shown.out]))
    assert not set(numbers) & (cells | {cell[:-2] for cell in cells if "." in cell})
    assert all("mine.csv" not in text and str(holder) not in text for text in texts)


def test_an_entry_of_the_registry_says_what_the_release_says(released, capsys):
    assert main(["registry", "out/trial/release.json"]) == 0
    release = Release.load("out/trial/release.json")
    said = capsys.readouterr().out
    privacy = yaml.safe_load(said)["deployment"]["privacy_loss"]
    assert privacy["privacy_parameters"] == {"epsilon": 2}
    assert release.guarantee.words() in privacy["privacy_parameters_details"]
    assert "a point (an earlier study)\n" in said


MEAN = dict.fromkeys(
    ("covariate", "data.covariate", "public.covariate_range", "public.shooting_vector_length")
)
SEVERAL = {"covariate": ["age", "sex"], "data.covariate": ["age", "sex"]}
SEVERAL |= {"public.covariate_range": [[50, 90], [0, 1]]}
SEVERAL |= {"public.covariate_spread": ["evenly", "two groups"]}


def test_the_command_releases_means(holder, drawn, run, few_designs):
    """Without a covariate nothing is said of one."""
    shown = run("check", cohort.changed(MEAN))
    assert f"All {cohort.NUMBER} records would be used as they are." in shown.out
    run("release")
    table = pd.read_csv("out/trial/predictions.csv", dtype=str)
    assert "covariate" not in " ".join(table.columns)
    assert "range of the covariate" not in Path("out/trial/index.html").read_text()
    predicted = table[cohort.COLUMNS].to_numpy(dtype=float)
    np.testing.assert_allclose(predicted, 0.2, atol=0.1)
    np.testing.assert_array_equal(Release.load("out/trial/release.json").predict(), predicted)


MEMORY = "1000000000 subjects of up to 100 records take 14616 GB of memory and this machine has"
MISTAKES = [
    *(({}, *each) for each in cohort.REFUSALS["settings"]),
    ({}, "budget", {"epsilon": f"0.{'1' * 99}"}, "budget.epsilon: it has more than 100 characters"),
    ({}, "budget", {"epsilon": 10**99}, "budget.epsilon: a budget of 1e+99 is not between"),
    ({"public.subjects": 10**9}, "public.records_per_subject", 100, MEMORY),
    *((SEVERAL, *each) for each in cohort.REFUSALS["covariates"]),
    *((TERMS, *each) for each in cohort.REFUSALS["terms"]),
    *(
        (MEAN, key, value, f"key {key}: a mean has no covariate: remove it")
        for key, value in cohort.REFUSALS["means"]
    ),
]


@pytest.mark.parametrize(("given", "key", "value", "sentence"), MISTAKES)
def test_mistakes_are_refused_in_a_sentence_and_spend_nothing(
    holder, refused, at_once, given, key, value, sentence
):
    assert sentence in refused(cohort.changed(given | {key: value}))
    assert cohort.spent() == "0"
    assert not list(Path().rglob("release.json"))


DEEP = ", line 1: more than 10 lists or mappings lie in each other"
NO_SETTINGS = dict(cohort.REFUSALS["texts"]) | {
    "[" * 10**5: DEEP,
    "a: " + "{a: " * 5000: DEEP,
    "a: " + "9" * 5000: ", line 1: a number has more than 100 characters: round it",
    "a: 1" + ":59" * 5000: ", line 1: a text has more than 10000 characters: shorten it",
    "# " + "x" * 10**6: " has more than 1000000 characters: give a smaller file",
}


@pytest.mark.parametrize("text", NO_SETTINGS, ids=lambda text: ascii(text)[1:20])
def test_files_that_are_no_settings_are_refused(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=re.escape(f"mine.yaml{NO_SETTINGS[text]}")):
        read_settings(str(path))


@pytest.mark.parametrize("key", ["data.path", "data.covariate", "folder", "ledger", "\x1b[2J"])
@pytest.mark.parametrize("command", ["plan", "release"])
def test_a_terminal_obeys_no_text_of_the_settings(holder, capsys, command, key):
    cohort.write(cohort.changed({key: "out/\x1b[2J\u202e\n"}))
    main([command, "mine.yaml"])
    shown = "".join(capsys.readouterr())
    assert all(line.isprintable() for line in shown.split("\n"))
    assert command != "release" or "x1b[2J" in shown


def test_a_covariate_may_be_called_anything(holder, drawn, run):
    """After the draw a figure that could not be drawn would have cost the budget."""
    run(
        "release", cohort.SETTINGS | {"covariate": r"dose $_$ in $\mug <b>", "description": "a & b"}
    )
    page = Path("out/trial/index.html").read_text()
    assert r"dose $_$ in $\mug &lt;b&gt;" in page
    assert "<b>" not in page
    assert "Data: a &amp; b." in page


def no_numbers(lines):
    return [lines[0], *(line.replace(".", ";") for line in lines[1:])]


FEW = "no: the data have 399 subjects, and public.subjects says"
NO = [
    (no_numbers, {}, "no: no record is valid"),
    (lambda lines: [*lines[:9], '"' + lines[9], *lines[10:]], {}, "no: mine.csv: the quote in"),
    (lambda lines: [*lines, lines[1].replace("patient", "p")], {}, "no: the data have 401 sub"),
    (lambda lines: lines[:-1], {"data.subject": "one record each"}, FEW),
    (lambda lines: [*lines[:-1], lines[-1][12:]], {}, FEW),
]


@pytest.mark.parametrize(("change", "parts", "says"), NO)
def test_a_check_that_says_no_has_a_status_that_says_no(holder, run, change, parts, says):
    cohort.rewrite(change)
    shown = run("check", cohort.changed(parts), status=1)
    assert says in shown.out
    assert "The check says no: do not release before the data are mended." in shown.out
    assert shown.out.endswith("mine.ledger.\nNothing was spent.\n")
    assert (shown.err, cohort.spent()) == ("", "0")


def test_a_file_of_which_the_check_said_no_is_not_released(holder, run, refused, few_designs):
    far, other = {"public.centre": [9.0] * cohort.DIM}, {"name": "other", "folder": "out/other"}
    run("check", cohort.changed(far), status=1)
    refusal = "the last check of this file said no: run `geodp check`, mend the data, or give"
    Path("copy.csv").write_bytes(Path("mine.csv").read_bytes())
    # Neither another name of the release nor of the file helps, nor other public inputs.
    for parts in (far | other | {"data.path": "copy.csv"}, {}):
        assert refused(cohort.changed(parts)).startswith(refusal)
    assert (cohort.spent(), Path("out/trial").exists()) == ("0", False)
    # What failed its own check is not released since another passed.
    run("check", cohort.SETTINGS)
    assert refused(cohort.changed(far)).startswith(refusal)
    run("release", cohort.changed(far), "--despite-check")
    assert cohort.spent() == "2"
    # Another file was not checked.
    cohort.rewrite(lambda lines: lines[:-1])
    assert "said no" not in refused(cohort.changed(far, name="third", folder="out/third"))


def test_a_ledger_is_created_and_shown(holder, capsys):
    assert main(["ledger", "create", "new.ledger", "--allowed", "0.5", "--unit", "rho"]) == 0
    assert "allows 0.5 rho in all" in capsys.readouterr().out
    assert main(["ledger", "show", "new.ledger"]) == 0
    assert "allowed 0.5, spent 0, left 0.5 (rho)" in capsys.readouterr().out
    assert main(["plan", "nowhere.yaml"]) == 2
    assert "nowhere.yaml cannot be read" in capsys.readouterr().err
