"""The context of a script: what its log says when it fails."""

import errno
from types import SimpleNamespace

import pytest

from geodp.errors import DataError
from reproduction.jobs import job


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Log of the job of this process."""
    path = tmp_path / "logs" / "fit.log"
    given = SimpleNamespace(log=[str(path)], wildcards={"study": "rats"}, params={})
    monkeypatch.setattr("__main__.snakemake", given, raising=False)
    return path


def after(first, second):
    """An exception that follows another."""
    second.__context__ = first
    return second


INTERRUPTED = "Interrupted: start the run again to go on."
CLOSED = "permission denied: a.csv: let this user write there, or work in another folder"


@pytest.mark.parametrize(
    ("problem", "start"),
    [
        (DataError("row 3: no number: correct it"), "Error in study rats: row 3: no number: corr"),
        (OSError(errno.ENOSPC, "", "a.csv"), "Error: no space left on device: a.csv: free some "),
        (OSError(errno.EDQUOT, "", "a.csv"), "Error: disk quota exceeded: a.csv: free some space"),
        (after(OSError(errno.ENOSPC, ""), ValueError("closed")), "Error: no space left on device"),
        (OSError(errno.EACCES, "", "a.csv"), f"Error: {CLOSED}"),
        (KeyboardInterrupt(), INTERRUPTED),
        (after(KeyboardInterrupt(), ValueError("open handle")), INTERRUPTED),
    ],
)
def test_what_is_not_of_the_program_is_one_sentence(log, problem, start):
    with pytest.raises(SystemExit) as raised, job():
        raise problem
    assert raised.value.code == 1
    text = log.read_text()
    assert text.startswith(start)
    assert text.count("\n") == 1


def test_other_errors_leave_their_traceback(log):
    problem = ValueError("no number")
    with pytest.raises(ValueError, match="no number") as raised, job():
        raise problem
    assert raised.value is problem
    assert log.read_text().startswith("Traceback")


def test_a_sentence_is_printed_if_the_log_is_on_the_full_disk(log, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(SystemExit), job():
        pass
    assert "Error: no space left on device: " in capsys.readouterr().err
