"""Which jobs run again after a change: those it touches and those behind them, and no others."""

import os

import pytest

from reproduction.dependencies import code
from reproduction.jobs import load_arrays, load_cells

SCRIPTS = "workflow/scripts"

# Jobs of the small configuration by rule; and of those that are behind draws of every study.
ALL = {
    **{"fit": 6, "sample": 10, "evaluate": 5, "neighbour_ratios": 1, "privacy_losses": 1},
    **{"figure_table": 6, "figure": 9, "evaluate_claims": 1, "report": 1},
}
# The transport of vectors rests on no data, and its figure reads nothing else.
BEHIND_MECHANISM = ALL | {"figure_table": 5, "figure": 8}
VERDICTS = {"evaluate_claims": 1, "report": 1}


def append(path, line):
    path.write_text(path.read_text() + line)


def test_fingerprints_cover_what_jobs_load(finished):
    """A job's parameter is the fingerprint of its script and of all modules that it loaded."""
    folder = finished.root / SCRIPTS
    assert len(finished.jobs) == sum(ALL.values())
    for job in finished.jobs:
        assert {"reproduction/__init__.py", "reproduction/jobs.py"} <= set(job["loaded"])
        modules = [path.removesuffix(".py").replace("/", ".") for path in job["loaded"]]
        modules = [name for name in modules if not name.endswith("__init__")]
        assert job["code"] == code(job["script"], *modules, folder=folder), job


FILES = {
    f"{SCRIPTS}/geodp/mechanisms/density.py": BEHIND_MECHANISM,
    "envs/requirements.txt": ALL,
    "resources/published/kulkarni_soto_claims.csv": VERDICTS,
    "workflow/report/captions.html.j2": {"report": 1},
}


@pytest.mark.parametrize("file", FILES)
def test_changed_files_rerun_the_jobs_that_need_them(finished_copy, file):
    append(finished_copy.root / file, "EDITED = True\n" if file.endswith(".py") else "# edited\n")
    assert finished_copy.planned() == FILES[file]


# Keys of the configuration, their new values, and jobs that run again.  Keys of different studies
# change together, since their jobs add up.
CHANGES = {
    "seed": ({"seed": 8}, BEHIND_MECHANISM | {"fit": 5}),
    "draws, values of a figure of shapes, size of the stand-in": (
        {
            **{"sphere.draws.footpoint": 3, "rats.figures.shapes.values": [7, 60]},
            "corpus_callosum.data.stand_in.n": 21,
        },
        {"fit": 1, "sample": 7, "evaluate": 2, "figure_table": 4, "figure": 6, **VERDICTS},
    ),
    # The figure of convergence shows the reduced shapes too.
    "steps of the random walk, support, map of landmarks": (
        {
            **{"sphere.random_walk.steps": 101, "rats.support": {"shooting_vector_length": 1.0}},
            "reduced.manifold.landmark_map.harmonics": 3,
        },
        {"fit": 2, "sample": 3, "evaluate": 3, "figure_table": 2, "figure": 4, **VERDICTS},
    ),
    "setting of a figure, note of a study": (
        {"sphere.figures.figure_1.curves": "noise_variance", "corpus_callosum.note": "Of no use."},
        {"figure": 3, "report": 1},
    ),
}


@pytest.mark.parametrize(("values", "expected"), CHANGES.values(), ids=CHANGES)
def test_changed_configuration_reruns_what_reads_it(finished_copy, small, values, expected):
    for place, value in values.items():
        *keys, last = place.split(".")
        part = small["studies"] if keys else small
        for key in keys:
            part = part[key]
        part[last] = value
    finished_copy.configure(small)
    assert finished_copy.planned() == expected


def test_changed_table_reruns_its_study_alone(finished_copy):
    assert finished_copy.planned() == {}
    table = finished_copy.root / "resources" / "vilmann_rats.csv"
    # The last record once more.
    append(table, table.read_text().splitlines()[-1] + "\n")
    # Older than what was made of it, as a copy may be.
    os.utime(table, (0, 0))
    of_rats = ("fit", "sample", "evaluate", "figure_table", "figure", "report")
    assert finished_copy.planned() == dict.fromkeys(of_rats, 1)


def sampled_arrays(run):
    """Bytes of the arrays of all cells, by study, group, sampler, cell and name."""
    return {
        (name.rpartition("_")[0], cell, key): values.tobytes()
        for name, path in run.files("*.npz").items()
        if "/cells/" in name
        for cell, found in load_cells(path).items()
        for key, values in found.items()
    }


def contents(path):
    """What a file holds, whatever made it."""
    if path.suffix != ".npz":
        return path.read_bytes()
    arrays = load_arrays(path)
    del arrays["made_by"]
    return {name: (each.dtype, each.shape, each.tobytes()) for name, each in arrays.items()}


def test_cores_and_blocks_change_no_number(finished, checkout, small):
    """Nor the other studies of a configuration."""
    small["cells_per_job"], small["papers"] = 3, []
    small["studies"] = {"sphere": small["studies"]["sphere"]}
    checkout.configure(small)
    chosen = ("groups/", "tables/errors.", "tables/diagnostics.", "figures/figure_1.")
    compared = [
        name for name in finished.files() if name.startswith(tuple(f"sphere/{c}" for c in chosen))
    ]
    checkout.run(*(f"results/small/{name}" for name in compared), cores=1)
    files, again = finished.files(), checkout.files()
    for name in compared:
        assert contents(files[name]) == contents(again[name]), name
    expected = sampled_arrays(finished).items()
    expected = {key: values for key, values in expected if key[0].startswith("sphere")}
    assert sampled_arrays(checkout) == expected


def test_plan_of_a_million_cells_takes_seconds(checkout, small):
    """A thousand groups, each with a noise variance, with a thousand budgets each."""
    sphere = {key: small["studies"]["sphere"][key] for key in ("manifold", "data", "draws")}
    sphere["budgets"] = {"equal": {"totals": [f"{2 * (k + 1) / 100:.2f}" for k in range(1000)]}}
    variances = [f"{(k + 1) / 10000:.4f}" for k in range(1000)]
    sphere["cells"] = [{"n": [5], "noise_variance": variances, "budgets": ["equal"]}]
    checkout.configure({"name": "sweep", "seed": 1, "studies": {"sphere": sphere}})
    before = os.times()
    planned = checkout.planned()
    after = os.times()
    spent = after.children_user + after.children_system
    # Of the processor, which other processes hardly change.
    assert spent - before.children_user - before.children_system < 20.0
    # Each job takes cells enough to be worth its start.
    assert planned == {"fit": 1000, "sample": 1000, "evaluate": 1, "report": 1}
