"""Faults of a release that no pair of tables shows, each tried as it is and with a mistake planted.

A scenario makes releases from one ledger in an empty folder and says what is wrong, or nothing.
"""

import os
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from geodp.data import cells
from geodp.errors import DataError
from geodp_release import ledger as ledgers
from geodp_release import publish
from geodp_release.ledger import Ledger
from reproduction.measurements.audit import runs
from reproduction.measurements.audit.mistakes import patched
from reproduction.measurements.audit.neighbours import Space

PLAN_OF = publish.plan_of

TABLE = pd.DataFrame({"who": list("abcde"), "x0": np.linspace(0.1, 0.9, 5), "c0": 0.5})
SPACE = Space("euclidean", 1, 1, 1, runs.REPLACE, "epsilon", 1)


class Trial:
    """A folder with a table, settings of releases from it, and a ledger."""

    def __init__(self, folder):
        TABLE.to_csv("mine.csv", index=False)
        self.runner = runs.Runner(SPACE, Path(folder, "kept"))
        self.ledger = Ledger.create("mine.ledger", "1000", "epsilon")

    def settings(self, **changes):
        given = self.runner.given["csv"] | changes
        return runs.release_settings.ReleaseSettings.model_validate(given)

    def publish(self, **more):
        with suppress(DataError):
            publish.publish(self.settings(**more.pop("changes", {})), plan=self.runner.plan, **more)
        return self.ledger.spent

    def killed(self):
        """A release that ends when its folder is written: its draw is kept."""
        with patch.object(publish, "write_folder", side_effect=OSError):
            self.publish()


@contextmanager
def trial():
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path(folder, "kept").mkdir()
        found = Trial(folder)
        with found.runner.shortened(is_whole=False):
            yield found


def two_runs_of_a_name(made):
    """One draws while another of the same name begins."""
    drawn, inner = publish._drawn, []

    def drawing(*given):
        if not inner:
            inner.append(True)
            with patch.object(publish, "_one_at_once", nullcontext):
                made.publish()
        return drawn(*given)

    with patch.object(publish, "_drawn", drawing):
        spent = made.publish()
    return f"{spent} spent for one release" if spent > 3 else ""


def an_older_copy_of_the_ledger(made):
    """A release is killed, an older copy takes the ledger's place, and another one is made."""
    copy = Path("mine.ledger").read_bytes()
    made.killed()
    Path("mine.ledger").write_bytes(copy)
    other = {"name": "other", "folder": "theirs"}
    with (
        patch.object(publish, "_drawn", side_effect=KeyboardInterrupt),
        suppress(KeyboardInterrupt),
    ):
        made.publish(changes=other)
    # It was ended before it could draw.
    return "the folder has the draw of another release" if Path("theirs").exists() else ""


def a_hard_link(made):
    """A release is killed, and made again by another link of its ledger, in another folder."""
    made.killed()
    Path("elsewhere").mkdir()
    os.link("mine.ledger", "elsewhere/same.ledger")
    spent = made.publish(changes={"ledger": "elsewhere/same.ledger"})
    return f"{spent} spent for one release" if spent > 3 else ""


def a_damaged_draw(made):
    """A draw that is kept is cut off, and the release is made again."""
    made.killed()
    [kept] = Path().glob("mine.ledger-*.json")
    kept.write_text(kept.read_text()[:-99])
    try:
        publish.publish(made.settings(), plan=made.runner.plan)
    except DataError as problem:
        return "" if "put a copy back" in str(problem) else f"without a remedy: {problem}"
    return "a damaged draw was published"


def the_holder_in_the_folder(made):
    """A file for the holder in the folder that is published."""
    made.publish()
    made.publish(for_holder=Path("out", "seen.txt"))
    return "a file for the holder is published" if Path("out", "seen.txt").exists() else ""


def a_table_that_changes(made):
    """Another program replaces the table while it is read."""
    read = publish.read_data

    def reading(settings):
        found = read(settings)
        TABLE.iloc[::-1].to_csv("mine.csv", index=False)
        return found

    with patch.object(publish, "read_data", reading):
        spent = made.publish()
    return "released, with the fingerprint of another table" if spent else ""


def releases_in_threads(made):
    """Six releases at once, after which output and logs are as they were."""
    before, started = (sys.stdout, sys.stderr), threading.Barrier(6)

    def run(number):
        started.wait()
        made.publish(changes={"name": f"t{number}", "folder": f"t{number}"})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, range(6)))
    changed = before != (sys.stdout, sys.stderr) or publish.logging.root.manager.disable
    sys.stdout, sys.stderr = before
    publish.logging.disable(0)
    return "output is closed or logs are off" if changed else ""


def very_many_subjects(made):
    """A public number of subjects for which no machine has memory."""
    numbers = {"subjects": 10**9, "records_per_subject": 1000}
    settings = made.settings(public=made.runner.given["csv"]["public"] | numbers)
    plan = replace(made.runner.plan, assumptions=settings.assumptions)
    with patch.object(publish, "planned", lambda *_: plan), suppress(DataError):
        publish.publish(settings, plan=PLAN_OF(settings))
    return f"{made.ledger.spent} spent for no release" if made.ledger.spent else ""


def a_column_of_texts(made):
    """A data frame whose covariate is a text."""
    settings = made.settings(data=made.runner.given[""]["data"] | {"path": "the data frame"})
    settings.data.set_frame(TABLE.assign(x0=[f"{each} years" for each in TABLE["x0"]]))
    with suppress(DataError):
        publish.publish(settings, plan=made.runner.plan)
    return f"{made.ledger.spent} spent for noise" if made.ledger.spent else ""


def _by_name(ledger, entry):
    return ledger.path.with_name(f"{ledger.path.name}-{entry.number}.json")


def _any_key(ledger, entry):
    place = ledger.place(entry)
    return place if entry.status == ledgers.STARTED and place.is_file() else None


# By name: the scenario, and what is replaced by mistake.
SCENARIOS = {
    "runs of one name at once": (two_runs_of_a_name, [(Ledger, "_hold", lambda *_: None)]),
    "a draw by its number and second": (
        an_older_copy_of_the_ledger,
        [(Ledger, "kept", _any_key), (ledgers.secrets, "randbelow", lambda _: 0)],
    ),
    "a draw by the name of its ledger": (a_hard_link, [(Ledger, "place", _by_name)]),
    "a damaged draw without a remedy": (
        a_damaged_draw,
        [(publish, "_silently", lambda function, *given: (function(*given), None, False))],
    ),
    "the holder's file is published": (
        the_holder_in_the_folder,
        [(publish, "_refuse_published", lambda *_: None)],
    ),
    "a fingerprint of other bytes": (
        a_table_that_changes,
        [(publish, "fingerprint_of", lambda *_: "0")],
    ),
    "silence in threads": (
        releases_in_threads,
        [(publish, "_one_at_once", nullcontext), (publish, "QUIET", nullcontext())],
    ),
    "memory after paying": (
        very_many_subjects,
        [(publish, name, lambda *_: None) for name in ("_refuse_large", "subject_records")],
    ),
    "texts for numbers": (a_column_of_texts, [(cells, "no_numbers", lambda _: None)]),
}


def tried(name, is_mistaken):
    """What is wrong in a scenario, as it is or with its mistake."""
    scenario, mistake = SCENARIOS[name]
    with trial() as made, patched(*mistake if is_mistaken else ()):
        return scenario(made)
