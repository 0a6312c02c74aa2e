"""A table in several parts: the same release, byte for byte, as from one file."""

import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from cohort import changed
from release_tables import as_parts, frame, refused

from geodp.samplers import integer_choice
from geodp_release.promise.ledger import Ledger


def same_bits(monkeypatch):
    """Give the next release the bits that the one before had."""
    bits = SimpleNamespace(randbits=random.Random(3).getrandbits)
    monkeypatch.setattr(integer_choice, "secrets", bits)


def test_a_folder_of_parts_is_released_as_one_file(holder, run, monkeypatch):
    """Subjects have records in several parts, of which the first two count."""
    table = pd.read_csv("mine.csv")
    table["who"] = np.random.default_rng(4).integers(0, 150, len(table))
    table.to_parquet("whole.parquet", index=False)
    Path("cut.parquet").mkdir()
    for number, start in enumerate(range(0, len(table), 90)):
        table[start : start + 90].to_parquet(f"cut.parquet/part-{number}.parquet", index=False)
    public = {"public.subjects": table["who"].nunique(), "public.records_per_subject": 2}
    said, found = [], []
    for path in ("whole.parquet", "cut.parquet"):
        here = {"ledger": f"{path}.of/ledger", "folder": f"{path}.out", "data.path": path}
        Path(f"{path}.of").mkdir()
        Ledger.create(here["ledger"], "2", "epsilon")
        settings = changed(here | public)
        said.append(run("check", settings).out.replace(path, "PATH"))
        same_bits(monkeypatch)
        run("release", settings)
        files = Path(here["folder"]).iterdir()
        found.append({each.name: each.read_bytes() for each in files})
    assert said[0] == said[1]
    assert found[0] == found[1]
    # Whatever is wrong with a part is of the whole, whose fingerprint changed.
    table[:5].to_parquet("cut.parquet/part-9.parquet", index=False)
    assert "The data changed since" in run("check", settings).out


def test_what_is_no_folder_of_parts_is_refused(folder):
    path = as_parts(frame())
    Path("parts/p17.csv").touch()
    assert "p17" not in refused("not one of Parquet files alone", path)
    Path("parts/p17.csv").unlink()
    frame(age="1").to_parquet("parts/3.parquet")
    refused("columns of different names or types", path)
    frame().drop(columns="comment").to_parquet("parts/3.parquet")
    refused("columns of different names or types", path)
    Path("parts/3.parquet").write_bytes(b"PAR1")
    refused("parts: it cannot be read as a Parquet file", path)
