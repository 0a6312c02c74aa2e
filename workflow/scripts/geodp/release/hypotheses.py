"""The guarantee of a released geodesic: the theorem's hypotheses, checked or assumed.

`docs/certified.md` numbers the hypotheses.  Those that code can check are checked with the draw.
The others are listed as assumptions, for which whoever releases the draw is responsible.
"""

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from geodp.mechanisms.certified import (
    SCORES,
    SLACK,
    CertifiedDistribution,
    MappedRecords,
    PublicInputs,
    hull_norm,
)

HOLDS, ASSUMED, FAILS = "holds", "assumed", "fails"


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis of the theorem, and whether it was checked.

    Attributes
    ----------
    name : str
        As in ``docs/certified.md``.
    statement : str
    state : {"holds", "assumed", "fails"}
        Checked by code; left to whoever releases the draw; or refuted by code.
    """

    name: str
    statement: str
    state: str


# "fails" is replaced once the check of that name has passed.
HYPOTHESES = tuple(
    Hypothesis(*each)
    for each in (
        ("H1", "records are as many as the public number of subjects", FAILS),
        (
            "H1",
            "the number of subjects is public, each has one record, and neighbouring data sets "
            "replace one subject's",
            ASSUMED,
        ),
        (
            "H2",
            "the public inputs, the budget and all settings of the draw, such as stages with "
            "their scales and radii, were chosen without looking at the data",
            ASSUMED,
        ),
        ("H3", "a contribution is defined for every record", FAILS),
        ("H4", "the score is the one that the theorem is about", FAILS),
        (
            "H4",
            "a subject's contribution does not depend on other records, not even by rounding "
            "that would put its residual on the other side of the cut locus",
            ASSUMED,
        ),
        ("H5", "clipped pairs are no longer than tau", FAILS),
        ("H6", "losses lie between zero and one", FAILS),
        ("H7", "the draw lies in a public, bounded support", FAILS),
        ("H8", "one draw, with its distribution exactly", HOLDS),
        (
            "H8",
            "nothing else is released: no other draw, fit, trace, running time or error message",
            ASSUMED,
        ),
    )
)


@dataclass(frozen=True)
class ReleaseGuarantee:
    """Pure differential privacy of one exact draw.

    Attributes
    ----------
    epsilon : Decimal
    hypotheses : tuple of Hypothesis
        See `check_hypotheses`.
    """

    epsilon: Decimal
    hypotheses: tuple

    @property
    def holds(self) -> bool:
        """Whether every hypothesis holds or is assumed."""
        return bool(self.hypotheses) and not self._names(FAILS)

    def words(self) -> str:
        """The guarantee in one sentence."""
        if not self.hypotheses:
            return "no guarantee: no hypothesis was checked"
        if not self.holds:
            return f"no guarantee: {self._names(FAILS)} of the theorem fails"
        return (
            f"pure {self.epsilon}-DP for the replacement of one subject, by an exact draw, "
            f"assuming {self._names(ASSUMED)}"
        )

    def unchecked(self) -> tuple[str, ...]:
        """Statements of the hypotheses that are assumed, since code cannot check them."""
        return tuple(each.statement for each in self.hypotheses if each.state == ASSUMED)

    def _names(self, state):
        return ", ".join(
            dict.fromkeys(each.name for each in self.hypotheses if each.state == state)
        )


def check_hypotheses(stages, state):
    """Check the hypotheses of the theorem for one data set, as far as code can.

    Parameters
    ----------
    stages : sequence of CertifiedDistribution
        The distribution of each stage of the draw, for one data set.
    state : ndarray, shape (2, *point_shape)
        The draw.  Bounds of contributions are checked there and in the middle of the support.

    Returns
    -------
    tuple of Hypothesis
    """
    checks = [_checks(stage, state) for stage in stages]
    return tuple(
        replace(each, state=HOLDS)
        if each.state == FAILS and checks and all(check.get(each.name) for check in checks)
        else each
        for each in HYPOTHESES
    )


def _checks(stage, state):
    """Whether each hypothesis holds, by name; empty if the mechanism is not the theorem's."""
    public, records = stage.public, stage.records
    ours = type(stage) is CertifiedDistribution and type(public) is PublicInputs
    ours = ours and type(records) is MappedRecords and stage.score_name == SCORES[0]
    if not ours or records.covariates.ndim != 1:
        return {}
    # For H5 and H6 each subject is a data set of one.
    alone = MappedRecords(*(np.expand_dims(each, 1) for each in vars(records).values()))
    one = replace(stage, public=replace(public, number=1), records=alone)
    states = np.stack([state, public.support.origin])
    states = np.broadcast_to(states, (len(records.covariates), *states.shape))
    sums = one.sums(states)
    norms = hull_norm(
        public.manifold, stage.space.parts(states)[0], sums.footpoint, sums.shooting_vector
    )
    finite = np.isfinite([public.footpoint_radius, public.shooting_vector_length])
    return {
        "H1": len(records.covariates) == public.number,
        # What is not a number is not below a half either.
        "H3": np.all(np.abs(records.covariates) <= 0.5) and np.all(np.isfinite(records.points)),
        "H4": True,
        "H5": np.all(norms <= public.gradient_scale * (1.0 + SLACK)),
        "H6": np.all((sums.loss >= 0.0) & (sums.loss <= 1.0)),
        "H7": np.all(finite) and np.all(public.support.contains(state[None])),
    }
