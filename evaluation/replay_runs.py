"""Runs of releases by command and by Python, with all messages, files and calls that they make."""

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
from types import FunctionType, SimpleNamespace
from unittest.mock import patch

# On a machine without a list of its fonts, the import writes one: not a part of any release.
import matplotlib.font_manager  # noqa: F401
import numpy as np
import pandas as pd
import yaml

from geodp.models.terms import WORDS
from geodp_release import stages as st
from geodp_release.ask import cli, estimator, planning, publish, settings
from geodp_release.ask.linear_estimator import PrivateLinearRegression
from geodp_release.plan.release_plan import ReleasePlan
from geodp_release.promise import ledger, ledger_file
from geodp_release.promise.budget import choice_epsilon
from geodp_release.promise.public_inputs import HUBER, REPLACE
from geodp_release.run import contributions
from geodp_release.run.subjects import ONE_EACH
from geodp_release.show import folder
from geodp_release.show.document import write_release
from geodp_release.show.release import release_geodesic
from replay_files import frame, settings_of, write
from replay_tables import FRAME, LABEL, SUFFIXES

# Who makes the release: the command, from a file; or Python, from arrays.
BY_COMMAND, BY_FUNCTION, BY_ESTIMATOR = "geodp release", "release_geodesic", "estimator"


@contextmanager
def replaced(*parts):
    """A context with attributes replaced: owner, name, and a function or another value.

    A function has what it replaces before its arguments.
    """
    with ExitStack() as stack:
        for owner, name, value in parts:
            if isinstance(value, FunctionType):
                value = before_arguments(getattr(owner, name), value)
            stack.enter_context(patch.object(owner, name, value))
        yield


def before_arguments(was, function):
    return lambda *given, **more: function(was, *given, **more)


def few_at_once():
    """Small chunks: padding, which changes no sum, would be most of the work."""
    return patch.multiple(contributions, CHUNK=8, LEAST_CHUNK=8)


@lru_cache
def plan_of(space):
    """A plan with every kind of stage, for the public inputs of a space."""
    found = settings.ReleaseSettings.model_validate(settings_of(space, "csv"))
    each, unit = Fraction(1, 4), space.unit
    blocks = 1 + found.assumptions.number_of_covariates
    step = st.NoisyStep(each, unit, clip=0.2, prior=(0.05,) * blocks)
    stages = [
        *([st.CountStage(each, unit)] if space.neighbours != REPLACE else []),
        *([st.MomentsStage(each, unit)] if space.covariates else []),
        st.MatrixStage(each, unit, clip=0.2, prior=(0.05,) * blocks),
        st.PointsStage.of(choice_epsilon(each, unit), unit, 16, 0.5),
        step,
        st.ScaleStage(each, unit, weights=(2, 9, 4), shortest=-8),
        st.FarStage(each, unit),
        st.BeyondStage(each, unit) if space.loss == HUBER else st.TailStage(each, unit, limit=0.25),
        st.LastStep(
            **vars(replace(step, clip=0.5, is_relative=True)), unlike=0.1, share=Fraction(1, 4)
        ),
        *(st.ProductsStage(each, unit, directions=ways) for ways in (False, True)),
    ]
    return ReleasePlan(found.assumptions, found.privacy_budget, tuple(stages), 0.01, 0.01, 0.5)


class Runner:
    """Runs of releases of one space in an empty folder of their own."""

    def __init__(self, space, place):
        self.space, self.place, self.plan = space, place, plan_of(space)
        ledger.Ledger.create(place / "kept", "1000", space.unit)
        self.settings, self.given = {}, {}
        for name in space.formats:
            path = place / f"{name}.yaml"
            self.given[name] = settings_of(space, name)
            path.write_text(yaml.safe_dump(self.given[name]))
            self.settings[path.name] = settings.read_settings(path)

    def run(self, pair, which, tape, by, is_whole=False):
        """What leaves a release made in one of the ways, and its processor time in seconds."""
        here = self.place / "run"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        shutil.copy(self.place / "kept", here / "mine.ledger")
        by_what = self.command if by == BY_COMMAND else self.python
        release = by_what(pair.tables[which], pair.columns, pair.formats[which], here, by)
        private = {*here.rglob("*")}
        with chdir(here), self.shortened(is_whole):
            left, seconds = observed(release, tape, self.place)
        for path in here.rglob("*"):
            if path.is_file() and path not in private:
                left[str(path.relative_to(here))] = path.read_bytes()
        return left | {"ledger": ledger.Ledger.open(here / "mine.ledger").words()}, seconds

    def shortened(self, is_whole=False):
        """A context at one time, without what is public and slow: plans, settings, pages."""
        start = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
        clock = SimpleNamespace(now=lambda zone=None: start)
        parts = [
            (planning, "plan_of", lambda was, *_: self.plan),
            (planning, "verdict", lambda was, *_: "verdict"),
            (settings, "read_settings", lambda was, path: self.settings[Path(path).name]),
            (ledger_file, "datetime", clock),
            (folder, "datetime", clock),
        ]
        return replaced(*parts, *([] if is_whole else [(publish, "write_folder", write_document)]))

    def command(self, table, columns, how, here, by):
        """The command ``geodp release``, or for a data frame ``geodp.release``."""
        name = how["suffix"]
        if name == FRAME:
            data = frame(table, columns, how.get("type", "float"), bool(how.get(LABEL)))
            return lambda: publish.release(data, self.given[name], tell=print) and None
        write(self.space, table, columns, how, here / f"mine.{SUFFIXES.get(name, name)}")
        return partial(cli.main, ["release", f"{name}.yaml"])

    def python(self, table, columns, how, here, by):
        """The function, or the estimator of the space, on arrays."""
        found, space = frame(table, columns), self.space
        x = found[space.covariate_columns].to_numpy() if space.covariates else None
        points = found[space.point_columns].to_numpy()
        labels = ONE_EACH if space.is_one_each else typed_labels(table)

        def by_function():
            return release_geodesic(self.plan, x, space.read(points), labels)

        def by_estimator():
            model = estimator_of(self.plan)
            with patch.object(estimator, "planned", lambda *_: self.plan):
                return model.fit(x, space.read(points), subjects=labels).release_

        make = by_function if by == BY_FUNCTION else by_estimator
        # What it prints is a function of what is saved, and takes half a second.
        return lambda: make().save("release.json")


