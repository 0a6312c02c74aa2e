"""Output of a run: a line for each finished job, and in the end the place of the results."""

import errno
import logging
import sys
import tempfile
import threading
import time
from pathlib import Path

from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

from reproduction.disk import ERRORS, full_disk, says_full
from reproduction.made import INTERRUPTED

# Beginnings of Snakemake's routine messages, which are not shown.
ROUTINE = (
    "Building DAG",
    "Using shell",
    "Conda environments: ignored",
    "Select jobs to execute",
    "RuleException:\nCalledProcessError",
    "Exiting because a job execution failed",
    "Removing output files of failed job",
    "Shutting down, this might take some time",
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


# Seconds without a line after which the jobs that run are named.
SILENCE = 15.0

# What to open of a target that has several files: the first of these that is there.
TO_OPEN = (".html", ".md", ".pdf", ".csv")

# Seconds that jobs of a rule took, on one core of two, by the beginning of its name: how long they
# are beside one another.  How fast this machine is shows while it runs.
COSTS = {
    "sample": 20.0,
    "table": 6.0,
    "evaluate": 8.0,
    "figure": 3.0,
    "audit": 60.0,
    "benchmark": 120.0,
    "utility": 60.0,
    "coverage": 150.0,
    "means": 60.0,
    "linear": 40.0,
    "": 1.5,
}

# Where Snakemake keeps its own files.
SNAKEMAKE_FILES = (".snakemake", Path.home(), tempfile.gettempdir())

# Most files that are named at the end of a run.
NAMED = 5


class Progress(DefaultFormatter):
    """Formatter of Snakemake's terminal handler; the log file keeps everything.

    For each finished job it shows how many are done, what the job did, how long it took, and an
    estimate of the time left.  When nothing was shown for a while it names what runs.
    """

    def __init__(self):
        super().__init__()
        self.began = self.shown = time.monotonic()
        self.done, self.total = 0, 0
        # Of jobs: what is over, and all there is.
        self.spent, self.expected = 0.0, 0.0
        self.running = {}
        self.ended = []
        self.failed = []
        self.rules = set()
        self.outputs, self.inputs = [], set()
        self.full = ""
        self.over = threading.Event()

    def observe(self, record):
        """Filter of the handler: note the event, and return whether to show the record."""
        event = getattr(record, "event", None)
        if event is LogEvent.JOB_INFO:
            what = record.rule_msg or record.rule_name
            self.running[record.jobid] = (what, time.monotonic(), cost(record.rule_name))
            self.rules.add(record.rule_name)
            self.outputs.append(list(record.output))
            # A target that only names files reads none.
            self.inputs.update(record.input if record.output else [])
        elif event is LogEvent.RUN_INFO:
            self.expected = sum(
                number * cost(rule) for rule, number in record.stats.items() if rule != "total"
            )
        elif event is LogEvent.JOB_FINISHED:
            ended = self.running.pop(record.job_id, None)
            self.ended.append(ended)
            self.spent += ended[-1] if ended else 0.0
        return event not in UNSEEN and not str(record.msg).startswith(ROUTINE)

    def format(self, record):
        """Text of a record; notes when something was shown."""
        text = super().format(record)
        if record.levelno >= logging.WARNING and says_full(text):
            # Of Snakemake's own files; of those of jobs their logs tell.
            found = filter(None, map(full_disk, SNAKEMAKE_FILES))
            self.full = next(found, "") or full_disk(".", OSError(errno.ENOSPC, ""))
            # What goes wrong with a job is told in the end, and all is told once.
            later = text.startswith("RuleException") or self.over.is_set()
            text = "" if later else self.full
            if text:
                self.over.set()
        if text:
            self.shown = time.monotonic()
        return text

    def format_progress(self, msg):
        """Lines for the jobs that finished since the last call."""
        now = time.monotonic()
        self.done, self.total = done, total = msg["done"], msg["total"]
        # The default target has no work.
        lines = [
            f"{done}/{total} {what} ({duration(now - start)})"
            for what, start, _ in filter(None, self.ended)
        ]
        self.ended = []
        if lines:
            lines[-1] += self._left(now)
        return "\n".join(lines)

    def _left(self, now):
        """The time left, from the costs of jobs, if those that are done give an idea of it."""
        # Jobs that run are on their way, as far as they took time.
        underway = sum(min(0.9 * each, now - start) for _, start, each in self.running.values())
        over = self.spent + underway
        if not self.spent or self.expected <= over or self.done == self.total:
            return ""
        left = (now - self.began) * (self.expected - over) / over
        return f", about {duration(left)} left"

    def still_running(self):
        """A line that names the job that has run longest, if nothing was shown for a while."""
        now = time.monotonic()
        jobs = list(self.running.values())
        if not jobs or now - self.shown < SILENCE:
            return ""
        what, start, _ = min(jobs, key=lambda job: job[1])
        more = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
        return f"still running: {what} ({duration(now - start)}){more}{self._left(now)}"

    def watch(self, handler):
        """Let a handler show what is `still_running`, until the run is over."""
        while not self.over.wait(1.0):
            text = self.still_running()
            if text:
                handler.handle(logging.makeLogRecord({"msg": text, "levelno": logging.INFO}))

    def format_job_error(self, msg):
        """A line for a failed job, whose log is shown at the end, or for one that was stopped."""
        what, *_ = self.running.pop(msg["jobid"], (msg["rule_name"],))
        logs = [Path(log) for log in msg["log"]]
        self.failed += [(what, log) for log in logs]
        return f"{what}: {'stopped' if INTERRUPTED in map(_last_line, logs) else 'failed'}"

    def success(self, results, studies, report):
        """Text after a successful run: its duration, and the place of the results.

        Of the default target that is the list ``report``; of others it names the files to open:
        outputs of jobs that no other job read.
        """
        self.over.set()
        lines = [f"Done in {duration(time.monotonic() - self.began)}."]
        if "all" not in self.rules:
            made = [
                min(files, key=_order)
                for files in self.outputs
                if files and not self.inputs.intersection(files)
            ]
            lines += [f"Open {file}" for file in sorted(made, key=_order)[:NAMED]]
            lines += [f"and {len(made) - NAMED} more files"] if len(made) > NAMED else []
        else:
            lines.append(
                f"Figures and tables: {results}/<study>/figures and {results}/<study>/tables"
                if studies
                else f"Predicted errors: {results}/plan"
            )
            lines += [f"Open {file}" for file in report]
        return "\n".join(lines)

    def failures(self):
        """Text after a failed run: the last line of the log of each failed job, and its path.

        Jobs that failed alike share their line.
        """
        self.over.set()
        alike = {}
        for what, log in self.failed:
            sentence = _last_line(log) or self.full or full_disk(log)
            sentence = sentence or "A job was killed or could not begin."
            alike.setdefault(sentence, []).append((what, log))
        lines = []
        for sentence, jobs in alike.items():
            what, log = jobs[0]
            more = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
            lines += [sentence, f"    (while: {what}{more}; log: {log})"]
        return "\n".join(lines)


def cost(rule):
    """Seconds that a job of a rule is expected to take, beside jobs of others."""
    return next(seconds for name, seconds in COSTS.items() if rule.startswith(name))


def _order(file):
    """Place of a file among those that one might open."""
    suffix = Path(file).suffix
    return TO_OPEN.index(suffix) if suffix in TO_OPEN else len(TO_OPEN)


def _last_line(log):
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    return lines[-1] if lines else ""


def duration(seconds):
    """A duration in words, such as "12 s" or "1 h 5 min"."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class WholeLines:
    """A stream that writes lines as wholes, so that those of jobs do not get into them.

    Snakemake writes a message and the end of its line one after the other.
    """

    def __init__(self, stream):
        self.stream, self.kept = stream, ""

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def write(self, text):
        """Write what is complete up to the last end of a line; keep the rest."""
        complete, end, self.kept = (self.kept + text).rpartition("\n")
        if end:
            self.stream.write(complete + end)


def show_progress():
    """Shorten the terminal output of this run, unless it is a dry run, verbose, or of a plugin.

    Returns
    -------
    Progress
    """
    progress = Progress()
    for handler in logging.getLogger("snakemake.logging").handlers:
        if isinstance(handler, logging.FileHandler):
            _accept_full_disk(handler)
        if handler.name == "DefaultStreamHandler":
            given = handler.filters[0]
            if not (given.dryrun or given.verbose):
                handler.addFilter(progress.observe)
                handler.setFormatter(progress)
                handler.stream = WholeLines(handler.stream)
                threading.Thread(target=progress.watch, args=(handler,), daemon=True).start()
    return progress


def _accept_full_disk(handler):
    """Let a log file end where its disk is full, without a traceback for each line."""
    report = handler.handleError

    def report_others(record):
        if getattr(sys.exc_info()[1], "errno", None) not in ERRORS:
            report(record)

    handler.handleError = report_others
