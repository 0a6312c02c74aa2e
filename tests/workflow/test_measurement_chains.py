"""Jobs beside the studies by the workflow: one small paper, from its settings to its verdicts."""

import pytest
import yaml
from few_records import few_records

from reproduction.papers import PAPERS

pytestmark = pytest.mark.slow

PAPER = "kulkarni_soto_first_version"
FIGURE = ("csv", "pdf", "svg", "png")


@pytest.fixture(scope="module")
def measured(source, copied, tmp_path_factory):
    """A checkout with the paper's results from small settings, and their folder."""
    checkout = copied(source, tmp_path_factory.mktemp("linear"))
    for stage in ("linear", "tools"):
        place = checkout.root / "config" / f"{stage}.yaml"
        place.write_text(yaml.safe_dump(few_records(stage)))
    # A configuration on which no stage depends.
    smoke = yaml.safe_load((checkout.root / "config" / "smoke.yaml").read_text())
    checkout.configure(smoke | {"name": "other", "studies": {"rats": smoke["studies"]["rats"]}})
    checkout.run(PAPER)
    return checkout, checkout.root / "results" / "linear"


@pytest.fixture
def rewritten():
    """What writes other text to a file until the test ends."""
    before = {}

    def write(path, text):
        before.setdefault(path, path.read_text())
        path.write_text(text)

    yield write
    for path, text in before.items():
        path.write_text(text)


def test_files_are_those_promised_and_nothing_is_left_to_do(measured, rewritten):
    checkout, folder = measured
    files = [f"figures/{name}.{suffix}" for name in PAPERS[PAPER].figures for suffix in FIGURE]
    files += [f"{PAPER}_claims.{suffix}" for suffix in ("csv", "html")]
    assert all((folder / name).stat().st_size for name in files)
    # Lines of red wine are those of the comparison of tools.
    assert sorted(path.name for path in folder.parent.iterdir()) == ["linear", "tools"]
    # Nor are those of another paper of this stage made.
    assert not (folder / "kng_linear").exists()
    assert not any(log.read_text() for log in (folder / "logs").iterdir())
    # No other configuration matters.
    other = yaml.safe_load(checkout.configuration.read_text()) | {"name": "another", "seed": 2}
    rewritten(checkout.configuration, yaml.safe_dump(other))
    assert "Nothing to be done" in checkout.run("--dry-run", PAPER)


def test_a_changed_setting_or_module_runs_again_what_reads_it(measured, rewritten):
    checkout, _ = measured
    place = checkout.root / "config" / "linear.yaml"
    before = place.read_text()
    changed = yaml.safe_load(before)
    changed["geodesic_vs_notebook"]["neighbours"]["pairs"] = 31
    rewritten(place, yaml.safe_dump(changed))
    # Its section is one, and so all of it.
    tables = {"linear_geodesics": 2, "linear_geodesic_errors": 1, "linear_neighbours": 1}
    names = ("notebook", "notebook_data", "notebook_sizes")
    figures = {f"linear_figure_{name}": 1 for name in names}
    paper = {"paper_claims": 1, PAPER: 1}
    assert checkout.planned("--", PAPER) == tables | figures | paper
    place.write_text(before)
    module = checkout.root / "workflow/scripts/reproduction/measurements/linear/neighbours.py"
    rewritten(module, f"{module.read_text()}CHANGED = True\n")
    planned = {"linear_neighbours": 1, "linear_figure_notebook": 1}
    assert checkout.planned("--", PAPER) == planned | paper


def test_wrong_settings_are_refused_in_a_sentence_by_the_targets_that_read_them(
    measured, rewritten
):
    checkout, _ = measured
    place = checkout.root / "config" / "linear.yaml"
    rewritten(place, yaml.safe_dump(yaml.safe_load(place.read_text()) | {"sead": 1}))
    sentence = "config/linear.yaml: configuration key sead is unknown: did you mean seed?"
    assert f"Error: {sentence}\n" in checkout.refused("--dry-run", PAPER)
    # Other targets are none of it.
    for stage in ("audit", "benchmark", "linear", "means", "utility"):
        rewritten(checkout.root / "config" / f"{stage}.yaml", "seed: [")
    assert "fit" in checkout.planned()