def observed(release, tape, place):
    """What leaves a release but for files, by what it is, and its processor time in seconds."""
    out, err = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(record=True) as warned,
        tape.running(),
        watched(place) as left,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        warnings.simplefilter("always")
        start = time.process_time()
        try:
            status = repr(release())
        except BaseException as problem:
            status = f"{type(problem).__name__}: {problem}"
        seconds = time.process_time() - start
    words = {"standard output": out.getvalue(), "standard error": err.getvalue()}
    told = [str(each.message) for each in warned]
    return left | words | {"status": status, "warnings": told}, seconds


# Where files may be written, and folders of others that are opened for writing meanwhile.
WATCHED: dict = {"place": None, "elsewhere": set(), "is_hooked": False}


def watch(event, arguments):
    """Audit hook of Python, which cannot be taken away: note what is opened for writing."""
    if event != "open" or WATCHED["place"] is None or not isinstance(arguments[0], str):
        return
    path, mode, flags = arguments
    if (mode and set(mode) & set("wax+")) or (flags and flags & (os.O_WRONLY | os.O_RDWR)):
        where = os.path.abspath(path)
        if not where.startswith((f"{WATCHED['place']}/", "/dev/null")):
            # Names of temporary files are random.
            WATCHED["elsewhere"].add(os.path.dirname(where))


@contextmanager
def watched(place):
    """A context that gives what is written past Python's streams, and outside a folder."""
    left, path = {}, place / "descriptors"
    kept = [os.dup(number) for number in (1, 2)]
    if not WATCHED["is_hooked"]:
        sys.addaudithook(watch)
    with open(path, "wb") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        WATCHED.update(place=place, elsewhere=set(), is_hooked=True)
        try:
            yield left
        finally:
            WATCHED["place"] = None
            for number, before in zip((1, 2), kept, strict=True):
                os.dup2(before, number)
                os.close(before)
    left |= {"descriptors 1 and 2": path.read_bytes()}
    left |= {"files elsewhere": sorted(WATCHED["elsewhere"])}


def write_document(was, release, settings, folder):
    """A folder with the release alone: all others of its files are functions of that."""
    folder.mkdir()
    write_release(release, folder / "release.json")


def typed_labels(table):
    """Labels as programs hold them: numbers, truth values, texts, and nothing in several forms."""
    known = {"1": 1, "True": True, "": None, " ": np.nan, "\t": pd.NA}
    return [known.get(row[LABEL], row[LABEL]) for row in table]


def estimator_of(plan):
    """The estimator of a plan's space: of lines if it is flat."""
    assumptions, budget = plan.assumptions, plan.budget
    given = {budget.unit: str(budget.amount)}
    if budget.delta is not None:
        given["delta"] = str(budget.delta)
    names = ["covariate_range", "subjects", "neighbours", "records_per_subject", "loss"]
    if not assumptions.terms.is_plain:
        given |= {"basis": assumptions.terms.bases, "products": assumptions.products}
        ranges = zip(assumptions.ranges, assumptions.terms.bases, strict=True)
        given["covariate_range"] = [limits for limits, basis in ranges if WORDS not in basis]
        names.remove("covariate_range")
    if assumptions.is_flat and assumptions.terms.is_plain:
        kind = PrivateLinearRegression
        given["response_range"] = [(-1.0, 2.0)] * assumptions.manifold.dim
    else:
        kind = estimator.PrivateGeodesicRegression
        names += ["manifold", "centre"]
    return kind(**given, **{name: getattr(assumptions, name) for name in names})
