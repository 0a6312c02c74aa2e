"""Note which modules of the project a job's script has loaded: Python runs this when it starts."""

import atexit
import json
import os
import sys
from pathlib import Path


def note():
    main = sys.modules["__main__"]
    job = getattr(main, "snakemake", None)
    if job is None or not hasattr(job, "rule"):
        return
    scripts = Path.cwd() / "workflow" / "scripts"
    files = {
        Path(module.__file__)
        for module in list(sys.modules.values())
        if getattr(module, "__file__", None)
    }
    noted = {
        "study": job.wildcards.get("study") or job.params.get("study"),
        "rule": job.rule,
        # Snakemake runs a copy, with another name before that of the script.
        "script": Path(sys.argv[0]).name.partition(".")[2],
        "code": job.params.get("code"),
        "loaded": sorted(
            str(file.relative_to(scripts)) for file in files if file.is_relative_to(scripts)
        ),
    }
    Path(os.environ["LOADED"], f"{os.getpid()}.json").write_text(json.dumps(noted))


atexit.register(note)
