# Configuration and default target.  The rules are in workflow/rules, included below in the order
# in which a study runs: data, fit, sensitivity, draws, tables, figures.
import sys

from snakemake.utils import min_version

min_version("9.0")


# The folder of this file.  As a module, `workflow.basedir` is that of the other workflow.
sys.path.insert(0, f"{workflow.current_basedir}/workflow/scripts")

from reproduction.places import shipped
from reproduction.progress import show_progress
from reproduction.recovery import guard

# A configuration given on the command line replaces the default one whole; and that given to a
# module, for which Snakemake passes over this one.
if not workflow.overwrite_configfiles:

    configfile: shipped("config/config.yaml")


# Whether this workflow is run by itself.  As a module it leaves to the other workflow what a run
# prints, and its target if it has one; Snakemake passes over onstart, onsuccess and onerror.
IS_MAIN = workflow.modifier.is_main_snakefile()
IS_FIRST = workflow.default_target is None
if IS_MAIN:
    PROGRESS = show_progress()
    guard(workflow)


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/fit.smk"
include: "workflow/rules/sensitivity.smk"
include: "workflow/rules/sample.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/measurements.smk"
include: "workflow/rules/benchmark.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/plan.smk"
include: "workflow/rules/utility.smk"
include: "workflow/rules/means.smk"
include: "workflow/rules/tools.smk"
include: "workflow/rules/linear.smk"
include: "workflow/rules/release.smk"
include: "workflow/rules/targets.smk"


rule all:
    default_target: IS_FIRST
    input:
        study_files(),
        plan_files(),
        other_files,
        report_files(),
    message:
        "all results are there"


if RELEASE is not None:
    workflow.default_target = "release"


onstart:
    # To limit the rate of jobs, Snakemake looks for jobs to start again a second after each look.
    # Each finished job adds such a series of looks.  On one machine there is no rate to limit.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
    # Before the first job, and not whenever a job reads this file.
    from reproduction.ranges import check_ranges

    try:
        check_ranges(STUDIES)
    except DataError as problem:
        sys.exit(f"Error: {problem}")


onsuccess:
    print(PROGRESS.success(RESULTS, STUDIES, report_files()), file=sys.stderr)


onerror:
    print(PROGRESS.failures(), file=sys.stderr)
