"""Which jobs run again after a change: those it touches and those behind them, and no others."""

import os
import re
from collections import Counter
from dataclasses import dataclass

import pytest

from reproduction.dependencies import code, needed

SCRIPTS = "workflow/scripts"


@dataclass(frozen=True)
class Rule:
    """One study's jobs of a rule: their script, their number, and the rules they read from.

    ``reads`` are rules of the same study, ``others`` pairs of another study and a rule; ``chosen``
    are modules that the script imports by names it is given.
    """

    script: str
    number: int
    reads: tuple = ()
    others: tuple = ()
    chosen: tuple = ()

    def code(self, root):
        return code(self.script, *self.chosen, folder=root / SCRIPTS)

    def needed(self, root):
        files = needed(self.script, *self.chosen, folder=root / SCRIPTS)
        return {str(file.relative_to(root / SCRIPTS)) for file in files}


MECHANISM = "geodp.mechanisms.kng_as_published"

# Where the data of each study come from, its number of groups, and its blocks of cells. These are
# of one rule and go by what is sampled besides.
SOURCES = {
    "sphere": ("simulated", 2, {"sample n5": 2, "sample n6": 2, "sample walk": 1}),
    "spd": ("simulated", 1, {"sample": 1}),
    "corpus_callosum": ("stand_in", 1, {"sample": 1, "sample walk": 1}),
    "reduced": ("stand_in", 1, {"sample": 1}),
    "rats": ("table", 1, {"sample": 1}),
}


def figure(kind, table="", *reads, shown="", others=(), chosen=()):
    """Jobs of a figure: its own table, if it has one, and its picture.

    ``shown`` is a rule of the study that makes the table it reads otherwise.
    """
    own = Rule("table.py", 1, reads, others, (f"reproduction.tables.{table}", *chosen))
    picture = Rule(
        "figures.py",
        1,
        (f"figure_table {kind}{table}",) if table else (shown,) if shown else (),
        chosen=(f"reproduction.figures.{kind}",),
    )
    made = {f"figure {kind}": picture}
    return made | {f"figure_table {kind}{table}": own} if table else made


# Jobs of the small configuration, written down by hand: what every study has, ...
RULES = {}
for study, (source_of_data, groups, blocks) in SOURCES.items():
    RULES |= {
        (study, "fit"): Rule(
            "fit.py", groups, chosen=(f"reproduction.data.{source_of_data}", MECHANISM)
        ),
        **{
            (study, name): Rule("sample.py", number, ("fit",), chosen=(MECHANISM,))
            for name, number in blocks.items()
        },
        (study, "evaluate"): Rule("evaluate.py", 1, ("fit", *blocks)),
    }

OF_STUDIES = {
    "sphere": (
        figure("error", shown="evaluate"),
        figure("samplers", shown="evaluate"),
        figure("transport", "transport"),
        figure("curves", "curves", "fit", "sample n5"),
        figure("ratios", shown="neighbour_ratios"),
    ),
    "spd": (figure("ellipses", "predictions", "fit", "sample"),),
    "corpus_callosum": (
        figure("shapes", "predictions", "fit", "sample", "sample walk"),
        figure(
            *("convergence", "convergence", "fit"),
            others=(("reduced", "fit"),),
            chosen=(MECHANISM,),
        ),
    ),
    "rats": (figure("shapes", "predictions", "fit", "sample"),),
}
RULES |= {
    (study, name): rule
    for study, several in OF_STUDIES.items()
    for each in several
    for name, rule in each.items()
}
CONVERGE = "figure_table convergenceconvergence"

# ... and what one of them has, or all together.
RULES |= {
    ("sphere", "neighbour_ratios"): Rule("neighbour_ratios.py", 1, chosen=(MECHANISM,)),
    ("sphere", "privacy_losses"): Rule(
        "table.py", 1, chosen=("reproduction.tables.losses", MECHANISM)
    ),
    ("claims", "evaluate_claims"): Rule(
        "claims.py",
        1,
        others=(
            # Those that claims name.
            *((study, "evaluate") for study in ("sphere", "spd", "corpus_callosum")),
            ("sphere", "privacy_losses"),
            ("corpus_callosum", CONVERGE),
            ("sphere", "neighbour_ratios"),
        ),
    ),
}

FIGURES = {place for place in RULES if place[1].startswith("figure ")}

RULES["report", "report"] = Rule(
    "report.py",
    1,
    others=(
        ("claims", "evaluate_claims"),
        ("sphere", "privacy_losses"),
        *((study, "evaluate") for study in SOURCES),
        *sorted(FIGURES),
    ),
)


def jobs(places):
    """Numbers of jobs by rule name."""
    counts = Counter()
    for study, name in places:
        counts[name.split()[0]] += RULES[study, name].number
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


def append(path, line):
    path.write_text(path.read_text() + line)


