"""The context of a script: what its log says, and what the terminal sees, when it fails."""

import errno
from types import SimpleNamespace

import pytest

from geodp.errors import DataError
from reproduction.disk import full_disk, says_full
from reproduction.jobs import job


@pytest.fixture
def task(tmp_path):
    log = tmp_path / "logs" / "fit.log"
    return SimpleNamespace(
        log=[str(log)], wildcards={"study": "rats"}, params={}, input=[], output=[]
    )


def failing(task, problem):
    """Exit of a script that fails, and what its log says then."""
    with pytest.raises(BaseException) as raised, job(task):  # noqa: PT011
        raise problem
    with open(task.log[0]) as log:
        return raised.value, log.read()


def test_a_data_error_is_one_sentence(task):
    raised, text = failing(task, DataError("row 3: no number: correct it"))
    assert isinstance(raised, SystemExit)
    # Nothing is printed: the run does that at its end.
    assert raised.code == 1
    assert text == "Error in study rats: row 3: no number: correct it\n"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_one_sentence(task, number):
    raised, text = failing(task, OSError(number, "No space left on device"))
    assert isinstance(raised, SystemExit)
    assert text.startswith("Error: the disk at /")
    assert text.endswith(" is full: free some space, then start the run again\n")
    assert says_full(str(OSError(number, "No")))


def test_so_is_an_error_that_follows_from_it(task):
    first, second = OSError(errno.ENOSPC, "No space left on device"), ValueError("closed file")
    second.__context__ = first
    assert "is full" in failing(task, second)[1]


def test_an_interruption_is_one_sentence_whatever_closing_files_raises(task):
    following = ValueError("Can't close the file while there is an open writing handle")
    following.__context__ = KeyboardInterrupt()
    for problem in (KeyboardInterrupt(), following):
        raised, text = failing(task, problem)
        assert isinstance(raised, SystemExit)
        assert text == "Interrupted: start the run again to go on.\n"


def test_the_log_may_be_on_that_disk_too(task, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(SystemExit), job(task):
        pass


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_so_is_a_folder_that_cannot_be_written(task, number):
    raised, text = failing(task, OSError(number, "Permission denied", "results/fit.json"))
    assert isinstance(raised, SystemExit)
    assert text.startswith("Error: ")
    assert text.endswith(
        ": results/fit.json: let this user write there, or work in another folder with "
        "--directory\n"
    )


def test_what_a_killed_job_had_begun_to_write_is_removed(task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task.output = ["a.csv"]
    for name in ("a.csv", ".17.a.csv", ".18.a.csv", ".17.other.csv", ".a.csv"):
        (tmp_path / name).touch()
    with job(task):
        pass
    left = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert left == {"a.csv", ".17.other.csv", ".a.csv"}


def test_other_errors_leave_their_traceback(task):
    problem = ValueError("no number")
    raised, text = failing(task, problem)
    assert raised is problem
    assert text.startswith("Traceback")
    assert full_disk(task.log[0], problem) == ""


def test_a_disk_with_no_space_is_full_whatever_failed(tmp_path, monkeypatch):
    assert full_disk(tmp_path / "none" / "file") == ""
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100))
    assert "is full" in full_disk(tmp_path / "none" / "file")
