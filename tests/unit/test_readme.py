"""The examples of the README run as they stand there."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
EXAMPLES = re.findall(r"(?ms)^```python\n(.*?)^```", README.read_text())


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example_runs(example, capsys):
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out
