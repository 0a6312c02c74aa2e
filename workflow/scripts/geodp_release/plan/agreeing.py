"""Simulated releases whose moments and residual lengths agree with those of a release."""

from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np

from geodp_release.run.covariate_moments import LEAST, moment_matrix, possible_moments
from geodp_release.stages import CountStage, MomentsStage
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.residual_tables import length_grid
from geodp_release.stages.simulation import FlatReleases, afforded

# Seed of public noise of simulated releases.
SEED = 20261123

# Distributions of covariates that agree with noisy moments.
DISTRIBUTIONS = 64

# Bands hold on average over residuals that are longer at one end of the range of covariates than at
# the other, by up to so many doublings: twice as long.
DOUBLINGS = 1.0


def moments_stage(plan, moments=None):
    """The stage whose moments bands follow; ``None`` where moments are assumed.

    That is also where steps rested on them and moments, if given, agree with them.
    """
    stage: Any = next((each for each in plan.stages if each.measures), None)
    if moments is None or not rests_on_spread(plan) or not stage.agrees(moments, plan.assumptions):
        return stage
    return None


def rests_on_spread(plan):
    """Whether moments are measured after all steps, and can but contradict what is assumed."""
    return any(isinstance(each, MomentsStage) for each in plan.stages[-1:])


def has_subjects(plan, moments, places, least_group=0.02, clear=2.0, possible=0.05):
    """Whether there are subjects at covariates (m, k), by released moments; (m,).

    Where moments are assumed there are everywhere, and elsewhere if that is ``possible``: in such a
    part of distributions that agree.  A group is of a least share, which is so many deviations of
    noise above zero.
    """
    stage = moments_stage(plan, moments)
    if stage is None:
        return np.ones(len(places), dtype=bool)
    each = agreeing_moments(plan.assumptions, stage, moments, LEAST)
    terms, there = plan.assumptions.terms, np.ones(len(places), dtype=bool)
    groups = np.zeros(terms.number, dtype=bool)
    for column in np.flatnonzero(plan.assumptions.groups):
        own = terms.of(column)
        groups[own] = True
        # Shares of all groups, of which the first is in no covariate, and of that of each place.
        shares = 0.5 + each[:, own]
        shares = np.insert(shares, 0, 1.0 - np.sum(shares, axis=1), axis=1)
        inside = places[:, own] > 0.0
        which = np.where(np.any(inside, axis=1), 1 + np.argmax(inside, axis=1), 0)
        least = np.mean(shares, axis=0) - clear * np.std(shares, axis=0)
        there &= least[which] >= least_group
    # Products are where their factors are.
    kept = ~groups & np.array([len(owner) == 1 for owner in terms.owners], dtype=bool)
    near = _leverages(moment_matrix(each)[:, None], places, kept) <= _most_leverage(plan, kept)
    return there & (np.mean(near, axis=0) >= possible)


def _leverages(matrix, places, kept):
    """Leverages (..., m) of some covariates at places (m, k), by moment matrices (..., 1, k, k)."""
    middle, rest = matrix[..., 0, 1:][..., kept], matrix[..., 1:, 1:][..., kept, :]
    covariance = rest[..., kept] - middle[..., :, None] * middle[..., None, :]
    away = places[:, kept] - middle
    return np.sum(away * np.linalg.solve(covariance, away[..., None])[..., 0], axis=-1)


def _most_leverage(plan, kept, first=5.0, more=3.0, along=33):
    """Leverage of covariates up to which there are subjects, and what each after the first adds.

    That of the end of a range is 3 for each covariate that is spread evenly; of a curve it is
    looked at ``along`` its range.
    """
    assumptions = plan.assumptions
    most = more * np.sum(kept)
    if not assumptions.terms.is_plain:
        # That of the ends of ranges, as covariates of a curve have it: columns do not go together.
        matrix, most = Covariates.assumed(assumptions).matrix, 0.0
        for column in np.flatnonzero(~assumptions.groups):
            rows = np.tile(assumptions.usual, (along, 1))
            rows[:, column] = assumptions.along(column, along)
            own = np.isin(np.arange(len(kept)), assumptions.terms.of(column))
            most += np.max(_leverages(matrix, assumptions.places(rows), own))
    return most + first - more


