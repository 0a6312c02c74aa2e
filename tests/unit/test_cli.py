"""The command `geodp`: a release from its settings to its folder, once, and nothing private."""

import csv
import json
import re
import stat
from pathlib import Path

import numpy as np
import pytest
import yaml
from cohort import COLUMNS, DIM, NUMBER, SETTINGS, write_cohort

from geodp.cli import main
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.landmark_maps import fourier_harmonics
from geodp.manifolds.registry import make_manifold
from geodp.manifolds.spd import SPD
from geodp.release import folder as folder_module
from geodp.release import publish as publish_module
from geodp.release.ledger import Ledger
from geodp.release.pictures import landmark_radii
from geodp.release.release import Release
from geodp.release.settings import read_settings

ROOT = Path(__file__).resolve().parents[2]


def changed(**parts):
    """Settings with some sections changed in part, and others replaced."""
    settings = json.loads(json.dumps(SETTINGS))
    for key, value in parts.items():
        is_part = isinstance(value, dict) and key != "budget"
        settings[key] = settings.get(key, {}) | value if is_part else value
    return settings


@pytest.fixture
def holder(tmp_path, monkeypatch):
    """A holder's folder with data and a ledger, as the working directory."""
    monkeypatch.chdir(tmp_path)
    write_cohort(tmp_path, "3")
    write(SETTINGS)
    return tmp_path


def write(settings, path="mine.yaml"):
    Path(path).write_text(yaml.safe_dump(settings, sort_keys=False))
    return path


def spent():
    return str(Ledger.open("mine.ledger").spent)


def refused(capsys, settings=None, status=2, command="release"):
    """The one sentence that a command ends with."""
    capsys.readouterr()
    if settings is not None:
        write(settings)
    assert main([command, "mine.yaml"]) == status
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    *_, last = shown.err.splitlines()
    assert last.startswith("geodp: ")
    return last.removeprefix("geodp: ")


# --- Plans ---


def test_a_plan_needs_no_data_and_no_ledger(holder, capsys):
    Path("mine.csv").unlink()
    Path("mine.ledger").unlink()
    assert main(["plan", "mine.yaml"]) == 0
    shown = capsys.readouterr()
    assert "pure 2-differential privacy" in shown.out
    assert re.search(
        r"The predicted error is [\d.]+ \([\d.]+ if covariates cluster\), and [\d.]+ for", shown.out
    )
    assert "No data were read and nothing was spent." in shown.out
    assert shown.err == ""
    assert [path.name for path in Path().iterdir()] == ["mine.yaml"]


def test_a_plan_says_what_the_ledger_would_have_left(holder, capsys):
    place = Path("mine.ledger").absolute()

    def said(settings):
        write(settings)
        assert main(["plan", "mine.yaml"]) == 0
        shown = capsys.readouterr()
        assert shown.err == ""
        return shown.out

    assert f"{place} has 3 epsilon left, and 1 after the release." in said(SETTINGS)
    Ledger.open("mine.ledger").reserve("other", "2", "another", unit="epsilon")
    assert "has 1 epsilon left, less than the 2 of the release" in said(SETTINGS)
    # A finished release is returned, whatever is left.
    settings = read_settings("mine.yaml")
    ledger = Ledger.open("mine.ledger")
    entry = ledger.reserve(
        settings.key(publish_module.plan_of(settings)), "1", "trial", unit="epsilon"
    )
    ledger.finish(entry, Path("out"))
    assert "has 0 epsilon left; this release is in it already" in said(SETTINGS)
    concentrated = changed(budget={"rho": "0.5", "delta": "1e-6"})
    assert "accounts in epsilon and the release in rho" in said(concentrated)
    place.unlink()
    assert "Of the ledger nothing can be said" in said(SETTINGS)


def test_rats_are_refused_with_the_number_of_subjects_that_would_do(holder, capsys):
    settings = yaml.safe_load((ROOT / "config" / "release.rats.yaml").read_text())
    settings["data"]["path"] = str(ROOT / settings["data"]["path"])
    settings["ledger"] = "mine.ledger"
    sentence = refused(capsys, settings)
    assert sentence.startswith("The release would be noise, since its predicted error is")
    [needed] = re.findall(r"(\d+) subjects would do with this budget", sentence)
    assert 100 < int(needed) < 1000
    assert sentence.endswith("Nothing was spent")
    assert spent() == "0"
    # A plan says the same by its status.
    assert main(["plan", "mine.yaml"]) == 1
    assert "The release would be noise" in capsys.readouterr().out
    write(settings | {"allow_noise": True})
    assert main(["plan", "mine.yaml"]) == 0


