"""What a run prints, from the records that Snakemake logs."""

import io
import logging
import re
import threading
import time

import pytest
from snakemake.logging import ColorizingTextHandler, DefaultFilter
from snakemake_interface_logger_plugins.common import LogEvent

from reproduction import progress
from reproduction.made import INTERRUPTED
from reproduction.progress import Progress, WholeLines, cost, duration, show_progress


def record(text=None, event=None, level=logging.INFO, **more):
    return logging.makeLogRecord(
        {"msg": text, "event": event, "levelno": level, "levelname": "INFO", **more}
    )


def begin(jobid, message, rule="fit", given=(), made=()):
    return record(
        event=LogEvent.JOB_INFO,
        jobid=jobid,
        rule_msg=message,
        rule_name=rule,
        input=list(given),
        output=list(made),
    )


def end(jobid):
    return record("Finished", LogEvent.JOB_FINISHED, job_id=jobid)


def failure(jobid, log):
    return record("Error", LogEvent.JOB_ERROR, jobid=jobid, rule_name="fit", log=[str(log)])


def all_jobs(stats):
    return record("Job stats: many", LogEvent.RUN_INFO, stats=stats)


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


def test_lines_are_written_as_wholes():
    class Stream:
        def __init__(self):
            self.written = []

        def write(self, text):
            self.written.append(text)

        def isatty(self):
            return False

    below = Stream()
    lines = WholeLines(below)
    for text in ("1/3 a job", "\n", "", "two\nlines and", " a half"):
        lines.write(text)
    assert below.written == ["1/3 a job\n", "two\n"]
    assert lines.isatty() is False
    lines.write("\n")
    assert below.written[-1] == "lines and a half\n"


def test_a_job_that_ends_is_one_line_with_time_taken_and_left(clock):
    shown = Progress()
    jobs = {"fit": 2, "sample": 2, "total": 4}
    assert show(shown, begin(3, "sphere: fit"), begin(4, None), all_jobs(jobs)) == []
    clock["at"] = 10.0
    # As long as the other fit, which runs since then, and twice what draws are to a fit.
    rest = 10.0 * (cost("fit") + 2 * cost("sample") - 0.9 * cost("fit")) / (1.9 * cost("fit"))
    expected = f"1/4 sphere: fit (10 s), about {duration(rest)} left"
    assert show(shown, end(3), count(1, 4)) == [expected]
    clock["at"] = 200.0
    # Without a message the rule has to do.
    rest = 200.0 * cost("sample") / cost("fit")
    assert show(shown, end(4), count(2, 4)) == [f"2/4 fit (3 min), about {duration(rest)} left"]


def test_draws_take_longer_than_fits_and_all_rules_have_a_cost():
    assert cost("sample") > cost("table_rats_shapes") > cost("fit") > 0.0
    assert cost("describe_data") == cost("fit")


def test_a_long_job_is_named_again_and_again(clock):
    shown = Progress()
    show(shown, begin(1, "sphere: draws"), begin(2, "rats: fit"))
    clock["at"] = 14.0
    assert shown.still_running() == ""
    clock["at"] = 16.0
    # Before a job has ended nothing is known of the time left.
    assert shown.still_running() == "still running: sphere: draws (16 s) and 1 more"
    show(shown, all_jobs({"fit": 3, "total": 3}), end(2), count(1, 3))
    clock["at"] = 30.0
    assert shown.still_running() == ""
    clock["at"] = 32.0
    # Of three equal jobs one is over and one nearly.
    rest = duration(32.0 * 1.1 / 1.9)
    assert shown.still_running() == f"still running: sphere: draws (32 s), about {rest} left"
    show(shown, end(1), count(2, 3))
    clock["at"] = 90.0
    assert shown.still_running() == ""


def test_what_runs_is_shown_until_the_run_is_over(monkeypatch):
    """By a thread, to the terminal and not to the log file."""
    monkeypatch.setattr(progress, "SILENCE", 0.0)
    stream = io.StringIO()
    handler = ColorizingTextHandler(nocolor=True, stream=stream)
    shown = Progress()
    handler.addFilter(shown.observe)
    handler.setFormatter(shown)
    handler.handle(begin(1, "sphere: draws"))
    watching = threading.Thread(target=shown.watch, args=(handler,))
    watching.start()
    while not stream.getvalue():
        time.sleep(0.05)
    shown.success("results/mine", [], [])
    watching.join(10.0)
    assert not watching.is_alive()
    assert stream.getvalue().startswith("still running: sphere: draws (")