def test_fingerprints_cover_what_jobs_load(finished):
    places = {(study, name.split()[0]) for study, name in RULES}
    assert {(job["study"], job["rule"]) for job in finished.jobs} == places
    for job in finished.jobs:
        # Blocks of cells are of one rule, and so are figures.
        alike = [
            rule
            for (study, name), rule in RULES.items()
            if (study, name.split()[0]) == (job["study"], job["rule"])
        ]
        rule = next(each for each in alike if each.code(finished.root) == job["code"])
        # Snakemake runs a copy of the script itself, which loads the project's modules.
        assert {"reproduction/__init__.py", "reproduction/jobs.py"} <= set(job["loaded"])
        assert set(job["loaded"]) <= rule.needed(finished.root), job
        files = {f"{module.replace('.', '/')}.py" for module in rule.chosen}
        assert files <= set(job["loaded"])


def test_finished_run_has_nothing_to_do(finished_copy):
    before = {name: path.stat().st_mtime_ns for name, path in finished_copy.files().items()}
    assert "Nothing to be done" in finished_copy.run()
    assert {name: path.stat().st_mtime_ns for name, path in finished_copy.files().items()} == before


@pytest.mark.parametrize("file", ["reproduction/figures/style.py", "geodp/mechanisms/density.py"])
def test_changed_code_reruns_the_jobs_that_need_it(finished_copy, file):
    users = {place for place, rule in RULES.items() if file in rule.needed(finished_copy.root)}
    append(finished_copy.root / SCRIPTS / file, "EDITED = True\n")
    assert finished_copy.planned() == stale(users)
    assert 0 < len(users) < len(RULES)
    if file == "reproduction/figures/style.py":
        # The report asks a figure how its landmarks are shown.
        assert users == FIGURES | {("report", "report")}


def test_changed_lock_reruns_every_job_of_the_table(finished_copy):
    append(finished_copy.root / "envs" / "requirements.txt", "# edited\n")
    assert finished_copy.planned() == jobs(RULES)


SAMPLED = [place for place, rule in RULES.items() if rule.script == "sample.py"]

# Keys of the configuration, their new values, and what reads them.  Keys of different studies
# change together, since their jobs add up.
CHANGES = {
    "seed": (
        {"seed": 8},
        [
            *((study, "fit") for study, (name, _, _) in SOURCES.items() if name != "table"),
            *(("sphere", "neighbour_ratios"), ("sphere", "privacy_losses")),
            *SAMPLED,
        ],
    ),
    "draws, values of a figure of shapes, size of the stand-in": (
        {
            "sphere.draws.footpoint": 3,
            "rats.figures.shapes.values": [7, 60],
            "corpus_callosum.data.stand_in.n": 21,
        },
        [
            *(place for place in SAMPLED if place[0] == "sphere"),
            ("rats", "figure_table shapespredictions"),
            ("corpus_callosum", "fit"),
        ],
    ),
    # The figure of convergence shows the reduced shapes too.
    "steps of the random walk, support, map of landmarks": (
        {
            "sphere.random_walk.steps": 101,
            "rats.support": {"shooting_vector_length": 1.0},
            "reduced.manifold.landmark_map.harmonics": 3,
        },
        [
            ("sphere", "sample walk"),
            ("rats", "fit"),
            ("reduced", "fit"),
        ],
    ),
    "setting of a figure, note of a study": (
        {"sphere.figures.figure_1.curves": "noise_variance", "corpus_callosum.note": "Of no use."},
        [
            ("sphere", "figure error"),
            *(place for place in FIGURES if place[0] == "corpus_callosum"),
        ],
    ),
}


@pytest.mark.parametrize(("values", "readers"), CHANGES.values(), ids=CHANGES.keys())
def test_changed_configuration_reruns_what_reads_it(finished_copy, small, values, readers):
    for place, value in values.items():
        study, *keys = place.split(".")
        part = small["studies"][study] if keys else small
        for key in keys[:-1]:
            part = part[key]
        part[keys[-1] if keys else study] = value
    finished_copy.configure(small)
    assert finished_copy.planned() == stale(readers)


def test_changed_table_reruns_its_study_alone(finished_copy):
    table = finished_copy.root / "resources" / "vilmann_rats.csv"
    # The last record once more.
    append(table, table.read_text().splitlines()[-1] + "\n")
    # Older than what was made of it, as a copy may be.
    os.utime(table, (0, 0))
    assert finished_copy.planned() == stale([("rats", "fit")])


@pytest.mark.parametrize(
    ("file", "rules"),
    [
        ("resources/published/kulkarni_soto_claims.csv", ["evaluate_claims", "report"]),
        ("workflow/report/captions.html.j2", ["report"]),
    ],
)
def test_changed_claims_or_page_reruns_the_verdicts_alone(finished_copy, file, rules):
    append(finished_copy.root / file, "# edited\n")
    assert finished_copy.planned() == dict.fromkeys(rules, 1)


def test_every_rule_says_what_it_does(source):
    """In a line of its own: without a message Snakemake prints its name alone."""
    text = "".join(path.read_text() for path in (source / "workflow/rules").glob("*.smk"))
    pieces = re.split(r"^ *(?:use )?rule\b", text, flags=re.MULTILINE)[1:]
    assert [piece.split("\n")[0] for piece in pieces if "message:" not in piece] == []
