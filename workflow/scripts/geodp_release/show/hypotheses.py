"""The guarantee of a release: the theorem's hypotheses, checked or assumed.

`docs/guarantee.md` numbers the hypotheses and proves the theorem.  What is checked here depends on
the plan and on the code that runs it, never on a record.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from geodp.manifolds.registry import name_of
from geodp.samplers.integer_choice import system_bits
from geodp_release.plan.release_plan import ReleasePlan, Way
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import PrivacyBudget
from geodp_release.promise.public_inputs import REPLACE
from geodp_release.run.parts import PartedRecords
from geodp_release.run.subjects import SubjectRecords
from geodp_release.stages import STAGES, CountStage

HOLDS, ASSUMED, FAILS = "holds", "assumed", "fails"


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis of the theorem, with the name of ``docs/guarantee.md``, and who answers for it.

    Code checks one part of it or makes it true, and whoever releases answers for the other; either
    may be empty.  Its state is "holds" by code alone, "assumed" in part or as a whole, or "fails",
    refuted by code.
    """

    name: str
    by_code: str
    by_holder: str
    state: str


# As they are in a release, where no check has failed.
HYPOTHESES = tuple(
    Hypothesis(name, by_code, by_holder, ASSUMED if by_holder else HOLDS)
    for name, (by_code, by_holder) in yaml.safe_load(
        Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    ).items()
)


@dataclass(frozen=True)
class ReleaseGuarantee:
    """Differential privacy of one release, under `hypotheses` as `check_hypotheses` gives them."""

    budget: PrivacyBudget
    neighbours: str
    records_per_subject: int
    hypotheses: tuple

    @classmethod
    def of(cls, plan, hypotheses=HYPOTHESES):
        """Of a release of a plan."""
        given = plan.assumptions
        return cls(plan.budget, given.neighbours, given.records_per_subject, hypotheses)

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
        change = "the replacement" if self.neighbours == REPLACE else "the addition or removal"
        limit = self.records_per_subject
        unit = (
            "one subject with one record"
            if limit == 1
            else f"one subject with all its records, of which {limit} count"
        )
        return f"{self.budget.words()} for {change} of {unit}, assuming {self._names(ASSUMED)}"

    def _names(self, state):
        return ", ".join(each.name for each in self.hypotheses if each.state == state)


def check_hypotheses(plan, records, bits):
    """Hypotheses of the theorem, checked as far as code can and without a look at the records."""
    if type(plan) is not ReleasePlan:
        # What another class says of itself is no check.
        return tuple(replace(each, state=FAILS) for each in HYPOTHESES if each.name == "R4")
    assumptions = plan.assumptions
    grouped = type(records) in (SubjectRecords, PartedRecords)
    checks = {
        "R1": grouped and records.limit == assumptions.records_per_subject,
        # `contributions` takes no other records.
        "R3": grouped,
        **check_stages(plan),
        "R6": bits is system_bits,
    }
    found = {
        each.name: each if checks.get(each.name, True) else replace(each, state=FAILS)
        for each in HYPOTHESES
    }
    if found["R3"].state == HOLDS and not name_of(manifold := assumptions.manifold):
        words = f"the formulas of {manifold.name}, a space of one's own, take each record by itself"
        found["R3"] = replace(found["R3"], by_holder=words, state=ASSUMED)
    return tuple(found.values())


def check_stages(plan):
    """Whether R4 and R5 hold for the stages of a plan, by name."""
    # Of classes with other methods nothing is proved, whatever their attributes are.
    known = (
        bool(plan.stages)
        and all(type(each) is tuple for each in (plan.stages, plan.ways))
        and all(type(way) is Way and type(way.stages) is tuple for way in plan.ways)
        and all(type(stage) in STAGES for stages in plan.paths for stage in stages)
        and type(plan.assumptions) is Assumptions
        and type(plan.budget) is PrivacyBudget
    )
    # The number of subjects is public where neighbours have it in common, and noisy elsewhere.
    counted = [0] if plan.assumptions.neighbours != REPLACE else []
    budget = plan.budget
    return {
        "R4": known
        and all(
            [place for place, stage in enumerate(stages) if type(stage) is CountStage] == counted
            for stages in plan.paths
        ),
        "R5": known
        and all(
            all(stage.unit == budget.unit for stage in stages)
            and sum(stage.budget for stage in stages) <= budget.exact
            for stages in plan.paths
        ),
    }
