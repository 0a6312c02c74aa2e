# What the audit, the benchmark, the utility and the comparison share.
# They have settings and results of their own, which no study and no other configuration changes.
import re

from reproduction.configuration import load_audit, load_settings, load_utility


@cache
def settings_of(stage):
    """Settings of a stage. They are read once one of its own targets is asked for."""
    load = {
        "audit": lambda: load_audit(ROOT / "config"),
        "benchmark": lambda: load_settings(ROOT / "config" / "benchmark.yaml"),
        "utility": lambda: load_utility(ROOT / "config"),
    }
    try:
        return load[stage]()
    except DataError as problem:
        # One sentence, with no trace of the rule that asked first.
        sys.exit(f"Error: {problem}")


def part_of(stage, *keys):
    """Some keys of a stage's settings, as a job runs again when one of its own is changed."""
    return {key: settings_of(stage)[key] for key in keys}


def spaces_by_file(stage):
    """Names of a stage's spaces by what their files are called."""
    return {re.sub("[^a-z0-9]", "", name.lower()): name for name in settings_of(stage)["spaces"]}


def space_named(stage, wildcards):
    """The space that a file's name means."""
    known = spaces_by_file(stage)
    if wildcards.space not in known:
        sys.exit(
            f"Error: config/{stage}.yaml has no space {wildcards.space}: ask for one of "
            f"{', '.join(known)}"
        )
    return known[wildcards.space]


def measured_by(script, module):
    """Library files of a script and of the module of `reproduction.measurements` that it runs."""
    path = f"reproduction/measurements/{module.replace('.', '/')}.py"
    file = str((SCRIPTS / path).relative_to(ROOT))
    return sorted({file, *library(script), *library(path)})


def whole_machine(wildcards):
    """As many threads as the run has cores; one where nobody has said how many."""
    return workflow.global_resources["_cores"].value or 1
