"""What a run prints, from the records that Snakemake logs."""

import logging

import pytest
from snakemake.logging import ColorizingTextHandler, DefaultFilter
from snakemake_interface_logger_plugins.common import LogEvent

from reproduction import progress
from reproduction.progress import Progress, duration, show_progress


def record(text=None, event=None, level=logging.INFO, **more):
    return logging.makeLogRecord(
        {"msg": text, "event": event, "levelno": level, "levelname": "INFO", **more}
    )


def begin(jobid, message, rule="fit"):
    return record(event=LogEvent.JOB_INFO, jobid=jobid, rule_msg=message, rule_name=rule)


def end(jobid):
    return record("Finished", LogEvent.JOB_FINISHED, job_id=jobid)


def failure(jobid, log):
    return record("Error", LogEvent.JOB_ERROR, jobid=jobid, rule_name="fit", log=[str(log)])


def count(done, total):
    return record(event=LogEvent.PROGRESS, done=done, total=total)


@pytest.fixture
def clock(monkeypatch):
    """Seconds since the beginning, to be set."""
    now = {"at": 0.0}
    monkeypatch.setattr(progress.time, "monotonic", lambda: now["at"])
    return now


def show(shown, *records):
    """Lines of the records that are not dropped."""
    return [text for one in records if shown.observe(one) and (text := shown.format(one))]


def test_a_job_that_ends_is_one_line_with_time_taken_and_left(clock):
    shown = Progress()
    assert show(shown, begin(3, "sphere: fit"), begin(4, None, "other")) == []
    clock["at"] = 10.0
    assert show(shown, end(3), count(1, 4)) == ["1/4 sphere: fit (10 s), about 30 s left"]
    clock["at"] = 200.0
    # Without a message the rule has to do.
    assert show(shown, end(4), count(2, 4)) == ["2/4 other (3 min), about 3 min left"]


def test_nothing_is_left_after_the_last_job(clock):
    shown = Progress()
    assert show(shown, begin(1, "all", "all"), end(1), count(7, 7)) == ["7/7 all (0 s)"]


def test_routine_is_dropped_and_what_matters_is_not():
    shown = Progress()
    words = [
        record("Select jobs to execute..."),
        record("Building DAG of jobs..."),
        record("Job stats: many", LogEvent.RUN_INFO),
        record("Execute 2 jobs...", LogEvent.JOB_STARTED),
        record("Provided cores: 2", LogEvent.RESOURCES_INFO),
    ]
    assert show(shown, *words) == []
    kept = ["Nothing to be done", "MissingInputException in rule x", "Will exit after finishing"]
    assert show(shown, *map(record, kept)) == kept
    assert show(shown, record("No cores", LogEvent.ERROR)) == ["No cores"]


def test_failures_are_named_at_once_and_explained_in_the_end(tmp_path):
    log = tmp_path / "fit.log"
    log.write_text("Traceback\n  line\nKeyError: 'x'\n")
    shown = Progress()
    assert show(shown, begin(1, "rats: fit"), failure(1, log)) == ["rats: fit: failed"]
    assert shown.failures() == f"KeyError: 'x'\n    (while: rats: fit; log: {log})"
    log.write_text("")
    assert shown.failures().startswith("A job was killed or could not begin.")


def test_success_says_where_results_are_if_all_were_made(clock):
    shown = Progress()
    clock["at"] = 100.0
    assert shown.success("results/mine", ["sphere"], ["paper"]) == "Done in 2 min."
    shown.observe(begin(0, None, "all"))
    lines = shown.success("results/mine", ["sphere"], ["paper"]).splitlines()
    assert lines[1].startswith("Figures and tables: results/mine/")
    assert lines[2] == "Verdicts on the claims: results/mine/claims.html"
    assert len(shown.success("results/mine", ["sphere"], []).splitlines()) == 2
    plan = shown.success("results/mine", [], []).splitlines()
    assert plan[1:] == ["Predicted errors: results/mine/plan"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (3540, "59 min"), (7500, "2 h 5 min")],
)
def test_durations_are_words(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(("dryrun", "verbose"), [(False, False), (True, False), (False, True)])
def test_dry_and_verbose_runs_are_left_as_they_are(dryrun, verbose):
    logger = logging.getLogger("snakemake.logging")
    handler = ColorizingTextHandler(nocolor=True)
    handler.name = "DefaultStreamHandler"
    handler.addFilter(DefaultFilter(set(), False, verbose, dryrun, False))
    logger.addHandler(handler)
    try:
        shown = show_progress()
    finally:
        logger.removeHandler(handler)
    assert (handler.formatter is shown) == (not dryrun and not verbose)
