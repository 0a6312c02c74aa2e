"""What `--logger geodp` prints, from the records that Snakemake logs."""

import io
import logging
from types import SimpleNamespace

from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_geodp import LogHandler


def record(text=None, event=None, at=0.0, **more):
    return logging.makeLogRecord({"msg": text, "event": event, "created": at, **more})


def total(number):
    return record("Job stats", LogEvent.RUN_INFO, stats={"total": number})


def begin(jobid, message, at=0.0, given=(), made=()):
    names = {"rule_msg": message, "rule_name": "fit", "input": given, "output": made}
    return record(None, LogEvent.JOB_INFO, at, jobid=jobid, **names)


def end(jobid, at):
    return record("Finished", LogEvent.JOB_FINISHED, at, job_id=jobid)


def failure(jobid, log):
    names = {"rule_msg": None, "rule_name": "fit"}
    return record("Error", LogEvent.JOB_ERROR, jobid=jobid, log=[str(log)], **names)


def shown(*records, dryrun=False):
    """Lines of a run that logs some records."""
    settings = SimpleNamespace(stdout=False, dryrun=dryrun, verbose=False)
    handler = LogHandler(settings, None)
    handler.stream = io.StringIO()
    for each in records:
        handler.handle(each)
    handler.close()
    handler.close()
    return handler.stream.getvalue().splitlines()


def test_a_line_a_job_and_what_to_open():
    """Of the files that no job read, those of the most readable kind."""
    lines = shown(
        total(3),
        begin(1, "sphere: fit", 5.0, made=["fit.json"]),
        end(1, 15.0),
        record(None, LogEvent.PROGRESS, done=1, total=3),
        begin(2, None, 16.0, given=["fit.json"], made=["b.html", "a.html", "b.csv"]),
        end(2, 200.0),
        # A target that names files does not read them.
        begin(3, "all", 200.0, given=["b.html"]),
        end(3, 200.0),
    )
    assert lines == [
        *("1/3 sphere: fit (10 s)", "2/3 fit (3 min)", "3/3 all (0 s)"),
        *("Done in 3 min.", "Open a.html", "Open b.html"),
    ]
    many = [begin(job, None, made=[f"{job}.csv"]) for job in range(7)]
    *_, last = shown(total(7), *many, *(end(job, 1.0) for job in range(7)))
    assert last == "and 2 more files"


def test_failures_are_explained_in_the_end_and_those_that_are_alike_together(tmp_path):
    texts = {1: "Traceback\nKeyError: 'x'\n", 2: "Error: no\n", 3: "Error: no\n", 4: ""}
    logs = {job: tmp_path / f"{job}.log" for job in texts}
    for job, text in texts.items():
        logs[job].write_text(text)
    begun = [begin(job, f"job {job}") for job in texts]
    lines = shown(total(5), *begun, *(failure(job, log) for job, log in logs.items()))
    assert lines == [
        *(f"job {job}: failed" for job in texts),
        *("KeyError: 'x'", f"    (while: job 1; log: {logs[1]})"),
        *("Error: no", f"    (while: job 2 and 1 more; log: {logs[2]})"),
        *("A job was killed or could not begin.", f"    (while: job 4; log: {logs[4]})"),
    ]
    # On a cluster a job may fail and be run again.
    retried = shown(total(1), begin(1, "job"), failure(1, logs[1]), end(1, 1.0))
    assert retried == ["job: failed", "1/1 job (1 s)", "Done in 1 s."]


def test_routine_is_not_shown_and_what_matters_is():
    kept = ["Nothing to be done", "MissingInputException in rule x"]
    routine = record("Building DAG of jobs..."), record("Execute", LogEvent.JOB_STARTED)
    found = shown(*routine, *map(record, kept), record("No cores", LogEvent.ERROR))
    assert found == [*kept, "No cores"]
    assert shown(total(1), dryrun=True) == ["Job stats"]
