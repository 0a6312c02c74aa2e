"""What a released geodesic guarantees, in words that are no stronger than its draw deserves.

`docs/certified.md` numbers the hypotheses of the theorem.  Those that code can check are checked
where a draw was made; the others are named, for whoever releases it to answer for.
"""

from dataclasses import dataclass, replace
from decimal import ROUND_UP, Context, Decimal

import numpy as np

from geodp.mechanisms.certified import SLACK, Certified, PublicInputs, Records, hull_norm

# How far a draw may be from its law: not at all, by no more than was proved for every data set, or
# by what was estimated from the data at hand.
SAMPLER_ERRORS = ("none", "proved", "estimated")

HOLDS, ASSUMED, FAILS = "holds", "assumed", "fails"

UNCHECKED = (
    "the number of subjects is public, and neighbours replace one subject with all of its records",
    "the public inputs, the budget and all settings of the draw, such as stages with their scales "
    "and radii, were chosen without looking at the data",
    "nothing else is released: no other draw, fit, trace, running time or error message",
)


@dataclass(frozen=True)
class Hypothesis:
    """One of the hypotheses of the theorem, and what is known of it.

    Attributes
    ----------
    name : str
        As in ``docs/certified.md``.
    statement : str
    state : {"holds", "assumed", "fails"}
        Checked by code, left to whoever releases the draw, or contradicted by code.
    """

    name: str
    statement: str
    state: str


@dataclass(frozen=True)
class Guarantee:
    """Differential privacy of one draw.

    Attributes
    ----------
    epsilon : Decimal
    sampler_error : str, one of `SAMPLER_ERRORS`
    total_variation : float
        Bound of the draw's distance to the law, or its public goal where it is estimated.
    hypotheses : tuple of Hypothesis
    unit : str
        What neighbouring data sets differ in one of.
    """

    epsilon: Decimal
    sampler_error: str
    total_variation: float
    hypotheses: tuple
    unit: str = "subject"

    def __post_init__(self):
        if self.sampler_error not in SAMPLER_ERRORS:
            raise ValueError(f"sampler error {self.sampler_error!r} is none of {SAMPLER_ERRORS}")
        if (self.sampler_error == "none") != (self.total_variation == 0.0):
            raise ValueError("an exact draw is at no distance from its law, and no other is")

    @property
    def delta(self):
        """``(1 + exp(epsilon))`` times the total variation."""
        if self.sampler_error == "none":
            return 0.0
        return float((1.0 + np.exp(float(self.epsilon))) * self.total_variation)

    @property
    def failures(self):
        """Names of the hypotheses that do not hold."""
        return tuple(each.name for each in self.hypotheses if each.state == FAILS)

    @property
    def holds(self):
        """Whether there is anything to guarantee."""
        return bool(self.hypotheses) and not self.failures and self.delta < 1.0

    def words(self):
        """The guarantee in one sentence."""
        if not self.hypotheses:
            return "no guarantee: no hypothesis was checked"
        if self.failures:
            return f"no guarantee: {', '.join(self.failures)} of the theorem fails"
        if not self.delta < 1.0:
            return "no guarantee: the sampler's error is too large for any"
        of_whom = f"for the replacement of one {self.unit}"
        if self.sampler_error == "none":
            return f"pure {self.epsilon}-DP {of_whom}, by an exact draw"
        delta = rounded_up(self.delta)
        return (
            f"({self.epsilon}, {delta})-DP {of_whom}, delta = {delta}, "
            f"sampler error {self.sampler_error}"
        )

    def unchecked(self):
        """What the code cannot check, one statement each."""
        return tuple(each.statement for each in self.hypotheses if each.state == ASSUMED)


def rounded_up(number, digits=2):
    """A few digits of a positive number, as text that is no smaller than it."""
    value = Context(prec=digits, rounding=ROUND_UP).plus(Decimal(number))
    return f"{value:.{digits - 1}e}" if value < Decimal("0.001") else str(value)


def check_hypotheses(laws, states, exact):
    """The hypotheses of the theorem for one data set, as far as code can check them.

    Parameters
    ----------
    laws : sequence of Certified
        Of one data set; one for each stage of a draw.
    states : ndarray, shape (m, 2, *point_shape)
        Where the bounds of contributions are checked; the first is the one to be released.
    exact : bool
        Whether the draw has its law exactly.

    Returns
    -------
    tuple of Hypothesis
    """
    found = [
        Hypothesis("H1", "subjects are grouped whole, and as many as the public number", FAILS),
        Hypothesis("H1", UNCHECKED[0], ASSUMED),
        Hypothesis("H2", UNCHECKED[1], ASSUMED),
        Hypothesis("H3", "a contribution is defined for every record", FAILS),
        Hypothesis("H4", "contributions depend on their own subject alone", FAILS),
        Hypothesis("H5", "clipped pairs are no longer than tau", FAILS),
        Hypothesis("H6", "losses lie between zero and one", FAILS),
        Hypothesis("H7", "the draw lies in a public, bounded support", FAILS),
        Hypothesis(
            "H8",
            "one draw, with its law exactly" if exact else "one draw, its error counted in delta",
            HOLDS,
        ),
        Hypothesis("H8", UNCHECKED[2], ASSUMED),
    ]
    checks = [_checks(law, states) for law in laws]
    return tuple(
        replace(each, state=HOLDS)
        if each.state == FAILS and checks and all(check.get(each.name) for check in checks)
        else each
        for each in found
    )


def _checks(law, states):
    """Which hypotheses hold for one law, by name; of a law of another class nothing is known."""
    ours = type(law) is Certified and type(law.public) is PublicInputs
    if not ours or type(law.records) is not Records or law.records.covariates.ndim != 2:
        return {}
    bounded = _contributions_are_bounded(law, states)
    return {
        "H1": _subjects_are_whole(law),
        "H3": _records_are_total(law),
        "H4": True,
        "H5": bounded[0],
        "H6": bounded[1],
        "H7": _support_is_public(law, states),
    }


def _subjects_are_whole(law):
    shares = law.records.shares
    return len(shares) == law.public.number and np.allclose(np.sum(shares, axis=-1), 1.0)


def _records_are_total(law):
    records = law.records
    finite = np.all(np.isfinite(records.covariates)) and np.all(np.isfinite(records.points))
    return bool(finite and np.all(np.abs(records.covariates) <= 0.5))


def _contributions_are_bounded(law, states):
    """H5 and H6, of every subject by itself at a few states."""
    # Each subject is a data set of one.
    alone = Records(
        *(
            np.expand_dims(getattr(law.records, name), 1)
            for name in ("covariates", "points", "valid", "shares")
        )
    )
    one = replace(law, public=replace(law.public, number=1), records=alone)
    every = np.broadcast_to(states, (len(alone.covariates), *states.shape))
    sums = one.sums(every)
    loss = bool(np.all((sums.loss >= 0.0) & (sums.loss <= 1.0)))
    if law.score_name == "energy":
        return True, loss
    if law.score_name == "gradient_by_blocks":
        # Its bound is another, and it is kept for comparison only.
        return False, loss
    footpoints = law.space.parts(every)[0]
    norms = hull_norm(law.public.manifold, footpoints, sums.footpoint, sums.shooting_vector)
    return bool(np.all(norms <= law.public.gradient_scale * (1.0 + SLACK))), loss


def _support_is_public(law, states):
    public = law.public
    radii = (public.footpoint_radius, public.shooting_vector_length)
    return bool(np.all(np.isfinite(radii)) and np.all(public.support.contains(states[:1])))
