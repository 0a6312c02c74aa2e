"""Jobs of scripts that are started by hand, without a run of the workflow."""

from argparse import ArgumentParser
from pathlib import Path
from types import SimpleNamespace

from reproduction.places import CHECKOUT


def job_of(script, *arguments):
    """The job that Snakemake would give to a script for a file.

    Parameters
    ----------
    script : str
        Path of the script.
    *arguments : str
        Of the command line: the file, and the configuration as Snakemake takes it.

    Returns
    -------
    SimpleNamespace
        With ``input``, ``output``, ``params``, ``wildcards``, ``threads``, ``log`` and ``rule``, as
        in Snakemake's ``snakemake`` object.
    """
    parser = ArgumentParser(
        prog=script, description="Make one file again; what it is made from has to be there."
    )
    parser.add_argument("file", help="one of the job's files, such as results/.../fit.json")
    parser.add_argument("--configfile", nargs="+", type=Path, default=[], help="as in the run")
    given = parser.parse_args(arguments)
    for path in given.configfile:
        if not path.is_file():
            parser.error(f"there is no configuration {path}: correct its path")

    from snakemake.api import SnakemakeApi
    from snakemake.dag import DAG
    from snakemake.jobs import Job
    from snakemake.settings.enums import Quietness
    from snakemake.settings.types import ConfigSettings, OutputSettings, ResourceSettings

    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        loaded = api.workflow(
            ResourceSettings(cores=1),
            config_settings=ConfigSettings(configfiles=given.configfile),
            snakefile=CHECKOUT / "workflow" / "Snakefile",
        )
        # Sets the workflow's settings, which the graph of jobs needs.
        loaded.dag()
        workflow = loaded._workflow
        name = Path(script).name
        for rule in workflow.rules:
            if rule.script and Path(rule.script).name == name and rule.is_producer(given.file):
                break
        else:
            parser.error(
                f"no rule makes {given.file} with {name}: name a file below results/ and the "
                "configuration of its run"
            )
        dag = DAG(workflow, [rule])
        job = Job(rule, dag, rule.get_wildcards(given.file), targetfile=given.file)
        missing = [file for file in job.input if not Path(file).exists()]
        if missing:
            parser.error(f"there is no {missing[0]}: run the workflow up to it first")
        return SimpleNamespace(
            **{name: getattr(job, name) for name in ("input", "output", "params", "wildcards")},
            threads=job.threads,
            log=job.log,
            rule=rule.name,
        )
