"""Runs of releases of tables, by command and by Python, with all that leaves them."""

import io
import os
import shutil
import sys
import time
import warnings
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

# On a machine without a list of its fonts, the import writes one: not a part of any release.
import matplotlib.font_manager  # noqa: F401
import numpy as np
import pandas as pd
import yaml

from geodp_release import cli, publish
from geodp_release import folder as release_folder
from geodp_release import ledger as release_ledger
from geodp_release import settings as release_settings
from geodp_release.accounting import choice_epsilon
from geodp_release.assumptions import REPLACE
from geodp_release.files import write_release
from geodp_release.ledger import Ledger
from geodp_release.planning import ReleasePlan
from geodp_release.release import release_geodesic
from geodp_release.stages import (
    CountStage,
    FarStage,
    MatrixStage,
    MomentsStage,
    NoisyStep,
    PointsStage,
    ScaleStage,
)
from geodp_release.subjects import ONE_EACH
from reproduction.measurements.audit.writers import (
    FRAME,
    LABEL,
    SUFFIXES,
    fitting,
    frame,
    settings_of,
    write,
)

# Who makes the release: the command, from a file; or Python, from arrays.
BY_COMMAND, BY_FUNCTION, BY_ESTIMATOR = "geodp release", "release_geodesic", "estimator"


class Clock:
    """In place of ``datetime``: always the same time."""

    @staticmethod
    def now(zone=None):
        return datetime.fromisoformat("2026-01-01T00:00:00+00:00")


@lru_cache
def plan_of(space):
    """A plan with every kind of stage, for the public inputs of a space."""
    found = release_settings.ReleaseSettings.model_validate(settings_of(space, "csv"))
    assumptions, budget = found.assumptions, found.privacy_budget
    each, blocks, unit = Fraction(3, 8), 1 + space.covariates, space.unit
    choice = choice_epsilon(each, unit)
    step = NoisyStep(each, unit, clip=0.2, prior=(0.05,) * blocks)
    stages = [
        *([CountStage(each, unit)] if space.neighbours != REPLACE else []),
        *([MomentsStage(each, unit)] if space.covariates else []),
        MatrixStage(each, unit, clip=0.2, prior=(0.05,) * blocks),
        PointsStage.of(choice, unit, 16, 0.5),
        step,
        ScaleStage(each, unit, weights=(2, 9, 4), shortest=-8),
        FarStage(each, unit),
        replace(step, clip=0.5, is_relative=True),
    ]
    return ReleasePlan(assumptions, budget, tuple(stages), 0.01, 0.01, 0.5)


class Runner:
    """Runs of releases of one space in an empty folder of their own."""

    def __init__(self, space, folder):
        self.space, self.folder = space, folder
        self.plan = plan_of(space)
        self.ledger = folder / "kept"
        Ledger.create(self.ledger, "1000", space.unit)
        self.settings, self.given = {}, {}
        for name in fitting(space):
            path = folder / f"{name}.yaml"
            self.given[name] = settings_of(space, name)
            path.write_text(yaml.safe_dump(self.given[name]))
            self.settings[path.name] = release_settings.read_settings(path)

    def run(self, pair, which, tape, by, is_whole):
        """What leaves a release made in one of the ways, and its processor time in seconds."""
        if by == BY_COMMAND:
            return self.by_command(pair, which, tape, is_whole)
        return self.by_python(pair, which, tape, PYTHON[by])

    @contextmanager
    def shortened(self, is_whole):
        """A context without what is public and slow: plans, reading of settings, pages."""
        with ExitStack() as stack:
            for module, name, value in (
                (publish, "plan_of", lambda settings: self.plan),
                (publish, "verdict", lambda settings, plan: "verdict"),
                (release_settings, "read_settings", lambda path: self.settings[Path(path).name]),
                (release_ledger, "datetime", Clock),
                (release_folder, "datetime", Clock),
            ):
                stack.enter_context(patch.object(module, name, value))
            if not is_whole:
                stack.enter_context(patch.object(publish, "write_folder", write_document))
            yield

    def by_command(self, pair, which, tape, is_whole):
        """What leaves ``geodp release``, by what it is, and its processor time in seconds.

        Of a data frame what leaves ``geodp.release``.
        """
        how, table = pair.formats[which], pair.tables[which]
        name, folder = how["suffix"], self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if name == FRAME:
            data = frame(table, pair.columns, how.get("type", "float"), bool(how.get(LABEL)))
            released = partial(publish.release, data, self.given[name], tell=print)
            make = lambda: released() and 0  # noqa: E731
        else:
            write(self.space, table, pair.columns, how, folder / f"mine.{SUFFIXES.get(name, name)}")
            make = partial(cli.main, ["release", f"{name}.yaml"])
        shutil.copy(self.ledger, folder / "mine.ledger")
        private = {path.name for path in folder.iterdir()}
        words = io.StringIO(), io.StringIO()
        with (
            chdir(folder),
            self.shortened(is_whole),
            tape.running(),
            descriptors(self.folder) as below,
            opened_elsewhere(self.folder) as elsewhere,
            redirect_stdout(words[0]),
            redirect_stderr(words[1]),
        ):
            start = time.process_time()
            status = outcome(make)
            seconds = time.process_time() - start
        left = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and path.name not in private
        }
        left |= {
            "standard output": words[0].getvalue(),
            "standard error": words[1].getvalue(),
            "descriptors 1 and 2": below(),
            "files elsewhere": sorted(elsewhere),
            "status": status,
            "ledger": Ledger.open(folder / "mine.ledger").words(),
        }
        return left, seconds

    def by_python(self, pair, which, tape, release):
        """What leaves a release of arrays, and its processor time in seconds."""
        found = frame(pair.tables[which], pair.columns)
        space = self.space
        x = found[space.covariate_columns].to_numpy() if space.covariates else None
        numbers = found[space.point_columns].to_numpy()
        labels = ONE_EACH if space.is_one_each else typed_labels(pair.tables[which])
        path, words, made = self.folder / "release.json", io.StringIO(), []
        with (
            warnings.catch_warnings(record=True) as warned,
            redirect_stdout(words),
            redirect_stderr(words),
            tape.running(),
        ):
            warnings.simplefilter("always")
            start = time.process_time()
            status = outcome(lambda: made.append(release(self.plan, space, x, numbers, labels)))
            seconds = time.process_time() - start
        told = [str(each.message) for each in warned]
        left = {"status": status, "warnings": told, "words": words.getvalue()}
        if made:
            made[0].save(path)
            # What it prints is a function of that, which takes half a second.
            left |= {"file": path.read_bytes()}
            path.unlink()
        return left, seconds


