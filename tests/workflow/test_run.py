"""The script `run`: making, trusting and remaking the environment.

Each test has its own small checkout, in a folder with spaces in its name, whose
locked requirements are one tiny package in a local folder. So no network is
needed, and nothing of the caller's settings gets in.
"""

import base64
import hashlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[2] / "run"

# The interpreter under the environment in which the tests run.
PYTHON = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()

# All that `run` may use, so that PATH holds no Python other than the test's own.
TOOLS = ("sh", "mv", "rm", "grep", "tail", "readlink", "sha256sum", "shasum", "cksum")

# Long enough for a busy machine; a test that is well takes seconds.
PATIENCE = 600

# Builds the wheel that lies beside it, but not before the file "open" exists,
# so that a test can act while an installation is under way for certain.
BACKEND = """
import os, pathlib, shutil, time, zipfile

gate = pathlib.Path(os.environ["GATE"])
[wheel] = pathlib.Path(__file__).parent.glob("*.whl")

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    with zipfile.ZipFile(wheel) as archive:
        metadata = [name for name in archive.namelist() if ".dist-info/" in name]
        archive.extractall(folder, metadata)
    return metadata[0].split("/")[0]

def build_wheel(folder, config_settings=None, metadata_directory=None):
    with (gate / "builds").open("a") as record:
        record.write("build\\n")
    deadline = time.monotonic() + 600
    while not (gate / "open").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    shutil.copy(wheel, folder)
    return wheel.name
"""


def wheel_bytes(version):
    folder = f"tiny-{version}.dist-info"
    files = {
        "tiny.py": f"version = {version!r}\n",
        f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n",
        f"{folder}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
        record += f"{name},sha256={digest.decode().rstrip('=')},{len(text)}\n"
    files[f"{folder}/RECORD"] = f"{record}{folder}/RECORD,,\n"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


def source_bytes(version):
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n".encode(),
        "pyproject.toml": project.encode(),
        "backend.py": BACKEND.encode(),
        f"tiny-{version}-py3-none-any.whl": wheel_bytes(version),
    }
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"tiny-{version}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