def test_nothing_is_left_after_the_last_job(clock):
    shown = Progress()
    assert show(shown, begin(1, "all", "all"), end(1), count(7, 7)) == ["7/7 all (0 s)"]


def test_routine_is_dropped_and_what_matters_is_not():
    shown = Progress()
    words = [
        record("Select jobs to execute..."),
        record("Building DAG of jobs..."),
        all_jobs({"fit": 2, "total": 2}),
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


def test_a_job_that_is_interrupted_did_not_fail(tmp_path):
    log = tmp_path / "fit.log"
    log.write_text(f"{INTERRUPTED}\n")
    shown = Progress()
    assert show(shown, begin(1, "rats: fit"), failure(1, log)) == ["rats: fit: stopped"]
    assert shown.failures() == f"{INTERRUPTED}\n    (while: rats: fit; log: {log})"


def test_jobs_that_fail_alike_share_their_sentence(tmp_path):
    shown = Progress()
    for jobid in (1, 2, 3):
        log = tmp_path / f"{jobid}.log"
        log.write_text("Error: no\n" if jobid < 3 else "Error: other\n")
        show(shown, begin(jobid, f"job {jobid}"), failure(jobid, log))
    assert shown.failures().splitlines() == [
        "Error: no",
        f"    (while: job 1 and 1 more; log: {tmp_path / '1.log'})",
        "Error: other",
        f"    (while: job 3; log: {tmp_path / '3.log'})",
    ]


def error(text):
    return record(text, LogEvent.ERROR, logging.ERROR)


TRACEBACK = "Traceback (most recent call last):\nOSError: [Errno 28] No space left on device"
FULL = r"Error: the disk at \S+ is full: free some space, then start the run again"


def test_a_full_disk_of_snakemakes_own_files_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = Progress()
    [sentence] = show(shown, error(TRACEBACK))
    assert re.fullmatch(FULL, sentence)
    assert show(shown, error(TRACEBACK)) == []
    # Another error is shown as it is.
    assert show(Progress(), error("Traceback\nOSError: [Errno 13] no")) == [
        "Traceback\nOSError: [Errno 13] no"
    ]


def test_a_job_that_a_full_disk_keeps_from_beginning_is_told_in_the_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = Progress()
    log = tmp_path / "fit.log"
    records = begin(1, "rats: fit"), error(f"RuleException:\n{TRACEBACK}"), failure(1, log)
    assert show(shown, *records) == ["rats: fit: failed"]
    first, second = shown.failures().splitlines()
    assert re.fullmatch(FULL, first)
    assert second == f"    (while: rats: fit; log: {log})"
    assert show(shown, error(TRACEBACK)) == []


def test_success_says_where_results_are_if_all_were_made(clock):
    shown = Progress()
    clock["at"] = 100.0
    report = ["results/mine/report.html"]
    assert shown.success("results/mine", ["sphere"], report) == "Done in 2 min."
    shown.observe(begin(0, None, "all"))
    lines = shown.success("results/mine", ["sphere"], report).splitlines()
    assert lines[1].startswith("Figures and tables: results/mine/")
    assert lines[2] == "Open results/mine/report.html"
    assert len(shown.success("results/mine", ["sphere"], []).splitlines()) == 2
    plan = shown.success("results/mine", [], []).splitlines()
    assert plan[1:] == ["Predicted errors: results/mine/plan"]


def test_success_names_the_files_of_other_targets():
    """Those that no other job read, and of each job the one to open."""
    shown = Progress()
    show(
        shown,
        begin(1, None, "audit_losses", ["a.csv"], ["parts.csv"]),
        begin(2, None, "audit", ["parts.csv"], ["audit.csv", "audit.pdf", "audit.html"]),
        begin(3, None, "figure", ["b.csv"], ["figure.svg", "figure.pdf"]),
        begin(4, None, "fit", [], ["fit.json"]),
        # A target that names files does not read them.
        begin(5, None, "paper", ["figure.pdf"]),
    )
    lines = shown.success("results/mine", ["sphere"], []).splitlines()
    assert lines[1:] == ["Open audit.html", "Open figure.pdf", "Open fit.json"]
    many = [begin(10 + index, None, "fit", [], [f"{index}.csv"]) for index in range(4)]
    show(shown, *many)
    lines = shown.success("results/mine", ["sphere"], []).splitlines()
    assert len(lines) == 7
    assert lines[-1] == "and 2 more files"


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
        shown.over.set()
    assert (handler.formatter is shown) == (not dryrun and not verbose)
