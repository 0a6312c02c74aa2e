"""A release from its settings to its folder: plan, reserve, read, draw, write, finish."""

import sys
import traceback
import warnings
from pathlib import Path

from geodp.errors import DataError
from geodp.release.folder import refuse_taken, write_folder
from geodp.release.holder import suspicious_inputs
from geodp.release.inspection import inspect_inputs
from geodp.release.ledger import STARTED, Ledger
from geodp.release.needed import planned, subjects_needed
from geodp.release.reading import check_data_settings, read_data, refuse_missing
from geodp.release.release import release_geodesic


class ForHolder(DataError):
    """An error after the data were read: its message may tell of records.

    Attributes
    ----------
    public : str
        A sentence that does not.
    """

    def __init__(self, message, public):
        super().__init__(message)
        self.public = public


def plan_of(settings):
    """The plan of a release, without a look at its data.

    Parameters
    ----------
    settings : ReleaseSettings

    Returns
    -------
    ReleasePlan

    Raises
    ------
    DataError
        Public inputs, budget or description of the data cannot be used.
    """
    budget = settings.privacy_budget
    return planned(ready(settings), budget)


def ready(settings):
    """The `Assumptions` of a release, once all is checked that needs no look at the data."""
    assumptions = settings.assumptions
    check_data_settings(settings)
    return assumptions


def verdict(plan):
    """What a plan promises, in a sentence."""
    unit = plan.assumptions.manifold.length_unit
    what = plan.assumptions.what
    error, blind = (f"{each:.3g} {unit}".strip() for each in (plan.error, plan.error_without_data))
    if not plan.is_noise:
        return f"The predicted error is {error}, and {blind} for {what} drawn without data."
    return (
        f"The release would be noise, since its predicted error is {error}, more than a third of "
        f"the {blind} of {what} drawn without data: {_remedy(plan)}"
    )


def _remedy(plan):
    needed = subjects_needed(plan.assumptions, plan.budget)
    if needed is None:
        return "no number of subjects would do with this budget, so give a larger one."
    return f"about {needed} subjects would do with this budget."


def publish(settings, tell=lambda words: None, tell_holder=None):
    """Make a release once: a second call returns the folder of the first and spends nothing.

    Parameters
    ----------
    settings : ReleaseSettings
    tell : callable
        Takes sentences that do not depend on the data.
    tell_holder : callable, optional
        Takes warnings that do; the holder alone may read them.

    Returns
    -------
    folder : Path
        The complete release.
    is_new : bool

    Raises
    ------
    DataError
        One sentence.  If it may tell of the data it is a `ForHolder`.
    KeyboardInterrupt
        Its message says what was spent.
    """
    plan = plan_of(settings)
    if plan.is_noise and not settings.allow_noise:
        raise DataError(f"{verdict(plan)} Set allow_noise to true to release it. Nothing was spent")
    tell(verdict(plan))
    # What is tabulated is public: whatever is wrong with it shows before anything is spent.
    _ = settings.covariates
    ledger = Ledger.open(settings.ledger)
    key, folder = settings.key(plan), Path(settings.folder)
    before = ledger.entries()
    if not any(entry.key == key and entry.finished for entry in before):
        refuse_taken(folder)
        refuse_missing(settings)
    try:
        return _spend(settings, plan, ledger, key, folder, tell_holder)
    except KeyboardInterrupt:
        amount = f"{plan.budget.amount} {plan.budget.unit}"
        started = [each for each in ledger.entries()[len(before) :] if each.key == key]
        if not any(each.status == STARTED for each in started):
            raise KeyboardInterrupt(f"interrupted: nothing of {ledger.path} was spent") from None
        raise KeyboardInterrupt(f"interrupted: {amount} of {ledger.path} stays spent") from None


def _spend(settings, plan, ledger, key, folder, tell_holder):
    budget = plan.budget
    with ledger.spending(key, budget.amount, settings.name, unit=budget.unit) as entry:
        if entry.finished:
            if not (entry.folder / "release.json").is_file():
                raise DataError(
                    f"{settings.name} was released into {entry.folder}, which is not there: put a "
                    "copy back, or give another name for another draw, which spends again"
                )
            return entry.folder, False
        spent = f"{budget.amount} {budget.unit} of {ledger.path} stays spent"
        try:
            with warnings.catch_warnings():
                # They depend on the data, and would get into logs.
                warnings.simplefilter("ignore")
                release = _draw(settings, plan, tell_holder)
        except Exception as problem:
            raise ForHolder(
                f"{_words(problem)}; {spent}",
                f"the data of {settings.name} cannot be used as its settings say, and nothing is "
                f"released; `geodp check` tells the holder why; {spent}",
            ) from None
        try:
            write_folder(release, settings, folder)
        except Exception as problem:
            raise DataError(f"{_words(problem)}; {spent}") from None
        ledger.finish(entry, folder)
        return folder, True


def _draw(settings, plan, tell_holder):
    covariates, points, subjects = read_data(settings)
    # Whatever is found, the release is made: that it was not would tell of the records.
    release = release_geodesic(plan, covariates, points, subjects)
    if tell_holder is not None:
        for line in _for_holder(plan.assumptions, covariates, points):
            tell_holder(line)
    return release


def _for_holder(assumptions, covariates, points):
    """What the holder of the data should know of them."""
    try:
        yield inspect_inputs(assumptions, covariates, points).words()
        yield from suspicious_inputs(assumptions, covariates, points)
    except Exception:  # records at which a fit fails do not stop a release
        yield "the records could not be inspected further"


def _words(problem):
    """An exception as a sentence; of one not ours its place alone, as its words may quote data."""
    if isinstance(problem, DataError):
        return str(problem)
    last = traceback.extract_tb(problem.__traceback__ or sys.exc_info()[2])[-1]
    return f"{type(problem).__name__} in {Path(last.filename).name}, line {last.lineno}"