class Checkout:
    """A small checkout with `run` in it, and the machine around it."""

    def __init__(self, folder):
        self.root = folder / "a check out"
        self.tools = folder / "tools"
        self.packages = folder / "packages"
        self.gate = folder / "gate"
        self.starts = folder / "starts"
        for path in (self.root / "envs", self.tools, self.packages, self.gate):
            path.mkdir(parents=True)
        shutil.copy(RUN, self.root)
        for name in (*TOOLS, "true"):
            if found := shutil.which(name):
                (self.tools / name).symlink_to(found)
        self.lock = self.root / "envs" / "requirements.txt"
        self.stamp = self.root / ".venv" / "stamp"
        self.log = self.root / ".venv.log"
        self.use_python()
        self.require("1.0")
        self.environment = {
            "PATH": str(self.tools),
            "HOME": str(folder),
            "GATE": str(self.gate),
            "LC_ALL": "C.UTF-8",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_CACHE_DIR": "1",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": self.packages.as_uri(),
            "UV_NO_CONFIG": "1",
            "UV_OFFLINE": "1",
            "UV_FIND_LINKS": self.packages.as_uri(),
            "UV_NO_CACHE": "1",
        }

    def use_python(self):
        """Put the real interpreter on PATH, and count how often it is started."""
        self.python(f'echo start >>"{self.starts}"\nexec "{PYTHON}" "$@"')

    def use_quick_python(self, version, template, name="python3"):
        """Put an interpreter on PATH that copies an environment instead of making one.

        Putting pip into a new environment takes seconds, which most tests can spare.
        Its library is a file that only says that this version is there.
        """
        library = self.tools.with_name(f"library {version}")
        library.touch()
        self.python(
            'case "$*" in\n'
            f"*version_info*) echo '{version}:{self.tools}/{name}:{library}' ;;\n"
            "*'-m venv'*)\n"
            "    for place; do :; done\n"
            f'    exec {shutil.which("cp")} -R "{template}" "$place" ;;\n'
            f'*) exec "{PYTHON}" "$@" ;;\n'
            "esac",
            name,
        )
        return library

    def python(self, body, name="python3"):
        """Put a shell script on PATH as an interpreter."""
        script = self.tools / "new"
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)
        script.replace(self.tools / name)

    def use_uv(self):
        (self.tools / "uv").symlink_to(shutil.which("uv"))

    def require(self, version, *, source=False, digest=None):
        """Offer and lock the package at the version, as a wheel or as a source to build."""
        for package in self.packages.iterdir():
            package.unlink()
        content = source_bytes(version) if source else wheel_bytes(version)
        ending = ".tar.gz" if source else "-py3-none-any.whl"
        (self.packages / f"tiny-{version}{ending}").write_bytes(content)
        digest = digest or hashlib.sha256(content).hexdigest()
        self.lock.write_text(f"tiny=={version} \\\n    --hash=sha256:{digest}\n")

    def start(self, *command, program=None, **options):
        return subprocess.Popen(
            [program or self.root / "run", *command],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def run(self, *command, **options):
        process = self.start(*command, **options)
        output, errors = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(command, process.returncode, output, errors)

    def version(self):
        """The version of the package in the environment."""
        result = self.run("python", "-c", "import tiny; print(tiny.version)")
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    def python_starts(self):
        return len(self.starts.read_text().splitlines())

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


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """An environment with nothing but pip in it."""
    pytest.importorskip("ensurepip", reason="this Python cannot make environments with pip")
    place = tmp_path_factory.mktemp("template") / "environment"
    subprocess.run([PYTHON, "-I", "-m", "venv", place], check=True)
    return place


@pytest.fixture
def checkout(tmp_path, template):
    made = Checkout(tmp_path)
    made.library = made.use_quick_python("3.11.7", template)
    yield made
    made.open_gate()  # lets an orphan end


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """A checkout whose environment is made; for tests that leave it as it is."""
    pytest.importorskip("ensurepip", reason="this Python cannot make environments with pip")
    made = Checkout(tmp_path_factory.mktemp("ready"))
    made.first = made.run("python", "-c", "import sys, tiny; print(sys.prefix)")
    return made


def refused(checkout, *command, status=1, **options):
    """The one sentence of a call that is refused."""
    result = checkout.run(*command, **options)
    assert result.returncode == status
    lines = [line for line in result.stderr.splitlines() if "making the environment" not in line]
    [sentence] = lines
    assert sentence.startswith("run: ")
    return sentence


def announcements(errors):
    return errors.count("making the environment")


# --- The usual ways of use ---


def test_first_use_makes_the_environment_and_runs_inside_it(ready):
    assert ready.first.returncode == 0, ready.first.stderr
    assert ready.first.stdout.strip() == str(ready.root / ".venv")
    assert announcements(ready.first.stderr) == 1
    assert len(ready.first.stderr.splitlines()) == 1
    stamp = ready.stamp.read_text()
    assert hashlib.sha256(ready.lock.read_bytes()).hexdigest() in stamp
    assert str(PYTHON) in stamp
    assert str(ready.root) in stamp


def test_status_and_arguments_pass_through(ready):
    code = "import sys; print(sys.argv[1:]); sys.exit(7)"
    result = ready.run("python", "-c", code, "two  words", "", "$HOME", "-x")
    assert result.returncode == 7
    assert result.stdout.strip() == str(["two  words", "", "$HOME", "-x"])
    assert result.stderr == ""


def test_command_takes_the_place_of_the_script(ready):
    process = ready.start("python", "-c", "import os; print(os.getpid()); input()")
    output, _ = process.communicate(timeout=PATIENCE)
    assert int(output) == process.pid


def test_environment_variables_of_the_command(ready, monkeypatch):
    monkeypatch.setitem(ready.environment, "PYTHONPATH", "/some/where")
    monkeypatch.setitem(ready.environment, "VIRTUAL_ENV", "/another")
    code = "import os; print(*map(os.environ.get, ['PYTHONPATH', 'VIRTUAL_ENV', 'PATH']), sep='|')"
    output = ready.run("python", "-c", code).stdout.strip()
    inside = ready.root / ".venv"
    assert output == f"/some/where|{inside}|{inside}/bin:{ready.tools}"


def test_snakemake_gets_the_logger_of_the_checkout(ready, tmp_path, monkeypatch):
    program = tmp_path / "snakemake"
    program.write_text('#!/bin/sh\necho "$PYTHONPATH" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setitem(ready.environment, "PATH", f"{tmp_path}:{ready.tools}")
    monkeypatch.setitem(ready.environment, "PYTHONPATH", "/some/where")
    output = ready.run("snakemake", "audit", "--cores", "2").stdout.strip()
    scripts = f"{ready.root}/workflow/scripts"
    assert output == f"{scripts}:/some/where --logger=geodp audit --cores 2"


def test_with_nothing_to_do_no_python_is_started_whatever_is_on_path(ready, tmp_path, monkeypatch):
    for name in ("python", "python3", "python3.11", "python3.12", "python3.13", "python3.14", "uv"):
        trap = tmp_path / name
        trap.write_text(f'#!/bin/sh\necho started >>"{tmp_path}/record"\nexit 1\n')
        trap.chmod(0o755)
    monkeypatch.setitem(ready.environment, "PATH", f"{tmp_path}:{ready.tools}")
    before = (ready.stamp.stat().st_ino, ready.log.read_text(), ready.python_starts())
    result = ready.run("true")
    assert (result.returncode, result.stderr) == (0, "")
    assert not (tmp_path / "record").exists()
    assert (ready.stamp.stat().st_ino, ready.log.read_text(), ready.python_starts()) == before


def test_call_inside_the_environment_adds_nothing(ready):
    before = (ready.stamp.stat().st_ino, ready.python_starts())
    result = ready.run(ready.root / "run", "python", "-c", "import os; print(os.environ['PATH'])")
    assert result.stdout.strip() == f"{ready.root}/.venv/bin:{ready.tools}"
    assert (ready.stamp.stat().st_ino, ready.python_starts()) == before


def test_works_through_a_link_from_another_folder(ready, tmp_path):
    link = tmp_path / "link to run"
    link.symlink_to(os.path.relpath(ready.root / "run", tmp_path))
    code = "import os, sys; print(os.getcwd(), sys.prefix, sep='|')"
    result = ready.run("python", "-c", code, program=link, cwd=tmp_path)
    assert result.stdout.strip() == f"{tmp_path.resolve()}|{ready.root / '.venv'}"
    assert result.stderr == ""


SHELLS = [name for name in ("sh", "dash", "bash", "ksh", "mksh", "yash") if shutil.which(name)]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_understands_the_script(shell):
    checked = subprocess.run([shell, "-n", RUN], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.skipif(not shutil.which("uv"), reason="uv is not on this machine")
def test_uv_is_used_when_it_is_there(checkout):
    checkout.use_python()
    checkout.use_uv()
    assert checkout.version() == "1.0"
    assert not list((checkout.root / ".venv").glob("lib/*/site-packages/pip"))
    checkout.require("2.0", digest="0" * 64)
    assert "mismatch" in refused(checkout, "true")


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
        ([], "usage: ./run [--with competitors|docs|geomstats|opacus|slurm] COMMAND"),
        (["--with"], "--with needs an environment and a command"),
        (["--with", "geomstats"], "--with needs an environment and a command"),
        (["--with", "../envs", "true"], "there is no environment ../envs: --with takes"),
    ],
)
def test_call_that_is_none_makes_no_environment(checkout, given, sentence):
    assert sentence in refused(checkout, *given, status=2)
    assert [path.name for path in checkout.root.glob(".venv*")] == []


# --- The environment is made anew when it must be ---


def test_changed_lock_interpreter_or_place_remakes_the_environment(checkout, template):
    assert checkout.version() == "1.0"

    checkout.require("2.0")
    assert checkout.version() == "2.0"

    # An upgrade puts another interpreter in the place of the old one.
    checkout.library.unlink()
    checkout.use_quick_python("3.12.99", template)
    result = checkout.run("python", "-c", "")
    assert (result.returncode, announcements(result.stderr)) == (0, 1)
    assert "3.12.99" in checkout.stamp.read_text()

    moved = checkout.root.with_name("moved away")
    checkout.root.rename(moved)
    checkout.root = moved
    result = checkout.run("python", "-c", "import sys, tiny; print(sys.prefix)")
    assert (result.returncode, announcements(result.stderr)) == (0, 1)
    assert result.stdout.strip() == str(moved / ".venv")

    assert checkout.run("true").stderr == ""


def test_removed_interpreter_remakes_the_environment(checkout, template):
    assert checkout.version() == "1.0"
    checkout.use_quick_python("3.12.4", template, name="python3.12")
    result = checkout.run("true")  # another interpreter alone is no reason
    assert (result.returncode, result.stderr) == (0, "")

    (checkout.tools / "python3").unlink()
    result = checkout.run("python", "-c", "import tiny")
    assert (result.returncode, announcements(result.stderr)) == (0, 1)
    assert f"3.12.4:{checkout.tools}/python3.12:" in checkout.stamp.read_text()
    assert checkout.run("true").stderr == ""

    # Nor is it complete without its Python.
    for name in ("python", "python3"):
        (checkout.root / ".venv" / "bin" / name).unlink()
    assert checkout.version() == "1.0"


def test_chosen_interpreter_remakes_the_environment_once(checkout, template):
    assert checkout.version() == "1.0"
    checkout.use_quick_python("3.12.4", template, name="chosen")
    checkout.environment["PYTHON"] = str(checkout.tools / "chosen")
    assert announcements(checkout.run("true").stderr) == 1
    assert "3.12.4:" in checkout.stamp.read_text()
    assert checkout.run("true").stderr == ""
    del checkout.environment["PYTHON"]
    assert checkout.run("true").stderr == ""


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_call_inside_the_environment_can_remake_it(checkout, installer):
    if installer == "uv":
        if not shutil.which("uv"):
            pytest.skip("uv is not on this machine")
        checkout.use_uv()
    checkout.use_python()
    assert checkout.version() == "1.0"
    checkout.require("2.0")
    code = "import tiny; print(tiny.version)"
    program = f'printf "\n" >>"{checkout.lock}"; exec "{checkout.root}/run" python -c "{code}"'
    result = checkout.run("sh", "-c", program)
    assert (result.returncode, result.stdout.strip()) == (0, "2.0"), result.stderr
    assert announcements(result.stderr) == 2
    assert f":{PYTHON}:" in checkout.stamp.read_text()


def test_another_name_for_the_same_interpreter_remakes_nothing(ready, monkeypatch):
    before = ready.stamp.stat().st_ino
    monkeypatch.setitem(ready.environment, "PYTHON", str(PYTHON))
    result = ready.run("python", "-c", "import tiny")
    assert (result.returncode, result.stderr) == (0, "")
    assert ready.stamp.stat().st_ino == before


# --- Several calls at once, and calls that are killed ---


def test_three_first_uses_at_once_install_once(checkout):
    checkout.require("1.0", source=True)
    calls = [checkout.start("python", "-c", "import tiny") for _ in range(3)]
    checkout.await_build(calls[0])
    checkout.open_gate()
    errors = [call.communicate(timeout=PATIENCE)[1] for call in calls]
    assert [call.returncode for call in calls] == [0, 0, 0], errors
    assert announcements("".join(errors)) == 1
    assert checkout.builds() == 1


def test_orphaned_installer_keeps_the_lock(checkout):
    checkout.require("1.0", source=True)
    killed = checkout.start("true")
    checkout.await_build(killed)
    killed.kill()
    killed.wait()

    # The installer runs on, so the next use has to wait for its end.
    following = checkout.start("python", "-c", "import tiny; print(tiny.version)")
    assert "waiting" in following.stderr.readline()
    time.sleep(0.5)
    assert following.poll() is None
    assert not checkout.stamp.exists()
    assert checkout.builds() == 1

    checkout.open_gate()
    output, errors = following.communicate(timeout=PATIENCE)
    assert (following.returncode, output.strip()) == (0, "1.0"), errors
    assert announcements(errors) == 1
    assert checkout.builds() == 2
    killed.communicate()


def test_killed_installation_is_made_anew(checkout):
    checkout.require("1.0", source=True)
    killed = checkout.start("true", start_new_session=True)
    checkout.await_build(killed)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert (checkout.root / ".venv").exists()
    assert not checkout.stamp.exists()

    checkout.open_gate()
    assert checkout.version() == "1.0"
    assert not list(checkout.root.glob(".venv.old*"))


def test_kill_at_any_moment_does_no_harm(checkout):
    checkout.use_python()
    for delay in (0.02, 0.1, 0.4, 1.0):
        killed = checkout.start("true", start_new_session=True)
        time.sleep(delay)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate()
    assert checkout.version() == "1.0"


# --- What goes wrong is said in one sentence ---


def test_wrong_or_missing_hash_is_refused(checkout):
    checkout.require("1.0", digest="0" * 64)
    sentence = refused(checkout, "true")
    assert "HASHES" in sentence
    assert str(checkout.log) in sentence
    assert not checkout.stamp.exists()

    checkout.lock.write_text("tiny==1.0\n")
    refused(checkout, "true")
    assert not checkout.stamp.exists()

    checkout.require("1.0")
    assert checkout.version() == "1.0"


@pytest.mark.parametrize("version", ["2.7.18", "3.10.4"])
def test_old_python_is_named(checkout, version):
    checkout.python(f"echo {version}:/usr/bin/python:/usr/lib/os.py")
    sentence = refused(checkout, "true")
    assert f"is Python {version}" in sentence
    assert "install" in sentence
    assert not (checkout.root / ".venv").exists()


def test_later_name_is_tried_when_the_first_is_too_old(checkout):
    # The second cannot make environments, and the error shows that it was taken.
    checkout.python("echo 3.12.4:/nowhere/python3.12:/nowhere/os.py", name="python3.12")
    checkout.python("echo 3.9.18:/nowhere/python3.9:/nowhere/os.py")
    result = checkout.run("true")
    assert result.returncode == 1
    assert "/nowhere/python3.12 lacks" in result.stderr


def test_chosen_python_is_not_silently_replaced(checkout):
    assert checkout.run("true").returncode == 0
    checkout.python("echo 3.9.18:/usr/bin/python3.9:/usr/lib/os.py", name="old")
    for choice, said in (("old", "is Python 3.9.18"), ("nowhere", "PYTHON=nowhere")):
        checkout.environment["PYTHON"] = choice
        assert said in refused(checkout, "true")


def test_no_python_at_all(checkout):
    (checkout.tools / "python3").unlink()
    assert "no Python was found" in refused(checkout, "true")


def test_python_without_the_module_for_environments(checkout):
    (checkout.tools / "python3").unlink()
    bare = checkout.tools / "python3.11"
    checkout.python(
        'case "$*" in\n'
        f"*version_info*) echo '3.11.2:{bare}:/os.py' ;;\n"
        "*ensurepip*) echo 'No module named ensurepip' >&2; exit 1 ;;\n"
        f'*) exec "{PYTHON}" "$@" ;;\n'
        "esac",
        name="python3.11",
    )
    assert "apt-get install python3.11-venv" in refused(checkout, "true")
    assert not (checkout.root / ".venv").exists()


def test_folder_that_cannot_be_written(checkout):
    # A folder in the place of the file stands for this, as root may write anywhere.
    checkout.log.mkdir()
    assert "cannot write" in refused(checkout, "true")


def test_missing_lock(checkout):
    checkout.lock.unlink()
    assert "requirements.txt" in refused(checkout, "true")


def test_unknown_command(ready):
    assert "no-such-command" in refused(ready, "no-such-command", status=127)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--configfile", "missing.yaml"], "there is no configuration missing.yaml"),
        (["--cores", "2", "--configfile", "right.yaml", "all"], "there is no configuration all"),
        (["--configfile=folder"], "the configuration folder is a folder"),
        (["--configfile", "wide.yaml", "-n"], "the configuration wide.yaml is UTF-16 text"),
    ],
)
def test_configuration_that_cannot_be_read(checkout, given, sentence):
    (checkout.root / "folder").mkdir()
    (checkout.root / "right.yaml").write_text("name: right\n")
    (checkout.root / "wide.yaml").write_text("name: wide\n", encoding="utf-16")
    assert sentence in refused(checkout, "snakemake", *given, status=2, cwd=checkout.root)
    assert not (checkout.root / ".venv").exists()
