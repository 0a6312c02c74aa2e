"""The plan of a release from its settings alone, its predicted errors, and whether it is noise."""

import math
import os

from geodp.errors import DataError
from geodp_release.ask.release_records import check_data_settings
from geodp_release.plan.sample_size import planned, subjects_needed
from geodp_release.promise.assumptions import SLOW
from geodp_release.show.rehearsal import rehearse
from geodp_release.show.templates import render


def plan_of(settings, tell=lambda words: None, is_drawn=True):
    """The `ReleasePlan` of `ReleaseSettings`, without a look at its data.

    A page of it ``is_drawn``, so that what can fail there fails before anything is spent.
    """
    budget, assumptions = settings.privacy_budget, settings.assumptions
    check_data_settings(settings)
    _refuse_large(assumptions)
    if assumptions.size > SLOW:
        tell("A plan of this size may take a minute.")
    plan = planned(assumptions, budget)
    if is_drawn:
        rehearse(plan, settings)
    return plan


def _refuse_large(assumptions, arrays=2):
    """Refuse public numbers of records for which ``arrays``, mapped and padded, are too large."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system that does not say
        return
    subjects, limit = assumptions.subjects, assumptions.records_per_subject
    point = math.prod(assumptions.manifold.point_shape) * assumptions.centre.itemsize
    # Covariates, a point, whether they count; and of a subject a number of records.
    needed = arrays * subjects * (limit * (8 * assumptions.number_of_covariates + point + 1) + 8)
    if needed > memory:
        raise DataError(
            f"keys public.subjects and public.records_per_subject: {subjects} subjects of up to "
            f"{limit} records take {needed / 1e9:.0f} GB of memory and this machine has "
            f"{memory / 1e9:.0f}: correct the numbers or take another machine; nothing was spent"
        )


def predicted(settings, plan):
    """The unit of a plan's errors, and these: predicted, without data, and if clustered."""
    errors = [plan.error, plan.error_without_data, plan.error_if_clustered]
    if plan.assumptions.wider > 1.0:
        # A length says little where lengths may be any.
        return "times", [each / plan.error_without_privacy for each in errors]
    return settings.length_unit, errors


def verdict(settings, plan):
    """What a plan promises, in a sentence."""
    unit, errors = predicted(settings, plan)
    is_slow = plan.assumptions.size > SLOW
    given = {"assumptions": plan.assumptions, "is_noise": plan.is_noise, "is_slow": is_slow}
    if plan.is_noise and not is_slow:
        given["needed"] = subjects_needed(plan.assumptions, plan.budget)
    is_any = plan.assumptions.residual_scale is None and plan.assumptions.wider == 1.0
    given["scales"] = plan.errors_by_scale() if is_any and not plan.is_noise else None
    return render("verdict.txt.j2", None, unit=unit, errors=errors, **given).strip()
