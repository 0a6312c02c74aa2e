"""Which sampler draws from a density: exact where there is a certificate, else matched.

The rule, for each member of a batch: its draws are exact if `exact.plan` certifies an envelope,
which needs a symmetric space and either a flat space, an energy convex enough along geodesics from
the mode (so that one proposal of fifty is accepted), or at most three dimensions; otherwise they
are the last states of `matched` chains, whose total variation distance to the density is estimated.
Draws on public points are made on request only.
"""

from dataclasses import dataclass, replace

import numpy as np

from geodp.errors import DataError
from geodp.samplers import exact, finite_points, matched
from geodp.samplers.base import Info, Kernel, choose


class NoCertificateError(DataError):
    """An exact sampler was asked for, and there is no certified envelope."""


@dataclass(frozen=True)
class ExactWhereCertified(Kernel):
    """Exact draws for the members of a batch that have a certificate, matched chains for others.

    Attributes
    ----------
    exact, matched : Kernel
    certified : ndarray of bool, shape (*batch)
    """

    exact: Kernel
    matched: Kernel
    certified: np.ndarray

    name = "exact where certified"

    def member(self, index):
        certified = self.certified[index]
        if np.all(certified):
            return self.exact.member(index)
        if not np.any(certified):
            return self.matched.member(index)
        return ExactWhereCertified(self.exact.member(index), self.matched.member(index), certified)

    def _with_exact(self, rng, target, state):
        drawn = self.exact.init(rng, target, state.log_density.shape[-1])
        drawn = replace(drawn, memory=state.memory)
        return choose(target.space, self.certified[..., None], drawn, state)

    def init(self, rng, target, chains):
        return self._with_exact(rng, target, self.matched.init(rng, target, chains))

    def step(self, rng, target, state):
        state, info = self.matched.step(rng, target, state)
        return self._with_exact(rng, target, state), Info(info.accepted | self.certified[..., None])

    def walk(self, rng, target, state, steps, every):
        for reached, accepted in self.matched.walk(rng, target, state, steps, every):
            yield (
                self._with_exact(rng, target, reached),
                np.where(self.certified, 1.0, accepted),
            )


def plan(
    rng,
    target,
    draws,
    kind="automatic",
    pilot_proposals=96,
    total_variation=1e-5,
    fewest_steps=3,
    most_steps=400,
    work=exact.MOST_WORK,
    points=finite_points.POINTS,
):
    """Plan how a batch of densities is sampled.

    Parameters
    ----------
    rng : numpy.random.Generator
    target : Target
    draws : int
        Of each member: for few, a rougher envelope serves.
    kind : {"automatic", "exact", "finite_points", "matched"}
    pilot_proposals, total_variation, fewest_steps, most_steps
        Of `matched.plan`.
    work : float
        Of `exact.plan`.
    points : int
        Of `finite_points.plan`.

    Returns
    -------
    SamplerPlan

    Raises
    ------
    NoCertificateError
        ``kind`` is ``exact`` and some member has no certified envelope.
    """
    if kind == "finite_points":
        return finite_points.plan(target, points)
    reason, planned, certified = "not looked for", None, np.zeros(target.batch, dtype=bool)
    if kind != "matched":
        planned, certified, reason = exact.plan(target, draws, work=work, insist=kind == "exact")
        if reason is None:
            return planned
        if kind == "exact":
            raise NoCertificateError(
                f"{target.space.name}: there is no certified envelope for "
                f"{np.sum(~certified)} of {certified.size} densities: {reason}: choose the sampler "
                "automatic or matched"
            )
    chains = matched.plan(
        rng,
        target,
        pilot_proposals,
        total_variation,
        fewest_steps,
        most_steps,
        counted=~certified,
    )
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
