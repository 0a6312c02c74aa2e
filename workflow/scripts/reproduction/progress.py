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
        self.rules = set()

    def observe(self, record):
        """Filter of the handler: remember a job, and whether to show the record."""
        event = getattr(record, "event", None)
        if event is LogEvent.JOB_INFO:
            what = record.rule_msg or record.rule_name
            self.running[record.jobid] = (what, time.monotonic())
            self.rules.add(record.rule_name)
        elif event is LogEvent.JOB_FINISHED:
            self.ended.append(self.running.pop(record.job_id, None))
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

    def format_job_error(self, msg):
        """A line at once; what the log says is for the end."""
        what, _ = self.running.pop(msg["jobid"], (msg["rule_name"], None))
        self.failed += [(what, Path(log)) for log in msg["log"]]
        return f"{what}: failed"

    def success(self, results, claims):
        """Where to look, after a run that ended well."""
        lines = [f"Done in {duration(time.monotonic() - self.began)}."]
        if "all" in self.rules:
            lines.append(
                f"Figures and tables: {results}/<study>/figures and {results}/<study>/tables"
            )
            lines += [f"Verdicts on the claims: {results}/claims.html"] if claims else []
        return "\n".join(lines)

    def failures(self):
        """The last line of the log of every failed job, and where the log is."""
        return "\n".join(
            f"{_last_line(log)}\n    (while: {what}; log: {log})" for what, log in self.failed
        )


def _last_line(log):
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    return lines[-1] if lines else "A job was killed or could not begin."


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
            given = handler.filters[0]
            if not (given.dryrun or given.verbose):
                handler.addFilter(progress.observe)
                handler.setFormatter(progress)
    return progress
