"""A release from its settings to its folder: plan, reserve, read, draw, keep, write, finish.

A draw is kept beside the ledger until its folder is there, so that no error after it loses what was
paid for: the same settings again make the folder.
"""

import sys
import traceback
import warnings
from contextlib import suppress
from pathlib import Path

from geodp.errors import DataError
from geodp.release.folder import refuse_taken, write_folder
from geodp.release.holder import suspicious_inputs
from geodp.release.inspection import inspect_inputs
from geodp.release.ledger import STARTED, Ledger
from geodp.release.needed import planned, subjects_needed
from geodp.release.reading import check_data_settings, read_data, refuse_missing
from geodp.release.release import Release, release_geodesic


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
        if plan.assumptions.spreads:
            error += f" ({plan.error_if_clustered:.3g} if covariates cluster)"
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

    Where the first drew and did not get to its folder, the second makes that from the draw.

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
        The complete release; relative if it is below the working directory.
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
        if drawn(ledger, key) is None:
            refuse_missing(settings)
    try:
        made, is_new = _spend(settings, plan, ledger, key, folder, tell_holder)
    except KeyboardInterrupt:
        amount = f"{plan.budget.amount} {plan.budget.unit}"
        started = [each for each in ledger.entries()[len(before) :] if each.key == key]
        if not any(each.status == STARTED for each in started):
            raise KeyboardInterrupt(f"interrupted: nothing of {ledger.path} was spent") from None
        words = f"{amount} of {ledger.path} stays spent{_kept_words(ledger, started[-1])}"
        raise KeyboardInterrupt(f"interrupted: {words}") from None
    # The ledger keeps absolute paths, and settings what was written.
    made, here = made.absolute(), Path.cwd()
    return made.relative_to(here) if made.is_relative_to(here) else made, is_new


def _spend(settings, plan, ledger, key, folder, tell_holder):
    budget = plan.budget
    spent = f"{budget.amount} {budget.unit} of {ledger.path} stays spent"
    entry = drawn(ledger, key)
    if entry is not None:
        return _written(Release.load(_place(ledger, entry)), settings, ledger, entry, folder, spent)
    with ledger.spending(key, budget.amount, settings.name, unit=budget.unit) as entry:
        if entry.finished:
            if not (entry.folder / "release.json").is_file():
                raise DataError(
                    f"{settings.name} was released into {entry.folder}, which is not there: put a "
                    "copy back, or give another name for another draw, which spends again"
                )
            return entry.folder, False
        try:
            with warnings.catch_warnings():
                # They depend on the data, and would get into logs.
                warnings.simplefilter("ignore")
                release = _draw(settings, plan, _place(ledger, entry), tell_holder)
        except Exception as problem:
            kept = _kept_words(ledger, entry)
            what = "the folder is not written" if kept else "nothing is released"
            raise ForHolder(
                f"{_words(problem)}; {spent}{kept}",
                f"the data of {settings.name} cannot be used as its settings say, and {what}; "
                f"`geodp check` tells the holder why; {spent}{kept}",
            ) from None
        return _written(release, settings, ledger, entry, folder, spent)


def _written(release, settings, ledger, entry, folder, spent):
    """Write the folder of a release that was drawn, and finish."""
    try:
        write_folder(release, settings, folder)
    except Exception as problem:
        raise DataError(f"{_words(problem)}; {spent}{_kept_words(ledger, entry)}") from None
    ledger.finish(entry, folder)
    _place(ledger, entry).unlink(missing_ok=True)
    return folder, True


def _place(ledger, entry):
    """Where the draw of an entry is kept: beside its ledger, whose folder can be written."""
    # With the time, since an older copy of the ledger would give the number again.
    when = "".join(filter(str.isdigit, entry.when))
    return ledger.path.with_name(f"{ledger.path.name}-{entry.number}-{when}.json")


def drawn(ledger, key):
    """The entry of a release that was drawn and has no folder yet, or ``None``.

    Parameters
    ----------
    ledger : Ledger
    key : str
        Of `ReleaseSettings.key`.

    Returns
    -------
    Entry or None
    """
    entries = [entry for entry in ledger.entries() if entry.key == key]
    if any(entry.finished for entry in entries):
        return None
    started = (entry for entry in entries if entry.status == STARTED)
    return next((entry for entry in started if _place(ledger, entry).is_file()), None)


def _kept_words(ledger, entry):
    """What follows for a release that is not finished, where its draw was kept."""
    place = _place(ledger, entry)
    if not place.is_file():
        return ""
    return f", and {place} keeps the draw: the same settings again make the folder from it"


def _draw(settings, plan, place, tell_holder):
    covariates, points, subjects = read_data(settings)
    # Whatever is found, the release is made: that it was not would tell of the records.
    release = release_geodesic(plan, covariates, points, subjects)
    # Without space for it here there may still be some for the folder.
    with suppress(DataError):
        release.save(place)
        place.chmod(0o600)
    if tell_holder is not None:
        for line in _for_holder(plan.assumptions, covariates, points):
            tell_holder(line)
    return release


def _for_holder(assumptions, covariates, points):
    """What the holder of the data should know of them."""
    try:
        yield inspect_inputs(assumptions, covariates, points).words(released=True)
        yield from suspicious_inputs(assumptions, covariates, points)
    except Exception:  # records at which a fit fails do not stop a release
        yield "the records could not be inspected further"


def _words(problem):
    """An exception as a sentence; of one not ours its place alone, as its words may quote data."""
    if isinstance(problem, DataError):
        return str(problem)
    last = traceback.extract_tb(problem.__traceback__ or sys.exc_info()[2])[-1]
    return f"{type(problem).__name__} in {Path(last.filename).name}, line {last.lineno}"