def agreeing_releases(
    plan, moments=None, lengths=(), without=None, scales=None, within=None, simulated=2048
):
    """Simulated releases that agree with what one has of moments and residual lengths.

    Parameters
    ----------
    plan : ReleasePlan
    moments : ndarray, shape (k (k + 3) / 2,), optional
        Covariates are spread over an even number of distributions that agree with these; see
        `moments_stage`.
    lengths : tuple of float
        Residual scales are tried about the last of them, evenly by their logarithm, and releases go
        on from each look in proportion to how probable the length is that was released there.
    without : list of int, optional
        Numbers of covariates, from 1 on, on which true predictions do not depend.
    scales : ndarray, shape (2,), optional
        The `agreeing_scales` of others, where they are known.
    within : float, optional
        See `geodp_release.stages.draw.Released`.

    Returns
    -------
    tuple
        `FlatReleases`, and the generator of random numbers to go on with.
    """
    rng = np.random.default_rng(SEED)
    if lengths:
        plan = plan.path(lengths)
    stage, stages = moments_stage(plan, moments), plan.stages
    # Twice as many before a residual length that they are to agree with; bands are quantiles.
    number = afforded(simulated, plan.assumptions.size, least=512)
    repeats = number // DISTRIBUTIONS * (2 if lengths else 1)
    number = repeats * DISTRIBUTIONS
    sizes = _agreeing_sizes(plan, lengths, number)
    start = FlatReleases.start(plan.assumptions, number, rng, size=sizes, doublings=DOUBLINGS)
    start = replace(start, within=within)
    if without is not None:
        start.truth[:, without] = 0.0
    if moments is not None:
        # Of releases with these moments, whatever the covariates are.
        stages = tuple(each for each in stages if not isinstance(each, MomentsStage))
    if moments is not None and stage is not None:
        each = agreeing_moments(plan.assumptions, stage, moments)
        found = [start.covariates.first(64).with_moments(each)]
        moments = np.broadcast_to(moments, start.moments.shape)
        # What is believed of moments is of the sample's own.
        deviates = np.zeros_like(start.deviates)
        start = replace(start, covariates=Covariates.by_turns(found, repeats), deviates=deviates)
        if not rests_on_spread(plan):
            uncertainty = stage.uncertainty(plan.assumptions)
            start = replace(start, moments=moments, uncertainty=uncertainty)
    if not lengths:
        return replace(plan, stages=stages).simulated(start, rng), rng
    return _with_lengths(start, stages, lengths, rng, scales), rng


def _agreeing_sizes(plan, lengths, number, least=1.0 / 3.0, most=30.0):
    """Parts (number,) of the support within which truths are simulated; ``None`` for all.

    Where the first residual length is about the centre they are about that.
    """
    assumptions, before = plan.assumptions, takewhile(lambda each: not each.is_look, plan.stages)
    at_centre = all(isinstance(each, CountStage | MomentsStage) for each in before)
    if not lengths or assumptions.wider == 1.0 or not at_centre:
        return None
    places = -np.log(assumptions.sizes(number)) / np.log(assumptions.wider)
    sizes = lengths[0] * least * (most / least) ** places / assumptions.footpoint_radius
    return np.clip(sizes, 1.0 / assumptions.wider, 1.0)


def _with_lengths(start, stages, lengths, rng, scales=None, factor=32.0, fewer=4):
    """Releases with the residual lengths that were released.

    Of residual scales from a part ``factor`` of the last of them to so many times, for one of
    ``fewer`` releases, and then of those that agreed, unless `agreeing_scales` of others are given.
    """
    turns = [start]
    if scales is None:
        turns.insert(0, start.drawn(rng.permutation(len(start.truth))[::fewer]))
        longest = length_grid(start.assumptions)[0]
        scales = lengths[-1] / factor, min(lengths[-1] * factor, longest)
    for before in turns:
        low, high = scales
        found = replace(before, typical=np.geomspace(low, high, len(before.truth)))
        given = list(lengths)
        for stage in stages:
            if stage.is_look:
                found = stage.agreeing(found, given.pop(0), rng, len(before.truth) // 2)
            else:
                found = stage.simulate(found, rng)
        scales = agreeing_scales(found.typical)
    return found


def agreeing_scales(typical):
    """The range of residual scales in which simulated releases agreed with one."""
    return np.quantile(typical, [0.005, 0.995]) * [0.8, 1.25]


def agreeing_moments(assumptions, stage, moments, least=0.015**2):
    """Moments (DISTRIBUTIONS, k (k + 3) / 2) that agree with noisy ones.

    The least variance is that of clumps with half the standard deviation, 0.03 of the range, down
    to which bands are to hold.
    """
    rng = np.random.default_rng([SEED, 1])
    means, deviations = stage.belief(moments, assumptions)
    normal = rng.normal(size=(DISTRIBUTIONS // 2, len(means)))
    # Few of them, so that their own means and deviations are made right.
    normal /= np.sqrt(np.mean(normal**2, axis=0))
    return possible_moments(means + deviations * np.concatenate([normal, -normal]), least)
