"""A bound of the privacy budget from below, from released geodesics alone, on any manifold.

An attacker knows two neighbouring data sets and a release, and guesses which of the two it was
made from, by an event that some of the draws choose and others count; see `testers`.  If the
mechanism were eps-private, its probabilities would have a ratio of at most exp(eps).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv


@dataclass(frozen=True)
class Attack:
    """What an attack found."""

    bound: float  # The budget is larger, at the stated confidence; zero if nothing was found.
    estimate: float  # Logarithm of the ratio of the shares counted.
    # Of the counted draws in the event: from the data set that makes it likelier, and the other.
    shares: tuple[float, float]
    statistic: str  # What the event is a range of.


def lower_limit(hits, total, error):
    """Clopper-Pearson's limit: a probability is below it with at most this probability."""
    hits = np.asarray(hits, dtype=float)
    limit = betaincinv(np.maximum(hits, 1.0), total - np.maximum(hits, 1.0) + 1.0, error)
    return np.where(hits == 0.0, 0.0, limit)


def upper_limit(hits, total, error):
    """Clopper-Pearson's limit: a probability is above it with at most this probability."""
    hits = np.asarray(hits, dtype=float)
    fewer = np.minimum(hits, total - 1.0)
    return np.where(hits == total, 1.0, betaincinv(fewer + 1.0, total - fewer, 1.0 - error))


def budget_bound(hits, other_hits, total, confidence):
    """Lower confidence bound of ``log(P(event) / P'(event))`` from counts of both."""
    error = 0.5 * (1.0 - confidence)
    low, high = lower_limit(hits, total, error), upper_limit(other_hits, total, error)
    with np.errstate(divide="ignore"):
        return np.log(low) - np.log(high)


def features(manifold, centre, states, pair):
    """What the attacker looks at: coordinates of a geodesic, and distances from some records.

    By name (count,), of states (count, 2, *point_shape): footpoints and shooting vectors.
    """
    p, v = np.moveaxis(states, 1, 0)
    start = np.broadcast_to(centre, p.shape)
    frame = manifold.frame(centre)
    place = manifold.coordinates(start, manifold.log(start, p), frame)
    carried = manifold.coordinates(start, manifold.transport_to(p, start, v), frame)
    found = {f"footpoint {k + 1}": place[:, k] for k in range(manifold.dim)}
    found["distance from the centre"] = np.sqrt(np.sum(place**2, axis=-1))
    found |= {f"shooting vector {k + 1}": carried[:, k] for k in range(manifold.dim)}
    found["length"] = np.sqrt(np.sum(carried**2, axis=-1))
    records = {"record": (0, pair.record), "replaced record": (1, pair.record)}
    records["common record"] = 0, int(pair.record == 0)
    for name, place in records.items():
        end = manifold.exp(p, pair.covariates[place] * v)
        there = np.broadcast_to(pair.points[place], end.shape)
        found[f"distance from the {name}"] = manifold.dist(end, there)
    return found


def as_columns(named):
    """Names, and columns (count, columns) of both data sets, of numbers that are not all alike.

    ``named`` has the numbers by name, as `features` gives them, of draws from each data set.
    """
    # A number that is public tells nothing.
    names = [name for name in named[0] if any(np.ptp(part[name]) > 0.0 for part in named)]
    return names, [np.stack([part[name] for name in names], axis=-1) for part in named]


def best_event(train, test, names, confidence, thresholds=400):
    """`Attack` by an event that some draws choose, a range of one score, as others count it.

    ``train`` and ``test`` have scores (count, scores) of independent draws from both data sets, as
    many of each; ``confidence`` is that of the bound, and ``thresholds`` are tried for each score.
    """
    size, half = len(train[0]), len(test[0])
    # Of so many bounds the largest would be one that chance has made large: rare events would win.
    strict = 1.0 - (1.0 - confidence) / (4 * thresholds * len(names))
    best: tuple = (-np.inf, None)
    for index, name in enumerate(names):
        pooled = np.concatenate([part[:, index] for part in train])
        cuts = np.unique(np.quantile(pooled, np.linspace(0.0, 1.0, thresholds + 2)[1:-1]))
        below = [np.searchsorted(np.sort(part[:, index]), cuts, "right") for part in train]
        for likely in (0, 1):
            for above in (False, True):
                hits = [size - count if above else count for count in below]
                bounds = budget_bound(hits[likely], hits[1 - likely], size, strict)
                place = int(np.argmax(bounds))
                if bounds[place] > best[0]:
                    best = (bounds[place], (index, name, cuts[place], likely, above))
    if best[1] is None:
        return Attack(0.0, 0.0, (0.0, 0.0), "none")
    index, name, cut, likely, above = best[1]
    counted = [np.sum((part[:, index] > cut) == above) for part in test]
    hits, others = counted[likely], counted[1 - likely]
    bound = float(budget_bound(hits, others, half, confidence))
    with np.errstate(divide="ignore"):
        estimate = float(np.log(hits) - np.log(others)) if hits else 0.0
    sign = ">" if above else "<="
    return Attack(
        bound=max(0.0, bound),
        estimate=estimate,
        shares=(hits / half, others / half),
        statistic=f"{name} {sign} {cut:.4g}",
    )
