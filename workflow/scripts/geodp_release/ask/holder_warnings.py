"""Warnings for the holder of the data alone: inputs that look read off the data, and others.

They depend on every record, so that they must go nowhere but to the holder's eyes.
"""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from geodp.data.cells import finite_number
from geodp.data.large import in_turn
from geodp.data.messages import few
from geodp.errors import DataError
from geodp.samplers.integer_choice import no_noise
from geodp_release.ask.interview import is_subject
from geodp_release.promise.ledger import Ledger
from geodp_release.promise.ledger_file import CANCELLED
from geodp_release.run.subjects import given_records, valid_records
from geodp_release.show.release import Release
from geodp_release.stages import LastStep
from geodp_release.stages.draw import run_plan
from geodp_release.stages.residual_tables import length_grid


def suspicious_inputs(assumptions, covariates, points):
    """Public inputs that look read off the data, a list of a sentence each; not private."""
    given, points = given_records(assumptions, covariates, points)
    found = []
    for limits, is_group, each in zip(assumptions.ranges, assumptions.groups, given.T, strict=True):
        # Where groups are at the ends of the range they are known to be.
        if not is_group and _are_of(limits, _ends_of(each)):
            found.append("covariate_range is the range, perhaps rounded outward, of the covariate")
    x, y = valid_records(assumptions, given, points)
    if len(y) > 3 and all(low < high for low, high in map(_ends_of, x.T)):
        found += _of_fits(assumptions, x, y)
    advice = "unless that is chance the guarantee does not hold: choose it from what is public"
    return [f"{each} of the data: {advice}" for each in found]


def _ends_of(numbers):
    """The least and the largest finite number of (n,); infinite without any."""
    low, high = np.inf, -np.inf
    for some in in_turn(numbers):
        there = numbers[some][np.isfinite(numbers[some])]
        low, high = np.min(there, initial=low), np.max(there, initial=high)
    return low, high


def _are_of(limits, ends, finest=20):
    """Whether limits of a range are those of data, perhaps rounded outward.

    To a unit that goes ``finest`` times into the range, since round ends are those of others too.
    """
    width = np.ptp(limits)
    for power in range(2 + int(np.floor(np.log10(width))), -7, -1):
        for unit in (5.0 * 10.0**power, 2.0 * 10.0**power, 10.0**power):
            steps = limits / unit
            if np.all(np.abs(steps - np.rint(steps)) < 1e-6):
                outward = np.floor(ends[0] / unit), np.ceil(ends[1] / unit)
                is_rounded = width >= finest * unit and np.array_equal(np.rint(steps), outward)
                return is_rounded or np.array_equal(limits, ends)
    return np.array_equal(limits, ends)


def people_in(settings, table, fewest_labels=20, most_columns=50):
    """Warnings of columns that may say whose a record is, where each is said to be of its own.

    Of texts that stand several times each, or of a usual name.
    """
    data, found = settings.data, []
    used = {*data.covariates, *(data.columns or ())}
    names = [each for each in table.names if each not in used and table.numbered([each]) == [each]]
    names = names[:most_columns] if data.is_one_each else []
    columns = zip(*(texts for _, texts in table.records(names)), strict=True) if names else ()
    for name, texts in zip(names, columns, strict=False):
        labels = Counter(text.strip() for text in texts if text.strip())
        is_text = all(finite_number(each) is None for each in labels) or is_subject(name)
        if is_text and fewest_labels <= len(labels) <= 0.5 * labels.total():
            found.append(
                f"column {name} has {len(labels)} labels in {labels.total()} rows, and "
                "data.subject says that each record is one subject's: if the column says whose a "
                "record is, name it there, or the guarantee is for a part of a person's records"
            )
    return found


