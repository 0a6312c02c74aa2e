"""Property testers: a budget bounded from below, from released numbers alone, on any manifold.

As in DP-Auditorium (Kong, Munoz Medina, Ribero and Syed 2024) a class of functions looks for an
event ``S`` whose hockey-stick divergence ``P(S) - exp(eps) P'(S)`` is above zero, which refutes
eps.  A class learns from a quarter of the draws how much likelier an outcome is for one of two
neighbouring data sets; a second quarter chooses the event; and the other half counts it, so that
the bound has the stated confidence whatever was learnt.
"""

from itertools import combinations, product

import numpy as np
from scipy.special import betaincinv
from sklearn.ensemble import HistGradientBoostingClassifier


def lower_limit(hits, total, error):
    """Clopper-Pearson's limit: a probability is below it with at most this probability."""
    return np.nan_to_num(betaincinv(hits, np.subtract(total + 1.0, hits), error), nan=0.0)


def budget_bound(hits, other_hits, total, confidence):
    """Lower confidence bound of ``log(P(event) / P'(event))`` from counts of both."""
    error = 0.5 * (1.0 - confidence)
    # The limit from above is that of the other outcomes from below.
    low, other = lower_limit(hits, total, error), lower_limit(total - other_hits, total, error)
    with np.errstate(divide="ignore"):
        return np.log(low) - np.log1p(-other)


def features(manifold, centre, states, pair):
    """What an attacker looks at: coordinates of a geodesic, and distances from some records.

    Columns (count, columns) of states (count, 2, *point_shape): footpoints and shooting vectors.
    """
    p, v = np.moveaxis(states, 1, 0)
    start = np.broadcast_to(centre, p.shape)
    frame = manifold.frame(centre)
    place = manifold.coordinates(start, manifold.log(start, p), frame)
    carried = manifold.coordinates(start, manifold.transport_to(p, start, v), frame)
    found = []
    for each in (place, carried):
        found += [*each.T, np.sqrt(np.sum(each**2, axis=-1))]
    # The record, what it is replaced by, and one that both data sets have.
    for at in ((0, pair.record), (1, pair.record), (0, int(pair.record == 0))):
        end = manifold.exp(p, pair.covariates[at] * v)
        found.append(manifold.dist(end, np.broadcast_to(pair.points[at], end.shape)))
    return np.stack(found, axis=-1)


def event_bound(train, test, confidence, thresholds=400):
    """Bound of a budget by an event that some draws choose, a range of one score; others count it.

    ``train`` and ``test`` have scores (count, scores) of independent draws from both data sets, as
    many of each; ``confidence`` is that of the bound, and ``thresholds`` are tried for each score.
    """
    size, half, scores = len(train[0]), len(test[0]), train[0].shape[1]
    # Of so many bounds the largest would be one that chance has made large: rare events would win.
    strict = 1.0 - (1.0 - confidence) / (4 * thresholds * scores)
    largest, bound = -np.inf, 0.0
    for index in range(scores):
        pooled = np.concatenate([part[:, index] for part in train])
        cuts = np.unique(np.quantile(pooled, np.linspace(0.0, 1.0, thresholds + 2)[1:-1]))
        below = [np.searchsorted(np.sort(part[:, index]), cuts, "right") for part in train]
        for likely, above in product((0, 1), (False, True)):
            hits = [size - count if above else count for count in below]
            bounds = budget_bound(hits[likely], hits[1 - likely], size, strict)
            place = int(np.argmax(bounds))
            if bounds[place] > largest:
                largest = bounds[place]
                counted = [np.sum((part[:, index] > cuts[place]) == above) for part in test]
                bound = budget_bound(counted[likely], counted[1 - likely], half, confidence)
    return max(0.0, float(bound))


def histograms(first, second, size=8, before=5.0):
    """Logarithms of the ratios of cell counts, for a histogram of every two columns.

    From draws (count, columns) from the two data sets: a function from columns to scores (count,
    histograms).  Each column has ``size`` cells of equal counts, and each cell the count ``before``
    from both data sets beforehand.
    """
    edges = np.quantile(np.concatenate([first, second]), np.arange(1, size) / size, axis=0)

    def cells(columns):
        index = [np.searchsorted(*both) for both in zip(edges.T, columns.T, strict=True)]
        return [size * one + other for one, other in combinations(index, 2)]

    def logs(part):
        counts = [np.bincount(each, minlength=size**2) for each in cells(part)]
        return np.log(np.array(counts) + before)

    ratios = logs(first) - logs(second)
    return lambda columns: np.stack(
        [r[c] for r, c in zip(ratios, cells(columns), strict=True)], axis=-1
    )


def boosted_trees(first, second):
    """Log odds by boosted trees on all columns; as for `histograms`."""
    labels = np.repeat([1.0, 0.0], [len(first), len(second)])
    # Few leaves and many draws in each, since probabilities differ little.
    trees = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, min_samples_leaf=100, random_state=0
    ).fit(np.concatenate([first, second]), labels)
    return lambda each: trees.decision_function(each)[:, None]


TESTERS = {"histograms": histograms, "boosted trees": boosted_trees}


def property_test(columns, learn, confidence=0.99):
    """Lower bound of a budget, zero if nothing is found, by what a class of functions tells.

    Columns (count, columns) are numbers of independent releases from two neighbouring data sets,
    and ``learn`` is one of `TESTERS`.
    """
    quarter = min(map(len, columns)) // 4
    learning, choosing = ([part[k * quarter :][:quarter] for part in columns] for k in (0, 1))
    scores = learn(*learning)
    counting = [scores(part[2 * quarter : 4 * quarter]) for part in columns]
    return event_bound([scores(part) for part in choosing], counting, confidence)