@contextmanager
def descriptors(folder):
    """A context in which what is written past Python's streams is kept; a function tells it."""
    path = folder / "descriptors"
    kept = [os.dup(number) for number in (1, 2)]
    with open(path, "wb") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        try:
            yield path.read_bytes
        finally:
            for number, before in zip((1, 2), kept, strict=True):
                os.dup2(before, number)
                os.close(before)


# Where files may be written, and those that are written elsewhere, while a release runs.
WATCHED: dict = {"folder": None, "paths": set()}


def watch(event, arguments):
    """Audit hook of Python, which cannot be taken away: note what is opened for writing."""
    if event != "open" or WATCHED["folder"] is None or not isinstance(arguments[0], str):
        return
    path, mode, flags = arguments
    if (mode and set(mode) & set("wax+")) or (flags and flags & (os.O_WRONLY | os.O_RDWR)):
        where = os.path.abspath(path)
        if not where.startswith((f"{WATCHED['folder']}/", "/dev/null")):
            # Names of temporary files are random.
            WATCHED["paths"].add(os.path.dirname(where))


@contextmanager
def opened_elsewhere(folder):
    """A context that gives the folders of files opened for writing outside a folder."""
    if not WATCHED.get("is_hooked"):
        sys.addaudithook(watch)
    WATCHED.update(folder=str(folder), paths=set(), is_hooked=True)
    try:
        yield WATCHED["paths"]
    finally:
        WATCHED["folder"] = None


def outcome(run):
    """What a call returns, or raises, as text."""
    try:
        return repr(run())
    except BaseException as problem:
        return f"{type(problem).__name__}: {problem}"


def write_document(release, settings, folder):
    """A folder with the release alone: all others of its files are functions of that."""
    folder.mkdir()
    write_release(release, folder / "release.json")


def typed_labels(table):
    """Labels as programs hold them: numbers, truth values, texts, and nothing in several forms."""
    nothing = {"": None, " ": np.nan, "\t": pd.NA}
    known = {"1": 1, "True": True} | nothing
    return [known.get(row[LABEL], row[LABEL]) for row in table]


def of_function(plan, space, covariates, numbers, labels):
    return release_geodesic(plan, covariates, space.read(numbers), labels)


def of_estimator(plan, space, covariates, numbers, labels):
    """By the estimator of the space: of lines if it is flat."""
    from geodp_release import estimator, linear_estimator

    assumptions = plan.assumptions
    given = {plan.budget.unit: str(plan.budget.amount)}
    if plan.budget.delta is not None:
        given["delta"] = str(plan.budget.delta)
    names = {"covariate_range", "subjects", "neighbours", "records_per_subject"}
    kind: Any = estimator.PrivateGeodesicRegression
    if assumptions.is_flat:
        kind = linear_estimator.PrivateLinearRegression
        given["response_range"] = [(-1.0, 2.0)] * assumptions.manifold.dim
    else:
        names |= {"manifold", "centre"}
    model = kind(**given, **{name: getattr(assumptions, name) for name in names})
    with patch.object(estimator, "planned", lambda *_: plan):
        return model.fit(covariates, space.read(numbers), subjects=labels).release_


PYTHON = {BY_FUNCTION: of_function, BY_ESTIMATOR: of_estimator}
