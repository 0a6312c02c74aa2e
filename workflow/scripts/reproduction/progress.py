"""What a run prints: a line for each job that ends, and in the end where to look."""

import logging
import time
from pathlib import Path

from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

# What Snakemake says of every run or again and again.
ROUTINE = (
    "Building DAG",
    "Using shell",
    "Conda environments: ignored",
    "Select jobs to execute",
    "Complete log(s)",
    "Elapsed time",
)
UNSEEN = (
    LogEvent.RUN_INFO,
    LogEvent.RESOURCES_INFO,
    LogEvent.JOB_INFO,
    LogEvent.JOB_STARTED,
    LogEvent.JOB_FINISHED,
    LogEvent.JOB_ERROR,
)


class Progress(DefaultFormatter):
    """Formatter of the handler that writes to the terminal; Snakemake's log file keeps everything.

    Of a job that ends it shows how many are done, what the job did, how long it took, and about how
    long the rest will take.
    """

    def __init__(self):
        super().__init__()
        self.began = time.monotonic()
        self.running = {}
        self.ended = []
        self.failed = []

    def observe(self, record):
        """Filter of the handler: remember a job, and whether to show the record."""
        event = getattr(record, "event", None)
        if event is LogEvent.JOB_INFO:
            what = record.rule_msg or record.rule_name
            self.running[record.jobid] = (what, time.monotonic())
        elif event is LogEvent.JOB_FINISHED:
            self.ended.append(self.running.pop(record.job_id, None))
        elif event is LogEvent.JOB_ERROR:
            self.failed.append((record.rule_msg or record.rule_name, list(record.log)))
        return event not in UNSEEN and not str(record.msg).startswith(ROUTINE)

    def format_progress(self, msg):
        """Lines for the jobs that ended since the last ones."""
        now = time.monotonic()
        done, total = msg["done"], msg["total"]
        # The target itself does nothing.
        lines = [
            f"{done}/{total} {what} ({duration(now - start)})"
            for what, start in filter(None, self.ended)
        ]
        self.ended = []
        if lines and done < total:
            left = (now - self.began) * (total - done) / done
            lines[-1] += f", about {duration(left)} left"
        return "\n".join(lines)

    def elapsed(self):
        """Time since the run began."""
        return duration(time.monotonic() - self.began)

    def failures(self):
        """A paragraph for each failed job: the end of its log, and where that is."""
        for what, logs in self.failed:
            for log in logs:
                lines = (
                    Path(log).read_text(encoding="utf-8").splitlines() if Path(log).exists() else []
                )
                yield f"Failed: {what} (log: {log})\n{lines[-1] if lines else 'It said nothing.'}"


def duration(seconds):
    """A length of time as a person says it."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def show_progress():
    """Shorten what this run prints, unless it prints by a plugin, in full, or runs nothing.

    Returns
    -------
    Progress
    """
    progress = Progress()
    for handler in logging.getLogger("snakemake.logging").handlers:
        if handler.name == "DefaultStreamHandler":
            [given] = handler.filters
            if not (given.dryrun or given.verbose):
                handler.addFilter(progress.observe)
                handler.setFormatter(progress)
    return progress