# --- Releases ---


@pytest.fixture
def released(holder, capsys):
    assert main(["release", "mine.yaml"]) == 0
    return holder, capsys.readouterr()


def test_a_release_is_a_folder_with_a_release_a_page_and_a_table(released):
    holder, shown = released
    out = holder / "out" / "trial"
    assert sorted(path.name for path in out.iterdir()) == [
        "index.html",
        "predictions.csv",
        "release.json",
    ]
    assert [path.name for path in out.parent.iterdir()] == ["trial"]
    assert "Released: out/trial/index.html (2 epsilon of mine.ledger)" in shown.out
    # Of what was done nothing is said as if it were to come.
    assert "records" in shown.err
    assert "would" not in shown.err
    release = Release.load(out / "release.json")
    with open(out / "predictions.csv", newline="") as file:
        rows = [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(file)]
    assert [row["covariate"] for row in rows] == [50.0, 60.0, 70.0, 80.0, 90.0]
    predicted = release.predict([row["covariate"] for row in rows])
    found = [[row[f"coordinate_{k + 1}"] for k in range(DIM)] for row in rows]
    np.testing.assert_array_equal(found, predicted)
    np.testing.assert_array_equal(
        [row["band_90"] for row in rows], release.band([50.0, 60.0, 70.0, 80.0, 90.0], 0.9)
    )
    page = (out / "index.html").read_text()
    assert release.guarantee.words() in page
    assert "unknown (predicted errors are for even covariates and equal groups; bands" in page
    for words in ("an earlier study", "not stated", "nothing else is released", "python-flint"):
        assert words in page
    for words in ("Data: points that were simulated.", "From age 50 to 90", "geodp 0"):
        assert words in page
    assert re.search(r"Released on \d{4}-\d\d-\d\d, UTC", page)
    for number in range(1, 8):
        assert page.count(f"<td>R{number}</td>") == 1
    # It needs no other file, and no network.
    assert not re.search(r'src=|url\((?!#)|<link|<script|href="http', page)


def test_nothing_of_the_data_is_in_the_folder_or_in_what_is_printed(released):
    holder, shown = released
    with open("mine.csv", newline="") as file:
        cells = {cell for row in list(csv.reader(file))[1:] for cell in row}
    # As written, and to as many digits as a page might show.
    wanted = cells | {cell[:-2] for cell in cells if "." in cell}
    texts = [path.read_text() for path in (holder / "out").rglob("*") if path.is_file()]
    numbers = {
        number
        for text in [*texts, shown.out, shown.err]
        for number in re.findall(r"patient\d+|-?\d+\.\d+", text)
    }
    assert not numbers & wanted
    assert all("mine.csv" not in text and str(holder) not in text for text in texts)


def test_the_same_release_again_is_the_same_folder_and_spends_nothing(released, capsys):
    holder, _ = released
    before = {path: path.read_bytes() for path in (holder / "out" / "trial").iterdir()}
    # Not even the data are needed.
    Path("mine.csv").unlink()
    assert main(["release", "mine.yaml"]) == 0
    # The same place in the same words.
    assert "Released before: out/trial/index.html (nothing was spent)" in capsys.readouterr().out
    assert spent() == "2"
    assert {path: path.read_bytes() for path in (holder / "out" / "trial").iterdir()} == before


def test_a_second_release_over_the_budget_is_refused(released, capsys):
    sentence = refused(capsys, changed(name="second", folder="out/second"))
    assert "allows 3 epsilon, of which 2 is spent" in sentence
    assert spent() == "2"
    assert not Path("out/second").exists()
    assert main(["ledger", "show", "mine.ledger"]) == 0
    assert "allowed 3, spent 2, left 1 (epsilon)" in capsys.readouterr().out


def test_a_folder_is_never_overwritten(released, capsys):
    before = Path("out/trial/release.json").read_bytes()
    sentence = refused(capsys, changed(name="second", budget={"epsilon": "1"}))
    assert "out/trial is there already and a release is never overwritten" in sentence
    assert spent() == "2"
    assert Path("out/trial/release.json").read_bytes() == before