def other_ledgers(settings):
    """A warning of ledgers beside the data, or beside that of the settings, that spent too."""
    own, others = Path(settings.ledger).resolve(), []
    paths = [settings.ledger, *settings.data.paths]
    for folder in dict.fromkeys(Path(each).resolve().parent for each in paths):
        for path in sorted(folder.glob("*.ledger")):
            with suppress(DataError, OSError):
                is_own = own.exists() and path.samefile(own)
                entries = [] if is_own else Ledger.open(path).entries()
                if any(entry.status != CANCELLED for entry in entries):
                    others.append(str(path))
    if not others:
        return []
    return [
        f"releases were made from {len(others)} other ledger{'s' * (len(others) > 1)} here "
        f"({few(others)}): if they are of these data all that they spent adds up, and one ledger "
        "has to count it"
    ]


def off_least_squares(plan, records, places=5, steps=8, budget=10**12):
    """Distance of the release without noise from least squares, in a sentence; not private.

    At ``places`` over all ranges together, in radii of its band.  Least squares is what so many
    last steps without a clip lead to, of a ``budget`` at which they expect no noise; or with the
    threshold of Huber's loss to the least of that.
    """
    assumptions = plan.assumptions
    clip = 4.0 * float(length_grid(assumptions)[0]) * (1 + assumptions.number_of_covariates)
    prior = (1.0,) * (1 + assumptions.number_of_covariates)
    found = fit = run_plan(plan, records, no_noise)
    release, (low, high) = Release.of(plan, found, None), assumptions.ranges.T
    step = LastStep(Fraction(budget), plan.budget.unit, release.threshold or clip, prior=prior)
    for _ in range(steps):
        fit = step.run(fit, assumptions, records, no_noise)
    rows = None
    if assumptions.spreads:
        rows = np.linspace(low, high, places)
        listed = [bool(assumptions.terms.words(column)) for column in range(len(low))]
        rows[:, listed] = np.rint(rows[:, listed])
    radii = release.band(rows, doubted=True)
    fitted = replace(release, footpoint=fit.state[0], shooting_vectors=fit.state[1:])
    away = assumptions.manifold.dist(release.predict(rows), fitted.predict(rows))
    if np.all(np.isnan(radii)):
        return f"The release without noise has no bands to compare it with {assumptions.fit} by."
    return (
        f"Without noise the release is at most {np.nanmax(away / radii):.2g} radii of its 95 % "
        f"band away from {assumptions.fit}: change no public input by this."
    )


def _of_fits(assumptions, x, y, same_record=1e-4, same_centre=0.03, fewest_digits=3):
    """Public inputs that are records or estimates, up to parts of distances or standard errors."""
    manifold, centre = assumptions.manifold, assumptions.centre
    number, dim = len(y), manifold.dim
    least, total, spread = np.inf, np.zeros(dim), 0.0
    for some in in_turn(x, y):
        away = manifold.coordinates(centre, manifold.log(centre, y[some]))
        lengths = np.linalg.norm(away, axis=-1)
        least, total = min(least, np.min(lengths)), total + np.sum(away, axis=0)
        spread += np.sum(lengths**2)
    spread = np.sqrt(spread / number)
    # A rounded number is one of many by chance.
    if dim > 1 and least < same_record * spread:
        yield "centre is a record"
    # The centre is the Frechet mean where the mean of the logarithms vanishes.
    if np.linalg.norm(total) / number < same_centre * spread / np.sqrt(number):
        yield "centre is the Frechet mean"
    # Imported here, since plans do without it.
    from geodp.models.geodesic import GeodesicModel

    try:
        fit = GeodesicModel(manifold, x.shape[-1]).fit(x, y)
    except DataError:
        return
    squares = 2.0 * number * fit.energy
    if (
        x.shape[-1]
        and manifold.dist(centre, fit.footpoint) < same_centre * np.sqrt(squares) / number
    ):
        yield "centre is the footpoint of the least-squares fit"
    given = assumptions.residual_scale
    if given is None:
        return
    digits = len(repr(given).partition("e")[0].replace(".", "").strip("0"))
    for freedom in (number, number - 1 - x.shape[-1]):
        scale = np.sqrt(squares / (freedom * dim))
        # Fewer digits are those of an estimate by chance too often.
        if digits >= fewest_digits and float(f"{scale:.{digits}g}") == given:
            yield "residual_scale is the residual of the least-squares fit"
            return
