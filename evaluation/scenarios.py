"""Scenarios: runs of releases from one ledger in an empty folder, and what they may not do.

A function of a `Trial` says whether something is wrong: nothing may be as releases are, and
something with the fault that is planted under its name.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from geodp.errors import DataError
from geodp.manifolds.euclidean import Euclidean
from geodp_release.ask import planning, publish
from geodp_release.ask import settings as release_settings
from geodp_release.plan.stage_search import plan_release
from geodp_release.promise import ledger
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import PrivacyBudget
from geodp_release.promise.public_inputs import REPLACE
from geodp_release.show import release
from replay_runs import Runner, replaced
from replay_tables import Space

TABLE = pd.DataFrame({"who": list("abcde"), "x0": np.linspace(0.1, 0.9, 5), "c0": 0.5})
PLAN_OF = planning.plan_of


# Functions, and in words what the fault does in them, by its name.
SCENARIOS: dict = {}


def scenario(name, words):
    """Adds a function to `SCENARIOS`."""

    def adding(function):
        SCENARIOS[name] = function, words
        return function

    return adding


class Trial:
    """A table in the working directory, settings of releases from it, and a ledger."""

    def __init__(self):
        Path("kept").mkdir()
        TABLE.to_csv("mine.csv", index=False)
        space = Space("euclidean", 1, 1, 1, REPLACE, "epsilon", 1)
        self.runner = Runner(space, Path("kept").absolute())
        self.ledger = ledger.Ledger.create("mine.ledger", "1000", "epsilon")

    def settings(self, **changes):
        given = self.runner.given["csv"] | changes
        return release_settings.ReleaseSettings.model_validate(given)

    def publish(self, given=None, *, plan=None, **more):
        """Make a release, or not, and say what is spent then: 3 for one."""
        with suppress(DataError):
            publish.publish(given or self.settings(), plan=plan or self.runner.plan, **more)
        return self.ledger.spent

    def killed(self):
        """A release that ends when its folder is written: its draw is kept."""
        with patch.object(publish, "write_folder", side_effect=OSError):
            self.publish()


@scenario("runs of one name at once", "one is paid twice")
def two_runs_of_a_name(made):
    """One draws while another of the same name begins."""

    def drawing(was, *given):
        with patch.multiple(publish, _drawn=was, _one_at_once=nullcontext):
            made.publish()
        return was(*given)

    with replaced((publish, "_drawn", drawing)):
        return made.publish() > 3


@scenario("a draw by its number and second", "the folder has the draw of another release")
def an_older_copy_of_the_ledger(made):
    """A release is killed, an older copy takes the ledger's place, and another one is made."""
    copy = Path("mine.ledger").read_bytes()
    made.killed()
    Path("mine.ledger").write_bytes(copy)
    drawing = patch.object(publish, "_drawn", side_effect=KeyboardInterrupt)
    with drawing, suppress(KeyboardInterrupt):
        made.publish(made.settings(name="other", folder="theirs"))
    # It was ended before it could draw.
    return Path("theirs").exists()


@scenario("a draw by the name of its ledger", "one is paid twice")
def a_hard_link(made):
    """A release is killed, and made again by another link of its ledger, in another folder."""
    made.killed()
    Path("elsewhere").mkdir()
    os.link("mine.ledger", "elsewhere/same.ledger")
    return made.publish(made.settings(ledger="elsewhere/same.ledger")) > 3


@scenario("a damaged draw without a remedy", "it is published, or refused without a remedy")
def a_damaged_draw(made):
    """A draw that is kept is cut off, and the release is made again."""
    made.killed()
    [kept] = Path().glob("mine.ledger-*.json")
    kept.write_text(kept.read_text()[:-99])
    try:
        publish.publish(made.settings(), plan=made.runner.plan)
    except DataError as problem:
        return "put a copy back" not in str(problem)
    return True


@scenario("the holder's file is published", "it is in the folder")
def the_holder_in_the_folder(made):
    """A release is there already; then its holder's file is asked for in its folder."""
    made.publish()
    made.publish(for_holder=Path("out", "seen.txt"))
    return Path("out", "seen.txt").exists()


@scenario("a fingerprint of other bytes", "a table is released with the fingerprint of another")
def a_table_that_changes(made):
    """Another program replaces the table while it is read."""

    def reading(was, given):
        found = was(given)
        TABLE.iloc[::-1].to_csv("mine.csv", index=False)
        return found

    with replaced((publish, "read_data", reading)):
        return made.publish() > 0


@scenario("silence in threads", "output is closed or logs are off")
def releases_in_threads(made, rounds=8):
    """Six releases at once, in turns, after which output and logs are as they were."""
    before, interval = (sys.stdout, sys.stderr), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for turn in range(rounds):
            started = threading.Barrier(6)

            def run(number, turn=turn, started=started):
                started.wait()
                name = f"t{turn}_{number}"
                made.publish(made.settings(name=name, folder=name))

            with ThreadPoolExecutor(6) as pool:
                list(pool.map(run, range(6)))
            if before != (sys.stdout, sys.stderr) or publish.logging.root.manager.disable:
                return True
        return False
    finally:
        sys.setswitchinterval(interval)
        sys.stdout, sys.stderr = before
        publish.logging.disable(0)


@scenario("memory after paying", "it is paid, and nothing released")
def very_many_subjects(made):
    """A public number of subjects for which no machine has memory."""
    numbers = {"subjects": 10**9, "records_per_subject": 1000}
    given = made.settings(public=made.runner.given["csv"]["public"] | numbers)
    plan = replace(made.runner.plan, assumptions=given.assumptions)
    with patch.object(planning, "planned", lambda *_: plan), suppress(DataError):
        made.publish(given, plan=PLAN_OF(given))
    return made.ledger.spent > 0


@scenario("texts for numbers", "noise is paid")
def a_column_of_texts(made):
    """A data frame whose covariate is a text."""
    given = made.settings(data=made.runner.given["csv"]["data"] | {"path": release_settings.FRAME})
    given.data.set_frame(TABLE.assign(x0=[f"{each} years" for each in TABLE["x0"]]))
    return made.publish(given) > 0


@scenario("even covariates that are not checked", "bands rest on them, and nothing is said")
def covariates_that_are_not_even(made, number=2000):
    """They are said to be spread evenly, and are Beta(2, 5)."""
    rng, each = np.random.default_rng(1), {"residual_scale": 0.1, "covariate_spread": "evenly"}
    x = rng.beta(2.0, 5.0, number)
    y = 0.5 * x[:, None] + rng.normal(scale=0.1, size=(number, 1))
    assumptions = Assumptions(Euclidean(1), np.zeros(1), 1.0, 2.0, (0.0, 1.0), number, **each)
    plan = plan_release(assumptions, PrivacyBudget("4"), work=10**5)
    found = release.release_geodesic(plan, x, y, np.arange(number))
    said = any("spread evenly" in each for each in found.doubts())
    return not (said and np.all(np.isnan(found.band([0.2, 0.8]))))
