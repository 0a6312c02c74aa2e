"""Which jobs run again after a change: those it touches and those behind them, and no others."""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass

import pytest

# Executes the import statements of each script and prints the project's files they loaded.
LOADER = """
import ast, json, pathlib, sys

folder = pathlib.Path.cwd()
sys.path.insert(0, str(folder))
loaded = {}
for name in sys.argv[1:]:
    tree = ast.parse((folder / name).read_text())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            exec(compile(ast.Module([node], []), name, "exec"), {})
    files = {}
    for module in list(sys.modules):
        path = getattr(sys.modules[module], "__file__", None)
        if path and pathlib.Path(path).is_relative_to(folder):
            files[str(pathlib.Path(path).relative_to(folder))] = None
            # The next script has to load it afresh.
            del sys.modules[module]
    loaded[name] = sorted(files)
print(json.dumps(loaded))
"""


@dataclass(frozen=True)
class Rule:
    """One study's jobs of a rule: their script, their number, and the rules they read from."""

    script: str
    number: int
    reads: tuple = ()


SAMPLE = "sample_sphere_{}_noise0_001_{}"
MATCHED = [SAMPLE.format(n, f"matched_{block}") for n in ("n5", "n6") for block in (0, 1)]
RANDOM_WALK = SAMPLE.format("n5", "random_walk_0")
GROUP = ("fit_geodesics", "bound_sensitivity")

# Jobs of the small configuration, written down by hand.
RULES = {
    ("sphere", "simulate_data"): Rule("simulate_data.py", 2),
    ("sphere", "fit_geodesics"): Rule("fit_geodesics.py", 2, ("simulate_data",)),
    ("sphere", "bound_sensitivity"): Rule(
        "bound_sensitivity.py", 2, ("simulate_data", "fit_geodesics")
    ),
    **{
        ("sphere", name): Rule("sample_cells.py", 1, ("simulate_data", *GROUP))
        for name in (*MATCHED, RANDOM_WALK)
    },
    ("sphere", "evaluate"): Rule(
        "evaluate.py", 1, ("simulate_data", *GROUP, *MATCHED, RANDOM_WALK)
    ),
    ("sphere", "neighbour_ratios"): Rule("neighbour_ratios.py", 1),
    ("sphere", "predict_sphere_figure_5"): Rule(
        "predict_curves.py", 1, ("simulate_data", "fit_geodesics", *MATCHED[:2])
    ),
    ("sphere", "figure_sphere_figure_1"): Rule("figure_error.py", 1, ("evaluate",)),
    ("sphere", "figure_sphere_figure_5"): Rule("figure_curves.py", 1, ("predict_sphere_figure_5",)),
    ("sphere", "figure_sphere_figure_9"): Rule("figure_ratios.py", 1, ("neighbour_ratios",)),
    ("sphere", "figure_sphere_samplers"): Rule("figure_samplers.py", 1, ("evaluate",)),
    ("rats", "read_data"): Rule("read_data.py", 1),
    ("rats", "fit_geodesics"): Rule("fit_geodesics.py", 1, ("read_data",)),
    ("rats", "bound_sensitivity"): Rule("bound_sensitivity.py", 1, ("read_data", "fit_geodesics")),
    ("rats", "sample_rats_observed_matched_0"): Rule("sample_cells.py", 1, ("read_data", *GROUP)),
    ("rats", "evaluate"): Rule(
        "evaluate.py", 1, ("read_data", *GROUP, "sample_rats_observed_matched_0")
    ),
    ("rats", "predict_rats_shapes"): Rule(
        "predict_shapes.py",
        1,
        ("read_data", "fit_geodesics", "sample_rats_observed_matched_0"),
    ),
    ("rats", "figure_rats_shapes"): Rule("figure_shapes.py", 1, ("predict_rats_shapes",)),
}

FIGURES = {place for place in RULES if place[1].startswith("figure_")}
SCRIPTS = {rule.script for rule in RULES.values()}


def jobs(places):
    """Numbers of jobs by rule name."""
    counts = Counter()
    for study, name in places:
        counts[name] += RULES[study, name].number
    return dict(counts)


def stale(changed):
    """Numbers of jobs by rule that have to run after the changed ones, those included."""
    found = set(changed)
    while True:
        behind = {
            (study, name)
            for (study, name), rule in RULES.items()
            if any((study, source) in found for source in rule.reads)
        }
        if behind <= found:
            return jobs(found)
        found |= behind


