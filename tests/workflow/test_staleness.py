"""Which jobs run again after a change: those it touches and those behind them, and no others."""

from collections import Counter
from dataclasses import dataclass

import pytest
from libraries import declared_by, loaded_by

# Scripts of stages with settings of their own.
APART = ("measure", "plan", "summarise")


@dataclass(frozen=True)
class Rule:
    """One study's jobs of a rule: their script, their number, and the rules they read from.

    ``reads`` are rules of the same study, ``others`` pairs of another study and a rule.
    """

    script: str
    number: int
    reads: tuple = ()
    others: tuple = ()


SAMPLE = "sample_sphere_{}_noise0_001_{}"
DEFAULT = [SAMPLE.format(n, f"default_{block}") for n in ("n5", "n6") for block in (0, 1)]
RANDOM_WALK = SAMPLE.format("n5", "random_walk_0")
GROUP = ("fit_geodesics", "bound_sensitivity")
CONVERGE = "converge_corpus_callosum_figure_3_convergence"

# Where the data of each study come from, its number of groups, and its rules of draws.
SOURCES = {
    "sphere": ("simulate_data", 2, [*DEFAULT, RANDOM_WALK]),
    "spd": ("simulate_data", 1, ["sample_spd_n5_noise0_0001_default_0"]),
    "corpus_callosum": (
        "stand_in_data",
        1,
        [f"sample_corpus_callosum_stand_in_{name}_0" for name in ("default", "random_walk")],
    ),
    "reduced": ("stand_in_data", 1, ["sample_reduced_stand_in_default_0"]),
    "rats": ("read_data", 1, ["sample_rats_observed_default_0"]),
}

# Jobs of the small configuration, written down by hand: what every study has, ...
RULES = {}
for study, (source_of_data, groups, draws) in SOURCES.items():
    RULES |= {
        (study, source_of_data): Rule(f"{source_of_data}.py", groups),
        (study, "describe_data"): Rule("describe_data.py", 1, (source_of_data,)),
        (study, "fit_geodesics"): Rule("fit_geodesics.py", groups, (source_of_data,)),
        (study, "bound_sensitivity"): Rule(
            "bound_sensitivity.py", groups, (source_of_data, "fit_geodesics")
        ),
        **{(study, name): Rule("sample_cells.py", 1, (source_of_data, *GROUP)) for name in draws},
        (study, "evaluate"): Rule("evaluate.py", 1, (source_of_data, *GROUP, *draws)),
    }

# ... and what one of them has, or all together.
RULES |= {
    ("sphere", "neighbour_ratios"): Rule("neighbour_ratios.py", 1),
    ("sphere", "transport_sphere_figure_4"): Rule("transport_loop.py", 1),
    ("sphere", "predict_sphere_figure_5"): Rule(
        "predict_curves.py", 1, ("simulate_data", "fit_geodesics", *DEFAULT[:2])
    ),
    ("sphere", "figure_sphere_figure_1"): Rule("figure_error.py", 1, ("evaluate",)),
    ("sphere", "figure_sphere_figure_4"): Rule(
        "figure_transport.py", 1, ("transport_sphere_figure_4",)
    ),
    ("sphere", "figure_sphere_figure_5"): Rule("figure_curves.py", 1, ("predict_sphere_figure_5",)),
    ("sphere", "figure_sphere_figure_9"): Rule("figure_ratios.py", 1, ("neighbour_ratios",)),
    ("sphere", "figure_sphere_samplers"): Rule("figure_samplers.py", 1, ("evaluate",)),
    ("spd", "neighbour_ratios"): Rule("neighbour_ratios.py", 1),
    ("spd", "predict_spd_figure_8"): Rule(
        "predict_at_values.py", 1, ("simulate_data", "fit_geodesics", SOURCES["spd"][2][0])
    ),
    ("spd", "figure_spd_figure_8"): Rule("figure_ellipses.py", 1, ("predict_spd_figure_8",)),
    ("spd", "figure_spd_figure_10"): Rule("figure_ratios.py", 1, ("neighbour_ratios",)),
    ("corpus_callosum", "predict_corpus_callosum_figure_3"): Rule(
        "predict_at_values.py",
        1,
        ("stand_in_data", "fit_geodesics", *SOURCES["corpus_callosum"][2]),
    ),
    ("corpus_callosum", CONVERGE): Rule(
        "converge.py",
        1,
        ("stand_in_data", *GROUP),
        tuple(("reduced", name) for name in ("stand_in_data", *GROUP)),
    ),
    ("corpus_callosum", "figure_corpus_callosum_figure_2"): Rule(
        "figure_error.py", 1, ("evaluate",)
    ),
    ("corpus_callosum", "figure_corpus_callosum_figure_3"): Rule(
        "figure_shapes.py", 1, ("predict_corpus_callosum_figure_3",)
    ),
    ("corpus_callosum", "figure_corpus_callosum_figure_3_convergence"): Rule(
        "figure_convergence.py", 1, (CONVERGE,)
    ),
    ("rats", "predict_rats_shapes"): Rule(
        "predict_at_values.py",
        1,
        ("read_data", "fit_geodesics", "sample_rats_observed_default_0"),
    ),
    ("rats", "figure_rats_shapes"): Rule("figure_shapes.py", 1, ("predict_rats_shapes",)),
    ("claims", "evaluate_claims"): Rule(
        "evaluate_claims.py",
        1,
        others=(
            *((study, "evaluate") for study in SOURCES),
            ("sphere", "neighbour_ratios"),
            ("spd", "neighbour_ratios"),
        ),
    ),
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
            if not found.isdisjoint([*rule.others, *((study, read) for read in rule.reads)])
        }
        if behind <= found:
            return jobs(found)
        found |= behind