# --- What is refused before anything is spent ---


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"seed": 1}, "mine.yaml: key seed is refused: a release draws its random bits from"),
        ({"public": {"seed": 1}}, "mine.yaml: key public.seed is refused"),
        ({"bugdet": 1}, "mine.yaml: key bugdet is unknown: did you mean budget?"),
        ({"data": {"subjet": "who"}}, "mine.yaml: key data.subjet is unknown: did you mean subj"),
        ({"sources": {"center": "x"}}, "mine.yaml: key sources.center: 'center' is not known"),
        ({"data": {"source": "study"}}, "mine.yaml: key data.source: 'study' is not known"),
        (
            {"public": {"covariate_range": [50]}},
            "public.covariate_range: [50] has too few entries: g",
        ),
        (
            {"public": {"covariate_range": [[50, "a"]]}},
            "public.covariate_range[0][1]: 'a' has the wr",
        ),
        (
            {"public": {"shooting_vector_length": [1, -1]}},
            "public.shooting_vector_length[1]: -1 is ",
        ),
        (
            {"budget": {"epsilon": [1]}},
            "mine.yaml: key budget.epsilon: [1] has the wrong type: give a n",
        ),
        ({"budget": {"epsilon": "-1"}}, "budget.epsilon: a budget must be above zero"),
        ({"budget": {"rho": "0.1"}}, 'budget: rho needs a delta, such as "1e-6"'),
        ({"budget": {"epsilon": "1", "rho": "1"}}, "mine.yaml: key budget: give one of epsilon"),
        ({"predictions": [95]}, "mine.yaml: key predictions[0]: 95 is outside covariate_range"),
        ({"public": {"subjects": 0}}, "mine.yaml: key public.subjects: 0 is too small"),
        ({"public": {"centre": "identity"}}, "public.centre: Euclidean R^8 has no centre called"),
        ({"public": {"centre": [1.0]}}, "public.centre: its 1 numbers make no point of"),
        ({"public": {"centre": "nowhere.csv"}}, "nowhere.csv cannot be read"),
        ({"data": {"columns": ["c1"]}}, "key data.columns: 1 columns make no point of"),
        ({"data": {"path": "other.csv"}}, "key data.path: other.csv cannot be read"),
        ({"data": {"outline": True}}, "key data.outline: points of Euclidean R^8 have no outline"),
        ({"ledger": "other.ledger"}, "/other.ledger is not there or no file"),
        ({"folder": "mine.csv/x"}, "key folder: mine.csv/x cannot be written"),
    ],
)
def test_mistakes_are_refused_in_a_sentence_and_spend_nothing(holder, capsys, parts, sentence):
    assert sentence in refused(capsys, changed(**parts))
    assert spent() == "0"
    assert not list(Path().rglob("release.json"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name: a\nname: b\n", "mine.yaml, line 2: the key name stands there already"),
        ("name: [a\n", "it is not YAML: mend its punctuation or indentation"),
        ("", "mine.yaml: it has no keys"),
        ("name: a\n", "mine.yaml: key data is missing: add it"),
    ],
)
def test_files_that_are_no_settings_are_refused(holder, capsys, text, sentence):
    Path("mine.yaml").write_text(text)
    assert sentence in refused(capsys)


def test_a_missing_file_of_settings_is_named(holder, capsys):
    assert main(["plan", "nowhere.yaml"]) == 2
    assert "nowhere.yaml cannot be read" in capsys.readouterr().err


# --- Data ---


def rewrite(change):
    """Change the lines of the table."""
    lines = Path("mine.csv").read_text().splitlines()
    Path("mine.csv").write_text("\n".join(change(lines)) + "\n")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda lines: [lines[0].replace("age", "years"), *lines[1:]], "there is no column age"),
        (lambda lines: [], "the table is empty"),
    ],
)
def test_another_header_is_refused_before_anything_is_spent(holder, capsys, change, sentence):
    rewrite(change)
    assert sentence in refused(capsys)
    assert spent() == "0"
    assert not list(Path().rglob("*trial*"))


def test_another_number_of_subjects_is_refused_and_stays_spent(holder, capsys):
    rewrite(lambda lines: lines[:-1])
    said = refused(capsys)
    assert "the number of subjects of the data is not the public number" in said
    assert said.endswith("mine.ledger stays spent")
    assert spent() == "2"
    assert not list(Path().rglob("*trial*"))


