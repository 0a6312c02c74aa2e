"""A small checkout with the script `run` in it, whose environment is made in a moment."""

import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / "run"

# The interpreter under the environment in which the tests run.
PYTHON = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()

# All that `run` may use, so that PATH holds no Python other than the test's own.
TOOLS = ("sh", "mv", "rm", "grep", "tail", "readlink", "sha256sum", "shasum", "cksum")

# Long enough for a busy machine; a test that is well takes seconds.
PATIENCE = 600


def write_program(path, body):
    """A shell script as a program."""
    new = path.with_name("new")
    new.write_text(f"#!/bin/sh\n{body}\n")
    new.chmod(0o755)
    new.replace(path)


class Checkout:
    """A small checkout with `run` in it, and the machine around it."""

    def __init__(self, folder):
        self.root = folder / "a check out"
        self.tools = folder / "tools"
        self.packages = folder / "packages"
        self.gate = folder / "gate"
        for path in (self.root / "envs", self.tools, self.packages, self.gate):
            path.mkdir(parents=True)
        shutil.copy(RUN, self.root)
        for name in (*TOOLS, "true"):
            if found := shutil.which(name):
                (self.tools / name).symlink_to(found)
        self.lock = self.root / "envs" / "requirements.txt"
        self.stamp = self.root / ".venv" / "stamp"
        self.log = self.root / ".venv.log"
        self.library = self.use_quick_python("3.11.7")
        self.use_quick_uv()
        self.open_gate()
        self.require("1.0")
        self.environment = {"PATH": str(self.tools), "HOME": str(folder), "LC_ALL": "C.UTF-8"}

    def use_quick_python(self, version, name="python3"):
        """Put an interpreter on PATH that says it has this version.

        Its library is a file that only says that this version is there.
        """
        library = self.tools.with_name(f"library {version}")
        library.touch()
        self.python(
            'case "$*" in\n'
            f"*version_info*) echo '{version}:{self.tools}/{name}:{library}' ;;\n"
            f'*) exec "{PYTHON}" "$@" ;;\n'
            "esac",
            name,
        )
        return library

    def use_quick_uv(self):
        """Put on PATH what makes an environment in a moment, without pip.

        It notes each installation, and goes on when the file "open" is there.
        """
        unpack = "import sys, sysconfig, zipfile as z; "
        unpack += "z.ZipFile(sys.argv[1]).extractall(sysconfig.get_path('purelib'))"
        self.python(
            'case "$1" in\n'
            f'venv) for place; do :; done; exec "{PYTHON}" -I -m venv --without-pip "$place" ;;\n'
            f"pip) echo >>'{self.gate}/builds'\n"
            f"    until [ -e '{self.gate}/open' ]; do {shutil.which('sleep')} 0.02; done\n"
            f"""    exec "$4" -c "{unpack}" '{self.packages}'/*.whl ;;\n"""
            "esac",
            "uv",
        )

    def python(self, body, name="python3"):
        """Put a shell script on PATH, as an interpreter."""
        write_program(self.tools / name, body)

    def require(self, version):
        """Offer and lock the package at the version."""
        for package in self.packages.iterdir():
            package.unlink()
        with zipfile.ZipFile(self.packages / f"tiny-{version}-py3-none-any.whl", "w") as archive:
            archive.writestr("tiny.py", f"version = {version!r}\n")
        self.lock.write_text(f"tiny=={version}\n")

    def start(self, *command, program=None, cwd=None, **variables):
        """Start `run`, or a program, with variables of the environment besides."""
        call, pipes = [program or self.root / "run", *command], {"stdin": subprocess.DEVNULL}
        pipes |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(call, env=self.environment | variables, cwd=cwd, **pipes)

    def run(self, *command, **how):
        process = self.start(*command, **how)
        output, errors = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    def version(self):
        """The version of the package in the environment."""
        result = self.run("python", "-c", "import tiny; print(tiny.version)")
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    def builds(self):
        record = self.gate / "builds"
        return len(record.read_text().splitlines()) if record.exists() else 0

    def await_build(self, process):
        """Return when the installation that the process does is midway."""
        deadline = time.monotonic() + PATIENCE
        while not self.builds():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "the installation has not begun"
            time.sleep(0.01)

    def open_gate(self):
        (self.gate / "open").touch()