@pytest.fixture(scope="module")
def loaded(source):
    """The project's files that the imports of each script load, by script."""
    return loaded_by(source, SCRIPTS)


def edit(path):
    """Change a file's text, not what it does."""
    path.write_text(path.read_text() + "# edited\n")


def test_table_of_jobs_is_complete(finished):
    assert finished.planned("--forceall") == jobs(RULES)


def test_every_script_of_a_rule_is_used(source):
    # Modules beside the scripts do not use the job's object by themselves, and some stages are no
    # part of a configuration.
    scripts = {
        path.name
        for path in (source / "workflow" / "scripts").glob("*.py")
        if "with job(snakemake):" in path.read_text() and not path.name.startswith(APART)
    }
    assert scripts == SCRIPTS


def test_declared_library_is_what_imports_load(finished, loaded):
    expected = {name: {tuple(loaded[rule.script])} for (_, name), rule in RULES.items()}
    assert declared_by(finished) == expected


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
        "geodp/stand_in.py",
        "simulated.py",
        "claims.py",
    ],
)
def test_edited_library_file_reruns_the_jobs_that_load_it(finished_copy, loaded, file):
    edit(finished_copy.root / "workflow" / "scripts" / file)
    users = {place for place, rule in RULES.items() if file in loaded[rule.script]}
    assert finished_copy.planned() == stale(users)
    assert 0 < len(users) < len(RULES)
    if file == "geodp/plotting.py":
        assert users == FIGURES


@pytest.mark.parametrize(
    "script", ["read_data.py", "stand_in_data.py", "sample_cells.py", "figure_error.py"]
)
def test_edited_script_reruns_its_rule(finished_copy, script):
    edit(finished_copy.root / "workflow" / "scripts" / script)
    users = {place for place, rule in RULES.items() if rule.script == script}
    assert finished_copy.planned() == stale(users)


def test_changed_lock_reruns_everything(finished_copy):
    edit(finished_copy.root / "envs" / "requirements.txt")
    assert finished_copy.planned() == jobs(RULES)


SAMPLED = [place for place, rule in RULES.items() if rule.script == "sample_cells.py"]

CORPUS = ("studies", "corpus_callosum")

# A key of the configuration, its new value, and what reads it.
CHANGES = {
    "seed": (
        ("seed",),
        8,
        [
            *((study, name) for study, (name, _, _) in SOURCES.items() if name != "read_data"),
            *(("sphere", "neighbour_ratios"), ("spd", "neighbour_ratios")),
            # Reading a table takes no seed, saying what it is does.
            ("rats", "describe_data"),
            *SAMPLED,
        ],
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
    "values of a figure of ellipses": (
        ("studies", "spd", "figures", "figure_8", "values"),
        [0.5],
        [("spd", "predict_spd_figure_8")],
    ),
    "steps of a figure of convergence": (
        (*CORPUS, "figures", "figure_3_convergence", "steps"),
        60,
        [("corpus_callosum", CONVERGE)],
    ),
    "steps of the random walk": (
        ("studies", "sphere", "random_walk", "steps"),
        101,
        [("sphere", RANDOM_WALK)],
    ),
    "spread of random points": (
        ("studies", "spd", "data", "random_point_radius"),
        0.8,
        [("spd", "simulate_data"), ("spd", "neighbour_ratios")],
    ),
    "support": (
        ("studies", "rats", "support"),
        {"shooting_vector_length": 1.0},
        [("rats", "bound_sensitivity")],
    ),
    "size of the stand-in": (
        (*CORPUS, "data", "stand_in", "n"),
        21,
        [("corpus_callosum", "stand_in_data")],
    ),
    # The figure of convergence shows the reduced shapes too.
    "map of landmarks": (
        ("studies", "reduced", "manifold", "landmark_map", "harmonics"),
        3,
        [("reduced", "stand_in_data")],
    ),
    "note of a study": (
        (*CORPUS, "note"),
        "Of no use to anyone.",
        [place for place in FIGURES if place[0] == "corpus_callosum"],
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


@pytest.mark.parametrize(
    "file", ["resources/published/kulkarni_soto_claims.csv", "workflow/report/claims.html.j2"]
)
def test_changed_claims_or_page_reruns_the_verdicts_alone(finished_copy, file):
    edit(finished_copy.root / file)
    assert finished_copy.planned() == {"evaluate_claims": 1}


def test_run_without_claims_gives_no_verdicts(finished_copy, small):
    finished_copy.configure(small | {"claims": None})
    everything = jobs(RULES)
    del everything["evaluate_claims"]
    assert finished_copy.planned("--forceall") == everything