@pytest.mark.parametrize(
    "line", ["x,1", "#N/A,2", '"x,1,2', ",", "x," + "1" * 200000, "x" + ",1" * 90, "\x00,\udcff"]
)
def test_a_line_is_a_record_whatever_is_in_it(holder, line):
    """Whether a release is made does not hang on one record."""
    lines = Path("mine.csv").read_text().splitlines()
    text = "\n".join([*lines[:5], line, *lines[6:]]) + "\n"
    Path("mine.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main(["release", "mine.yaml"]) == 0


def test_a_covariate_may_be_called_anything(holder):
    """After the draw a figure that could not be drawn would have cost the budget."""
    write(SETTINGS | {"covariate": r"dose $_$ in $\mug <b>", "description": "a & b"})
    assert main(["release", "mine.yaml"]) == 0
    page = Path("out/trial/index.html").read_text()
    assert r"dose $_$ in $\mug &lt;b&gt;" in page
    assert "<b>" not in page
    assert "Data: a &amp; b." in page


def test_records_that_are_all_amiss_are_released_and_only_their_holder_told(holder, capsys):
    """That a release was not made would tell of its records."""
    rewrite(lambda lines: [lines[0], *(line.replace(".", ";") for line in lines[1:])])
    assert main(["release", "mine.yaml"]) == 0
    shown = capsys.readouterr()
    assert "400 of 400 records" in shown.err
    assert "400 of 400" not in shown.out
    assert list(Path().rglob("*trial*/index.html"))


def test_a_check_tells_the_holder_and_spends_nothing(holder, capsys):
    rewrite(lambda lines: [lines[0], "patient00000,x,0,0,0,0,0,0,0,0", *lines[2:]])
    before = sorted(Path().rglob("*"))
    assert main(["check", "mine.yaml"]) == 0
    shown = capsys.readouterr().out
    assert "1 of 400 records are no records of the manifold" in shown
    assert shown.endswith("Nothing was spent.\n")
    assert (spent(), sorted(Path().rglob("*"))) == ("0", before)


def test_a_check_warns_of_covariates_that_cluster(holder, capsys):
    assert main(["check", "mine.yaml"]) == 0
    assert "spread as these are" not in capsys.readouterr().out

    def crowd(lines):
        rng = np.random.default_rng(2)
        rows = [line.split(",") for line in lines[1:]]
        ages = 50.0 + 40.0 * rng.beta(2.0, 8.0, len(rows))
        return [
            lines[0],
            *(
                ",".join([who, f"{age:.3f}", *others])
                for age, (who, _, *others) in zip(ages, rows, strict=True)
            ),
        ]

    rewrite(crowd)
    assert main(["check", "mine.yaml"]) == 0
    shown = capsys.readouterr().out
    found = re.search(r"spread as these are the predicted error is ([\d.]+), and ([\d.]+)", shown)
    assert float(found[1]) > 1.5 * float(found[2])


def test_a_check_says_nothing_is_well_where_the_release_would_fail(holder, capsys):
    rewrite(lambda lines: lines[:-1])
    assert main(["check", "mine.yaml"]) == 2
    shown = capsys.readouterr()
    assert "is not the public number 400" in shown.err
    assert "All" not in shown.out


def test_one_record_changes_nothing_of_others(holder):
    from geodp.release.reading import read_data

    before = read_data(read_settings("mine.yaml"))
    rewrite(lambda lines: [*lines[:-1], "patient00399,1e9,a,1e300,,-5,0,0,0,0"])
    after = read_data(read_settings("mine.yaml"))
    for first, second in zip(before[:2], after[:2], strict=True):
        np.testing.assert_array_equal(first[:-1], second[:-1])
    assert np.all(np.isnan(after[1][-1]))


def test_outlines_are_mended_one_by_one(holder):
    from geodp.release.reading import read_data

    turns = 2.0 * np.pi * np.arange(12) / 12
    outline = 2.0 * np.cos(turns) + 1j * np.sin(turns) * (1.0 + 0.2 * np.cos(turns))
    crossing = outline[[0, 2, 1, *range(3, 12)]]
    records = [
        outline,
        np.roll(outline[::-1], 1),
        np.append(outline, outline[0]),
        crossing,
    ]
    names = [f"{axis}{k}" for k in range(1, 14) for axis in "xy"]
    with open("mine.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", *names])
        for record in records:
            cells = np.stack([record.real, record.imag], axis=-1).ravel().tolist()
            writer.writerow([60, *cells, *[""] * (26 - len(cells))])
    settings = changed(public={"manifold": {"name": "kendall", "size": 12}})
    settings["public"]["centre"] = np.stack([outline.real, outline.imag], -1).ravel().tolist()
    settings["data"] = {
        "source": "table",
        "path": "mine.csv",
        "covariate": "age",
        "subject": "one record each",
        "outline": True,
    }
    _, points, subjects = read_data(read_settings(write(settings)))
    assert subjects == "one record each"
    shape = KendallPlanarShapes(12).from_landmarks(outline)
    for point in points[:3]:
        np.testing.assert_allclose(point, shape, atol=1e-12)
    assert np.all(np.isnan(points[3]))