@pytest.fixture(scope="module")
def loaded(source):
    """The project's files that the imports of each script load, by script."""
    result = subprocess.run(
        [sys.executable, "-c", LOADER, *sorted(SCRIPTS)],
        cwd=source / "workflow" / "scripts",
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(result.stdout)


def edit(path):
    """Change a file's text, not what it does."""
    path.write_text(path.read_text() + "# edited\n")


def test_table_of_jobs_is_complete(finished):
    assert finished.planned("--forceall") == jobs(RULES)


def test_every_script_of_a_rule_is_used(source):
    # Modules beside the scripts do not use the job's object by themselves.
    scripts = {
        path.name
        for path in (source / "workflow" / "scripts").glob("*.py")
        if "with job(snakemake):" in path.read_text()
    }
    assert scripts == SCRIPTS


def test_declared_library_is_what_imports_load(finished, loaded):
    output = finished.run("--dry-run", "--forceall")
    declared = {}
    for name, files in re.findall(r"(?m)^rule (\w+):\n +input: (.*)$", output):
        if name != "all":
            prefix = "workflow/scripts/"
            library = [f.removeprefix(prefix) for f in files.split(", ") if f.startswith(prefix)]
            declared.setdefault(name, set()).add(tuple(sorted(library)))
    expected = {name: {tuple(loaded[rule.script])} for (_, name), rule in RULES.items()}
    assert declared == expected


def test_finished_run_has_nothing_to_do(finished_copy):
    assert "Nothing to be done" in finished_copy.run("--dry-run")
    before = {name: path.stat().st_mtime_ns for name, path in finished_copy.files().items()}
    assert "Nothing to be done" in finished_copy.run()
    assert {name: path.stat().st_mtime_ns for name, path in finished_copy.files().items()} == before


@pytest.mark.parametrize(
    "file",
    [
        "geodp/plotting.py",
        "geodp/manifolds/unit_norm.py",
        "geodp/evaluation.py",
        "geodp/records.py",
        "geodp/mechanisms/__init__.py",
    ],
)
def test_edited_library_file_reruns_the_jobs_that_load_it(finished_copy, loaded, file):
    edit(finished_copy.root / "workflow" / "scripts" / file)
    users = {place for place, rule in RULES.items() if file in loaded[rule.script]}
    assert finished_copy.planned() == stale(users)
    assert 0 < len(users) < len(RULES)
    if file == "geodp/plotting.py":
        assert users == FIGURES


@pytest.mark.parametrize("script", ["read_data.py", "sample_cells.py", "figure_error.py"])
def test_edited_script_reruns_its_rule(finished_copy, script):
    edit(finished_copy.root / "workflow" / "scripts" / script)
    users = {place for place, rule in RULES.items() if rule.script == script}
    assert finished_copy.planned() == stale(users)


def test_changed_lock_reruns_everything(finished_copy):
    edit(finished_copy.root / "envs" / "requirements.txt")
    assert finished_copy.planned() == jobs(RULES)


SAMPLED = [place for place, rule in RULES.items() if rule.script == "sample_cells.py"]

# A key of the configuration, its new value, and what reads it.
CHANGES = {
    "seed": (
        ("seed",),
        8,
        [("sphere", "simulate_data"), ("sphere", "neighbour_ratios"), *SAMPLED],
    ),
    "draws of a study": (
        ("studies", "sphere", "draws", "footpoints"),
        3,
        [place for place in SAMPLED if place[0] == "sphere"],
    ),
    "setting of a figure": (
        ("studies", "sphere", "figures", "figure_1", "curves"),
        "noise_variance",
        [("sphere", "figure_sphere_figure_1")],
    ),
    "values of a figure of shapes": (
        ("studies", "rats", "figures", "shapes", "values"),
        [7, 60],
        [("rats", "predict_rats_shapes")],
    ),
    "steps of the random walk": (
        ("studies", "sphere", "random_walk", "steps"),
        101,
        [("sphere", RANDOM_WALK)],
    ),
    "support": (
        ("studies", "rats", "support"),
        {"shooting_vector_length": 1.0},
        [("rats", "bound_sensitivity")],
    ),
}


@pytest.mark.parametrize(("keys", "value", "readers"), CHANGES.values(), ids=CHANGES.keys())
def test_changed_configuration_reruns_what_reads_it(finished_copy, small, keys, value, readers):
    part = small
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    finished_copy.configure(small)
    assert finished_copy.planned() == stale(readers)


def test_changed_table_reruns_its_study_alone(finished_copy):
    table = finished_copy.root / "resources" / "vilmann_rats.csv"
    # The last record once more.
    table.write_text(table.read_text() + table.read_text().splitlines()[-1] + "\n")
    assert finished_copy.planned() == stale([("rats", "read_data")])
