"""Measure processor time and memory of jobs, by rule: what profiles/slurm asks a cluster for.

    ./run python benchmarks/job_costs.py --cores 2 --configfile config/smoke.yaml

takes the arguments of Snakemake.  Of each rule it shows the number of jobs that ran, the median and
the greatest processor time of a job in seconds, and its greatest memory in MB. On Linux.
Jobs whose files are there do not run: --forceall runs all of them.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

# Python runs a module of this name when it starts, the scripts of jobs included.
RECORDER = """\
import atexit, json, os, re, sys


def note():
    job = getattr(sys.modules["__main__"], "snakemake", None)
    if hasattr(job, "rule"):
        # Not the peak of getrusage, which a process has from the one that started it.
        with open("/proc/self/status") as file:
            [peak] = re.findall("VmHWM: *(.*) kB", file.read())
        with open(os.path.join(os.environ["JOB_COSTS"], f"{os.getpid()}.json"), "w") as file:
            json.dump([job.rule, sum(os.times()[:4]), int(peak) / 1024], file)


atexit.register(note)
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(RECORDER)
        environment = os.environ | {"PYTHONPATH": folder, "JOB_COSTS": folder}
        command = [sys.executable, "-m", "snakemake", *sys.argv[1:]]
        status = subprocess.run(command, env=environment).returncode
        rules = {}
        for path in Path(folder).glob("*.json"):
            rule, seconds, memory = json.loads(path.read_text())
            rules.setdefault(rule, []).append((seconds, memory))
    print(f"{'rule':<50}{'jobs':>6}{'median s':>10}{'most s':>9}{'most MB':>9}")
    for rule, jobs in sorted(rules.items()):
        seconds, memory = zip(*jobs, strict=True)
        middle = statistics.median(seconds)
        print(f"{rule:<50}{len(jobs):>6}{middle:>10.1f}{max(seconds):>9.1f}{max(memory):>9.0f}")
    sys.exit(status)


if __name__ == "__main__":
    main()
