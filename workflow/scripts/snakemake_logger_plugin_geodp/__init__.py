"""Logger plugin of Snakemake: a line for each finished job, then what failed or what was made.

`./run snakemake` chooses it, as ``--logger geodp``.  Dry and verbose runs look as Snakemake's own.
"""

import sys
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent


class LogHandler(LogHandlerBase):
    """The lines of a run, written by Snakemake's queue of records, one after another."""

    writes_to_stream = True
    writes_to_file = False
    # Snakemake's own filter obeys --quiet, and its formatter words what this plugin does not.
    has_filter = False
    has_formatter = False
    needs_rulegraph = False
    # Beginnings of routine messages, which are not shown either.
    routine = (
        "Building DAG",
        "Using shell",
        "Conda environments: ignored",
        "Select jobs to execute",
        "RuleException",
        "Exiting because a job execution failed",
        "Removing output files of failed job",
        "Shutting down, this might take some time",
        "WorkflowError:\nAt least one job did not complete",
        "Complete log(s)",
        "Elapsed time",
    )

    def __post_init__(self):
        settings = self.common_settings
        self.stream = sys.stdout if settings.stdout else sys.stderr
        self.is_plain = settings.dryrun or settings.verbose
        self.began, self.last = None, 0.0
        self.done, self.total = 0, 0
        self.jobs, self.failed = {}, []

    def emit(self, record):
        """Write the line of a record, if it has one."""
        line = ""
        match getattr(record, "event", None):
            case _ if self.is_plain:
                line = self.format(record)
            case LogEvent.RUN_INFO:
                self.began, self.total = record.created, record.stats["total"]
            case LogEvent.JOB_INFO:
                self.jobs[record.jobid] = record
            case LogEvent.JOB_FINISHED:
                self.done, self.last = self.done + 1, record.created
                if job := self.jobs.get(record.job_id):
                    took = duration(record.created - job.created)
                    line = f"{self.done}/{self.total} {title(job)} ({took})"
            case LogEvent.JOB_ERROR:
                what = title(self.jobs.get(record.jobid, record))
                self.failed += [(what, Path(log)) for log in record.log]
                line = f"{what}: failed"
            # The lines of jobs replace these.
            case LogEvent.RESOURCES_INFO | LogEvent.JOB_STARTED | LogEvent.PROGRESS:
                pass
            case _ if not str(record.msg).startswith(self.routine):
                line = self.format(record)
        self._write(line)

    def close(self, most=5):
        """Write how the run ended, if it had jobs, and name at most so many files."""
        lines = []
        if self.done and self.done == self.total:
            opened = to_open(self.jobs.values())
            lines = [f"Done in {duration(self.last - self.began)}."]
            lines += [f"Open {file}" for file in opened[:most]]
            lines += [f"and {len(opened) - most} more files"] if len(opened) > most else []
        elif self.failed:
            lines = failures(self.failed)
        self._write("\n".join(lines))
        self.failed, self.done = [], 0
        super().close()

    def _write(self, text):
        """Write text and its line end at once, so that jobs do not write between them."""
        if text and text != "None":
            self.stream.write(f"{text}\n")
            self.stream.flush()


def title(job):
    """What a job does: the message of its rule, or else the rule's name."""
    return job.rule_msg or job.rule_name


def failures(failed):
    """Last lines of the logs of failed jobs and where they are, a pair for those that are alike."""
    alike = {}
    for what, log in failed:
        lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
        sentence = lines[-1] if lines else "A job was killed or could not begin."
        alike.setdefault(sentence, []).append((what, log))
    shown = []
    for sentence, [(what, log), *others] in alike.items():
        more = f" and {len(others)} more" if others else ""
        shown += [sentence, f"    (while: {what}{more}; log: {log})"]
    return shown


def to_open(jobs):
    """Files to open after a run: of those that no job read, the ones of the most readable kind."""
    jobs = list(jobs)
    # A target that only names files reads none.
    read = {file for job in jobs if job.output for file in job.input}
    made = [file for job in jobs if read.isdisjoint(job.output) for file in job.output]
    kinds = (".html", ".md", ".pdf", ".csv", "")
    kinds = ([file for file in made if file.endswith(kind)] for kind in kinds)
    return sorted(next((files for files in kinds if files), []))


def duration(seconds):
    """A duration in words, such as "12 s" or "1 h 5 min"."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
