"""The script `run`: making, trusting and remaking the environment.

Each test has its own small checkout, in a folder with spaces in its name, whose
locked requirements are one tiny package in a local folder. So no network is
needed, and nothing of the caller's settings gets in.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from beside import ROOT

# The interpreter under the environment in which the tests run.
PYTHON = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()

# All that `run` may use, and a command, so that PATH holds no Python other than the test's own.
TOOLS = ("sh", "mv", "rm", "grep", "tail", "true", "readlink", "sha256sum", "shasum", "cksum")

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
        shutil.copy(ROOT / "run", self.root)
        for name in TOOLS:
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
        """Put an interpreter on PATH that says it has this version, as does a file, its library."""
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
        return sum(len(path.read_text().splitlines()) for path in self.gate.glob("builds"))

    def await_build(self, process):
        """Return when the installation that the process does is midway."""
        deadline = time.monotonic() + PATIENCE
        while not self.builds():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "the installation has not begun"
            time.sleep(0.01)

    def open_gate(self):
        (self.gate / "open").touch()


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


@pytest.fixture
def gated(checkout):
    """A checkout whose environment is complete only when the gate is opened."""
    (checkout.gate / "open").unlink()
    yield checkout
    checkout.open_gate()  # lets an orphan end


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """A checkout whose environment is made; for tests that leave it as it is."""
    made = Checkout(tmp_path_factory.mktemp("ready"))
    made.first = made.run("python", "-c", "import sys, tiny; print(sys.prefix)")
    return made


def refused(checkout, *command, status=1, **how):
    """The one sentence of a call that is refused."""
    result = checkout.run(*command, **how)
    assert result.returncode == status
    lines = [line for line in result.stderr.splitlines() if "making the environment" not in line]
    [sentence] = lines
    assert sentence.startswith("run: ")
    return sentence


def announcements(errors):
    return errors.count("making the environment")


def test_first_use_makes_the_environment_and_runs_inside_it(ready):
    assert ready.first.returncode == 0, ready.first.stderr
    assert ready.first.stdout.strip() == str(ready.root / ".venv")
    assert announcements(ready.first.stderr) == len(ready.first.stderr.splitlines()) == 1
    assert str(ready.root) in ready.stamp.read_text()


def test_command_takes_the_place_of_the_script_and_gets_its_arguments(ready):
    variables = {"PYTHONPATH": "/some/where", "VIRTUAL_ENV": "/another"}
    code = """if True:
        import json, os, sys
        values = [os.environ[name] for name in ("PYTHONPATH", "VIRTUAL_ENV", "PATH")]
        print(json.dumps([os.getpid(), sys.argv[1:], values]))
        sys.exit(7)
    """
    arguments = ["two  words", "", "$HOME", "-x"]
    process = ready.start("python", "-c", code, *arguments, **variables)
    output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (7, "")
    inside = f"{ready.root}/.venv"
    library = f"{ready.root}/workflow/scripts:/some/where"
    values = [library, inside, f"{inside}/bin:{ready.tools}"]
    assert json.loads(output) == [process.pid, arguments, values]


def test_snakemake_gets_the_logger_of_the_checkout_through_a_link(ready, tmp_path):
    write_program(tmp_path / "snakemake", 'echo "$PYTHONPATH" "$@"')
    variables = {"PATH": f"{tmp_path}:{ready.tools}", "PYTHONPATH": "/some/where"}
    link = tmp_path / "link to run"
    link.symlink_to(os.path.relpath(ready.root / "run", tmp_path))
    call = ("snakemake", "audit", "--cores", "2")
    output = ready.run(*call, program=link, cwd=tmp_path, **variables).stdout.strip()
    scripts = f"{ready.root}/workflow/scripts"
    assert output == f"{scripts}:/some/where --logger=geodp audit --cores 2"


def test_with_nothing_to_do_no_python_is_started_whatever_is_on_path(ready, tmp_path):
    for name in ("python", "python3", "python3.11", "python3.12", "python3.13", "python3.14", "uv"):
        write_program(tmp_path / name, f'echo started >>"{tmp_path}/record"\nexit 1')
    before = (ready.stamp.stat().st_ino, ready.log.read_text())
    result = ready.run("true", PATH=f"{tmp_path}:{ready.tools}")
    assert (result.returncode, result.stderr) == (0, "")
    assert not (tmp_path / "record").exists()
    assert (ready.stamp.stat().st_ino, ready.log.read_text()) == before


def test_another_environment_stands_beside_the_first(checkout):
    assert checkout.version() == "1.0"
    before = checkout.stamp.read_text()
    first = checkout.lock.read_text()
    checkout.require("2.0")
    checkout.lock.rename(checkout.lock.with_name("geomstats.txt"))
    checkout.lock.write_text(first)
    code = "import sys, tiny; print(tiny.version, sys.prefix, sys.argv[1:])"
    found = checkout.run("--with", "geomstats", "python", "-c", code, "--with", "x")
    assert found.stdout.strip() == f"2.0 {checkout.root / '.venv-geomstats'} ['--with', 'x']"
    assert "making the environment in .venv-geomstats" in found.stderr
    assert len(found.stderr.splitlines()) == 1
    assert checkout.stamp.read_text() == before
    assert checkout.version() == "1.0"
    assert checkout.run("--with", "geomstats", "true").stderr == ""


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("", "usage: ./run [--with competitors|dask|datasets|docs|geomstats|opacus|slurm] COMMAND"),
        ("--with", "--with needs an environment and a command"),
        ("--with geomstats", "--with needs an environment and a command"),
        ("--with ../envs true", "there is no environment ../envs: --with takes"),
        ("snakemake --configfile missing.yaml", "there is no configuration missing.yaml"),
        ("snakemake --cores 2 --configfile right.yaml all", "there is no configuration all"),
        ("snakemake --configfile=folder", "the configuration folder is a folder"),
        ("snakemake --configfile wide.yaml -n", "the configuration wide.yaml is UTF-16 text"),
    ],
)
def test_call_that_cannot_be_carried_out_makes_no_environment(checkout, given, sentence):
    (checkout.root / "folder").mkdir()
    (checkout.root / "right.yaml").write_text("name: right\n")
    (checkout.root / "wide.yaml").write_text("name: wide\n", encoding="utf-16")
    assert sentence in refused(checkout, *given.split(), status=2, cwd=checkout.root)
    assert [path.name for path in checkout.root.glob(".venv*")] == []


def test_changed_lock_interpreter_or_place_remakes_the_environment(checkout):
    assert checkout.version() == "1.0"
    checkout.require("2.0")
    assert checkout.version() == "2.0"
    # An upgrade puts another interpreter in the place of the old one.
    checkout.library.unlink()
    checkout.use_quick_python("3.12.99")
    assert announcements(checkout.run("true").stderr) == 1
    assert "3.12.99" in checkout.stamp.read_text()
    # Another one alone is no reason; that of the environment is removed.
    checkout.use_quick_python("3.12.4", name="python3.12")
    assert announcements(checkout.run("true").stderr) == 0
    (checkout.tools / "python3").unlink()
    assert announcements(checkout.run("true").stderr) == 1
    assert f"3.12.4:{checkout.tools}/python3.12:" in checkout.stamp.read_text()
    checkout.root = checkout.root.rename(checkout.root.with_name("moved away"))
    result = checkout.run("python", "-c", "import sys, tiny; print(sys.prefix)")
    assert (result.returncode, announcements(result.stderr)) == (0, 1)
    assert result.stdout.strip() == str(checkout.root / ".venv")


def test_chosen_interpreter_remakes_the_environment_and_is_not_silently_replaced(checkout):
    assert checkout.version() == "1.0"
    checkout.use_quick_python("3.12.4", name="chosen")
    (checkout.tools / "link").symlink_to("chosen")
    chosen, link = (str(checkout.tools / name) for name in ("chosen", "link"))
    assert announcements(checkout.run("true", PYTHON=chosen).stderr) == 1
    assert "3.12.4:" in checkout.stamp.read_text()
    # By another name it is the same one.
    for choice in (chosen, link):
        assert checkout.run("true", PYTHON=choice).stderr == ""
    checkout.python("echo 3.9.18:/usr/bin/python3.9:/usr/lib/os.py", name="old")
    for choice, said in (("old", "is Python 3.9.18"), ("nowhere", "PYTHON=nowhere")):
        assert said in refused(checkout, "true", PYTHON=choice)
    assert checkout.run("true").stderr == ""


def test_orphaned_installer_keeps_the_lock(gated):
    killed = gated.start("true")
    gated.await_build(killed)
    killed.kill()
    killed.wait()
    # The installer runs on, so the next use has to wait for its end.
    following = gated.start("python", "-c", "import tiny; print(tiny.version)")
    assert "waiting" in following.stderr.readline()
    time.sleep(0.5)
    assert following.poll() is None
    assert not gated.stamp.exists()
    assert gated.builds() == 1
    gated.open_gate()
    output, errors = following.communicate(timeout=PATIENCE)
    assert (following.returncode, output.strip()) == (0, "1.0"), errors
    assert announcements(errors) == 1
    assert gated.builds() == 2
    # Of what the killed call had made nothing is left.
    assert not list(gated.root.glob(".venv.old*"))
    killed.communicate()


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_packages_without_hashes_are_refused(checkout, installer):
    if installer == "pip":
        pytest.importorskip("ensurepip", reason="this Python cannot make environments with pip")
        (checkout.tools / "uv").unlink()
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": checkout.packages.as_uri()}
        checkout.environment |= offline | {"PIP_CONFIG_FILE": os.devnull}
    else:
        says = "*--require-hashes*) echo 'ERROR: no hash is given' >&2; exit 1 ;;"
        checkout.python(f'case "$*" in\n{says}\nesac', "uv")
    sentence = refused(checkout, "true")
    assert str(checkout.log) in sentence
    assert "hash" in sentence.replace(str(checkout.log), "").lower()
    assert not checkout.stamp.exists()


MACHINES = {
    "old": (lambda c: c.python("echo 3.10.4:/usr/bin/python:/usr/lib/os.py"), "is Python 3.10.4"),
    "none": (lambda c: (c.tools / "python3").unlink(), "no Python was found"),
    # A folder in the place of the file stands for this, as root may write anywhere.
    "no writing": (lambda c: c.log.mkdir(), "cannot write"),
    "no lock": (lambda c: c.lock.unlink(), "requirements.txt"),
}


@pytest.mark.parametrize(("spoil", "said"), MACHINES.values(), ids=MACHINES)
def test_a_machine_that_lacks_something_is_told_what(checkout, spoil, said):
    spoil(checkout)
    assert said in refused(checkout, "true")
