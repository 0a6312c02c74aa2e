"""The examples of the README run as they stand there."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
EXAMPLES = re.findall(r"(?ms)^```python\n(.*?)^```", README.read_text())


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example_runs(example, capsys):
    exec(compile(example, "README.md", "exec"), {})
    said = capsys.readouterr().out
    # What the example says it prints, up to remarks.
    for promised in re.findall(r"print\(.*\)  +# (pure.*)", example):
        assert f"{promised}\n" in said
    assert said


def test_nothing_is_left_to_fill_in():
    assert not re.findall(r"(?m)^[A-Z_]{5,}$", README.read_text())
