"""Output of a run: a line for each finished job, and in the end the place of the results."""

import logging
import time
from pathlib import Path

from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

# Beginnings of Snakemake's routine messages, which are not shown.
ROUTINE = (
    "Building DAG",
    "Using shell",
    "Conda environments: ignored",
    "Select jobs to execute",
    "RuleException:\nCalledProcessError",
    "Exiting because a job execution failed",
    "WorkflowError:\nAt least one job did not complete",
    "Complete log(s)",
    "Elapsed time",
)
UNSEEN = (
    LogEvent.RUN_INFO,
    LogEvent.RESOURCES_INFO,
    LogEvent.JOB_INFO,
    LogEvent.JOB_STARTED,
    LogEvent.JOB_FINISHED,
)


class Progress(DefaultFormatter):
    """Formatter of Snakemake's terminal handler; the log file keeps everything.

    For each finished job it shows how many are done, what the job did, how long it took, and an
    estimate of the time left.
    """

    def __init__(self):
        super().__init__()
        self.began = time.monotonic()
        self.running = {}
        self.ended = []
        self.failed = []
        self.rules = set()

    def observe(self, record):
        """Filter of the handler: note the event, and return whether to show the record."""
        event = getattr(record, "event", None)
        if event is LogEvent.JOB_INFO:
            what = record.rule_msg or record.rule_name
            self.running[record.jobid] = (what, time.monotonic())
            self.rules.add(record.rule_name)
        elif event is LogEvent.JOB_FINISHED:
            self.ended.append(self.running.pop(record.job_id, None))
        return event not in UNSEEN and not str(record.msg).startswith(ROUTINE)

    def format_progress(self, msg):
        """Lines for the jobs that finished since the last call."""
        now = time.monotonic()
        done, total = msg["done"], msg["total"]
        # The default target has no work.
        lines = [
            f"{done}/{total} {what} ({duration(now - start)})"
            for what, start in filter(None, self.ended)
        ]
        self.ended = []
        if lines and done < total:
            left = (now - self.began) * (total - done) / done
            lines[-1] += f", about {duration(left)} left"
        return "\n".join(lines)

    def format_job_error(self, msg):
        """A line for a failed job, whose log is shown at the end."""
        what, _ = self.running.pop(msg["jobid"], (msg["rule_name"], None))
        self.failed += [(what, Path(log)) for log in msg["log"]]
        return f"{what}: failed"

    def success(self, results, studies, papers):
        """Text after a successful run: its duration, and the place of the results."""
        lines = [f"Done in {duration(time.monotonic() - self.began)}."]
        if "all" in self.rules:
            lines.append(
                f"Figures and tables: {results}/<study>/figures and {results}/<study>/tables"
                if studies
                else f"Predicted errors: {results}/plan"
            )
            lines += [f"Verdicts on the claims: {results}/claims.html"] if papers else []
        return "\n".join(lines)

    def failures(self):
        """Text after a failed run: the last line of the log of each failed job, and its path."""
        return "\n".join(
            f"{_last_line(log)}\n    (while: {what}; log: {log})" for what, log in self.failed
        )


def _last_line(log):
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    return lines[-1] if lines else "A job was killed or could not begin."


def duration(seconds):
    """A duration in words, such as "12 s" or "1 h 5 min"."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def show_progress():
    """Shorten the terminal output of this run, unless it is a dry run, verbose, or of a plugin.

    Returns
    -------
    Progress
    """
    progress = Progress()
    for handler in logging.getLogger("snakemake.logging").handlers:
        if handler.name == "DefaultStreamHandler":
            given = handler.filters[0]
            if not (given.dryrun or given.verbose):
                handler.addFilter(progress.observe)
                handler.setFormatter(progress)
    return progress
