"""The audit from its settings to its page, on a few records and in little time."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import yaml

pytestmark = pytest.mark.slow

TINY = {
    "seed": 1,
    "sphere": {
        **{"ball_radius": 0.3927, "geodesic_length": 0.6, "noise_variance": 0.001, "tau": 0.1},
        **{"budgets": [0.5, 1.0, 2.0], "n": [6, 8]},
        "search": {"candidates": 8, "rounds": 2, "work": 1000},
    },
    "two_points": {"angle": 0.1, "tau": 0.01},
    "black_box": {
        **{"stated": 1.0, "times": 2.0, "confidence": 0.95},
        **{"published_draws": 200, "joint_draws": 2000, "power": 8},
        "two_points": {"angle": 3.0, "tau": 1.8},
        "one_far": {"n": 5, "footpoint_radius": 1.0, "place": 0.8, "far": 0.8, "tau": 1.1},
    },
    "releases": {"confidence": 0.95, "stated": 2.0, "draws": 40},
    "times": {"draws": 300, "n": 8, "repeats": 3, "spaces": [{"name": "sphere", "size": 2}]},
    "replay": {"blocks": 2, "pairs": 20},
}
TABLES = ("audit", "neighbours", "sensitivity", "black_box", "draw_times", "release_times")


@pytest.fixture(scope="module")
def audited(apart):
    """A checkout with the audit of a few records run to its end."""
    checkout = apart("audit", lambda _: TINY)
    checkout.run("audit")
    return checkout


@pytest.fixture(scope="module")
def folder(audited):
    return audited.root / "results" / "audit"


@pytest.fixture(scope="module")
def tables(folder):
    return {name: pd.read_csv(folder / f"{name}.csv") for name in TABLES}


def test_files_are_those_promised(folder):
    expected = {f"{name}.csv" for name in TABLES}
    expected |= {f"audit.{suffix}" for suffix in ("pdf", "svg", "png", "html")}
    assert {path.name for path in folder.iterdir() if path.is_file()} == expected
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"logs", "parts"}
    assert [path.name for path in folder.parent.iterdir()] == ["audit"]
    for log in (folder / "logs").iterdir():
        assert log.read_text() == ""


def test_nothing_is_left_to_do_and_no_configuration_matters(audited):
    assert "Nothing to be done" in audited.run("--dry-run", "audit")
    before = audited.configuration.read_text()
    audited.configure(yaml.safe_load(before) | {"name": "another", "seed": 2})
    assert "Nothing to be done" in audited.run("--dry-run", "audit")
    audited.configuration.write_text(before)


def test_a_changed_setting_runs_again_what_reads_it(audited):
    place = audited.root / "config" / "audit.yaml"
    before = place.read_text()
    changed = json.loads(json.dumps(TINY))
    changed["black_box"]["power"] = 9
    place.write_text(yaml.safe_dump(changed))
    assert audited.planned("audit") == {"audit_black_box": 1, "audit": 1}
    place.write_text(before)


def test_a_changed_module_runs_again_what_imports_it(audited):
    module = audited.root / "workflow/scripts/reproduction/measurements/audit/black_box.py"
    before = module.read_text()
    module.write_text(f"{before}CHANGED = True\n")
    assert audited.planned("audit") == {"audit_black_box": 1, "audit": 1}
    module.write_text(before)


def test_wrong_settings_are_refused_in_a_sentence(audited):
    place = audited.root / "config" / "audit.yaml"
    before = place.read_text()
    place.write_text(yaml.safe_dump(TINY | {"sead": 1}))
    result = audited.snakemake("--dry-run", "audit")
    assert result.returncode != 0
    assert "config/audit.yaml: configuration key sead is unknown: did you mean seed?" in (
        result.stdout
    )
    assert "Traceback" not in result.stdout
    place.write_text(before)


def test_wrong_settings_of_other_targets_stop_nothing(audited):
    places = [
        audited.root / "config" / f"{stage}.yaml"
        for stage in ("audit", "benchmark", "linear", "means", "utility")
    ]
    before = [place.read_text() for place in places]
    for place in places:
        place.write_text("seed: [")
    assert "make_data" in audited.planned()
    audited.run("--lint")
    for place, text in zip(places, before, strict=True):
        place.write_text(text)


def test_losses_are_of_every_mechanism(tables):
    losses = tables["audit"]
    assert losses["pair"].is_unique
    counts = losses.groupby(["n", "stated"])["mechanism"].nunique()
    assert set(counts.loc[6].index) == {0.5, 1.0, 2.0}
    assert set(counts.loc[8].index) == {1.0}
    assert set(counts.loc[[6, 8]]) == {11}
    assert set(counts.loc[2]) == {2}
    assert np.all(losses["realised"] > 0.0)
    gap, error = losses["realised"] - losses["stated"], losses["error"]
    expected = np.select([gap > error, gap <= -error], ["exceeded", "not exceeded"], "undecided")
    np.testing.assert_array_equal(losses["verdict"], expected)
    published = losses[losses["mechanism"].str.startswith("as published")]
    assert (published["verdict"] == "exceeded").all()


def test_a_loss_can_be_computed_again_from_its_neighbours(audited, tables):
    names = tables["audit"]["pair"]
    for mechanism in ("tau shared", "two points, residuals clipped"):
        [name] = names[names.str.startswith(f"{mechanism} |") & names.str.endswith("| 1")][:1]
        result = subprocess.run(
            [
                *(sys.executable, "workflow/scripts/recompute_audit.py", "results/audit", name),
            ],
            cwd=audited.root,
            capture_output=True,
            text=True,
            check=True,
        )
        again, written = re.search(r"realised (\S+), the table has (\S+)", result.stdout).groups()
        row = tables["audit"].set_index("pair").loc[name]
        assert float(again) == pytest.approx(float(written), rel=0.01, abs=2.0 * row["error"])
        assert f"the table has {row['verdict']}\n" in result.stdout
    result = subprocess.run(
        [sys.executable, "workflow/scripts/recompute_audit.py", "results/audit", "nobody"],
        cwd=audited.root,
        capture_output=True,
        text=True,
    )
    assert result.returncode != 0
    assert "has no pair 'nobody'" in result.stderr


def test_neighbours_differ_in_one_record(tables):
    for _, part in tables["neighbours"].groupby("pair"):
        counts = part["data_set"].value_counts()
        assert counts["first"] == counts["second"] == 1
        [record] = part.loc[part["data_set"] != "both", "record"].unique()
        assert sorted(part["record"].unique()) == list(range(len(part) - 1))
        assert 0 <= record < len(part) - 1


def test_sensitivities_and_attacks(tables):
    sensitivity = tables["sensitivity"]
    clipped = sensitivity["mechanism"].str.contains("residuals clipped")
    assert sensitivity.loc[clipped, "at_most_one"].all()
    assert np.all(sensitivity["at_most_one"] == (sensitivity["largest_fraction"] <= 1.0))
    black_box = tables["black_box"]
    published = black_box["mechanism"] == "footpoint as published"
    assert black_box.loc[published, "caught"].all()
    honest = (black_box["mechanism"] == "release by one choice") & (black_box["run_at"] == 1.0)
    assert not black_box.loc[honest, "caught"].any()


def test_record_and_replay_has_a_target_of_its_own(audited, folder):
    planned = audited.planned("replay")
    assert planned == {"replay_block": 2, "replay_planted": 1, "replay": 1}
    assert "./run snakemake replay --cores 8" in (folder / "audit.html").read_text()


def test_the_page_says_what_does_not_hold(audited, folder):
    page = (folder / "audit.html").read_text()
    assert "The stated budget of the published mechanism does not hold" in page
    assert "<svg" in page
    assert "<?xml" not in page
    shown = re.findall(r'<span class="(\w+)">((?:not )?exceeded|undecided)</span>', page)
    assert {("fails", "exceeded"), ("holds", "not exceeded")} <= set(shown)
    picture = (folder / "audit.svg").read_text()
    for label in ("realised privacy loss (nats)", "number of records n"):
        assert label in picture