def test_public_inputs_that_were_read_off_the_data_are_told_to_the_holder_alone(holder, capsys):
    with open("mine.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    ages = np.array([float(row["age"]) for row in rows])
    points = np.array([[float(row[name]) for name in COLUMNS] for row in rows])
    x = np.stack([np.ones(NUMBER), ages], axis=-1)
    residuals = points - x @ np.linalg.lstsq(x, points)[0]
    read_off = {
        "covariate_range": [float(np.min(ages)), float(np.max(ages))],
        "centre": np.mean(points, axis=0).round(5).tolist(),
        "residual_scale": float(f"{np.sqrt(np.mean(residuals**2)):.4g}"),
    }
    write(changed(public=read_off))
    assert main(["release", "mine.yaml"]) == 0
    shown = capsys.readouterr()
    for words in (
        "covariate_range is the least and the greatest covariate of the data",
        "centre is the Frechet mean of the data",
        "residual_scale is the residual of the least-squares fit of the data",
    ):
        assert f"for the holder alone: {words}" in shown.err
        assert words not in shown.out
        assert not any(words in path.read_text() for path in Path("out/trial").iterdir())


def test_a_centre_that_is_a_record_is_told_to_the_holder_alone(holder, capsys):
    write(SETTINGS)
    assert main(["check", "mine.yaml"]) == 0
    assert "centre is" not in capsys.readouterr().out
    with open("mine.csv", newline="") as file:
        record = list(csv.DictReader(file))[7]
    write(changed(public={"centre": [float(record[name]) for name in COLUMNS]}))
    assert main(["check", "mine.yaml"]) == 0
    assert "centre is a record of the data" in capsys.readouterr().out


# --- Interruptions ---


def interrupt(*arguments):
    raise KeyboardInterrupt


def test_ctrl_c_before_the_data_are_read_spends_nothing(holder, capsys, monkeypatch):
    monkeypatch.setattr(publish_module, "planned", interrupt)
    assert refused(capsys, status=130) == "interrupted: nothing was spent"
    assert spent() == "0"


# What is said where a release was drawn and has no folder.
KEPT = r", and (\S+mine\.ledger-1-\d+\.json) keeps the draw: the same settings again make .*"


@pytest.mark.parametrize("place", ["release_geodesic", "read_data", "write_folder"])
def test_ctrl_c_later_says_what_stays_spent(holder, capsys, monkeypatch, place):
    monkeypatch.setattr(publish_module, place, interrupt)
    said = refused(capsys, status=130)
    kept = KEPT if place == "write_folder" else ""
    assert re.fullmatch(r"interrupted: 2 epsilon of \S+mine.ledger stays spent" + kept, said)
    assert spent() == "2"


def test_a_folder_is_complete_or_absent(holder, capsys, monkeypatch):
    seen = []

    def page(*arguments):
        # Everything is for its owner alone as long as it is not complete.
        [partial] = Path("out").iterdir()
        seen.append((partial.name, stat.S_IMODE(partial.stat().st_mode)))
        raise KeyboardInterrupt

    monkeypatch.setattr(folder_module, "page", page)
    refused(capsys, status=130)
    [(name, mode)] = seen
    assert name.startswith(".trial.")
    assert mode == 0o700
    assert list(Path("out").iterdir()) == []


def test_a_fault_of_ours_is_a_sentence_without_records(holder, capsys, monkeypatch):
    def fails(*arguments):
        raise ValueError("record 0.123456789")

    monkeypatch.setattr(publish_module, "release_geodesic", fails)
    said = refused(capsys)
    assert "ValueError in test_cli.py" in said
    assert "0.123456789" not in said


def test_a_folder_that_cannot_be_written_is_absent_and_stays_spent(holder, capsys, monkeypatch):
    def fails(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder_module, "page", fails)
    said = refused(capsys)
    assert "key folder: out/trial cannot be written (No space left on device)" in said
    assert re.search("mine.ledger stays spent" + KEPT, said)
    assert list(Path("out").iterdir()) == []


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
def test_a_draw_outlives_a_fault_in_its_picture(holder, capsys, monkeypatch, problem):
    """It was paid for: the same command makes the folder from it, without data or budget."""

    def fails(*arguments):
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(folder_module, "picture", fails)
        said = refused(capsys, status=2 if problem is ValueError else 130)
    [kept] = re.search("mine.ledger stays spent" + KEPT, said).groups()
    assert stat.S_IMODE(Path(kept).stat().st_mode) == 0o600
    drawn = Path(kept).read_bytes()
    assert (list(Path("out").iterdir()), spent()) == ([], "2")
    Path("mine.csv").rename("moved.csv")
    assert main(["plan", "mine.yaml"]) == 0
    assert "has paid for a draw of it" in capsys.readouterr().out
    assert main(["release", "mine.yaml"]) == 0
    assert Path("out/trial/release.json").read_bytes() == drawn
    assert {path.name for path in Path("out/trial").iterdir()} >= {"index.html", "predictions.csv"}
    [entry] = Ledger.open("mine.ledger").entries()
    assert (entry.finished, entry.folder, spent()) == (True, Path("out/trial").absolute(), "2")
    assert not Path(kept).exists()


def test_a_draw_whose_file_is_gone_is_paid_for_again(holder, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(folder_module, "picture", interrupt)
        refused(capsys, status=130)
    [kept] = Path().glob("mine.ledger-*.json")
    kept.unlink()
    assert "while 1 is left" in refused(capsys)
    assert not Path("out/trial").exists()


# --- Ledgers ---


def test_a_ledger_is_created_once(holder, capsys):
    assert main(["ledger", "create", "new.ledger", "--allowed", "0.5", "--unit", "rho"]) == 0
    assert "allows 0.5 rho in all" in capsys.readouterr().out
    assert main(["ledger", "create", "new.ledger", "--allowed", "5"]) == 2
    assert "a ledger is never overwritten" in capsys.readouterr().err
    assert Ledger.open("new.ledger").unit == "rho"


def test_a_ledger_of_another_unit_is_refused(holder, capsys):
    settings = changed(budget={"rho": "0.5", "delta": "1e-6"})
    assert "accounts in epsilon and the release in rho" in refused(capsys, settings)


# --- Bands in figures ---


@pytest.mark.parametrize("harmonics", [None, 2])
def test_landmarks_of_shapes_in_a_ball_are_in_their_discs(harmonics):
    chosen = harmonics and fourier_harmonics(12, harmonics)
    manifold = make_manifold("kendall", 12, chosen)
    rng = np.random.default_rng(3)
    point, radius = manifold.random_point(rng), 0.01
    [radii] = landmark_radii(manifold, point[None], [radius])
    frame = manifold.frame(point)
    directions = rng.normal(size=(20000, manifold.dim))
    directions *= radius / np.linalg.norm(directions, axis=-1, keepdims=True)
    ends = manifold.exp(
        np.broadcast_to(point, (20000, *point.shape)), manifold.vector(frame, directions)
    )
    away = np.max(np.abs(manifold.to_landmarks(ends) - manifold.to_landmarks(point)), axis=0)
    assert np.all(away <= 1.01 * radii)
    # No larger than they have to be.
    assert np.all(away >= 0.7 * radii)


def test_ellipses_of_matrices_in_a_ball_are_in_their_ring():
    manifold, radius = SPD(2), 0.3
    rng = np.random.default_rng(3)
    matrix = np.array([[2.0, 0.3], [0.3, 0.5]])
    steps = rng.normal(size=(5000, 3))
    steps *= radius / np.linalg.norm(steps, axis=-1, keepdims=True)
    ends = manifold.exp(
        np.broadcast_to(matrix, (5000, 2, 2)), manifold.vector(manifold.frame(matrix), steps)
    )
    direction = np.array([0.6, 0.8])
    forms = np.linalg.solve(ends, np.broadcast_to(direction[:, None], (5000, 2, 1)))[..., 0]
    ratios = np.sqrt(
        (direction @ np.linalg.solve(matrix, direction)) / np.sum(forms * direction, axis=-1)
    )
    assert np.max(ratios) == pytest.approx(np.exp(0.5 * radius), rel=0.01)
    assert np.min(ratios) == pytest.approx(np.exp(-0.5 * radius), rel=0.01)
