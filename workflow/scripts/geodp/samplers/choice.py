"""Choice of a sampler: exact for densities with a certified envelope, else matched.

For each member of a batch the rule is:

* Draws are exact if `exact.plan` certifies an envelope.  That needs a symmetric space of at most
  three dimensions, or an energy convex enough along geodesics from the mode for an acceptance rate
  of one in fifty.
* Otherwise draws are the last states of `matched` chains, whose total variation distance to the
  target is estimated.
"""

from dataclasses import dataclass, replace

import numpy as np

from geodp.samplers import exact, matched
from geodp.samplers.kernel import Kernel, choose


@dataclass(frozen=True)
class ExactWhereCertified(Kernel):
    """Exact draws for batch members with a certified envelope, matched chains for the others."""

    exact: Kernel
    matched: Kernel
    certified: np.ndarray  # Members (*batch).

    name = "exact where certified"

    def member(self, index):
        kind = self.exact if np.all(self.certified[index]) else self.matched
        return kind.member(index)

    def _with_exact(self, rng, target, state):
        drawn = self.exact.init(rng, target, state.log_density.shape[-1])
        drawn = replace(drawn, memory=state.memory)
        return choose(target.space, self.certified[..., None], drawn, state)

    def init(self, rng, target, chains):
        return self._with_exact(rng, target, self.matched.init(rng, target, chains))

    def walk(self, rng, target, state, steps, every):
        for reached, accepted in self.matched.walk(rng, target, state, steps, every):
            yield self._with_exact(rng, target, reached), np.where(self.certified, 1.0, accepted)


def plan(rng, target, draws, total_variation=1e-5, **limits):
    """`SamplerPlan` for a batch of densities; few draws do not repay a tight envelope.

    ``limits`` are those of `exact.plan`, and all else is as for `matched.plan`.
    """
    planned, certified, reason = exact.plan(target, draws, **limits)
    if reason is None:
        return planned
    chains = matched.plan(rng, target, 96, total_variation, fewest=3, most=400, counted=~certified)
    chains = replace(chains, certificate=f"none: {reason}")
    if planned is None:
        return chains
    return replace(
        chains,
        sampler=ExactWhereCertified(planned.sampler, chains.sampler, certified),
        proposals=max(planned.proposals, chains.proposals),
        exact_share=float(np.mean(certified)),
        certificate=f"{planned.certificate}; else none: {reason}",
    )
