"""The page of a release that is drawn without data and without noise, before anything is spent.

What can fail in drawing a page fails here, since it depends on public inputs alone.
"""

from functools import cached_property

import numpy as np

from geodp.errors import DataError
from geodp_release.show.folder import page, predictions
from geodp_release.show.hypotheses import ReleaseGuarantee
from geodp_release.show.read_document import numbers_of
from geodp_release.show.release import Release
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.draw import Released
from geodp_release.stages.residual_tables import length_grid


class Rehearsed(Release):
    """A release without data, whose bands are shown."""

    def doubts(self):
        """None: bands are what has to be drawn."""
        return []

    def p_value(self, covariates):
        """That of the first covariates of the same kind: each takes seconds, and all fail alike."""
        given = self.plan.assumptions
        kinds = list(zip(given.terms.bases, given.spreads, given.groups, strict=True))
        kind = [kinds[column] for each in covariates for column in given.terms.owners[each]]
        return super().p_value(self._first_of_kind.setdefault(str(kind), covariates))

    @cached_property
    def _first_of_kind(self):
        return {}


def without_data(plan):
    """What a release might be: half as long as vectors may be, residuals as long as is usual."""
    assumptions = plan.assumptions
    manifold, centre = assumptions.manifold, assumptions.centre
    directions = manifold.frame(centre)
    lengths = 0.5 * np.ravel(assumptions.lengths)
    vectors = [each * directions[k % len(directions)] for k, each in enumerate(lengths.tolist())]
    typical, grid = np.median(assumptions.typical_length(32)), length_grid(assumptions)
    found = float(grid[np.argmin(np.abs(np.log(grid / typical)))])
    stages = plan.path((found,) * sum(stage.is_look for stage in plan.stages)).stages
    looks, far, tails, sizes = numbers_of(stages, assumptions)
    squares = [np.equal(*np.triu_indices(size)) * (found**2 / size) for size in sizes]
    released = Released(
        np.stack([centre, *vectors]),
        float(assumptions.subjects),
        Covariates.assumed(assumptions).moments,
        lengths=(found,) * looks,
        far=0.0 if far else None,
        tails=(0.0,) * tails,
        products=tuple(tuple(each.tolist()) for each in squares),
        reached=np.zeros(len(lengths) + 1),
    )
    return Rehearsed.of(plan, released, ReleaseGuarantee.of(plan))


def rehearse(plan, settings):
    """Draw the page and the table of such a release; a `DataError` says that they cannot be."""
    try:
        with np.errstate(all="ignore"):
            release = without_data(plan)
            page(release, settings, predictions(release, settings, settings.covariates(release)))
    except DataError:
        raise
    except Exception as problem:
        raise DataError(
            f"the page of such a release cannot be drawn ({type(problem).__name__}: {problem}): "
            "choose other public inputs, or mend the space if it is your own; nothing was spent"
        ) from problem
